#include <sheaf/jit/llvm/codegen.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

const Target* target_of(const std::string& triple) {
  static const bool registered = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    if (register_targets != nullptr) register_targets();
    return true;
  }();
  std::string error;
  const Target* t = registered ? TargetRegistry::lookupTarget(triple, error) : nullptr;
  if (!t) throw compile_error(error);
  return t;
}

const target::architecture& architecture_of(const std::string& triple) {
  for (const target::architecture& a : target::architectures)
    if (triple.starts_with(a.prefix)) return a;
  throw compile_error("code for " + triple + ": Sheaf does not know it");
}

std::string host_features() {
  SubtargetFeatures all;
#if LLVM_VERSION_MAJOR >= 19
  for (const auto& [name, present] : sys::getHostCPUFeatures()) all.AddFeature(name, present);
#else
  StringMap<bool> host;
  sys::getHostCPUFeatures(host);
  for (const auto& [name, present] : host) all.AddFeature(name, present);
#endif
  return all.getString();
}

target_facts facts_of(const TargetMachine& machine, const target::architecture& of) {
  const MCSubtargetInfo& info = *machine.getMCSubtargetInfo();
  auto has = [&](const char* features) { return *features == 0 || info.checkFeatures(features); };
  target_facts facts;
  facts.of = &of;
  facts.vectors = *std::ranges::find_if(of.widths, [&](const target::vectors& v) { return has(v.features); });
  facts.fma = has(of.fused_multiply_add);
  facts.f16c = has(of.half_conversions);
  return facts;
}

}  // namespace

namespace {

std::unique_ptr<target_machine> made_target(const char* triple, const char* cpu, const char* features, int level) {
  const std::string on = triple && *triple ? triple : target::triple;
  const std::string wanted = cpu && *cpu ? cpu : "native";
  const std::string more = features ? features : "";
  const bool native = wanted == "native";
  const std::string name = native ? sys::getHostCPUName().str() : wanted;
  std::string all = native ? host_features() : "";
  for (const std::string& each : {more, std::string(architecture_of(on).avoided)})
    if (!each.empty()) all += (all.empty() ? "" : ",") + each;
  TargetOptions options;
  options.UniqueSectionNames = false;
  const auto effort = level == 0   ? CodeGenOptLevel::None
                      : level == 1 ? CodeGenOptLevel::Less
                      : level == 2 ? CodeGenOptLevel::Default
                                   : CodeGenOptLevel::Aggressive;
  auto t = std::make_unique<target_machine>();
  t->machine.reset(
      target_of(on)->createTargetMachine(on, name, all, options, Reloc::PIC_, CodeModel::Small, effort, true));
  if (!t->machine || !t->machine->getMCSubtargetInfo()->isCPUStringValid(name))
    throw compile_error("code for processor " + name + ": LLVM does not know it");
  t->facts = facts_of(*t->machine, architecture_of(on));
  return t;
}

// Never destroyed: kernels may be made while static objects die.
struct free_targets {
  std::mutex lock;
  std::map<std::string, std::vector<std::unique_ptr<target_machine>>> list;
};
free_targets& the_free_targets() {
  static free_targets& once = *new free_targets;
  return once;
}

}  // namespace

leased_target::leased_target(const char* triple, const char* cpu, const char* features, int level)
    : name_(std::string(triple ? triple : "") + "|" + (cpu ? cpu : "") + "|" + (features ? features : "") + "|" +
            std::to_string(level)) {
  free_targets& free = the_free_targets();
  {
    const std::lock_guard guard(free.lock);
    auto& list = free.list[name_];
    if (!list.empty()) {
      own_ = std::move(list.back());
      list.pop_back();
    }
  }
  if (own_ == nullptr) own_ = made_target(triple, cpu, features, level);
}
leased_target::~leased_target() {
  free_targets& free = the_free_targets();
  const std::lock_guard guard(free.lock);
  free.list[name_].push_back(std::move(own_));
}

// Accumulators to registers; common addresses once; what a loop does not change before it. The code that comes in is
// vectorised, unrolled and rotated already, so that nothing more of a usual pipeline finds work here.
void run_passes(Module& module, target_machine& t, int level) {
  if (!level) return;
  FunctionAnalysisManager analyses;
  analyses.registerPass([] { return PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return AssumptionAnalysis(); });
  analyses.registerPass([] { return DominatorTreeAnalysis(); });
  analyses.registerPass([] { return TargetLibraryAnalysis(); });
  analyses.registerPass([&] { return t.machine->getTargetIRAnalysis(); });
  FunctionPassManager passes;
  passes.addPass(PromotePass());
  passes.addPass(EarlyCSEPass());
  for (Function& f : module)
    if (!f.isDeclaration()) passes.run(f, analyses);
}

namespace {

struct pass_config : TargetPassConfig {
  using TargetPassConfig::addCoreISelPasses;
};

// TargetPassConfig::addISelPasses, less what finds nothing in this code or takes more than it gives: strength
// reduction of addresses, which with its analyses is a fifth of all and gains nothing once row addresses stand before
// their loops (hoist.cpp); searches for constants, library calls, comparisons, atomics, exceptions and intrinsics that
// no emitter here writes.
bool add_selection(TargetPassConfig& steps, legacy::PassManager& passes, LLVMTargetMachine& machine) {
  passes.add(createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(createPreISelIntrinsicLoweringPass());
  passes.add(createScalarizeMaskedMemIntrinLegacyPass());
  passes.add(createInterleavedAccessPass());
  passes.add(createUnreachableBlockEliminationPass());
  steps.addCodeGenPrepare();
  steps.addISelPrepare();
  return (steps.*&pass_config::addCoreISelPasses)();
}

}  // namespace

SmallVector<char, 0> emit_code(Module& module, target_machine& t, bool text) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  const auto type = text ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  auto& machine = static_cast<LLVMTargetMachine&>(*t.machine);
  // addPassesToEmitFile, less passes that take more time than they give: both schedulers (these processors reorder for
  // themselves, and source order keeps a value's uses near it), and the hoisting before phis are gone (the emitter has
  // hoisted; the one after register allocation still runs).
  TargetPassConfig* steps = machine.createPassConfig(passes);
  steps->setDisableVerify(true);
  steps->disablePass(&MachineSchedulerID);
  steps->disablePass(&EarlyMachineLICMID);
  steps->disablePass(&PostRASchedulerID);
  passes.add(steps);
  auto* info = new MachineModuleInfoWrapperPass(&machine);
  passes.add(info);
  if (add_selection(*steps, passes, machine)) throw compile_error("LLVM cannot write code for this target");
  steps->addMachinePasses();
  steps->setInitialized();
  MCContext& context = info->getMMI().getContext();
  if (machine.addAsmPrinter(passes, stream, nullptr, type, context))
    throw compile_error("LLVM cannot write an object for this target");
  passes.add(createFreeMachineFunctionPass());
  passes.run(module);
  return bytes;
}

}  // namespace sheaf::inline v0_1::llvm_backend
