// Everything that decides bits: the types that folds accumulate in, and the order of additions. Planner, lowering and
// both emitters ask here and nowhere else, or two of them would disagree in the last bit. Constants, the same for every
// processor and never measured on one: a result has the same bits on all machines of a vector width. What only costs
// time is in tuning/tuning.hpp. Shown by tests/jit/numerics.cpp.
#pragma once
#include <cstdint>

#include <sheaf/dsl/graph/element.hpp>
#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1::numerics {

// ---- Types
// What an accumulator of such elements holds; f16 and bf16 are computed in f32.
constexpr element accumulated(element type) {
  return is_half(type) ? element::f32 : type;
}
// What partial results are joined in: there are few of them, and a result shows the roundings of the last additions.
constexpr element joined(monoid fold, element type) {
  return fold == monoid::sum && type == element::f32 ? element::f64 : type;
}
constexpr bool adds_errors(monoid fold) { return fold == monoid::sum || fold == monoid::prod; }
// What is carried along a running fold, over which errors add up.
constexpr element carried(monoid fold, element type) {
  return is_floating(type) && adds_errors(fold) ? element::f64 : type;
}

// What a recurrence carries: its steps are sums.
constexpr element recurred(element type) { return is_floating(type) ? element::f64 : type; }

// A mark on a reduction of f64, beside its monoid: its body is a cast from f32, and lanes hold what is cast.
inline constexpr std::int64_t narrow_lanes = 256;
// A mark beside it: terms are folded one by one in the order of the index, whatever runs in lanes around. Such a
// reduction has the same bits wherever it is computed.
inline constexpr std::int64_t term_by_term = 512;
// A mark beside it: the body is a chain of the fold's own operation, of a window that is written out. Its terms go into
// the accumulator one after the other, as those of a loop do. There is no condition beside theirs.
inline constexpr std::int64_t chain_of_terms = 1024;
// What lanes of a reduction of this type and attribute hold.
constexpr element in_lanes(element type, std::int64_t attribute) {
  return (attribute & narrow_lanes) != 0 ? element::f32 : accumulated(type);
}
// Lanes are folded by halves: f32 whose sum is f64 while there are more lanes than this, the rest in f64.
inline constexpr int folded_in_f64 = 16;
constexpr bool folds_in_f64(monoid fold, element lanes, element result) {
  return fold == monoid::sum && lanes == element::f32 && result == element::f64;
}

// ---- Rows
// Elements of a row from which squared differences are f64 from the first: such a row leaves L1, so conversions are
// done while it is waited for.
inline constexpr double long_row = 8192;
// Elements that lanes of a scan along itself take at once: more are more log-steps, fewer a longer chain.
constexpr int scan_lanes(element type) { return row(type).bytes == 8 ? 8 : 16; }

// Of a GPU's warp: eight elements a thread.
inline constexpr int group_scan_lanes = 256;
// The same of states of so many bytes: a thread holds all values of its elements.
constexpr int group_lanes_of_state(int bytes) {
  int lanes = group_scan_lanes;
  for (; bytes > 16 && lanes > 32; bytes /= 2) lanes /= 2;
  return lanes;
}

// ---- Weights: which index has lanes, and where a reduction is placed, follow from what loop bodies weigh.
namespace weights {
inline constexpr double load = 1;  // of one element
inline constexpr double arithmetic = 0.25;
inline constexpr double share_of_lane = 1.0 / 16;  // what of either a lane costs
inline constexpr double strided = 0.75;            // what of a load, where lanes are some elements apart
}  // namespace weights

// ---- Lanes of a vector loop: the widest element decides
namespace lanes {
inline constexpr int least = 4, most = 256, least_of_most = 8;
inline constexpr int bytes = 256, bytes_of_functions = 128;     // of accumulators, or beside what functions need
inline constexpr int row_bytes = 1024, row_bytes_shared = 512;  // of a row whose reductions stay in registers
inline constexpr int of_short_rows = 16;                         // rows, a register of f32
// A row of between two and four registers has lanes of one, of between four and eight those of two.
inline constexpr int one_register = 16, two_registers = 32, four_registers = 64, eight_registers = 128;
inline constexpr int gpu_of_functions = 128;                    // lanes, each a thread's
inline constexpr double gpu_long_row = 8192;                    // elements: shared memory holds few such rows, so wider
}  // namespace lanes

// Tasks that keep a few cores busy: how finely loops, reductions and scans are cut.
inline constexpr double enough_tasks = 16;

