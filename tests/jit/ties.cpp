// Derivatives of maxima over windows: sums over what ties, as windows of their own; every width, few and many ties,
// NaN and infinities, cut windows, batches, both modes; the same bits for any tasks.
#include <array>

#include "tie_data.hpp"

namespace sheaf::test::ties_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto m = tensor<"m", float, 2>;
constexpr auto z = tensor<"z", double, 1>;

// Of each plan: how many tie, and what they get.
void expect_ties(trial& test, std::int64_t width) {
  const std::string text = test.plan_text();
  EXPECT_EQ(count_of(text, "window of " + std::to_string(width) + ", sums of ties:"), 2) << text;
  EXPECT_EQ(count_of(text, "stage"), 3) << text;  // the maximum too is computed once
}

// dx by the definition: every window shares what it gets among those that equal its extremum.
std::vector<double> shared_among(const std::vector<double>& values, const std::vector<double>& dy, std::int64_t width,
                                 bool least) {
  std::vector<double> dx(values.size());
  for (std::size_t k = 0; k < dy.size(); ++k) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(k), end = begin + width;
    double best = least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    for (auto v = begin; v != end; ++v)
      best = std::isnan(*v) || std::isnan(best) ? NAN : least ? std::min(best, *v) : std::max(best, *v);
    const double share = dy[k] / static_cast<double>(std::count(begin, end, best));
    for (auto v = begin; v != end; ++v)
      if (*v == best) dx[static_cast<std::size_t>(v - values.begin())] += share;
  }
  return dx;
}

template <std::int64_t Width>
void one_width() {
  constexpr auto y = define<"y">(t.in(0_c, extent(x, dim<0>) - constant<Width> + 1_c)) =
      max(u.in(0_c, constant<Width>), x(t + u));
  constexpr auto low = define<"low">(t.in(0_c, extent(x, dim<0>) - constant<Width> + 1_c)) =
      min(u.in(0_c, constant<Width>), x(t + u));
  for (const data kind : kinds)
    for (const std::int64_t results : {100, 1500}) {
      const bool least = Width % 2 == 0;
      SCOPED_TRACE(testing::Message() << Width << ", " << results << " results, data " << static_cast<int>(kind));
      const std::int64_t size = results + Width - 1;
      trial test = least ? trial_of(vjp(low, x)) : trial_of(vjp(y, x));
      const auto values = drawn(size, kind);
      std::vector<double> dy;
      for (std::int64_t k = 0; k < results; ++k)
        dy.push_back(static_cast<double>(static_cast<float>(std::sin(static_cast<double>(k)))));
      test.with("x", {size}, values).with(least ? "cotangent_low" : "cotangent_y", {results}, dy);
      ASSERT_EQ(test.run(), 0);
      if (size >= 64 && Width > 1) expect_ties(test, Width);
      const auto want = shared_among(values, dy, Width, least);
      double scale = 0;
      for (const double w : want) scale = std::max(scale, std::abs(w));
      for (std::int64_t k = 0; k < size; ++k)
        ASSERT_NEAR(test.outputs[0].get<float>(k), want[static_cast<std::size_t>(k)], 1e-5 * scale) << k;
      const auto first = test.outputs[0].bytes;
      test.code->call.parallel_for = in_odd_tasks;
      ASSERT_EQ(test.run(), 0);
      EXPECT_TRUE(first == test.outputs[0].bytes);
    }
}
TEST(ties_of_windows, every_width) {
  one_width<2>();
  one_width<3>();
  one_width<7>();
  one_width<16>();
  one_width<29>();
  one_width<64>();
  one_width<100>();
  one_width<128>();
  one_width<129>();
  one_width<150>();
  one_width<1000>();
}

