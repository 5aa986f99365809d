// The parts of the harnesses that take long to compile or to run: optimised, once for all tests.
#include "harness.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::test {

// That of the build tree, or where SHEAF_LLVM_PLUGIN says.
const plugin& plugin::get() {
  static const plugin opened = [] {
    const char* path = std::getenv("SHEAF_LLVM_PLUGIN");
    void* library = dlopen(path ? path : SHEAF_LLVM_PLUGIN_DEFAULT, RTLD_LAZY | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return plugin{reinterpret_cast<sheaf_llvm_compile_fn>(dlsym(library, "sheaf_llvm_compile")),
                  reinterpret_cast<void (*)(sheaf_llvm_result*)>(dlsym(library, "sheaf_llvm_free"))};
  }();
  return opened;
}

namespace {

// The text of the IR is all that decides code, as in the product: programs that differ in their data alone are compiled
// once.
std::string key_of(const ir::module& m, const sheaf_llvm_options& o) {
  std::string key = o.cpu == nullptr ? "" : o.cpu;
  key += std::string(" ") + (o.features == nullptr ? "" : o.features);
  for (const std::int32_t number : {o.level, o.verify, o.exact_sum, o.strict, o.want_ir, o.want_asm})
    key += " " + std::to_string(number);
  return key + "\n" + ir::print(m);
}

compiled_code compiled(const ir::module& m, const sheaf_llvm_options& options) {
  ir::verify(m);
  sheaf_llvm_result result;
  if (plugin::get().compile(&m, &options, &result)) {
    const std::string error = result.error;
    plugin::get().free(&result);
    throw std::runtime_error(error);
  }
  compiled_code made;
  if (result.asm_text) made.assembly = result.asm_text;
  if (result.ir_text) made.llvm_ir = result.ir_text;
  made.object = runtime::load_object(result.object, result.object_size);
  plugin::get().free(&result);
  made.entry = reinterpret_cast<sheaf_entry>(made.object.find(m.name.c_str()));
  if (!made.entry) throw std::runtime_error("no entry");
  return made;
}

}  // namespace

program::program(const ir::module& m, const sheaf_llvm_options& options) {
  static std::unordered_map<std::string, std::shared_ptr<const compiled_code>> all;
  std::shared_ptr<const compiled_code>& found = all[key_of(m, options)];
  if (found == nullptr) found = std::make_shared<const compiled_code>(compiled(m, options));
  code_ = found;
  for (const shapes::amount& cost : ir::costs_of(m)) costs_.push_back(cost.estimate());
  call.costs = costs_.data();
  call.failure = &failure;
}

std::int32_t add_slot(ir::module& m, const char* name, element type, int rank, role where) {
  int slot = 0;
  for (const ir::buffer& b : m.buffers) slot += b.where != role::local;
  return ir::add_buffer(
      m,
      {.name = name, .type = type, .rank = rank, .where = where, .slot = slot, .unit_inner = rank > 0, .extents = {}});
}

}  // namespace sheaf::test
