#include <sheaf/jit/plan/products.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <sheaf/jit/plan/algorithms/pair_tiles/ranges.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/same_but_for_names.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/products.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::products;

// Is it computed in tiles, wherever it is stored?
bool is_worth_storing(const graph& g, const facts& known, node_id n, double terms = least_terms) {
  return is_product(g, known, n, least) && known.trips(set_of(g, bound_indices(g, n))) >= terms;
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

// Has a stage a value for each of its results, or reads as many of something beside it?
bool has_results_of(const graph& g, const stage& s, node_id n) {
  if (g.free[n].within(set_of(g, s.indices))) return s.body != n || names_all(g, n, s.indices);
  return any_node(g, s.body, [&](node_id e) { return g.kind(e) == op::load && g.free[n].within(g.free[e]); });
}
std::vector<node_id> indices_of_results(const graph& g, const std::vector<stage>& stages, node_id n) {
  std::vector<node_id> list = indices_of(g, g.free[n]);
  for (const stage& s : stages)
    if (s.indices.size() == list.size() && g.free[n] == set_of(g, s.indices)) return s.indices;
  return list;
}

// Does a reduction of a body walk places of a product in ranges of its rows, as a prefix?
bool is_read_in_ranges(graph& g, const facts& known, node_id body, node_id n) {
  const std::vector<node_id> all = reductions_in(g, body);
  return std::ranges::any_of(all, [&](node_id r) {
    return r != n && any_node(g, r, [&](node_id e) { return e == n; }) && walks_ranges_of_pairs(g, known, r) &&
           g.free[n].has(g.ordinal(g.arg(r, 2)));
  });
}

// A product wherever stages take it, with any names of its indices.
struct taken_product {
  node_id n;
  std::vector<node_id> alike;  // n too
  int by = 0, last = -1;       // stages, and which of them is the last
  bool for_results = false, in_ranges = false;
};

// Whoever asks for it, as where another stage has it behind a condition.
bool may_be_stored(graph& g, node_id n) {
  return monoid_of(g, n) == monoid::sum && is_floating(g.type(n)) && indices_of(g, g.free[n]).size() > 1 &&
         has_closed_ranges(g, n) &&
         std::ranges::all_of(loads_in(g, n), [&](node_id e) { return is_inside(g, e); });
}

// The innermost product that several stages take, one of them for each of its results.
taken_product product_of_several(graph& g, const facts& known, const std::vector<stage>& stages,
                                 const std::unordered_set<node_id>& stored_before) {
  std::vector<taken_product> all;
  for (int i = 0; i < static_cast<int>(stages.size()); ++i)
    for (const node_id n : reductions_in(g, stages[static_cast<std::size_t>(i)].body)) {
      if (stored_before.contains(n) || !may_be_stored(g, n)) continue;
      auto at = std::ranges::find_if(
          all, [&](const taken_product& t) { return t.n == n || same_but_for_names(g)(t.n, n); });
      if (at == all.end()) at = all.insert(all.end(), {.n = n, .alike = {}});
      if (std::ranges::find(at->alike, n) == at->alike.end()) at->alike.push_back(n);
      if (at->last != i) ++at->by;
      at->last = i;
      const stage& s = stages[static_cast<std::size_t>(i)];
      const bool in_ranges = is_read_in_ranges(g, known, s.body, n);
      at->in_ranges = at->in_ranges || in_ranges;
      at->for_results = at->for_results || (!in_ranges && has_results_of(g, s, n));
    }
  std::ranges::sort(all, {}, &taken_product::n);
  for (taken_product& t : all)
    if (t.by > 1 && is_worth_storing(g, known, t.n, least_terms_of_several) &&
        (t.for_results || (!t.in_ranges && is_small(g, known, t.n))))
      return t;
  return {.n = no_node, .alike = {}};
}

}  // namespace

bool is_small_product(const graph& g, const facts& known, node_id n) {
  return is_worth_storing(g, known, n) && is_small(g, known, n);
}

