// How a kernel's threads are used: how many share a tile, which loops' iterations are tiles, where locals lie.
#include <algorithm>
#include <limits>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

using namespace tuning::grid;

// Lanes of the widest vector loop, and of the narrowest that fills a warp: beyond those, threads would stand idle.
void find_loops(const ir::block& body, int& widest, int& filled) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector) {
      widest = std::max(widest, s.lanes);
      if (s.lanes >= 32) filled = std::min(filled, s.lanes);
    }
    find_loops(s.body, widest, filled);
  }
}

void find_touched(const ir::kernel& k, const ir::block& body, std::vector<bool>& touched) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store) touched[static_cast<std::size_t>(s.target)] = true;
    if (s.kind == ir::statement_kind::copy) touched[static_cast<std::size_t>(s.to)] = true;
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
      if (i.code == ir::opcode::load || i.code == ir::opcode::next_places)
        touched[static_cast<std::size_t>(i.target)] = true;
    }
    find_touched(k, s.body, touched);
  }
}

}  // namespace

namespace {

bool takes_places(const ir::kernel& k) {
  return std::any_of(k.instructions.begin(), k.instructions.end(),
                     [](const ir::instruction& i) { return i.code == ir::opcode::next_places; });
}

}  // namespace

bool adds_in_order(const ir::module& m, const ir::statement& s) {
  if (s.kind != ir::statement_kind::store || !s.adds) return false;
  const ir::buffer& b = m.buffers[static_cast<std::size_t>(s.target)];
  return b.where == ir::role::local && (is_floating(b.type) || s.fold != monoid::sum);
}

namespace {

bool has_ordered_sums(const ir::module& m, const ir::block& body) {
  return std::ranges::any_of(
      body, [&](const ir::statement& s) { return adds_in_order(m, s) || has_ordered_sums(m, s.body); });
}

}  // namespace

bool scans_slices(const ir::kernel& k, const ir::block& body) {
  return std::any_of(body.begin(), body.end(), [&](const ir::statement& s) {
    if (s.kind != ir::statement_kind::instruct) return scans_slices(k, s.body);
    const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
    return i.code == ir::opcode::scan_lanes && i.args.size() == 3 && i.dimension == 0;
  });
}

bool scans_in_runs(const ir::kernel& k, const ir::block& body, const target& to) {
  bool scans = scans_slices(k, body), alone = true;
  const auto look = [&](const auto& self, const ir::block& b) -> void {
    for (const ir::statement& s : b) {
      self(self, s.body);
      if (s.kind != ir::statement_kind::instruct) continue;
      const ir::opcode code = k.instructions[static_cast<std::size_t>(s.id)].code;
      scans = scans || (code == ir::opcode::scan_lanes && !to.cpu_order);
      alone = alone && code <= ir::opcode::scan_lanes;
    }
  };
  look(look, body);
  return scans && alone;
}

namespace {

// What decides whether lanes may lie in runs: loops of one width, whose lanes tell each other nothing but what they
// fold, the narrowest elements that they load in order, and whether they fold, or store in order.
struct lane_uses {
  int lanes = 0, bytes = 8;
  bool alike = true, folds = false, stores = false;
};
void find_lane_uses(const ir::module& m, const ir::kernel& k, const ir::block& body, lane_uses& u) {
  for (const ir::statement& s : body) {
    const bool vector = s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector;
    if (vector) u.alike = u.alike && (u.lanes == 0 || u.lanes == s.lanes), u.lanes = s.lanes;
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
      u.alike = u.alike && i.code < ir::opcode::scan_lanes;
      u.folds = u.folds || i.code == ir::opcode::fold_lanes;
      if (i.code == ir::opcode::load && i.how == ir::access::contiguous)
        u.bytes = std::min(u.bytes, row(m.buffers[static_cast<std::size_t>(i.target)].type).bytes);
    }
    if (s.kind == ir::statement_kind::store && s.how == ir::access::contiguous)
      u.stores = u.stores || m.buffers[static_cast<std::size_t>(s.target)].where != ir::role::local;
    find_lane_uses(m, k, s.body, u);
  }
}
// Of elements narrower than 4 bytes as many as 16 bytes hold: one by one, a thread would load 2 bytes at a time. Of
// wider ones where no order depends on it and nothing is stored in order: rows that begin anywhere are loaded as fast
// in either form, and stored faster by neighbours.
int longest_run(const ir::module& m, const ir::kernel& k, const target& to) {
  if (to.cpu_order) return 1;
  lane_uses u;
  find_lane_uses(m, k, k.body, u);
  return u.alike && (u.bytes < 4 || !(u.folds || u.stores)) ? 16 / u.bytes : 1;
}

