#include <sheaf/jit/plan/algorithms/ordered/ordered_keys.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/algorithms/ordered/sorted_keys.hpp>
#include <sheaf/jit/plan/algorithms/scan/data_prefix.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::ordered_keys;

// A comparison of a key, which depends on the index of the fold alone, and a value, which does not depend on it.
struct comparison {
  node_id key = no_node, value = no_node;
  bool below = false, above = false;  // keys that are less, or greater, are left out: both of an equality
  bool strict = false;                // and so are equal ones
  bool own = false;                   // the value is the key at the last place that the fold walks
};

// The fold of `value` over t where all of `all` and `rest` hold; `count` keys from `low` on, of which it walks all, or
// those in the range of t.
struct ordered_fold {
  node_id reduce = no_node, t = no_node, value = no_node;
  node_id low = no_node, count = no_node;
  std::vector<comparison> all = {};
  node_id rest = no_node;
};

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
    store_where(ascending, folded(ascending),
                "where keys ascend, which is asked before: a fold of a range, whose ends are searched for");
    const node_id others = make(g_, op::logical_not, ascending);
    if (!may_sort()) {
      s_.when = others;
      s_.reasons.push_back("where keys do not ascend");
      return true;
    }
    // Of which all searches know the places.
    const node_id when = conjunction(g_, few, others);
    sorted_ = sorted(c_, {f_.all[0].key, f_.t, f_.low, f_.count}, when);
    const std::size_t made = c_.before.size();
    const node_id found = folded(when);
    for (std::size_t k = made; k < c_.before.size(); ++k) c_.before[k].when = when;
    if (is_true(g_, few)) {
      s_.when = others;
      replace_in(g_, s_, f_.reduce, found);
      s_.reasons.push_back("where keys do not ascend: they are sorted");
      return true;
    }
    store_where(when, found, "where keys do not ascend: they are sorted");
    s_.when = make(g_, op::logical_not, few);
    s_.reasons.push_back("of more keys than a search tells apart");
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
  bool walks_all() const { return is_closed(g_, f_.t); }

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
  // ascend, those in the range of t are one, too.
  bool may_sort() const {
    if (walks_all()) return true;
    return f_.all.size() == 1 && is_equality(f_.all[0]) && !uses(g_, g_.arg(f_.t, 0), f_.t);
  }
  static bool is_equality(const comparison& one) { return one.below && one.above; }

  // Fewer keys than the searches can tell apart?
  node_id are_few() {
    const auto keys = c_.known.value(f_.count);
    if (keys && !keys->is_of_class()) return truth(g_, true);  // bits() follow from it
    return make(g_, op::less, f_.count, integer(g_, std::int64_t{1} << bits()));
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

  bool are_sorted() const { return sorted_.places != no_node; }
  // How many there are, and each; it may be beyond the last one.
  node_id count() const { return are_sorted() ? sorted_.numbers : f_.count; }
  node_id key_at(const comparison& of, node_id n) {
    return are_sorted() ? sorted_.key(g_, n) : with(g_, of.key, f_.t, make(g_, op::add, f_.low, n));
  }

  // How many keys are before the terms, or up to their last one: halving by halving, in lanes along the values. No term
  // compares with a NaN. limit: of sorted keys that are equal to the value, those whose place is before it.
  node_id place(const comparison& of, bool first, node_id limit = no_node) {
    const op compares = of.strict ? op::less : op::less_equal;
    node_id found = integer(g_, 0);
    for (int bit = bits() - 1; bit >= 0; --bit) {
      const node_id step = plus(g_, found, std::int64_t{1} << bit);
      const node_id last = make(g_, op::sub, step, integer(g_, 1)), key = key_at(of, last);
      const node_id inside = make(g_, op::less_equal, step, count());
      node_id before = first ? make(g_, op::logical_not, make(g_, compares, of.value, key))
                             : make(g_, compares, key, of.value);
      if (limit != no_node) {
        const node_id place = load_at(g_, sorted_.places, {last});
        before = conjunction(g_, before, make(g_, op::logical_or, make(g_, op::less, key, of.value),
                                              make(g_, op::less, place, limit)));
      }
      found = make(g_, op::select, make(g_, op::logical_and, inside, before), step, found);
    }
    return proven(g_, stored_there(found, {"place", layout_of(c_, of.value, s_), "searched for among the keys"}));
  }
  // Where the keys are in this order: elsewhere places may be anything, and so may ends of ranges.
  node_id stored_there(node_id value, stored_as as) {
    const std::size_t count = c_.before.size();
    const node_id made = stored(c_, value, std::move(as));
    if (c_.before.size() > count) c_.before.back().when = when_;
    return made;
  }
  int bits() const {
    const auto keys = c_.known.value(f_.count);
    int bits = 1;
    if (!keys || keys->is_of_class()) return most_bits;
    while (bits < most_bits && *keys >= static_cast<double>(std::int64_t{1} << bits)) ++bits;
    return bits;
  }

  // The fold where `when` holds; of sorted keys over numbers in their order.
  node_id folded(node_id when) {
    when_ = when;
    if (are_sorted() && !walks_all()) {
      const comparison& one = f_.all[0];
      return of_range(place(one, false, g_.arg(f_.t, 0)), place(one, false, g_.arg(f_.t, 1)));
    }
    node_id low = are_sorted() ? integer(g_, 0) : g_.arg(f_.t, 0), high = are_sorted() ? count() : g_.arg(f_.t, 1);
    const node_id first = low, last = high;
    const auto end = [&](node_id place) { return are_sorted() ? place : make(g_, op::add, f_.low, place); };
    for (const comparison& one : f_.all) {
      if (one.above && (!one.own || one.strict)) {
        const node_id found = end(place(one, false));
        high = high == last && walks_all() ? found : make(g_, op::minimum, high, found);
      }
      if (one.below) {
        const node_id found = end(place(one, true));
        low = low == first && walks_all() ? found : make(g_, op::maximum, low, found);
      }
    }
    return of_range(low, high);
  }

  node_id of_range(node_id low, node_id high) {
    const node_id n = f_.reduce, value = f_.value;
    const monoid fold = monoid_of(g_, n);
    const node_id some = make(g_, op::less, low, high), none = identity_of(g_, fold, g_.type(n));
    const node_id last = make(g_, op::sub, high, integer(g_, 1));
    if (is_true(g_, f_.rest)) {
      if (fold == monoid::sum && !uses(g_, value, f_.t)) {
        const node_id length = cast_to(g_, g_.type(n), make(g_, op::sub, high, low));
        return make(g_, op::select, some, make(g_, op::mul, cast_to(g_, g_.type(n), value), length), none);
      }
      if (fold == monoid::any && is_true(g_, value)) return some;
      const bool in_order = !are_sorted() || (f_.all.size() == 1 && is_equality(f_.all[0]));
      if (fold == monoid::max && value == f_.t && in_order) return make(g_, op::select, some, walked_at(last), none);
      if (fold == monoid::min && value == f_.t && in_order) return make(g_, op::select, some, walked_at(low), none);
      if (const node_id found = looked_up(low, high); found != no_node) return found;
    }
    if (const node_id found = of_own_run(low, high); found != no_node) return make(g_, op::select, some, found, none);
    return of_places(low, high);
  }
  node_id of_places(node_id low, node_id high) {
    const node_id n = f_.reduce, over = fresh_index(g_, f_.t, low, high), all = held();
    if (all != no_node)
      return intern_reduce(g_, monoid_of(g_, n), g_.type(n), with(g_, all, place_of_all_, over), truth(g_, true),
                           {over});
    return intern_reduce(g_, monoid_of(g_, n), g_.type(n), term_at(f_.value, over), term_at(f_.rest, over), {over});
  }
  // The keys that are equal to one of their own are a run, whose first place has what all of them come to.
  node_id of_own_run(node_id low, node_id high) {
    const comparison& one = f_.all[0];
    const std::vector<node_id> of = indices_of(g_, g_.free[one.value]);
    if (f_.all.size() != 1 || !is_equality(one) || !walks_all() || of.size() != 1) return no_node;
    if (!same_range(g_, of[0], f_.t) || !is_same(g_, with(g_, one.key, f_.t, of[0]), one.value)) return no_node;
    const node_id end = are_sorted() ? f_.count : g_.arg(f_.t, 1), begin = are_sorted() ? integer(g_, 0) : f_.low;
    const node_id place = unused_index(g_, f_.t, begin, end, indices_in(g_, f_.reduce));
    const auto here = [&](node_id e) { return with(g_, e, of[0], walked_at(place)); };
    const node_id first = make(g_, op::equal, here(low), place);
    const node_id all = of_places(place, make(g_, op::select, first, here(high), place));
    const stored_as as{"run", layout_of(c_, all, s_), "what each run of equal keys comes to"};
    return with(g_, stored_there(all, as), place, low);
  }
  // Of sorted keys the terms in their order, where each is one number: folds then read what lies side by side. Behind
  // the keys there are places that count nothing.
  node_id held() {
    const node_id n = f_.reduce;
    const index_set own = set_of(g_, {f_.t});
    if (!are_sorted() || !walks_all() || !uses(g_, f_.value, f_.t) || !is_true(g_, f_.rest)) return no_node;
    if (g_.free[f_.value] != own || !is_safe(g_, f_.value)) return no_node;
    place_of_all_ = unused_index(g_, f_.t, integer(g_, 0), f_.count, indices_in(g_, n));
    const node_id term =
        make(g_, op::select, make(g_, op::less, place_of_all_, count()), term_at(f_.value, place_of_all_),
             identity_of(g_, monoid_of(g_, n), g_.type(n)));
    return stored(c_, term, {"terms", layout_of(c_, term, s_), "in the order of keys"});
  }
  // What t is at a place in the order of keys.
  node_id walked_at(node_id n) { return are_sorted() ? sorted_.place(g_, n) : n; }
  // Where keys are not sorted nothing is known of places: what is made of them for other stages may still run.
  node_id term_at(node_id e, node_id n) {
    return with(g_, e, f_.t, walked_at(n), are_sorted() ? proofs::known : proofs::kept);
  }

  // From the first key on, or up to the last one, of terms that do not depend on the value: a running fold has it.
  node_id looked_up(node_id low, node_id high) {
    const node_id n = f_.reduce, value = f_.value;
    const bool above = std::ranges::all_of(f_.all, [](const comparison& one) { return !one.below; }),
               below = std::ranges::all_of(f_.all, [](const comparison& one) { return !one.above; });
    if (above == below || !walks_all() || !is_safe(g_, value)) return no_node;
    if (!are_sorted()) return looked_up_running(c_, s_, {n, value, g_.arg(f_.t, 0), g_.arg(f_.t, 1), low, high, above});
    const node_id all = held();
    if (all == no_node) return no_node;
    const node_id whole = intern_reduce(g_, monoid_of(g_, n), g_.type(n), all, truth(g_, true), {place_of_all_});
    return looked_up_running(c_, s_, {whole, all, integer(g_, 0), f_.count, low, high, above});
  }

  const context& c_;
  graph& g_;
  stage& s_;
  ordered_fold f_ = {};
  sorted_keys sorted_ = {};        // once they are sorted
  node_id place_of_all_ = no_node;  // the index of what is held
  node_id when_ = no_node;          // where what is folded now is the fold
};

}  // namespace

bool take_ordered_keys(const context& c, stage& s) {
  if (s.how != way::map || s.where == place::check || s.when != no_node || s.rows.whole != no_node) return false;
  if (c.known.for_groups()) return false;  // which compare many pairs at once
  return ordered_keys(c, s)();
}

}  // namespace sheaf::inline v0_1::plan
