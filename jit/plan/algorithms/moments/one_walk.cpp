#include <sheaf/jit/plan/algorithms/moments/one_walk.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace numerics::lanes;

// A sum of powers about the maximum of their own terms.
struct sum_of_powers {
  node_id sum = no_node, maximum = no_node;  // none: it is no such sum
  power term;
};
sum_of_powers sum_of_powers_in(graph& g, node_id n) {
  if (g.kind(n) != op::reduce || monoid_of(g, n) != monoid::sum || is_term_by_term(g, n)) return {};
  const power p = power_of(g, g.arg(n, 0));
  if (p.value == no_node) return {};
  const node_id top = maximum_of_centre(g, p.centre, [&](node_id a, node_id b) { return is_same(g, a, b); });
  if (g.kind(top) != op::reduce || monoid_of(g, top) != monoid::max || g.arg(top, 0) != p.value ||
      g.arg(top, 1) != g.arg(n, 1) || bound_indices(g, top) != bound_indices(g, n) || g.type(top) != g.type(n) ||
      numerics::accumulated(g.type(n)) != g.type(n))
    return {};
  return {n, top, p};
}

// A sum of squares about the mean of their own terms, of which there are `count`.
struct sum_of_squares {
  node_id sum = no_node, mean = no_node, count = no_node, value = no_node;  // none: it is no such sum
};
// Is it the number of terms?
bool counts_terms(graph& g, node_id count, node_id reduce) {
  if (g.kind(count) != op::cast) return false;
  std::vector<node_id> extents;
  for (const node_id idx : bound_indices(g, reduce)) extents.push_back(make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0)));
  return std::ranges::is_permutation(factors_of(g, without_cast(g, count)), extents);
}
// mean: what the centre is, where a stage stores it.
sum_of_squares sum_of_squares_in(graph& g, node_id n, node_id stored_mean = no_node) {
  if (g.kind(n) != op::reduce || monoid_of(g, n) != monoid::sum || !is_true(g, g.arg(n, 1)) || is_term_by_term(g, n))
    return {};
  const node_id apart = squared_difference(g, g.arg(n, 0));
  if (apart == no_node) return {};
  const node_id value = g.arg(apart, 0), mean = stored_mean != no_node ? stored_mean : g.arg(apart, 1);
  if (g.kind(mean) != op::div || numerics::accumulated(g.type(n)) != g.type(n)) return {};
  const node_id all = g.arg(mean, 0), count = g.arg(mean, 1);
  if (g.kind(all) != op::reduce || monoid_of(g, all) != monoid::sum || g.arg(all, 0) != value ||
      bound_indices(g, all) != bound_indices(g, n) || !is_true(g, g.arg(all, 1)) || g.type(all) != g.type(n) ||
      !counts_terms(g, count, n))
    return {};
  return {n, mean, count, value};
}

// Does the program ask for powers about a maximum one by one? Then a row that fits the memory of a group keeps them.
class powers_asked_for {
 public:
  explicit powers_asked_for(graph& g) : g_(g) {
    for (const node_id define : g.outputs) visit(define);
  }
  bool any() const { return any_; }

 private:
  void visit(node_id n) {
    if (g_.kind(n) == op::extent || !seen_.insert(n).second) return;
    if (g_.kind(n) == op::reduce && monoid_of(g_, n) == monoid::sum) {
      const power summed = power_of(g_, g_.arg(n, 0));
      if (summed.value != no_node) return visit(summed.value), visit(summed.centre);
    }
    if (const power p = power_of(g_, n); p.value != no_node) {
      const node_id top = maximum_of_centre(g_, p.centre, [&](node_id a, node_id b) { return is_same(g_, a, b); });
      any_ = any_ || is_extremum(g_, top) || g_.kind(top) == op::load;
    }
    for (int k = 0; k < g_[n].count; ++k) visit(g_.arg(n, k));
  }
  graph& g_;
  std::unordered_set<node_id> seen_;
  bool any_ = false;
};

// Tuple monoids of the rule's own, once each.
monoid interned(graph& g, const std::vector<own_monoid_row>& rows) {
  const auto same = [&](int at) {
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (g.monoids[at + static_cast<int>(k)].combine != rows[k].combine) return false;
    return true;
  };
  for (int at = 0; at + static_cast<int>(rows.size()) <= g.monoids.size(); ++at)
    if (same(at)) return own_kind(at);
  for (const own_monoid_row& each : rows) g.monoids.push(each);
  return own_kind(g.monoids.size() - static_cast<int>(rows.size()));
}
node_id operand(graph& g, element type, int k) { return g.intern(op::operand, type, k, nullptr, 0); }

