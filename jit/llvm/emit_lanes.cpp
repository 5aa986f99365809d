// What vectors make of their neighbours: prefixes, recurrences, windows and shifts, by log-steps between lanes.
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

// Lane k takes the one `by` before it (after it, backward) in the row of this vector and its neighbour.
Value* neighbours(function_emitter& f, Value* kept, Value* x, int by) {
  std::vector<int> from;
  for (int k = 0; k < f.lanes; ++k) from.push_back(f.backward ? k + by : f.lanes + k - by);
  return f.backward ? f.build.CreateShuffleVector(x, kept, from) : f.build.CreateShuffleVector(kept, x, from);
}

}  // namespace

// Log-step prefixes within the vector, then the accumulator onto each lane. Only the accumulator is carried from
// vector to vector, so a wide one keeps a long sum exact to the last bits; dead lanes count as the identity, so its
// last lane is the total of every vector.
Value* emit_scan_lanes(function_emitter& f, const ir::instruction& i) {
  if (i.args.size() > 2) throw compile_error("folds that begin anew at slices have no place on a processor");
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
  for (int step = 1; step < f.lanes; step *= 2)
    x = f.backward ? combined(f, i.type, a.fold, x, neighbours(f, shifted_in, x, step))
                   : combined(f, i.type, a.fold, neighbours(f, shifted_in, x, step), x);
  const bool wider = a.type != i.type;
  Value* carry = content_of(f, c.parts[0]);
  Value* total = b.CreateExtractElement(x, static_cast<std::uint64_t>(f.backward ? 0 : f.lanes - 1));
  Value* before = wider ? emit_cast(f, a.type, i.type, carry) : carry;
  Value* result = combined(f, i.type, a.fold, splat(f, before, f.lanes), x);
  b.CreateStore(combined(f, a.type, a.fold, carry, wider ? emit_cast(f, i.type, a.type, total) : total), c.parts[0]);
  return i.type == element::boolean ? from_memory(f, i.type, result) : result;
}

// Steps x -> factor * x + value, joined pairwise by log-steps: of two, the factors multiply and the later takes the
// earlier's value in. A boolean factor is a mask of all bits. Dead lanes keep what came and add nothing.
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
    Value* none = b.CreateFCmpOEQ(old, zero);
    if (i.dimension != 0) none = b.CreateOr(none, b.CreateFCmpOEQ(by, zero));
    return b.CreateSelect(none, zero, b.CreateFMul(by, old));
  };
  Constant* nothing = ConstantFP::get(type, -0.0);  // a shifted 0 would become a slow expansion
  for (int step = 1; step < f.lanes; step *= 2) {
    x = b.CreateFAdd(scaled(factor, neighbours(f, nothing, x, step)), x);
    Value* earlier = neighbours(f, one, factor, step);
    factor = keeps ? b.CreateAnd(factor, earlier) : scaled(factor, earlier);
  }
  Value* carry = splat(f, content_of(f, c.parts[0]), f.lanes);
  Value* result = b.CreateFAdd(scaled(factor, carry), x);
  b.CreateStore(b.CreateExtractElement(result, static_cast<std::uint64_t>(f.backward ? 0 : f.lanes - 1)), c.parts[0]);
  return result;
}

// Folds of 1, 2, 4, ... lanes, each from two of the one before; the width is put together from those, or, where
// combining a value twice changes nothing, from two that overlap. Of the lanes before this vector only what the last
// iteration kept is used.
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
  // The smallest first: what is further away than a register needs less of the iteration before.
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

}  // namespace sheaf::inline v0_1::llvm_backend
