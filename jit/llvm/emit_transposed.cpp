// Lanes that are rows, in a loop along these: a few columns at a time are loaded row by row and transposed in
// registers, or transposed and stored row by row. Where iterations may run again the last columns are as many, and in
// the tail of a vector loop lanes beyond the last read its first row and store beside. Elsewhere what is left, fewer
// columns, goes through a tile on the stack, column by column, and the tail gathers. Where a constant few columns are
// all that rows have, and these stand one after the other, as of `y(i, k.in(0, 2))`, memory is interleaved from
// columns, or taken apart.
#include <algorithm>
#include <optional>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

constexpr int width = ir::transposed_columns;

// How far the value moves from lane to lane, where that is a constant.
std::optional<std::int64_t> step_of(const function_emitter& f, ir::value v) {
  const ir::instruction& i = f.instruction(v);
  if (!i.vector) return 0;
  if (i.code == ir::opcode::lanes) return 1;
  if (i.code != ir::opcode::elementwise || (i.what != op::add && i.what != op::sub)) return std::nullopt;
  const auto a = step_of(f, i.args[0]), b = step_of(f, i.args[1]);
  if (!a || !b) return std::nullopt;
  return i.what == op::add ? *a + *b : *a - *b;
}

// Of one whose step is known.
Value* first_lane(function_emitter& f, ir::value v) {
  const ir::instruction& i = f.instruction(v);
  if (!i.vector) return f.values[static_cast<std::size_t>(v)];
  if (i.code == ir::opcode::lanes) return f.counters[static_cast<std::size_t>(i.target)];
  Value *const x = first_lane(f, i.args[0]), *const y = first_lane(f, i.args[1]);
  return i.what == op::add ? f.build.CreateAdd(x, y) : f.build.CreateSub(x, y);
}

// Has the lane of a tail a row?
Value* is_live(function_emitter& f, int lane) {
  return f.build.CreateICmpUGT(f.tail_count, f.build.getInt64(static_cast<std::uint64_t>(lane)));
}

// Where each lane's row is, at the column of the iteration. Of a tail the lanes that have none name the first's.
std::vector<Value*> rows_of(function_emitter& f, std::int32_t id, const std::vector<ir::value>& subscripts) {
  auto& b = f.build;
  const buffer_facts& facts = facts_of(f, id);
  Type* const element = stored_type(b.getContext(), f.buffer(id).type);
  Value *base = facts.data, *step = b.getInt64(0), *others = nullptr;
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d) {
    if (const auto by = step_of(f, subscripts[d])) {
      base = b.CreateGEP(element, base, b.CreateMul(first_lane(f, subscripts[d]), facts.strides[d]));
      step = b.CreateAdd(step, b.CreateMul(facts.strides[d], b.getInt64(static_cast<std::uint64_t>(*by))));
    } else {
      Value* const place = f.values[static_cast<std::size_t>(subscripts[d])];
      Value* const term = b.CreateMul(place, splat(f, facts.strides[d], f.lanes));
      others = others ? b.CreateAdd(others, term) : term;
    }
  }
  Value* const column = f.values[static_cast<std::size_t>(subscripts.back())];
  std::vector<Value*> rows;
  Value* block = base;
  for (int r = 0; r < f.lanes; ++r) {
    if (r > 0 && r % width == 0) block = b.CreateGEP(element, block, b.CreateMul(step, b.getInt64(width)));
    Value* row = b.CreateGEP(element, block, b.CreateMul(step, b.getInt64(static_cast<std::uint64_t>(r % width))));
    if (others) row = b.CreateGEP(element, row, b.CreateExtractElement(others, static_cast<std::uint64_t>(r)));
    rows.push_back(b.CreateGEP(element, row, column));
    if (f.tail_mask && r > 0) rows.back() = b.CreateSelect(is_live(f, r), rows.back(), rows.front());
  }
  return rows;
}

