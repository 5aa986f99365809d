// Loads and stores. Where the processor cannot mask an access of this width, LLVM would branch for every lane; instead:
// - a contiguous tail is loaded by memcpy, which has exactly the prefix that lives, and stored in parts;
// - any other mask turns dead lanes' addresses to a slot on the stack that holds zeros, or takes what is stored.
#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

using target::line_bytes;

constexpr int zero_bytes = 64;  // of the slots that masked-off accesses go to

// One load or store: its element type in memory, its lanes (0: one element), what masks it.
struct place {
  Type* element;
  int bytes;
  int lanes = 0;
  Value* mask = nullptr;  // both the statement's and the tail's
  bool prefix = false;    // the mask is the tail's alone
  Value* zero_bits = nullptr;  // of a non-temporal store: of its address, those that also have to be 0
  ir::access how = ir::access::uniform;
  ir::lane_pattern apart = {};
  Value* pointer = nullptr;  // of lane 0, but for its offset
  Value* offsets = nullptr;  // of lanes; null: there are none
  ir::value index = ir::none;  // the subscript that alone makes them, times
  Value* scale = nullptr;      // the stride of its dimension
  Value* stride = nullptr;   // lane k is k of it further; null: not so
  Value* address = nullptr;  // a pointer, or a vector of them: see addresses
  Value* when = nullptr;     // of a load: else zeros are loaded
  std::int32_t buffer = -1;
};

bool are_lanes(const function_emitter& f, ir::value subscript) {
  return f.instruction(subscript).code == ir::opcode::lanes && f.instruction(subscript).target == f.vector_loop;
}

// Scalar terms go into the pointer, in the order of the dimensions; vector terms into one offset a lane, but that of
// the lanes' own numbers into a stride, where a loop over them steps by it.
void find(function_emitter& f, std::int32_t id, const std::vector<ir::value>& subscripts, place& p) {
  auto& b = f.build;
  const buffer_facts& facts = facts_of(f, id);
  p.pointer = facts.data;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    Value* subscript = f.values[static_cast<std::size_t>(subscripts[d])];
    const bool steps = p.how == ir::access::gather && !p.stride && !f.m.target.vectors.mask_registers;
    if (steps && are_lanes(f, subscripts[d])) {
      p.stride = facts.strides[d];
      subscript = f.counters[static_cast<std::size_t>(f.vector_loop)];
    }
    const bool vector = subscript->getType()->isVectorTy();
    Value* term = b.CreateMul(subscript, vector ? splat(f, facts.strides[d], p.lanes) : facts.strides[d]);
    if (!vector) {
      p.pointer = b.CreateGEP(p.element, p.pointer, term);
      continue;
    }
    p.index = p.offsets ? ir::none : subscripts[d], p.scale = facts.strides[d];
    p.offsets = p.offsets ? b.CreateAdd(p.offsets, term) : term;
  }
  if (p.how == ir::access::strided) p.offsets = nullptr, p.stride = facts.strides.back();
  p.buffer = id;
}
Value* addresses(function_emitter& f, const place& p) {
  auto& b = f.build;
  Value* offsets = p.offsets;
  if (p.stride) {
    Value* const steps = b.CreateMul(iota(b.getContext(), 64, p.lanes), splat(f, p.stride, p.lanes));
    offsets = offsets ? b.CreateAdd(offsets, steps) : steps;
  }
  return offsets ? b.CreateGEP(p.element, p.pointer, offsets) : p.pointer;
}

place place_of(function_emitter& f, std::int32_t id, const std::vector<ir::value>& subscripts, ir::access how,
               ir::value mask) {
  const element type = f.buffer(id).type;
  place p{.element = stored_type(f.build.getContext(), type), .bytes = row(type).bytes, .how = how};
  if (how == ir::access::contiguous && subscripts.empty())
    throw compile_error("contiguous access to " + f.buffer(id).name + " without a subscript");
  if (how != ir::access::uniform) p.lanes = f.lanes;
  if (mask != ir::none) p.mask = splat(f, f.values[static_cast<std::size_t>(mask)], p.lanes);
  if (p.lanes && f.tail_mask) {
    p.prefix = !p.mask;
    p.mask = p.mask ? f.build.CreateAnd(p.mask, f.tail_mask) : f.tail_mask;
  }
  find(f, id, subscripts, p);
  return p;
}

