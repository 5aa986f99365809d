#include "model.hpp"

#include <algorithm>
#include <cmath>

namespace sheaf::test {

namespace {

double moved(const sass_counts& c) { return c.loaded + c.stored; }

// Blocks that a multiprocessor holds: registers go to warps by 256.
double resident_blocks(const launch_facts& f, const kernel_usage& u) {
  const double warps = std::ceil(f.threads / 32.0);
  const double of_registers = std::floor(h200::registers / (std::ceil(u.registers * 32 / 256.0) * 256));
  const double of_shared =
      std::floor(h200::shared / (static_cast<double>(u.shared + f.dynamic_shared) + h200::kept_of_block));
  return std::max(1.0, std::min({std::floor(std::min(of_registers, h200::warps) / warps), of_shared, h200::blocks}));
}

// Takes away the loops of the last block, which stand behind the counter of those that have arrived. Returns how long
// it takes for its bytes: what its threads have under way arrives together.
double taken_by_last_block(const launch_facts& f, const std::vector<sass_instruction>& code,
                           std::vector<sass_loop>& loops) {
  const auto counter = std::ranges::find(code, sass_kind::atomic, &sass_instruction::kind);
  if (f.following == 0 || counter == code.end()) return 0;
  double most = 0;
  std::erase_if(loops, [&](const sass_loop& l) {
    const bool behind = l.first > counter - code.begin();
    if (behind) most = std::max(most, moved(l.counts));
    return behind;
  });
  return most == 0 ? 0 : std::ceil(f.following / (most * f.threads)) * h200::latency;
}

// Of a loop that multiplies by tensor cores: their own time, and that of what each iteration moves from L2, and to and
// from shared memory by copies and ldmatrix. flops: of a thread and iteration.
double of_products(double operations, double flops, const sass_counts& loop) {
  const double iterations = operations / flops;  // of all threads
  const double of_shared = h200::shared_bytes_per_cycle * h200::clock * h200::multiprocessors;
  return std::max({operations / h200::tensor_flops_per_second / h200::reached_by_mma,
                   iterations * loop.in_shared / of_shared, iterations * loop.loaded / h200::l2_bytes_per_second});
}

}  // namespace

kernel_estimate estimate(const launch_facts& f, const kernel_usage& u, const std::vector<sass_instruction>& code) {
  kernel_estimate e;
  e.name = f.name;
  e.registers = u.registers;
  e.shared = u.shared + f.dynamic_shared;
  e.frame = u.frame;
  e.bytes = f.bytes;
  const double room = resident_blocks(f, u) * h200::multiprocessors;
  e.blocks = f.blocks < 0 ? room : std::min(room, static_cast<double>(f.blocks));
  e.warps = e.blocks * f.threads / 32 / h200::multiprocessors;
  double of_position = 4;  // bytes that pass, of the loop with most arrays
  e.loops = hot_loops(code);
  e.alone = taken_by_last_block(f, code, e.loops);
  for (const sass_loop& l : e.loops) {
    const double positions = (l.counts.stored > 0 ? l.counts.stored : l.counts.loaded) / 4.0;
    const auto count = [&](sass_kind k) { return l.counts.of[static_cast<int>(k)] / positions; };
    e.instructions += l.counts.all() / positions;
    e.integer += count(sass_kind::integer);
    e.floating += count(sass_kind::floating);
    e.function += count(sass_kind::function);
    e.barriers = std::max(e.barriers, l.barriers_around);
    of_position = std::max(of_position, moved(l.counts) / positions);
    if (moved(l.counts) > moved(e.loop)) e.loop = l.counts;
  }
  if (moved(e.loop) == 0) return e.seconds = h200::launch + e.alone, e;
  for (double* const n : {&e.instructions, &e.integer, &e.floating, &e.function}) *n *= 4 / of_position;
  e.under_way = e.warps * 32 * (e.loop.loaded > 0 ? e.loop.loaded : e.loop.stored);
  const double memory =
      f.bytes / (h200::bytes_per_second * h200::reached * std::min(1.0, e.under_way / h200::under_way));
  const int products = e.loop.of[static_cast<int>(sass_kind::tensor)];
  e.by_tensor_cores = products > 0;
  const double flops =
      e.by_tensor_cores ? products * h200::flops_of_mma / 32 : 2.0 * e.loop.of[static_cast<int>(sass_kind::floating)];
  const bool again = f.operations > h200::many * f.bytes / 4 && flops > 0;
  const double warps_needed = e.by_tensor_cores || again ? h200::warps_to_multiply : h200::warps_to_issue;
  const double slots = h200::multiprocessors * h200::schedulers * h200::issued * h200::clock *
                       std::min(1.0, e.warps / warps_needed);
  const double executed = again ? f.operations / flops * e.loop.all() : f.bytes / 4 * e.instructions;
  const double issue = executed / 32 / slots;
  const double products_alone = e.by_tensor_cores ? of_products(f.operations, flops, e.loop) : 0;
  e.seconds = std::max({memory, issue, products_alone}) + h200::launch + e.alone;
  return e;
}

}  // namespace sheaf::test
