// Lanes that are apart in memory, on processors without gathers: right for any count and mask, and code that does not
// write each lane out.
#include <gtest/gtest.h>

#include <algorithm>

#include "processors.hpp"

namespace sheaf::test::by_lane_tests {
namespace {

SHEAF_ON_PROCESSORS(by_lane);

// z[2 i, 1] = x[i, 2] + x[pick[i], i] where keep[i], else 0: by the lanes' numbers, by data with them, and strided.
ir::module apart(element type, int lanes) {
  ir::module m;
  m.name = "apart";
  const auto x = add_slot(m, "x", type, 2, role::input), pick = add_slot(m, "pick", element::i64, 1, role::input);
  const auto keep = add_slot(m, "keep", element::boolean, 1, role::input), z = add_slot(m, "z", type, 2, role::output);
  const auto w = add_slot(m, "w", type, 1, role::output);
  m.buffers.back().unit_inner = false;
  ir::kernel_builder k("apart");
  auto& top = k.top();
  auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(pick, 0), lanes);
  const value row = i.load(pick, element::i64, {i.counter()}, access::contiguous);
  const value live = i.load(keep, element::boolean, {i.counter()}, access::contiguous);
  const value own = i.load(x, type, {i.lanes(), i.i64(2)}, access::gather);
  const value sum = i.emit(op::add, {own, i.load(x, type, {row, i.lanes()}, access::gather, live)});
  i.store(z, {i.emit(op::mul, {i.lanes(), i.i64(2)}), i.i64(1)}, sum, access::gather);
  i.store(w, {i.counter()}, sum, access::strided);
  i.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

template <class T>
void expect_right(const sheaf_llvm_options& options, element type, int lanes) {
  program p(apart(type, lanes), options);
  constexpr std::int64_t most = 150;
  std::vector<T> x(most * most);
  for (std::size_t a = 0; a < x.size(); ++a) x[a] = static_cast<T>(a % 101);
  for (const std::int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 100, 150}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<std::int64_t> pick(size);
    const auto keep = std::make_unique<bool[]>(size + 1);
    for (std::size_t a = 0; a < size; ++a)
      keep[a] = a % 3 != 1, pick[a] = keep[a] ? static_cast<std::int64_t>(a * 7 % 150) : -1'000'000'000'000;
    std::vector<T> z(2 * size * 3, T(-1)), w(3 * size, T(-1));
    p.reset();
    p.argument(x.data(), {most, most}).argument(pick.data(), {n}).argument(keep.get(), {n});
    p.argument(z.data(), {2 * n, 3}).argument(w.data(), {n}, {3}).run();
    for (std::size_t a = 0; a < size; ++a) {
      const T picked = keep[a] ? x[static_cast<std::size_t>(pick[a]) * most + a] : T(0);
      const T expected = static_cast<T>(x[a * most + 2] + picked);
      EXPECT_EQ(z[2 * a * 3 + 1], expected) << lanes << " lanes, " << n << ", row " << a;
      EXPECT_EQ(w[3 * a], expected) << lanes << " lanes, " << n << ", row " << a;
      z[2 * a * 3 + 1] = w[3 * a] = T(-1);
    }
    for (const auto& rest : {z, w})
      EXPECT_TRUE(std::ranges::all_of(rest, [](T v) { return v == T(-1); })) << "nothing else is written";
  }
}

TEST_P(by_lane, any_count_and_mask) {
  for (const int lanes : {4, 16, 64}) {
    expect_right<float>(options(), element::f32, lanes);
    expect_right<double>(options(), element::f64, lanes);
    expect_right<std::int8_t>(options(), element::i8, lanes);
  }
}

TEST_P(by_lane, lanes_are_not_written_out) {
  sheaf_llvm_options o = options();
  o.want_asm = 1;
  const std::string code = program(apart(element::f32, 64), o).code().assembly;
  const auto lines = std::count(code.begin(), code.end(), '\n');
  EXPECT_LT(lines, 4000) << lines;
}

// A mask of two lanes is made without the instruction that waits amid those of AVX.
TEST(written_out, code_without_insertq) {
  sheaf_llvm_options o = default_options();
  o.cpu = "znver3";
  o.want_asm = 1;
  const std::string code = program(apart(element::f32, 4), o).code().assembly;
  EXPECT_EQ(code.find("insertq"), std::string::npos) << code;
  EXPECT_NE(code.find("vinsertps"), std::string::npos) << code;
}

}  // namespace
}  // namespace sheaf::test::by_lane_tests
