#include <sheaf/jit/plan/algorithms/polyphase/result_phases.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::polyphase;

// What rounds the last index of a stage, all by one number.
class rounded {
 public:
  rounded(graph& g, node_id body, node_id last) : g_(g), last_(last) {
    for_each_node(g, body, [&](node_id n) {
      if ((g.kind(n) == op::quotient || g.kind(n) == op::remainder) && uses(g, n, last)) nodes_.push_back(n);
    });
  }

  // The number; nothing where there is none, or not one.
  std::optional<std::int64_t> by() const {
    if (nodes_.empty() || !is_constant(g_, g_.arg(nodes_.front(), 1))) return std::nullopt;
    const node_id one = g_.arg(nodes_.front(), 1);
    const bool same = std::ranges::all_of(nodes_, [&](node_id n) {
      return g_.type(n) == element::i64 && g_.arg(n, 1) == one && split_affine(g_, g_.arg(n, 0), last_).affine;
    });
    return same ? std::optional(g_[one].attribute) : std::nullopt;
  }

  // An expression at the results by * along + phase.
  node_id at(node_id e, node_id along, std::int64_t phase) const {
    const node_id by = g_.arg(nodes_.front(), 1);
    replacement put(g_, proofs::kept);
    for (const node_id n : nodes_) {
      const line l = split_affine(g_, g_.arg(n, 0), last_);
      const node_id part = make(g_, g_.kind(n), plus(g_, l.rest, l.slope * phase), by);
      const node_id whole = make(g_, op::mul, along, integer(g_, l.slope));
      put.rename(n, g_.kind(n) == op::quotient ? make(g_, op::add, whole, part) : part);
    }
    put.add(last_, plus(g_, make(g_, op::mul, along, by), phase));
    return put(e);
  }

 private:
  graph& g_;
  const node_id last_;
  std::vector<node_id> nodes_;
};

bool sums_products(const graph& g, node_id body) {
  const std::vector<node_id> all = reductions_in(g, body);
  return !all.empty() && std::ranges::all_of(all, [&](node_id n) {
    const bool products = monoid_of(g, n) == monoid::sum && g.kind(g.arg(n, 0)) == op::mul;
    return products && is_floating(g.type(n)) && !is_term_by_term(g, n);
  });
}

// Is each reduction over one window of few places that moves with `last`, and over more than windows?
bool folds_windows(const context& c, node_id body, node_id last) {
  graph& g = c.g;
  const std::vector<node_id> all = reductions_in(g, body);
  return std::ranges::all_of(all, [&](node_id n) {
    int moving = 0, closed = 0;
    for (const node_id idx : bound_indices(g, n)) {
      closed += is_closed(g, idx);
      if (!uses(g, idx, last)) continue;
      const window w = window_of(c, idx);
      if (w.count == 0 || !uses(g, w.base, last)) return false;
      ++moving;
    }
    return moving == 1 && closed > 0;
  });
}

// No reductions, but loads of which each lane would come from a place of its own. A quotient alone is one place for
// several lanes.
bool loads_apart(const graph& g, node_id body, node_id last) {
  const auto rounds = [&](node_id n) {
    return any_node(g, g.arg(n, g[n].count - 1), [&](node_id e) {
      return g.kind(e) == op::remainder && uses(g, e, last);
    });
  };
  const std::vector<node_id> loads = loads_in(g, body);
  return reductions_in(g, body).empty() && std::ranges::count_if(loads, rounds) >= fewest_loads;
}

}  // namespace

bool take_result_phases(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (known.call().gpu || s.how != way::map || s.where == place::check || s.indices.empty()) return false;
  const node_id last = s.indices.back(), high = g.arg(last, 1);
  if (!is_number(g, g.arg(last, 0), 0) || !g.free[high].empty()) return false;
  const rounded divided(g, s.body, last);
  const std::optional<std::int64_t> by = divided.by();
  if (!by || *by < 2 || *by > most_phases) return false;
  const bool sums = sums_products(g, s.body) && folds_windows(c, s.body, last);
  if (!sums && !loads_apart(g, s.body, last)) return false;
  if (known.trips(last) < fewest_of_phase * static_cast<double>(*by)) return false;
  const node_id d = integer(g, *by), at = make(g, op::quotient, last, d), part = make(g, op::remainder, last, d);
  const std::string reason = "every " + std::to_string(*by) + " results " + (sums ? "sum" : "read") + " other places";
  node_id all = no_node;
  for (std::int64_t r = *by; r-- > 0;) {
    const node_id along = fresh_index(g, last, integer(g, 0), make(g, op::quotient, plus(g, high, *by - 1 - r), d));
    stage like = s;
    like.vector = along;
    const node_id phase = stored(c, divided.at(s.body, along, r), {"phase", like, reason});
    replacement put(g);
    put.add(along, at);
    const node_id here = put(phase);
    all = all == no_node ? here : make(g, op::select, make(g, op::equal, part, integer(g, r)), here, all);
  }
  s.body = all;
  return true;
}

}  // namespace sheaf::inline v0_1::plan
