#include <sheaf/jit/plan/algorithms/ordered/ordered_keys.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/algorithms/ordered/ordered_fold.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::ordered_keys;

class ordered_keys {
 public:
  ordered_keys(const context& c, stage& s) : c_(c), g_(c.g), s_(s) {}

  bool operator()() {
    if (!find()) return false;
    if (reductions_in(g_, s_.body).size() > 1) {
      store_by_itself(c_, s_, f_.reduce, "its keys may ascend: then it is a fold of a range");
      return true;
    }
    const node_id few = are_few(), ascending = conjunction(g_, few, asked());
    store_where(ascending, folded(c_, s_, f_, {}, ascending),
                "where keys ascend, which is asked before: a fold of a range, whose ends are searched for");
    const node_id others = make(g_, op::logical_not, ascending), enough = are_enough();
    if (!may_sort() || is_number(g_, enough, 0)) {
      s_.when = others;
      s_.reasons.push_back("where keys do not ascend");
      return true;
    }
    // Of which all searches know the places.
    const node_id sorts = conjunction(g_, few, enough), when = conjunction(g_, sorts, others);
    const sorted_keys keys = sorted(c_, {f_.all[0].key, f_.t, f_.low, f_.count}, when);
    const node_id found = folded(c_, s_, f_, keys, when);
    if (is_true(g_, sorts)) {
      s_.when = others;
      replace_in(g_, s_, f_.reduce, found);
      s_.reasons.push_back("where keys do not ascend: they are sorted");
      return true;
    }
    store_where(when, found, "where keys do not ascend: they are sorted");
    s_.when = conjunction(g_, others, make(g_, op::logical_not, sorts));
    s_.reasons.push_back("where keys do not ascend, of few results or of more keys than a search tells apart");
    return true;
  }

 private:
  bool find() {
    for (const node_id n : reductions_in(g_, s_.body))
      if (takes(n)) return true;
    return false;
  }

  bool takes(node_id n) {
    if (g_[n].count != 3 || g_[n].attribute != static_cast<std::int64_t>(monoid_of(g_, n))) return false;
    const monoid fold = monoid_of(g_, n);
    if (is_own(fold) || row(fold).position || row(g_.type(n)).bytes == 2) return false;
    if (!g_.free[n].within(set_of(g_, s_.indices))) return false;
    if (holds(g_, g_.arg(n, 0), op::reduce) || holds(g_, g_.arg(n, 1), op::reduce)) return false;
    f_ = {.reduce = n, .t = g_.arg(n, 2), .value = g_.arg(n, 0), .rest = truth(g_, true)};
    flat<node_id> list;
    deltas::conjuncts(g_, conjunction(g_, g_.arg(n, 1), condition_of_term(fold)), list);
    for (const node_id part : list)
      if (!add(part)) f_.rest = conjunction(g_, f_.rest, part);
    return !f_.all.empty() && reads_no_pairs() && has_keys() && pays();
  }

  // What a term says itself: of any, and of sums of choices and of truths as numbers.
  node_id condition_of_term(monoid fold) {
    const node_id e = f_.value;
    const node_id truths = g_.kind(e) == op::cast ? g_.arg(e, 0) : e;
    if (fold == monoid::any || (fold == monoid::sum && g_.type(truths) == element::boolean)) {
      f_.value = fold == monoid::any ? truth(g_, true) : cast_to(g_, g_.type(e), truth(g_, true));
      return truths;
    }
    if (fold != monoid::sum || g_.kind(e) != op::select || !is_number(g_, g_.arg(e, 2), 0)) return truth(g_, true);
    f_.value = g_.arg(e, 1);
    return g_.arg(e, 0);
  }

  // Indices that the range of t alone has are not named.
  bool names_any(node_id e, const index_set& these) const {
    return std::ranges::any_of(indices_of(g_, these), [&](node_id idx) { return names(g_, e, idx); });
  }
  index_set indices_of_values() const {
    index_set all;
    for (const comparison& one : f_.all) all |= g_.free[one.value];
    return all;
  }
  // Values of pairs have tiles; so terms are of keys alone, and what else is asked of them loads no pair.
  bool reads_no_pairs() const {
    const index_set values = indices_of_values();
    if (names_any(f_.value, values)) return false;
    return std::ranges::none_of(loads_in(g_, f_.rest), [&](node_id n) {
      return g_.kind(g_.arg(n, 0)) == op::define && names_any(n, values) && uses(g_, n, f_.t);
    });
  }

  // A conjunct that compares keys; those after the first compare the same ones.
  bool add(node_id part) {
    const op kind = g_.kind(part);
    if (kind != op::less && kind != op::less_equal && kind != op::equal) return false;
    for (const int side : {0, 1}) {
      comparison one{.key = g_.arg(part, side), .value = g_.arg(part, 1 - side)};
      const index_set free = g_.free[one.key].without(set_of(g_, {f_.t}));
      if (!uses(g_, one.key, f_.t) || names_any(one.key, free) || uses(g_, one.value, f_.t)) continue;
      if (g_.free[one.value].empty()) continue;
      if (!holds(g_, one.key, op::load) || !holds(g_, one.value, op::load) || row(g_.type(one.key)).bytes < 4) continue;
      if ((walks_all() && !is_safe(g_, one.key)) || holds(g_, one.value, op::reduce)) continue;
      if (!f_.all.empty() && f_.all[0].key != one.key) continue;
      one.own = is_last_key(one);
      one.below = kind == op::equal || side == 1;
      one.above = kind == op::equal || side == 0;
      one.strict = kind == op::less;
      f_.all.push_back(one);
      return true;
    }
    return false;
  }

