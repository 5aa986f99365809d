// A compiled program as the caller's code sees it: light, without the graph. See entry.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include <sheaf/dsl/graph/visibility.hpp>
#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/plan/options.hpp>

namespace sheaf::inline v0_1 {

// Whether kernels are cached on disk; not_trusted: somebody else can write the folder, so nothing is read from it or
// written to it.
enum class disk_cache : std::uint8_t { off, read, on, not_trusted };

// What a program has done so far. More is counted in later versions: read members by name.
struct statistics {
  std::int64_t kernels = 0;  // made, one for each class of calls, see docs/shapes.md
  std::int64_t classes = 0, bytes = 0;  // kernels that there are, and bytes of their code and plans
  std::int64_t evicted = 0;             // kernels given up for the limits of the settings
  std::int64_t hits = 0, misses = 0;    // calls whose kernel was there, and those for which one was made
  std::int64_t not_ready = 0;           // calls that were told so, see options.wait
  double compile_seconds = 0;           // spent on kernels: planned, and compiled or loaded
  // Where their code came from; kept indices have code of their own.
  std::int64_t compiled = 0, from_disk = 0, from_memory = 0;
  disk_cache cache = disk_cache::off;  // as its folder is now
  const char* cache_says = "";         // the same as a sentence, with the folder; valid until the process ends
};

}  // namespace sheaf::inline v0_1

namespace sheaf::inline v0_1::jit {

class program;
class kernel;
class promise;

// What runs a program: what the settings name, or the slow evaluator whatever they name, or a GPU.
enum class backend : std::uint8_t { chosen, reference, gpu };

// Where a call on a GPU is queued: a stream, and workspace of the caller's or none.
struct device_place {
  void* stream = nullptr;
  void* memory = nullptr;
  std::size_t bytes = 0;
};

// words: a packed graph (pack.hpp), read before this returns.
// device: which GPU, for backend::gpu.
program* make_program(const std::int32_t* words, backend runs_on = backend::chosen, const options& wanted = {},
                      int device = 0);
// The program that adds some of its outputs, by number and in order, to what is there: each is an input too, after the
// others. It belongs to p.
program* adding(program* p, const int* outputs, int count);
int device_of(const program* p);
void free_program(program* p) noexcept;

// Within a `calling`: the kernel for these arguments, from memory, disk or the code generator, after everything that
// can be checked without reading data was checked. tensors: inputs, then outputs; an output whose data is null will be
// allocated by the caller. Throws sheaf::error; with code::not_ready only if it runs and options.wait is false.
// indices: what is kept of these calls, or null.
// runs: else nothing needs memory.
const kernel* prepare(program* p, const sheaf_tensor* tensors, promise* indices = nullptr, bool runs = true);
// Around what is done with a kernel that prepare gave: only until then it is sure to be there.
// Whether a call would find its kernel; where not, it is compiled in the background.
bool ready(program* p, const sheaf_tensor* tensors, promise* indices = nullptr);
int enter(const program* p);
void leave(const program* p, int place) noexcept;
class calling {
 public:
  SHEAF_INLINE explicit calling(const program* p) : of_(p), place_(enter(p)) {}
  calling(const calling&) = delete;
  SHEAF_INLINE ~calling() { leave(of_, place_); }

 private:
  const program* of_;
  int place_;
};

// Extents of an output, for allocation.
const std::int64_t* output_extents(const kernel* k, int output);
// Runs it. Throws sheaf::error with code::index_out_of_range, before any output is written.
void run(const kernel* k, const sheaf_tensor* tensors, promise* indices = nullptr);

// Promises that the inputs of these slots stay as they are from call to call, and holds the inspector results of the
// first. It belongs to its program and is made for the extents of its first call: prepare throws
// code::extent_mismatch for others, and code::bad_argument for another program, until it forgets.
promise* keep(program* p, const int* slots, int count);
void free_promised(promise* indices) noexcept;
void forget(promise* indices);
std::size_t promised_bytes(const promise* indices);

// The same on a GPU: queues it and returns. Throws what can be seen before; what data is wrong with is thrown where the
// stream is synchronised.
void run_on(const kernel* k, const sheaf_tensor* tensors, const device_place& where, promise* indices = nullptr);
// What a call on this stream will need, so that a capture may follow.
void reserve_on(const kernel* k, const device_place& where, promise* indices = nullptr);
std::size_t workspace_bytes(const kernel* k);
// Throws code::bad_argument where an argument (-1: the stream) is of another device than the program.
void expect_device(const program* p, int slot, int device);

statistics statistics_of(program* p);

// The code generator, libsheaf_llvm.so, by its absolute path, instead of the search for it; null: the search again.
// Before the first kernel is compiled. Throws code::bad_argument for a relative path, which chdir could change, and
// where it is too late.
void set_code_generator(const char* path);
// Tests: what is planned from here on is planned as if of much data, see plan::call_facts.
void plan_as_of_much_data(bool much);
// Where <sheaf/api/compile.hpp> is, as the compiler of the caller spells it: the prefix above it is the last place of
// the search.
void note_headers(const char* path);

// Texts for people: the printed definitions, the plan for these arguments, the kernel IR. Valid as long as the program.
const char* expression_text(program* p);
const char* plan_text(const kernel* k);
const char* ir_text(const kernel* k);

}  // namespace sheaf::inline v0_1::jit
