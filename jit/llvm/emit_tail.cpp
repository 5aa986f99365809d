// What a vector loop leaves over: the same code as a whole group of lanes, masked. Where lanes are results of their
// own, a rest that fits one register takes one, and another takes groups of half the lanes: a loop of many accumulators
// costs a short row no more than it must, and there is less code than of a whole group. Where lanes are folded, a rest
// that fits one register meets the first lanes of the accumulators alone; where masks are no registers it goes by
// groups of lanes, of which the last alone is masked.
#include <algorithm>

#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

// The first `count` of the lanes, compared in bytes: one instruction where masks are registers.
Value* first_lanes(function_emitter& f, Value* count, int lanes) {
  const int bits = lanes <= 128 ? 8 : 16;
  Type* const narrow = f.build.getIntNTy(static_cast<unsigned>(bits));
  Value* limit = splat(f, f.build.CreateTrunc(count, narrow), lanes);
  Value* mask = f.build.CreateICmpULT(iota(f.build.getContext(), bits, lanes), limit);
  // The freeze keeps LLVM from computing the mask again, from lane numbers in registers, inside of inner loops. Where
  // masks are no registers it would have them kept as vectors of bytes, which is worse.
  return f.m.target.vectors.mask_registers ? f.build.CreateFreeze(mask) : mask;
}

// What a loop's body says of its lanes.
class body_of_lanes {
 public:
  body_of_lanes(const function_emitter& f, const ir::statement& loop) : f_(f), loop_(loop) {
    collect(loop.body);
    walk(loop.body);
  }
  // May fewer lanes run it? Not where lanes know others, or a place among them.
  bool may_be_narrower = true;
  bool folds_lanes = false;  // into an accumulator that is older than the loop: a whole group meets all of its lanes
  int widest = 1;  // bytes of a lane
  int period = 1;  // of what lanes differ in
  bool gathers = false;
  bool streams = false;  // rows of memory: half the lanes would walk them twice

 private:
  void collect(const ir::block& body) {
    for (const ir::statement& s : body) {
      if (s.kind == ir::statement_kind::instruct) inside_.push_back(s.id);
      collect(s.body);
    }
  }
  bool is_inside(ir::value v) const { return std::find(inside_.begin(), inside_.end(), v) != inside_.end(); }
  void read(ir::value v) {
    if (v != ir::none && f_.instruction(v).vector && !is_inside(v)) may_be_narrower = false;
  }
  void walk(const ir::block& body) {
    for (const ir::statement& s : body) {
      streams = streams || (s.kind == ir::statement_kind::prefetch && s.l2);
      if (s.kind == ir::statement_kind::append) may_be_narrower = false;
      if (s.kind == ir::statement_kind::loop && s.how_loop != ir::loop_kind::serial) may_be_narrower = false;
      if (s.kind == ir::statement_kind::instruct) walk(f_.instruction(s.id));
      // Once a group, whatever its lanes.
      if (s.kind == ir::statement_kind::store && s.how == ir::access::uniform) may_be_narrower = false;
      if (s.kind == ir::statement_kind::store) widest = std::max(widest, row(f_.buffer(s.target).type).bytes);
      if (s.kind == ir::statement_kind::combine && !is_inside(s.target_value))
        combine(s);
      else
        read(s.target_value);
      for (const ir::value v : {s.stored, s.mask, s.position}) read(v);
      for (const ir::value v : s.more) read(v);
      for (const ir::value v : s.subscripts) read(v);
      walk(s.body);
    }
  }
  void combine(const ir::statement& s) {
    const ir::instruction& accumulator = f_.instruction(s.target_value);
    if (!accumulator.vector || !f_.instruction(s.stored).vector) may_be_narrower = false;  // once a group
    folds_lanes = true;
  }
  void walk(const ir::instruction& i) {
    switch (i.code) {
      case ir::opcode::scan_lanes:
      case ir::opcode::recur_lanes:
      case ir::opcode::slide_lanes:
      case ir::opcode::shift_lanes:
      case ir::opcode::fold_lanes:
        may_be_narrower = false;
        break;
      case ir::opcode::pattern:
        period = std::max(period, i.dimension);
        break;
      case ir::opcode::accumulator:
        if (i.dimension > 0) may_be_narrower = false;
        [[fallthrough]];
      case ir::opcode::load:
      case ir::opcode::elementwise:
        // Places are computed with scalars.
        if (i.vector && (is_floating(i.type) || i.code != ir::opcode::elementwise))
          widest = std::max(widest, row(i.type).bytes);
        gathers = gathers || (i.code == ir::opcode::load && i.how == ir::access::gather);
        if (i.code == ir::opcode::load && i.how == ir::access::deinterleaved)
          period = std::max(period, i.apart.repeat > 1 ? loop_.lanes : 1);
        break;
      default:
        break;
    }
    read(i.mask);
    for (const ir::value v : i.args) read(v);
  }

