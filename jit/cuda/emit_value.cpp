// Instructions as text. Elementwise ops have one row each.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <sheaf/dsl/graph/half.hpp>
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

const char* held_type(element type) {
  switch (type) {
    case element::boolean:
      return "bool";
    case element::i8:
      return "i8";
    case element::u8:
      return "u8";
    case element::i16:
      return "i16";
    case element::u16:
      return "u16";
    case element::u32:
      return "u32";
    case element::u64:
      return "u64";
    case element::i32:
      return "i32";
    case element::i64:
      return "i64";
    case element::f64:
      return "double";
    default:
      return "float";
  }
}

const char* stored_type(element type) {
  if (type == element::boolean) return "u8";
  return is_half(type) ? "u16" : held_type(type);
}

std::string from_memory(element type, const std::string& bits) {
  if (type == element::boolean) return cat("(", bits, " != 0)");
  if (type == element::f16) return cat("from_f16(", bits, ")");
  return type == element::bf16 ? cat("from_bf16(", bits, ")") : bits;
}

std::string to_memory(element type, const std::string& held) {
  if (type == element::boolean) return cat("(u8)", held);
  if (type == element::f16) return cat("to_f16(", held, ")");
  return type == element::bf16 ? cat("to_bf16(", held, ")") : held;
}

