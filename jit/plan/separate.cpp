#include <sheaf/jit/plan/separate.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/sliding.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class separation {
 public:
  separation(graph& g, node_id reduce) : g_(g), n_(reduce) { bound_ = set_of(g, bound_indices(g, reduce)); }

  node_id operator()(node_id body, node_id condition, int depth = 0) {
    const node_id choice = depth < 4 ? outer_choice(body) : no_node;
    if (choice == no_node) return without_factors(body, condition);
    const node_id test = g_.arg(choice, 0);
    node_id parts[2];
    for (int k = 0; k < 2; ++k) {
      replacement put(g_, g_.free[test]);  // a reduction over an index of the test asks it anew
      put.add(choice, g_.arg(choice, 1 + k));
      const node_id known = nonzero_;
      if (k == 1 && g_.kind(test) == op::equal && is_number(g_, g_.arg(test, 1), 0)) nonzero_ = g_.arg(test, 0);
      parts[k] = (*this)(put(body), condition, depth + 1);
      nonzero_ = known;
    }
    return make(g_, op::select, test, parts[0], parts[1]);
  }

 private:
  bool outside(node_id e) const { return !g_.free[e].meets(bound_); }

  node_id outer_choice(node_id e) const {
    const op kind = g_.kind(e);
    if (kind == op::select && outside(g_.arg(e, 0))) return e;
    if (!is_elementwise(kind)) return no_node;
    for (int k = 0; k < g_[e].count; ++k)
      if (const node_id found = outer_choice(g_.arg(e, k)); found != no_node) return found;
    return no_node;
  }

  // A number of elements, of which there are some.
  bool is_count(node_id e) const {
    return g_.kind(e) == op::cast && !is_floating(g_.type(g_.arg(e, 0))) && outside(e) &&
           known_less_equal(g_, integer(g_, 1), g_.arg(e, 0));
  }
  // a * (b / d), where d is known not to be 0.
  bool divided(node_id& e) {
    const op kind = g_.kind(e);
    if (kind == op::div && (g_.arg(e, 1) == nonzero_ || (nonzero_ == no_node && is_count(g_.arg(e, 1))))) {
      divisor_ = g_.arg(e, 1);
      e = g_.arg(e, 0);
      return true;
    }
    if (kind == op::select && is_number(g_, g_.arg(e, 2), 0)) {
      node_id part = g_.arg(e, 1);
      if (!divided(part)) return false;
      e = make(g_, op::select, g_.arg(e, 0), part, g_.arg(e, 2));
      return true;
    }
    if (kind != op::mul) return false;
    for (int k = 0; k < 2; ++k) {
      node_id part = g_.arg(e, k);
      if (!divided(part)) continue;
      e = make(g_, op::mul, part, g_.arg(e, 1 - k));
      return true;
    }
    return false;
  }
  // What a sum is multiplied by is outside where the rest then is a running result or a window.
  node_id without_factors(node_id body, node_id condition) {
    const bool masked = g_.kind(body) == op::select && is_number(g_, g_.arg(body, 2), 0);
    const node_id product = masked ? g_.arg(body, 1) : body;
    std::vector<node_id> inner, outer;
    if (monoid_of(g_, n_) == monoid::sum && is_floating(g_.type(n_)) && g_.type(n_) == g_.type(product))
      for (const node_id e : factors_of(g_, product)) (outside(e) ? outer : inner).push_back(e);
    if (inner.empty() || outer.empty()) return without_divisor(body, condition);
    node_id rest = product_of(g_, inner, product);
    if (masked) rest = make(g_, op::select, g_.arg(body, 0), rest, g_.arg(body, 2));
    const auto list = bound_indices(g_, n_);
    const node_id sum = intern_reduce(g_, monoid::sum, g_.type(n_), rest, condition, list);
    if (sliding_of(g_, sum).over == no_node) return without_divisor(body, condition);
    return where_walked(make(g_, op::mul, sum, product_of(g_, outer, product)), condition);
  }
  node_id without_divisor(node_id body, node_id condition) {
    const bool over = monoid_of(g_, n_) == monoid::sum && is_floating(g_.type(n_)) && divided(body);
    const auto list = bound_indices(g_, n_);
    const node_id sum = is_number(g_, body, 0) && monoid_of(g_, n_) == monoid::sum
                            ? body
                            : intern_reduce(g_, monoid_of(g_, n_), g_.type(n_), body, condition, list);
    return over ? where_walked(make(g_, op::div, sum, divisor_), condition) : sum;
  }
  // Over nothing a sum is 0, whatever it is divided by: that may be NaN.
  node_id where_walked(node_id result, node_id condition) {
    node_id walked = truth(g_, true);
    if (!is_true(g_, condition))
      walked = intern_reduce(g_, monoid::any, element::boolean, walked, condition, bound_indices(g_, n_));
    for (const node_id idx : bound_indices(g_, n_)) {
      const node_id low = g_.arg(idx, 0), high = g_.arg(idx, 1);
      if (!outside(low) || !outside(high)) continue;
      if (known_less_equal(g_, make(g_, op::add, low, integer(g_, 1)), high)) continue;
      walked = conjunction(g_, walked, make(g_, op::less, low, high));
    }
    return make(g_, op::select, walked, result, number_like(g_, result, 0));
  }

  graph& g_;
  node_id n_;
  index_set bound_;
  node_id nonzero_ = no_node, divisor_ = no_node;
};

