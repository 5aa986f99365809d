// Statements and loops. A serial loop tests once before it and then at its end, so that no later pass has to turn
// it. A vector loop runs over whole groups of lanes without masks, then once more, masked, over what is left; both are
// the same code, so a result does not depend on which of them computed it. A size-optimised loop is one that is always
// masked: half the code to compile, but it costs 15% of a softmax's run time in L1.
#include <algorithm>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

void set_counter(function_emitter& f, const ir::statement& s, Value* counter) {
  f.counters[static_cast<std::size_t>(s.loop)] = counter;
  emit_block(f, s.body);
}

namespace {

// The code is as wide and as unrolled as it is wanted: passes that might do so again are told not to.
void leave_alone(BranchInst* latch) {
  LLVMContext& c = latch->getContext();
  Metadata* parts[] = {nullptr, MDNode::get(c, MDString::get(c, "llvm.loop.unroll.disable")),
                       MDNode::get(c, MDString::get(c, "llvm.loop.vectorize.enable"))};
  MDNode* id = MDNode::getDistinct(c, {parts, 2});
  id->replaceOperandWith(0, id);
  latch->setMetadata(LLVMContext::MD_loop, id);
}

// `unroll` iterations in one go; the order of the iterations, and so every result, stays.
void unrolled_body(function_emitter& f, const ir::statement& s, Value* counter) {
  for (std::int32_t k = 0; k < s.unroll; ++k)
    set_counter(f, s, f.build.CreateAdd(counter, f.build.getInt64(static_cast<std::uint64_t>(k))));
}

// Bounds may be any data: of a range that is empty, high - low may wrap around to a positive number.
Value* trips(function_emitter& f, Value* low, Value* high) {
  return f.build.CreateSub(f.build.CreateBinaryIntrinsic(Intrinsic::smax, low, high), low);
}

void emit_serial_loop(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  Value* low = f.values[static_cast<std::size_t>(s.low)];
  Value* high = f.values[static_cast<std::size_t>(s.high)];
  if (s.at_once) return emit_run(f, s, low, high);
  if (s.unroll <= 1) return emit_counted_loop(f, s, low, high, 1, set_counter);
  const auto is_transposed = [&](const ir::statement& each) {
    const bool load = each.kind == ir::statement_kind::instruct && f.instruction(each.id).code == ir::opcode::load;
    return (load ? f.instruction(each.id).how : each.how) == ir::access::transposed;
  };
  if (std::any_of(s.body.begin(), s.body.end(), is_transposed)) return emit_transposed_loop(f, s, set_counter);
  Value* count = trips(f, low, high);
  Value* rest = b.CreateURem(count, b.getInt64(static_cast<std::uint64_t>(s.unroll)));
  Value* middle = b.CreateAdd(low, b.CreateSub(count, rest));
  emit_counted_loop(f, s, low, middle, s.unroll, unrolled_body);
  emit_counted_loop(f, s, middle, high, 1, set_counter);
}

// One group of lanes at most: where it begins is known, and with that what holds of its lanes.
void emit_one_group(function_emitter& f, const ir::statement& s, Value* low, Value* count) {
  auto& b = f.build;
  if (const auto* known = dyn_cast<ConstantInt>(count))
    return known->getSExtValue() == f.whole_lanes ? set_counter(f, s, low) : emit_tail(f, s, low, count);
  auto* group = BasicBlock::Create(b.getContext(), "group", f.function);
  auto* part = BasicBlock::Create(b.getContext(), "group.part", f.function);
  b.CreateCondBr(b.CreateICmpEQ(count, b.getInt64(static_cast<std::uint64_t>(f.whole_lanes))), group, part);
  b.SetInsertPoint(group);
  set_counter(f, s, low);
  auto* done = BasicBlock::Create(b.getContext(), "group.done", f.function);
  b.CreateBr(done);
  b.SetInsertPoint(part);
  emit_tail(f, s, low, count);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

bool is_one_group(function_emitter& f, const ir::statement& s, Value* low, Value* high) {
  if (f.m.target.vectors.mask_registers || s.backward || !isa<ConstantInt>(low)) return false;
  Value* const end = f.build.CreateAdd(low, f.build.getInt64(static_cast<std::uint64_t>(f.whole_lanes)));
  const auto* known = dyn_cast<ConstantInt>(f.build.CreateICmpSLE(high, end));
  return known != nullptr && known->isOne();
}

// Of non-temporal stores of half a line the other half is waited for, and with it every
// store in between. Two groups of lanes at a time, and stored plainly, sums of a window of 1024 take two thirds of the
// time (Zen 3).
bool stores_half_lines(const function_emitter& f, const ir::statement& s) {
  using target::line_bytes;
  if (2 * f.m.target.vectors.register_bytes != line_bytes || s.backward) return false;
  bool slides = false, halves = false;
  for (const ir::statement& each : s.body) {
    if (each.kind == ir::statement_kind::loop || each.kind == ir::statement_kind::guard) return false;
    if (each.kind == ir::statement_kind::instruct)
      slides = slides || f.instruction(each.id).code == ir::opcode::slide_lanes;
    if (each.kind == ir::statement_kind::store)
      halves = halves || (each.non_temporal && 2 * f.whole_lanes * row(f.buffer(each.target).type).bytes == line_bytes);
  }
  return slides && halves;
}

void paired_body(function_emitter& f, const ir::statement& s, Value* counter) {
  f.stores_plainly = true;
  set_counter(f, s, counter);
  set_counter(f, s, f.build.CreateAdd(counter, f.build.getInt64(static_cast<std::uint64_t>(f.whole_lanes))));
  f.stores_plainly = false;
}

void emit_paired_loop(function_emitter& f, const ir::statement& s, Value* low, Value* high) {
  auto& b = f.build;
  Value* count = trips(f, low, high);
  Value* rest = b.CreateAnd(count, b.getInt64(static_cast<std::uint64_t>(2 * f.whole_lanes - 1)));
  Value* whole = b.CreateAdd(low, b.CreateSub(count, rest));
  emit_counted_loop(f, s, low, whole, 2 * f.whole_lanes, paired_body);
  emit_counted_loop(f, s, whole, high, f.whole_lanes, masked_body);
}

// Without masked accesses a masked body is no less code; without registers for masks stores are not masked.
bool is_small_with_masks(const function_emitter& f, const ir::statement& s) {
  const target::vectors& v = f.m.target.vectors;
  const auto is_store = [](const ir::statement& each) { return each.kind == ir::statement_kind::store; };
  return v.mask_registers || (v.least_masked != 0 && std::ranges::none_of(s.body, is_store));
}

void emit_vector_loop(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  Value* low = f.values[static_cast<std::size_t>(s.low)];
  Value* high = f.values[static_cast<std::size_t>(s.high)];
  f.vector_loop = s.loop;
  f.narrow_rows[static_cast<std::size_t>(s.loop)] = {};
  f.lanes = f.whole_lanes = lanes_of_groups(f, s);
  if (s.whole) {
    f.backward = s.backward;
    emit_counted_loop(f, s, low, high, f.whole_lanes, set_counter);
    f.backward = false;
  } else if (s.size_optimised && !s.backward && is_small_with_masks(f, s)) {
    f.size_optimised = true;
    emit_counted_loop(f, s, low, high, f.whole_lanes, masked_body);
    f.size_optimised = false;
  } else if (is_one_group(f, s, low, high)) {
    emit_one_group(f, s, low, trips(f, low, high));
  } else if (stores_half_lines(f, s)) {
    emit_paired_loop(f, s, low, high);
  } else {
    Value* count = trips(f, low, high);
    Value* rest = b.CreateAnd(count, b.getInt64(static_cast<std::uint64_t>(f.whole_lanes - 1)));
    Value* whole = b.CreateAdd(low, b.CreateSub(count, rest));
    f.backward = s.backward;
    if (s.backward) emit_tail(f, s, whole, rest);
    emit_counted_loop(f, s, low, whole, f.whole_lanes, set_counter);
    if (!s.backward) emit_rest(f, s, whole, high, rest, count);
    f.backward = false;
  }
  f.vector_loop = -1;
  f.lanes = f.whole_lanes = 0;
}

void emit_guard(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  auto* inside = BasicBlock::Create(b.getContext(), "guarded", f.function);
  auto* done = BasicBlock::Create(b.getContext(), "guard.done", f.function);
  b.CreateCondBr(f.values[static_cast<std::size_t>(s.id)], inside, done);
  b.SetInsertPoint(inside);
  emit_block(f, s.body);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void emit_loop(function_emitter& f, const ir::statement& s) {
  switch (s.how_loop) {
    case ir::loop_kind::serial:
      return emit_serial_loop(f, s);
    case ir::loop_kind::vector:
      return emit_vector_loop(f, s);
    default:
      throw compile_error("loop " + f.kernel.loop_names[static_cast<std::size_t>(s.loop)] +
                          ": this kind has no place here on a CPU");
  }
}

}  // namespace

void emit_run(function_emitter& f, const ir::statement& s, Value* low, Value* high) {
  auto& b = f.build;
  auto* some = BasicBlock::Create(b.getContext(), "run", f.function);
  auto* done = BasicBlock::Create(b.getContext(), "run.done", f.function);
  b.CreateCondBr(b.CreateICmpSLT(low, high), some, done);
  b.SetInsertPoint(some);
  f.run_end = high;
  set_counter(f, s, low);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void emit_counted_loop(function_emitter& f, const ir::statement& s, Value* low, Value* high, std::int64_t step,
                       loop_body body) {
  auto& b = f.build;
  LLVMContext& c = b.getContext();
  Value* enters = b.CreateICmpSLT(low, high);
  if (const auto* known = dyn_cast<ConstantInt>(enters); known && known->isZero()) return;
  // The counter is a cell until mem2reg: a phi with an edge still missing would mislead the folding builder.
  AllocaInst* cell = f.stack_slot(b.getInt64Ty(), "counter");
  Value* const by = b.getInt64(static_cast<std::uint64_t>(step));
  b.CreateStore(s.backward ? b.CreateSub(high, by, "", false, true) : low, cell);
  auto* inside = BasicBlock::Create(c, f.kernel.loop_names[static_cast<std::size_t>(s.loop)], f.function);
  auto* done = BasicBlock::Create(c, "done", f.function);
  BasicBlock* const before = b.GetInsertBlock();
  b.CreateCondBr(enters, inside, done);
  b.SetInsertPoint(inside);
  Value* counter = b.CreateLoad(b.getInt64Ty(), cell);
  body(f, s, counter);
  Value* next = s.backward ? b.CreateSub(counter, by, "", false, true) : b.CreateAdd(counter, by, "", false, true);
  b.CreateStore(next, cell);
  leave_alone(b.CreateCondBr(s.backward ? b.CreateICmpSGE(next, low) : b.CreateICmpSLT(next, high), inside, done));
  hoist_from_loop(f, before, inside, done);
  b.SetInsertPoint(done);
}

void emit_block(function_emitter& f, const ir::block& body) {
  const DebugLoc around = f.build.getCurrentDebugLocation();
  for (std::size_t k = 0; k < body.size(); ++k) {
    const ir::statement& s = body[k];
    at_line(f, s);
    switch (s.kind) {
      case ir::statement_kind::instruct:
        if (f.instruction(s.id).code == ir::opcode::fold_lanes)
          emit_folds_of_lanes(f, body, k);
        else
          emit_instruction(f, s.id);
        break;
      case ir::statement_kind::loop:
        emit_loop(f, s);
        break;
      case ir::statement_kind::guard:
        emit_guard(f, s);
        break;
      case ir::statement_kind::store:
        emit_store(f, s);
        break;
      case ir::statement_kind::prefetch:
        emit_prefetch(f, s);
        break;
      case ir::statement_kind::combine:
        emit_combine(f, s);
        break;
      case ir::statement_kind::append:
        emit_append(f, s);
        break;
      case ir::statement_kind::copy:
      case ir::statement_kind::await:
      case ir::statement_kind::mma:
        throw compile_error("a tile of a group of threads has no place on a processor");
    }
  }
  f.build.SetCurrentDebugLocation(around);
}

}  // namespace sheaf::inline v0_1::llvm_backend
