// Arguments whose last byte is the last before a page that no one may touch: nothing behind an array is read, be the
// lanes of a register more than its elements.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <sheaf/text.hpp>

namespace sheaf::test::forbidden_pages_tests {
namespace {

// Zeros that end where the page begins.
template <class T>
class flush {
 public:
  explicit flush(std::size_t count) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    start_ = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(start_) + page_, page_, PROT_NONE);
    data_ = reinterpret_cast<T*>(static_cast<char*>(start_) + page_) - count;
  }
  flush(const flush&) = delete;
  ~flush() { munmap(start_, 2 * page_); }
  T* data() const { return data_; }

 private:
  std::size_t page_;
  void* start_;
  T* data_;
};

// A kernel with more masks than there are registers for them, of 8 lanes over an array of bytes: compilers have read
// such a mask from where its unused bits are not zero.
TEST(forbidden_pages, masked_bytes_where_registers_are_short) {
  const flush<std::uint8_t> pick(2);
  const std::int64_t two[] = {2}, one[] = {1};
  array<bfloat16, 2> x(1, 4), v(1, 4);
  std::fill_n(x.data(), 4, bfloat16{});
  std::fill_n(v.data(), 4, bfloat16{});
  const array<std::int64_t, 1> none(0);
  array<std::int8_t, 1> column(1);
  column(0) = 0;
  options eight;
  eight.lanes = 8;
  const text_program program(
      "input x: bf16[?, ?]\ninput none: i64[?]\ninput pick: u8[?]\ninput column: i8[?]\ninput v: bf16[?, ?]\n"
      "d(c.in(0, 6), r.in(0, extent(none, 0) - 1)) = prod(over(u, i.in(0, extent(pick, 0)).where(pick(i) == c)), "
      "prod(s.in(0, 1), x.clamped(u, column(u))))\n"
      "e(h.in(0, extent(none, 0)), u.in(0, extent(none, 0))) = logsumexp(k.in(0, 3), d(0, k))\n"
      "loss = sum(over(i, j), e(i, j))\noutput jvp(grad(loss, x), x, v)",
      eight);
  const auto found = program({{"x", x},
                              {"none", none},
                              {"pick", view<const std::uint8_t, 1>(pick.data(), two, one)},
                              {"column", column},
                              {"v", v}});
  for (int k = 0; k < 4; ++k) EXPECT_EQ(to_double(found[0].as<const bfloat16, 2>()(0, k)), 0);
}

// The first range is empty: what a scan holds before its first element is nobody's.
TEST(forbidden_pages, a_running_result_over_nothing_is_not_looked_up) {
  array<float16, 1> x(1);
  x(0) = float16{};
  const auto found = text_program("y(h.in(0, extent(x, 0))) = max(k.in(0, h), x.skipping(k))")({{"x", x}});
  EXPECT_EQ(to_double(found[0].as<const float16, 1>()(0)), -math::infinity);
}

// Slices that end where the arrays do, and slices that don't: the rest of a register holds what follows, if that is one
// of the array's.
TEST(forbidden_pages, ends_of_slices) {
  const text_program program(
      "input x: f32[?]\ninput at: i32[?]\ninput w: f32[?]\ninput b: bf16[?]\ninput off: i64[?]\n"
      "y(m.in(0, extent(off, 0) - 1)) = sum(e.in(off(m), off(m + 1)), x(e) * w(at(e)))\n"
      "z(m.in(0, extent(off, 0) - 1)) = max(e.in(off(m), off(m + 1)), b(e))\noutput y\noutput z");
  for (std::int64_t n = 1; n < 60; ++n) {
    const auto size = static_cast<std::size_t>(n);
    const flush<float> x(size), w(3);
    const flush<std::int32_t> at(size);
    const flush<bfloat16> b(size);
    for (std::int64_t k = 0; k < n; ++k)
      x.data()[k] = static_cast<float>(k + 1), at.data()[k] = k % 3, b.data()[k] = to_bfloat16(static_cast<double>(k));
    for (int k = 0; k < 3; ++k) w.data()[k] = static_cast<float>(k - 1);
    array<std::int64_t, 1> off(4);
    for (int k = 0; k < 4; ++k) off(k) = n * k / 3;
    const std::int64_t extent[] = {n}, three[] = {3}, one[] = {1};
    const auto found = program({{"x", view<const float, 1>(x.data(), extent, one)},
                                {"at", view<const std::int32_t, 1>(at.data(), extent, one)},
                                {"w", view<const float, 1>(w.data(), three, one)},
                                {"b", view<const bfloat16, 1>(b.data(), extent, one)},
                                {"off", off}});
    for (int m = 0; m < 3; ++m) {
      double sum = 0;
      for (std::int64_t e = off(m); e < off(m + 1); ++e) sum += static_cast<double>((e + 1) * (e % 3 - 1));
      EXPECT_EQ(static_cast<double>(found[0].as<const float, 1>()(m)), sum) << n << " rows, slice " << m;
      const double top = off(m) < off(m + 1) ? static_cast<double>(off(m + 1) - 1) : -math::infinity;
      EXPECT_EQ(to_double(found[1].as<const bfloat16, 1>()(m)), top) << n << " rows, slice " << m;
    }
  }
}

