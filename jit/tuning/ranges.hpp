// Constants of rules for ranges that data says, and for those that move with their results: see tuning.hpp.
#pragma once

namespace sheaf::inline v0_1::tuning {

namespace ordered_keys {
inline constexpr double least_keys = 512;       // keys; estimate: fewer are asked one by one
inline constexpr double least_searches = 64;    // values; estimate: for fewer the keys are not asked for their order
inline constexpr double least_pairs = 1 << 22;  // pairs of both; estimate: fewer take as long as another kernel
inline constexpr int most_bits = 32;            // bits; limit: of a place, more keys are asked one by one
inline constexpr int least_results_of_sort = 2048;  // results; measured: for fewer, keys are compared with each
inline constexpr double operations_of_sort = 64;  // operations; estimate: of a key
inline constexpr int group = 16;                // keys; limit: of a register, each of which counts those before it
inline constexpr int block = 8192;              // keys; estimate: sorted by one task, in L2 with their places
inline constexpr int doublings = 9;             // of a group to a block; odd: what is sorted is where it began
inline constexpr int most_doublings = 30;       // of a block to the most keys
}  // namespace ordered_keys
namespace runs {
inline constexpr double least_results = 4096;  // results; estimate: fewer are folded one by one
}  // namespace runs
namespace data_prefix {
inline constexpr double least_slices = 64, least_rows = 1024;  // slices, rows; estimate: fewer are folded one by one
inline constexpr double rows_of_a_slice = 64;  // rows; estimate: whose running fold takes as long as a short slice
}  // namespace data_prefix
namespace one_sided {
inline constexpr double least_terms = 64, least_places = 256;  // terms, places; estimate: fewer are asked one by one
}  // namespace one_sided
namespace moving_ranges {
inline constexpr double vectors_of_row = 4;  // vectors; estimate: in fewer the edges are most of a row
}  // namespace moving_ranges

}  // namespace sheaf::inline v0_1::tuning
