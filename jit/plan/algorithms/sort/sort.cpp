#include <sheaf/jit/plan/algorithms/sort/sort.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::sort;

constexpr std::int64_t tile_threads = tile_lanes / tuning::grid::most_held;

// Numbers that all passes move, for each key.
double moved(const sort_form& f) {
  const double counts = static_cast<double>(entries_of_count * digits_of(f)) / static_cast<double>(f.tile);
  return f.passes * (3 + 2 * f.planes + counts);
}

// What tiles write lies at as many places as they have digits, in sectors that the next tiles' numbers fill: do those
// of all tiles under way stay in the cache, or are they written, and read again, piece by piece?
bool stays_in_cache(const sort_form& f, std::int64_t tile) {
  const double places = static_cast<double>(tile), digits = static_cast<double>(digits_of(f));
  const double bytes = std::min(places * row(f.type).bytes, digits * sector);
  return (1 + f.planes) * bytes <= open_bytes;
}

// Longer digits where one pass less moves fewer numbers: each tile has more counts, so tiles are longer, but enough for
// a device. Not for a class of calls, whose keys have more bits than the usual ones: each digit must be whole.
void widen_digits(const context& c, sort_form& f, const amount& bits, const amount& room) {
  if (f.passes < 2 || bits.is_of_class()) return;
  sort_form wide = f;
  --wide.passes;
  while (wide.digit_bits <= most_digit_bits && !(bits <= static_cast<double>(wide.digit_bits * wide.passes)))
    ++wide.digit_bits;
  if (wide.digit_bits > most_digit_bits || wide.digit_bits * wide.passes > most_bits) return;
  const auto tiles = [&] { return room / static_cast<double>(2 * wide.tile); };
  const bool forced = c.known.call().force_for_tests;
  if (!forced) wide.tile = least_tile;
  while (!forced && wide.tile < most_tile && tiles() >= enough_tiles / 4 && stays_in_cache(wide, 2 * wide.tile))
    wide.tile *= 2;
  if (moved(wide) < moved(f)) f = wide;
}

// Places of a tile: few for so many tiles that the device is full, then more, as each tile has counts.
std::int64_t tile_for(const context& c, const sort_form& f, const amount& room) {
  if (c.known.call().force_for_tests) return 2 * tile_lanes;
  std::int64_t tile = least_tile;
  while (tile < most_tile && 2 * tile * enough_tiles <= room && stays_in_cache(f, 2 * tile)) tile *= 2;
  return tile;
}

}  // namespace

node_id tiles_of(graph& g, const sort_form& f, int pass) {
  return pass == 0 ? blocks_in(g, trips_of(g, f.outer), f.iterations) : blocks_in(g, f.room, f.tile);
}

node_id counts_at(graph& g, const sort_form& f) {
  return make(g, op::add, integer(g, keys_at), make(g, op::mul, f.room, integer(g, 2 + f.planes)));
}

namespace {

// Of the pass that has most.
node_id counts_of(graph& g, const sort_form& f) {
  return make(g, op::mul, make(g, op::maximum, tiles_of(g, f, 0), tiles_of(g, f, 1)), integer(g, digits_of(f)));
}

}  // namespace

node_id sums_at(graph& g, const sort_form& f) { return make(g, op::add, counts_at(g, f), counts_of(g, f)); }
node_id reaches_at(graph& g, const sort_form& f) {
  return make(g, op::add, sums_at(g, f), blocks_in(g, counts_of(g, f), counts_at_once));
}

bool sort_on_device(const context& c, stage& list, sort_form f, node_id inner) {
  const auto& [g, known, done] = c;
  const auto room = known.value(f.room), keys = known.value(f.keys), iterations = known.value(trips_of(g, f.outer));
  if (!room || !keys || !iterations || is_open(*room, *iterations) ||
      max(*room, *iterations).certain() > most_places)
    return false;
  const amount each = max(1, *room / max(1, *iterations));
  const amount bits = bit_width(max(*keys - 1, 0)), digits = floor((bits + (digit_bits - 1)) / digit_bits);
  f.digit_bits = digit_bits;
  f.passes = static_cast<int>(max(1, digits).whole());
  f.tile = tile_for(c, f, *room);
  widen_digits(c, f, bits, *room);
  f.iterations = known.call().force_for_tests ? 2 : 1;
  // Lanes are few where an inner index has few: then a group has fewer threads, and more of them run at once.
  std::int64_t threads = tuning::grid::warp;
  while (threads < tile_threads && (inner == no_node || threads < known.trips(inner))) threads *= 2;
  const std::int64_t tile = f.tile * threads / tile_threads;
  while (!known.call().force_for_tests && 2 * f.iterations * each <= tile) f.iterations *= 2;
  const node_id reaches = has_reaches(list) ? trips_of(g, f.outer) : integer(g, 0);
  const node_id places = fresh_index(g, f.outer, integer(g, 0), make(g, op::add, reaches_at(g, f), reaches));
  stage memory = space(g, "sorting", cast_to(g, f.type, integer(g, 0)), {places});
  f.memory = memory.define;
  list.sort = f;
  list.reasons.push_back("sorted by " + std::to_string(f.passes) + (f.passes == 1 ? " digit" : " digits") + " of " +
                         std::to_string(f.digit_bits) + " bits, tiles of " + std::to_string(f.iterations) +
                         " iterations");
  done.push_back(std::move(memory));
  return true;
}

std::vector<sort_part> parts_of(const stage& list) {
  std::vector<sort_part> parts;
  for (int pass = 0; pass < list.sort.passes; ++pass)
    for (const sort_step step : {sort_step::count, sort_step::prefix, sort_step::place}) parts.push_back({step, pass});
  parts.push_back({sort_step::ends});
  if (!has_reaches(list)) return parts;
  parts.push_back({sort_step::last});
  parts.push_back({sort_step::reach});
  return parts;
}

const char* part_name(sort_step step) {
  static constexpr const char* names[] = {"count", "prefix", "place", "ends", "last", "reach"};
  return names[static_cast<int>(step)];
}

}  // namespace sheaf::inline v0_1::plan
