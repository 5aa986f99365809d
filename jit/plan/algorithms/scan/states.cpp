#include <sheaf/jit/plan/algorithms/scan/states.hpp>

#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

bool runs_in_lanes_of_group(const context& c, const stage& s) {
  const bool state = c.g.kind(s.scan().value) == op::tuple || in_order(c.g, s.scan().fold);
  return state && c.known.for_groups() && s.indices.back() == s.owned;
}

void make_ends(stage& made, const scan_form& of, monoid fold, node_id block) {
  made.how = way::scan;
  made.owned = block;
  made.form = scan_form{.fold = fold,
                        .value = of.value,
                        .walk = of.walk,
                        .shift = of.backward ? 0 : 1,
                        .backward = of.backward,
                        .block = of.block,
                        .ends = true,
                        .block_index = block};
}

std::vector<bool> needed_of_carry(graph& g, const scan_form& f, int values) {
  std::vector<bool> needed(static_cast<std::size_t>(values), values == 1);
  if (values == 1) return needed;
  std::vector<int> left{own_row_of(g, f.fold).component};
  while (!left.empty()) {
    const int k = left.back();
    left.pop_back();
    if (needed[static_cast<std::size_t>(k)]) continue;
    needed[static_cast<std::size_t>(k)] = true;
    for_each_node(g, own_row_of(g, sibling(g, f.fold, k)).combine, [&](node_id n) {
      const int first = f.backward ? values : 0, operand = static_cast<int>(g[n].attribute) - first;
      if (g.kind(n) == op::operand && operand >= 0 && operand < values) left.push_back(operand);
    });
  }
  return needed;
}

monoid folded_alone(graph& g, monoid own, int width) {
  const own_monoid_row& m = own_row_of(g, own);
  const auto operand = [&](int k) { return g.intern(op::operand, m.type, k, nullptr, 0); };
  for (const monoid plain : {monoid::max, monoid::min})
    if (m.identity == identity_of(g, plain, m.type) &&
        m.combine == make(g, row(plain).combine, operand(m.component), operand(width + m.component)))
      return plain;
  return own;
}

}  // namespace sheaf::inline v0_1::plan