  const function_emitter& f_;
  const ir::statement& loop_;
  std::vector<ir::value> inside_;
};

}  // namespace

// Each lane has its results for itself, so that fewer in a group change none.
int lanes_of_groups(const function_emitter& f, const ir::statement& s) {
  const target::vectors& v = f.m.target.vectors;
  const auto most_bytes = v.register_bytes * v.registers / tuning::emit::values_in_registers;
  const body_of_lanes body(f, s);
  if (!body.may_be_narrower || body.folds_lanes) return s.lanes;
  int lanes = s.lanes;
  while (lanes * body.widest > most_bytes && lanes / 2 >= std::max(body.period, tuning::emit::least_group)) lanes /= 2;
  return lanes;
}

namespace {

// A group of `lanes` at most, from `counter` on.
void emit_masked(function_emitter& f, const ir::statement& s, Value* counter, Value* count, int lanes) {
  f.lanes = lanes;
  f.tail_count = count;
  f.tail_mask = first_lanes(f, count, lanes);
  set_counter(f, s, counter);
  f.tail_count = f.tail_mask = nullptr;
  f.lanes = f.whole_lanes;
}

template <int Part>
void masked_part(function_emitter& f, const ir::statement& s, Value* counter) {
  Value* high = f.values[static_cast<std::size_t>(s.high)];
  Value* lanes = f.build.getInt64(static_cast<std::uint64_t>(f.whole_lanes / Part));
  emit_masked(f, s, counter, f.build.CreateBinaryIntrinsic(Intrinsic::umin, f.build.CreateSub(high, counter), lanes),
              f.whole_lanes / Part);
}

}  // namespace

void masked_body(function_emitter& f, const ir::statement& s, Value* counter) { masked_part<1>(f, s, counter); }