// A term that is 0 where a condition fails stands under the condition.
node_id sum_like(graph& g, node_id n, node_id term) {
  node_id condition = g.arg(n, 1);
  if (g.kind(term) == op::select && is_number(g, g.arg(term, 2), 0)) {
    condition = conjunction(g, condition, g.arg(term, 0));
    term = g.arg(term, 1);
  }
  return intern_reduce(g, monoid::sum, g.type(n), term, condition, bound_indices(g, n));
}

// A sum of products over several indices, and one of them: what depends on it, summed over it, is the `inner` sum.
struct contraction {
  node_id over = no_node;
  std::vector<node_id> inner, outer;
  index_set of_inner;  // its indices
  amount terms = 0;    // of both sums, for all results
};

index_set all_indices(const graph& g, node_id reduce) {
  index_set all = g.free[reduce];
  all |= set_of(g, bound_indices(g, reduce));
  return all;
}

contraction contracted_over(const graph& g, const facts& known, node_id n, std::span<const node_id> factors,
                            node_id over) {
  contraction c;
  c.over = over;
  index_set all = all_indices(g, n);
  for (const node_id e : factors) {
    (uses(g, e, over) ? c.inner : c.outer).push_back(e);
    if (uses(g, e, over)) c.of_inner |= g.free[e];
  }
  c.terms = known.trips(c.of_inner);
  all.erase(g.ordinal(over));
  c.of_inner.erase(g.ordinal(over));
  c.terms += known.trips(all);
  return c;
}

node_id inner_sum(graph& g, node_id n, const contraction& c) {
  return intern_reduce(g, monoid::sum, g.type(n), product_of(g, c.inner, n), truth(g, true), {c.over});
}

// No fewer terms, but those of a product of matrices, which has tiles, as the sum over all indices has not.
contraction product_first(const context& c, node_id n, std::span<const node_id> factors) {
  if (c.known.call().gpu || is_product(c.g, c.known, n, 1)) return {};
  for (const node_id idx : bound_indices(c.g, n)) {
    contraction one = contracted_over(c.g, c.known, n, factors, idx);
    if (one.inner.size() < 2 || one.outer.empty()) continue;
    if (is_small_product(c.g, c.known, inner_sum(c.g, n, one))) return one;
  }
  return {};
}

// Every place of the sum may be computed, whoever asks for it.
bool is_plain_product(graph& g, node_id n) {
  const std::vector<node_id> bound = bound_indices(g, n);
  bool plain = monoid_of(g, n) == monoid::sum && is_floating(g.type(n)) && row(g.type(n)).bytes >= 4 &&
               is_true(g, g.arg(n, 1)) && !is_term_by_term(g, n) && has_closed_ranges(g, n) && bound.size() > 1;
  for (const node_id idx : bound)
    plain = plain && g.free[g.arg(idx, 0)].empty() && g.free[g.arg(idx, 1)].empty();
  return plain && all_nodes(g, g.arg(n, 0), [&](node_id e) {
           return g.kind(e) != op::reduce && g.kind(e) != op::select && (g.kind(e) != op::load || is_inside(g, e));
         });
}

}  // namespace

node_id take_contracted(const context& c, node_id n, const stage& s) {
  graph& g = c.g;
  if (!is_plain_product(g, n)) return no_node;
  const std::vector<node_id> factors = factors_of(g, g.arg(n, 0));
  if (factors.size() < 3) return no_node;
  const amount direct = c.known.trips(all_indices(g, n));
  contraction best;
  for (const node_id idx : bound_indices(g, n)) {
    contraction other = contracted_over(g, c.known, n, factors, idx);
    if (other.inner.size() > 1 && !other.outer.empty() && tuning::separate::saved * other.terms <= direct &&
        (best.over == no_node || other.terms < best.terms))
      best = std::move(other);
  }
  if (best.over == no_node) best = product_first(c, n, factors);
  if (best.over == no_node) return no_node;
  std::vector<node_id> rest = bound_indices(g, n);
  std::erase(rest, best.over);
  node_id sum = inner_sum(g, n, best);
  if (best.inner.size() == 2) {  // a stage may have it the other way round
    std::swap(best.inner.front(), best.inner.back());
    const node_id other = inner_sum(g, n, best);
    if (std::ranges::count(c.before, other, [&](const stage& t) { return g.arg(t.define, 0); }) != 0) sum = other;
  }
  const node_id at = stored(c, sum, {"contracted", s, "a sum of products over several indices: one index at a time"});
  best.outer.push_back(at);
  return intern_reduce(g, monoid::sum, g.type(n), product_of(g, best.outer, n), truth(g, true), rest);
}

node_id separated(graph& g, node_id n) {
  if (keeps_several(g, n)) return n;
  bool worth = false;  // a range that an outer index bounds
  for (const node_id idx : bound_indices(g, n)) {
    index_set range = g.free[idx];
    range.erase(g.ordinal(idx));
    const bool data = holds(g, g.arg(idx, 0), op::load) || holds(g, g.arg(idx, 1), op::load);
    worth = worth || (!range.empty() && !data);
  }
  // Gradients add what meets the range in different ways under one sum. Terms that slide together, or are
  // all alike, stay together: a difference of sums has lost what cancels in its terms.
  const node_id body = g.arg(n, 0);
  const bool terms = g.kind(body) == op::add || g.kind(body) == op::sub;
  if (worth && terms && monoid_of(g, n) == monoid::sum) {
    if (!g.free[body].meets(set_of(g, bound_indices(g, n))) || sliding_of(g, n).over != no_node) return n;
    return make(g, g.kind(body), sum_like(g, n, g.arg(body, 0)), sum_like(g, n, g.arg(body, 1)));
  }
  return worth ? separation(g, n)(g.arg(n, 0), g.arg(n, 1)) : n;
}

}  // namespace sheaf::inline v0_1::plan