monoid scaled_sums(graph& g, element type) {
  const node_id m = operand(g, type, 0), s = operand(g, type, 1), n = operand(g, type, 2), t = operand(g, type, 3);
  const node_id apart = make(g, op::neg, make(g, op::abs, make(g, op::sub, m, n)));
  // of two infinities of one sign there is no difference
  const node_id by = make(g, op::select, make(g, op::equal, m, n), number(g, type, 1), make(g, op::exp, apart));
  const node_id up = make(g, op::add, make(g, op::mul, s, by), t), down = make(g, op::add, s, make(g, op::mul, t, by));
  const name_id name = g.name("scaled_sum", 10);
  const node_id top = make(g, op::maximum, m, n), sum = make(g, op::select, make(g, op::less, m, n), up, down);
  return interned(g, {{name, type, identity_of(g, monoid::max, type), top, no_node, 0, 2, false},
                      {name, type, number(g, type, 0), sum, no_node, 1, 2, false}});
}

// (Chan, Golub and LeVeque 1979.) Of no terms on either side the weight is 0; squares of what is far apart are made
// last, so that a first term, however large, adds 0.
monoid centred_squares(graph& g, element type) {
  const node_id n = operand(g, type, 0), a = operand(g, type, 1), s = operand(g, type, 2), m = operand(g, type, 3),
                b = operand(g, type, 4), t = operand(g, type, 5), one = number(g, type, 1), zero = number(g, type, 0);
  const node_id all = make(g, op::add, n, m), apart = make(g, op::sub, b, a);
  const node_id weight = make(g, op::div, m, make(g, op::select, make(g, op::less, all, one), one, all));
  const node_id mean = make(g, op::add, a, make(g, op::mul, apart, weight));
  const node_id between = make(g, op::mul, make(g, op::mul, apart, make(g, op::mul, n, weight)), apart);
  const name_id name = g.name("centred_squares", 15);
  return interned(g, {{name, type, zero, all, no_node, 0, 3, false},
                      {name, type, zero, mean, no_node, 1, 3, false},
                      {name, type, zero, make(g, op::add, s, make(g, op::add, t, between)), no_node, 2, 3, false}});
}

// The extremum so far and the first place of it; of equals, and of what is not a number, the lesser place.
monoid first_extrema(graph& g, element type, bool largest) {
  const node_id v = operand(g, type, 0), i = operand(g, element::i64, 1), w = operand(g, type, 2),
                j = operand(g, element::i64, 3);
  node_id beyond = largest ? make(g, op::less, v, w) : make(g, op::less, w, v), equal = make(g, op::equal, v, w);
  if (is_floating(type)) {
    const node_id none = make(g, op::not_equal, v, v), other = make(g, op::not_equal, w, w);
    beyond = make(g, op::logical_or, beyond, make(g, op::logical_and, other, make(g, op::logical_not, none)));
    equal = make(g, op::logical_or, equal, make(g, op::logical_and, other, none));
  }
  const node_id before = make(g, op::logical_and, equal, make(g, op::less, j, i));
  const node_id takes = make(g, op::logical_or, beyond, before);
  const name_id name = g.name("first_extremum", 14);
  const node_id least = identity_of(g, largest ? monoid::max : monoid::min, type);
  const node_id nowhere = identity_of(g, monoid::min, element::i64);
  return interned(g, {{name, type, least, make(g, op::select, takes, w, v), no_node, 0, 2, false},
                      {name, element::i64, nowhere, make(g, op::select, takes, j, i), no_node, 1, 2, false}});
}

// Both of one fold.
struct moments {
  node_id mean = no_node, squares = no_node;
};
moments moments_of(graph& g, const sum_of_squares& own) {
  const element type = g.type(own.sum);
  const monoid fold = centred_squares(g, type);
  flat<node_id> term;
  for (const node_id e : {number(g, type, 1), own.value, number(g, type, 0)}) term.push(e);
  const auto value = [&](int k) {
    return intern_value(g, fold, k, tuple(g, term), g.arg(own.sum, 1), bound_indices(g, own.sum));
  };
  const node_id mean = value(1), none = make(g, op::equal, own.count, number(g, type, 0));
  // Where a mean is infinite its differences are no numbers.
  const node_id wrong = make(g, op::sub, mean, mean);
  return {make(g, op::select, none, number(g, type, math::nan), mean), make(g, op::add, value(2), wrong)};
}

constexpr const char* reason_of_moments =
    "a mean and the sum of the squares about it in one walk, which moves the sum with the mean";

class one_walk {
 public:
  one_walk(const context& c, stage& s, node_id n)
      : g_(c.g), known_(c.known), s_(s), n_(n), bound_(bound_indices(g_, n)) {}

  bool operator()() {
    if (!has_closed_ranges(g_, n_)) return false;
    if (row(monoid_of(g_, n_)).position) return leaves_idle() && position();
    if (const sum_of_powers own = sum_of_powers_in(g_, n_); own.sum != no_node) return saves(true) && powers(own);
    const sum_of_squares own = sum_of_squares_in(g_, n_);
    return own.sum != no_node && saves(false) && squares(own);
  }

