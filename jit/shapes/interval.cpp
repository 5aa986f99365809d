#include <sheaf/jit/shapes/interval.hpp>

#include <utility>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/step.hpp>

namespace sheaf::inline v0_1::shapes {

namespace {

interval whole_or(double low, double high) {
  return low <= high ? interval{low, high} : interval{};  // NaN: nothing is known
}

// Of four ends, where the operation is monotone in each operand.
template <class Operation>
interval hull(const Operation& of, const interval& a, const interval& b) {
  const double ends[] = {of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)};
  double low = infinite, high = -infinite;
  for (const double e : ends) {
    if (e != e) return {};
    low = std::min(low, e), high = std::max(high, e);
  }
  return {low, high};
}
interval hull(rule how, const interval& a, const interval& b) {
  return hull([&](double x, double y) { return result(how, x, y); }, a, b);
}

// Beyond these an integer operation may wrap.
constexpr double most_whole = 9e18;
bool is_whole(const interval& a) { return a.low >= -most_whole && a.high <= most_whole; }

bool is_function(integer_function f, op kind) { return f == row(kind).integer; }

}  // namespace

interval enclosed(rule how, const interval& a, const interval& b) {
  switch (how) {
    case rule::sub:
      return whole_or(a.low - b.high, a.high - b.low);
    case rule::div:
      return b.low <= 0 && b.high >= 0 && !(a.is_point() && b.is_point()) ? interval{} : hull(how, a, b);
    case rule::log2: {
      // The library's function need not be monotone in its last bit.
      constexpr double about = 1e-12;
      if (a.is_point()) return whole_or(std::log2(a.low), std::log2(a.low));
      return a.low <= 0 ? interval{} : interval{std::log2(a.low) - about, std::log2(a.high) + about};
    }
    case rule::floor:
      return whole_or(std::floor(a.low), std::floor(a.high));
    default:
      return hull(how, a, b);  // add, mul, min, max
  }
}

interval enclosed(integer_function f, const interval& a, const interval& b, const interval& c) {
  const auto value = [&](double x, double y) {
    return static_cast<double>(f(whole_of(x), whole_of(y), whole_of(c.low)));
  };
  if (a.is_point() && b.is_point() && c.is_point()) return {value(a.low, b.low), value(a.low, b.low)};
  if (is_function(f, op::select)) {
    if (a.low > 0 || a.high < 0) return b;
    return a.is_point() ? c : interval{std::min(b.low, c.low), std::max(b.high, c.high)};
  }
  if (is_function(f, op::minimum)) return enclosed(rule::min, a, b);
  if (is_function(f, op::maximum)) return enclosed(rule::max, a, b);
  const bool is_positive = a.low >= 0 && a.high <= most_whole;
  if (f == bits_of && is_positive) return {value(a.low, 0), value(a.high, 0)};
  if (!is_whole(a) || !is_whole(b)) return {};
  for (const auto& [kind, how] : {std::pair{op::add, rule::add}, {op::sub, rule::sub}, {op::mul, rule::mul}})
    if (is_function(f, kind)) return is_whole(enclosed(how, a, b)) ? hull(value, a, b) : interval{};
  if (is_function(f, op::neg)) return {-a.high, -a.low};
  if (is_function(f, op::quotient) && b.low > 0) return hull(value, a, b);
  if ((is_function(f, op::remainder) || f == truncated_remainder) && is_positive && b.low > 0) return {0, b.high - 1};
  if (is_function(f, op::less))
    return a.high < b.low ? interval{1, 1} : a.low >= b.high ? interval{0, 0} : interval{0, 1};
  if (is_function(f, op::less_equal))
    return a.high <= b.low ? interval{1, 1} : a.low > b.high ? interval{0, 0} : interval{0, 1};
  return {};
}

}  // namespace sheaf::inline v0_1::shapes
