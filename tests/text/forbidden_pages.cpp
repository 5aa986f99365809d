// Arguments whose last byte is the last before a page that no one may touch: nothing behind an array is read, be the
// lanes of a register more than its elements.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <sheaf/text.hpp>

namespace sheaf::test {
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

}  // namespace
}  // namespace sheaf::test