Value* slot(function_emitter& f, Value*& which, bool zeros) {
  if (which) return which;
  Type* const line = ArrayType::get(f.build.getInt64Ty(), zero_bytes / 8);
  AllocaInst* made = f.stack_slot(line, zeros ? "zeros" : "sink");
  if (zeros) new StoreInst(Constant::getNullValue(line), made, f.prologue);
  return which = made;
}

bool masks_natively(const function_emitter& f, const place& p) {
  const int least = f.m.target.vectors.least_masked;
  return least != 0 && p.bytes >= least;
}

Value* addresses_or(function_emitter& f, const place& p, Value* instead) {
  if (p.address->getType()->isVectorTy() || !p.lanes)
    return f.build.CreateSelect(p.mask, p.address, splat(f, instead, p.lanes));
  Value* each = f.build.CreateGEP(p.element, p.address, iota(f.build.getContext(), 64, p.lanes));
  return f.build.CreateSelect(p.mask, each, splat(f, instead, p.lanes));
}

Value* deinterleaved_addresses(function_emitter& f, const place& p) {
  std::vector<Constant*> offsets;
  for (int k = 0; k < p.lanes; ++k) offsets.push_back(f.build.getInt64(static_cast<std::uint64_t>(p.apart(k))));
  return f.build.CreateGEP(p.element, p.address, ConstantVector::get(offsets));
}

// As a number: of some masks LLVM makes a chain of shifts instead.
Value* any_lane(builder& b, Value* mask) {
  const unsigned lanes = cast<FixedVectorType>(mask->getType())->getNumElements();
  return b.CreateICmpNE(b.CreateBitCast(mask, b.getIntNTy(lanes)), b.getIntN(lanes, 0));
}

// Those that LLVM would write out lane by lane, which it does well by offsets that are in registers.
bool goes_by_lane(const function_emitter& f, const place& p) {
  if (!goes_by_lane(f, p.lanes) || p.how == ir::access::deinterleaved) return false;
  return p.stride || (p.mask && (p.offsets || (!p.prefix && !masks_natively(f, p))));
}
lane_access by_lane(function_emitter& f, const place& p, Value* instead) {
  return {.element = p.element, .align = Align(static_cast<std::uint64_t>(p.bytes)), .lanes = p.lanes,
          .pointer = p.pointer, .offsets = p.offsets, .stride = p.stride, .mask = p.prefix ? nullptr : p.mask,
          .count = f.tail_count, .instead = instead};
}

// Masked loads wait for the stores before them, where masks have no registers: what follows the lanes of a tail is
// loaded too, if it is of the tensor.
bool loads_on(const function_emitter& f, const place& p) {
  return p.prefix && f.buffer(p.buffer).where == ir::role::input && !f.m.target.vectors.mask_registers;
}

Value* masked_contiguous(function_emitter& f, const place& p, Type* type, Align align) {
  auto& b = f.build;
  if (masks_natively(f, p)) {
    // A masked load of no lane takes as long as a page fault where there is no page: it goes where there is one.
    Value* at = p.address;
    if (!p.prefix) at = b.CreateSelect(any_lane(b, p.mask), at, slot(f, f.zero_slot, true));
    return masked_load(f, type, at, align, p.mask);
  }
  if (!p.prefix) return b.CreateMaskedGather(type, addresses_or(f, p, slot(f, f.zero_slot, true)), align);
  if (masks_pairs(f, p.bytes, p.lanes)) return load_pairs(f, type, p.address, align, f.tail_count);
  AllocaInst* copy = f.stack_slot(type, "copy");
  b.CreateStore(Constant::getNullValue(type), copy);
  b.CreateMemCpy(copy, Align(64), p.address, align,
                 b.CreateMul(f.tail_count, b.getInt64(static_cast<std::uint64_t>(p.bytes))));
  return b.CreateLoad(type, copy);
}

Value* load_contiguous(function_emitter& f, const place& p, Type* type, Align align) {
  auto& b = f.build;
  if (!p.mask) return b.CreateAlignedLoad(type, p.address, align);
  const auto masked = [&] { return std::vector{masked_contiguous(f, p, type, align)}; };
  if (!loads_on(f, p)) return masked().front();
  Value* const last = b.CreateGEP(p.element, p.address, b.getInt64(static_cast<std::uint64_t>(p.lanes)));
  const auto whole = [&] {
    Value* const all = b.CreateAlignedLoad(type, p.address, align);
    return std::vector<Value*>{b.CreateSelect(p.mask, all, Constant::getNullValue(type))};
  };
  return emit_either(f, b.CreateICmpULE(last, end_of(f, p.buffer)), whole, masked).front();
}

