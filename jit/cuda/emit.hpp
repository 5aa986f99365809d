// CUDA C++ from the kernel IR: one translation unit a module, without any include, for NVRTC. How loops meet threads
// stands in docs/gpu-kernels.md. Shown by tests/cuda, which compiles the same text for the host and runs it there.
//
//   const cuda::source code = cuda::emit(planned.code, {.compute = 90});
//   // compile each of code.texts with cuda::compile_options; then, for each of code.launches in order on one stream:
//   //   function `name` of texts[text], or of `of`'s, `threads` a block, `shared_bytes` of dynamic shared memory, one
//   //   parameter: the words, see parameter_of
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/shapes/interval.hpp>

namespace sheaf::inline v0_1::cuda {

struct target {
  int compute = 90;                      // ten times the major and once the minor number of the compute capability
  std::int64_t shared_bytes = 48 << 10;  // that a block may have without asking
  int texts = 1;           // at most so many, of about the same length, which can be compiled at the same time
  bool cpu_order = false;  // lanes lie in threads so that all folds have the processor's order, see determinism
};

struct source;

// A loop whose iterations are tiles: values of the launch's first kernel, and how many of them are one iteration.
struct tile_loop {
  ir::value low = ir::none, high = ir::none;
  int lanes = 1;
};

// One kernel, or several: what a single group does after all tiles are done is done by the last block to get there, in
// the order of its loops whichever block that is. Its tiles are walked by groups of threads in strides of the grid, so
// any number of blocks computes the same bits, one included; the host takes what fills the device, or fewer where
// `count` says that there is less to do.
struct launch {
  std::string name;               // of the function, extern "C"
  int threads = 1;                // of a block
  int tiles = 1;                 // that a block takes at a time
  bool single = false;            // one tile: more than one block would be idle
  std::int64_t shared_bytes = 0;  // of dynamic shared memory
  std::int64_t scratch_bytes =
      0;  // of device memory that each block needs for its own; the words begin with its address
  bool writes_checks = false;
  bool promised = false;        // ir::kernel::promised
  std::optional<shapes::amount> count;  // of all tiles, of the extents that emit was given; none: it depends on data
  std::vector<tile_loop> loops;         // that tiles are of
  int first = 0;            // the module's kernel that it begins with
  int text = 0;             // that the function stands in
  // Of kernels that programs share: where their text is, which kernel of the module calls them (`first` is theirs),
  // which slots of the program are theirs, and the extents of their last one: of the call that was planned for, and
  // of all of its class.
  std::shared_ptr<const source> of;
  int caller = -1;
  std::vector<int> slots;
  std::vector<std::int64_t> numbers;
  std::vector<shapes::amount> formulas;
};

struct source {
  std::vector<std::string> texts;
  std::size_t common_bytes = 0;  // of each text's beginning, which programs share; 0: it has folds of its own
  std::vector<launch> launches;  // in order of execution, all in one stream
  // The kernels' only parameter: 64-bit words, by value, or as a pointer to device memory where they are more than a
  // parameter may be. Word 0 is the address of the scratch memory, a multiple of 256 as are a block's bytes. Word 1 is
  // 0 or the address of a failure record of four i64, word 2 the call's ticket, not 0: the first kernel that finds a
  // check failed writes
  // {ticket, number of the check among the check slots, position} unless there is a ticket already, the ticket last.
  // Word 3 is the address of as many u32 as there are `arrivals`, which are 0 before the first call, and again after
  // each. Slot s has from first_word[s] on its address, its extents and its strides in elements.
  int words = 4;  // so many are no slot's
  int arrivals = 0;
  std::vector<int> first_word;
  bool by_pointer = false;
};

// What is asked of NVRTC beside the architecture: products and sums are fused where the text says so, nowhere else.
inline constexpr const char* compile_options[] = {"--std=c++17",        "--fmad=false", "--prec-div=true",
                                                  "--prec-sqrt=true",   "--ftz=false",  "--disable-warnings",
                                                  "--no-source-include"};

// Every kernel begins with a look at the checks written before: where one holds a position, it writes no output, and
// leaves
// "none" (INT64_MAX) in the checks of its own. So the host may read the slots at its next synchronisation.
// extents, by slot: what decides how many threads share a tile, and which loops are counted in 32 bits. Without them a
// tile has a warp. The text is right for all calls for which what they record is decided alike.
// bounds, by slot: of the extents of all calls that the text is for, where `extents` are only those of a typical one.
using call_extents = std::span<const std::vector<shapes::amount>>;
using extent_bounds = std::span<const std::vector<shapes::interval>>;
source emit(const ir::module& m, const target& to, call_extents extents = {}, extent_bounds bounds = {});

// Numbers of one call, which record nothing.
std::vector<std::vector<shapes::amount>> amounts_by_slot(const std::vector<std::vector<std::int64_t>>& extents);

// The words of a launch, from those of its program: these themselves, or what kernels that programs share are given,
// in `own`, which is by value whatever the program's are. numbers: launch::numbers of the call.
const std::int64_t* parameter_of(const source& program, const launch& l, const std::int64_t* words,
                                 std::span<const std::int64_t> numbers, std::vector<std::int64_t>& own);

}  // namespace sheaf::inline v0_1::cuda
