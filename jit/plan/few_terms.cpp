#include <sheaf/jit/plan/few_terms.hpp>

#include <algorithm>
#include <cstdlib>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/halves.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/walks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using numerics::few_terms::most;

// 0: they are more than a few, or no constant number.
std::int64_t few_trips(const graph& g, node_id idx) {
  if (!is_closed(g, idx) || !is_constant(g, g.arg(idx, 0)) || !is_constant(g, g.arg(idx, 1))) return 0;
  const std::int64_t low = g[g.arg(idx, 0)].attribute, high = g[g.arg(idx, 1)].attribute;
  return low > -steepest && low < high && high <= low + most ? high - low : 0;
}

class terms {
 public:
  terms(graph& g, node_id n) : g_(g), n_(n), bound_(bound_indices(g, n)) {}

  // Of no more nodes than there is room for, which they then take.
  bool are_apart(std::int64_t& room) {
    const monoid fold = monoid_of(g_, n_);
    if (is_own(fold) || row(fold).position || keeps_several(g_, n_) || is_term_by_term(g_, n_)) return false;
    const element type = g_.type(n_);
    if (numerics::accumulated(type) != type || g_.type(g_.arg(n_, 0)) != type || type == element::boolean) return false;
    if (g_.free[n_].empty() || !are_few(g_, bound_)) return false;
    const node_id value = g_.arg(n_, 0), condition = g_.arg(n_, 1);
    if (holds(g_, value, op::reduce) || holds(g_, condition, op::reduce)) return false;
    if (!is_true(g_, condition) && !(is_safe(g_, value) && is_safe(g_, condition))) return false;
    std::int64_t nodes = 0, times = 1;
    for (const node_id idx : bound_) times *= few_trips(g_, idx);
    bool fits = true;
    for (const node_id part : {value, condition})
      for_each_node(g_, part, [&](node_id e) {
        if (!g_.free[e].meets(set_of(g_, bound_))) return;
        nodes += times;
        fits = fits && (g_.kind(e) != op::load || !slides_in(e));
      });
    if (!fits || nodes > room) return false;
    room -= nodes;
    return true;
  }

  node_id combined() {
    node_id sum = no_node;
    std::vector<std::int64_t> at;
    for (const node_id idx : bound_) at.push_back(g_[g_.arg(idx, 0)].attribute);
    for (bool again = true; again;) {
      replacement put(g_, proofs::kept);
      for (std::size_t k = 0; k < at.size(); ++k) put.add(bound_[k], integer(g_, at[k]));
      const node_id one = term(put);
      sum = sum == no_node ? one : make(g_, row(monoid_of(g_, n_)).combine, sum, one);
      again = next(at);
    }
    return sum;
  }

 private:
  // A term that does not count is the identity.
  node_id term(replacement& put) {
    const node_id value = put(g_.arg(n_, 0)), condition = put(g_.arg(n_, 1));
    if (is_true(g_, condition)) return value;
    return make(g_, op::select, condition, value, identity_of(g_, monoid_of(g_, n_), g_.type(n_)));
  }
  // In windows that overlap: stencils walk those. What data names lies anywhere.
  bool slides_in(node_id load) const {
    for (const node_id idx : bound_)
      for (int d = 1; d < g_[load].count; ++d) {
        const node_id at = g_.arg(load, d);
        if (!g_.free[at].has(g_.ordinal(idx)) || at == idx || holds(g_, at, op::load)) continue;
        for (const node_id other : indices_of(g_, g_.free[at].without(set_of(g_, bound_)))) {
          const line l = split_affine(g_, at, other);
          if (!l.affine || std::abs(l.slope) < few_trips(g_, idx)) return true;
        }
      }
    return false;
  }
  bool next(std::vector<std::int64_t>& at) const {
    for (std::size_t k = bound_.size(); k-- > 0;) {
      if (++at[k] < g_[g_.arg(bound_[k], 1)].attribute) return true;
      at[k] = g_[g_.arg(bound_[k], 0)].attribute;
    }
    return false;
  }

  graph& g_;
  const node_id n_;
  const std::vector<node_id> bound_;
};

// Sums of halves are held in f32: so are their terms, once they are apart. no_node: they are not few, or not values.
node_id held_in_f32(graph& g, node_id n) {
  if (!is_half(g.type(n))) return n;
  return are_few(g, bound_indices(g, n)) && !keeps_several(g, n) ? with_terms_in_f32(g, n) : no_node;
}

}  // namespace

bool are_few(const graph& g, std::span<const node_id> indices) {
  std::int64_t all = 1;
  return std::ranges::all_of(indices, [&](node_id idx) {
    all *= few_trips(g, idx);
    return all >= 1 && all <= most;
  });
}

bool take_few_terms(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (known.for_groups() || (s.how != way::map && s.how != way::scatter)) return false;
  bool any = false;
  std::int64_t room = tuning::few_terms::most_nodes;
  for_each_node(g, s.body, [&](node_id) { --room; });
  for (bool again = true; again;) {
    again = false;
    for (const node_id n : reductions_in(g, s.body)) {
      if (s.how == way::scatter && n == s.body) continue;
      const node_id held = held_in_f32(g, n);
      if (held == no_node) continue;
      terms all(g, held);
      if (!all.are_apart(room)) continue;
      replace_in(g, s, n, cast_to(g, g.type(n), all.combined()));
      any = again = true;
      break;
    }
  }
  return any;
}

}  // namespace sheaf::inline v0_1::plan
