// Writes kernel IR by hand: for the lowering and for tests. Blocks under construction are objects of their own that are
// closed into their parent when done, so an outer block can still be appended to (hoisting) while an inner one grows:
//
//   kernel_builder k("sum");
//   auto& top = k.top();
//   auto row = top.loop(loop_kind::parallel, "i", top.i64(0), top.extent(x, 0));
//   auto acc = row.accumulator(element::f32, monoid::sum, true);
//   auto col = row.loop(loop_kind::vector, "j", row.i64(0), row.extent(x, 1), 64);
//   col.combine(acc, col.load(x, {row.counter(), col.counter()}, access::contiguous));
//   col.close();
//   row.store(y, {row.counter()}, row.fold_lanes(acc));
//   row.close();
//   m.kernels.push_back(std::move(k).finish());
//
// A call that makes two values among its arguments leaves their order to the compiler: where the text of the program
// matters (cache keys, golden files), make one value a statement. Types and vector-ness are inferred from the
// arguments. Nothing is checked here: verify() does that.
#pragma once
#include <bit>
#include <memory>
#include <utility>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

constexpr bool gives_boolean(op what) {
  return what == op::logical_not || (what >= op::equal && what <= op::logical_or);
}

class kernel_builder;

class block_builder {
 public:
  block_builder(kernel& owner, block_builder* parent, statement head)
      : k_(&owner), parent_(parent), head_(std::move(head)) {}
  block_builder(block_builder&&) = default;

  value constant(element type, std::int64_t bits) {
    return add({.code = opcode::constant, .type = type, .bits = bits, .args = {}});
  }
  value i64(std::int64_t n) { return constant(element::i64, n); }
  value real(element type, double x) { return constant(type, std::bit_cast<std::int64_t>(x)); }
  value extent(std::int32_t buffer, std::int32_t dimension) {
    return add({.code = opcode::extent, .target = buffer, .dimension = dimension, .args = {}});
  }
  value emit(op what, std::vector<value> args) {
    const element type = gives_boolean(what) ? element::boolean : type_of(args[what == op::select ? 1 : 0]);
    return apply(what, type, std::move(args));
  }
  value cast(element to, value x) { return apply(op::cast, to, {x}); }

  // The variable of this loop, as the number of lane 0 and lane by lane; to be used in this block and in blocks inside.
  value counter() {
    if (counter_ == none) counter_ = add({.code = opcode::counter, .target = head_.loop, .args = {}});
    return counter_;
  }
  value run_end() { return add({.code = opcode::run_end, .target = head_.loop, .args = {}}); }
  value lanes() {
    if (lanes_ == none) lanes_ = add({.code = opcode::lanes, .vector = true, .target = head_.loop, .args = {}});
    return lanes_;
  }

  value pattern(std::int64_t bits, std::int32_t period) {
    return add({.code = opcode::pattern,
                .type = element::boolean,
                .vector = true,
                .bits = bits,
                .dimension = period,
                .args = {}});
  }

  // `how` is the access where every subscript is scalar; with a vector among them it is a gather.
  value load(std::int32_t buffer, element type, std::vector<value> subscripts, access how = access::uniform,
             value mask = none) {
    if (any_vector(subscripts)) how = access::gather;
    return add({.code = opcode::load,
                .type = type,
                .vector = how != access::uniform,
                .target = buffer,
                .how = how,
                .mask = mask,
                .args = std::move(subscripts)});
  }
  value load_deinterleaved(std::int32_t buffer, element type, std::vector<value> subscripts, lane_pattern apart,
                    value mask = none) {
    return add({.code = opcode::load,
                .type = type,
                .vector = true,
                .target = buffer,
                .how = access::deinterleaved,
                .mask = mask,
                .apart = apart,
                .args = std::move(subscripts)});
  }
  void store(std::int32_t buffer, std::vector<value> subscripts, value stored, access how = access::uniform,
             value mask = none, bool once = false) {
    if (any_vector(subscripts)) how = access::gather;
    statement s = start(statement_kind::store);
    s.target = buffer;
    s.stored = stored;
    s.mask = mask;
    s.how = how;
    s.once = once;
    s.subscripts = std::move(subscripts);
    body_.push_back(std::move(s));
  }

  void add_to(std::int32_t buffer, std::vector<value> subscripts, value stored, access how, value mask,
              monoid fold = monoid::sum) {
    store(buffer, std::move(subscripts), stored, how, mask);
    body_.back().adds = true;
    body_.back().fold = fold;
  }

  // Lanes that go to places of their own, which no store next to it goes to.
  void store_apart(std::int32_t buffer, std::vector<value> subscripts, value stored) {
    store(buffer, std::move(subscripts), stored, access::gather);
    body_.back().apart = true;
  }