bool is_recomputed_pair(const context& c, node_id define, bool in_ranges) {
  return std::ranges::any_of(c.before, [&](const stage& s) {
    if (s.define != define || !is_named_pair(c.g, s)) return false;
    const std::vector<node_id> list = reductions_in(c.g, c.g.arg(define, 0));
    // Computed by another loop it would have other bits, and nothing would tie.
    const auto is_rounded = [&](node_id n) { return is_floating(c.g.type(n)) && !is_term_by_term(c.g, n); };
    if (std::ranges::any_of(list, is_rounded) && compares_numbers(c.g)) return false;
    return in_ranges || std::ranges::none_of(list, [&](node_id n) { return is_small_product(c.g, c.known, n); });
  });
}

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
  if (known.call().gpu) return;
  for (std::unordered_set<node_id> done;;) {
    const taken_product t = product_of_several(g, known, stages, done);
    if (t.n == no_node) return;
    done.insert(t.alike.begin(), t.alike.end());
    auto at = std::ranges::find_if(stages, [&](const stage& s) {
      return std::ranges::count(t.alike, s.body) != 0 && names_all(g, s.body, s.indices);
    });
    if (at == stages.end()) {
      stage s;
      s.body = t.n;
      s.indices = indices_of_results(g, stages, t.n);
      define_stage(g, s, "product");
      s.reasons.push_back("a product that several stages take");
      at = stages.insert(stages.end(), std::move(s));
    }
    const node_id define = at->define, body = at->body;
    const std::vector<node_id> indices = at->indices;
    for (const node_id n : t.alike) {
      same_but_for_names same(g);
      if (n != body && !same(body, n)) continue;
      std::vector<node_id> places = indices;
      if (n != body)
        for (node_id& idx : places) idx = same.named(idx);
      const node_id result = load_at(g, define, places);
      for (stage& reader : stages)
        if (reader.define != define) replace_in(g, reader, n, result);
    }
    order_stages(g, stages);
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
  factor_of_rows(const context& c, node_id product, node_id lane)
      : c_(c), g_(c.g), bound_(set_of(c.g, bound_indices(c.g, product))), rows_(c.g.free[product]), lane_(lane),
        in_ranges_(walks_ranges_of_pairs(c.g, c.known, product)) {
    rows_.erase(g_.ordinal(lane));
    visit(g_.arg(product, 0));
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
    const index_set of = g_.free[n];
    if (!is_floating(g_.type(n)) || row(g_.type(n)).bytes < 4 || of.has(g_.ordinal(lane_)) || !of.meets(bound_) ||
        !of.meets(rows_) || !has_closed_ranges(g_, n))
      return false;
    const bool computes = any_node(g_, n, [&](node_id e) {
      return is_elementwise(g_.kind(e)) && g_.kind(e) != op::cast && is_floating(g_.type(e));
    });
    return computes && any_node(g_, n, [&](node_id e) {
             return g_.kind(e) == op::load && g_.free[e] == of && !is_recomputed_pair(c_, g_.arg(e, 0), in_ranges_);
           });
  }

  const context& c_;
  const graph& g_;
  index_set bound_, rows_;
  node_id lane_;
  bool in_ranges_;  // what tiles of pairs skip is not stored
};

// A product under a mask that is of its rows or of its lanes, as of the gradient of a rectifier: the other factor meets
// zeros instead, and all is as it was if what comes out is finite. Else it is computed again, as it stands.
class masked_product {
 public:
  masked_product(const context& c, stage& s, node_id n) : c_(c), g_(c.g), s_(s), n_(n) {}

  bool operator()() {
    if (s_.when != no_node || !find_mask() || !is_plain() || !find_factor()) return false;
    const auto bound = bound_indices(g_, n_);
    const node_id masked = make(g_, op::select, mask_, factor_, number_like(g_, n_, 0));
    rest_.push_back(stored(c_, masked, {"masked", without_lanes(), "a factor under the mask of a product"}));
    const node_id product = product_of(g_, rest_, n_);
    const node_id whole = intern_reduce(g_, monoid::sum, g_.type(n_), product, truth(g_, true), bound);
    const node_id fast = stored(c_, whole, {"product", s_, "a product of which a factor is 0 where it is masked"});
    const node_id magnitude = make(g_, op::abs, fast), infinite = number_like(g_, fast, INFINITY);
    const node_id odd = make(g_, op::logical_not, make(g_, op::less, magnitude, infinite));
    const node_id any = intern_reduce(g_, monoid::any, element::boolean, odd, truth(g_, true),
                                      indices_of(g_, g_.free[fast]));
    const node_id asked = stored(c_, any, {"infinite", without_lanes(), "whether it has to be computed as it stands"});
    const node_id slow =
        stored(c_, n_, {"masked_product", s_, "a masked product, if what its mask hides may be infinite"});
    stage_behind(c_, slow).when = asked;
    replace_in(g_, s_, n_, make(g_, op::select, asked, slow, fast));
    return true;
  }