namespace {

std::string floating_text(element type, double x) {
  char out[64];
  if (type == element::f64) {
    if (!std::isfinite(x)) return cat("bits_f64(", std::bit_cast<std::uint64_t>(x), "ull)");
    std::snprintf(out, sizeof out, "%a", x);
    return x < 0 || std::signbit(x) ? cat("(", out, ")") : out;
  }
  float y = static_cast<float>(x);
  if (type == element::f16) y = static_cast<float>(to_double(to_float16(x)));
  if (type == element::bf16) y = static_cast<float>(to_double(to_bfloat16(x)));
  if (!std::isfinite(y)) return cat("bits_f32(", std::bit_cast<std::uint32_t>(y), "u)");
  std::snprintf(out, sizeof out, "%af", static_cast<double>(y));
  return std::signbit(y) ? cat("(", out, ")") : out;
}

// What a row is given: the type of the (first, or for select second) argument, that of the result, and the arguments.
struct op_context {
  element from, to;
  const std::vector<std::string>& x;
  bool floating() const { return is_floating(from); }
};

std::string call(const char* name, const op_context& c) {
  std::string out = cat(name, "(", c.x[0]);
  for (std::size_t k = 1; k < c.x.size(); ++k) out += cat(", ", c.x[k]);
  return out + ")";
}
std::string infix(const char* sign, const op_context& c) { return cat("(", c.x[0], " ", sign, " ", c.x[1], ")"); }
// Integers wrap around, which C++ leaves open.
std::string arithmetic(const char* sign, const char* name, const op_context& c) {
  return c.floating() ? infix(sign, c) : call(name, c);
}
std::string math(const char* name, const op_context& c) {
  return call(c.from == element::f64 ? name : cat(name, "f").c_str(), c);
}
// A divisor that is a power of two is a shift, whichever sign: both round towards minus infinity. Anything else is
// some twenty instructions, which take long to compile, too.
std::string divided(const char* name, const op_context& c) {
  const std::string& by = c.x[1];
  const bool number = c.from == element::i64 && by.size() > 2 && by.find_first_not_of("0123456789") == by.size() - 2;
  const auto n = number ? std::strtoull(by.c_str(), nullptr, 10) : 0;
  if (!std::has_single_bit(n)) return call(name, c);
  const bool rest = std::strcmp(name, "floor_mod") == 0;
  return rest ? cat("(", c.x[0], " & ", n - 1, "ll)") : cat("(", c.x[0], " >> ", std::countr_zero(n), ")");
}
std::string extreme(const char* name, const op_context& c) { return call(name, c); }

using C = op_context;
struct op_row {
  op what;
  std::string (*text)(const op_context&);
};
#define ROW(name, expression) {op::name, [](const C& c) -> std::string { return expression; }}
const op_row rows[] = {
    ROW(neg, c.floating() ? cat("(-", c.x[0], ")") : cat("sub((", held_type(c.from), ")0, ", c.x[0], ")")),
    ROW(abs, call("magnitude", c)),
    ROW(sign, call("sign_of", c)),
    ROW(sigmoid, call("sigmoid", c)),
    ROW(floor, c.floating() ? math("floor", c) : c.x[0]),
    ROW(ceil, c.floating() ? math("ceil", c) : c.x[0]),
    ROW(round, c.floating() ? math("rint", c) : c.x[0]),
    ROW(logical_not, cat("(!", c.x[0], ")")),
    ROW(cast, cast_text(c.from, c.to, c.x[0])),
    ROW(add, arithmetic("+", "add", c)),
    ROW(sub, arithmetic("-", "sub", c)),
    ROW(mul, arithmetic("*", "mul", c)),
    ROW(div, c.floating() ? infix("/", c) : divided("floor_div", c)),
    ROW(quotient, divided("floor_div", c)),
    ROW(remainder, divided("floor_mod", c)),
    ROW(bit_not, cat("((", held_type(c.from), ")~", c.x[0], ")")),
    ROW(bit_and, infix("&", c)),
    ROW(bit_or, infix("|", c)),
    ROW(bit_xor, infix("^", c)),
    ROW(shift_left, call("shift_left", c)),
    ROW(shift_right, call("shift_right", c)),
    ROW(minimum, extreme("smallest", c)),
    ROW(maximum, extreme("largest", c)),
    ROW(equal, infix("==", c)),
    ROW(not_equal, infix("!=", c)),
    ROW(less, infix("<", c)),
    ROW(less_equal, infix("<=", c)),
    ROW(logical_and, infix("&", c)),
    ROW(logical_or, infix("|", c)),
    ROW(select, cat("(", c.x[0], " ? ", c.x[1], " : ", c.x[2], ")")),
};
#undef ROW

// A whole number of each lane: `slope` times the lane's number, and a number that all lanes share.
struct lane_line {
  std::string rest;
  std::int64_t slope = 0;
};
std::optional<lane_line> line_of(const function_emitter& f, ir::value v) {
  const ir::instruction& i = f.instruction(v);
  if (i.type != element::i64) return std::nullopt;
  if (!i.vector) return lane_line{f.ref(v), 0};
  if (i.code == ir::opcode::lanes) return lane_line{cat("c", i.target), 1};
  if (i.code != ir::opcode::elementwise || (i.what != op::add && i.what != op::sub)) return std::nullopt;
  const auto a = line_of(f, i.args[0]), b = line_of(f, i.args[1]);
  if (!a || !b) return std::nullopt;
  const std::int64_t sign = i.what == op::add ? 1 : -1;
  return lane_line{cat("(", a->rest, sign > 0 ? " + " : " - ", b->rest, ")"), a->slope + sign * b->slope};
}

// Comparisons of what lanes count with what they share, of many lanes a thread: by one limit for the lanes' own
// numbers, of 32 bits.
bool emit_limited(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const bool compares = i.what == op::less || i.what == op::less_equal;
  if (!i.vector || !compares || f.held(f.lanes) < 4) return false;
  const auto a = line_of(f, i.args[0]), b = line_of(f, i.args[1]);
  if (!a || !b || std::abs(a->slope - b->slope) != 1) return false;
  f.line(cat("const int limit", id, " = limit_of(", b->rest, ", ", a->rest, ");"));
  f.line(cat("bool v", id, "[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat(f.ref(id), " = ", a->slope > b->slope ? "" : "-", f.lane(f.lanes),
                      i.what == op::less ? " < " : " <= ", "limit", id, ";"));
  return true;
}

void emit_elementwise(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  if (emit_limited(f, id)) return;
  std::vector<std::string> x;
  for (const ir::value v : i.args) x.push_back(f.ref(v));
  const element from = f.instruction(i.args[i.what == op::select ? 1 : 0]).type;
  const std::string made = op_text(i.what, from, i.type, x);
  const char* const type = held_type(i.type);
  if (!i.vector) return f.line(cat("const ", type, " v", id, " = ", made, ";"));
  f.line(cat(type, " v", id, "[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat(f.ref(id), " = ", made, ";"));
}

void emit_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const bool pattern = i.code == ir::opcode::pattern;
  f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
  const std::string lane = f.lane(f.lanes);
  f.each(f.lanes, pattern ? cat(f.ref(id), " = (", static_cast<std::uint32_t>(i.bits), "u >> (", lane, " & ",
                                i.dimension - 1, ")) & 1;")
                          : cat(f.ref(id), " = c", i.target, " + ", lane, ";"));
}

}  // namespace

std::string constant_text(element type, std::int64_t bits) {
  if (is_floating(type)) return floating_text(type, std::bit_cast<double>(bits));
  if (type == element::boolean) return bits & 1 ? "true" : "false";
  if (type == element::u64) return cat(static_cast<std::uint64_t>(bits), "ull");
  if (type == element::i64)
    return bits == INT64_MIN ? "(-MOST - 1)" : bits < 0 ? cat("(", bits, "ll)") : cat(bits, "ll");
  return cat("(", held_type(type), ")", bits < 0 ? cat("(", bits, "ll)") : cat(bits, "ll"));
}

std::string cast_text(element from, element to, const std::string& x) {
  if (from == to) return x;
  if (to == element::boolean) return cat("(", x, " != 0)");
  if (is_floating(to)) {
    const std::string y = cat("((", held_type(to), ")", x, ")");
    return is_half(to) ? from_memory(to, to_memory(to, y)) : y;
  }
  if (!is_floating(from)) return cat("((", held_type(to), ")", x, ")");
  switch (to) {
    case element::i8:
      return cat("whole<i8>(", x, ", -128, 127, -128, 127)");
    case element::u8:
      return cat("whole<u8>(", x, ", 0, 255, 0, 255)");
    case element::i16:
      return cat("whole<i16>(", x, ", -32768, 32767, -32768, 32767)");
    case element::u16:
      return cat("whole<u16>(", x, ", 0, 65535, 0, 65535)");
    case element::u32:
      return cat("whole<u32>(", x, ", 0, 4294967296.0, 0, 4294967295u)");
    case element::u64:
      return cat("whole<u64>(", x, ", 0, 18446744073709551616.0, 0, ~0ull)");
    case element::i32:
      return cat("whole<i32>(", x, ", -2147483648.0, 2147483648.0, -2147483647 - 1, 2147483647)");
    default:
      return cat("whole<i64>(", x, ", -9223372036854775808.0, 9223372036854775808.0, -MOST - 1, MOST)");
  }
}

std::string op_text(op what, element from, element to, const std::vector<std::string>& args) {
  const op_context c{from, to, args};
  for (const op_row& r : rows)
    if (r.what == what) return r.text(c);
  if (row(what).library == nullptr) throw compile_error(std::string("no code for ") + row(what).name);
  return math(row(what).library, c);
}

std::string function_emitter::ref(ir::value v) const {
  const ir::instruction& i = instruction(v);
  if (i.code == ir::opcode::constant) return constant_text(i.type, i.bits);
  if (i.code == ir::opcode::counter) return cat("c", i.target);
  return i.vector ? cat("v", v, "[", lane_k(lanes), "]") : cat("v", v);
}

void emit_instruction(function_emitter& f, ir::value id) {
  if (f.made[static_cast<std::size_t>(id)]) return;
  switch (const ir::instruction& i = f.instruction(id); i.code) {
    case ir::opcode::constant:
    case ir::opcode::counter:
      return;  // see ref()
    case ir::opcode::run_end:
      throw compile_error("run_end: a GPU's tasks take one iteration each");
    case ir::opcode::elementwise:
      return emit_elementwise(f, id);
    case ir::opcode::extent:
      return f.line(cat("const i64 v", id, " = b", i.target, "_n", i.dimension, ";"));
    case ir::opcode::lanes:
    case ir::opcode::pattern:
      return emit_lanes(f, id);
    case ir::opcode::load:
      return emit_load(f, id, {});
    case ir::opcode::accumulator:
      return emit_accumulator(f, id);
    case ir::opcode::read:
      return emit_read(f, id);
    case ir::opcode::fold_lanes:
      return emit_fold_lanes(f, id);
    case ir::opcode::scan_lanes:
      return emit_scan_lanes(f, id);
    case ir::opcode::recur_lanes:
      return emit_recur_lanes(f, id);
    case ir::opcode::slide_lanes:
      return emit_slide_lanes(f, id);
    case ir::opcode::shift_lanes:
      return emit_shift_lanes(f, id);
    case ir::opcode::next_places:
      return emit_next_places(f, id);
  }
}

}  // namespace sheaf::inline v0_1::cuda
