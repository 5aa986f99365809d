// Pass `gpu_code`: programs planned for GPUs as CUDA C++, the one that the JIT compiles too, and its machine code.
// Output: what is launched for each code, and the images that a library holds: machine code for each target, and text
// (PTX) of the least one, which drivers translate for GPUs that come later.
// Shown by tests/aot/gpu.sh.
#pragma once
#include <string>
#include <vector>

#include <sheaf/aot/classes.hpp>
#include <sheaf/jit/cuda/emit.hpp>

namespace sheaf::inline v0_1::aot {

// A GPU that a library holds code for: "sm_80".
struct gpu_target {
  std::string name;
  int compute = 0;  // 80
};

struct gpu_code {
  cuda::source source;
  std::vector<int> images;  // by launch
};

struct gpu_image {
  std::string text, name;
  std::vector<std::vector<unsigned char>> bytes;  // by target; the last: text
};

// Throws where this is none, or the compiler of CUDA does not know it.
gpu_target gpu_target_named(const std::string& name);

// codes: with what images they add, each text once. name: what the kernels' names begin with.
std::vector<gpu_code> emit_codes(const planned_program& p, const std::string& name,
                                 const std::vector<gpu_target>& targets, std::vector<gpu_image>& images);
// Several at a time. Throws the compiler's words.
void compile_images(std::vector<gpu_image>& images, const std::vector<gpu_target>& targets);

}  // namespace sheaf::inline v0_1::aot
