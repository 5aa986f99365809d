// The three functions that leave the plug-in. No exception passes them.
#include <sheaf/jit/llvm/plugin.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <sheaf/jit/llvm/codegen.hpp>
#include <sheaf/jit/llvm/debug_lines.hpp>

#define SHEAF_EXPORT __attribute__((visibility("default")))

namespace sheaf::inline v0_1::llvm_backend {
namespace {

class stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

char* copy_text(const std::string& text) { return strdup(text.c_str()); }

void check_llvm(llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) throw compile_error("the emitter wrote bad LLVM IR: " + problem);
}

void compile(std::span<const ir::module* const> sources, const sheaf_llvm_options& options,
             sheaf_llvm_result& result) {
  stopwatch watch;
  const leased_target leased(options.triple, options.cpu, options.features, options.level);
  target_machine& t = *leased;
  if (options.strict && !t.facts.fma)
    throw cannot_keep("processor " + std::string(t.machine->getTargetCPU()) + ", which has none");
  result.times.target = watch.lap();

  llvm::LLVMContext context;
  context.setDiscardValueNames(!options.want_ir);
  llvm::Module module(sources.front()->name, context);
  module.setTargetTriple(t.machine->getTargetTriple().str());
  module.setDataLayout(t.machine->createDataLayout());
  std::unique_ptr<debug_lines> lines;
  if (options.listing != nullptr)
    lines = std::make_unique<debug_lines>(module, *static_cast<const ir::listing*>(options.listing));
  for (const ir::module* source : sources) {
    emitter m{*source, t.facts, module, lines.get()};
    m.target.exact_sum = options.exact_sum;
    emit_module(m);
  }
  if (lines != nullptr) lines->build.finalize();
  if (options.verify) check_llvm(module);
  result.times.emit = watch.lap();

  if (sources.size() > 1) merge_functions(module);
  run_passes(module, t, options.level);
  result.times.passes = watch.lap();
  if (options.want_ir) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    result.ir_text = copy_text(text);
  }
  if (options.want_asm) {
    auto copy = llvm::CloneModule(module);
    const auto text = emit_code(*copy, t, true);
    result.asm_text = copy_text(std::string(text.begin(), text.end()));
  }
  watch.lap();
  const auto bytes = emit_code(module, t, false);
  result.object = static_cast<unsigned char*>(std::malloc(bytes.size()));
  if (!result.object) throw std::bad_alloc();
  std::memcpy(result.object, bytes.data(), bytes.size());
  result.object_size = bytes.size();
  result.times.codegen = watch.lap();
}

}  // namespace
}  // namespace sheaf::inline v0_1::llvm_backend

extern "C" {

SHEAF_EXPORT int32_t sheaf_llvm_version(void) { return SHEAF_LLVM_VERSION; }

SHEAF_EXPORT int32_t sheaf_llvm_compile(const sheaf::ir::module* module, const sheaf_llvm_options* options,
                                        sheaf_llvm_result* result) {
  return sheaf_llvm_compile_all(&module, 1, options, result);
}

int32_t sheaf_llvm_compile_all(const sheaf::ir::module* const* modules, size_t count,
                               const sheaf_llvm_options* options, sheaf_llvm_result* result) {
  *result = {};
  try {
    sheaf::llvm_backend::compile({modules, count}, *options, *result);
    return SHEAF_LLVM_DONE;
  } catch (const sheaf::llvm_backend::cannot_keep& reason) {
    result->error = sheaf::llvm_backend::copy_text(reason.what());
    return SHEAF_LLVM_CANNOT;
  } catch (const std::exception& problem) {
    result->error = sheaf::llvm_backend::copy_text(problem.what());
    return SHEAF_LLVM_FAILED;
  }
}

SHEAF_EXPORT void sheaf_llvm_free(sheaf_llvm_result* result) {
  std::free(result->object);
  std::free(result->ir_text);
  std::free(result->asm_text);
  std::free(result->error);
  *result = {};
}
}
