// Part of pass `strip loops`: a vector loop that reads each element for a few lanes, as x(j / 3) does, goes in blocks
// of as many vectors as there are such lanes. In each of them it is known which lanes share an element, so a vector is
// one load and a permutation by constants. Where the number of lanes is a power of two, lowering has that already.
// Shown by tests/jit/strip_loops.cpp.
#pragma once
#include <sheaf/jit/ir/passes/loop_middle.hpp>

namespace sheaf::inline v0_1::ir {

class repeated_elements : loop_middle {
 public:
  repeated_elements(const module& m, kernel& k, const statement& loop, middle& typical)
      : loop_middle(k, loop, typical), m_(m), lanes_(std::max(loop.lanes / tuning::partition::narrower, 2)) {}

  // Instead of the loop; nothing where it stays.
  std::optional<block> operator()() {
    if (loop_.body.size() > tuning::partition::short_body || !may_copy() || !may_begin_anywhere() || !find())
      return std::nullopt;
    range();
    statement begin = loop_, rest = loop_;
    const std::string name = k_.loop_names[slot_of(loop_.loop)];
    block_builder blocks = before_.loop(loop_kind::serial, name + "_block", before_.i64(0), count_);
    add_block(blocks, name);
    blocks.close();
    block made = std::move(before_).finish();
    for (statement* edge : {&begin, &rest}) edge->size_optimised = true, edge->whole = false, edge->trips = 0;
    begin.high = first_;
    begin.lanes = lanes_of(repeats_);
    rest.low = end_;
    if (!begins_whole_) made.push_back(std::move(begin));
    if (!begins_whole_) rest = copied(rest, made);
    made.push_back(std::move(rest));
    return made;
  }

 private:
  bool find() {
    for (const statement& s : loop_.body)
      if (s.kind == statement_kind::instruct) find(s.id);
    const std::int64_t block = repeats_ * lanes_;
    if (quotient_ == none || has_remainders() || loop_.trips < static_cast<double>(2 * block)) return false;
    begins_whole_ = get(loop_.low).code == opcode::constant && (get(loop_.low).bits + offset_) % repeats_ == 0;
    return true;
  }
  // As well by the same number: rows of their own.
  bool has_remainders() const {
    return std::ranges::any_of(loop_.body, [&](const statement& s) {
      if (s.kind != statement_kind::instruct) return false;
      const instruction& i = get(s.id);
      if (i.code != opcode::elementwise || !i.vector || i.what != op::remainder) return false;
      const auto by = form_of(i.args[1]);
      return by && by->slope == 0 && by->terms.empty() && by->constant == repeats_;
    });
  }
  // The first quotient by a small number that a gather goes along.
  void find(value id) {
    const instruction& i = get(id);
    if (quotient_ != none || i.code != opcode::load) return;
    if (i.how != access::gather || !m_.buffers[slot_of(i.target)].unit_inner) return;
    for (const statement& s : loop_.body) {
      if (s.kind != statement_kind::instruct || quotient_ != none) continue;
      const instruction& q = get(s.id);
      if (q.code != opcode::elementwise || q.what != op::quotient || !q.vector) continue;
      const auto number = form_of(q.args[0]), by = form_of(q.args[1]);
      if (!number || number->slope != 1 || !number->terms.empty() || !by || by->slope != 0 || !by->terms.empty())
        continue;
      if (by->constant < 3 || by->constant > tuning::partition::most_repeats) continue;
      quotient_ = s.id;
      if (!goes_along(i)) quotient_ = none;
      repeats_ = by->constant;
      offset_ = number->constant;
    }
  }
  bool goes_along(const instruction& load) const {
    for (std::size_t k = 0; k + 1 < load.args.size(); ++k)
      if (get(load.args[k]).vector) return false;
    const auto place = along(load.args.back());
    return place && place->slope == 1;
  }
  // In terms of the quotient.
  std::optional<affine> along(value v) const {
    if (v == quotient_) return affine{1, 0, {}};
    const instruction& i = get(v);
    if (!i.vector) return form_of(v);
    if (i.code != opcode::elementwise || (i.what != op::add && i.what != op::sub)) return std::nullopt;
    auto a = along(i.args[0]);
    const auto b = along(i.args[1]);
    if (!a || !b) return std::nullopt;
    a->add(*b, i.what == op::add ? 1 : -1);
    return a;
  }

