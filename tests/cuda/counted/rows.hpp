// What stands in docs/gpu-static.md: W1 to W13 at the sizes of bench_gpu and rows of the catalogue, each planned and
// emitted for a GPU, compiled for sm_90 and counted. No GPU is needed. Shown by main.cpp.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>
#include <gpu/catalogue_jobs.hpp>

#include "model.hpp"

namespace sheaf::test {

std::vector<bench::job> static_rows();

// A row's program as it would be launched.
struct emitted_row {
  explicit emitted_row(const bench::job& one);
  std::string id;
  std::shared_ptr<const jit::arranged_program> planned;
  cuda::source source;
  std::vector<launch_facts> launches;
  double bound = 0;      // bytes that it can't avoid
  double operations = 0; // of all folds, additions and multiplications
  double workspace = 0;  // bytes, without what blocks keep of their own
  double allowed = 0;    // bytes, by the rule of the CPU: the outputs and 2 MB
  std::vector<std::int64_t> scratch;  // by launch, of a block
};

struct counted_row {
  std::string id;
  std::vector<kernel_estimate> kernels = {};  // by launch
  double bound = 0, operations = 0, of_tensor_cores = 0, bytes = 0, seconds = 0, workspace = 0, allowed = 0;
  int shared_launches = 0, of_checks = 0;  // of a sort; of what checks ask for
  // Of what bounds it: bytes or operations.
  double percent() const {
    const double multiplied =
        (operations - of_tensor_cores) / h200::flops_per_second + of_tensor_cores / h200::tensor_flops_per_second;
    return 100 * std::max(bound / h200::bytes_per_second, multiplied) / seconds;
  }
  const kernel_estimate& slowest() const;
};
counted_row counted(const emitted_row& row);

// A table in Markdown, one line a row, and what is worse in `found` than in `kept` by more than a tenth, one sentence a
// line. machine_code: else only what does not depend on the version of NVRTC.
std::string table_of(const std::vector<counted_row>& rows);
std::string worse(const std::string& kept, const std::string& found, bool machine_code);

}  // namespace sheaf::test
