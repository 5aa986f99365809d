// Functions of a module: one for each kernel, one more (the worker) for a kernel that is a parallel loop, and the entry
// that runs them in order and looks at the checks. Shown by tests/jit/kernels.cpp.
#include <limits>

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

function_emitter::function_emitter(emitter& owner, const ir::kernel& k, Function* fn)
    : m(owner),
      kernel(k),
      function(fn),
      prologue(BasicBlock::Create(owner.module.getContext(), "prologue", fn)),
      build(BasicBlock::Create(owner.module.getContext(), "body", fn),
            InstSimplifyFolder(owner.module.getDataLayout())),
      values(k.instructions.size()),
      cells(k.instructions.size()),
      counters(k.loop_names.size()),
      narrow_rows(k.loop_names.size()),
      buffers(owner.source.buffers.size()) {
  // As many are live at once as a gradient of a chain has: inline, the register allocator's time is their square.
  constexpr int most_inline = 128;
  int calls = 0;
  for (const ir::instruction& i : k.instructions)
    calls += i.code == ir::opcode::elementwise && is_math(i.what);
  outlines = calls > most_inline;
}

AllocaInst* function_emitter::stack_slot(Type* type, const char* name) {
  builder at(prologue, InstSimplifyFolder(m.module.getDataLayout()));
  AllocaInst* slot = at.CreateAlloca(type, nullptr, name);
  slot->setAlignment(Align(64));
  return slot;
}

namespace {

Value* call_field(function_emitter& f, std::size_t offset, Type* type = nullptr) {
  Value* place = f.build.CreateConstGEP1_64(f.build.getInt8Ty(), f.call(), offset);
  return f.build.CreateLoad(type != nullptr ? type : f.build.getPtrTy(), place);
}

// Returns, and closes the prologue now that everything that goes there is known.
void finish(function_emitter& f) {
  if (const char* const fence = f.m.target.of->fence_of_stores; f.streams && fence != nullptr)
    f.build.CreateIntrinsic(Function::lookupIntrinsicID(fence), {}, {});
  f.build.CreateRetVoid();
  BasicBlock* const body = f.prologue->getNextNode();
  BranchInst::Create(body, f.prologue);
}

void common_attributes(Function* fn) {
  fn->addFnAttr(Attribute::NoUnwind);
  // A large local buffer must not step over the guard page; Windows has a function for it.
  if (!Triple(fn->getParent()->getTargetTriple()).isOSWindows()) fn->addFnAttr("probe-stack", "inline-asm");
  fn->addFnAttr("prefer-vector-width", target::widest_bits);
  fn->addParamAttr(0, Attribute::NoAlias);
  fn->addParamAttr(0, Attribute::ReadOnly);
}

// What stands before the parallel loop is pure; the kernel and each task compute it for themselves.
void emit_head(function_emitter& f) {
  for (const ir::statement& s : f.kernel.body)
    if (s.kind == ir::statement_kind::instruct) {
      at_line(f, s);
      emit_instruction(f, s.id);
    }
}

void serial_body(function_emitter& f, const ir::statement& s, Value* counter) {
  f.counters[static_cast<std::size_t>(s.loop)] = counter;
  emit_block(f, s.body);
}

// Tasks that a loop is offered as: of one whose tasks repeat work, as many as there are threads (task k of these begins
// at k / tasks of the loop), where that is known.
Value* tasks_of(function_emitter& f, const ir::statement& loop, Value* count) {
  if (!loop.at_once) return count;
  auto& b = f.build;
  Value* threads = call_field(f, offsetof(sheaf_call, threads), b.getInt64Ty());
  Value* fewer = b.CreateAnd(b.CreateICmpSGT(threads, b.getInt64(0)), b.CreateICmpSLT(threads, count));
  return b.CreateSelect(fewer, threads, count);
}

Function* emit_worker(emitter& m, const ir::kernel& k, const std::string& name) {
  LLVMContext& c = m.module.getContext();
  Type* const i64 = Type::getInt64Ty(c);
  auto* type = FunctionType::get(Type::getVoidTy(c), {PointerType::getUnqual(c), i64, i64}, false);
  Function* fn = Function::Create(type, Function::InternalLinkage, name, m.module);
  common_attributes(fn);
  function_emitter f(m, k, fn);
  begin_lines(f);
  emit_head(f);
  const ir::statement& loop = *ir::parallel_loop(k);
  at_line(f, loop);
  Value* low = f.values[static_cast<std::size_t>(loop.low)];
  auto& b = f.build;
  if (loop.at_once) {
    Value* count = b.CreateSub(f.values[static_cast<std::size_t>(loop.high)], low);
    Value* tasks = tasks_of(f, loop, count);
    const auto place = [&](unsigned of) {
      return b.CreateAdd(low, b.CreateSDiv(b.CreateMul(fn->getArg(of), count), tasks));
    };
    Value *const first = place(1), *const end = place(2);
    emit_run(f, loop, first, end);
  } else {
    Value *const first = b.CreateAdd(low, fn->getArg(1)), *const end = b.CreateAdd(low, fn->getArg(2));
    emit_counted_loop(f, loop, first, end, 1, serial_body);
  }
  finish(f);
  return fn;
}

// ordinal: of the module's parallel loops.
void emit_dispatch(function_emitter& f, const ir::statement& loop, Function* worker, std::uint64_t ordinal) {
  auto& b = f.build;
  emit_head(f);
  at_line(f, loop);
  Value* count =
      b.CreateSub(f.values[static_cast<std::size_t>(loop.high)], f.values[static_cast<std::size_t>(loop.low)]);
  LLVMContext& c = b.getContext();
  auto* some = BasicBlock::Create(c, "some", f.function);
  auto* threads = BasicBlock::Create(c, "threads", f.function);
  auto* alone = BasicBlock::Create(c, "alone", f.function);
  auto* done = BasicBlock::Create(c, "done", f.function);
  b.CreateCondBr(b.CreateICmpSGT(count, b.getInt64(0)), some, done);
  b.SetInsertPoint(some);
  Value* tasks = tasks_of(f, loop, count);
  Value* parallel_for = call_field(f, offsetof(sheaf_call, parallel_for));
  b.CreateCondBr(b.CreateIsNull(parallel_for), alone, threads);
  b.SetInsertPoint(threads);
  Type* const ptr = b.getPtrTy();
  auto* type = FunctionType::get(b.getVoidTy(), {ptr, ptr, ptr, b.getInt64Ty(), b.getDoubleTy()}, false);
  Value* pool = call_field(f, offsetof(sheaf_call, pool));
  Value* costs = call_field(f, offsetof(sheaf_call, costs));
  Value* cost = b.CreateLoad(b.getDoubleTy(), b.CreateConstGEP1_64(b.getDoubleTy(), costs, ordinal));
  if (loop.at_once) {
    const auto real = [&](Value* v) { return b.CreateSIToFP(v, b.getDoubleTy()); };
    cost = b.CreateFDiv(b.CreateFMul(cost, real(count)), real(tasks));
  }
  b.CreateCall(type, parallel_for, {pool, worker, f.call(), tasks, cost});
  b.CreateBr(done);
  b.SetInsertPoint(alone);
  b.CreateCall(worker, {f.call(), b.getInt64(0), tasks});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

Function* emit_kernel(emitter& m, const ir::kernel& k, const std::string& name, std::uint64_t& loops) {
  LLVMContext& c = m.module.getContext();
  const ir::statement* loop = ir::parallel_loop(k);
  Function* worker = loop ? emit_worker(m, k, name + ".task") : nullptr;
  auto* type = FunctionType::get(Type::getVoidTy(c), {PointerType::getUnqual(c)}, false);
  Function* fn = Function::Create(type, Function::InternalLinkage, name, m.module);
  common_attributes(fn);
  function_emitter f(m, k, fn);
  begin_lines(f);
  if (loop)
    emit_dispatch(f, *loop, worker, loops++);
  else
    emit_block(f, k.body);
  finish(f);
  return fn;
}

void collect_checks(const ir::module& m, const ir::block& body, std::vector<bool>& written) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store && m.buffers[static_cast<std::size_t>(s.target)].where == ir::role::check)
      written[static_cast<std::size_t>(s.target)] = true;
    collect_checks(m, s.body, written);
  }
}