// Vectors one after the other.
Value* joined(builder& b, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> pairs;
    const auto n = static_cast<int>(cast<FixedVectorType>(parts[0]->getType())->getNumElements());
    std::vector<int> each;
    for (int k = 0; k < 2 * n; ++k) each.push_back(k);
    for (std::size_t k = 0; k < parts.size(); k += 2)
      pairs.push_back(b.CreateShuffleVector(parts[k], parts[k + 1], each));
    parts = std::move(pairs);
  }
  return parts[0];
}

// Elements `first` and `first` + 1 of each four of x and of y: alternating, or those of x before those of y.
Value* of_fours(builder& b, Value* x, Value* y, int first, bool alternating) {
  const auto n = static_cast<int>(cast<FixedVectorType>(x->getType())->getNumElements());
  std::vector<int> from;
  for (int k = 0; k < n; ++k) {
    const int four = k - k % width, at = k % width;
    const bool second = alternating ? at % 2 != 0 : at >= 2;
    from.push_back((second ? n : 0) + four + first + (alternating ? at / 2 : at % 2));
  }
  return b.CreateShuffleVector(x, y, from);
}

// Each four elements are a row of a 4 x 4 matrix, which stands in the four vectors: transposed, all at once.
void transpose(builder& b, std::vector<Value*>& v) {
  Value* const low[] = {of_fours(b, v[0], v[1], 0, true), of_fours(b, v[2], v[3], 0, true)};
  Value* const high[] = {of_fours(b, v[0], v[1], 2, true), of_fours(b, v[2], v[3], 2, true)};
  v = {of_fours(b, low[0], low[1], 0, false), of_fours(b, low[0], low[1], 2, false),
       of_fours(b, high[0], high[1], 0, false), of_fours(b, high[0], high[1], 2, false)};
}

// So many lanes are transposed at once.
int lanes_at_once(const function_emitter& f, int bytes) {
  return std::min(f.lanes, std::max(width, f.m.target.vectors.register_bytes / bytes));
}

// live: null, or which columns of a row there are.
std::vector<Value*> columns_of(function_emitter& f, const std::vector<Value*>& rows, Type* element, int bytes,
                               Value* live) {
  auto& b = f.build;
  Type* const type = FixedVectorType::get(element, width);
  const Align align(static_cast<std::uint64_t>(bytes));
  const int some = lanes_at_once(f, bytes);
  std::vector<std::vector<Value*>> columns(width);
  for (int first = 0; first < f.lanes; first += some) {
    std::vector<Value*> fours;
    for (int k = 0; k < width; ++k) {
      std::vector<Value*> parts;
      for (int r = first + k; r < first + some; r += width) {
        Value* const row = rows[static_cast<std::size_t>(r)];
        parts.push_back(live ? masked_load(f, type, row, align, live) : b.CreateAlignedLoad(type, row, align));
      }
      fours.push_back(joined(b, parts));
    }
    transpose(b, fours);
    for (std::size_t k = 0; k < width; ++k) columns[k].push_back(fours[k]);
  }
  std::vector<Value*> all;
  for (const auto& parts : columns) all.push_back(joined(b, parts));
  return all;
}

void store_columns(function_emitter& f, const std::vector<Value*>& rows, const std::vector<Value*>& columns, int bytes,
                   Value* live) {
  auto& b = f.build;
  const Align align(static_cast<std::uint64_t>(bytes));
  const int some = lanes_at_once(f, bytes);
  for (int first = 0; first < f.lanes; first += some) {
    std::vector<int> part;
    for (int k = 0; k < some; ++k) part.push_back(first + k);
    std::vector<Value*> fours;
    for (Value* column : columns) fours.push_back(b.CreateShuffleVector(column, part));
    transpose(b, fours);
    for (int r = 0; r < some; ++r) {
      std::vector<int> four;
      for (int k = 0; k < width; ++k) four.push_back(r - r % width + k);
      Value* const bits = b.CreateShuffleVector(fours[static_cast<std::size_t>(r % width)], four);
      Value* row = rows[static_cast<std::size_t>(first + r)];
      if (f.tail_mask && first + r > 0) row = b.CreateSelect(is_live(f, first + r), row, sink(f));
      live ? masked_store(f, bits, row, align, live) : void(b.CreateAlignedStore(bits, row, align));
    }
  }
}

