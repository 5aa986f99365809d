// What a kernel should take on an H200, from counts of its machine code and of its grid. The model and its constants
// stand in docs/gpu-static.md; nothing in it was measured.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cuda/cubin.hpp>

#include "sass.hpp"

namespace sheaf::test {

// Public figures of the H200 (SXM): NVIDIA's data sheet and the tuning guide of Hopper.
namespace h200 {
inline constexpr double multiprocessors = 132;
inline constexpr double bytes_per_second = 4.8e12;
inline constexpr double flops_per_second = 67e12;  // of f32
inline constexpr double tensor_flops_per_second = 989e12;  // of f16 and bf16, dense
// Of that, by mma.sync: a mean of 62.9 % on an H100 (Luo et al., Benchmarking and dissecting the Nvidia Hopper GPU
// architecture via microbenchmarking, 2024).
inline constexpr double reached_by_mma = 0.629;
inline constexpr double flops_of_mma = 2 * 16 * 8 * 16;  // m16n8k16, of a warp
inline constexpr double shared_bytes_per_cycle = 128;    // of a multiprocessor
// That copies past L1 take from L2: what others measured on an H100 (Chips and Cheese, Nvidia's H100, 2023), about.
inline constexpr double l2_bytes_per_second = 5.5e12;
inline constexpr double reached = 0.92;  // of it, by a plain copy
inline constexpr double clock = 1.98e9;  // 67 TF of f32 are 132 x 128 multiply-adds at this clock
inline constexpr double schedulers = 4;  // of a multiprocessor: instructions of warps a cycle
inline constexpr double issued = 0.6;    // of those slots, in code that also waits
inline constexpr double warps = 64, blocks = 32, registers = 65536, shared = 227 << 10, kept_of_block = 1 << 10;
inline constexpr double under_way = 32 << 10;  // bytes of a multiprocessor that hide the latency of its memory
inline constexpr double warps_to_issue = 16;   // that fill the schedulers' slots, dependences considered
inline constexpr double warps_to_multiply = 8;  // the same of products, which wait for no other of their tile
inline constexpr double many = 64;     // operations for 4 bytes: elements are read again and again from the caches
inline constexpr double latency = 1e-6;        // seconds; of memory
inline constexpr double launch = 3e-6;         // seconds from one kernel to the next
}  // namespace h200

// Of a launch: what the host and the plan know.
struct launch_facts {
  std::string name = {};
  int threads = 1;
  std::int64_t blocks = -1;  // that have work; -1: as many as there is room for
  std::int64_t dynamic_shared = 0;
  double bytes = 0;       // read and written, as the plan predicts
  bool of_checks = false;
  double following = 0;   // the same of what its last block does after all others
  double operations = 0;  // the same
};

struct kernel_estimate {
  std::string name = {};
  double blocks = 0, warps = 0, under_way = 0;  // of the grid; of a multiprocessor
  int registers = 0;
  std::int64_t shared = 0, frame = 0;
  sass_counts loop = {};    // of the loop that moves most
  double instructions = 0;  // a 4-byte element that passes, of all hot loops
  double integer = 0, floating = 0, function = 0;  // of those
  int barriers = 0;         // in the loop and in those around it
  bool by_tensor_cores = false;
  std::vector<sass_loop> loops = {};
  double bytes = 0, seconds = 0;
  double alone = 0;  // of the seconds, those of the last block
};

kernel_estimate estimate(const launch_facts& facts, const kernel_usage& usage,
                         const std::vector<sass_instruction>& code);

}  // namespace sheaf::test
