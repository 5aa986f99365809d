// Step `sort` of materialise, for a GPU: how a list is made by all threads, see sort_form. Shown by
// tests/cuda/inverse_index.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

using tuning::sort::counts_at_once, tuning::sort::least_tile, tuning::sort::tile_lanes;
// Places of a warp's tile, which has no table.
inline std::int64_t tile_of_reaches(const sort_form& f) { return f.tile / tuning::sort::reach_tiles; }
inline std::int64_t digits_of(const sort_form& f) { return std::int64_t{1} << f.digit_bits; }

// Gives a list its sort and puts a stage for the memory before it. False where it can't be sorted so: then nothing was
// done. outer, room, keys, planes: as in sort_form.
// inner: the index that runs in lanes, where that is another one.
bool sort_on_device(const context& c, stage& list, sort_form wanted, node_id inner = no_node);

// Tiles of a pass.
node_id tiles_of(graph& g, const sort_form& f, int pass);
// The memory holds: whether the sort runs, and how many places are taken; keys of even passes, and of odd ones; the
// indices; counts; sums of counts; of lists of slices where each iteration's slice ends.
inline constexpr std::int64_t keys_at = 4;  // 16 bytes from the begin
node_id counts_at(graph& g, const sort_form& f);
node_id sums_at(graph& g, const sort_form& f);
node_id reaches_at(graph& g, const sort_form& f);

// The last pass leaves its indices in the list's array, and those before interleaved; keys are where they are
// interleaved, too.
inline bool fills_list(const sort_form& f, int pass) { return (f.passes - 1 - pass) % 2 == 0; }
// Of a key's first digit: a pass moves the digit that it sorts by to there.
inline std::int64_t weight_of_first(const sort_form& f) { return std::int64_t{1} << (f.digit_bits * (f.passes - 1)); }

// What the kernels of a sorted list are, in order, and of which pass. The first pass walks the program's loops where
// it counts and places; all else is the same for all programs.
enum class sort_step { count, prefix, place, ends, last, reach };
struct sort_part {
  sort_step step;
  int pass = 0;
};
std::vector<sort_part> parts_of(const stage& list);
const char* part_name(sort_step step);
// Is it asked for each chunk which slice reaches it first?
inline bool has_reaches(const stage& list) { return list.how == way::lists && !list.slices.all; }

}  // namespace sheaf::inline v0_1::plan
