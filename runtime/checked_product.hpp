// A product of extents and element sizes, for what is checked before memory is made or touched. Shown by
// tests/numeric/memory.cpp. Private header.
#pragma once
#include <cstdint>

namespace sheaf::inline v0_1::runtime {

class checked_product {
 public:
  void times(std::int64_t n) {
    empty_ = empty_ || n <= 0;
    fits_ = fits_ && !__builtin_mul_overflow(value_, n, &value_);
  }
  // In an i64: products over no elements do, whatever the other factors.
  bool fits() const { return empty_ || fits_; }
  std::int64_t value() const { return empty_ ? 0 : value_; }

 private:
  std::int64_t value_ = 1;
  bool empty_ = false, fits_ = true;
};

}  // namespace sheaf::inline v0_1::runtime