Align align_of(element type) { return Align(static_cast<std::uint64_t>(row(type).bytes)); }

// Of a loop over a constant number of columns, as many; 0: of another loop.
int columns_of(const function_emitter& f, const ir::statement& s) {
  const auto* low = dyn_cast<ConstantInt>(f.values[static_cast<std::size_t>(s.low)]);
  const auto* high = dyn_cast<ConstantInt>(f.values[static_cast<std::size_t>(s.high)]);
  if (low == nullptr || high == nullptr || !low->isZero()) return 0;
  const std::int64_t count = high->getSExtValue();
  return count >= 2 && count <= width ? static_cast<int>(count) : 0;
}

// How far a lane's row is from the one before it, in elements; null: rows stand anywhere.
Value* step_of_rows(function_emitter& f, std::int32_t id, const std::vector<ir::value>& subscripts) {
  const buffer_facts& facts = facts_of(f, id);
  Value* step = f.build.getInt64(0);
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d) {
    const auto by = step_of(f, subscripts[d]);
    if (!by) return nullptr;
    Value* const rows = f.build.getInt64(static_cast<std::uint64_t>(*by));
    if (*by != 0) step = f.build.CreateAdd(step, f.build.CreateMul(facts.strides[d], rows));
  }
  return step;
}

// Do rows of as many columns stand one after the other, in each of the accesses? Null: never.
Value* are_rows_dense(function_emitter& f, const ir::statement& s, int columns) {
  Value* dense = f.build.getTrue();
  for (const ir::statement& each : s.body) {
    Value* step = nullptr;
    if (each.kind == ir::statement_kind::store && each.how == ir::access::transposed)
      step = step_of_rows(f, each.target, each.subscripts);
    else if (each.kind == ir::statement_kind::instruct && f.instruction(each.id).how == ir::access::transposed)
      step = step_of_rows(f, f.instruction(each.id).target, f.instruction(each.id).args);
    else
      continue;
    if (step == nullptr) return nullptr;
    dense = f.build.CreateAnd(dense, f.build.CreateICmpEQ(step, f.build.getInt64(static_cast<std::uint64_t>(columns))));
  }
  return dense;
}

// Of all columns of the live rows, one after the other.
Value* live_elements(function_emitter& f) {
  auto& b = f.build;
  const int all = f.lanes * f.group.all;
  Value* const count = b.CreateMul(f.tail_count, b.getInt64(static_cast<std::uint64_t>(f.group.all)));
  return b.CreateICmpULT(iota(b.getContext(), 32, all), splat(f, b.CreateTrunc(count, b.getInt32Ty()), all));
}

std::vector<Value*> columns_taken_apart(function_emitter& f, Value* address, Type* element, Align align) {
  auto& b = f.build;
  Type* const type = widen(element, f.lanes * f.group.all);
  Value* const whole = f.tail_mask ? masked_load(f, type, address, align, live_elements(f))
                                   : b.CreateAlignedLoad(type, address, align);
  std::vector<Value*> columns;
  for (int column = 0; column < f.group.all; ++column) {
    std::vector<int> from;
    for (int k = 0; k < f.lanes; ++k) from.push_back(k * f.group.all + column);
    columns.push_back(b.CreateShuffleVector(whole, from));
  }
  return columns;
}

void store_interleaved(function_emitter& f, Value* address, std::vector<Value*> columns, Align align) {
  auto& b = f.build;
  const int all = f.group.all;
  if (all % 2 != 0) columns.push_back(PoisonValue::get(columns[0]->getType()));
  Value* const side_by_side = joined(b, columns);
  std::vector<int> from;
  for (int k = 0; k < f.lanes * all; ++k) from.push_back(k % all * f.lanes + k / all);
  Value* const whole = b.CreateShuffleVector(side_by_side, from);
  if (f.tail_mask) return masked_store(f, whole, address, align, live_elements(f));
  b.CreateAlignedStore(whole, address, align);
}

Value* live_columns(function_emitter& f) {
  auto& b = f.build;
  return b.CreateICmpULT(iota(b.getContext(), 64, width), splat(f, f.group.count, width));
}