// Padding, both modes, with the value beside, doubles, and the reference.
template <std::int64_t Width>
void against_the_reference() {
  constexpr auto w = constant<Width>;
  constexpr auto count = extent(x, dim<0>) - w + 1_c;
  constexpr auto y = define<"y">(t.in(0_c, count)) = max(u.in(0_c, w), x(t + u));
  constexpr auto skipped = define<"skipped">(t.in(0_c, extent(x, dim<0>))) =
      max(u.in(0_c, w), x.skipping(t + u - constant<Width / 2>));
  constexpr auto wide = define<"wide">(t.in(0_c, extent(z, dim<0>) - w + 1_c)) = min(u.in(0_c, w), z(t + u));
  constexpr auto rows = define<"rows">(i, t.in(0_c, extent(m, dim<1>) - w + 1_c)) = max(u.in(0_c, w), m(i, t + u));
  const std::int64_t size = 90 + Width;
  for (const data kind : {data::few_ties, data::many_ties, data::infinite}) {
    SCOPED_TRACE(testing::Message() << Width << ", data " << static_cast<int>(kind));
    const auto values = drawn(3 * size, kind);
    const std::vector<double> one(values.begin(), values.begin() + size);
    trial both = trial_of(y, vjp(y, x));
    both.with("x", {size}, one).random("cotangent_y", {size - Width + 1}).expect_right();
    expect_ties(both, Width);
    trial forward = trial_of(jvp(y, x)), padded = trial_of(vjp(skipped, x)), doubles = trial_of(vjp(wide, z));
    forward.with("x", {size}, one).random("tangent_x", {size}).expect_right();
    expect_ties(forward, Width);
    padded.with("x", {size}, one).random("cotangent_skipped", {size}).expect_right();
    expect_ties(padded, Width);
    doubles.with("z", {size}, one).random("cotangent_wide", {size - Width + 1}).expect_right();
    expect_ties(doubles, Width);
    for (const bool turned : {false, true}) {
      trial batch = trial_of(vjp(rows, m));
      batch.with("m", {3, size}, values, turned).random("cotangent_rows", {3, size - Width + 1}).expect_right();
      if (!turned) expect_ties(batch, Width);
    }
  }
}
// Sums in the values that tie, read by stages whose lanes go along other indices: both sides read one sum.
TEST(ties_of_windows, of_values_that_hold_sums) {
  constexpr auto f = axis<"f">;
  constexpr auto h = axis<"h">;
  constexpr auto rows = extent(m, dim<0>) - 2_c;
  constexpr auto columns = extent(m, dim<1>) - 2_c;
  constexpr auto share = define<"share">(t, f) = m(t, f) / sum(h, exp(m(t, h)));
  constexpr auto down = define<"down">(t.in(0_c, rows), f) = max(u.in(0_c, 3_c), share(t + u, f));
  constexpr auto along = define<"along">(t, f.in(0_c, columns)) = max(u.in(0_c, 3_c), share(t, f + u));
  for (const std::int64_t size : {5, 300}) {
    trial first = trial_of(down, vjp(down, m)), second = trial_of(along, vjp(along, m));
    first.random("m", {size, 5}).random("cotangent_down", {size - 2, 5}).expect_right();
    second.random("m", {size, 5}).random("cotangent_along", {size, 3}).expect_right();
  }
}

// In slices of data, whose places are no stage's: both sides sum term by term.
TEST(ties_of_slices, of_values_that_hold_sums) {
  constexpr auto f = axis<"f">;
  constexpr auto q = tensor<"q", float, 2>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto n = axis<"n">;
  constexpr auto slice = t.in(off(n), off(n + 1_c));
  constexpr auto top =
      define<"top">(n.in(0_c, extent(off, dim<0>) - 1_c), j) = max(slice, sum(f, q(j, f) * m(t, f)));
  for (const std::int64_t width : {5, 64}) {
    trial test = trial_of(top, vjp(top, q), vjp(top, m));
    test.random("q", {19, width}).random("m", {45, width}).with("off", {5}, {0, 1, 1, 20, 45});
    test.random("cotangent_top", {4, 19}).expect_right();
  }
}

TEST(ties_of_windows, against_the_reference) {
  against_the_reference<3>();
  against_the_reference<20>();
  against_the_reference<130>();
}

}  // namespace
}  // namespace sheaf::test::ties_tests
