// A step of the formulas of decisions, and its value. Private header.
#pragma once
#include <span>

#include <sheaf/jit/shapes/amount.hpp>

namespace sheaf::inline v0_1::shapes {

// A formula, of formulas before it.
struct step {
  rule how = rule::number;
  formula_id a = no_formula, b = no_formula, c = no_formula;
  std::int32_t function = -1;  // of rule::integer, among those used
  double number = 0;           // of rule::number; of rule::extent its place
  bool operator==(const step&) const = default;
};

// Beyond 2^53 a double names no integer; as far as i64 goes it is near one.
inline std::int64_t whole_of(double x) {
  constexpr double most = 9e18;
  return static_cast<std::int64_t>(std::clamp(x, -most, most));
}

// Of an operation on numbers; of others a.
inline double result(rule how, double a, double b) {
  switch (how) {
    case rule::add:
      return a + b;
    case rule::sub:
      return a - b;
    case rule::mul:
      return a * b;
    case rule::div:
      return a / b;
    case rule::min:
      return std::min(a, b);
    case rule::max:
      return std::max(a, b);
    case rule::log2:
      return std::log2(a);
    case rule::floor:
      return std::floor(a);
    default:
      return a;
  }
}

// values: of the steps before it.
inline double evaluated(const step& s, std::span<const integer_function> functions, const double* values,
                        std::span<const std::int64_t> extents) {
  switch (s.how) {
    case rule::number:
      return s.number;
    case rule::extent:
      return static_cast<double>(extents[static_cast<std::size_t>(s.number)]);
    case rule::integer:
      return static_cast<double>(functions[static_cast<std::size_t>(s.function)](
          whole_of(values[s.a]), whole_of(values[s.b]), whole_of(values[s.c])));
    default:
      return result(s.how, values[s.a], values[s.b]);
  }
}

}  // namespace sheaf::inline v0_1::shapes