// Returns from the entry where check buffer `b`, the `ordinal`-th of the module, holds a position.
void emit_test(builder& b, Function* entry, const ir::buffer& check, std::int64_t ordinal) {
  auto field = [&](Value* base, std::uint64_t offset, Type* type) {
    return b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), base, offset));
  };
  Type* const ptr = b.getPtrTy();
  Value* call = entry->getArg(0);
  Value* tensors = field(call, offsetof(sheaf_call, tensors), ptr);
  Value* data = field(tensors, static_cast<std::uint64_t>(check.slot) * sizeof(sheaf_tensor), ptr);
  Value* position = b.CreateLoad(b.getInt64Ty(), data);
  auto* failed = BasicBlock::Create(b.getContext(), "failed", entry);
  auto* passed = BasicBlock::Create(b.getContext(), "passed", entry);
  b.CreateCondBr(b.CreateICmpEQ(position, b.getInt64(std::numeric_limits<std::int64_t>::max())), passed, failed);
  b.SetInsertPoint(failed);
  Value* failure = field(call, offsetof(sheaf_call, failure), ptr);
  b.CreateStore(b.getInt64(static_cast<std::uint64_t>(ordinal)), failure);
  b.CreateStore(position, b.CreateConstGEP1_64(b.getInt8Ty(), failure, offsetof(sheaf_failure, position)));
  b.CreateRet(b.getInt32(SHEAF_BAD_INDEX));
  b.SetInsertPoint(passed);
}

}  // namespace

void emit_module(emitter& m) {
  LLVMContext& c = m.module.getContext();
  auto* type = FunctionType::get(Type::getInt32Ty(c), {PointerType::getUnqual(c)}, false);
  Function* entry = Function::Create(type, Function::ExternalLinkage, m.source.name, m.module);
  common_attributes(entry);
  builder b(BasicBlock::Create(c, "entry", entry), InstSimplifyFolder(m.module.getDataLayout()));
  std::uint64_t loops = 0;
  for (std::size_t n = 0; n < m.source.kernels.size(); ++n) {
    const ir::kernel& k = m.source.kernels[n];
    if (k.call != nullptr) throw compile_error("kernels that programs share have no place on a processor: " + k.name);
    // A dot and the number keep the name apart from the entry's and from those of other kernels.
    Function* fn = emit_kernel(m, k, m.source.name + "." + std::to_string(n) + "." + k.name, loops);
    b.CreateCall(fn, {entry->getArg(0)});
    std::vector<bool> written(m.source.buffers.size());
    collect_checks(m.source, k.body, written);
    std::int64_t ordinal = 0;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (m.source.buffers[i].where != ir::role::check) continue;
      if (written[i]) emit_test(b, entry, m.source.buffers[i], ordinal);
      ++ordinal;
    }
  }
  b.CreateRet(b.getInt32(SHEAF_OK));
}

}  // namespace sheaf::inline v0_1::llvm_backend