// Rows in runs have whole vectors of the widest loop: what dead lanes store lies beyond the elements.
void place_locals(const ir::module& m, const ir::kernel& k, int lanes, layout& p) {
  p.offsets.assign(m.buffers.size(), 0);
  std::vector<bool> touched(m.buffers.size());
  find_touched(k, k.body, touched);
  for (std::size_t b = 0; b < m.buffers.size(); ++b) {
    const bool in_registers = p.rows.holds(static_cast<std::int32_t>(b));
    if (!touched[b] || m.buffers[b].where != ir::role::local || in_registers) continue;
    p.offsets[b] = p.local_bytes;
    const std::int64_t elements = (m.buffers[b].elements + lanes - 1) / lanes * lanes;
    p.local_bytes += (elements * row(m.buffers[b].type).bytes + 15) / 16 * 16;
  }
}

// Iterations of loops below the parallel one become tiles where those are too few.
void share_loops(const ir::module& m, const ir::kernel& k, call_extents extents, layout& p) {
  const ir::statement* loop = parallel_loop(k);
  p.single = loop == nullptr;
  if (p.single) return;
  p.shared = {loop};
  if (extents.empty()) return;
  const closed_values known(m, k, extents);
  p.tiles = known.iterations(*loop);
  // Structure first: what has no such loop asks for no size.
  while (p.tiles && (loop = shared_below(m, k, *loop)) != nullptr && *p.tiles < enough_tiles) {
    const auto iterations = known.iterations(*loop);
    if (!iterations) break;
    p.shared.push_back(loop);
    *p.tiles *= *iterations;
  }
}

}  // namespace

namespace {

layout layout_for(const ir::module& m, const ir::kernel& k, const target& to, call_extents extents,
                  extent_bounds bounds, bool in_registers) {
  layout p;
  share_loops(m, k, extents, p);
  p.run = longest_run(m, k, to);
  int widest = 1, most = std::numeric_limits<int>::max();
  find_loops(k.body, widest, most);
  // More threads only for rows in registers that were given lanes for them: see wide_rows.cpp.
  const int more = in_registers ? widest / p.run : 0;
  const bool shares = more > most_threads && !find_register_rows(m, k, extents, bounds, p.run, more).rows.empty();
  most = std::min({most, widest, shares ? more : most_threads});
  // Between warps they would wait at each iteration.
  if (scans_in_runs(k, k.body, to) || has_ordered_sums(m, k.body)) most = std::min(most, 32);
  if (in_registers) p.rows = find_register_rows(m, k, extents, bounds, p.run, most);
  place_locals(m, k, scans_in_runs(k, k.body, to) || p.run > 1 ? widest : 1, p);
  p.group = std::min(widest, 32);
  // The fewer tables, the fewer places of memory are written side by side.
  if (takes_places(k)) p.group = std::max(p.group, most);
  while (widest > most_held * p.group && 2 * p.group <= most) p.group *= 2;
  if (p.local_bytes > little && widest == 1) p.group = 32;
  if (p.single || p.local_bytes > 4 * little) p.group = std::max(most, p.local_bytes > little ? 32 : 1);
  while (p.group >= 32 && 2 * p.group <= most && p.tiles && *p.tiles < enough_threads / p.group) p.group *= 2;
  // Rows in registers: threads enough for their registers, and few where a row is short.
  while (2 * p.group <= most && p.rows.registers(p.group) > tuning::register_rows::enough) p.group *= 2;
  const bool rows = !p.rows.rows.empty();
  while (rows && p.group <= 32 && p.group > tuning::register_rows::least_threads &&
         p.rows.registers(p.group / 2) <= tuning::register_rows::few)
    p.group /= 2;
  p.threads = p.single || p.group > 32 ? p.group : 128;  // a group beyond a warp is the block
  while (p.tiles && p.threads > std::max(p.group, 32) && *p.tiles < enough_blocks * p.groups()) p.threads /= 2;
  // The rest is for exchange between warps; newer devices keep the last 1024 bytes of a block for themselves. Warps
  // that multiply exchange nothing, and ask for what every device has; nor do those that reduce what they copied.
  const bool multiplies = has_mma(k.body), exchanges = !multiplies && !has_copies(k.body);
  const std::int64_t room = to.shared_bytes - (p.group > 32 && exchanges ? 16 << 10 : 1 << 10);
  const std::int64_t most_asked_for =
      multiplies_by_warpgroups(k.body) ? tuning::group_tile::most_of_warpgroups : tuning::group_tile::most_asked_for;
  p.dynamic = p.group > 32 && !exchanges && p.local_bytes > room && p.local_bytes <= most_asked_for;
  if (p.local_bytes > 0 && p.group > 1 && !p.dynamic) {
    while (p.threads > std::max(p.group, 32) && p.groups() * p.local_bytes > room) p.threads /= 2;
    p.in_scratch = p.groups() * p.local_bytes > room;
  }
  return p;
}

}  // namespace

layout layout_of(const ir::module& m, const ir::kernel& k, const target& to, call_extents extents,
                 extent_bounds bounds) {
  layout p = layout_for(m, k, to, extents, bounds, true);
  // Threads without a lane would meet the elements of the next iteration.
  const bool whole = std::ranges::all_of(p.rows.loops, [&](const auto& l) { return l.first->lanes % p.group == 0; });
  return whole ? p : layout_for(m, k, to, extents, bounds, false);
}

}  // namespace sheaf::inline v0_1::cuda