namespace {

void emit_tail(function_emitter& f, const ir::statement& s, Value* start, Value* rest, int lanes) {
  auto& b = f.build;
  if (const auto* known = dyn_cast<ConstantInt>(rest); known && known->isZero()) return;
  auto* tail = BasicBlock::Create(b.getContext(), "tail", f.function);
  auto* done = BasicBlock::Create(b.getContext(), "tail.done", f.function);
  b.CreateCondBr(b.CreateICmpNE(rest, b.getInt64(0)), tail, done);
  b.SetInsertPoint(tail);
  emit_masked(f, s, start, rest, lanes);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace

void emit_tail(function_emitter& f, const ir::statement& s, Value* start, Value* rest) {
  emit_tail(f, s, start, rest, f.whole_lanes);
}

Value* at_most(function_emitter& f, Value* count, int lanes) {
  return f.build.CreateICmpULE(count, f.build.getInt64(static_cast<std::uint64_t>(lanes)));
}

std::vector<Value*> emit_either(function_emitter& f, Value* condition, values_maker then, values_maker other) {
  auto& b = f.build;
  auto* yes = BasicBlock::Create(b.getContext(), "then", f.function);
  auto* no = BasicBlock::Create(b.getContext(), "other", f.function);
  auto* done = BasicBlock::Create(b.getContext(), "either", f.function);
  b.CreateCondBr(condition, yes, no);
  const auto made_in = [&](BasicBlock* begin, values_maker make) {
    b.SetInsertPoint(begin);
    std::vector<Value*> made = make();
    BasicBlock* const end = b.GetInsertBlock();
    b.CreateBr(done);
    return std::pair(std::move(made), end);
  };
  const auto [some, some_end] = made_in(yes, then);
  const auto [all, all_end] = made_in(no, other);
  b.SetInsertPoint(done);
  std::vector<Value*> values;
  for (std::size_t k = 0; k < some.size(); ++k) {
    PHINode* phi = b.CreatePHI(some[k]->getType(), 2);
    phi->addIncoming(some[k], some_end);
    phi->addIncoming(all[k], all_end);
    values.push_back(phi);
  }
  return values;
}

namespace {

// Where masks are no registers each takes as long as what it guards: of a rest that is folded, groups of `lanes` go
// without, each into lanes of the accumulators of its own, and only the last has one.
void emit_groups_of_rest(function_emitter& f, const ir::statement& s, Value* start, Value* rest, int lanes) {
  auto& b = f.build;
  const auto number = [&](int n) { return b.getInt64(static_cast<std::uint64_t>(n)); };
  auto* done = BasicBlock::Create(b.getContext(), "rest.done", f.function);
  for (; f.first_lane + lanes < f.whole_lanes; f.first_lane += lanes) {
    auto* whole = BasicBlock::Create(b.getContext(), "rest.whole", f.function);
    auto* last = BasicBlock::Create(b.getContext(), "rest.last", f.function);
    Value* const counter = b.CreateAdd(start, number(f.first_lane));
    b.CreateCondBr(b.CreateICmpSGE(rest, number(f.first_lane + lanes)), whole, last);
    b.SetInsertPoint(last);
    emit_tail(f, s, counter, b.CreateSub(rest, number(f.first_lane)), lanes);
    b.CreateBr(done);
    b.SetInsertPoint(whole);
    f.lanes = lanes;
    set_counter(f, s, counter);
    f.lanes = f.whole_lanes;
  }
  emit_tail(f, s, b.CreateAdd(start, number(f.first_lane)), b.CreateSub(rest, number(f.first_lane)), lanes);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  f.first_lane = 0;
}

}  // namespace

void emit_rest(function_emitter& f, const ir::statement& s, Value* start, Value* high, Value* rest, Value* count) {
  const body_of_lanes body(f, s);
  const bool has_masks = f.m.target.vectors.mask_registers;
  const int lanes_of_register = f.m.target.vectors.register_bytes / body.widest;
  // The lanes of a register; of what is gathered each lane costs by itself.
  const int one = !body.folds_lanes ? lanes_of_register / (body.gathers ? 2 : 1)
                  : has_masks       ? f.whole_lanes / 4
                                    : std::max(f.whole_lanes / 4, lanes_of_register);
  if (!body.may_be_narrower || one < 2 || 2 * one > f.whole_lanes || body.period > one)
    return emit_tail(f, s, start, rest);
  if (body.folds_lanes) f.narrow_rows[static_cast<std::size_t>(s.loop)] = {count, one};
  if (body.folds_lanes && !has_masks) return emit_groups_of_rest(f, s, start, rest, one);
  const auto few = [&] { return emit_tail(f, s, start, rest, one), std::vector<Value*>(); };
  const auto many = [&] {
    if (body.folds_lanes || body.streams)
      emit_tail(f, s, start, rest);
    else
      emit_counted_loop(f, s, start, high, f.whole_lanes / 2, masked_part<2>);
    return std::vector<Value*>();
  };
  if (2 * one == f.whole_lanes)
    many();
  else
    emit_either(f, at_most(f, rest, one), few, many);
}

}  // namespace sheaf::inline v0_1::llvm_backend
