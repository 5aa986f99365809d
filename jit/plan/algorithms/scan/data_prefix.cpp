#include <sheaf/jit/plan/algorithms/scan/data_prefix.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::data_prefix;

// Is an end the same for all, and known before the call?
bool is_fixed_end(const graph& g, node_id end) { return g.free[end].empty() && is_formula(g, end); }

node_id looked_up(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (g[n].count != 3 || !is_true(g, g.arg(n, 1))) return no_node;
  const monoid fold = monoid_of(g, n);
  if (g[n].attribute != static_cast<std::int64_t>(fold) || is_own(fold) || row(fold).position) return no_node;
  if (!g.free[n].within(set_of(g, s.indices))) return no_node;
  const node_id t = g.arg(n, 2), low = g.arg(t, 0), high = g.arg(t, 1), value = g.arg(n, 0);
  const bool grows = is_fixed_end(g, low), shrinks = is_fixed_end(g, high);
  const node_id end = grows ? high : low;
  if (grows == shrinks || !holds(g, end, op::load) || holds(g, end, op::reduce) || g.free[end].empty() ||
      !uses(g, value, t))
    return no_node;
  const std::vector<node_id> slices = indices_of(g, g.free[end]);
  if (std::ranges::any_of(slices, [&](node_id idx) { return names(g, value, idx) || !is_closed(g, idx); }))
    return no_node;
  const node_id rows = rows_walked(g, value, t);
  if (rows == no_node || (shrinks && !known_less_equal(g, high, rows))) return no_node;
  const facts& bits = known.bits();
  const auto count = bits.value(rows);
  const amount results = bits.trips(g.free[end]);
  const bool enough = count && all_of({{results, least_slices}, {*count, least_rows}}) &&
                      *count <= rows_of_a_slice * results;
  if (!count || (!enough && !known.call().force_for_tests)) return no_node;
  const node_id first = grows ? low : integer(g, 0), last = grows ? rows : high;
  return looked_up_running(c, s, {n, value, first, last, low, high, grows});
}

}  // namespace

node_id looked_up_running(const context& c, const stage& s, const running_lookup& of) {
  graph& g = c.g;
  const node_id n = of.reduce, t = g.arg(n, 2);
  const node_id place = unused_index(g, t, of.first, of.last, indices_in(g, n));
  const node_id inner =
      of.grows ? fresh_index(g, place, of.first, plus(g, place, 1)) : fresh_index(g, place, place, of.last);
  const node_id whole = intern_reduce(g, monoid_of(g, n), g.type(n), with(g, of.value, t, inner, proofs::kept),
                                      truth(g, true), {inner});
  const node_id like = with(g, of.value, t, place, proofs::kept);
  const node_id running = stored(c, whole, {"running", layout_of(c, like, s), "a scan that others look up"});
  const node_id found = with(g, running, place, of.grows ? plus(g, of.high, -1) : of.low);
  return make(g, op::select, make(g, op::less, of.low, of.high), found,
              identity_of(g, monoid_of(g, n), g.type(n)));
}

bool take_data_prefix(const context& c, stage& s) {
  if (s.how != way::map || c.known.for_groups()) return false;
  for (const node_id n : reductions_in(c.g, s.body)) {
    const node_id instead = looked_up(c, n, s);
    if (instead == no_node) continue;
    replace_in(c.g, s, n, instead);
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