 private:
  stage without_lanes() const {
    stage like = s_;
    like.vector = no_node;
    return like;
  }
  bool find_mask() {
    mask_ = g_.arg(n_, 1);
    body_ = g_.arg(n_, 0);
    if (g_.kind(body_) == op::select && is_number(g_, g_.arg(body_, 2), 0)) {
      mask_ = conjunction(g_, mask_, g_.arg(body_, 0));
      body_ = g_.arg(body_, 1);
    } else if (g_.kind(body_) == op::select && is_number(g_, g_.arg(body_, 1), 0)) {
      mask_ = conjunction(g_, mask_, make(g_, op::logical_not, g_.arg(body_, 0)));
      body_ = g_.arg(body_, 2);
    }
    const bool of_terms = g_.free[mask_].meets(set_of(g_, bound_indices(g_, n_)));
    return of_terms && g_.kind(body_) == op::mul && has_closed_ranges(g_, mask_);
  }
  bool is_plain() const {
    const auto plain = [&](node_id e) {
      return g_.kind(e) != op::reduce && (g_.kind(e) != op::load || is_inside(g_, e) || is_proven(g_, e));
    };
    const bool made = std::ranges::any_of(c_.before, [&](const stage& t) { return g_.arg(t.define, 0) == n_; });
    return !made && all_nodes(g_, mask_, plain) && all_nodes(g_, body_, plain);
  }
  // The factors that the mask is multiplied with: of the side that it depends on.
  bool find_factor() {
    index_set all = g_.free[mask_];
    all |= g_.free[body_];
    const std::vector<node_id> factors = factors_of(g_, body_);
    std::vector<node_id> own;
    for (const node_id e : factors) (g_.free[e].within(g_.free[mask_]) ? own : rest_).push_back(e);
    if (rest_.empty()) return false;
    factor_ = product_of(g_, own, n_);
    // No more values than of something that is loaded.
    const index_set of = g_.free[mask_];
    const auto loads_all = [&](node_id e) {
      return g_.kind(e) == op::load && g_.free[e] == of && !is_recomputed_pair(c_, g_.arg(e, 0));
    };
    return any_node(g_, mask_, loads_all) || any_node(g_, factor_, loads_all);
  }

  const context c_;
  graph& g_;
  stage& s_;
  const node_id n_;
  node_id mask_ = no_node, body_ = no_node, factor_ = no_node;
  std::vector<node_id> rest_;
};

bool may_hold_products(const context& c, const stage& s) {
  return !c.known.call().gpu && s.how == way::map && s.indices.size() > 1;
}

}  // namespace

bool take_products(const context& c, stage& s) {
  if (!may_hold_products(c, s)) return false;
  const node_id n = product_beside_others(c.g, c.known, s);
  if (n == no_node) return false;
  store_by_itself(c, s, n, "a product, beside which the stage folds more");
  return true;
}

bool take_masked_product(const context& c, stage& s) {
  if (!may_hold_products(c, s)) return false;
  for (const node_id n : reductions_in(c.g, s.body))
    if (is_worth_storing(c.g, c.known, n) && masked_product(c, s, n)()) return true;
  return false;
}

bool take_factor_of_product(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (!may_hold_products(c, s) || s.vector == no_node) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (!g.free[n].has(g.ordinal(s.vector)) || !is_worth_storing(g, known, n)) continue;
    const node_id e = factor_of_rows(c, n, s.vector).found;
    if (e == no_node || !(known.trips(s.vector) >= least_lanes)) continue;
    store_by_itself(c, s, e, "a factor of rows, which a product would compute for each register of lanes", false);
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
