// Rows of the catalogue at sizes of about 1 GB: measured by bench_gpu, counted by tests/cuda/counted.
#pragma once
#include <workloads/jobs.hpp>

namespace sheaf::bench {

std::vector<job> catalogue_jobs();

}  // namespace sheaf::bench