// Integers that a subscript's lanes were loaded from, one after the other, and that nothing writes before the lanes are
// used: the program's own indices. In a tail the first takes the place of those that there are none of.
void find_indices(function_emitter& f, const place& p, lane_access& a) {
  auto& b = f.build;
  if (p.index == ir::none || p.lanes > most_lanes_written_out || (p.mask != nullptr && !p.prefix)) return;
  if (p.prefix && p.stride) return;  // lanes that there are none of would go on from the first
  ir::value v = p.index;
  if (const ir::instruction& i = f.instruction(v); i.code == ir::opcode::elementwise && i.what == op::cast)
    v = i.args[0];
  const ir::instruction& i = f.instruction(v);
  if (i.code != ir::opcode::load || i.how != ir::access::contiguous || i.mask != ir::none) return;
  const element type = f.buffer(i.target).type;
  if ((type != element::i32 && type != element::i64) || f.buffer(i.target).where != ir::role::input) return;
  for (const ir::buffer& each : f.m.source.buffers)
    if (each.where == ir::role::output && each.type == type) return;  // it may update them
  a.index = stored_type(b.getContext(), type);
  a.scale = p.scale;
  a.mask = a.count = nullptr;
  if (!p.prefix) {
    a.indices = place_of(f, i.target, i.args, i.how, ir::none).pointer;
    return;
  }
  Value* const all = f.values[static_cast<std::size_t>(v)];
  a.indices = spilled(f, b.CreateSelect(p.mask, all, splat(f, b.CreateExtractElement(all, b.getInt64(0)), p.lanes)));
}

// Elements of one or two bytes, for which there are no gathers, out of the four aligned bytes that each lies in: these
// are of the same page, and what else is in them is not used.
Value* gather_small(function_emitter& f, const place& p, Type* type) {
  auto& b = f.build;
  Type* const words = widen(b.getInt32Ty(), p.lanes);
  Value* const at = b.CreatePtrToInt(p.address, widen(b.getInt64Ty(), p.lanes));
  Value* const within = b.CreateAnd(at, splat(f, b.getInt64(3), p.lanes));
  Value* const word = b.CreateIntToPtr(b.CreateSub(at, within), widen(b.getPtrTy(), p.lanes));
  Value* const four = p.mask ? b.CreateMaskedGather(words, word, Align(4), p.mask, Constant::getNullValue(words))
                             : b.CreateMaskedGather(words, word, Align(4));
  Value* const bits = b.CreateShl(b.CreateTrunc(within, words), splat(f, b.getInt32(3), p.lanes));
  Type* const element = widen(b.getIntNTy(8u * static_cast<unsigned>(p.bytes)), p.lanes);
  Value* const own = b.CreateTrunc(b.CreateLShr(four, bits), element);
  return b.CreateBitCast(own, type);
}

Value* load_bits(function_emitter& f, place p) {
  auto& b = f.build;
  if (p.how == ir::access::gather || p.how == ir::access::strided) {
    lane_access a = by_lane(f, p, slot(f, f.zero_slot, true));
    if (p.offsets && !p.stride) a.mask = p.mask;
    find_indices(f, p, a);
    if (is_written_out(f, a)) return load_written_out(f, a);
  }
  if (goes_by_lane(f, p)) return load_by_lane(f, by_lane(f, p, slot(f, f.zero_slot, true)));
  p.address = addresses(f, p);
  if (p.when) p.address = b.CreateSelect(p.when, p.address, slot(f, f.zero_slot, true));
  const Align align(static_cast<std::uint64_t>(p.bytes));
  Type* const type = widen(p.element, p.lanes);
  if (!p.lanes)
    return b.CreateAlignedLoad(type, p.mask ? addresses_or(f, p, slot(f, f.zero_slot, true)) : p.address, align);
  if (p.how == ir::access::deinterleaved && !may_deinterleave(f, p.apart, p.bytes, p.mask != nullptr))
    p.address = deinterleaved_addresses(f, p);
  if (p.how == ir::access::deinterleaved && may_deinterleave(f, p.apart, p.bytes, p.mask != nullptr))
    return emit_deinterleaved(f, p.apart, p.element, p.bytes, p.address, p.mask);
  if (p.how == ir::access::contiguous) return load_contiguous(f, p, type, align);
  if (p.bytes < 4 && f.m.target.vectors.mask_registers) return gather_small(f, p, type);
  if (!p.mask) return b.CreateMaskedGather(type, p.address, align);
  if (p.bytes >= 4 && f.m.target.vectors.mask_registers)
    return b.CreateMaskedGather(type, p.address, align, p.mask, Constant::getNullValue(type));
  return b.CreateMaskedGather(type, addresses_or(f, p, slot(f, f.zero_slot, true)), align);
}

