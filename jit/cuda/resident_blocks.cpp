// How many blocks a multiprocessor must hold, and so how many registers a thread has. Shown by tests/cuda/tasks.cpp.
#include <algorithm>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

constexpr int most_folds = 64;  // of a thread that has 128 registers

// The loops within lanes: whether any satisfies a test.
template <class Test>
bool any_within_lanes(const ir::block& body, const Test& test, bool within = false) {
  return std::ranges::any_of(body, [&](const ir::statement& s) {
    if (s.kind != ir::statement_kind::loop) return any_within_lanes(s.body, test, within);
    if (within && test(s)) return true;
    return any_within_lanes(s.body, test, within || s.how_loop == ir::loop_kind::vector);
  });
}
bool is_few(const function_emitter& f, const ir::statement& loop) {
  return most_iterations(f.kernel, loop) <= tuning::emit::most_predicated;
}
// Does one of few iterations sum? Then its instructions take longer than what it loads: what one warp holds ahead costs
// others their place.
bool sums_windows(const function_emitter& f) {
  return any_within_lanes(f.kernel.body, [&](const ir::statement& loop) {
    return is_few(f, loop) && std::ranges::any_of(loop.body, [&](const ir::statement& s) {
      if (s.kind != ir::statement_kind::combine) return false;
      const ir::instruction& to = f.instruction(s.target_value);
      return to.fold == monoid::sum && is_floating(to.type);
    });
  });
}
// Does one of many iterations fold down columns, from places that no data names?
bool folds_columns(const function_emitter& f) {
  return any_within_lanes(f.kernel.body, [&](const ir::statement& loop) {
    return !is_few(f, loop) && !chases(f, loop.body) && std::ranges::any_of(loop.body, [](const ir::statement& s) {
      return s.kind == ir::statement_kind::combine;
    });
  });
}

}  // namespace

bool needs_all_registers(const function_emitter& f) {
  const auto folds = std::ranges::count_if(f.kernel.instructions, [](const ir::instruction& i) {
    return i.code == ir::opcode::accumulator && i.vector;
  });
  const std::int64_t of_rows = f.place.rows.registers(f.place.group);
  return has_mma(f.kernel.body) || folds > most_folds || of_rows > tuning::register_rows::most_registers;
}

// So many blocks a multiprocessor must hold, and more need not: threads get the registers that leaves, without which
// the compiler puts loads behind what comes before them, one latency after the other. Those that multiply, fold many
// results, or hold rows, need all; folds of slices are short of instructions.
int resident_blocks(const function_emitter& f, int threads) {
  namespace sizes = tuning::grid;
  if (f.has_all_registers) return 1;
  if (threads >= 256) return sizes::least_resident / threads;
  const bool holds = f.place.group < sizes::warp || !f.place.rows.rows.empty();
  if (holds || scans_slices(f.kernel, f.kernel.body) || sums_windows(f)) return 1;
  return (folds_columns(f) ? sizes::warps_down_columns : sizes::warps_held) * sizes::warp / threads;
}

}  // namespace sheaf::inline v0_1::cuda