  // Scalar subscripts, those of lane 0; the lanes are contiguous, or one element is asked for.
  void prefetch(std::int32_t buffer, std::vector<value> subscripts, access how = access::contiguous) {
    statement s = start(statement_kind::prefetch);
    s.target = buffer;
    s.how = how;
    s.subscripts = std::move(subscripts);
    body_.push_back(std::move(s));
  }

  // Into L2: more than the first one keeps, or it would push out what that one holds.
  void prefetch_l2(std::int32_t buffer, std::vector<value> subscripts) {
    prefetch(buffer, std::move(subscripts));
    body_.back().l2 = true;
  }

  void prefetch_half_line(std::int32_t buffer, std::vector<value> subscripts) {
    prefetch(buffer, std::move(subscripts));
    body_.back().half_line = true;
  }

  void append(std::int32_t buffer, value places, value mask) {
    statement s = start(statement_kind::append);
    s.target = buffer;
    s.target_value = places;
    s.mask = mask;
    body_.push_back(std::move(s));
  }

  // count: of a run's elements; none: one element. all_whole, mask: scalars, of all copies next to each other.
  void copy(std::int32_t to, std::vector<value> places, std::int32_t from, std::vector<value> subscripts, value count,
            value all_whole = none, value mask = none) {
    statement s = start(statement_kind::copy);
    s.target = from;
    s.subscripts = std::move(subscripts);
    s.to = to;
    s.places = std::move(places);
    s.stored = count;
    s.how = count == none ? access::gather : access::contiguous;
    s.all_whole = all_whole;
    s.mask = mask;
    body_.push_back(std::move(s));
  }
  void await(std::int32_t copies_behind = 0, std::int32_t products_behind = 0) {
    statement s = start(statement_kind::await);
    s.copies_behind = copies_behind;
    s.products_behind = products_behind;
    body_.push_back(std::move(s));
  }
  void mma(std::vector<value> accumulators, mma_form tile, value stage) {
    statement s = start(statement_kind::mma);
    s.more = std::move(accumulators);
    s.tile = tile;
    s.stored = stage;
    body_.push_back(std::move(s));
  }

  value accumulator(element type, monoid fold, bool vector) {
    return add({.code = opcode::accumulator, .type = type, .vector = vector, .fold = fold, .args = {}});
  }
  value read(value accumulator) { return add(content(accumulator, opcode::read)); }
  value fold_lanes(value accumulator, bool widens = false) {
    instruction i = content(accumulator, opcode::fold_lanes);
    i.vector = false;
    if (widens) i.type = element::f64;
    return add(std::move(i));
  }
  // Value k, of this type, of a state of several.
  value read_part(value accumulator, element type, std::int32_t k, bool folds) {
    instruction i = content(accumulator, folds ? opcode::fold_lanes : opcode::read);
    i.vector = i.vector && !folds;
    i.type = type;
    i.dimension = k;
    return add(std::move(i));
  }
  value scan_lanes(value accumulator, value x, value mask = none) {
    return add(
        {.code = opcode::scan_lanes, .type = type_of(x), .vector = true, .mask = mask, .args = {accumulator, x}});
  }
  // Of a state of several values lane by lane, value k of this type.
  value scan_state(value accumulator, std::vector<value> state, element type, std::int32_t k) {
    state.insert(state.begin(), accumulator);
    return add(
        {.code = opcode::scan_lanes, .type = type, .vector = true, .dimension = k + 1, .args = std::move(state)});
  }
  value scan_slices(value accumulator, value x, value begins) {
    return add({.code = opcode::scan_lanes, .type = type_of(x), .vector = true, .args = {accumulator, x, begins}});
  }
  value recur_lanes(value accumulator, value factor, value x, bool may_vanish) {
    return add({.code = opcode::recur_lanes,
                .type = type_of(x),
                .vector = true,
                .dimension = may_vanish ? 1 : 0,
                .args = {accumulator, factor, x}});
  }
  value slider(element type, monoid fold, std::int32_t width) {
    return add(
        {.code = opcode::accumulator, .type = type, .vector = true, .fold = fold, .dimension = width, .args = {}});
  }
  value slide_lanes(value slider, value x) {
    const std::int32_t width = k_->instructions[slider].dimension;
    return add(
        {.code = opcode::slide_lanes, .type = type_of(x), .vector = true, .dimension = width, .args = {slider, x}});
  }
  value shift_lanes(value slider, value x) {
    const std::int32_t by = k_->instructions[slider].dimension;
    return add({.code = opcode::shift_lanes, .type = type_of(x), .vector = true, .dimension = by, .args = {slider, x}});
  }
  value next_places(std::int32_t buffer, value place, value mask) {
    return add({.code = opcode::next_places,
                .type = element::i32,
                .vector = true,
                .target = buffer,
                .mask = mask,
                .args = {place}});
  }
  void combine(value accumulator, value stored, value mask = none, value position = none) {
    statement s = start(statement_kind::combine);
    s.target_value = accumulator;
    s.stored = stored;
    s.mask = mask;
    s.position = position;
    body_.push_back(std::move(s));
  }

