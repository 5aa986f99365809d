// Accumulators: their identities, how a value is combined into one, and the fixed tree that folds lanes: the upper half
// is combined into the lower until one is left. The tree knows virtual lanes only, so it is the same for every register
// width.
//
// A sum of a product made in the same block and used nowhere else is one fused multiply-add. It is decided here, on
// Sheaf's IR, and not by LLVM's `contract` flag: that would depend on which uses the passes leave over, and so could
// differ between main loop and tail. Products that are not summed directly are rounded, so x*x - y*y is 0 for x == y.
#include <llvm/IR/Intrinsics.h>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::llvm_backend {

using namespace llvm;

namespace {

struct pair {
  Value* content;
  Value* position;
};

bool has_position(monoid fold) { return fold == monoid::argmax || fold == monoid::argmin; }

// Booleans are kept as bytes: vectors of single bits do not live well in registers without AVX-512.
Type* cell_type(LLVMContext& c, element type) {
  return type == element::boolean ? Type::getInt8Ty(c) : held_type(c, type);
}

Constant* lowest(Type* type, element of, bool largest) {
  if (is_floating(of)) return ConstantFP::getInfinity(type, !largest);
  if (of == element::boolean) return ConstantInt::get(type, largest ? 1 : 0);
  const unsigned bits = type->getScalarSizeInBits();
  if (of == element::u8) return ConstantInt::get(type, largest ? APInt::getMaxValue(bits) : APInt::getMinValue(bits));
  return ConstantInt::get(type, largest ? APInt::getSignedMaxValue(bits) : APInt::getSignedMinValue(bits));
}

Constant* identity(const function_emitter& f, Type* type, element of, monoid fold) {
  if (is_own(fold)) {
    const std::int64_t bits = f.m.source.folds[static_cast<std::size_t>(own_number(fold))].identity;
    return is_floating(of) ? ConstantFP::get(type, std::bit_cast<double>(bits))
                           : ConstantInt::get(type, static_cast<std::uint64_t>(bits), true);
  }
  switch (fold) {
    case monoid::sum:
    case monoid::any:
      return Constant::getNullValue(type);
    case monoid::prod:
      return is_floating(of) ? ConstantFP::get(type, 1.0) : ConstantInt::get(type, 1);
    case monoid::all:
      return ConstantInt::get(type, 1);
    case monoid::max:
    case monoid::argmax:
      return lowest(type, of, false);
    case monoid::min:
    case monoid::argmin:
      return lowest(type, of, true);
    case monoid::count_:
      break;
  }
  throw compile_error("a monoid that is none");
}

// Whether b is to replace a: it is beyond it, or equal with an earlier position. NaN is beyond every number.
Value* replaces(function_emitter& f, element type, bool largest, pair a, pair b) {
  auto& build = f.build;
  Value* earlier = build.CreateICmpSLT(b.position, a.position);
  if (!is_floating(type)) {
    const bool is_signed = type != element::boolean && type != element::u8;
    const auto more = largest ? (is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                              : (is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT);
    Value* beyond = build.CreateICmp(more, b.content, a.content);
    return build.CreateOr(beyond, build.CreateAnd(build.CreateICmpEQ(b.content, a.content), earlier));
  }
  Value* known = build.CreateFCmpORD(a.content, a.content);
  Value* beyond = build.CreateFCmp(largest ? CmpInst::FCMP_UGT : CmpInst::FCMP_ULT, b.content, a.content);
  Value* same_nan = build.CreateAnd(build.CreateNot(known), build.CreateFCmpUNO(b.content, b.content));
  Value* same = build.CreateOr(build.CreateFCmpOEQ(b.content, a.content), same_nan);
  return build.CreateOr(build.CreateAnd(beyond, known), build.CreateAnd(same, earlier));
}

// The steps of a fold of the program's own.
Value* own_combination(function_emitter& f, const ir::own_fold& fold, Value* a, Value* b) {
  std::vector<Value*> values{a, b};
  std::vector<element> types{fold.type, fold.type};
  for (const ir::fold_step& s : fold.steps) {
    Type* const type = like(a, held_type(f.build.getContext(), s.type));
    if (s.what == op::constant) {
      values.push_back(is_floating(s.type) ? ConstantFP::get(type, std::bit_cast<double>(s.bits))
                                           : ConstantInt::get(type, static_cast<std::uint64_t>(s.bits), true));
    } else {
      Value* x[3] = {};
      for (std::size_t k = 0; k < s.args.size(); ++k) x[k] = values[static_cast<std::size_t>(s.args[k])];
      const element from = types[static_cast<std::size_t>(s.args[s.what == op::select ? 1 : 0])];
      values.push_back(emit_op(f, s.what, from, s.type, {x, s.args.size()}));
    }
    types.push_back(s.type);
  }
  return values[fold.steps.empty() ? 0 : values.size() - 1];
}

Value* combined(function_emitter& f, element type, monoid fold, Value* a, Value* b) {
  auto& build = f.build;
  if (is_own(fold)) return own_combination(f, f.m.source.folds[static_cast<std::size_t>(own_number(fold))], a, b);
  switch (fold) {
    case monoid::sum:
      return is_floating(type) ? build.CreateFAdd(a, b) : build.CreateAdd(a, b);
    case monoid::prod:
      return is_floating(type) ? build.CreateFMul(a, b) : build.CreateMul(a, b);
    case monoid::any:
      return build.CreateOr(a, b);
    case monoid::all:
      return build.CreateAnd(a, b);
    default:
      return emit_extreme(f, type, fold == monoid::max, a, b);
  }
}

pair combined(function_emitter& f, element type, monoid fold, pair a, pair b) {
  if (!has_position(fold)) return {combined(f, type, fold, a.content, b.content), nullptr};
  Value* take = replaces(f, type, fold == monoid::argmax, a, b);
  return {f.build.CreateSelect(take, b.content, a.content), f.build.CreateSelect(take, b.position, a.position)};
}

// How often `v` is used in a block and those inside it.
int uses(const function_emitter& f, const ir::block& body, ir::value v) {
  int n = 0;
  for (const ir::statement& s : body) {
    n += (s.id == v && s.kind == ir::statement_kind::guard) + (s.low == v) + (s.high == v) + (s.stored == v) +
         (s.mask == v) + (s.position == v);
    for (ir::value x : s.subscripts) n += x == v;
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = f.instruction(s.id);
      n += i.mask == v;
      for (ir::value x : i.args) n += x == v;
    }
    n += uses(f, s.body, v);
  }
  return n;
}

bool same_block(const ir::block& body, const ir::statement& combine, ir::value v) {
  bool product = false, here = false;
  for (const ir::statement& s : body) {
    product |= s.kind == ir::statement_kind::instruct && s.id == v;
    here |= &s == &combine;
    if (same_block(s.body, combine, v)) return true;
  }
  return product && here;
}

bool fuses(const function_emitter& f, const ir::statement& s, const ir::instruction& cell, element type) {
  if (cell.fold != monoid::sum || !is_floating(type) || !f.m.target.fma || f.m.target.exact_sum) return false;
  const ir::instruction& product = f.instruction(s.stored);
  return product.code == ir::opcode::elementwise && product.what == op::mul && product.type == type &&
         uses(f, f.kernel.body, s.stored) == 1 && same_block(f.kernel.body, s, s.stored);
}

Value* fused(function_emitter& f, const ir::statement& s, Value* sum, int lanes) {
  const ir::instruction& product = f.instruction(s.stored);
  Value* a = splat(f, f.values[static_cast<std::size_t>(product.args[0])], lanes);
  Value* b = splat(f, f.values[static_cast<std::size_t>(product.args[1])], lanes);
  return f.build.CreateIntrinsic(Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

// The lanes that a combine may change; null: all of them.
Value* live_lanes(function_emitter& f, const ir::statement& s, const cell& c) {
  Value* mask = s.mask == ir::none ? nullptr : splat(f, f.values[static_cast<std::size_t>(s.mask)], c.lanes);
  if (!c.lanes || !f.tail_mask || c.born_in == f.vector_loop) return mask;
  return mask ? f.build.CreateAnd(mask, f.tail_mask) : f.tail_mask;
}

// The lanes of the vector loop, somewhere in `body`, that combines into accumulator `id`.
int combining_lanes(const function_emitter& f, const ir::block& body, ir::value id, int around) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::combine && s.target_value == id) return around;
    if (s.kind == ir::statement_kind::instruct && (f.instruction(s.id).code == ir::opcode::slide_lanes || f.instruction(s.id).code == ir::opcode::shift_lanes) &&
        f.instruction(s.id).args[0] == id)
      return around;
    const bool vector = s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector;
    if (const int found = combining_lanes(f, s.body, id, vector ? s.lanes : around)) return found;
  }
  return 0;
}

