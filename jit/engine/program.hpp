// A compiled program as the caller's code sees it: light, without the graph. See program.cpp.
#pragma once
#include <cstdint>

#include <sheaf/jit/plan/options.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::jit {

class program;
class kernel;

// What runs a program: what the settings name, or the slow evaluator whatever they name.
enum class backend : std::uint8_t { chosen, reference };

// words: a packed graph (pack.hpp), read before this returns.
program* make_program(const std::int32_t* words, backend runs_on = backend::chosen, const options& wanted = {});
void free_program(program* p) noexcept;

// The kernel for these arguments, from memory, disk or the code generator, after everything that can be checked without
// reading data was checked. tensors: inputs, then outputs; an output whose data is null will be allocated by the caller.
// Throws sheaf::error.
const kernel* prepare(program* p, const sheaf_tensor* tensors);
// Extents of an output, for allocation.
const std::int64_t* output_extents(const kernel* k, int output);
// Runs it. Throws sheaf::error with code::index_out_of_range, before any output is written.
void run(const kernel* k, const sheaf_tensor* tensors);

// Texts for people: the printed definitions, the plan for these arguments, the kernel IR. Valid as long as the program.
const char* expression_text(program* p);
const char* plan_text(const kernel* k);
const char* ir_text(const kernel* k);

}  // namespace sheaf::jit