void store_bits(function_emitter& f, place p, Value* bits, bool non_temporal) {
  auto& b = f.build;
  if (goes_by_lane(f, p)) return store_by_lane(f, by_lane(f, p, slot(f, f.sink_slot, false)), bits);
  p.address = addresses(f, p);
  const Align align(static_cast<std::uint64_t>(p.bytes));
  if (!p.lanes) {
    b.CreateAlignedStore(bits, p.mask ? addresses_or(f, p, slot(f, f.sink_slot, false)) : p.address, align);
    return;
  }
  if (p.how == ir::access::contiguous) {
    if (!p.mask && non_temporal) return emit_stream_store(f, p.address, bits, align, p.zero_bits);
    if (!p.mask) return void(b.CreateAlignedStore(bits, p.address, align));
    if (p.prefix && !f.m.target.vectors.mask_registers)
      return store_prefix(f, bits, p.address, align, f.tail_count);
    if (masks_natively(f, p)) return masked_store(f, bits, p.address, align, p.mask);
  }
  if (!p.mask) return void(b.CreateMaskedScatter(bits, p.address, align));
  if (p.how != ir::access::contiguous && p.bytes >= 4 && f.m.target.vectors.mask_registers)
    return void(b.CreateMaskedScatter(bits, p.address, align, p.mask));
  b.CreateMaskedScatter(bits, addresses_or(f, p, slot(f, f.sink_slot, false)), align);
}

}  // namespace