Value* content_of(function_emitter& f, AllocaInst* slot) { return f.build.CreateLoad(slot->getAllocatedType(), slot); }

}  // namespace

Value* emit_extreme(function_emitter& f, element type, bool largest, Value* a, Value* b) {
  auto& build = f.build;
  if (is_floating(type)) {
    // One max instruction, which gives a where either is NaN, and a select that brings back b's. Only b is asked, the
    // element where a is an accumulator: what is carried from turn to turn waits for no comparison.
    Value* beyond = build.CreateSelect(build.CreateFCmp(largest ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, b, a), b, a);
    return build.CreateSelect(build.CreateFCmpUNO(b, b), b, beyond);
  }
  if (type == element::boolean) return largest ? build.CreateOr(a, b) : build.CreateAnd(a, b);
  if (type == element::u8) return build.CreateBinaryIntrinsic(largest ? Intrinsic::umax : Intrinsic::umin, a, b);
  return build.CreateBinaryIntrinsic(largest ? Intrinsic::smax : Intrinsic::smin, a, b);
}

void emit_accumulator(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  auto& b = f.build;
  cell& c = f.cells[static_cast<std::size_t>(id)];
  c.born_in = f.vector_loop;
  c.lanes = i.vector ? (f.lanes ? f.lanes : combining_lanes(f, f.kernel.body, id, 0)) : 0;
  if (i.vector && !c.lanes) c.lanes = 2;  // nothing is ever combined into it: any width folds to the identity
  Type* const type = widen(cell_type(b.getContext(), i.type), c.lanes);
  Type* const positions = widen(b.getInt64Ty(), c.lanes);
  if (i.dimension > 0) {
    for (std::size_t k = 0; (1 << k) <= i.dimension; ++k) {
      if (k == c.slides.size()) c.slides.push_back(f.stack_slot(type, "slide"));
      b.CreateStore(identity(f, type, i.type, i.fold), c.slides[k]);
    }
    return;
  }
  if (!c.content) c.content = f.stack_slot(type, "accumulator");
  b.CreateStore(identity(f, type, i.type, i.fold), c.content);
  if (!has_position(i.fold)) return;
  if (!c.position) c.position = f.stack_slot(positions, "position");
  b.CreateStore(lowest(positions, element::i64, true), c.position);
}

