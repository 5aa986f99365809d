#include <sheaf/jit/plan/algorithms/ordered/ordered_fold.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/plan/algorithms/scan/data_prefix.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::ordered_keys;

class folding {
 public:
  folding(const context& c, const stage& s, const ordered_fold& f, const sorted_keys& keys, node_id when)
      : c_(c), g_(c.g), s_(s), f_(f), sorted_(keys), when_(when) {}

  node_id operator()() {
    if (are_sorted() && !f_.walks_all(g_)) {
      const comparison& one = f_.all[0];
      return of_range(place(one, false, g_.arg(f_.t, 0)), place(one, false, g_.arg(f_.t, 1)));
    }
    node_id low = are_sorted() ? integer(g_, 0) : g_.arg(f_.t, 0), high = are_sorted() ? count() : g_.arg(f_.t, 1);
    const node_id first = low, last = high;
    const auto end = [&](node_id place) { return are_sorted() ? place : make(g_, op::add, f_.low, place); };
    for (const comparison& one : f_.all) {
      if (one.above && (!one.own || one.strict)) {
        const node_id found = end(place(one, false));
        high = high == last && f_.walks_all(g_) ? found : make(g_, op::minimum, high, found);
      }
      if (one.below) {
        const node_id found = end(place(one, true));
        low = low == first && f_.walks_all(g_) ? found : make(g_, op::maximum, low, found);
      }
    }
    return of_range(low, high);
  }

 private:
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
    for (int bit = bits_of_places(c_.known, f_.count) - 1; bit >= 0; --bit) {
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
      const bool in_order = !are_sorted() || (f_.all.size() == 1 && f_.all[0].is_equality());
      if (fold == monoid::max && value == f_.t && in_order) return make(g_, op::select, some, walked_at(last), none);
      if (fold == monoid::min && value == f_.t && in_order) return make(g_, op::select, some, walked_at(low), none);
    }
    if (is_true(g_, f_.rest) || are_sorted())
      if (const node_id found = looked_up(low, high); found != no_node) return found;
    if (const node_id found = of_own_run(low, high); found != no_node) return make(g_, op::select, some, found, none);
    return of_places(low, high);
  }
  node_id of_places(node_id low, node_id high) {
    const node_id n = f_.reduce, over = fresh_index(g_, f_.t, low, high);
    if (const held_terms all = held(); all.load != no_node)
      return intern_reduce(g_, monoid_of(g_, n), g_.type(n), with(g_, all.load, all.place, over), truth(g_, true),
                           {over});
    return intern_reduce(g_, monoid_of(g_, n), g_.type(n), term_at(f_.value, over), term_at(f_.rest, over), {over});
  }
  // The keys that are equal to one of their own are a run, whose first place has what all of them come to.
  node_id of_own_run(node_id low, node_id high) {
    const comparison& one = f_.all[0];
    const std::vector<node_id> of = indices_of(g_, g_.free[one.value]);
    if (f_.all.size() != 1 || !one.is_equality() || !f_.walks_all(g_) || of.size() != 1) return no_node;
    if (names(g_, f_.rest, of[0]) || !same_range(g_, of[0], f_.t) ||
        !is_same(g_, with(g_, one.key, f_.t, of[0]), one.value))
      return no_node;
    const node_id end = are_sorted() ? f_.count : g_.arg(f_.t, 1), begin = are_sorted() ? integer(g_, 0) : f_.low;
    const node_id place = unused_index(g_, f_.t, begin, end, indices_in(g_, f_.reduce));
    const auto here = [&](node_id e) { return with(g_, e, of[0], walked_at(place)); };
    const node_id first = make(g_, op::equal, here(low), place);
    const node_id all = of_places(place, make(g_, op::select, first, here(high), place));
    const stored_as as{"run", layout_of(c_, all, s_), "what each run of equal keys comes to"};
    return with(g_, stored_there(all, as), place, low);
  }
  // Of sorted keys the terms in their order, where each is one number: folds then read what lies side by side. Behind
  // the keys there are places that count nothing, as there are where what else is asked of a term does not hold.
  struct held_terms {
    node_id load = no_node, place = no_node;
  };
  held_terms held() {
    const node_id n = f_.reduce, value = term(), none = identity_of(g_, monoid_of(g_, n), g_.type(n));
    if (!are_sorted() || !uses(g_, value, f_.t) || !f_.is_of_place(g_, value)) return {};
    const node_id place = unused_index(g_, f_.t, integer(g_, 0), f_.count, indices_in(g_, n));
    const node_id here = make(g_, op::select, make(g_, op::less, place, count()), term_at(value, place), none);
    return {stored(c_, here, {"terms", layout_of(c_, here, s_), "in the order of keys"}), place};
  }
  node_id term() {
    const node_id n = f_.reduce;
    return make(g_, op::select, f_.rest, f_.value, identity_of(g_, monoid_of(g_, n), g_.type(n)));
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
    if (above == below || !f_.walks_all(g_) || !is_safe(g_, value)) return no_node;
    if (!are_sorted()) return looked_up_running(c_, s_, {n, value, g_.arg(f_.t, 0), g_.arg(f_.t, 1), low, high, above});
    const held_terms all = held();
    if (all.load == no_node) return no_node;
    const node_id whole = intern_reduce(g_, monoid_of(g_, n), g_.type(n), all.load, truth(g_, true), {all.place});
    return looked_up_running(c_, s_, {whole, all.load, integer(g_, 0), f_.count, low, high, above});
  }

  const context& c_;
  graph& g_;
  const stage& s_;
  const ordered_fold& f_;
  const sorted_keys& sorted_;
  const node_id when_;
};

}  // namespace

bool ordered_fold::is_of_place(const graph& g, node_id e) const {
  const auto others = indices_of(g, g.free[e].without(set_of(g, {t})));
  return std::ranges::none_of(others, [&](node_id idx) { return names(g, e, idx); });
}

int bits_of_places(const facts& known, node_id count) {
  const auto keys = known.value(count);
  int bits = 1;
  if (!keys || keys->is_of_class()) return most_bits;
  while (bits < most_bits && *keys >= static_cast<double>(std::int64_t{1} << bits)) ++bits;
  return bits;
}

node_id folded(const context& c, const stage& s, const ordered_fold& f, const sorted_keys& keys, node_id when) {
  const std::size_t made = c.before.size();
  const node_id found = folding(c, s, f, keys, when)();
  // All of it reads the order, which is made there alone.
  for (std::size_t k = made; k < c.before.size() && keys.places != no_node; ++k) c.before[k].when = when;
  return found;
}

}  // namespace sheaf::inline v0_1::plan
