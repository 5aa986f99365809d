// Constants of products of matrices, beside those of tuning.hpp: they only cost time, but for the order of additions
// where a sum is taken apart (docs/scheduling.md).
#pragma once

namespace sheaf::inline v0_1::tuning::products {

inline constexpr double least = 32;        // rows, columns; estimate: of fewer a tile is not worth a pass of its own
inline constexpr double least_terms = 16;  // terms; estimate: of each result, which is stored and read for them
inline constexpr double least_of_updates = 8;  // rows, columns; bench_survey: of products that a scatter adds
inline constexpr double least_terms_again = 8;   // terms; bench_survey: of each result that several fold again
inline constexpr double least_terms_of_several = 4;  // terms; bench_survey: where several stages would multiply them
inline constexpr double least_lanes = 64;  // results; estimate: of a row, that share what is computed of its factors
inline constexpr double least_of_blocks = 32;  // terms; estimate: of the last of several sums, kept and gone on with
inline constexpr double least_packed_rows = 16;  // rows; measured: that multiply what is packed for them
inline constexpr double least_packed_lanes = 4;  // results; measured: of fewer, rows are lanes (short rows)
inline constexpr double full_row = 64;           // bytes; measured: of results, on any processor, for any walk
inline constexpr double packed_walk = 2;         // terms, by results squared; measured: with 4 and 10 results
inline constexpr double small = 4;         // factor; bench_survey: values, by elements of what is multiplied
inline constexpr double reused = 8;        // results; estimate: of a row, for which several rows at once are better
inline constexpr double rows_of_task = 8;    // rows; limit: of a register tile, by which tasks are counted
inline constexpr double few_results = 1024;  // results; measured: gradients of weights, 16 to 64 columns
inline constexpr int bytes_in_flight = 512;   // bytes; limit: of a row's results, fewer wait for additions; 2 a cycle
inline constexpr double jammed_terms = 64;    // terms; bench_survey: of a result, for which its factor is stored
inline constexpr double stays = 32 << 10;  // bytes; limit: of what rows share, that L1 holds as it lies
inline constexpr double places_of_walks = 4;  // factor; estimate: of what a batch shares, to those of one walk
// Numbers; limits: all integers up to these are of the type.
inline constexpr double in_i32 = 0x7fffffff, in_f32 = 1 << 24, in_f64 = 9007199254740992.0;

}  // namespace sheaf::inline v0_1::tuning::products