void emit_combine(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  const ir::instruction& i = f.instruction(s.target_value);
  const cell& c = f.cells[static_cast<std::size_t>(s.target_value)];
  pair old{content_of(f, c.content), c.position ? content_of(f, c.position) : nullptr};
  pair next{};
  if (fuses(f, s, i, i.type)) {
    next.content = fused(f, s, old.content, c.lanes);
  } else {
    pair x{splat(f, f.values[static_cast<std::size_t>(s.stored)], c.lanes), nullptr};
    if (i.type == element::boolean) x.content = to_memory(f, element::boolean, x.content);
    if (c.position) x.position = splat(f, f.values[static_cast<std::size_t>(s.position)], c.lanes);
    next = combined(f, i.type, i.fold, old, x);
  }
  if (Value* live = live_lanes(f, s, c)) {
    next.content = b.CreateSelect(live, next.content, old.content);
    if (c.position) next.position = b.CreateSelect(live, next.position, old.position);
  }
  b.CreateStore(next.content, c.content);
  if (c.position) b.CreateStore(next.position, c.position);
}

namespace {

// Over nothing there is no position: -1.
Value* finished_position(function_emitter& f, Value* position) {
  Value* const none = Constant::getAllOnesValue(position->getType());
  Value* const highest = lowest(position->getType(), element::i64, true);
  return f.build.CreateSelect(f.build.CreateICmpEQ(position, highest), none, position);
}

}  // namespace

