// One program for a GPU and calls whose sizes change: the bits are those of a program that saw only this call, few
// kernels serve them all, and what is noted or captured of a call keeps its extents.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <support/both.hpp>

#include "machine.hpp"
#include "rows.hpp"

namespace {

using namespace sheaf;
using namespace test::of_rows;
using test::sentence_of;

constexpr auto v = tensor<"v", float, 2>;

std::mt19937_64 random_numbers(5);
std::int64_t up_to(std::int64_t most) {
  return static_cast<std::int64_t>(random_numbers() % static_cast<std::uint64_t>(most + 1));
}

array<std::int64_t, 1> places(std::int64_t count, std::int64_t rows) {
  array<std::int64_t, 1> list(count);
  for (std::int64_t n = 0; n < count; ++n) list(n) = rows == 0 ? 0 : up_to(rows - 1);
  return list;
}
array<std::int64_t, 2> slices(std::int64_t count, std::int64_t rows) {
  array<std::int64_t, 2> list(count, std::int64_t{2});
  for (std::int64_t n = 0; n < count; ++n) list(n, 0) = up_to(rows), list(n, 1) = std::min(rows, list(n, 0) + up_to(9));
  return list;
}

template <class One, class Other>
bool same_bits(const One& a, const Other& b, std::int64_t size) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(size) * sizeof *a.data()) == 0;
}

class sizes : public ::testing::TestWithParam<shape_policy> {};

TEST_P(sizes, have_the_bits_of_a_program_that_saw_no_other) {
  const stream s(on(gpu));
  const options wanted{.shapes = GetParam()};
  const auto step = compile(wanted, pooled, vjp(pooled, x, v), total, across, on(gpu));
  for (int k = 0; k < 6; ++k) {
    const std::int64_t rows = up_to(k % 3 == 0 ? 3000 : 60), count = up_to(k % 2 == 0 ? 300 : 20);
    const std::int64_t columns = k % 5 == 0 ? 1 + up_to(40) : 8;
    const auto a = to_device(test::noise_array<float>(-1, 1, rows, columns), s);
    const auto seed = to_device(test::noise_array<float>(-1, 1, count, columns), s);
    const auto bounds = to_device(slices(count, rows), s);
    const auto [y, dx, sums, of_rows] = step(x = a, cut = bounds, v = seed, on(s));
    const auto own = compile(wanted, pooled, vjp(pooled, x, v), total, across, on(gpu));
    const auto [y1, dx1, sums1, of_rows1] = own(x = a, cut = bounds, v = seed, on(s));
    ASSERT_TRUE(same_bits(to_host(y, s), to_host(y1, s), count * columns)) << rows << ", " << count;
    ASSERT_TRUE(same_bits(to_host(dx, s), to_host(dx1, s), rows * columns)) << rows << ", " << count;
    ASSERT_TRUE(same_bits(to_host(sums, s), to_host(sums1, s), columns)) << rows << ", " << count;
    ASSERT_TRUE(same_bits(to_host(of_rows, s), to_host(of_rows1, s), rows)) << rows << ", " << count;
  }
}
INSTANTIATE_TEST_SUITE_P(classes, sizes, ::testing::Values(shape_policy::automatic, shape_policy::classes));

TEST(classes, calls_of_near_sizes_share_a_kernel) {
  const stream s(on(gpu));
  const auto step = compile(total, across, on(gpu));
  const auto exact = compile(options{.shapes = shape_policy::exact}, total, across, on(gpu));
  for (std::int64_t rows = 1000; rows < 1020; ++rows) {
    const auto given = test::noise_array<float>(-1, 1, rows, 8);
    const auto a = to_device(given, s);
    const auto [sums, of_rows] = step(x = a, on(s));
    const auto [sums1, of_rows1] = exact(x = a, on(s));
    ASSERT_TRUE(same_bits(to_host(sums, s), to_host(sums1, s), 8)) << rows;
    ASSERT_TRUE(same_bits(to_host(of_rows, s), to_host(of_rows1, s), rows)) << rows;
  }
  EXPECT_EQ(1, step.statistics().kernels);
  EXPECT_EQ(1, step.statistics().misses);
  EXPECT_EQ(20, exact.statistics().kernels);
  EXPECT_GT(step.statistics().bytes, 0);
}

