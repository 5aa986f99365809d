#include <sheaf/jit/plan/products.hpp>

#include <algorithm>
#include <map>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

constexpr double least = 32, least_walk = 16, least_lanes = 64, small = 2;

// Is it computed in tiles, wherever it is stored?
bool is_worth_storing(const graph& g, const facts& known, node_id n) {
  return is_product(g, known, n, least) && known.trips(set_of(g, bound_indices(g, n))) >= least_walk;
}

// The values that a product multiplies: loads, and what is folded for it.
std::vector<node_id> multiplied(const graph& g, node_id n) {
  std::vector<node_id> list;
  const auto visit = [&](auto&& self, node_id e) -> void {
    const op kind = g.kind(e);
    if (kind == op::load || kind == op::reduce) {
      if (std::ranges::find(list, e) == list.end()) list.push_back(e);
      return;
    }
    if (kind == op::extent || kind == op::define || kind == op::index) return;
    for (int k = 0; k < g[e].count; ++k) self(self, g.arg(e, k));
  };
  visit(visit, g.arg(n, 0));
  return list;
}

// Is it not much larger than what is loaded for it?
bool is_small(const graph& g, const facts& known, node_id n) {
  amount loaded = 0;
  for (const node_id e : multiplied(g, n)) loaded += known.trips(g.free[e]);
  return known.trips(g.free[n]) <= small * loaded;
}

bool has_results_of(const graph& g, const stage& s, node_id n) {
  return g.free[n].within(set_of(g, s.indices)) && (s.body != n || names_all(g, n, s.indices));
}
std::vector<node_id> indices_of_results(const graph& g, const std::vector<stage>& stages, node_id n) {
  std::vector<node_id> list = indices_of(g, g.free[n]);
  for (const stage& s : stages)
    if (s.indices.size() == list.size() && g.free[n] == set_of(g, s.indices)) return s.indices;
  return list;
}

// The innermost product that several stages take, one of them for each of its results.
node_id product_of_several(const graph& g, const facts& known, const std::vector<stage>& stages) {
  struct taken {
    int by = 0;
    bool for_results = false;
  };
  std::map<node_id, taken> all;
  for (const stage& s : stages)
    for (const node_id n : reductions_in(g, s.body)) {
      taken& t = all[n];
      ++t.by;
      t.for_results = t.for_results || has_results_of(g, s, n);
    }
  for (const auto& [n, t] : all)
    if (t.by > 1 && is_worth_storing(g, known, n) && (t.for_results || is_small(g, known, n))) return n;
  return no_node;
}

}  // namespace

bool is_product(const graph& g, const facts& known, node_id n, double fewest, node_id row_index) {
  if (known.call().gpu || g.kind(n) != op::reduce || monoid_of(g, n) != monoid::sum || !is_floating(g.type(n)) ||
      row(g.type(n)).bytes < 4 || is_term_by_term(g, n) || !has_closed_ranges(g, n))
    return false;
  const index_set bound = set_of(g, bound_indices(g, n));
  const std::vector<node_id> values = multiplied(g, n);
  for (const node_id a : values)
    for (const node_id b : values) {
      if (!g.free[a].meets(bound) || !g.free[b].meets(bound)) continue;
      const index_set of_a = g.free[a].without(g.free[b]).common(g.free[n]);
      const index_set of_b = g.free[b].without(g.free[a]).common(g.free[n]);
      if (of_a.empty() || of_b.empty() || (row_index != no_node && !of_a.has(g.ordinal(row_index)))) continue;
      if (all_of({{known.trips(of_a), fewest}, {known.trips(of_b), fewest}})) return true;
    }
  return false;
}

void store_products(graph& g, const facts& known, std::vector<stage>& stages) {
  for (node_id n = product_of_several(g, known, stages); n != no_node; n = product_of_several(g, known, stages)) {
    auto at = std::ranges::find(stages, n, &stage::body);
    if (at == stages.end()) {
      stage s;
      s.body = n;
      s.indices = indices_of_results(g, stages, n);
      define_stage(g, s, "product");
      s.reasons.push_back("a product that several stages take");
      at = stages.insert(stages.end(), std::move(s));
    }
    const node_id define = at->define, result = result_of(g, *at);
    for (stage& reader : stages)
      if (reader.define != define) replace_in(g, reader, n, result);
  }
}

namespace {

// The product that the stage should not compute beside others, of several that over most.
node_id product_beside_others(const graph& g, const facts& known, const stage& s) {
  const std::vector<node_id> list = reductions_in(g, s.body);
  node_id best = no_node;
  for (const node_id n : list) {
    const bool alone = std::ranges::all_of(
        list, [&](node_id other) { return any_node(g, n, [&](node_id e) { return e == other; }); });
    if (alone || !g.free[n].within(set_of(g, s.indices)) || !is_worth_storing(g, known, n)) continue;
    const auto terms = [&](node_id of) { return known.trips(set_of(g, bound_indices(g, of))); };
    if (best == no_node || terms(best) < terms(n)) best = n;
  }
  return best;
}

// What a product computes of an element of its rows, of which there are no more than of what is loaded for it, for
// each register of its lanes.
class factor_of_rows {
 public:
  factor_of_rows(const graph& g, node_id product, node_id lane)
      : g_(g), bound_(set_of(g, bound_indices(g, product))), rows_(g.free[product]), lane_(lane) {
    rows_.erase(g.ordinal(lane));
    visit(g.arg(product, 0));
  }
  node_id found = no_node;

 private:
  void visit(node_id n) {
    const op kind = g_.kind(n);
    if (found != no_node || kind == op::load || kind == op::reduce || !is_elementwise(kind)) return;
    if (is_factor(n)) {
      found = n;
      return;
    }
    for (int k = 0; k < g_[n].count; ++k) visit(g_.arg(n, k));
  }
  bool is_factor(node_id n) const {
    const index_set& of = g_.free[n];
    if (!is_floating(g_.type(n)) || row(g_.type(n)).bytes < 4 || of.has(g_.ordinal(lane_)) || !of.meets(bound_) ||
        !of.meets(rows_) || !has_closed_ranges(g_, n))
      return false;
    const bool computes = any_node(g_, n, [&](node_id e) {
      return is_elementwise(g_.kind(e)) && g_.kind(e) != op::cast && is_floating(g_.type(e));
    });
    return computes && any_node(g_, n, [&](node_id e) { return g_.kind(e) == op::load && g_.free[e] == of; });
  }

  const graph& g_;
  index_set bound_, rows_;
  node_id lane_;
};

bool take_factor(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (s.vector == no_node) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (!g.free[n].has(g.ordinal(s.vector)) || !is_worth_storing(g, known, n)) continue;
    const node_id e = factor_of_rows(g, n, s.vector).found;
    if (e == no_node || !(known.trips(s.vector) >= least_lanes)) continue;
    store_by_itself(c, s, e, "a factor of rows, which a product would compute for each register of lanes", false);
    return true;
  }
  return false;
}

}  // namespace

bool take_products(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (known.call().gpu || s.how != way::map || s.indices.size() < 2) return false;
  const node_id n = product_beside_others(g, known, s);
  if (n == no_node) return take_factor(c, s);
  store_by_itself(c, s, n, "a product, beside which the stage folds more");
  return true;
}

}  // namespace sheaf::inline v0_1::plan