  // As many values as the state has.
  void combine_state(value accumulator, std::vector<value> state, value mask = none, bool earlier = false) {
    statement s = start(statement_kind::combine);
    s.target_value = accumulator;
    s.stored = state.front();
    s.more.assign(state.begin() + 1, state.end());
    s.mask = mask;
    s.earlier = earlier;
    body_.push_back(std::move(s));
  }

  block_builder loop(loop_kind kind, std::string name, value low, value high, std::int32_t lanes = 1) {
    statement s = start(statement_kind::loop);
    s.how_loop = kind;
    s.loop = static_cast<std::int32_t>(k_->loop_names.size());
    s.low = low;
    s.high = high;
    s.lanes = lanes;
    k_->loop_names.push_back(std::move(name));
    return block_builder(*k_, this, std::move(s));
  }
  block_builder guard(value condition) {
    statement s = start(statement_kind::guard);
    s.id = condition;
    return block_builder(*k_, this, std::move(s));
  }
  // The statement this block is the body of, for its hints: head().unroll, head().cost.
  statement& head() { return head_; }
  statement& last() { return body_.back(); }

  // An instruction as another is, with arguments of its own.
  value again(instruction i) { return add(std::move(i)); }
  // Statements of the same kernel.
  void take(block statements) {
    for (statement& s : statements) take(std::move(s));
  }
  void take(statement s) { body_.push_back(std::move(s)); }

  // Appends this block, as a statement, to the end of its parent as the parent is now.
  void close() {
    head_.body = std::move(body_);
    parent_->body_.push_back(std::move(head_));
  }

  // Of a block without a parent: what was built.
  block finish() && { return std::move(body_); }

  element type_of(value v) const { return k_->instructions[v].type; }
  bool is_vector(value v) const { return k_->instructions[v].vector; }

 private:
  friend class kernel_builder;

  static statement start(statement_kind kind) {
    statement s{};
    s.kind = kind;
    return s;
  }
  value add(instruction i) {
    k_->instructions.push_back(std::move(i));
    statement s = start(statement_kind::instruct);
    s.id = static_cast<value>(k_->instructions.size()) - 1;
    body_.push_back(s);
    return s.id;
  }
  value apply(op what, element type, std::vector<value> args) {
    const bool vector = any_vector(args);
    return add({.code = opcode::elementwise, .type = type, .vector = vector, .what = what, .args = std::move(args)});
  }
  bool any_vector(const std::vector<value>& values) const {
    for (value v : values)
      if (is_vector(v)) return true;
    return false;
  }
  instruction content(value accumulator, opcode code) const {
    const instruction& a = k_->instructions[accumulator];
    const bool position = a.fold == monoid::argmax || a.fold == monoid::argmin;
    return {.code = code, .type = position ? element::i64 : a.type, .vector = a.vector, .args = {accumulator}};
  }

  kernel* k_;
  block_builder* parent_;
  statement head_;
  block body_;
  value counter_ = none, lanes_ = none;
};

// Owns the kernel and its top block. Addresses stay valid when the builder is moved.
class kernel_builder {
 public:
  explicit kernel_builder(std::string name) : kernel_builder(kernel{.name = std::move(name)}) {}
  // What is built has the next numbers after those of this kernel, whose body is empty.
  explicit kernel_builder(kernel numbered)
      : k_(std::make_unique<kernel>(std::move(numbered))),
        top_(std::make_unique<block_builder>(*k_, nullptr, statement{})) {}
  block_builder& top() { return *top_; }
  kernel& under_construction() { return *k_; }
  kernel finish() && {
    k_->body = std::move(top_->body_);
    return std::move(*k_);
  }

 private:
  std::unique_ptr<kernel> k_;
  std::unique_ptr<block_builder> top_;
};

inline std::int32_t add_buffer(module& m, buffer b) {
  m.buffers.push_back(std::move(b));
  return static_cast<std::int32_t>(m.buffers.size()) - 1;
}
// A task's own, of so many elements that follow each other.
inline std::int32_t add_local(module& m, std::string name, element type, std::int64_t elements) {
  return add_buffer(m, {.name = std::move(name),
                        .type = type,
                        .rank = 1,
                        .where = role::local,
                        .elements = elements,
                        .unit_inner = true,
                        .extents = {elements}});
}

}  // namespace sheaf::inline v0_1::ir