Value* column_of_tile(function_emitter& f, column_group::access& a, Type* type, Value* column) {
  if (!a.tile) a.tile = f.stack_slot(ArrayType::get(type, width), "tile");
  return f.build.CreateGEP(type, a.tile, column);
}

// Code that runs where the condition holds.
template <class Emit>
void where(function_emitter& f, Value* condition, const Emit& emit) {
  auto& b = f.build;
  auto* some = BasicBlock::Create(b.getContext(), "columns", f.function);
  auto* done = BasicBlock::Create(b.getContext(), "columns.done", f.function);
  b.CreateCondBr(condition, some, done);
  b.SetInsertPoint(some);
  emit();
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void known_columns(function_emitter& f, const ir::statement& s, Value* counter) {
  f.group.accesses.clear();
  for (f.group.column = 0; f.group.column < width; ++f.group.column)
    f.group.body(f, s, f.build.CreateAdd(counter, f.build.getInt64(static_cast<std::uint64_t>(f.group.column))));
  f.group.column = -1;
}

// As many columns as are transposed at once, the last ones too: some of these are then computed and stored again.
void columns_up_to_last(function_emitter& f, const ir::statement& s, Value* counter) {
  known_columns(f, s, f.build.CreateBinaryIntrinsic(Intrinsic::smin, counter, f.group.first));
}

// Code for rows that stand one after the other, and for others. False: they never do so, nothing is emitted.
template <class Other>
bool all_columns(function_emitter& f, const ir::statement& s, loop_body body, const Other& other) {
  const int columns = columns_of(f, s);
  Value* const dense = columns != 0 ? are_rows_dense(f, s, columns) : nullptr;
  if (dense == nullptr || f.m.target.vectors.least_masked == 0) return false;
  const auto interleave = [&] {
    f.group = {};
    f.group.all = columns;
    for (f.group.column = 0; f.group.column < columns; ++f.group.column)
      body(f, s, f.build.getInt64(static_cast<std::uint64_t>(f.group.column)));
    f.group = {};
  };
  if (const auto* known = dyn_cast<ConstantInt>(dense)) {
    if (known->isOne()) interleave();
    return known->isOne();
  }
  where(f, dense, interleave);
  where(f, f.build.CreateNot(dense), other);
  return true;
}

void columns_left(function_emitter& f, const ir::statement& s, Value* counter) {
  f.group.place = f.build.CreateSub(counter, f.group.first);
  f.group.body(f, s, counter);
  f.group.place = nullptr;
}

}  // namespace

Value* emit_transposed_load(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const element type = f.buffer(i.target).type;
  Type* const element = stored_type(b.getContext(), type);
  column_group::access& a = f.group.accesses[&i];
  if (f.group.column == 0 && f.group.all != 0)
    a.columns = columns_taken_apart(f, rows_of(f, i.target, i.args)[0], element, align_of(type));
  else if (f.group.column == 0)
    a.columns = columns_of(f, rows_of(f, i.target, i.args), element, row(type).bytes, nullptr);
  if (f.group.column >= 0) return a.columns[static_cast<std::size_t>(f.group.column)];
  Type* const lanes = widen(element, f.lanes);
  where(f, b.CreateIsNull(f.group.place), [&] {
    const auto columns = columns_of(f, rows_of(f, i.target, i.args), element, row(type).bytes, live_columns(f));
    for (std::size_t k = 0; k < width; ++k) b.CreateStore(columns[k], column_of_tile(f, a, lanes, b.getInt64(k)));
  });
  return b.CreateLoad(lanes, column_of_tile(f, a, lanes, f.group.place));
}

