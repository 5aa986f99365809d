#include <sheaf/jit/plan/packing.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::cache_tile;

// A buffer keeps it as it is: halves are computed in f32, and rounded only where they are stored. Places are computed.
bool may_pack(const graph& g, node_id n) {
  const element type = g.type(n);
  if (type == element::boolean || g.kind(n) == op::reduce) return false;
  if (!is_floating(type) && !holds(g, n, op::load)) return false;
  return g.kind(n) == op::load || numerics::accumulated(type) == type;
}

struct packed_loops {
  node_id rows, lane, walk;
  bool loads;  // alone: what is computed while it is packed is rounded there
};
void find_shared(const graph& g, node_id n, const packed_loops& of, std::vector<node_id>& list) {
  if (!uses(g, n, of.lane) || !uses(g, n, of.walk)) return;
  if (!uses(g, n, of.rows) && may_pack(g, n) && (!of.loads || g.kind(n) == op::load)) {
    if (std::ranges::find(list, n) == list.end()) list.push_back(n);
    return;
  }
  if (g.kind(n) == op::load || g.kind(n) == op::reduce) return;
  for (int k = 0; k < g[n].count; ++k) find_shared(g, g.arg(n, k), of, list);
}

// Do lanes of the load lie one after the other, or is it the same for all?
bool is_row(graph& g, const facts& known, node_id load, node_id lane) {
  return !uses(g, load, lane) || goes_along(g, known, load, lane);
}

}  // namespace

bool goes_on(const graph& g, node_id reduce) {
  const monoid fold = monoid_of(g, reduce);
  const bool known = fold == monoid::sum || fold == monoid::prod || fold == monoid::max || fold == monoid::min;
  return known && !has_narrow_lanes(g, reduce) && !keeps_several(g, reduce);
}

std::vector<node_id> shared_of(const graph& g, node_id reduce, node_id rows, node_id lane) {
  std::vector<node_id> list;
  find_shared(g, g.arg(reduce, 0), {rows, lane, g.arg(reduce, 2), is_term_by_term(g, reduce)}, list);
  return list;
}

namespace {

// Is a range made of extents, and of what is one number within a batch?
bool is_closed_within(const graph& g, node_id walk, const index_set& batch) {
  const auto closed = [&](node_id end) { return g.free[end].within(batch) && is_formula(g, end); };
  return closed(g.arg(walk, 0)) && closed(g.arg(walk, 1));
}

// A block binds the walks around its own two at places that a row may lack: nothing is read there for these alone.
bool reads_for_walk(const graph& g, const cache_tile_form& c, const std::vector<node_id>& walks) {
  const std::vector<node_id> loads = loads_in(g, g.arg(c.reduce, 0));
  for (std::size_t n = 0; n + 2 < walks.size(); ++n)
    for (const node_id load : loads)
      if (uses(g, load, walks[n]) && !uses(g, load, c.walk)) return false;
  return true;
}

// Do a batch and a walk meet in one subscript of what is packed, as the points of a kernel and the places of an image
// do? Then most of it would be packed again for the next point.
bool slides(const graph& g, const cache_tile_form& c) {
  const index_set all = set_of(g, c.batch), bound = set_of(g, bound_indices(g, c.reduce));
  const auto meet = [&](node_id n) {
    if (g.kind(n) != op::load) return false;
    for (int d = 1; d < g[n].count; ++d) {
      const node_id at = g.arg(n, d);  // an index has its range's, too
      if (g.kind(at) != op::index && g.free[at].meets(all) && g.free[at].meets(bound)) return true;
    }
    return false;
  };
  return std::ranges::any_of(c.packed, [&](node_id e) { return any_node(g, e, meet); });
}

}  // namespace

cache_tile_form packed_form(const graph& g, const stage& s, node_id rows, node_id lane) {
  const std::vector<node_id> reductions = reductions_in(g, s.body);
  if (s.how != way::map || s.indices.size() < 2 || reductions.size() != 1) return {};
  cache_tile_form c{.rows = rows, .reduce = reductions.front()};
  if (g[c.reduce].count < 3 || !goes_on(g, c.reduce) || !is_true(g, g.arg(c.reduce, 1))) return {};
  const std::vector<node_id> walks = loops_of(g, c.reduce, no_node);
  if (set_of(g, walks).meets(set_of(g, s.indices))) return {};  // inside, a result's index is another one
  c.walk = walks.back();
  c.block = block;
  for (const node_id idx : s.indices)
    if (idx != rows && idx != lane) c.batch.push_back(idx);
  for (const node_id walk : walks)
    if (!is_closed_within(g, walk, set_of(g, c.batch))) return {};
  if (!reads_for_walk(g, c, walks)) return {};
  const bool closed = std::ranges::all_of(s.indices, [&](node_id idx) { return is_closed(g, idx); });
  const bool several = !c.batch.empty() || walks.size() > 1;
  if (several && (!closed || s.order.index != no_node)) return {};
  find_shared(g, g.arg(c.reduce, 0), {rows, lane, c.walk, is_term_by_term(g, c.reduce)}, c.packed);
  return c.packed.empty() || (walks.size() > 1 && slides(g, c)) ? cache_tile_form{} : c;
}

// A block has the iterations of the last two of several bound indices.
static bool has_long_blocks(const graph& g, const facts& known, const cache_tile_form& c) {
  std::vector<node_id> walks = loops_of(g, c.reduce, no_node);
  if (walks.size() == 1) return true;
  walks.erase(walks.begin(), walks.end() - 2);
  const amount last = known.trips(walks.back());  // of no batches, too
  return max(last, known.trips(set_of(g, walks))) >= tuning::products::least_of_blocks;
}

