#include <sheaf/jit/plan/algorithms/pair_tiles/interchange.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/pair_tiles/ranges.hpp>
#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Takes a factor out of a list that has it.
bool take(graph& g, std::vector<node_id>& list, node_id factor) {
  const auto found = std::ranges::find_if(list, [&](node_id e) { return is_same(g, e, factor); });
  if (found == list.end()) return false;
  list.erase(found);
  return true;
}

// The sum of a pair among the factors of a term: what depends on the place, and what does not.
struct inner_sum {
  node_id index;
  std::vector<node_id> of_place, of_row;
};
std::optional<inner_sum> inner_sum_of(graph& g, node_id r, const pair_tile_form& f) {
  if (g.kind(r) != op::reduce || monoid_of(g, r) != monoid::sum || g[r].count != 3 || !is_true(g, g.arg(r, 1)) ||
      !is_of_pair(g, r, f.rows, f.walk))
    return std::nullopt;
  inner_sum sum{.index = g.arg(r, 2), .of_place = {}, .of_row = {}};
  for (const node_id e : factors_of(g, g.arg(r, 0))) {
    if (is_of_pair(g, e, f.rows, f.walk)) return std::nullopt;
    (uses(g, e, f.walk) ? sum.of_place : sum.of_row).push_back(e);
  }
  return sum;
}

// What is left of a term where a stage has the sum of the others and of the inner sum's part of the place; nothing: it
// has another one. column: the stage's index for that of the inner sum.
std::optional<std::vector<node_id>> rest_of(graph& g, node_id stored, node_id sum, std::vector<node_id> others,
                                            const inner_sum& inner, node_id column) {
  if (g.kind(stored) != op::reduce || monoid_of(g, stored) != monoid::sum || g.arg(stored, 2) != g.arg(sum, 2) ||
      !is_same(g, g.arg(stored, 1), g.arg(sum, 1)))
    return std::nullopt;
  std::vector<node_id> own = factors_of(g, g.arg(stored, 0));
  replacement put(g, proofs::kept);
  put.add(inner.index, column);
  for (const node_id e : inner.of_place)
    if (!take(g, own, put(e))) return std::nullopt;
  for (const node_id e : own)
    if (!take(g, others, e)) return std::nullopt;
  for (const node_id e : others)
    if (uses(g, e, g.arg(sum, 2))) return std::nullopt;
  return others;
}

}  // namespace

node_id interchanged(const context& c, node_id sum, const pair_tile_form& f,
                     const std::function<node_id(node_id)>& expanded) {
  graph& g = c.g;
  if (monoid_of(g, sum) != monoid::sum || !has_closed_ranges(g, sum)) return no_node;
  const node_id whole = expanded(sum);
  const std::vector<node_id> factors = factors_of(g, g.arg(whole, 0));
  for (const node_id r : factors) {
    const auto inner = inner_sum_of(g, r, f);
    if (!inner) continue;
    std::vector<node_id> others = factors;
    std::erase(others, r);
    for (const stage& s : c.before) {
      const node_id column = s.how != way::pair_tiles          ? no_node
                             : s.pairs().lane != no_node ? s.pairs().lane
                                                         : s.pairs().few;
      if (column == no_node || s.pairs().rows != f.rows || !same_range(g, column, inner->index)) continue;
      const node_id body = over_closed_range(g, g.arg(s.define, 0));
      if (body == no_node) continue;
      const auto rest = rest_of(g, expanded(body), whole, others, *inner, column);
      if (!rest) continue;
      std::vector<node_id> place = s.indices;
      std::ranges::replace(place, column, inner->index);
      const node_id y = load_at(g, s.define, place);
      const node_id term = make(g, op::mul, product_of(g, inner->of_row, sum), y);
      const node_id total = intern_reduce(g, monoid::sum, g.type(sum), term, truth(g, true), {inner->index});
      return make(g, op::mul, product_of(g, *rest, sum), total);
    }
  }
  return no_node;
}

}  // namespace sheaf::inline v0_1::plan