  // first_, end_: of the lanes in whole blocks, of which there are count_; before it quotient_of_first_.
  void range() {
    block_builder& b = before_;
    const value offset = b.i64(offset_), by = b.i64(repeats_), block = b.i64(repeats_ * lanes_);
    const value sum = b.emit(op::add, {loop_.low, b.i64(offset_ + repeats_ - 1)});
    quotient_of_first_ = b.emit(op::quotient, {sum, by});
    const value first = b.emit(op::sub, {b.emit(op::mul, {quotient_of_first_, by}), offset});
    first_ = b.emit(op::minimum, {first, b.emit(op::maximum, {loop_.low, loop_.high})});
    const value left = b.emit(op::maximum, {b.emit(op::sub, {loop_.high, first_}), b.i64(0)});
    count_ = b.emit(op::quotient, {left, block});
    end_ = b.emit(op::add, {first_, b.emit(op::mul, {count_, block})});
  }

  void add_block(block_builder& blocks, const std::string& name) {
    const value n = blocks.counter();
    const value from = blocks.emit(op::add, {first_, blocks.emit(op::mul, {n, blocks.i64(repeats_ * lanes_)})});
    const value quotient = blocks.emit(op::add, {quotient_of_first_, blocks.emit(op::mul, {n, blocks.i64(lanes_)})});
    for (std::int64_t k = 0; k < repeats_; ++k) {
      const value low = blocks.emit(op::add, {from, blocks.i64(k * lanes_)});
      const value high = blocks.emit(op::add, {from, blocks.i64((k + 1) * lanes_)});
      block_builder inner = blocks.loop(loop_kind::vector, name, low, high, lanes_);
      const value here = inner.emit(op::add, {quotient, inner.i64(k * lanes_ / repeats_)});
      names_.clear();
      for (const statement& s : loop_.body) copy(s, inner, here, k * lanes_ % repeats_);
      inner.head().whole = true;
      inner.close();
    }
  }
  // The loop once more, with names of its own.
  statement copied(statement rest, block& made) {
    block_builder around(k_, nullptr, statement{});
    const std::string name = k_.loop_names[slot_of(loop_.loop)];
    block_builder inner = around.loop(loop_kind::vector, name, rest.low, rest.high, rest.lanes);
    names_.clear();
    for (const statement& s : loop_.body) copy(s, inner, none, 0);
    inner.head().size_optimised = true;
    inner.close();
    block all = std::move(around).finish();
    statement last = std::move(all.back());
    all.pop_back();
    for (statement& s : all) made.push_back(std::move(s));
    return last;
  }

  value renamed(value v) const {
    const auto found = names_.find(v);
    return found == names_.end() ? v : found->second;
  }
  // here: the quotient of lane 0, whose element `phase` lanes before it have; none: as it is.
  void copy(const statement& s, block_builder& inner, value here, std::int64_t phase) {
    if (s.kind != statement_kind::instruct) {
      statement own = s;
      for (value* v : {&own.stored, &own.mask}) *v = renamed(*v);
      for (value& v : own.subscripts) v = renamed(v);
      return inner.take(std::move(own));
    }
    instruction i = get(s.id);
    if ((i.code == opcode::counter || i.code == opcode::lanes) && i.target == loop_.loop) {
      names_[s.id] = i.code == opcode::counter ? inner.counter() : inner.lanes();
      return;
    }
    if (here != none && i.code == opcode::load && i.how == access::gather && goes_along(i) &&
        m_.buffers[slot_of(i.target)].unit_inner) {
      affine rest = *along(i.args.back());
      rest.slope = 0;
      for (value& v : i.args) v = renamed(v);
      i.args.back() = inner.emit(op::add, {here, built(rest, inner)});
      i.how = access::deinterleaved;
      i.apart.repeat = static_cast<std::int32_t>(repeats_);
      i.apart.phase = static_cast<std::int32_t>(phase);
    } else {
      for (value& v : i.args) v = renamed(v);
    }
    i.mask = renamed(i.mask);
    names_[s.id] = inner.again(std::move(i));
  }

  const module& m_;
  const std::int32_t lanes_;
  value quotient_ = none;  // (lane + offset_) / repeats_
  std::int64_t repeats_ = 1, offset_ = 0;
  bool begins_whole_ = false;  // the first lane is the first of its element
  value first_ = none, end_ = none, count_ = none, quotient_of_first_ = none;
  std::unordered_map<value, value> names_;
};

}  // namespace sheaf::inline v0_1::ir
