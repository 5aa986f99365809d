#include <sheaf/jit/plan/windows.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/scans.hpp>
#include <sheaf/jit/plan/schedule.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::plan {

namespace {

constexpr std::int64_t narrowest = 2;
constexpr double fewest_results = 64;
constexpr std::int64_t folded_lanes = 128;  // a window of so many elements is folded between registers
constexpr std::int64_t vector_bytes = 64;
constexpr std::int64_t block_bytes = 256 << 10;  // what a block keeps: a share of the second cache
constexpr std::int64_t blocks_read_again = 4;    // a window of more blocks reads too much again
constexpr std::int64_t sums_in_a_row = 32;       // more than these f32 adds with an error that counts

// The limits only cut what lies outside of [first, last): low is a maximum, high a minimum of the moving bound and numbers.
bool only_cuts(const graph& g, node_id bound, node_id t, op cut) {
  while (g.kind(bound) == op::minimum || g.kind(bound) == op::maximum) {
    if (g.kind(bound) != cut) return false;
    bound = g.free[g.arg(bound, 0)].has(g.ordinal(t)) ? g.arg(bound, 0) : g.arg(bound, 1);
  }
  return true;
}

int reductions_in(const graph& g, node_id root) {
  int count = 0;
  for_each_node(g, root, [&](node_id n) { count += g.kind(n) == op::reduce; });
  return count;
}

element held(element type) { return type == element::f16 || type == element::bf16 ? element::f32 : type; }

bool fits(graph& g, const facts& known, const sliding& r, std::int64_t width) {
  const element type = held(g.type(r.reduce));
  if (type == element::boolean || row(type).bytes < 4 || width < narrowest || known.trips(r.over) < fewest_results)
    return false;
  if (bound_of(g, r.low, r.over).slope != 1 || !may_vectorise(g, g.arg(r.reduce, 0), r.bound)) return false;
  if (!only_cuts(g, r.low, r.over, op::maximum) || !only_cuts(g, r.high, r.over, op::minimum)) return false;
  const std::int64_t lanes = vector_bytes / row(type).bytes;
  return width <= folded_lanes || (width / lanes - 1) * vector_bytes <= blocks_read_again * block_bytes;
}

// Does memory run along `idx` for this value, so that lanes along it are cheap?
bool lies_along(graph& g, const facts& known, node_id value, node_id idx) {
  return may_vectorise(g, value, idx) && cost_of(g, known, value, idx, 1) <= 0.5 * cost_of(g, known, value, no_node, 1);
}

void shape(window_form& w, stage& s, monoid fold) {
  const std::int64_t lanes = vector_bytes / row(w.type).bytes;
  s.lanes = static_cast<int>(lanes);
  if (w.width <= folded_lanes) {
    while (s.lanes < w.width) s.lanes *= 2;
    return;
  }
  w.groups = w.width / lanes;
  w.rest = w.width % lanes;
  w.block = std::min(w.groups - 1, block_bytes / vector_bytes) * lanes;
  if (is_floating(w.type) && (fold == monoid::sum || fold == monoid::prod) && w.groups > sums_in_a_row)
    w.stretch = sums_in_a_row * lanes;
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

}  // namespace

bool take_window(graph& g, const facts& known, const sliding& r, stage& s, std::vector<stage>& before, trust& trusted) {
  const std::int64_t width = width_of(g, r);
  if (!fits(g, known, r, width)) return false;
  const auto replace = [&](node_id to) {
    replacement put(g);
    put.add(r.reduce, to);
    s.body = put(s.body);
    return true;
  };
  if (const node_id sum = without_divisor(g, r.reduce); sum != r.reduce) return replace(sum);
  const bool cut = bound_of(g, r.low, r.over).limited || bound_of(g, r.high, r.over).limited;
  trust own = trusted;
  const walked w = value_along(g, r, own);
  if (holds(g, w.value, op::reduce) || !g.free[w.value].has(g.ordinal(w.walk)) ||
      !lies_along(g, known, w.value, w.walk))
    return false;
  const bool last = !s.indices.empty() && s.indices.back() == r.over;
  if (!last || reductions_in(g, s.body) > 1) {
    stage like = s;
    like.vector = r.over;
    const node_id found = stored(g, r.reduce, "windowed", like, before, "a window inside an expression");
    trusted.insert(found);
    return replace(found);
  }
  window_form& f = s.window;
  const monoid fold = monoid_of(g, r.reduce);
  f.reduce = r.reduce;
  f.type = held(g.type(r.reduce));
  f.width = width;
  const node_id value = cast_to(g, f.type, w.value);
  replacement walks(g), around(g);
  f.walk = wider_index(g, r, 0);
  walks.add(w.walk, f.walk);
  f.value = walks(value);
  trust_alike(g, w.value, walks, own);
  trusted.insert(own.begin(), own.end());
  f.around = wider_index(g, r, 4 * folded_lanes);
  around.add(w.walk, f.around);
  f.guarded = around(value);
  if (cut) {
    f.first = r.first;
    f.last = r.last;
    const node_id inside =
        conjunction(g, make(g, op::less_equal, r.first, f.around), make(g, op::less, f.around, r.last));
    f.guarded = make(g, op::select, inside, f.guarded, identity_of(g, fold, f.type));
  }
  f.ahead = make(g, op::add, bound_of(g, r.high, r.over).rest, integer(g, -1));
  shape(f, s, fold);
  s.how = way::window;
  s.owned = r.over;
  s.reasons.push_back("window of " + std::to_string(width) + ": " +
                      (f.groups == 0 ? std::string("folded between registers")
                                     : "running blocks of " + std::to_string(f.block) + " results") +
                      ", so that its cost does not grow with it");
  return true;
}

}  // namespace sheaf::plan
