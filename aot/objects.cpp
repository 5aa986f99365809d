#include <algorithm>
#include <stdexcept>

#include <sheaf/aot/library.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/llvm/plugin.h>

namespace sheaf::inline v0_1::aot {

namespace {

void append(ir::listing& to, const ir::module& m) {
  const auto before = static_cast<int>(std::ranges::count(to.text, '\n'));
  const ir::listing own = ir::print_with_lines(m);
  for (const auto& [of, line] : own.lines) to.lines[of] = before + line;
  to.text += own.text;
}

}  // namespace

std::string listing_name(const library& l, const target::build_target& on) { return l.name + "-" + on.name + ".ir"; }

std::string object_of(const library& l, const target::build_target& on, std::string* listing) {
  std::string object;
  std::vector<ir::module> modules;
  bool strict = false;
  for (const planned_program& p : l.programs)
    for (std::size_t k = 0; k < p.codes.size(); ++k) {
      modules.push_back(p.codes[k]);
      modules.back().name = entry_name(l, p, k, on);
      strict = strict || p.of->options.determinism == determinism::strict;
    }
  std::vector<const ir::module*> list;
  for (const ir::module& m : modules) list.push_back(&m);
  const std::string triple = std::string(on.architecture) + l.system->triple_rest;
  sheaf_llvm_options options{};
  options.cpu = on.cpu;
  options.triple = triple.c_str();
  options.level = 2;
  options.strict = strict;
  ir::listing lines{.text = {}, .folder = ".", .file = listing_name(l, on), .lines = {}};
  if (listing != nullptr) {
    for (const ir::module& m : modules) append(lines, m);
    options.listing = &lines;
    *listing = lines.text;
  }
  sheaf_llvm_result result{};
  const std::int32_t status = sheaf_llvm_compile_all(list.data(), list.size(), &options, &result);
  if (status == SHEAF_LLVM_DONE) object.assign(reinterpret_cast<const char*>(result.object), result.object_size);
  const std::string words = result.error != nullptr ? result.error : "";
  sheaf_llvm_free(&result);
  if (status == SHEAF_LLVM_CANNOT)
    throw std::runtime_error("determinism strict: expected targets with fused multiply-add, found " +
                             std::string(on.name));
  if (status != SHEAF_LLVM_DONE) throw std::runtime_error("code for " + std::string(on.name) + ": " + words);
  return object;
}

}  // namespace sheaf::inline v0_1::aot
