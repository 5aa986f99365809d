// Parallel loops of Sheaf in an arena of oneTBB: tbb::task_arena arena; sheaf::set_parallel_hook(on_onetbb(arena)).
#pragma once
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include <sheaf/runtime/thread_pool.hpp>

// The arena must outlive the calls.
inline sheaf::parallel_hook on_onetbb(tbb::task_arena& arena) {
  const auto run = [](void* pool, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
    if (cost * static_cast<double>(count) < 20'000) return body(call, 0, count);
    const auto least = static_cast<std::size_t>(std::clamp(2'000 / std::max(cost, 0.01), 1.0, 1e15));
    static_cast<tbb::task_arena*>(pool)->execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, least),
                        [&](const tbb::blocked_range<std::int64_t>& r) { body(call, r.begin(), r.end()); });
    });
  };
  return {run, &arena, arena.max_concurrency()};
}