Value* emit_read(function_emitter& f, const ir::instruction& i) {
  const ir::instruction& a = f.instruction(i.args[0]);
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  if (c.position) return finished_position(f, content_of(f, c.position));
  if (a.dimension > 0) return content_of(f, c.slides[0]);
  Value* content = content_of(f, c.content);
  return a.type == element::boolean ? from_memory(f, a.type, content) : content;
}

Value* emit_fold_lanes(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const ir::instruction& a = f.instruction(i.args[0]);
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  pair whole{content_of(f, c.content), c.position ? content_of(f, c.position) : nullptr};
  constexpr int wide_from = 16;
  element type = a.type;
  for (int half = c.lanes / 2; half; half /= 2) {
    if (i.type != type && !c.position && half < wide_from) {
      type = i.type;
      whole.content = b.CreateFPExt(whole.content, widen(held_type(b.getContext(), type), 2 * half));
    }
    std::vector<int> low, high;
    for (int k = 0; k < half; ++k) low.push_back(k), high.push_back(k + half);
    auto part = [&](Value* v, const std::vector<int>& lanes) { return v ? b.CreateShuffleVector(v, lanes) : nullptr; };
    whole = combined(f, type, a.fold, pair{part(whole.content, low), part(whole.position, low)},
                     pair{part(whole.content, high), part(whole.position, high)});
  }
  Value* result = c.position ? whole.position : whole.content;
  if (c.lanes) result = b.CreateExtractElement(result, std::uint64_t{0});
  if (!c.position && i.type != type) result = b.CreateFPExt(result, held_type(b.getContext(), i.type));
  if (c.position) return finished_position(f, result);
  return a.type == element::boolean ? from_memory(f, a.type, result) : result;
}

namespace {

// Lane k takes the one `by` before it (after it, backward) in the row of this vector and its neighbour.
Value* neighbours(function_emitter& f, Value* kept, Value* x, int by) {
  std::vector<int> from;
  for (int k = 0; k < f.lanes; ++k) from.push_back(f.backward ? k + by : f.lanes + k - by);
  return f.backward ? f.build.CreateShuffleVector(x, kept, from) : f.build.CreateShuffleVector(kept, x, from);
}

}  // namespace

// Log-step prefixes within the vector, then the accumulator onto each lane. Only the accumulator is carried from vector to
// vector, so a wide one keeps a long sum exact to the last bits; dead lanes count as the identity, so its last lane is the
// total of every vector.
Value* emit_scan_lanes(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const ir::instruction& a = f.instruction(i.args[0]);
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  Value* x = f.values[static_cast<std::size_t>(i.args[1])];
  if (i.type == element::boolean) x = to_memory(f, i.type, x);
  Constant* none = identity(f, x->getType(), i.type, a.fold);
  Value* live = i.mask == ir::none ? nullptr : splat(f, f.values[static_cast<std::size_t>(i.mask)], f.lanes);
  if (f.tail_mask) live = live ? b.CreateAnd(live, f.tail_mask) : f.tail_mask;
  if (live) x = b.CreateSelect(live, x, none);
  // -0 changes nothing either, and shifting it in is one instruction; LLVM would make a slow expansion of a shifted 0.
  Constant* shifted_in = a.fold == monoid::sum && is_floating(i.type) ? ConstantFP::get(x->getType(), -0.0) : none;
  for (int step = 1; step < f.lanes; step *= 2) x = f.backward ? combined(f, i.type, a.fold, x, neighbours(f, shifted_in, x, step))
                                                               : combined(f, i.type, a.fold, neighbours(f, shifted_in, x, step), x);
  const bool wider = a.type != i.type;
  Value* carry = content_of(f, c.content);
  Value* total = b.CreateExtractElement(x, static_cast<std::uint64_t>(f.backward ? 0 : f.lanes - 1));
  Value* before = wider ? emit_cast(f, a.type, i.type, carry) : carry;
  Value* result = combined(f, i.type, a.fold, splat(f, before, f.lanes), x);
  b.CreateStore(combined(f, a.type, a.fold, carry, wider ? emit_cast(f, i.type, a.type, total) : total), c.content);
  return i.type == element::boolean ? from_memory(f, i.type, result) : result;
}