// However many sizes there are, what a program keeps for calls is bounded, and launches are as large as their call.
TEST(classes, launches_have_the_blocks_of_their_call) {
  const stream s(on(gpu));
  const auto step = compile(define<"doubled">(t, f) = x(t, f) + x(t, f), on(gpu));
  const auto explained = [&](std::int64_t rows) {
    const device_array<float, 2> a(s, rows, 64);
    return std::string(step.explain(x = a));
  };
  const std::string few = explained(4), more = explained(6);
  EXPECT_EQ(1, step.statistics().kernels);
  EXPECT_NE(few, more);
  const auto blocks = [](const std::string& text) {
    const std::size_t end = text.find(" blocks of");
    const std::size_t begin = text.rfind(' ', end - 1);
    return std::atol(text.substr(begin, end - begin).c_str());
  };
  EXPECT_LT(blocks(few), blocks(more)) << few << more;
}

TEST(classes, a_wrong_index_is_told_with_the_extents_of_its_call) {
  const stream s(on(gpu));
  const auto program = compile(taken, on(gpu));
  const auto bad = to_device(test::filled(array<std::int64_t, 1>(2), {1, 12}), s);
  const auto call = [&](std::int64_t rows, const auto& which, std::int64_t count) {
    const auto a = to_device(test::noise_array<float>(-1, 1, rows, 4), s);
    device_array<float, 2> out(s, count, 4);
    program(x = a, pick = which, taken = out, on(s));
  };
  const auto good = to_device(places(2, 9), s);
  call(10, good, 2);
  call(12, bad, 2);
  for (std::int64_t rows = 13; rows < 20; ++rows) call(rows, good, 2);
  EXPECT_EQ(1, program.statistics().kernels);
  EXPECT_EQ(sentence_of([&] { s.synchronise(); }).substr(0, 93),
            "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 11, found 12 for pi");
  // Of a call that is forgotten its extents are known as long as there were few others.
  call(11, bad, 2);
  for (int n = 0; n < 100; ++n) call(12, good, 2);
  EXPECT_NE(sentence_of([&] { s.synchronise(); }).find("from 0 to 10, found one outside"), std::string::npos);
  call(11, bad, 2);
  for (int n = 0; n < 100; ++n) call(12 + n % 3, good, 2);
  EXPECT_EQ(sentence_of([&] { s.synchronise(); }),
            "index_out_of_range: a call on a stream: expected subscripts inside of their tensors, found one outside, "
            "too many calls ago to say which");
  EXPECT_NO_THROW(s.synchronise());
}

TEST(classes, a_captured_graph_keeps_the_extents_of_its_capture) {
  const stream s(on(gpu));
  const auto program = compile(total, across, on(gpu));
  const auto of = [&](const array<float, 2>& rows) { return reference(total, across)(x = rows); };
  const auto fewer = test::noise_array<float>(-1, 1, 40, 8), more = test::noise_array<float>(-1, 1, 50, 8);
  const auto there = to_device(fewer, s), others = to_device(more, s);
  device_array<float, 1> sums(s, 8), rows40(s, 40), sums50(s, 8), rows50(s, 50);
  program.reserve(x = there, total = sums, across = rows40, on(s));
  s.synchronise();
  const graph_launch g = capture(s, [&] { program(x = there, total = sums, across = rows40, on(s)); });
  program(x = others, total = sums50, across = rows50, on(s));
  g.launch(s);
  EXPECT_EQ(1, program.statistics().kernels);
  const auto [total40, across40] = of(fewer);
  const auto [total50, across50] = of(more);
  test::expect_agree(to_host(sums, s), total40, 64, "total of the graph");
  test::expect_agree(to_host(rows40, s), across40, 64, "rows of the graph");
  test::expect_agree(to_host(sums50, s), total50, 64, "total of the call");
  test::expect_agree(to_host(rows50, s), across50, 64, "rows of the call");
}

// Updates that are sorted: numbers of kernels that programs share are the call's own.
TEST(classes, sorts_of_any_size) {
  const stream s(on(gpu));
  const auto step = compile(vjp(taken, x, v), on(gpu));
  for (const std::int64_t count : {700, 701, 900, 650}) {
    const auto a = to_device(test::noise_array<float>(-1, 1, 40, 4), s);
    const auto given = test::noise_array<float>(-1, 1, count, 4);
    const auto names = places(count, 40);
    const auto dx = step(x = a, pick = to_device(names, s), v = to_device(given, s), on(s));
    const auto dx0 = reference(vjp(taken, x, v))(x = test::noise_array<float>(-1, 1, 40, 4), pick = names, v = given);
    test::expect_agree(to_host(dx, s), dx0, 512, "rows");
  }
  EXPECT_EQ(1, step.statistics().kernels);
}

}  // namespace
