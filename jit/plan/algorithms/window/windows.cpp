#include <sheaf/jit/plan/algorithms/window/windows.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace numerics::window;
using namespace tuning::window;

int reductions_in(const graph& g, node_id root) {
  int count = 0;
  for_each_node(g, root, [&](node_id n) { count += g.kind(n) == op::reduce; });
  return count;
}

bool fits(graph& g, const facts& known, const sliding& r, std::int64_t width) {
  const element type = numerics::accumulated(g.type(r.reduce));
  if (type == element::boolean || row(type).bytes < 4 || width < narrowest) return false;
  if (bound_of(g, r.low, r.over).slope != 1 || !may_vectorise(g, g.arg(r.reduce, 0), r.bound)) return false;
  if (!cuts_only(g, r)) return false;
  const std::int64_t lanes = vector_bytes / row(type).bytes;
  const bool narrow = width <= folded_lanes || (width / lanes - 1) * vector_bytes <= blocks_read_again * block_bytes;
  return narrow && known.trips(r.over) >= fewest_results;
}

// Does memory run along `idx` for this value, so that lanes along it are cheap?
bool lies_along(graph& g, const facts& known, node_id value, node_id idx) {
  return may_vectorise(g, value, idx) && cost_of(g, known, value, idx) <= 0.5 * cost_of(g, known, value, no_node);
}

// Lanes along the running folds, as few as a thread has runs for where a block would leave most of them dead.
void shape_along(window_form& w, stage& s) {
  w.scans = true;
  w.groups = w.width;
  w.block = std::min(w.width - 1, block_bytes / row(w.type).bytes) / run_of_thread * run_of_thread;
  const auto taken = [&](std::int64_t lanes) { return (w.block + lanes - 1) / lanes * lanes; };
  s.lanes = numerics::group_scan_lanes;
  if (taken(s.lanes / 2) < taken(s.lanes)) s.lanes /= 2;
}

void shape(const context& c, window_form& w, stage& s, monoid fold) {
  const element type = w.key == no_node ? w.type : w.key_type;
  const std::int64_t lanes = vector_bytes / row(type).bytes;
  s.lanes = static_cast<int>(lanes);
  if (w.width <= folded_lanes) {
    while (s.lanes < w.width) s.lanes *= 2;
    // What is folded between registers does not depend on how many lanes there are.
    while (c.known.for_groups() && s.lanes < numerics::group_scan_lanes && c.known.trips(s.owned) >= 8.0 * s.lanes)
      s.lanes *= 2;
    return;
  }
  if (c.known.for_groups() && w.key == no_node && !in_order(c.g, fold)) return shape_along(w, s);
  w.groups = w.width / lanes;
  w.rest = w.width % lanes;
  w.block = std::min(w.groups - 1, block_bytes / (lanes * std::max(row(w.type).bytes, row(type).bytes))) * lanes;
  if (w.key != no_node) return;
  w.stretch = vectors_in_a_row(fold, w.type, w.groups) * lanes;
}

// sum(e / c) is sum(e) / c: one division a result.
node_id without_divisor(graph& g, node_id n) {
  const node_id body = g.arg(n, 0);
  if (monoid_of(g, n) != monoid::sum || g.kind(body) != op::div || !is_floating(g.type(body)) ||
      !is_constant(g, g.arg(body, 1)))
    return n;
  const node_id sum = intern_reduce(g, monoid::sum, g.type(n), g.arg(body, 0), g.arg(n, 1), bound_indices(g, n));
  return make(g, op::div, sum, cast_to(g, g.type(n), g.arg(body, 1)));
}

// An index whose range says no more than what holds of it: conditions that it makes plain are left out.
node_id wider_index(graph& g, const sliding& r, std::int64_t by) {
  const node_id t = r.over;
  const node_id first = make(g, op::add, g.arg(t, 0), bound_of(g, r.low, t).rest);
  const node_id last = make(g, op::add, make(g, op::add, g.arg(t, 1), bound_of(g, r.high, t).rest), integer(g, -1));
  return fresh_index(g, r.bound, make(g, op::add, first, integer(g, -by)), make(g, op::add, last, integer(g, by)));
}

// The elements of a window: values to fold, or values with their keys, to be summed where those tie.
struct elements {
  node_id walk = no_node, value = no_node, key = no_node, mine = no_node;
  monoid fold = monoid::sum;  // of the values, or of the keys
};

