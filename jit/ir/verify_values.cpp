// What each instruction may be: its arguments, their types, and where vectors are.
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/ir/verifier.hpp>

namespace sheaf::inline v0_1::ir {

void kernel_verifier::instruct(value id) {
  if (id < 0 || id >= static_cast<value>(k_.instructions.size()))
    fail("scope", "no such instruction: " + std::to_string(id));
  const auto n = static_cast<std::size_t>(id);
  current_ = id;
  require(!defined_[n], "scope", "defined twice");
  const instruction& i = at(id);
  require(!i.vector || lanes_ || i.code == opcode::accumulator, "vectorness", "a vector outside a vector loop");
  check(i, id);
  defined_[n] = visible_[n] = true;
  current_ = none;
}

void kernel_verifier::check(const instruction& i, value id) {
  switch (i.code) {
    case opcode::elementwise:
      return elementwise(i);
    case opcode::constant:
      return;
    case opcode::extent:
      return extent(i);
    case opcode::counter:
    case opcode::run_end:
      return counter(i, false);
    case opcode::lanes:
      return counter(i, true);
    case opcode::pattern:
      return pattern(i);
    case opcode::load:
      return load(i);
    case opcode::accumulator:
      return declare(i, id);
    case opcode::read:
    case opcode::fold_lanes:
      return read(i);
    case opcode::scan_lanes:
      return scan(i);
    case opcode::recur_lanes:
      return recur(i);
    case opcode::slide_lanes:
    case opcode::shift_lanes:
      return slide(i);
    case opcode::next_places:
      return next_places(i);
  }
}

void kernel_verifier::elementwise(const instruction& i) {
  require(is_elementwise(i.what), "arity", "not an elementwise op");
  require(static_cast<int>(i.args.size()) == row(i.what).arity, "arity", "wrong number of arguments");
  bool vector = false;
  for (value v : i.args) vector |= operand(v).vector;
  require(vector == i.vector, "vectorness", "expected a vector exactly where an argument is one");
  op_types(i);
}

void kernel_verifier::op_types(const instruction& i) {
  const element a = at(i.args[0]).type, b = at(i.args.size() > 1 ? i.args[1] : i.args[0]).type;
  const bool comparison = i.what >= op::equal && i.what <= op::less_equal;
  const bool logic = i.what == op::logical_and || i.what == op::logical_or || i.what == op::logical_not;
  if (i.what == op::cast) return;
  if (i.what == op::select) {
    require(a == element::boolean, "types", "the condition is not boolean");
    require(b == i.type && at(i.args[2]).type == i.type, "types", "the two choices and the result differ in type");
    return;
  }
  require(a == b, "types", "arguments of different types");
  require(i.type == (comparison || logic ? element::boolean : a), "types", "the result has the wrong type");
  require(!logic || a == element::boolean, "types", "expected boolean arguments");
  const bool integers_too = comparison || logic || i.what == op::minimum || i.what == op::maximum;
  require(integers_too || a != element::boolean, "types", "no arithmetic on booleans");
  const bool bits = i.what == op::bit_not || (i.what >= op::bit_and && i.what <= op::shift_right);
  require(!bits || is_integer(a), "types", "expected integers");
  require(row(i.what).result != result_type::floating || is_floating(a), "types", "expected floating arguments");
}

void kernel_verifier::extent(const instruction& i) {
  const buffer& b = target_buffer(i.target);
  require(i.type == element::i64 && !i.vector, "types", "an extent is a scalar i64");
  require(i.dimension >= 0 && i.dimension < b.rank, "module_shape", "no such dimension");
}

void kernel_verifier::counter(const instruction& i, bool lanes) {
  const bool known = i.target >= 0 && i.target < static_cast<std::int32_t>(open_.size());
  require(known && open_[static_cast<std::size_t>(i.target)], "scope", "its loop is not around it");
  require(i.type == element::i64 && i.vector == lanes, "types", "counter is a scalar i64, lanes a vector of i64");
  require(!lanes || i.target == vector_loop_, "vectorness", "lanes of a loop that is not the vector loop");
  require(i.code != opcode::run_end || i.target == at_once_, "scope", "run_end of a loop that takes one at a time");
}

void kernel_verifier::pattern(const instruction& i) {
  require(i.type == element::boolean && i.vector, "types", "a pattern is a vector of booleans");
  require(i.dimension > 0 && i.dimension <= 32 && (i.dimension & (i.dimension - 1)) == 0, "module_shape",
          "no such period");
}

void kernel_verifier::next_places(const instruction& i) {
  const buffer& b = target_buffer(i.target);
  require(b.where == role::local && b.type == element::i32 && b.rank == 1 && i.type == element::i32, "types",
          "expected a local row of i32");
  subscripts(b, i.args, access::gather, false);
  mask(i.mask, true);
}

void kernel_verifier::load(const instruction& i) {
  const buffer& b = target_buffer(i.target);
  require(i.type == b.type, "types", "expected the buffer's type");
  require(i.vector == (i.how != access::uniform), "vectorness", "expected a vector exactly where lanes are loaded");
  subscripts(b, i.args, i.how, unit_inner(b));
  mask(i.mask, i.vector);
  const lane_pattern& a = i.apart;
  const bool backward = a.step == -1 && a.repeat == 1 && a.phase == 0 && a.skew == 0 && !a.whole;
  const bool forward = a.step > 0 && a.repeat > 0 && a.phase >= 0 && a.phase < a.repeat && a.skew >= 0 &&
                       a.skew < a.step && (!a.whole || a.repeat == 1);
  require(forward || backward, "access_kind", "lanes are not deinterleaved so");
}

}  // namespace sheaf::inline v0_1::ir
