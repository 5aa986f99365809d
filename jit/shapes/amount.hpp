// Numbers that follow from a call's extents, with the formula by which they do. Planning decides by comparing them, in
// one of two ways (decisions.hpp). For a class of extents, what is compared are the numbers of the extents that stand
// for all of the class, so that the plan is the same for all of them; only what a plan must not be wrong about is
// compared for the call itself, and recorded. For exact extents all is compared for the call itself, and recorded.
// Either way a plan serves every call for which it would have been decided alike: the plan that such a call would have
// got by itself, bit for bit.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace sheaf::inline v0_1::shapes {

class decisions;
using formula_id = std::int32_t;
inline constexpr formula_id no_formula = -1;

enum class rule : std::uint8_t { number, extent, add, sub, mul, div, min, max, log2, floor, integer };
// Of an operation on integers, elementwise like those of programs.
using integer_function = std::int64_t (*)(std::int64_t, std::int64_t, std::int64_t);
// Those that are no operation of programs; as C++ has them.
inline std::int64_t truncated_remainder(std::int64_t a, std::int64_t b, std::int64_t) { return a % b; }
inline std::int64_t bits_of(std::int64_t a, std::int64_t, std::int64_t) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(a)));
}

// A number, known for one call; without a formula the same for all. Exact up to 2^53. A comparison is of what stands
// for its class, unless one side is `certain()`.
class amount {
 public:
  amount() = default;
  template <class T>
  requires std::is_arithmetic_v<T> amount(T value)
      : value_(static_cast<double>(value)), usual_(static_cast<double>(value)) {}
  amount(double value, double usual, formula_id formula, decisions* record)
      : value_(value), usual_(usual), formula_(formula), record_(record) {}

  // For people, and for what decides neither a plan nor a kernel's text.
  double estimate() const { return value_; }
  // To stand in a plan or in a kernel's text: it then is for calls alone for which this is the same.
  double fixed() const;
  std::int64_t whole() const { return static_cast<std::int64_t>(fixed()); }
  // What it is compared by where the plan is for a class.
  double usual() const { return usual_; }
  // Is it another number in other calls that a plan for a class is for?
  bool is_of_class() const;
  // Is it of a class of irregular calls? Then a plan does without asking what it is.
  bool is_open() const;
  // To stand in a plan or in a kernel's text that is right, if slower, for any other: of a class that which stands for
  // it, else fixed.
  std::int64_t typical() const;
  // May it stand in a plan as `certain().whole()`, which is for calls alone that have it? Not of a class of few sizes.
  bool may_be_fixed() const;
  // May it, although it is no extent that calls are apt to change? Not where classes for all calls are made beforehand.
  bool may_be_known() const;
  // Is it for all calls that the plan is for? Of a class of few sizes the largest that it has are asked.
  bool is_at_most(double limit) const;
  // The same number, for comparisons that a plan is wrong without: of the size of a buffer, of a range that must not be
  // empty. Each may split a class.
  amount certain() const {
    amount same = *this;
    same.usual_ = value_;
    same.certain_ = true;
    return same;
  }

  // The same formula: decides nothing.
  bool is(const amount& b) const { return formula_ == b.formula_ && value_ == b.value_ && usual_ == b.usual_; }

  formula_id formula() const { return formula_; }
  decisions* record() const { return record_; }

  amount& operator+=(const amount& b) { return *this = *this + b; }
  amount& operator-=(const amount& b) { return *this = *this - b; }
  amount& operator*=(const amount& b) { return *this = *this * b; }
  amount& operator/=(const amount& b) { return *this = *this / b; }

  friend amount operator+(const amount& a, const amount& b) {
    return made(rule::add, a.value_ + b.value_, a.usual_ + b.usual_, a, b);
  }
  friend amount operator-(const amount& a, const amount& b) {
    return made(rule::sub, a.value_ - b.value_, a.usual_ - b.usual_, a, b);
  }
  friend amount operator*(const amount& a, const amount& b) {
    return made(rule::mul, a.value_ * b.value_, a.usual_ * b.usual_, a, b);
  }
  friend amount operator/(const amount& a, const amount& b) {
    return made(rule::div, a.value_ / b.value_, a.usual_ / b.usual_, a, b);
  }
  friend amount min(const amount& a, const amount& b) {
    return made(rule::min, std::min(a.value_, b.value_), std::min(a.usual_, b.usual_), a, b);
  }
  friend amount max(const amount& a, const amount& b) {
    return made(rule::max, std::max(a.value_, b.value_), std::max(a.usual_, b.usual_), a, b);
  }

  friend amount floor(const amount& a) { return made(rule::floor, std::floor(a.value_), std::floor(a.usual_), a, a); }
  friend amount log2(const amount& a) { return made(rule::log2, std::log2(a.value_), std::log2(a.usual_), a, a); }
  // Of whole numbers.
  friend amount applied(integer_function f, const amount& a, const amount& b, const amount& c);
  friend amount remainder(const amount& a, const amount& b) { return applied(truncated_remainder, a, b, 0); }
  friend amount bit_width(const amount& a) { return applied(bits_of, a, 0, 0); }

  friend bool operator<(const amount& a, const amount& b) { return is_less(a, b); }
  friend bool operator>(const amount& a, const amount& b) { return is_less(b, a); }
  friend bool operator<=(const amount& a, const amount& b) { return !is_less(b, a); }
  friend bool operator>=(const amount& a, const amount& b) { return !is_less(a, b); }
  friend bool operator==(const amount& a, const amount& b) { return is_equal(a, b); }

 private:
  static amount made(rule how, double value, double usual, const amount& a, const amount& b) {
    if (a.record_ == nullptr && b.record_ == nullptr) return value;
    return recorded(how, value, usual, a, b);
  }
  static amount recorded(rule how, double value, double usual, const amount& a, const amount& b);
  static bool is_less(const amount& a, const amount& b);
  static bool is_equal(const amount& a, const amount& b);
  static decisions* recorder(const amount& a, const amount& b);

  double value_ = 0, usual_ = 0;
  bool certain_ = false;
  formula_id formula_ = no_formula;
  decisions* record_ = nullptr;  // null: without a formula
};

amount applied(integer_function f, const amount& a, const amount& b, const amount& c);
inline bool is_open(const amount& a, const amount& b) { return a.is_open() || b.is_open(); }

// Is each at least as large as its limit, or larger where it is asked for more? One decision, however many there are:
// which of them fails splits no class.
struct at_least {
  amount number, limit;
  bool more = false;

  // 0 or more where it holds.
  amount left() const {
    const amount by = number - limit;
    return more ? floor(by * -1) * -1 - 1 : by;
  }
};
inline at_least less_than(const amount& number, const amount& limit) { return {limit, number, true}; }
inline bool all_of(std::span<const at_least> list) {
  if (list.empty()) return true;
  amount least = list[0].left();
  for (const at_least& a : list.subspan(1)) least = min(least, a.left());
  return least >= 0;
}
inline bool all_of(std::initializer_list<at_least> list) { return all_of(std::span(list.begin(), list.end())); }

}  // namespace sheaf::inline v0_1::shapes
