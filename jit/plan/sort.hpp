// Step `sort` of materialise, for a GPU: how a list is made by all threads, see sort_form. Shown by tests/cuda/lists.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::plan {

inline constexpr int digit_bits = 7;
inline constexpr std::int64_t digits = 1 << digit_bits;
inline constexpr std::int64_t tile_places = 256;      // of a pass after the first
inline constexpr std::int64_t counts_at_once = 1024;  // whose running sum a team makes

// Gives a list its sort and puts a stage for the memory before it. False where it can't be sorted so: then nothing was done.
// outer, room, keys, planes: as in sort_form.
bool sort_on_device(graph& g, const facts& known, stage& list, sort_form wanted, std::vector<stage>& done);

// Tiles of a pass.
node_id tiles_of(graph& g, const sort_form& f, int pass);
// Where counts begin in the memory, which holds before: how many places are taken; keys twice; the indices.
node_id counts_at(graph& g, const sort_form& f);
// Where sums of counts begin; so many counts there are at most.
node_id sums_at(graph& g, const sort_form& f);

// What the kernels of a sorted list are, in order.
enum class sort_part { count, prefix, sums, place, ends, last, farthest, reach };
std::vector<sort_part> parts_of(const stage& list);
const char* part_name(sort_part part);

}  // namespace sheaf::plan