// Rows of a view that lie apart end there, too.
TEST(forbidden_pages, ends_of_rows) {
  const text_program program("input x: f32[?, ?]\ny(t, f) = 2 * x(t, f)\nz(t) = sum(f, x(t, f))\noutput y\noutput z");
  for (std::int64_t n = 1; n < 40; ++n)
    for (const std::int64_t apart : {n, n + 3}) {
      const auto size = static_cast<std::size_t>(2 * apart + n);
      const flush<float> x(size);
      for (std::size_t k = 0; k < size; ++k) x.data()[k] = static_cast<float>(k);
      const std::int64_t extents[] = {3, n}, strides[] = {apart, 1};
      const auto found = program({{"x", view<const float, 2>(x.data(), extents, strides)}});
      const auto y = found[0].as<const float, 2>();
      const auto z = found[1].as<const float, 1>();
      for (std::int64_t t = 0; t < 3; ++t) {
        double sum = 0;
        for (std::int64_t f = 0; f < n; ++f) {
          const auto at = static_cast<double>(t * apart + f);
          EXPECT_EQ(static_cast<double>(y(t, f)), 2 * at) << n << ", row " << t;
          sum += at;
        }
        EXPECT_EQ(static_cast<double>(z(t)), sum) << n << ", row " << t;
      }
    }
}

// Lanes that step by their number beside what data names, to the last row of the last column.
TEST(forbidden_pages, lanes_along_a_diagonal) {
  const text_program program(
      "input x: f32[?, ?]\ninput at: i32[?]\ny(t.in(0, extent(at, 0))) = x(t, at(t))\n"
      "z(t.in(0, extent(at, 0))) = x(at(t), t)\noutput y\noutput z");
  for (std::int64_t n = 1; n < 70; ++n) {
    const auto size = static_cast<std::size_t>(n);
    const flush<float> x(size * size > 1024 ? 1024 : size * size);
    const std::int64_t side = size * size > 1024 ? 32 : n;
    const flush<std::int32_t> at(static_cast<std::size_t>(side));
    for (std::int64_t k = 0; k < side * side; ++k) x.data()[k] = static_cast<float>(k);
    for (std::int64_t k = 0; k < side; ++k) at.data()[k] = static_cast<std::int32_t>(side - 1 - k / 2);
    const std::int64_t extents[] = {side, side}, strides[] = {side, 1}, count[] = {side}, one[] = {1};
    const auto found = program({{"x", view<const float, 2>(x.data(), extents, strides)},
                                {"at", view<const std::int32_t, 1>(at.data(), count, one)}});
    const auto y = found[0].as<const float, 1>(), z = found[1].as<const float, 1>();
    for (std::int64_t t = 0; t < side; ++t) {
      EXPECT_EQ(y(t), static_cast<float>(t * side + at.data()[t])) << side << ", row " << t;
      EXPECT_EQ(z(t), static_cast<float>(at.data()[t] * side + t)) << side << ", row " << t;
    }
  }
}

}  // namespace
}  // namespace sheaf::test::forbidden_pages_tests
