// Rows of narrow elements that a group holds in registers, with more lanes than the plan gave them: where there are as
// many lanes as threads, each thread would load 2 bytes at a time, so it gets lanes for runs of 16. Rows of any type
// that take most registers of a group of 256 threads, which leave a multiprocessor no others, are shared by 512. What
// such loops fold is folded in another order, as where lanes lie in runs. Shown by tests/cuda/register_rows.cpp.
#include <algorithm>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

// Of all vector loops; 0: they differ, or there is none.
int lanes_of_all(const ir::block& body) {
  int lanes = 0;
  const auto look = [&](const auto& self, const ir::block& b) -> bool {
    return std::ranges::all_of(b, [&](const ir::statement& s) {
      if (s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector) {
        if (lanes != 0 && lanes != s.lanes) return false;
        lanes = s.lanes;
      }
      return self(self, s.body);
    });
  };
  return look(look, body) ? lanes : 0;
}

void widen(ir::block& body, int lanes) {
  for (ir::statement& s : body) {
    if (s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector) {
      s.lanes = lanes;
      s.whole = false;
    }
    widen(s.body, lanes);
  }
}

}  // namespace

namespace {

// Do lanes tell each other nothing but what they fold?
bool folds_alone(const ir::kernel& k) {
  return std::ranges::all_of(k.instructions, [](const ir::instruction& i) { return i.code < ir::opcode::scan_lanes; });
}

// With so many threads a row, if they hold what fewer do.
std::optional<ir::kernel> widened(const ir::module& m, const ir::kernel& k, const target& to, call_extents extents,
                                  extent_bounds bounds, const layout& before, int group) {
  ir::kernel wide = k;
  widen(wide.body, before.run * group);
  const layout after = layout_of(m, wide, to, extents, bounds);
  const bool holds = !after.rows.rows.empty() && after.rows.rows.size() >= before.rows.rows.size();
  return holds && after.run == before.run && after.group == group ? std::optional(std::move(wide)) : std::nullopt;
}

}  // namespace

std::optional<ir::kernel> with_wide_rows(const ir::module& m, const ir::kernel& k, const target& to,
                                         call_extents extents, extent_bounds bounds) {
  using namespace tuning::register_rows;
  const int lanes = lanes_of_all(k.body);
  if (to.cpu_order || extents.empty() || lanes < tuning::grid::warp || !folds_alone(k)) return std::nullopt;
  const layout before = layout_of(m, k, to, extents, bounds);
  if (before.single) return std::nullopt;
  const bool held = !before.rows.rows.empty(), narrow = before.run * 4 > 16;  // longer runs are of narrow elements
  const int group = held ? before.group : threads_of_long;
  std::optional<ir::kernel> wide;
  if (narrow && group > tuning::grid::warp && lanes < before.run * group)
    wide = widened(m, k, to, extents, bounds, before, group);
  const layout now = wide ? layout_of(m, *wide, to, extents, bounds) : before;
  if (now.group != threads_of_long || now.rows.registers(now.group) <= most_registers) return wide;
  auto shared = widened(m, k, to, extents, bounds, before, most_threads);
  return shared ? std::move(shared) : std::move(wide);
}

}  // namespace sheaf::inline v0_1::cuda
