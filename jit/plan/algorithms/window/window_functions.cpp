#include <sheaf/jit/plan/algorithms/window/window_functions.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::placement;

// Where an expression reads indices t and u as places of one line only: in integers s + rest and rest - s of
// s = u_step * u + t_step * t.
class places {
 public:
  places(graph& g, node_id t, node_id u) : g_(g), t_(t), u_(u) {}

  bool operator()(node_id n) {
    if ((!uses(g_, n, u_) && !uses(g_, n, t_)) || !seen_.insert(n).second) return true;
    if (g_.type(n) == element::i64 && (g_.kind(n) == op::index || is_elementwise(g_.kind(n)))) {
      if (is_place(n)) return true;
      if (g_.kind(n) == op::index) return false;
    }
    if (g_.kind(n) == op::reduce) return false;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (!(*this)(g_.arg(n, k))) return false;
    return true;
  }

  // s, in the indices.
  node_id line_of() const {
    const node_id of_u = times(u_, u_step_), of_t = times(t_, t_step_);
    if (u_step_ < 0) return make(g_, op::sub, t_step_ < 0 ? make(g_, op::sub, integer(g_, 0), of_t) : of_t, of_u);
    return make(g_, t_step_ < 0 ? op::sub : op::add, of_u, of_t);
  }
  // The expression in s.
  node_id moved(node_id e, node_id s) const {
    replacement put(g_);
    put.drop_proofs();  // places between those that are read may be outside
    for (const auto& [node, rest, sign] : found_) put.add(node, make(g_, sign > 0 ? op::add : op::sub, rest, s));
    return put(e);
  }

 private:
  struct place {
    node_id node, rest;
    int sign;
  };
  node_id times(node_id idx, std::int64_t step) const { return make(g_, op::mul, idx, integer(g_, std::abs(step))); }
  bool is_place(node_id n) {
    const line a = split_affine(g_, n, u_);
    const line b = a.affine ? split_affine(g_, a.rest, t_) : line{};
    if (!b.affine || a.slope == 0) return false;
    const int sign = found_.empty() || a.slope == u_step_ ? 1 : -1;
    if (!found_.empty() && (a.slope * sign != u_step_ || b.slope * sign != t_step_)) return false;
    u_step_ = a.slope * sign;
    t_step_ = b.slope * sign;
    found_.push_back({n, b.rest, sign});
    return true;
  }

  graph& g_;
  node_id t_, u_;
  std::int64_t u_step_ = 0, t_step_ = 0;
  std::vector<place> found_;
  std::unordered_set<node_id> seen_;
};

// A value by the places of the lines that it reads instead of by the indices of a reduction and those around it.
class moved_value {
 public:
  moved_value(const context& c, node_id reduce, node_id value, const stage& s)
      : c_(c), g_(c.g), value_(value), computed_(g_.free[value]) {
    for (const node_id u : bound_indices(g_, reduce)) move(u);
    within_ = computed_;
    within_ |= set_of(g_, s.indices);
  }

  bool is_repeated() const {
    if (back_.empty() || !has_closed_ranges(g_, value_) || !is_of_one_tensor()) return false;
    const amount overlap = c_.known.trips(computed_), computed = c_.known.trips(within_);
    const amount needed = c_.known.trips(g_.free[value_]);
    return all_of({{computed, often_in_windows}, {computed, places_in_windows * needed}, {2 * overlap, 3 * needed}});
  }

  // What stores the value, read at the places that the value had.
  node_id stored_in(const stage& like) const {
    node_id read = stored(c_, value_, {"values", like, "a slow function of what several ranges hold", origin::rule,
                                     true});
    for (auto each = back_.rbegin(); each != back_.rend(); ++each)  // a later place may name an earlier walk
      read = with(g_, read, each->first, each->second);
    return read;
  }

 private:
  // Has a tensor that it reads an element for each? What is a value of more than its tensors hold may be a value of
  // pairs, which take memory without end.
  bool is_of_one_tensor() const {
    const std::vector<node_id> loads = loads_in(g_, value_);
    const index_set& own = g_.free[value_];
    return std::ranges::any_of(loads, [&](node_id n) {
      return g_.free[n] == own && std::ssize(indices_of(g_, own)) <= g_[n].count - 1;
    });
  }
  void move(node_id u) {
    if (!g_.free[value_].has(g_.ordinal(u))) return;
    for (const node_id t : indices_of(g_, g_.free[value_])) {
      places read(g_, t, u);
      if (t == u || !read(value_)) continue;
      const node_id line = read.line_of();
      const closed_bounds ends = closed_bounds_of(g_, line);
      if (ends.least == no_node || ends.most == no_node) continue;
      const node_id walk = fresh_index(g_, u, ends.least, plus(g_, ends.most, 1));
      value_ = read.moved(value_, walk);
      back_.emplace_back(walk, line);
      computed_.insert(g_.ordinal(t));
      return;
    }
  }

  const context& c_;
  graph& g_;
  node_id value_;
  index_set computed_;  // the indices for which windows compute it
  index_set within_;    // and those of all loops around it
  std::vector<std::pair<node_id, node_id>> back_;
};

// The outermost slow functions of a term that its reduction's ranges move over.
class search {
 public:
  search(const context& c, node_id reduce, const stage& s) : c_(c), g_(c.g), reduce_(reduce), s_(s) {}

  // The term with the first of them stored; no_node: it has none.
  node_id operator()(node_id term) {
    const node_id found = find(term);
    return found == no_node ? no_node : with(g_, term, found, instead_);
  }

 private:
  node_id find(node_id n) {
    if (!is_elementwise(g_.kind(n)) || !seen_.insert(n).second) return no_node;
    if (is_candidate(n)) {
      const moved_value moved(c_, reduce_, n, s_);
      if (moved.is_repeated()) {
        instead_ = moved.stored_in(s_);
        return n;
      }
    }
    for (int k = 0; k < g_[n].count; ++k)
      if (const node_id found = find(g_.arg(n, k)); found != no_node) return found;
    return no_node;
  }
  bool is_candidate(node_id n) const {
    // Halves are computed in f32 and rounded once, at the end.
    return is_floating(g_.type(n)) && !is_half(g_.type(n)) &&
           g_.free[n].meets(set_of(g_, bound_indices(g_, reduce_))) && is_slow(g_, n) && !holds(g_, n, op::reduce);
  }

  const context& c_;
  graph& g_;
  node_id reduce_;
  const stage& s_;
  std::unordered_set<node_id> seen_;
  node_id instead_ = no_node;
};

}  // namespace

node_id take_window_functions(const context& c, node_id n, const stage& s) {
  graph& g = c.g;
  if (s.how != way::map || s.where == place::check || folds_tuple(g, n)) return no_node;
  const node_id term = search(c, n, s)(g.arg(n, 0));
  return term == no_node ? no_node : with_body(g, n, term);
}

}  // namespace sheaf::inline v0_1::plan
