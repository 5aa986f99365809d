#include <sheaf/jit/llvm/debug_lines.hpp>

#include <llvm/BinaryFormat/Dwarf.h>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

debug_lines::debug_lines(Module& module, const ir::listing& l)
    : listing(l), build(module), file(build.createFile(l.file, l.folder)) {
  module.addModuleFlag(Module::Warning, "Dwarf Version", 4);
  module.addModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
  build.createCompileUnit(dwarf::DW_LANG_C, file, "Sheaf", true, "", 0);
  type = build.createSubroutineType(build.getOrCreateTypeArray({}));
}

void begin_lines(function_emitter& f) {
  if (f.m.lines == nullptr) return;
  debug_lines& d = *f.m.lines;
  const auto line = static_cast<unsigned>(d.listing.lines.at(&f.kernel));
  const StringRef name = f.function->getName();
  DISubprogram* const of =
      d.build.createFunction(d.file, name, name, d.file, line, d.type, line, DINode::FlagZero,
                             DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  f.function->setSubprogram(of);
  f.build.SetCurrentDebugLocation(DILocation::get(f.build.getContext(), line, 0, of));
}

void at_line(function_emitter& f, const ir::statement& s) {
  DISubprogram* const of = f.function->getSubprogram();
  if (of == nullptr) return;
  const auto line = static_cast<unsigned>(f.m.lines->listing.lines.at(&s));
  f.build.SetCurrentDebugLocation(DILocation::get(f.build.getContext(), line, 0, of));
}

}  // namespace sheaf::inline v0_1::llvm_backend
