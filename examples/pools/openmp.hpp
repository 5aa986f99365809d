// Parallel loops of Sheaf on OpenMP's threads: sheaf::set_parallel_hook(on_openmp()). Compile with -fopenmp.
#pragma once
#include <omp.h>

#include <algorithm>

#include <sheaf/runtime/thread_pool.hpp>

inline sheaf::parallel_hook on_openmp() {
  const auto run = [](void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
    if (cost * static_cast<double>(count) < 20'000 || omp_in_parallel()) return body(call, 0, count);
    // Chunks of 2 microseconds or more balance loops whose iterations differ.
    const auto least = static_cast<std::int64_t>(std::min(2'000 / std::max(cost, 0.01), 1e15));
    const std::int64_t chunk = std::max({std::int64_t{1}, least, count / (8 * omp_get_max_threads())});
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t first = 0; first < count; first += chunk) body(call, first, std::min(first + chunk, count));
  };
  return {run, nullptr, omp_get_max_threads()};
}
