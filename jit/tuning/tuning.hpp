// The constants that plans and kernels are tuned by, a row each:
//   name = value;  // unit; source: what it decides
// The source is the row of the bench that it was chosen for (docs/performance.md, docs/notes), `limit` where more
// cannot be stored or counted, and `estimate` where no row is known. What orders the additions of a sum is in
// numerics/numerics.hpp, what a processor family is like in target/target.hpp. A threshold here may still decide by
// which algorithm a sum is made, so none is measured on the machine at hand. tests/boundaries.sh keeps such constants
// out of the passes, and the rows in their form.
#pragma once
#include <cstddef>
#include <cstdint>

#include <sheaf/jit/tuning/gpu.hpp>

namespace sheaf::inline v0_1::tuning {

// ---- Tasks and loops
namespace tasks {
inline constexpr double elements = 8192;       // elements; estimate: work of a task that takes a part of a loop
inline constexpr int any_number = 1 << 30;  // tasks; limit: no fewer than chunks, of which threads take some in a row
inline constexpr int that_ask_all = 256;    // tasks; estimate: at most, of those that each walk all updates
inline constexpr double many = 256;            // tasks; estimate: of uneven length, that keep 64 cores busy
inline constexpr double parted_from = 1 << 16; // elements; estimate: fewer have tasks enough
inline constexpr std::int64_t forced_parts = 3;  // parts; limit: of tests, that no extent is a multiple of
inline constexpr double gpu_tasks = 256;       // factor; estimate: tasks that keep a GPU busy, for one of a few cores
inline constexpr double gpu_elements = 1. / 8; // factor; estimate: elements of a GPU's task, for one of a core's
inline constexpr std::int64_t step = 8;        // factor; estimate: by which tasks of ragged rows get longer
inline constexpr double lanes = 64;            // vectors; estimate: fewer of a loop are not shared if that repeats sums
inline constexpr double most_nested = 256;     // iterations; estimate: of one reduction that a task's work counts
inline constexpr std::int64_t run_bytes = 64 << 10;  // bytes; bench_survey: of memory that tasks of lanes walk in order
inline constexpr double batches = 16;          // iterations; estimate: loops as long are shared, inner ones are not
inline constexpr double warps_of_gpu = 2112;    // warps; estimate: 16 for each of 132 multiprocessors of an H200
inline constexpr double worth_a_launch = 1 << 21;  // elements; estimate: that take an H200 the time of a launch
}  // namespace tasks
namespace schedule {
inline constexpr double lanes_of_warp = 32;      // lanes; limit: a GPU's vectors are not narrowed below a warp
inline constexpr int row_bytes = 512;            // bytes; W4: lanes of a row whose bounds are read once
inline constexpr int row_bytes_of_functions = 128;  // bytes; estimate: the same where a function is evaluated
inline constexpr int slice_bytes_of_gathers = 64;  // bytes; bench_survey: lanes along slices; gathers of short ones
inline constexpr int scatter_lanes = 64;         // lanes; estimate: of a row that a scatter adds to
inline constexpr int group_scatter_lanes = 128;  // lanes; estimate: the same of a GPU's warp, 16 bytes a thread
inline constexpr std::int64_t least_chunk = 64;  // rows; estimate: that a task of a scatter owns
inline constexpr double rows_for_an_update = 64; // rows; estimate: that are filled while one number is added to a row
inline constexpr int half_of_registers = 1024;   // bytes; W8: accumulators of stages that share a loop take as many
inline constexpr double few_lanes = 8;           // lanes; bench_survey: of fewer results, sums had better have lanes
inline constexpr double cheap_by = 16;           // factor; estimate: stages of so much less work run first
}  // namespace schedule
namespace register_tile {
inline constexpr int sizes[] = {1, 2, 3, 4, 6, 8};  // iterations; limit: of one loop that run at once
inline constexpr int most_copies = 16;              // iterations; estimate: of all loops of a tile
inline constexpr int usual_copies = 8;              // iterations; estimate: more are much code, for a sure gain only
inline constexpr double worth_copies = 0.85;        // factor; bench_survey: of the time of a tile of usual_copies
inline constexpr int least_lanes = 16;              // lanes; estimate: of a tile
inline constexpr std::int64_t nearby = 2;           // elements; estimate: that loads of the same lines are apart
inline constexpr int most_rows = 4;                 // rows; bench_survey: read at once, each a stream of memory
inline constexpr std::int64_t usual_trips = 32;     // iterations; estimate: of a loop, to weigh what is inside
inline constexpr double loads_a_cycle = 2;          // loads; estimate: of whole registers, by the manuals
inline constexpr double operations_a_cycle = 2;     // operations; estimate: of whole registers, the same
inline constexpr double cycles_of_addition = 4;     // cycles; estimate: until a multiply-add may be added to
inline constexpr double cycles_of_stream = 2;       // cycles; estimate: of a register that comes from L2
inline constexpr double part_of_line = 0.25;        // share; estimate: of a register's traffic, for one element
inline constexpr double cost_of_division = 8;       // operations; estimate: of a division or root
inline constexpr double cost_of_function = 16;      // operations; estimate: of exp and its like, bench_math
inline constexpr double cost_of_conversion = 2;     // operations; bench_survey: of bf16 to f32, of which products are
inline constexpr double registers_of_function = 4;  // registers; estimate: that a function works in
inline constexpr double beside = 0.1;               // share; estimate: of flows that do not bound the time
inline constexpr double worth_it = 0.9;             // factor; estimate: of the time without a tile
inline constexpr double worth_apart = 0.6;           // factor; estimate: of the time in a kernel with other stages
inline constexpr double worth_code = 1 << 14;       // iterations; estimate: fewer are done before code is made
// Of a tile whose iterations share rows of a table that data names, where they have the same.
inline constexpr double worth_equal = 0.85;         // factor; estimate: of the time of a tile that asks nothing
inline constexpr double worth_asking_equal = 8;     // iterations; estimate: of a row, fewer seldom follow each other
inline constexpr double least_of_equal_rows = 1024;  // elements; estimate: a row of fewer takes as long as asking
inline constexpr int equal_tiles_of_task = 8;       // tiles; estimate: of a task, each begins where rows are equal
}  // namespace register_tile
namespace cache_tile {
inline constexpr std::int64_t block = 256;        // iterations; estimate: of the index that rows walk
inline constexpr std::int64_t rows_of_task = 192;  // rows; estimate: a multiple of each tile; fewer pack too often
inline constexpr std::int64_t rows_of_several = 96;  // rows; estimate: of several indices, with few tasks
inline constexpr double least_rows = 64;          // rows; estimate: fewer do not pay for what is packed
inline constexpr std::int64_t most_bytes = 128 << 10;  // bytes; estimate: of what is packed, which stays in L2
}  // namespace cache_tile
namespace group_tile {
inline constexpr int side = 16;           // threads; limit: of a block of 256, along either index of a tile
inline constexpr std::int64_t block = 16;  // iterations; estimate: of the index that is walked, packed at a time
inline constexpr std::int64_t pad = 4;     // elements; limit: 16 bytes more a row, which shifts its banks
inline constexpr std::int64_t stages = 2;  // blocks; limit: one is folded while one is copied
inline constexpr int most_results = 8;     // results; limit: of a thread along rows, 8 x 4 registers of f32
inline constexpr std::int32_t unrolled = 16;  // iterations; limit: of the walk, all of a block
inline constexpr int least_results = 4;    // results; estimate: along lanes; of fewer loads take longer than additions
inline constexpr double enough_tiles = 128;   // tiles; estimate: about one a multiprocessor, else smaller ones
inline constexpr double least_tiles = 64;     // tiles; estimate: of fewer most of the device would wait
inline constexpr double least_extent = 48;    // results; estimate: along either index, of a tile of 64
inline constexpr double least_walk = 16;      // iterations; estimate: a block or two
inline constexpr std::int64_t most_bytes = 30 << 10;  // bytes; limit: of shared memory, of what is packed
inline constexpr std::size_t most_kept = 2;   // values; estimate: of a row or lane alone, which stay in registers
// Of tiles that warps multiply by mma.
inline constexpr std::int64_t most_asked_for = 64 << 10;  // bytes; limit: of shared memory, that sm_75 gives a block
inline constexpr std::int64_t mma_block = 32;  // iterations; limit: two stages of (128 + 256) x 32 halves are 60 KB
inline constexpr std::int64_t mma_stages = 2;  // blocks; limit: one is multiplied while one is copied
inline constexpr std::int64_t mma_pad = 8;     // elements; limit: 16 bytes: 8 rows in a row are in different banks
// Of tiles that four warps multiply by wgmma.
inline constexpr std::int64_t warpgroup_block = 64;  // iterations; limit: 128 bytes, a row of a swizzled panel
inline constexpr std::int64_t warpgroup_stages = 4;  // blocks; limit: (128 + 256) x 64 halves, 4 times 48 KB
inline constexpr std::int64_t most_of_warpgroups = 227 << 10;  // bytes; limit: of shared memory that sm_90 gives
}  // namespace group_tile
namespace pair_tiles {
inline constexpr std::int64_t rows_of_task = 96;  // rows; estimate: they share what is packed, in buffers of 24 KB
inline constexpr std::int64_t block_bytes = 32 << 10;  // bytes; estimate: packed at a time, for one sum
inline constexpr int copies = 6;                  // rows; estimate: of the register tile, 6 x 4 or 6 x 2 registers
inline constexpr double least_rows = 32;          // rows; estimate: fewer do not pay for what is packed
inline constexpr double most_few = 8;             // results; estimate: of a row, that are kept as lanes each
inline constexpr double most_columns = 256;       // columns; estimate: pairs are computed for each 128 of them
inline constexpr int columns = 128;               // columns; estimate: of a panel, in a buffer of 48 KB
inline constexpr double worth_code = 1 << 16;     // pairs; estimate: fewer are done before code is made
}  // namespace pair_tiles
namespace transposed {
inline constexpr double least = 5;        // iterations; bench_survey: of the loop within the lanes
inline constexpr double wide = 256;       // elements; bench_survey: lanes along it; of fewer planes rows are lanes
inline constexpr int lanes = 16;          // lanes; estimate: each takes code of its own, and a store a line
inline constexpr int few = 4;             // columns; limit: of rows that are interleaved, as many as are transposed
inline constexpr double least_lanes = 8;  // lanes; estimate: fewer rows stay as they are
inline constexpr int bytes_of_thread = 64;  // bytes; bench_gpu: of a row, that a thread of a GPU loads; 32 are slower
}  // namespace transposed
namespace cases {
inline constexpr int most_nodes = 64;  // nodes; limit: of a term that each case has a copy of
}  // namespace cases
namespace stages {
inline constexpr int indices_left = 256;           // indices; estimate: of those a plan may have, that rules make
inline constexpr std::int64_t most_repeated = 40;  // operations; bench_survey: of a stencil, 56 are better stored
inline constexpr double reads_by_data = 4;  // factor; estimate: reads of a value of several tensors, stored for them
}  // namespace stages
namespace collapsed_results {
inline constexpr double long_row = 64;  // results; estimate: lanes of rows as long are mostly full
}  // namespace collapsed_results
namespace few_terms {
inline constexpr std::int64_t most_nodes = 512;  // nodes; estimate: of all terms of a stage, each of which is code
}  // namespace few_terms
namespace placement {
inline constexpr double repeats_allowed = 1.5;  // factor; estimate: more evaluations than values are stored instead
inline constexpr double often = 1 << 18;        // iterations; estimate: slow functions in as many are looked at
inline constexpr double repeats_of_slow = 16;   // factor; estimate: evaluations of a slow function for each value
inline constexpr double places_in_windows = 3;  // factor; estimate: evaluations of a slow function for each place
inline constexpr double often_in_windows = 1 << 16;  // evaluations; estimate: as many are worth a pass
inline constexpr double beyond_cache = 1 << 20; // elements; estimate: columns as long are not walked by lanes
}  // namespace placement
namespace rows {
inline constexpr double narrow = 128;             // columns; bench_survey: of wider rows each is a stream of memory
inline constexpr double most_columns = 1 << 16;   // columns; W12: partial results of as many stay in L2
inline constexpr double worth_sharing = 1 << 16;  // elements; estimate: a pass over fewer stays in cache anyway
inline constexpr double most_of_block = 1 << 17;  // elements; estimate: L2 holds them for what is folded next
inline constexpr int lanes = 64;                  // lanes; bench_survey: of operands that are packed
inline constexpr int lanes_of_shifted = 16;       // lanes; W12: eight rows stay in registers till shifted
}  // namespace rows
namespace short_rows {
inline constexpr double shortest = 2;      // elements; limit: of a row
inline constexpr double longest = 31;      // elements; bench_survey: of a row, softmax, layer norm and sums of 2 to 64
inline constexpr double longest_of_functions = 64;  // elements; bench_survey: with functions of them, or of all as one
inline constexpr double least_rows = 256;  // rows; estimate: fewer are soon done
}  // namespace short_rows
namespace result_functions {
inline constexpr double longest = 256;         // elements; estimate: of longer rows a function is a tenth of the time
inline constexpr double longest_whole = 512;   // elements; bench_survey: of rows that a fold walks, three functions
inline constexpr double least_results = 1024;  // results; estimate: fewer are soon done
}  // namespace result_functions
namespace arrange {
inline constexpr std::int64_t most_columns = 8;  // columns; estimate: more fill over half a register
inline constexpr std::int64_t least_rows = 64;   // rows; estimate: fewer are not joined with their columns
inline constexpr std::int64_t most_known = 4;    // elements; estimate: of a row that is unrolled
}  // namespace arrange
namespace kernels {
inline constexpr std::int64_t most_whole = 32768;  // elements; estimate: longer loops have a masked tail anyway
inline constexpr double worth_offering = 1e6;  // ns; estimate: an iteration as long is shared by any pool
inline constexpr int indices_left = 128;  // indices; estimate: of those a plan may have, that the lowering takes
}  // namespace kernels
namespace horizontal_fusion {
inline constexpr double worth_it = 0.9;                      // factor; W3: of the time of one after the other
inline constexpr double least_share = 0.25;                  // share; W3: of a kernel's work that memory takes
inline constexpr double bytes_of_iteration = 64 * 1024;      // bytes; W3: enough for the hardware prefetcher
inline constexpr std::int64_t fewest_iterations = 16;        // iterations; estimate: or threads wait at the end
inline constexpr std::int64_t forced_iterations = 3;         // iterations; estimate: in tests
}  // namespace horizontal_fusion

// ---- Algorithms for reductions
namespace stencil {
inline constexpr std::int64_t most_points = 16;  // points; W7: of one index that are unrolled
inline constexpr std::int64_t few_points = 4;    // points; estimate: no fewer are looked for where they would not move
inline constexpr std::int64_t most_terms = 32;   // terms; W7: of one reduction, since code grows with them
inline constexpr double least_lanes = 16;        // results; W7: fewer along the last index have no lanes
inline constexpr double least_lanes_of_chains = 6;  // results; bench_survey: the same of sums over more than windows
inline constexpr int vector_bytes = 128;         // bytes; W7: of the widest element in lanes
inline constexpr std::int64_t chunk = 4096;      // results; estimate: of a task that takes a part of a row
inline constexpr std::int64_t most_rows = 4;     // rows; W7: that windows move on by
}  // namespace stencil
namespace window {
inline constexpr std::int64_t narrowest = 2;          // elements; limit: of a window
inline constexpr double fewest_results = 64;          // results; estimate: fewer are folded one by one
inline constexpr std::int64_t blocks_read_again = 4;  // blocks; W13: a longer window reads too much again
}  // namespace window
namespace polyphase {
inline constexpr int fewest_loads = 2;  // loads; bench_survey: at rounded subscripts, that are worth phases of a map
inline constexpr std::int64_t phases_from = 24;     // elements; estimate: a shorter window costs less than three passes
inline constexpr std::int64_t positions_from = 48;  // elements; estimate: the same of positions
inline constexpr double fewest_results = 64;        // results; estimate: fewer are folded one by one
inline constexpr std::int64_t most_phases = 4;      // phases; estimate: of results, since code grows with them
inline constexpr double fewest_of_phase = 6;        // results; bench_survey: fewer of a phase have no lanes
}  // namespace polyphase
namespace extremum {
inline constexpr std::int64_t blocks_from = 16;     // elements; estimate: of a range, for sums over ties
using polyphase::positions_from;
inline constexpr double ranges_from = 64;           // terms; estimate: fewer are as fast one by one
inline constexpr double dilated_from = 16;          // terms; estimate: where each is an extremum stored nowhere else
inline constexpr std::int64_t search_block = 256;   // elements; W12: of a row, folded without positions
inline constexpr std::int64_t most_stride = 8;      // elements; estimate: of lanes with a window each
}  // namespace extremum
namespace scan {
inline constexpr double window_from = 48;  // steps; W13: of one result, against three scans and their memory
}  // namespace scan

// ---- Slices
namespace overlapping_slices {
inline constexpr double least_slices = 256, least_rows = 4096;  // slices, rows; estimate: fewer are folded one by one
inline constexpr double least_elements = 1 << 18;               // elements; estimate: fewer stay in L2
}  // namespace overlapping_slices
namespace sweep {
inline constexpr double least_columns = 64;  // columns; W4: tasks share them, and each passes all slices
inline constexpr int most_lanes = 64;        // lanes; W4: of the columns
using namespace overlapping_slices;
inline constexpr std::int64_t rows_ahead = 64;                  // rows; W4: prefetched of data read in order
inline constexpr std::int64_t slices_ahead = 24;                // slices; W4: whose rows are prefetched
inline constexpr std::int64_t bounds_ahead = 48;                // slices; W4: whose bounds are prefetched
}  // namespace sweep
namespace block_tree {
using namespace overlapping_slices;
inline constexpr std::int64_t rows_of_a_slice = 48;             // rows; estimate: that cost what one from tables does
inline constexpr std::int64_t numbers_of_a_slice = 512;         // rows; bench_survey: the same of numbers, in lanes
inline constexpr std::int64_t numbers_added = 1536;             // rows; bench_survey: the same of numbers added to
}  // namespace block_tree
namespace segmented_tiles {
inline constexpr std::int64_t most_slices = std::int64_t{1} << 31;  // slices; limit: a tile counts by 32 bits
inline constexpr double least_rows = 1 << 14;                        // rows; estimate: fewer do not pay three launches
inline constexpr double of_search = 32;  // operations; estimate: of finding a tile's first slice
inline constexpr std::int64_t kept_bytes = 8;  // of a row; estimate: 14 KB of a tile, 14 warps a multiprocessor
}  // namespace segmented_tiles
namespace range_scatter {
inline constexpr double listed_from = 32768;        // elements; W4: of the result, fewer ask every slice
inline constexpr double asked_from = 1 << 14;       // slices x rows; estimate: fewer ask every slice
inline constexpr double task_elements = 8192;       // elements; W11: of the result, that a task owns
inline constexpr double gpu_task_elements = 32768;  // elements; estimate: the same on a GPU, of which each has a part
inline constexpr std::int64_t least_chunk = 64;     // rows; estimate: that a task owns
inline constexpr double sorted_from = 64;           // slices; estimate: on a GPU, fewer are listed by one thread
inline constexpr std::int64_t tasks_of_slices = 32;  // tasks; estimate: at most, of few rows; a short slice is in one
inline constexpr std::int64_t short_slice = 32768;  // rows; W11: a slice as long is recomputed with it in cache
inline constexpr std::int64_t least_streamed = 2;   // vectors; bench_survey: of a slice whose rows are lanes
inline constexpr double slices_in_result = 8;       // slices; estimate: of computed ends, as long, that a result has
}  // namespace range_scatter
namespace inverse_index {
inline constexpr double listed_from = 1 << 18;      // elements; W10: of the result
inline constexpr double beyond_caches = 1 << 22;    // elements; bench_survey: of the result, where lists are sorted
inline constexpr double least_rows = 256;           // rows; estimate: of the result
inline constexpr double most_of_result = 4;         // factor; bench_survey: more memory than the result has, for lists
inline constexpr double most_chunks = 512;          // chunks; W10: of the result's rows
inline constexpr std::int64_t least_chunk = 64;     // rows; estimate: of a chunk
inline constexpr std::int64_t most_rows = 2048;     // rows; W10: of a chunk, whose starts stay in L1
inline constexpr std::int64_t list_blocks = 64;     // blocks; estimate: that tasks list
inline constexpr std::int64_t forced_blocks = 3;    // blocks; estimate: in tests
inline constexpr double shared_from = 1 << 16;      // updates; estimate: fewer one task lists
inline constexpr double updates_for_a_count = 4;    // updates; W10: for a count of a block, which is cleared, added
inline constexpr double repeats_allowed = 1.5;      // factor; estimate: more evaluations than values are stored
inline constexpr std::int64_t sorted_from = 64;     // updates; W2: on a GPU, each takes a task a microsecond to walk
inline constexpr int lanes_of_counts = 8;           // lanes; estimate: of counts that are set and summed up
inline constexpr double beyond_cache = 4 << 20;     // bytes; W10: an input as large is prefetched by its updates
inline constexpr std::int64_t updates_ahead = 12;   // updates; W10: whose rows are prefetched
inline constexpr double most_places_of_row = 16;    // places; estimate: of rows and slices, whose sums are stored
inline constexpr std::int64_t rows_filled = 1024;   // rows; estimate: of one element, that a task fills
}  // namespace inverse_index
namespace separate {
inline constexpr double saved = 4;  // factor; estimate: of terms, by nested sums whose inner one is stored
}  // namespace separate
namespace scatter {
inline constexpr int much_work = 12;           // loads and operations; estimate: of a value that is stored for updates
inline constexpr double repeats_of_work = 2;  // factor; estimate: more updates than values to store what is much work
inline constexpr double least_period = 8;  // places; estimate: of remainders, whose lanes are loaded as neighbours
inline constexpr std::size_t most_sums = 16;  // sums; limit: of code, the product of the parts of each subscript
inline constexpr std::int64_t asked_at_once = 256;    // updates; bench_survey: sums of 1000 groups, 64 to 4096
inline constexpr double least_asked_bytes = 1024;    // bytes; bench_survey: of rows, sums of 10 and 1000 groups
inline constexpr int lanes_of_asking = 32;            // lanes; estimate: of keys, four registers
inline constexpr std::int32_t asked_unrolled = 8;     // updates; bench_survey: of those none of which asks
inline constexpr std::int64_t rows_ahead = 32;  // updates; bench_survey: sums of 10^6 groups, 8 to 64 ahead
inline constexpr std::int32_t updates_unrolled = 4;  // updates; estimate: of a group that is no run of one key
}  // namespace scatter
namespace privatised_tables {
inline constexpr double seldom_from = 1024;  // updates of a row; estimate: few of as many change an extremum
}  // namespace privatised_tables
namespace sort {
inline constexpr std::int64_t most_places = 1 << 30;  // places; limit: counts are of 32 bits
inline constexpr int digit_bits = 8;                  // bits; estimate: of a key that a pass sorts by
inline constexpr int most_digit_bits = 11;            // bits; estimate: the same where that saves a pass; 8 KB a tile
inline constexpr int most_bits = 32;                  // bits; limit: of all digits, where numbers are of 32
inline constexpr std::int64_t entries_of_count = 4;   // numbers; estimate: moved for a count: written, summed, read
inline constexpr int tile_lanes = 2048;               // lanes; bench_gpu: of a block's tile, 8 a thread
inline constexpr std::int64_t least_tile = 2048;      // places; estimate: of a block's tile
inline constexpr std::int64_t most_tile = 4096;       // places; estimate: as many, or more, a digit
inline constexpr double enough_tiles = 2048;          // tiles; estimate: five times as many as run at once
inline constexpr double open_bytes = 32 << 10;        // bytes; bench_gpu: of 400 blocks, a quarter of 50 MB
inline constexpr double sector = 32;                  // bytes; manual of CUDA: that memory is written by
inline constexpr std::int64_t reach_tiles = 8;        // tiles; estimate: of warps without a table, for one of a block
inline constexpr std::int64_t counts_at_once = 1024;  // counts; estimate: whose running sum a group makes
inline constexpr int group_lanes = 256;               // lanes; estimate: of a group of threads
inline constexpr std::int64_t usual_places = 1 << 20; // places; estimate: that a shared kernel is laid out for
}  // namespace sort

// ---- Memory
namespace prefetch {
inline constexpr double least_trips = 4;              // iterations; estimate: fewer prefetch nothing
inline constexpr std::int64_t gathered_bytes = 24576; // bytes; W1: of gathered rows, into L2
inline constexpr std::int64_t window_bytes = 4096;    // bytes; W13: of the rows that a window reaches
inline constexpr std::int64_t masked_bytes = 1024;    // bytes; bench_survey: of rows that are shorter than their lanes
inline constexpr std::int64_t tile_bytes = 16384;     // bytes; bench_survey: of rows read at once, before they are
inline constexpr std::int64_t column_bytes = 16384;   // bytes; bench_survey: of rows whose lanes lie apart
inline constexpr std::int64_t narrow_column = 128;    // bytes; bench_survey: of lanes that are a stream in each row
inline constexpr double row_of_tile = 128;            // elements; bench_survey: shorter rows of a tile are one stream
inline constexpr std::int64_t rows_of_tile = 4;       // rows; estimate: of a loop's body, that hardware loses sight of
inline constexpr double stencil_bytes = 4096;         // bytes; W7: of each row's neighbourhood
inline constexpr double short_row = 2048;             // elements; W9: four of them stay in an L1 of 32 KB
}  // namespace prefetch
namespace scratch_rows {
inline constexpr double most_bytes = 32 << 10;         // bytes; W12: of one scratch row, which stays in L1
inline constexpr std::int64_t class_elements = 2048;   // elements; W12: of most rows of a class of many lengths
inline constexpr std::int64_t all_bytes = 48 << 10;    // bytes; W12: of those of a kernel
inline constexpr std::int64_t slice_bytes = 64 << 10;  // bytes; W11: of those of a slice, beside its data in L2
}  // namespace scratch_rows
namespace compacted {
inline constexpr int least_places = 64;             // places; W2: of a mask, a vector of it, fewer are asked one by one
inline constexpr std::int64_t most_places = 16384;  // places; W2: of a list in L1
inline constexpr double least_lanes = 16;           // elements; estimate: narrower rows are masked
}  // namespace compacted
namespace expression {
inline constexpr std::int64_t longest_period = 32;  // lanes; estimate: of subscripts that repeat
inline constexpr std::int64_t most_apart = 8;       // elements; W7: between lanes that are de-interleaved
}  // namespace expression

// ---- IR passes
namespace partition {
inline constexpr int least_comparisons = 2;  // comparisons; estimate: of lanes, that are worth a loop without them
inline constexpr int least_vectors = 4;      // vectors; estimate: of a loop that is worth parts
inline constexpr std::int64_t usual_extent = 4096;  // elements; estimate: of tensors other than inputs
inline constexpr std::int64_t least_stripped = 32;  // lanes; estimate: of a loop that is worth one for each quotient
inline constexpr std::int64_t most_repeats = 7;     // lanes; estimate: copies of such a loop
inline constexpr std::size_t short_body = 24;       // statements; estimate: of such a loop
inline constexpr std::int32_t narrower = 4;         // factor; limit: registers that lanes of a loop take, at most
inline constexpr std::int64_t least_lanes = 4;      // lanes; estimate: of a loop over few elements
inline constexpr std::int64_t least_period = 6;     // lanes; estimate: shorter ones are divided
inline constexpr std::int64_t long_period = 1024;   // lanes; estimate: of such rows stores pass the caches
}  // namespace partition

// ---- Emitters
namespace emit {
inline constexpr int most_loads = 4;     // loads; estimate: of one de-interleaved register, more cost as a gather
inline constexpr int most_shared = 8;    // loads; estimate: the same where others take the rest of what is read
inline constexpr int least_divided = 8;  // lanes; W9: fewer are divided one register at a time
inline constexpr int values_in_registers = 2;  // values; W4: that registers hold of a group of lanes; 1, 4 are slower
inline constexpr int least_group = 16;         // lanes; limit: a line of f32
inline constexpr int most_written_out = 8;  // lanes; estimate: more are loaded by a loop where there are no gathers
inline constexpr std::size_t worth_a_text = 2000;  // characters; bench_nvrtc: shorter kernels share a translation unit
inline constexpr std::size_t short_body = 24;      // statements; bench_nvrtc: a longer loop's body is not unrolled
inline constexpr int most_pointers = 12;  // pointers; estimate: of a GPU's loop, two registers each
inline constexpr std::int64_t most_predicated = 8;  // iterations; estimate: of a GPU's loop, written out as predicated
inline constexpr std::int64_t most_stored = 16;  // iterations; bench_gpu: the same of a loop that stores
inline constexpr int bytes_of_folds = 64; // bytes; estimate: under way in a GPU's thread that folds
inline constexpr int bytes_of_few = 128;  // bytes; estimate: the same where threads are too few for a GPU
inline constexpr int most_of_few = 32;    // iterations; estimate: of such a loop, written one after the other
namespace instructions {  // of a lane of a GPU, about: what NVRTC takes its time over
inline constexpr std::int64_t of_branch = 2;          // instructions; bench_nvrtc: a load where lanes may be dead
inline constexpr std::int64_t of_gather = 6;          // instructions; bench_nvrtc: the same with an address of its own
inline constexpr std::int64_t of_division = 10;       // instructions; estimate: of f32
inline constexpr std::int64_t of_wide_division = 50;  // instructions; estimate: of f64 and i64
inline constexpr std::int64_t of_function = 12;       // instructions; estimate: of f32
inline constexpr std::int64_t of_wide_function = 100;  // instructions; estimate: of f64
inline constexpr std::int64_t most = 320;  // instructions; bench_gpu: of what a loop writes out
}  // namespace instructions
inline constexpr std::uint64_t short_row_of_lines = 2048;  // bytes; bench_survey: longer: non-temporal in part
inline constexpr std::int64_t longest_short = 1 << 30;  // iterations; limit: counted in 32 bits
}  // namespace emit

// ---- Calls
namespace engine {
inline constexpr std::size_t calls_remembered = 64;  // calls; estimate: of a stream, between two synchronisations
}  // namespace engine
namespace checks {
inline constexpr std::int64_t most_of_a_range = std::int64_t{1} << 31;  // elements; limit: 32 bits
inline constexpr double rows_for_a_slice = 32;                          // rows; estimate: read while one is asked
inline constexpr double walked_by_all = 65536;  // elements; estimate: from here on threads share what is in order
inline constexpr double of_many = 32;  // factor; estimate: so many times as many rows for a slice are read by threads
inline constexpr std::int64_t most_steps = 1 << 18;                     // steps; estimate: a millisecond
inline constexpr double asked_together = 8192;  // elements; estimate: read in the time that another kernel takes
}  // namespace checks

}  // namespace sheaf::inline v0_1::tuning
