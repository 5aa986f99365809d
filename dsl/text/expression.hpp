// Of the parser: operators by precedence, numbers, elementwise functions, names.
#pragma once
#include <sheaf/dsl/text/parser.hpp>

namespace sheaf::inline v0_1::detail {

SHEAF_HIDDEN inline constexpr built nothing_built{0, true};

struct infix_row {
  const char* text;
  int precedence;
  op kind;
  bool swapped;  // a > b is b < a
};
SHEAF_HIDDEN inline constexpr infix_row infix_rows[] = {
    {"||", 3, op::logical_or, false}, {"&&", 4, op::logical_and, false}, {"==", 5, op::equal, false},
    {"!=", 5, op::not_equal, false},  {"<", 6, op::less, false},         {"<=", 6, op::less_equal, false},
    {">", 6, op::less, true},         {">=", 6, op::less_equal, true},   {"+", 7, op::add, false},
    {"-", 7, op::sub, false},         {"*", 8, op::mul, false},          {"/", 8, op::div, false},
    {"%", 8, op::remainder, false},
};

// Texts come from anybody, and what they nest every pass walks by recursion.
constexpr bool text_parser::deeper() {
  if (depth_ < levels_) return true;
  wrong(at_) << "expression: nested deeper than " << levels_ << " levels; define parts of it";
  return false;
}

constexpr built text_parser::expression(int precedence) {
  if (!deeper()) return nothing_built;
  ++depth_;
  built left = unary();
  for (int operators = 0; !failed(); ++operators) {
    const infix_row* found = nullptr;
    for (const infix_row& r : infix_rows)
      if (now().kind == token_kind::symbol && at(r.text) && r.precedence > precedence) found = &r;
    if (found == nullptr) break;
    if (operators == levels_)
      wrong(at_) << "expression: more than " << levels_ << " operators in a row; define parts of it";
    const int start = at_++;
    const built right = expression(found->precedence);
    const built args[] = {found->swapped ? right : left, found->swapped ? left : right};
    if (failed()) break;
    left = applied(found->kind, args, 2);
    settle(start);
  }
  --depth_;
  return failed() ? nothing_built : left;
}

constexpr built text_parser::unary() {
  const bool minus = at("-"), negation = at("!");
  if (!minus && !negation) return primary();
  if (!deeper()) return nothing_built;
  const int start = at_++;
  ++depth_;
  const built a = unary();
  --depth_;
  if (failed()) return nothing_built;
  const built result = applied(minus ? op::neg : op::logical_not, &a, 1);
  settle(start);
  return result;
}

constexpr built text_parser::applied(op kind, const built* args, int count) {
  if (count == 1) return b_.apply(kind, {args[0]});
  if (count == 2) return b_.apply(kind, {args[0], args[1]});
  return b_.apply(kind, {args[0], args[1], args[2]});
}

constexpr built text_parser::primary() {
  if (now().kind == token_kind::number) return number_literal();
  if (now().kind == token_kind::name) return named();
  if (accept("(")) {
    const built e = expression();
    expect(")");
    return e;
  }
  wrong(at_) << "expected an expression, found " << spelled(now()).text;
  return nothing_built;
}

// 2, 0.5, 1e-3: numbers that take the type of what they meet; 2i32, 0.5f16 have one.
constexpr built text_parser::number_literal() {
  const int start = at_++;
  const token t = tokens_[start];
  const bool minus = start > 0 && is(tokens_[start - 1], "-");
  bool whole = true, fits = true;
  std::uint64_t value = 0;
  for (int i = 0; i < t.size; ++i) {
    const char c = text_[t.first + i];
    whole = whole && c >= '0' && c <= '9';
    if (!whole) continue;
    const std::uint64_t digit = static_cast<std::uint64_t>(c - '0');
    fits = fits && value <= (UINT64_MAX - digit) / 10;
    value = 10 * value + digit;
  }
  element type = element::i64;
  const bool typed = now().kind == token_kind::name && now().first == t.first + t.size;
  if (typed && !element_name(type)) {
    wrong(at_) << "expected an element type after the number, as in 2i32 or 0.5f16, found " << spelled(now()).text;
    return nothing_built;
  }
  const double real = decimal::value_of(text_ + t.first, t.size, typed && is_floating(type) ? type : element::f64);
  if (typed && is_floating(type)) return {number(b_.g, type, real), false};
  if (typed && !whole)
    wrong(start) << "number: " << spelled(t).text << " is no whole number, as " << row(type).name << " asks";
  const std::uint64_t most = static_cast<std::uint64_t>(highest_integer(type)) +
                             (minus && !is_unsigned(type) && type != element::boolean ? 1 : 0);
  if (whole && (!fits || value > most))
    wrong(start) << "number: " << spelled(t).text << " does not fit " << row(type).name;
  if (failed()) return nothing_built;
  if (!whole) return b_.literal(real);
  const node_id made = integer(b_.g, static_cast<std::int64_t>(value), type);
  return {made, !typed};
}

// The words of docs/language.md for element types, and what C++ calls the two that have a word of its own.
constexpr bool text_parser::element_name(element& type) {
  for (const element_row& r : element_rows)
    if (at(r.name) || (r.type == element::f32 && at("float")) || (r.type == element::f64 && at("double"))) {
      type = r.type;
      ++at_;
      return true;
    }
  return false;
}

constexpr built text_parser::named() {
  built value = nothing_built;
  if (!operands_.empty() && operand_value(value)) return value;
  if (index_value(value) || let_value(value) || word_value(value)) return value;
  if (!now().quoted) {
    for (const op_row& r : op_rows)
      if (r.infix == nullptr && r.kind != op::cast && at(r.name) && is(ahead(1), "(")) return call(r);
    for (const composite_row& r : composites::rows)
      if (at(r.name) && is(ahead(1), "(")) return call(r);
    if (reduction_call(value)) return value;
  }
  const int start = at_;
  const tensor_part t = tensor_here();
  return t.found ? value_of(t, start) : nothing_built;
}

// true, false, inf, nan, and functions that are no rows of ops.hpp.
constexpr bool text_parser::word_value(built& value) {
  if (now().quoted) return false;
  if (accept("true"))
    value = {truth(b_.g, true), false};
  else if (accept("false"))
    value = {truth(b_.g, false), false};
  else if (accept("inf"))
    value = b_.literal(math::infinity);
  else if (accept("nan"))
    value = b_.literal(math::nan);
  else if (at("cast"))
    value = cast_call();
  else if (at("stop_gradient") || at("graft"))
    value = wrapped_call();
  else if (at("get"))
    value = get_call();
  else if (at("fold"))
    value = fold_call(0);
  else if (at("extent") && is(ahead(1), "(")) {
    const int start = at_;
    at_ += 2;
    const tensor_part t = tensor_here();
    expect(",");
    const std::int64_t d = expect_integer();
    expect(")");
    if (failed()) return true;
    if (d < 0 || d >= tensor_rank(b_.g, t.node)) {
      wrong(start) << "extent: the dimension is not one of the tensor's";
      return true;
    }
    value = b_.extent_of({t.node, false}, static_cast<int>(d));
  } else {
    return false;
  }
  return true;
}

constexpr built text_parser::result_of(const op_row& r, const built* args) { return applied(r.kind, args, r.arity); }
constexpr built text_parser::result_of(const composite_row& r, const built* args) { return r.make(b_, args); }

template <class Row>
constexpr built text_parser::call(const Row& r) {
  const int start = at_;
  at_ += 2;
  built args[3] = {};
  int count = 0;
  do {
    const built e = expression();
    if (count < 3) args[count] = e;
    ++count;
  } while (!failed() && accept(","));
  expect(")");
  if (failed()) return nothing_built;
  if (count != r.arity) {
    wrong(start) << r.name << ": expected " << r.arity << (r.arity == 1 ? " argument" : " arguments") << ", got "
                 << count;
    return nothing_built;
  }
  const built result = result_of(r, args);
  settle(start);
  return result;
}

constexpr built text_parser::cast_call() {
  ++at_;
  expect("<");
  element type{};
  if (!failed() && !element_name(type))
    wrong(at_) << "cast<T>: T is not an element type of Sheaf (see docs/language.md)";
  expect(">");
  expect("(");
  const built e = expression();
  expect(")");
  return failed() ? nothing_built : b_.cast(type, e);
}

constexpr built text_parser::wrapped_call() {
  const bool grafts = at("graft");
  ++at_;
  expect("(");
  const built value = expression();
  if (grafts) expect(",");
  const built path = grafts ? expression() : value;
  expect(")");
  if (failed()) return nothing_built;
  return grafts ? built{b_.graft(value.id, path.id), false} : b_.stop_gradient(value);
}

constexpr bool text_parser::operand_value(built& value) {
  for (const operand_row& o : operands_)
    if (same(tokens_[o.name], now())) {
      value = b_.operand(o.place);
      ++at_;
      return true;
    }
  return false;
}

// An index that is bound around here. A name that a parenthesis follows is something else.
constexpr bool text_parser::index_value(built& value) {
  if (is(ahead(1), "(")) return false;
  const name_id called = known_name(now());
  for (const node_id axis : scope_)
    if (index_name(b_.g, axis) == called && index_serial(b_.g, axis) == now().primes) {
      value = {axis, false};
      ++at_;
      return true;
    }
  return false;
}

// v1 or v1(m, t): what a line `where` below says; its indices are those around.
constexpr bool text_parser::let_value(built& value) {
  if (now().quoted) return false;
  for (int i = 0; i < lets_.size(); ++i) {
    if (!same(tokens_[lets_[i].name], now())) continue;
    const int start = at_++;
    if (accept("("))
      while (!failed() && !accept(")")) {
        expect_word_for("an index");
        accept(",");
      }
    if (lets_[i].busy) wrong(start) << spelled(tokens_[start]).text << ": it is made of itself";
    if (failed()) return true;
    if (!lets_[i].built_already) {
      const int back = at_;
      at_ = lets_[i].body;
      lets_[i].busy = true;
      const built made = expression();  // one level deeper than where it is used
      lets_[i].value = made;
      finish_line();
      lets_[i].busy = false;
      lets_[i].built_already = true;
      at_ = back;
    }
    value = lets_[i].value;
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::detail