// Non-temporal from the start of a line, or of the part of one that is stored: it is so for a whole row or none of it,
// so the branch is predicted. A line that is stored in part is read first, and a plain store to the other part brings
// it back into the caches.
void emit_stream_store(function_emitter& f, Value* address, Value* bits, Align align, Value* zero_bits) {
  auto& b = f.build;
  f.streams = true;
  const std::uint64_t size = f.m.module.getDataLayout().getTypeStoreSize(bits->getType());
  const std::uint64_t unit = std::min(size, static_cast<std::uint64_t>(f.m.target.vectors.register_bytes));
  if (zero_bits == nullptr) zero_bits = b.getInt64(0);
  zero_bits = b.CreateOr(zero_bits, b.getInt64(std::min<std::uint64_t>(size, line_bytes) - 1));
  LLVMContext& c = b.getContext();
  auto* past = BasicBlock::Create(c, "non_temporal", f.function);
  auto* plain = BasicBlock::Create(c, "plain", f.function);
  auto* done = BasicBlock::Create(c, "stored", f.function);
  Value* low = b.CreateAnd(b.CreatePtrToInt(address, b.getInt64Ty()), zero_bits);
  b.CreateCondBr(b.CreateIsNull(low), past, plain);
  b.SetInsertPoint(past);
  StoreInst* store = b.CreateAlignedStore(bits, address, Align(unit));
  store->setMetadata(LLVMContext::MD_nontemporal, MDNode::get(c, {ConstantAsMetadata::get(b.getInt32(1))}));
  b.CreateBr(done);
  b.SetInsertPoint(plain);
  b.CreateAlignedStore(bits, address, align);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

// A line at a time.
void emit_prefetch(function_emitter& f, const ir::statement& s) {
  if (s.how == ir::access::transposed) return emit_transposed_prefetch(f, s);
  auto& b = f.build;
  place p = place_of(f, s.target, s.subscripts, s.how, ir::none);
  p.address = addresses(f, p);
  const int bytes = std::max(1, p.lanes) * p.bytes / (s.half_line ? 2 : 1);
  for (int at = 0; at < bytes; at += line_bytes)
    emit_prefetch_of(f, b.CreateGEP(b.getInt8Ty(), p.address, b.getInt64(static_cast<std::uint64_t>(at))), s);
}

void emit_prefetch_of(function_emitter& f, Value* address, const ir::statement& s) {
  auto& b = f.build;
  constexpr std::uint32_t into_first = 3, into_second = 2, data = 1;  // as the intrinsic has them
  b.CreateIntrinsic(
      Intrinsic::prefetch, {b.getPtrTy()},
      {address, b.getInt32(s.written ? 1 : 0), b.getInt32(s.l2 ? into_second : into_first), b.getInt32(data)});
}

// Bit by bit: masks are mostly empty, and storing compressed vectors is slow on some processors.
void emit_append(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  LLVMContext& c = b.getContext();
  Type* const i64 = b.getInt64Ty();
  Value* mask = splat(f, f.values[static_cast<std::size_t>(s.mask)], f.lanes);
  if (f.tail_mask) mask = b.CreateAnd(mask, f.tail_mask);
  AllocaInst* const left = f.stack_slot(i64, "left");
  AllocaInst* const count = f.cells[static_cast<std::size_t>(s.target_value)].parts[0];
  Value* const data = facts_of(f, s.target).data;
  b.CreateStore(b.CreateZExt(b.CreateBitCast(mask, b.getIntNTy(static_cast<unsigned>(f.lanes))), i64), left);
  auto* test = BasicBlock::Create(c, "append", f.function);
  auto* some = BasicBlock::Create(c, "append.one", f.function);
  auto* done = BasicBlock::Create(c, "append.done", f.function);
  b.CreateBr(test);
  b.SetInsertPoint(test);
  Value* const bits = b.CreateLoad(i64, left);
  b.CreateCondBr(b.CreateIsNull(bits), done, some);
  b.SetInsertPoint(some);
  Value* const lane = b.CreateBinaryIntrinsic(Intrinsic::cttz, bits, b.getTrue());
  Value* const place = b.CreateLoad(i64, count);
  b.CreateStore(b.CreateAdd(f.counters[static_cast<std::size_t>(f.vector_loop)], lane), b.CreateGEP(i64, data, place));
  b.CreateStore(b.CreateAdd(place, b.getInt64(1)), count);
  b.CreateStore(b.CreateAnd(bits, b.CreateSub(bits, b.getInt64(1))), left);
  b.CreateBr(test);
  b.SetInsertPoint(done);
}

Value* sink(function_emitter& f) { return slot(f, f.sink_slot, false); }

Value* emit_load(function_emitter& f, const ir::instruction& i) {
  if (f.group && i.how == ir::access::transposed)
    return from_memory(f, f.buffer(i.target).type, emit_transposed_load(f, i));
  // One condition of all lanes masks none of them, where masks have no registers.
  const bool whole = i.mask != ir::none && i.how == ir::access::contiguous && !f.instruction(i.mask).vector &&
                     !f.m.target.vectors.mask_registers &&
                     f.lanes * row(f.buffer(i.target).type).bytes <= zero_bytes;
  place p = place_of(f, i.target, i.args, i.how, whole ? ir::none : i.mask);
  p.apart = i.apart;
  if (whole) p.when = f.values[static_cast<std::size_t>(i.mask)];
  return from_memory(f, f.buffer(i.target).type, load_bits(f, p));
}

namespace {
// The bits of an address that also have to be 0 for a non-temporal store: all, of short rows that are no whole lines:
// neighbours share one, and a plain store of one row would bring it into the caches that the other's just left.
Value* zero_bits_of(function_emitter& f, std::int32_t id, std::size_t rank) {
  Value* const stride = facts_of(f, id).strides[rank - 2];
  builder b(f.prologue, InstSimplifyFolder(f.m.module.getDataLayout()));
  const auto bytes = static_cast<std::uint64_t>(row(f.buffer(id).type).bytes);
  Value* const apart = b.CreateMul(stride, b.getInt64(bytes));
  Value* const whole = b.CreateIsNull(b.CreateAnd(apart, b.getInt64(line_bytes - 1)));
  Value* const is_long = b.CreateICmpUGE(apart, b.getInt64(tuning::emit::short_row_of_lines));
  return b.CreateSelect(b.CreateOr(whole, is_long), b.getInt64(0), b.getInt64(~std::uint64_t{0}));
}
}  // namespace

void emit_store(function_emitter& f, const ir::statement& s) {
  if (f.group && s.how == ir::access::transposed) {
    Value* stored = splat(f, f.values[static_cast<std::size_t>(s.stored)], f.lanes);
    return emit_transposed_store(f, s, to_memory(f, f.buffer(s.target).type, stored));
  }
  place p = place_of(f, s.target, s.subscripts, s.how, s.mask);
  if (s.non_temporal && s.subscripts.size() > 1) p.zero_bits = zero_bits_of(f, s.target, s.subscripts.size());
  Value* stored = splat(f, f.values[static_cast<std::size_t>(s.stored)], p.lanes);
  store_bits(f, p, to_memory(f, f.buffer(s.target).type, stored), s.non_temporal && !f.stores_plainly);
}

}  // namespace sheaf::inline v0_1::llvm_backend