// ---- Classes of extents: a plan for a class is made for the usual extents of it (shapes/usual_extents.hpp)
namespace classes {
inline constexpr std::int64_t narrow_row = 32, row = 97, long_row = 8193, few = 16, many = 16385;  // elements: from
inline constexpr std::int64_t usual_short = 16, usual_narrow = 64, usual_row = 1024, usual_long_row = 32768;
inline constexpr std::int64_t usual_list = 16384, usual_long_list = 1 << 22;
inline constexpr std::int64_t usual_few = 8, usual_rows = 8192, usual_many = 1 << 20, usual_any = 65536;
inline constexpr std::int64_t usual_unread = 1 << 18;
inline constexpr std::int64_t any = std::int64_t{1} << 60;  // the largest of classes without another limit
}  // namespace classes

// ---- A long reduction in blocks
namespace split {
inline constexpr double from = 65536;  // elements a result: below, one core is as fast
inline constexpr std::int64_t block_elements = 16384;
inline constexpr double long_result = 1 << 17;  // elements of a result: it is in blocks, however many results there are
inline constexpr double run_elements = 8192;  // of a block, where results are no lanes: those of each lie in one place
inline constexpr double gathered = 16;  // elements: what one costs that data names, which has a line of its own
inline constexpr double row_elements = 1024;                        // a row as long is a block
inline constexpr std::int64_t part_of_row = 16384;  // memory is read at half its speed in parts of an eighth
inline constexpr double enough_tasks = 2 * numerics::enough_tasks;  // blocks differ in length
// Bytes of workspace beyond as much as the outputs take; two partial results may share it.
inline constexpr double most_bytes = 1 << 20;
inline constexpr double fewest_blocks = 64;  // of equal ones; more take longer on a few cores (W12 along axis 0)
inline constexpr double fewest_elements = 64;
inline constexpr double least_of_group = 256;      // elements: of a GPU's block, where there are few blocks
inline constexpr double cheap_from = 1024;          // terms of a row of a GPU's: then rows are blocks, where few
inline constexpr double many_results = 256;        // partial results of more cost as much to move as the data,
inline constexpr std::int64_t rows_of_many = 64;   // so a block has as many rows
inline constexpr double most_results = 4096;       // that the work of a row counts
inline constexpr std::int64_t rows_in_a_row = 64;  // of one f32 sum: a longer one is a sum of sums, or its error shows
// On a GPU: so many partial results of few results are joined some at a time first.
inline constexpr double joined_from = 512;
inline constexpr std::int64_t joined_at_once = 64;
constexpr bool sums_sums(monoid fold, element type, std::int64_t rows) {
  return fold == monoid::sum && type == element::f32 && rows > rows_in_a_row;
}
}  // namespace split

// ---- Windows of several dimensions, row by row
namespace separate_windows {
inline constexpr std::int64_t least_places = 16, most_places = 1 << 16;
inline constexpr std::int64_t factor = 2, stored = 2;  // of steps: so many fewer, with what a stored row takes
}  // namespace separate_windows

// ---- Reductions of so many terms, a constant number, are these terms, combined in the order of the index
namespace few_terms {
inline constexpr std::int64_t most = 4;
}  // namespace few_terms

// ---- Ranges that move with their results: lanes are results, where a row has so many
namespace moving_ranges {
inline constexpr double least_results = 48;
inline constexpr double most_places = 64;   // of a range: along longer ones lanes are folded in no time
inline constexpr double row_of_places = 8;  // a row has so many times as many results, or edges are most of it
inline constexpr double most_idle = 2;      // all results walk so many times the places of one in the middle
}  // namespace moving_ranges

// ---- A scatter of many updates to few rows, by a table of partial results for each block of updates
namespace tables {
inline constexpr double from = 49152;           // elements updated: below, one table is as fast
inline constexpr double block_elements = 16384;
inline constexpr double most_tables = 64;
inline constexpr double cost_of_result = 2;     // updates: a result of each table is filled, stored and joined
inline constexpr double updates_of_result = 8;  // of more tables than few_tables each has so many for each result
inline constexpr double few_tables = 8;
inline constexpr std::int64_t chunk_of_runs = 1024;  // updates
inline constexpr int asked_of_chunk = 64;            // updates: are most of them of the row of the one before?
inline constexpr int lanes_of_runs = 16;             // then so many of one row, one after the other, are folded at once
inline constexpr std::int64_t forced_block = 4; // in tests
inline constexpr std::int64_t shared_rows = 4096;     // of a GPU's group: at most 32 KB of shared memory
inline constexpr double most_of_groups = 4096;        // tables: half of the warps that a device holds
inline constexpr double results_of_groups = 1 << 20;  // of all tables: 8 MB
inline constexpr double updates_of_sum = 8;           // that go in order: for each result of all tables
inline constexpr int lanes_of_groups = 256;
// A group's table whose updates go in order: sums of f32 are f64 where there are few, and rows have several results,
// of which lanes take one each.
constexpr element in_table(monoid fold, element type, std::int64_t rows) {
  return fold == monoid::sum && type == element::f32 && rows <= 1024 ? element::f64 : type;
}
constexpr std::int64_t sums_of_row(std::int64_t rows) {
  std::int64_t n = 1;
  while (n < 32 && 2 * n * rows <= 1024) n *= 2;
  return n;
}
inline constexpr std::int64_t joined_at_once = 64;    // tables
}  // namespace tables

