// Programs whose arguments are found by their names in one table of data, so that a generated expression needs no list
// of what it reads, and a check of a program is compiled once, whatever the expression.
//
//   check_derivatives({"softmax", words_of<Y>(), words_of<vjp, jvp>(), words_of<...>(), "x"}, some_data(seed,
//   shape::small));
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

namespace sheaf::test {

// An array of any element type, its elements as numbers: those of the tests' integers are exact.
struct values {
  element type = element::f64;
  std::vector<std::int64_t> extents;
  std::vector<double> numbers;
};
using table = std::map<std::string, values>;

class by_name {
 public:
  by_name(const std::vector<std::int32_t>& words, jit::backend runs_on, const options& how = {});
  by_name(const by_name&) = delete;
  ~by_name();
  // plan: what explain() says of the call.
  std::vector<values> operator()(const table& given, std::string* plan = nullptr) const;
  const char* text() const;
  std::vector<std::string> inputs() const;

 private:
  jit::program* program_;
  struct slot {
    std::string name;
    element type;
    int rank;
  };
  std::vector<slot> slots_;
  std::size_t inputs_ = 0;
};

template <class... Outputs>
SHEAF_INLINE std::vector<std::int32_t> words_of(Outputs...) {
  constexpr auto program = detail::packed<Outputs...>::words;
  return {program.words, program.words + program.size};
}

// Numbers that repeat run after run, in [low, high].
std::vector<double> numbers(std::uint64_t seed, std::size_t count, double low, double high);
values floats(std::uint64_t seed, std::vector<std::int64_t> extents, double low, double high);
values integers(std::vector<std::int64_t> extents, std::vector<double> numbers);
// The same numbers rounded to another type.
values rounded(values v, element type);

// Everything that a generated expression reads, see by_name.cpp. small: few elements, no slice empty. wide: more than
// a vector of rows and columns. gaps: slices and segments without elements, subscripts that repeat.
enum class shape { small, wide, gaps };
table some_data(std::uint64_t seed, shape how);

// What is checked of one expression y: its value; {vjp(y, x), jvp(y, x)}; and of the half square of y the gradient g =
// vjp(y, x, y) and the Hessian times tangent(x), {g, gradient of <g, tangent(x)>, jvp(g, x)}. Without words of the
// last ones, or without the last output, only what is there is checked.
struct subject {
  std::string name;
  std::vector<std::int32_t> value, first, second;
  std::string by;  // what x is called
};

// Kernels against the reference on these data, for all that is there. Returns y.
values check_backends(const subject& s, table data);
// The same, and: vjp and jvp against differences, <c, jvp v> = <vjp c, v>, the second derivative against differences
// of the first, and both ways of asking for it against each other.
values check_derivatives(const subject& s, table data);
// Directions and cotangents for the programs of the derivatives of y.
void add_directions(const subject& s, const values& y, table& data);
// The backends alone: value and first derivatives on wide data, for the evaluator is slow, and all on data with gaps.
void check_on_wide_and_gaps(const subject& s, std::uint64_t seed);
// Derivatives on small data, and the backends alone on the other shapes.
void check_everywhere(const subject& s, std::uint64_t seed);

// subject of a tensor y by a tensor x; value_of where nothing is differentiable.
template <class Y>
SHEAF_INLINE subject value_of(std::string name, Y y) {
  return {std::move(name), words_of(y), {}, {}, ""};
}
template <class Y, class X>
SHEAF_INLINE subject first_order(std::string name, Y y, X x) {
  return {std::move(name), words_of(y), words_of(vjp(y, x), jvp(y, x)), {}, X::label.text};
}
namespace part {
constexpr auto r = axis<"r">;
constexpr auto s = axis<"s">;
constexpr auto p = axis<"p">;
constexpr auto q = axis<"q">;
}  // namespace part
// <dx, tangent(x)>: its gradient is the Hessian times the direction.
template <class Dx, class X>
SHEAF_INLINE constexpr auto slope_of(Dx dx, X x) {
  using namespace part;
  const auto along = tangent(x);
  if constexpr (X::rank == 1)
    return define<"slope">() = sum(r, dx(r) * along(r));
  else if constexpr (X::rank == 2)
    return define<"slope">() = sum(over(r, s), dx(r, s) * along(r, s));
  else if constexpr (X::rank == 3)
    return define<"slope">() = sum(over(r, s, p), dx(r, s, p) * along(r, s, p));
  else
    return define<"slope">() = sum(over(r, s, p, q), dx(r, s, p, q) * along(r, s, p, q));
}
// The Hessian by the gradient of a gradient; with both_orders also by the directional derivative of one.
template <class Y, class X>
SHEAF_INLINE subject second_order(std::string name, Y y, X x) {
  return {std::move(name), words_of(y), words_of(vjp(y, x), jvp(y, x)),
          words_of(vjp(y, x, y), grad(slope_of(vjp(y, x, y), x), x)), X::label.text};
}
template <class Y, class X>
SHEAF_INLINE subject both_orders(std::string name, Y y, X x) {
  return {std::move(name), words_of(y), words_of(vjp(y, x), jvp(y, x)),
          words_of(vjp(y, x, y), grad(slope_of(vjp(y, x, y), x), x), jvp(vjp(y, x, y), x)), X::label.text};
}

}  // namespace sheaf::test
