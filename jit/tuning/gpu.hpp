// The part of tuning.hpp that GPUs alone are tuned by.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sheaf::inline v0_1::tuning {

// ---- GPU: how a kernel's loops become groups and blocks
namespace grid {
inline constexpr std::int64_t enough_tiles = 8192;       // tiles; estimate: for some hundred multiprocessors
inline constexpr std::int64_t enough_threads = 1 << 17;  // threads; estimate: the same
inline constexpr std::int64_t enough_blocks = 256;       // blocks; estimate: the same
inline constexpr std::int64_t little = 512;              // bytes; estimate: of local memory of one thread
inline constexpr int most_threads = 256;  // threads; estimate: of a group, but for long rows in registers
inline constexpr int most_held = 8;                      // lanes; estimate: of a vector that a thread has under way
inline constexpr int warp = 32;                          // threads; manual of CUDA: of a warp
inline constexpr int least_resident = 512;  // threads; estimate: of blocks of 256, that a multiprocessor must hold
// Of smaller blocks that a multiprocessor must hold, and need not hold more: threads get the registers that leaves.
inline constexpr int warps_held = 24;             // warps; bench_gpu: 16 and 32 are slower
inline constexpr int warps_down_columns = 32;     // warps; bench_gpu: of folds down columns, 24 are slower
inline constexpr std::int64_t most_waves = 64;    // factor; bench_gpu: blocks, of those that fill the device
}  // namespace grid

namespace joint_rows {
inline constexpr double most_batches = 64;  // batches; estimate: of more, tasks of a batch each take less than a sort
}  // namespace joint_rows

namespace register_rows {
// A loop that is written out has so many iterations, the last of them maybe dead: lengths share code.
inline constexpr std::int64_t steps[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};  // trips; W12: above
inline constexpr std::int64_t most_registers = 64;  // registers; W8: of the 128 that a thread has, for rows
inline constexpr std::int64_t most_of_long = 128;   // registers; W12: the same of as many threads as have 255 each
inline constexpr int threads_of_long = 256;         // threads; W12: of such a group
inline constexpr std::int64_t enough = 40;          // registers; W8: of more, rows are shared by more threads
inline constexpr int most_threads = 512;            // threads; estimate: share a row that takes most registers
inline constexpr std::int64_t few = 4;              // registers; bench_gpu: of fewer, a row needs no warp
inline constexpr std::int64_t without_branches = 64;  // elements; estimate: a thread's of a row that is loaded so
inline constexpr std::int64_t converted_anew = 64;  // elements; estimate: a thread's, in words; else spilled
inline constexpr int least_threads = 16;            // threads; bench_gpu: of such a row, that load two sectors at once
inline constexpr std::size_t most_statements = 48;  // statements; estimate: of a loop that is written out
}  // namespace register_rows

}  // namespace sheaf::inline v0_1::tuning
