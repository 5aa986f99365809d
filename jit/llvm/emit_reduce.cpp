// Accumulators: their identities, and how a value is combined into one.
#include <llvm/IR/Intrinsics.h>

#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

Value* fused(function_emitter& f, const ir::statement& s, Value* sum, int lanes) {
  const ir::instruction& product = f.instruction(s.stored);
  Value* a = splat(f, f.values[static_cast<std::size_t>(product.args[0])], lanes);
  Value* b = splat(f, f.values[static_cast<std::size_t>(product.args[1])], lanes);
  return f.build.CreateIntrinsic(Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

// The lanes that a combine may change; null: all of them.
Value* live_lanes(function_emitter& f, const ir::statement& s, const cell& c, int lanes) {
  Value* mask = s.mask == ir::none ? nullptr : splat(f, f.values[static_cast<std::size_t>(s.mask)], lanes);
  if (!c.lanes || !f.tail_mask || c.born_in == f.vector_loop) return mask;
  return mask ? f.build.CreateAnd(mask, f.tail_mask) : f.tail_mask;
}

// The lanes of the vector loop, somewhere in `body`, that combines into accumulator `id`.
int combining_lanes(const function_emitter& f, const ir::block& body, ir::value id, int around) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::combine && s.target_value == id) return around;
    if (s.kind == ir::statement_kind::instruct &&
        (f.instruction(s.id).code == ir::opcode::slide_lanes || f.instruction(s.id).code == ir::opcode::shift_lanes) &&
        f.instruction(s.id).args[0] == id)
      return around;
    const bool vector = s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector;
    if (const int found = combining_lanes(f, s.body, id, vector ? s.lanes : around)) return found;
  }
  return 0;
}

// `whole` of `of` lanes with `part` for those from f.first_lane on.
Value* with_part(function_emitter& f, Value* whole, Value* part, int lanes, int of) {
  std::vector<int> widened, from;
  for (int k = 0; k < of; ++k) {
    const int at = k - f.first_lane;
    const bool inside = at >= 0 && at < lanes;
    widened.push_back(inside ? at : -1), from.push_back(inside ? k : of + k);
  }
  return f.build.CreateShuffleVector(f.build.CreateShuffleVector(part, widened), whole, from);
}

}  // namespace

Value* part_of(function_emitter& f, Value* whole, int lanes, int first) {
  std::vector<int> from;
  for (int k = 0; k < lanes; ++k) from.push_back(first + k);
  return f.build.CreateShuffleVector(whole, from);
}

state contents_of(function_emitter& f, const cell& c) {
  state list;
  for (AllocaInst* slot : c.parts) list.push_back(content_of(f, slot));
  return list;
}

void emit_accumulator(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  auto& b = f.build;
  cell& c = f.cells[static_cast<std::size_t>(id)];
  c.born_in = f.vector_loop;
  c.lanes = i.vector ? (f.lanes ? f.lanes : combining_lanes(f, f.kernel.body, id, 0)) : 0;
  if (i.vector && !c.lanes) c.lanes = 2;  // nothing is ever combined into it: any width folds to the identity
  const std::vector<element> types = types_of_state(f, i);
  if (i.dimension > 0) {
    Type* const type = widen(cell_type(b.getContext(), i.type), c.lanes);
    for (std::size_t k = 0; (1 << k) <= i.dimension; ++k) {
      if (k == c.slides.size()) c.slides.push_back(f.stack_slot(type, "slide"));
      b.CreateStore(identity(f, type, i.type, i.fold), c.slides[k]);
    }
    return;
  }
  // A loop's rest has fewer lanes.
  if (!c.parts.empty() && c.parts[0]->getAllocatedType() != widen(cell_type(b.getContext(), types[0]), c.lanes))
    c.parts.clear();
  for (std::size_t k = 0; k < types.size(); ++k) {
    Type* const type = widen(cell_type(b.getContext(), types[k]), c.lanes);
    const bool position = k == 1 && has_position(i.fold);
    if (k == c.parts.size()) c.parts.push_back(f.stack_slot(type, position ? "position" : "accumulator"));
    const monoid fold = is_own(i.fold) ? own_kind(own_number(i.fold) + static_cast<int>(k)) : i.fold;
    b.CreateStore(position ? highest_position(type) : identity(f, type, types[k], fold), c.parts[k]);
  }
}

void emit_combine(function_emitter& f, const ir::statement& s) {
  auto& b = f.build;
  const ir::instruction& i = f.instruction(s.target_value);
  const cell& c = f.cells[static_cast<std::size_t>(s.target_value)];
  const state whole = contents_of(f, c);
  // A loop's rest may meet some lanes of an older accumulator alone.
  const bool is_part = c.lanes && f.lanes && f.lanes < c.lanes;
  const int lanes = is_part ? f.lanes : c.lanes;
  state old = whole;
  if (is_part)
    for (Value*& v : old) v = part_of(f, v, lanes, f.first_lane);
  state next;
  if (s.fma && f.m.target.fma && !f.m.target.exact_sum) {
    next = {fused(f, s, old[0], lanes)};
  } else {
    const auto taken = [&](ir::value v) { return splat(f, f.values[static_cast<std::size_t>(v)], lanes); };
    state x{taken(s.stored)};
    if (i.type == element::boolean) x[0] = to_memory(f, element::boolean, x[0]);
    if (has_position(i.fold)) x.push_back(taken(s.position));
    for (const ir::value v : s.more) x.push_back(taken(v));
    next = s.earlier ? combined(f, i.type, i.fold, x, old) : combined(f, i.type, i.fold, old, x);
  }
  Value* const live = live_lanes(f, s, c, lanes);
  for (std::size_t k = 0; k < next.size(); ++k) {
    Value* const made = live ? b.CreateSelect(live, next[k], old[k]) : next[k];
    b.CreateStore(is_part ? with_part(f, whole[k], made, lanes, c.lanes) : made, c.parts[k]);
  }
}

// Over nothing there is no position: -1.
Value* worth(function_emitter& f, const ir::instruction& accumulator, const state& whole, std::int32_t k) {
  if (has_position(accumulator.fold)) {
    Value* const position = whole[1];
    Value* const none = Constant::getAllOnesValue(position->getType());
    Value* const empty = f.build.CreateICmpEQ(position, highest_position(position->getType()));
    return f.build.CreateSelect(empty, none, position);
  }
  Value* const value = whole[static_cast<std::size_t>(k)];
  return accumulator.type == element::boolean ? from_memory(f, accumulator.type, value) : value;
}

Value* emit_read(function_emitter& f, const ir::instruction& i) {
  const ir::instruction& a = f.instruction(i.args[0]);
  const cell& c = f.cells[static_cast<std::size_t>(i.args[0])];
  if (a.dimension > 0) return content_of(f, c.slides[0]);
  return worth(f, a, contents_of(f, c), i.dimension);
}

}  // namespace sheaf::inline v0_1::llvm_backend
