#include <sheaf/jit/plan/algorithms/pair_tiles/pair_tiles.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/interchange.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/parts.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/powers.hpp>
#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/halves.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::pair_tiles;

// The reductions in a reduction's term and in its condition, those inside others first.
std::vector<node_id> inside(const graph& g, node_id reduce) {
  std::vector<node_id> list = reductions_in(g, g.arg(reduce, 0));
  for (const node_id n : reductions_in(g, g.arg(reduce, 1)))
    if (std::ranges::find(list, n) == list.end()) list.push_back(n);
  return list;
}

// Of them the outermost that are not of a pair: each has a value a place, which is stored before.
std::vector<node_id> apart(const graph& g, node_id reduce, node_id rows, node_id walk) {
  std::vector<node_id> list;
  std::unordered_set<node_id> seen;
  const auto go = [&](auto&& self, node_id n) -> void {
    if (g.kind(n) == op::extent || !seen.insert(n).second) return;
    if (g.kind(n) == op::reduce && !is_of_pair(g, n, rows, walk)) return list.push_back(n);
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  go(go, g.arg(reduce, 0));
  go(go, g.arg(reduce, 1));
  return list;
}

// Is it worth a pass that computes it once a place?
bool is_heavy(const graph& g, node_id n) {
  return is_slow(g, n) || any_node(g, n, [&](node_id e) { return g.kind(e) == op::cast && is_half(g.type(e)); });
}

// What a sum of pairs takes of one place of theirs and one of its own, and would compute again for every other place.
void find_operands(const graph& g, node_id n, const index_set& place, std::vector<node_id>& list) {
  const bool widens = g.kind(n) == op::cast && is_half(g.type(g.arg(n, 0)));
  if (!widens && g.free[n] == place && is_elementwise(g.kind(n)) && !holds(g, n, op::reduce)) {
    if (is_heavy(g, n) && std::ranges::find(list, n) == list.end()) list.push_back(n);
    return;
  }
  if (!is_elementwise(g.kind(n))) return;
  for (int k = 0; k < g[n].count; ++k) find_operands(g, g.arg(n, k), place, list);
}

class pairing {
 public:
  pairing(const context& c, stage& s) : c_(c), g_(c.g), known_(c.known), s_(s) {}

  bool operator()() {
    for (const node_id n : reductions_in(g_, s_.body)) {
      const node_id all = form_of(n);
      if (all == no_node) continue;
      if (const node_id wide = held(n); wide != n) {
        replace_in(g_, s_, n, cast_to(g_, g_.type(n), wide));
        return true;
      }
      const node_id row = interchanged(c_, all, f_, [&](node_id e) { return expanded(e); });
      if (row == no_node) return take(n, all);
      replace_in(g_, s_, n, row);
      return true;
    }
    return false;
  }

  // The reduction n as tiles fold it, over all places; none: they do not.
  node_id form_of(node_id n) {
    n = held(n);
    if (n == no_node || !may_be_form(n)) return no_node;
    node_id all = over_closed_range(g_, n);
    if (all == no_node) return no_node;
    // What such a value is made of may have no stage of its own.
    const bool ties = (is_extremum(g_, n) || joins_positions(g_, n)) && compares_numbers(g_);
    in_ranges_ = walks_ranges_of_pairs(g_, known_, n);
    all = with_inlined(g_, all, [&](node_id d) { return (!ties && is_recomputed(d)) || !has_stage(d); });
    all = with_terms_in_f32(g_, all);
    if (all == no_node) return no_node;
    for (const bool of_rows : {true, false})
      if (const node_id whole = with_outer_condition(g_, all, of_rows); is_form(whole)) return whole;
    return no_node;
  }

 private:
  // An extremum of halves is one of f32, rounded: what is greater is not less once it is rounded.
  node_id held(node_id n) const {
    return is_half(g_.type(n)) && is_extremum(g_, n) ? with_terms_in_f32(g_, n) : n;
  }
  // Without the values that rules store of it, and what the program names of pairs.
  node_id expanded(node_id e) const {
    return with_inlined(g_, e, [&](node_id d) {
      const auto stored = std::ranges::find(c_.before, d, &stage::define);
      return stored == c_.before.end() || stored->made != origin::program || is_recomputed(d);
    });
  }
  bool is_recomputed(node_id define) const { return is_recomputed_pair(c_, define, in_ranges_); }

  bool has_stage(node_id define) const {
    return std::ranges::any_of(c_.before, [&](const stage& s) { return s.define == define; });
  }

  // Asked before anything is made of it: terms with reductions over more than the walked index, and enough of them.
  bool may_be_form(node_id n) const {
    if (!(joins_tiles(g_, n) || joins_positions(g_, n)) || g_.free[n].empty()) return false;
    const node_id walk = g_.arg(n, 2);
    const std::vector<node_id> results = indices_of(g_, g_.free[n]);
    bool pairs = false, ragged = false;
    for (int k = 0; k < 2; ++k)
      for_each_node(g_, g_.arg(n, k), [&](node_id q) {
        if (results.size() == 1 && g_.kind(q) == op::reduce && is_of_pair(g_, q, results[0], walk))
          ragged = ragged || !g_.free[g_.arg(q, 2)].within(set_of(g_, {g_.arg(q, 2)}));  // see are_sums
        const bool reads = g_.kind(q) == op::load && g_.kind(g_.arg(q, 0)) == op::define;
        const bool of_pair = g_.kind(q) == op::reduce || (reads && is_recomputed_pair(c_, g_.arg(q, 0), true));
        pairs = pairs || (of_pair && uses(g_, q, walk));
      });
    if (!pairs || ragged || known_.call().force_for_tests) return pairs && !ragged;
    const amount rows = known_.trips(g_.free[n]);
    const bool ranged = !g_.free[walk].within(set_of(g_, {walk}));  // its first row may walk one place, its last all
    return rows * (ranged ? rows : known_.trips(walk)) >= worth_code;
  }

  // Does n fold values of pairs?
  bool is_form(node_id n) {
    f_ = {};
    f_.walk = g_.arg(n, 2);
    const auto range = range_of_rows(g_, g_.arg(n, 1), f_.walk);
    if (!range || !has_closed_ranges(g_, n)) return false;
    const index_set results = g_.free[n];
    if (!find_rows(n)) return false;
    index_set pairs;
    for (const node_id r : inside(g_, n))
      if (is_of_pair(g_, r, f_.rows, f_.walk)) pairs |= g_.free[r].common(results);
    if (range->low != no_node && !shares_places(g_, g_.arg(n, 0), *range, f_.rows, f_.walk)) return false;
    const std::vector<node_id> others = indices_of(g_, results.without(pairs));
    for (const node_id end : {range->low, range->high})
      if (end != no_node && g_.free[end].meets(set_of(g_, others))) return false;
    if (range->by_index && !may_read_all_places(g_, g_.arg(n, 0), f_.walk)) return false;
    if (range->where != no_node && g_.free[range->where].meets(set_of(g_, others))) return false;
    if (range->where != no_node && !has_same_bits(range->where)) return false;
    const bool all = range->low == no_node && range->where == no_node && others.empty();
    if (joins_positions(g_, n) && !all) return false;
    return find_lane(n, others) && are_sums(n) && is_worth_it(n);
  }

  // What a condition compares with a result from elsewhere has its bits.
  bool has_same_bits(node_id condition) const {
    const auto list = reductions_in(g_, condition);
    return std::ranges::all_of(list, [&](node_id r) {
      return !is_of_pair(g_, r, f_.rows, f_.walk) || is_folded_in_order(g_, r);
    });
  }

  // The index whose places share what the sums of pairs load of the walked ones: of several the longest.
  bool find_rows(node_id n) {
    for (const node_id rows : indices_of(g_, g_.free[n]))
      if (shares(n, rows)) f_.rows = longer(f_.rows, rows);
    return f_.rows != no_node;
  }
  node_id longer(node_id a, node_id b) const {
    return a == no_node || known_.trips(a) < known_.trips(b) ? b : a;
  }
  bool shares(node_id n, node_id rows) const {
    bool all = true, any = false;
    for (const node_id r : inside(g_, n)) {
      if (!is_of_pair(g_, r, rows, f_.walk)) continue;
      any = true;
      all = all && g_[r].count == 3 && !shared_of(g_, r, rows, f_.walk).empty();
    }
    return any && all;
  }

  // Of results that pairs do not differ in, lanes or a few.
  bool find_lane(node_id n, const std::vector<node_id>& others) {
    if (others.size() > 1) return false;
    if (others.empty()) return true;
    const node_id e = others.front();
    if (known_.trips(e).is_at_most(few_of(g_.type(n))))
      f_.few = e;
    else
      f_.lane = e;
    if (f_.few != no_node) return true;
    return known_.trips(e) <= most_columns && may_vectorise(g_, g_.arg(n, 0), e);
  }

  // Each sum of a pair folds over one range for all pairs.
  bool are_sums(node_id n) const {
    for (const node_id r : apart(g_, n, f_.rows, f_.walk))
      if (!has_closed_ranges(g_, r)) return false;
    for (const node_id r : inside(g_, n)) {
      if (!is_of_pair(g_, r, f_.rows, f_.walk)) continue;
      const node_id d = g_.arg(r, 2);
      const bool own = d != f_.walk && (!uses(g_, n, d) || d == f_.lane || d == f_.few);
      const bool fixed = is_true(g_, g_.arg(r, 1)) && g_.free[d].within(set_of(g_, {d}));
      if (!own || !fixed || !joins_tiles(g_, r)) return false;
      if (!has_closed_ranges(g_, d) || !may_vectorise(g_, r, f_.walk)) return false;
    }
    return true;
  }

  bool is_worth_it(node_id n) const {
    const bool unrolls = std::ranges::none_of(inside(g_, n), [&](node_id r) { return is_term_by_term(g_, r); });
    // Short sums are unrolled, with rows in lanes.
    if (unrolls && s_.vector == f_.rows && !s_.short_rows && f_.lane == no_node && f_.few == no_node) return false;
    index_set all = g_.free[n];
    all.insert(g_.ordinal(f_.walk));
    return are_many(known_, f_.rows, f_.walk, all);
  }

  // all: the same over all places, as a condition chooses them.
  bool take(node_id n, node_id all) {
    std::vector<node_id> list = apart(g_, all, f_.rows, f_.walk);
    if (list.empty()) list = operands(all);
    for (const node_id r : list) {
      replacement put(g_, proofs::kept);
      // At places that no row walks, what it reads may lie outside: there it asks.
      const node_id value = n == all ? r : without_proofs()(g_, r);
      put.add(r, stored(c_, value, {"materialised", s_, "it is one of many pairs"}));
      replace_in(g_, s_, n, put(all));
      return true;
    }
    const bool whole = names_all(g_, n, s_.indices) && s_.when == no_node && reductions_outside(n) == 1;
    if (!whole) {
      store_by_itself(c_, s_, n, "its terms are values of pairs, in tiles");
      return true;
    }
    replace_in(g_, s_, n, relative_to_maximum(c_, all, f_, *range_of_rows(g_, g_.arg(all, 1), f_.walk)));
    s_.how = way::pair_tiles;
    s_.form = f_;
    schedule();
    s_.reasons.push_back("values of pairs are computed in tiles, where they are folded");
    return false;
  }
  std::vector<node_id> operands(node_id all) const {
    std::vector<node_id> list;
    for (const node_id r : inside(g_, all)) {
      if (!is_of_pair(g_, r, f_.rows, f_.walk)) continue;
      for (const node_id of : {f_.rows, f_.walk})
        find_operands(g_, g_.arg(r, 0), set_of(g_, {of, g_.arg(r, 2)}), list);
    }
    return list;
  }
  // Reductions of the body that are in no other.
  int reductions_outside(node_id n) const {
    const auto all = reductions_in(g_, s_.body), own = inside(g_, n);
    return static_cast<int>(all.size() - own.size());
  }

  // Loops over what is the same for all pairs of a tile.
  void schedule() {
    s_.loops.clear();
    for (const node_id idx : s_.indices)
      if (idx != f_.rows && idx != f_.lane && idx != f_.few) s_.loops.push_back(idx);
    s_.vector = no_node;
    s_.lanes = 1;
    s_.short_rows = false;
    share_tasks(g_, known_, s_);
    index_set all = set_of(g_, s_.indices);
    s_.bytes = known_.trips(all) * row(g_.type(s_.define)).bytes;
    index_set pairs = all;
    pairs.insert(g_.ordinal(f_.walk));
    amount each = 1;
    for (const node_id r : reductions_in(g_, s_.body))
      if (is_of_pair(g_, r, f_.rows, f_.walk)) each += known_.trips(g_.arg(r, 2));
    s_.operations = known_.trips(pairs) * each * numerics::weights::share_of_lane;
  }

  const context c_;
  graph& g_;
  const facts& known_;
  stage& s_;
  pair_tile_form f_;
  bool in_ranges_ = false;  // do rows walk ranges of their own?
};

}  // namespace

static bool may_be_tiles(const context& c, const stage& s) {
  return may_have_tiles(c.known.call()) && s.how == way::map && s.when == no_node && s.order_when == no_node &&
         s.rows.whole == no_node && s.where != place::check && !s.reads_block_tree && !s.swept;
}

// Is a reduction in another one of the list?
static bool is_inside_another(const graph& g, const std::vector<node_id>& all, node_id n) {
  return std::ranges::any_of(
      all, [&](node_id other) { return other != n && any_node(g, other, [&](node_id e) { return e == n; }); });
}

bool may_fold_ranges_of_pairs(const context& c, stage& s) {
  if (!may_be_tiles(c, s)) return false;
  const std::vector<node_id> all = reductions_in(c.g, s.body);
  return std::ranges::any_of(all, [&](node_id n) {
    return walks_ranges_of_pairs(c.g, c.known, n) && !is_inside_another(c.g, all, n) &&
           pairing(c, s).form_of(n) != no_node;
  });
}

bool take_pair_tiles(const context& c, stage& s) { return may_be_tiles(c, s) && pairing(c, s)(); }

}  // namespace sheaf::inline v0_1::plan
