// Programs planned for a GPU, emitted, and run in emulation. Until build() runs are only noted.
#pragma once
#include <map>
#include <memory>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/pipeline.hpp>

#include "batch.hpp"

namespace sheaf::test {

class emulated_machine {
 public:
  // False: not there yet, build() will make it, and the reference has to give the outputs. After build() outputs are
  // written where the arguments pass the program's checks; else throws std::runtime_error naming the check.
  bool run(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors);
  void build();
  bool built() const { return built_; }
  const batch& modules() const { return batch_; }

  bool gpu = true;  // plans are those for a GPU, else those for a CPU
  bool warpgroups = false;  // plans are for a device on which four warps multiply at once
  bool strict = false;  // under determinism::strict, and nothing as if for much data or for kept indices

  // Before build(), whether the reference gives outputs; it takes as long as all kernels, and longer for much data.
  bool values_count = true;

  static emulated_machine& only();

 private:
  struct prepared {
    planned plan;
    std::vector<std::vector<std::int64_t>> extents;  // by slot
    std::vector<element> types;
    emulated_module* module = nullptr;
  };
  using key = std::pair<std::vector<std::int32_t>, std::vector<std::int64_t>>;
  static void lay_out(prepared& p, const plan::call_facts& call);
  void call(prepared& p, const sheaf_tensor* tensors);

  std::map<key, std::unique_ptr<prepared>> all_;
  batch batch_;
  bool built_ = false;
};

}  // namespace sheaf::test