void emit_transposed_store(function_emitter& f, const ir::statement& s, Value* bits) {
  auto& b = f.build;
  const element type = f.buffer(s.target).type;
  column_group::access& a = f.group.accesses[&s];
  if (f.group.column == 0) a.rows = rows_of(f, s.target, s.subscripts);
  if (f.group.column >= 0) {
    a.columns.push_back(bits);
    if (f.group.all != 0 && f.group.column == f.group.all - 1)
      store_interleaved(f, a.rows[0], a.columns, align_of(type));
    if (f.group.all != 0 || f.group.column != width - 1) return;
    store_columns(f, a.rows, a.columns, row(type).bytes, nullptr);
    return;
  }
  b.CreateStore(bits, column_of_tile(f, a, bits->getType(), f.group.place));
  Value* const last = b.CreateICmpEQ(b.CreateAdd(f.group.place, b.getInt64(1)), f.group.count);
  where(f, last, [&] {
    std::vector<Value*> columns, rows = rows_of(f, s.target, s.subscripts);
    Type* const element = stored_type(b.getContext(), type);
    for (Value*& row : rows) row = b.CreateGEP(element, row, b.CreateNeg(f.group.place));
    for (std::size_t k = 0; k < width; ++k)
      columns.push_back(b.CreateLoad(bits->getType(), column_of_tile(f, a, bits->getType(), b.getInt64(k))));
    store_columns(f, rows, columns, row(type).bytes, live_columns(f));
  });
}

// Of some of the rows at each few columns, of all of them by the time that the columns fill a line.
void emit_transposed_prefetch(function_emitter& f, const ir::statement& s) {
  if (f.group.all != 0 || f.group.column != (s.written ? width - 1 : 0)) return;
  auto& b = f.build;
  Value* const step = step_of_rows(f, s.target, s.subscripts);
  if (step == nullptr) return;
  const element type = f.buffer(s.target).type;
  Type* const element = stored_type(b.getContext(), type);
  const int groups = target::line_bytes / row(type).bytes / width, rows = std::max(1, f.lanes / groups);
  const auto i64 = [&](int n) { return b.getInt64(static_cast<std::uint64_t>(n)); };
  Value* const column = f.values[static_cast<std::size_t>(s.subscripts.back())];
  Value* const group = b.CreateAnd(b.CreateUDiv(column, i64(width)), i64(groups - 1));
  Value* const first = b.CreateAdd(b.CreateMul(group, i64(rows)), i64(f.lanes));
  Value* at = b.CreateGEP(element, rows_of(f, s.target, s.subscripts)[0], b.CreateMul(first, step));
  for (int k = 0; k < rows; ++k) {
    emit_prefetch_of(f, at, s);
    at = b.CreateGEP(element, at, step);
  }
}

void emit_transposed_loop(function_emitter& f, const ir::statement& s, loop_body body) {
  auto& b = f.build;
  Value* const low = f.values[static_cast<std::size_t>(s.low)];
  Value* const high = f.values[static_cast<std::size_t>(s.high)];
  const auto one_by_one = [&] { emit_counted_loop(f, s, low, high, 1, body); };
  if (all_columns(f, s, body, one_by_one)) return;
  if (f.lanes < width) return one_by_one();
  Value* const count = b.CreateSub(b.CreateBinaryIntrinsic(Intrinsic::smax, low, high), low);
  if (Value* const apart = may_run_again(f, s)) {
    Value* const enough = b.CreateAnd(apart, b.CreateICmpSGE(count, b.getInt64(width)));
    where(f, enough, [&] {
      f.group = {};
      f.group.body = body;
      f.group.first = b.CreateSub(high, b.getInt64(width));
      emit_counted_loop(f, s, low, high, width, columns_up_to_last);
      f.group = {};
    });
    return where(f, b.CreateNot(enough), one_by_one);
  }
  if (f.tail_mask) return one_by_one();
  Value* const rest = b.CreateURem(count, b.getInt64(width));
  Value* const middle = b.CreateAdd(low, b.CreateSub(count, rest));
  f.group = {};
  f.group.body = body;
  f.group.first = middle;
  f.group.count = rest;
  emit_counted_loop(f, s, low, middle, width, known_columns);
  f.group.accesses.clear();
  const bool masks = f.m.target.vectors.least_masked != 0;
  emit_counted_loop(f, s, middle, high, 1, masks ? columns_left : body);
  f.group = {};
}

}  // namespace sheaf::inline v0_1::llvm_backend