// The reduction n becomes the stage if nothing else is in it, else a stage of its own.
bool as_stage(const context& c, const sliding& r, node_id n, stage& s) {
  graph& g = c.g;
  const bool last = !s.indices.empty() && s.indices.back() == r.over;
  if (last && reductions_in(g, s.body) == 1) return true;
  stage like = s;
  like.vector = r.over;
  replace_in(g, s, n, proven(g, stored(c, n, {"windowed", like, "a window inside an expression"})));
  return false;
}

void fill(const context& c, const sliding& r, node_id n, const elements& e, stage& s) {
  graph& g = c.g;
  window_form& f = s.window();
  f.reduce = n;
  f.width = width_of(g, r);
  f.walk = wider_index(g, r, 0);
  f.around = wider_index(g, r, 4 * folded_lanes);
  const bool cut = bound_of(g, r.low, r.over).limited || bound_of(g, r.high, r.over).limited;
  if (cut) {
    f.first = r.first;
    f.last = r.last;
  }
  const node_id inside =
      cut ? conjunction(g, make(g, op::less_equal, r.first, f.around), make(g, op::less, f.around, r.last))
          : truth(g, true);
  const auto along = [&](node_id value, node_id none, node_id& guarded) {
    replacement walks(g, proofs::kept), around(g);
    walks.add(e.walk, f.walk);
    around.add(e.walk, f.around);
    guarded = make(g, op::select, inside, around(value), none);
    const node_id result = walks(value);
    return result;
  };
  if (e.key == no_node) {
    f.value = along(e.value, identity_of(g, e.fold, f.type), f.guarded);
  } else {
    f.value = along(e.value, number(g, f.type, 0), f.guarded);
    f.key = along(e.key, identity_of(g, e.fold, f.key_type), f.guarded_key);
    f.mine = e.mine;
    f.extremum = e.fold;
  }
  f.ahead = make(g, op::add, bound_of(g, r.high, r.over).rest, integer(g, -1));
  s.how = way::window;
  s.owned = r.over;
  shape(c, f, s, e.fold);
  s.reasons.push_back("window of " + std::to_string(f.width) + (e.key == no_node ? ": " : ", sums of ties: ") +
                      (f.groups == 0 ? std::string("folded between registers")
                                     : "running blocks of " + std::to_string(f.block) + " results") +
                      ", so that its cost does not grow with it");
}

}  // namespace

bool take_window(const context& c, const sliding& r, stage& s) {
  graph& g = c.g;
  if (!fits(g, c.known, r, width_of(g, r))) return false;
  if (const node_id sum = without_divisor(g, r.reduce); sum != r.reduce) {
    replace_in(g, s, r.reduce, sum);
    return true;
  }
  const walked w = value_along(g, r);
  if (holds(g, w.value, op::reduce) || !g.free[w.value].has(g.ordinal(w.walk)) ||
      !lies_along(g, c.known, w.value, w.walk))
    return false;
  if (!as_stage(c, r, r.reduce, s)) return true;
  const element type = type_of(monoid_of(g, r.reduce), numerics::accumulated(g.type(r.reduce)), width_of(g, r));
  s.form = window_form{.type = type};
  const node_id value = cast_to(g, type, w.value);
  fill(c, r, r.reduce, {w.walk, value, no_node, no_node, monoid_of(g, r.reduce)}, s);
  return true;
}

bool take_extremum_sums_of_window(const context& c, const extremum_ties& t, const sliding& r, const walked& keys,
                                  node_id value, stage& s) {
  graph& g = c.g;
  const std::int64_t width = width_of(g, r);
  if (!fits(g, c.known, r, width) || !lies_along(g, c.known, keys.value, keys.walk)) return false;
  if (g.free[value].has(g.ordinal(keys.walk)) && !lies_along(g, c.known, value, keys.walk)) return false;
  if (!as_stage(c, r, t.reduce, s)) return true;
  window_form& f = s.form.emplace<window_form>();
  f.key_type = numerics::accumulated(g.type(t.key));
  f.type = type_of_tied(numerics::accumulated(g.type(t.reduce)), width, vector_bytes / row(f.key_type).bytes);
  // How many tie fits 32 bits.
  if (f.type == element::i64 && is_constant(g, value)) f.type = element::i32;
  const elements e{keys.walk, cast_to(g, f.type, value), cast_to(g, f.key_type, as_compared(g, keys.value)),
                   cast_to(g, f.key_type, as_compared(g, t.mine)), t.extremum};
  fill(c, r, t.reduce, e, s);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