 private:
  // A walk that is saved reads what is no longer near: down columns, or along rows that keep nothing. Not those that
  // the widest lanes take at once.
  bool saves(bool may_be_kept) const {
    const amount terms = known_.trips(set_of(g_, bound_));
    if (known_.call().force_for_tests) return true;
    if (terms < most) return false;
    const bool down = s_.vector != no_node && uses(g_, n_, s_.vector);
    return down || !may_be_kept || terms > gpu_long_row || !powers_asked_for(g_).any();
  }
  node_id value(monoid fold, const flat<node_id>& of_term, int k) {
    return intern_value(g_, fold, k, tuple(g_, of_term), g_.arg(n_, 1), bound_);
  }

  bool powers(const sum_of_powers& own) {
    const element type = g_.type(n_);
    const monoid fold = scaled_sums(g_, type);
    flat<node_id> term;
    for (const node_id e : {own.term.value, number(g_, type, 1)}) term.push(e);
    const node_id top = value(fold, term, 0);
    replacement put(g_);
    put.add(own.maximum, top);
    // Powers about an infinite maximum have no sum relative to it: they are one, or none, of the centre that it has.
    const node_id infinite = make(g_, op::equal, make(g_, op::abs, top), number_like(g_, top, math::infinity));
    // Of no terms the sum is 0, whatever the centre.
    const node_id of_infinite = make(g_, op::exp, make(g_, op::sub, top, put(own.term.centre)));
    const node_id sum = value(fold, term, 1), some = make(g_, op::less, number_like(g_, sum, 0), sum);
    const node_id asked = make(g_, op::logical_and, infinite, some);
    replace_in(g_, s_, n_, make(g_, op::select, asked, of_infinite, sum));
    replace_in(g_, s_, own.maximum, top);
    s_.reasons.push_back("a maximum and the sum of powers about it in one walk, which scales the sum as that grows");
    return true;
  }

  bool squares(const sum_of_squares& own) {
    const moments both = moments_of(g_, own);
    replace_in(g_, s_, n_, both.squares);
    replace_in(g_, s_, own.mean, both.mean);
    s_.reasons.push_back(reason_of_moments);
    return true;
  }

  // Results so few that tasks of theirs alone would leave the device idle, where blocks of their terms would not.
  bool leaves_idle() const {
    if (bound_.size() != 1 || !is_true(g_, g_.arg(n_, 1)) || g_.type(g_.arg(n_, 0)) == element::boolean) return false;
    const amount results = known_.trips(g_.free[n_]), all = results * known_.trips(set_of(g_, bound_));
    const bool down = s_.vector != no_node && uses(g_, n_, s_.vector);
    return known_.starves(down ? results / tuning::grid::warp : results, all / tuning::grid::warp, all);
  }

  // In blocks, whose extrema are found with their places: blocks of extrema alone would be walked again for these.
  bool position() {
    const node_id given = g_.arg(n_, 0);
    const element type = is_half(g_.type(given)) ? element::f32 : g_.type(given);
    const monoid fold = first_extrema(g_, type, monoid_of(g_, n_) == monoid::argmax);
    flat<node_id> term;
    for (const node_id e : {cast_to(g_, type, given), bound_.front()}) term.push(e);
    const node_id place = value(fold, term, 1), none = identity_of(g_, monoid::min, element::i64);
    replace_in(g_, s_, n_, make(g_, op::select, make(g_, op::equal, place, none), integer(g_, -1), place));
    s_.reasons.push_back("an extremum and its place in one walk, as it is folded in blocks");
    return true;
  }

  graph& g_;
  const facts& known_;
  stage& s_;
  const node_id n_;
  const std::vector<node_id> bound_;
};

}  // namespace

bool take_one_walk(const context& c, stage& s) {
  if (!c.known.for_groups() || s.how != way::map || s.where == place::check) return false;
  for (const node_id n : reductions_in(c.g, s.body))
    if (one_walk(c, s, n)()) return true;
  return false;
}

void walk_stored_means(graph& g, const facts& known, std::vector<stage>& stages) {
  if (!known.for_groups()) return;
  for (stage& s : stages)
    for (const node_id n : reductions_in(g, s.body)) {
      const node_id apart = monoid_of(g, n) == monoid::sum ? squared_difference(g, g.arg(n, 0)) : no_node;
      if (apart == no_node || g.kind(g.arg(apart, 1)) != op::load) continue;
      const node_id use = g.arg(apart, 1);
      const auto mean = std::ranges::find(stages, g.arg(use, 0), &stage::define);
      if (mean == stages.end() || mean->how != way::map || arguments(g, use, 1) != mean->indices) continue;
      const sum_of_squares own = sum_of_squares_in(g, n, mean->body);
      if (own.sum == no_node || !has_closed_ranges(g, n)) continue;
      if (!known.call().force_for_tests && known.trips(set_of(g, bound_indices(g, n))) < most) continue;
      const moments both = moments_of(g, own);
      replace_in(g, s, n, both.squares);
      mean->body = both.mean;
      for (stage* const each : {&s, &*mean}) each->reasons.push_back(reason_of_moments);
    }
}

}  // namespace sheaf::inline v0_1::plan