cache_tile_form packed_form(const graph& g, const facts& known, const stage& s, node_id lane) {
  cache_tile_form most;
  for (const node_id rows : s.indices) {
    if (rows == lane) continue;
    cache_tile_form c = packed_form(g, s, rows, lane);
    if (c.rows == no_node || !has_long_blocks(g, known, c)) continue;
    if (most.rows != no_node && known.trips(rows) < known.trips(most.rows)) continue;
    most = std::move(c);
  }
  return most;
}

std::int64_t bytes_of_panel(const graph& g, const cache_tile_form& c, int lanes) {
  std::int64_t bytes = 0;
  for (const node_id n : c.packed) bytes += c.block * lanes * row(g.type(n)).bytes;
  return bytes;
}

bool has_far_lanes(graph& g, const facts& known, const stage& s) {
  if (known.call().gpu || s.how != way::map || s.indices.size() < 2 || s.vector == no_node) return false;
  const cache_tile_form c = packed_form(g, known, s, s.vector);
  const auto far = [&](node_id q) { return g.kind(q) == op::load && !is_row(g, known, q, s.vector); };
  return std::ranges::any_of(c.packed, [&](node_id n) { return any_node(g, n, far); });
}

bool packs_much(const graph& g, const facts& known, const cache_tile_form& c, node_id lane, double stays) {
  amount bytes = 0;
  const amount terms = known.trips(set_of(g, bound_indices(g, c.reduce)));
  for (const node_id n : c.packed) bytes += terms * known.trips(lane) * row(g.type(n)).bytes;
  return all_of({{known.trips(c.rows), tuning::products::least_packed_rows}, {bytes, stays + 1}});
}

namespace {

// Rows of its own, each of which is lanes.
bool walks_own_rows(const facts& known, const stage& s) {
  return !known.call().gpu && s.how == way::map && s.indices.size() >= 2 && s.vector != no_node &&
         s.parallel != no_node && s.loops.size() == s.indices.size() && s.loops.back() == s.vector &&
         s.rows.whole == no_node && s.task.chunk == 0;
}

}  // namespace

bool has_rows_to_jam(graph& g, const facts& known, const stage& s) {
  if (!walks_own_rows(known, s)) return false;
  const cache_tile_form c = packed_form(g, s, s.parallel, s.vector);
  if (c.rows == no_node) return false;
  const amount terms = known.trips(set_of(g, bound_indices(g, c.reduce)));
  return s.lanes * row(g.type(c.reduce)).bytes < tuning::products::bytes_in_flight &&
         all_of({{terms, tuning::products::jammed_terms}, {known.trips(c.rows), least_rows}});
}

bool has_cache_tile(graph& g, const facts& known, const stage& s) {
  if (has_far_lanes(g, known, s)) return true;
  if (!walks_own_rows(known, s)) return false;
  const cache_tile_form c = packed_form(g, known, s, s.vector);
  if (c.rows == no_node || bytes_of_panel(g, c, std::min(s.lanes, tuning::rows::lanes)) > most_bytes) return false;
  return packs_much(g, known, c, s.vector, tuning::products::stays);
}

namespace {

// Results that fill a register are worth it for any walk. Of fewer, a long one costs less with lanes of its own.
bool is_worth_packing(const graph& g, const facts& known, const cache_tile_form& c, const amount& lanes) {
  using namespace tuning::products;
  const shapes::at_least rows{known.trips(c.rows), least_packed_rows};
  if (all_of({rows, {lanes * row(g.type(c.reduce)).bytes, full_row}})) return true;
  return all_of({rows, {lanes, least_packed_lanes}, {lanes * lanes * packed_walk, known.trips(c.walk)}});
}

// Is the index of a stage's results worth lanes that a cache tile packs?
bool is_lane_of_packed(graph& g, const facts& known, const stage& s, node_id lane) {
  const auto depends = [&](node_id other) { return other != lane && (uses(g, other, lane) || uses(g, lane, other)); };
  if (!may_vectorise(g, s.body, lane) || std::ranges::any_of(s.indices, depends)) return false;
  const cache_tile_form c = packed_form(g, known, s, lane);
  if (c.rows == no_node) return false;
  // Nothing else is far apart.
  const bool others = any_node(g, g.arg(c.reduce, 0), [&](node_id n) {
    return g.kind(n) == op::load && uses(g, n, lane) && (uses(g, n, c.rows) || !uses(g, n, c.walk));
  });
  const amount all = known.trips(set_of(g, s.indices)) * known.trips(set_of(g, bound_indices(g, c.reduce)));
  const bool worth = is_worth_packing(g, known, c, known.trips(lane));
  const int lanes = std::max(tuning::rows::lanes, known.call().overrides.lanes);
  return !others && bytes_of_panel(g, c, lanes) <= most_bytes && worth && all >= tuning::register_tile::worth_code;
}

}  // namespace

node_id lane_of_packed(graph& g, const facts& known, const stage& s) {
  if (s.how != way::map || s.indices.size() < 2 || known.for_groups()) return no_node;
  for (std::size_t n = s.indices.size(); n-- > 0;)
    if (is_lane_of_packed(g, known, s, s.indices[n])) return s.indices[n];
  return no_node;
}

}  // namespace sheaf::inline v0_1::plan