// ---- Rows that partial results of columns take at once, where their centre moves, and which are added pair by pair
namespace rows {
inline constexpr std::int64_t together = 8;
}  // namespace rows

// ---- Lanes of a loop that writes a large result and visits sums
namespace large_result {
inline constexpr double from = 8 << 20;  // bytes of the result
inline constexpr int iteration = 256;    // bytes of an iteration: so many lanes have sums, and so their bits
}  // namespace large_result

// ---- Running folds in blocks
namespace scan {
inline constexpr std::int64_t block_elements = 16384;
inline constexpr double blocks_from = 131072;          // elements: below, one pass over the data is as fast
inline constexpr double many_rows = 8, gpu_rows = 2;   // times the tasks that are enough: then no row is cut
inline constexpr std::int64_t least_block = 64;
}  // namespace scan
namespace recurrence {
inline constexpr double blocks_from = 131072;  // places: below, one chain is as fast
inline constexpr std::int64_t block_size = 16384;
}  // namespace recurrence

// ---- Windows
namespace window {
inline constexpr std::int64_t folded_lanes = 128;  // elements: a window of as many is folded between registers
inline constexpr std::int64_t vector_bytes = 64;
inline constexpr std::int64_t run_of_thread = 8;  // elements: blocks of a GPU are of whole runs of its threads
inline constexpr std::int64_t block_bytes = 256 << 10;  // what a block stores: a share of L2
inline constexpr std::int64_t sums_in_a_row = 32;       // more than these f32 adds with an error that counts
inline constexpr std::int64_t summed_in_f64 = 4096;     // elements: what a block stores of so many still fits L1
// Twice the arithmetic, which memory leaves time for; only the result is rounded.
constexpr element type_of(monoid fold, element type, std::int64_t width) {
  const bool wide = type == element::f32 && adds_errors(fold) && width > folded_lanes && width <= summed_in_f64;
  return wide ? element::f64 : accumulated(type);
}
// Vectors after which a sum of f32 goes on in another accumulator, of a window of so many; 0: none.
constexpr std::int64_t vectors_in_a_row(monoid fold, element type, std::int64_t vectors) {
  return type == element::f32 && adds_errors(fold) && vectors > sums_in_a_row ? sums_in_a_row : 0;
}
// Of the terms summed where their keys, `lanes` of which are a vector, tie: of a large window many may.
constexpr element type_of_tied(element type, std::int64_t width, std::int64_t lanes) {
  return type == element::f32 && width > sums_in_a_row * lanes ? element::f64 : accumulated(type);
}
}  // namespace window

// ---- Overlapping slices
namespace sweep {
inline constexpr std::int64_t block = 64;  // rows that a slice holds whole are folded before
inline constexpr std::int64_t radix = 8;   // blocks of a group
inline constexpr std::int64_t ring = 512;  // slices that are open at a time and stay in cache
}  // namespace sweep
namespace block_tree {
inline constexpr std::int64_t radix = 16;  // entries of a level that are one of the next
inline constexpr std::int64_t radix_of_numbers = 128;  // the same of rows without columns: a few registers
}  // namespace block_tree

// ---- Segmented tiles
namespace tile {
inline constexpr std::int64_t rows = 1024, most_wide_rows = 256, least_wide_rows = 64;
inline constexpr double enough_tiles = 8192;  // that keep a GPU busy: wide rows are cut until there are as many
inline constexpr int lanes = 256;
inline constexpr int join_lanes = 32;  // a warp joins the parts of one slice
}  // namespace tile

// ---- Reductions of values of pairs
namespace pair_tiles {
inline constexpr int places = 64;  // of the walked index, folded together
inline constexpr std::int64_t no_place = std::int64_t{1} << 60;  // after all
}  // namespace pair_tiles

// ---- Sums of the updates of a scatter that stand in an inverse index
namespace updates {
inline constexpr std::int64_t in_a_row = 32;  // a longer sum is one of sums of so many: its error stays small
// On a GPU parts of so many updates of a row are folded before, from so many updates of all rows on.
inline constexpr std::int64_t part = 512, forced_part = 8;  // forced: in tests
inline constexpr double parts_from = 2048;
inline constexpr std::int64_t at_once = 64, forced_at_once = 4;  // of the parts of a row, where it may have very many
inline constexpr int lanes_of_part = 256;  // of results of one number
}  // namespace updates

}  // namespace sheaf::inline v0_1::numerics
