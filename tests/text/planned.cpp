// Programs whose plan once did not come to an end.
#include <gtest/gtest.h>

#include <sheaf/jit/engine/program.hpp>
#include <sheaf/text.hpp>

namespace sheaf::test::planned_tests {
namespace {

struct much_data {
  much_data() { jit::plan_as_of_much_data(true); }
  ~much_data() { jit::plan_as_of_much_data(false); }
};

// How long the range of h is says a definition over m, and how long that of m is one over h.
TEST(planned, ranges_that_walk_over_each_other) {
  array<std::int64_t, 1> p(15);
  const array<std::int32_t, 2> none(0, 0), columns(1, 0);
  for (int k = 0; k < 15; ++k) p(k) = 0;
  const text_program program(
      "d5 = sum(over(j.in(0, cut(0, 1)), h.in(extent(p, 0), (-1), (-1)).where(h != 0 || h < j)), cast<f64>(1))\n"
      "d9(s, m.in(0, 1)) = logsumexp(h.in(0, ends(s, 1)), d5)\n"
      "loss = sum(over(i, j), d9(i, j))\noutput loss");
  const std::vector<named_argument> with{{"p", p}, {"cut", none}, {"ends", columns}};
  try {
    program(with);
    ADD_FAILURE() << "no element to read";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code::index_out_of_range) << e.what();
  }
}

// Of a range that data bounds no partial results are stored.
TEST(planned, a_check_over_many_rows_of_data) {
  const array<double, 2> x(0, 4);
  array<std::int32_t, 2> cut(4, 2);
  array<std::uint8_t, 2> n(4, 2);
  cut.fill(0), n.fill(0);
  const text_program program(
      "input x: f64[?, ?]\nd(t, i.in(0, extent(cut, 0))) = min(c.in(0, cut(i, 1)), x(0, t))\n"
      "e = logsumexp(j.in(0, n(0, 1)), d(0, 0))\noutput d(0, 1) - e");
  EXPECT_EQ((program({{"x", x}, {"cut", cut}, {"n", n}})[0].as<const double, 0>()()), math::infinity);
}

// m - (m - c) is c in a subscript, and in a range that another loop has.
TEST(planned, a_subscript_that_cancels_in_a_range) {
  const text_program program(
      "input x: f32[?, ?]\n"
      "d(m.in(0, extent(x, 0))) = min(over(c.in(m, (-1), (-1)), t.in(c, 0).where(t >= 2 || t > c)), x(c, 0))\n"
      "loss = sum(i, d(i) * d(i)); slope = sum(over(i, j), grad(loss, x)(i, j))\noutput grad(slope, x)");
  EXPECT_EQ((program({{"x", array<float, 2>(0, 0)}})[0].as<const float, 2>().extent(0)), 0);
}

std::vector<double> values(const text_program& program, const std::vector<named_argument>& with, int output) {
  const auto all = program(with);
  const any_array& a = all[static_cast<std::size_t>(output)];
  const double* first = static_cast<const double*>(a.data());
  return {first, first + a.extent(0)};
}

// What a sum asks is not asked again in its terms; the range of its own index asks on.
TEST(planned, a_condition_that_the_range_of_an_index_asks) {
  array<double, 2> x(3, 3);
  array<double, 1> w(9), v(9);
  x.fill(1), w.fill(1), v.fill(1);
  const text_program program(
      "d(q.in(0, extent(x, 0))) = max<ties::first>(m.in(0, 1).where(x(q, q) > 0.5), "
      "logsumexp(r.in(0, m), w(remainder(r, 8))))\n"
      "loss = sum(i, d(i))\noutput jvp(grad(loss, w), w, v)");
  for (const double n : values(program, {{"x", x}, {"w", w}, {"v", v}}, 0)) EXPECT_EQ(n, 0);
}

// Slices whose number is a result: what a slice needs of itself cannot be stored for so many.
TEST(planned, slices_as_many_as_a_fold_says) {
  const text_program program(
      "input x: f64[?]\ninput cut: i64[?, ?]\ninput many: i64[?]\n"
      "d(m.in(0, extent(cut, 0))) = cast<f64>(max(k.in(0, extent(many, 0)), many(k)) >= m) * "
      "minimum(7, sum(t.in(cut(m, 0), cut(m, 1)), x(t)))\n"
      "loss = sum(m, d(m))\noutput grad(loss, x)");
  array<double, 1> x(6);
  array<std::int64_t, 1> many(2);
  array<std::int64_t, 2> cut(3, 2);
  const std::int64_t bounds[] = {0, 3, 2, 6, 1, 2};
  for (int k = 0; k < 6; ++k) x(k) = k, cut.data()[k] = bounds[k];
  many(0) = 0, many(1) = 2;
  const std::vector<named_argument> with{{"x", x}, {"cut", cut}, {"many", many}};
  EXPECT_EQ(values(program, with, 0), (std::vector<double>{1, 2, 1, 0, 0, 0}));  // the second sum is 14
  many(1) = 0;
  EXPECT_EQ(values(program, with, 0), (std::vector<double>{1, 1, 1, 0, 0, 0}));
}

// A sum over an inner index k of what a place of the outer k has too: results for all inner places have an index of
// another name.
TEST(planned, an_inner_index_of_the_outer_name) {
  const char* text =
      "input w: f64[?]\ninput c: i64[?, ?]\nmonoid either(a, b) = a + b - a * b identity 0\n"
      "d(j.in(0, 5), h.in(0, extent(c, 0))) = fold(either, k.in(0, j), prod(u.in(0, 1), w(k)))\n"
      "loss = sum(over(i, j), d(i, j)); slope = sum(i, grad(loss, w)(i))\noutput grad(slope, w)";
  array<double, 1> w(4);
  w.fill(0);
  EXPECT_EQ(values(text_program(text), {{"w", w}, {"c", array<std::int64_t, 2>(1, 0)}}, 0),
            (std::vector<double>{-6, -6, -5, -3}));
}

// Two outputs that compare one sum by key: it is stored once, and so added once.
TEST(planned, a_compared_sum_of_two_outputs) {
  const char* text =
      "input x: f64[?, ?]\ninput pick: i16[?]\n"
      "d(r.in(0, 1), t) = max(h.in(0, 1), sum(c.where(pick(c) == t), x(c, t)))\n"
      "loss = sum(over(i, j), d(i, j) * d(i, j))\noutput grad(loss, x), jvp(grad(loss, x), x, v)";
  array<double, 2> x(1, 1), v(1, 1);
  array<std::int16_t, 1> pick(1);
  x(0, 0) = 1, v(0, 0) = 3, pick(0) = 0;
  const std::vector<named_argument> with{{"x", x}, {"pick", pick}, {"v", v}};
  EXPECT_EQ(values(text_program(text), with, 0), std::vector<double>{2});
  EXPECT_EQ(values(text_program(text), with, 1), std::vector<double>{6});
}

// A sum over q stands before the loop over q whose row of exponentials it may not read yet.
TEST(planned, a_row_that_is_filled_later) {
  const char* text =
      "input y: f64[7, 6]\ninput cut: u32[?, ?]\ninput v: f64[?, ?]\n"
      "d(t.in(0, extent(y, 0)), h) = sum(q.in(0, extent(y, 0)), logsumexp(j.in(cut(h, 0), cut(h, 1)), y(q, h)))\n"
      "loss = sum(over(i, j), d(i, j) * d(i, j))\noutput grad(loss, y), jvp(grad(loss, y), y, v)";
  array<double, 2> y(7, 6), v(7, 6);
  array<std::uint32_t, 2> cut(6, 2);
  for (int k = 0; k < 42; ++k) y.data()[k] = 0.1 * (k % 9) - 0.4, v.data()[k] = 0.2 * (k % 5) - 0.3;
  for (int h = 0; h < 6; ++h) cut(h, 0) = 2, cut(h, 1) = static_cast<std::uint32_t>(2 + h);
  const std::vector<named_argument> with{{"y", y}, {"cut", cut}, {"v", v}};
  const options classes{.shapes = shape_policy::classes};
  for (const int output : {0, 1}) {
    const auto expected = [&] {
      const auto all = text_program(text, {}, jit::backend::reference)(with);
      const any_array& a = all[static_cast<std::size_t>(output)];
      return std::vector<double>(static_cast<const double*>(a.data()), static_cast<const double*>(a.data()) + 42);
    }();
    const auto all = text_program(text, classes)(with);
    const any_array& a = all[static_cast<std::size_t>(output)];
    for (int k = 0; k < 42; ++k)
      EXPECT_NEAR(static_cast<const double*>(a.data())[k], expected[static_cast<std::size_t>(k)], 1e-9) << k;
  }
}

// A range of a demand depends on another loop of its reduction, and on a definition.
TEST(planned, a_demand_in_a_range) {
  const char* text =
      "input x: f64[?, ?]\nh(c.in(0, extent(x, 1))) = c\n"
      "d(c, f) = min<ties::first>(u.in(0, n(c)), mean<empty::error>(j.in(0, u), min(s.in(0, j).where(s >= h(c)), "
      "x(f, s))))\noutput vjp(d, x, w)";
  const array<double, 2> none(0, 0);
  const array<std::int64_t, 1> no_rows(0);
  const std::vector<named_argument> with{{"x", none}, {"n", no_rows}, {"w", none}};
  const std::string printed = text_program(text).text(with);
  for (const auto& shown : {std::string(text), printed})
    EXPECT_EQ((text_program(shown)(with)[0].as<const double, 2>().extent(0)), 0) << shown;
}

// A row of a slice beside that for which rows are kept: how long it is says the data.
TEST(planned, rows_of_slices_of_a_padded_tensor) {
  array<double, 1> w(3);
  array<std::uint32_t, 2> cut(1, 2);
  for (int k = 0; k < 3; ++k) w(k) = 0.5 - k;
  cut(0, 0) = 0, cut(0, 1) = 3;
  const text_program program(
      "input w: f64[?]\ninput cut: u32[?, ?]\n"
      "d(k.in(0, 1)) = sum(c.in(cut(k, 0), cut(k, 1)), exp(w.padded(1)(c) - logsumexp(r.in(cut(k, 0), cut(k, 1)), "
      "w.padded(1)(r))))\n"
      "loss = sum(i, d(i))\nslope = sum(i, grad(loss, w)(i) * grad(loss, w)(i))\noutput grad(slope, w)");
  const auto found = program({{"w", w}, {"cut", cut}});
  for (int k = 0; k < 3; ++k) EXPECT_NEAR((found[0].as<const double, 1>()(k)), 0, 1e-12) << k;
}

// No slices: blocks of a block tree that hold as many rows as there are for a slice are none.
TEST(planned, a_block_tree_of_no_slices) {
  const much_data while_planned;
  const text_program program(
      "input x: f32[?]\ninput off: i64[?]\n"
      "d(s.in(0, extent(off, 0) - 1)) = sum(t.in(off(s), off(s + 1)), x.skipping(t))\n"
      "whole = sum(t, x(t))\noutput whole, d");
  array<std::int64_t, 1> off(1);
  off.fill(0);
  array<float, 1> x(5);
  x.fill(1);
  EXPECT_EQ((program({{"x", x}, {"off", off}})[0].as<const float, 0>()()), 5);
}

// A sweep down slices of what has no columns, of which the second sum of a slice needs the first, a number for all.
TEST(planned, slices_of_numbers_for_all_columns) {
  const much_data while_planned;
  array<float, 1> w(8);
  array<std::int64_t, 2> cut(5, 2);
  for (int k = 0; k < 8; ++k) w(k) = 0.25f * static_cast<float>(k % 3);
  for (int k = 0; k < 5; ++k) cut(k, 0) = k / 2, cut(k, 1) = 4 + k / 2;
  const std::vector<named_argument> with{{"w", w}, {"cut", cut}, {"columns", array<bool, 1>(32)}};
  const char* text =
      "input w: f32[8]\ninput columns: bool[?]\ninput cut: i64[?, ?]\n"
      "d(c, t.in(0, extent(columns, 0))) = logsumexp(m.in(cut(c, 0), cut(c, 1)), w(m))\noutput d";
  const auto found = text_program(text)(with), expected = text_program(text, {}, jit::backend::reference)(with);
  const auto a = found[0].as<const float, 2>(), b = expected[0].as<const float, 2>();
  for (int c = 0; c < 5; ++c)
    for (int t = 0; t < 32; ++t) EXPECT_NEAR(a(c, t), b(c, t), 1e-6) << c << " " << t;
}

}  // namespace
}  // namespace sheaf::test::planned_tests