  // Is the value the key at the last place of the range? Then that is not greater, nor is any before it.
  bool is_last_key(const comparison& of) {
    const node_id last = make(g_, op::sub, g_.arg(f_.t, 1), integer(g_, 1));
    return g_.kind(last) == op::index && is_same(g_, with(g_, of.key, f_.t, last), of.value);
  }
  // Which keys there are: those of the fold, or those of the tensors that its range may end before.
  bool has_keys() {
    const node_id t = f_.t, key = f_.all[0].key;
    if (is_closed(g_, t)) {
      f_.low = g_.arg(t, 0);
      f_.count = trips_of(g_, t);
      return true;
    }
    const auto is_plain = [&](node_id n) { return g_[n].count == 2 && g_.arg(n, 1) == t; };
    if (!std::ranges::all_of(loads_in(g_, key), is_plain)) return false;
    f_.low = integer(g_, 0);
    f_.count = rows_walked(g_, key, t, true);
    replacement put(g_);  // they are walked as far as they go
    for (const node_id n : loads_in(g_, key)) put.rename(n, proven(g_, n));
    for (comparison& one : f_.all) one.key = put(key);
    return f_.count != no_node;
  }
  bool walks_all() const { return f_.walks_all(g_); }

  bool pays() {
    const facts& bits = c_.known.bits();
    if (!has_closed_ranges(g_, f_.reduce)) return false;  // of its results
    const amount keys = bits.trips(f_.t), searches = bits.trips(indices_of_values());
    if (c_.known.call().force_for_tests) return true;
    return all_of({{keys, least_keys}, {searches, least_searches}, {keys * searches, least_pairs}});
  }

  stage without_lanes() const {
    stage like = s_;
    like.vector = no_node;
    return like;
  }

  void store_where(node_id when, node_id value, const char* reason) {
    stage made = s_;
    made.when = when;
    replace_in(g_, made, f_.reduce, value);
    made.reasons = {reason};
    c_.before.push_back(std::move(made));
  }

  // Where they are sorted, terms are a range of the order if they are all that compare so; of equal keys, whose places
  // ascend, those in the range of t are one, too. What else is asked of a term is of its place alone, and terms are
  // numbers, which then lie in the order of keys: rows would be gathered, each for all of its results.
  bool may_sort() const {
    const bool equal = f_.all.size() == 1 && f_.all[0].is_equality(), whole = is_true(g_, f_.rest);
    if (!walks_all() && (!equal || uses(g_, g_.arg(f_.t, 0), f_.t))) return false;
    if (whole && !uses(g_, f_.value, f_.t)) return true;
    if (f_.is_of_place(g_, f_.value) && f_.is_of_place(g_, f_.rest)) return true;
    return whole && equal && walks_all();
  }

  // Fewer keys than the searches can tell apart?
  node_id are_few() {
    const auto keys = c_.known.value(f_.count);
    if (keys && !keys->is_of_class()) return truth(g_, true);  // the bits of a place follow from it
    return make(g_, op::less, f_.count, integer(g_, std::int64_t{1} << bits_of_places(c_.known, f_.count)));
  }
  // Are results so many that to sort takes no longer than to ask all keys for each?
  node_id are_enough() {
    node_id results = integer(g_, 1);
    for (const node_id idx : indices_of(g_, g_.free[f_.reduce])) {
      if (!is_closed(g_, idx)) return truth(g_, false);
      results = make(g_, op::mul, results, trips_of(g_, idx));
    }
    if (c_.known.call().force_for_tests) return truth(g_, true);
    const auto count = c_.known.value(results);
    if (count && !count->is_of_class()) return truth(g_, *count >= static_cast<double>(least_results_of_sort));
    return make(g_, op::less_equal, integer(g_, least_results_of_sort), results);
  }
  // Do they ascend? No NaN, which is not in order with itself.
  node_id asked() {
    const node_id before_last = make(g_, op::sub, make(g_, op::add, f_.low, f_.count), integer(g_, 1));
    const node_id i = unused_index(g_, f_.t, f_.low, before_last, indices_in(g_, f_.reduce));
    const node_id here = with(g_, f_.all[0].key, f_.t, i, proofs::kept),
                  next = with(g_, f_.all[0].key, f_.t, plus(g_, i, 1), proofs::kept);
    const node_id all = intern_reduce(g_, monoid::all, element::boolean, make(g_, op::less_equal, here, next),
                                      truth(g_, true), {i});
    const node_id made = stored(c_, all, {"ascending", without_lanes(), "whether keys ascend"});
    stage_behind(c_, made).decides = true;
    return made;
  }

  const context& c_;
  graph& g_;
  stage& s_;
  ordered_fold f_ = {};
};

}  // namespace

bool take_ordered_keys(const context& c, stage& s) {
  if (s.how != way::map || s.where == place::check || s.when != no_node || s.rows.whole != no_node) return false;
  if (c.known.for_groups()) return false;  // which compare many pairs at once
  return ordered_keys(c, s)();
}

}  // namespace sheaf::inline v0_1::plan