// Steps x -> factor * x + value, joined pairwise by log-steps: of two, the factors multiply and the later takes the earlier's
// value in. A boolean factor is a mask of all bits. Dead lanes keep what came and add nothing.
Value* emit_recur_lanes(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  Value* x = splat(f, f.values[static_cast<std::size_t>(i.args[2])], f.lanes);
  Value* factor = splat(f, f.values[static_cast<std::size_t>(i.args[1])], f.lanes);
  const bool keeps = f.instruction(i.args[1]).type == element::boolean;
  Type* const type = x->getType();
  Type* const bits = VectorType::getInteger(cast<VectorType>(type));
  Constant* zero = Constant::getNullValue(type);
  if (keeps) factor = b.CreateSExt(factor, bits);
  Constant* one = keeps ? Constant::getAllOnesValue(bits) : ConstantFP::get(type, 1.0);
  if (f.tail_mask) {
    x = b.CreateSelect(f.tail_mask, x, zero);
    factor = b.CreateSelect(f.tail_mask, factor, one);
  }
  const auto scaled = [&](Value* by, Value* old) -> Value* {
    if (keeps) return b.CreateBitCast(b.CreateAnd(b.CreateBitCast(old, bits), by), type);
    return b.CreateSelect(b.CreateFCmpOEQ(old, zero), zero, b.CreateFMul(by, old));
  };
  Constant* nothing = ConstantFP::get(type, -0.0);  // a shifted 0 would become a slow expansion
  for (int step = 1; step < f.lanes; step *= 2) {
    x = b.CreateFAdd(scaled(factor, neighbours(f, nothing, x, step)), x);
    Value* earlier = neighbours(f, one, factor, step);
    factor = keeps ? b.CreateAnd(factor, earlier) : scaled(factor, earlier);
  }
  Value* carry = splat(f, content_of(f, c.content), f.lanes);
  Value* result = b.CreateFAdd(scaled(factor, carry), x);
  b.CreateStore(b.CreateExtractElement(result, static_cast<std::uint64_t>(f.backward ? 0 : f.lanes - 1)), c.content);
  return result;
}

// Folds of 1, 2, 4, ... lanes, each from two of the one before; the width is put together from those, or, where combining a
// value twice changes nothing, from two that overlap. Of the lanes before this vector only what the last turn kept is used.
Value* emit_slide_lanes(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const ir::instruction& a = f.instruction(i.args[0]);
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  const auto joined = [&](Value* x, Value* beyond) {
    return f.backward ? combined(f, i.type, a.fold, x, beyond) : combined(f, i.type, a.fold, beyond, x);
  };
  const bool overlaps = a.fold == monoid::max || a.fold == monoid::min;
  Value* x = f.values[static_cast<std::size_t>(i.args[1])];
  std::vector<Value*> levels, kept;
  for (std::size_t k = 0; (1 << k) <= i.dimension; ++k) {
    levels.push_back(x);
    kept.push_back(content_of(f, c.slides[k]));
    b.CreateStore(x, c.slides[k]);
    if ((2 << k) <= i.dimension) x = joined(x, neighbours(f, kept[k], x, 1 << k));
  }
  const int largest = 1 << (levels.size() - 1);
  if (overlaps && largest < i.dimension)
    return joined(x, neighbours(f, kept.back(), levels.back(), i.dimension - largest));
  // The smallest first: what is further away than a register needs less of the turn before.
  x = nullptr;
  for (std::size_t k = 0, done = 0; k < levels.size(); ++k) {
    if (!(i.dimension & (1 << k))) continue;
    x = x ? joined(x, neighbours(f, kept[k], levels[k], static_cast<int>(done))) : levels[k];
    done += std::size_t{1} << k;
  }
  return x;
}

Value* emit_shift_lanes(function_emitter& f, const ir::instruction& i) {
  AllocaInst* const kept = f.cells[static_cast<std::size_t>(i.args[0])].slides[0];
  Value* x = splat(f, f.values[static_cast<std::size_t>(i.args[1])], f.lanes);
  Value* result = neighbours(f, content_of(f, kept), x, i.dimension);
  f.build.CreateStore(x, kept);
  return result;
}

}  // namespace sheaf::llvm_backend
