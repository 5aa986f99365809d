// Derivatives of maxima over windows with steps, of several dimensions, along columns, padded and dilated, and to the
// first or the last of equals: by the definition, from few ties to all, with NaN and infinities, the same bits for any
// tasks; and their cost, which does not grow with the window.
#include <array>

#include "tie_data.hpp"

namespace sheaf::test::extremum_with_sum_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto m = tensor<"m", float, 2>;

double operations_of(trial& test) {
  double total = 0;
  const std::string text = test.plan_text(), word = " operations";
  for (std::size_t end = text.find(word); end != std::string::npos; end = text.find(word, end + 1)) {
    const std::size_t begin = text.rfind(' ', end - 1);
    total += std::stod(text.substr(begin, end - begin));
  }
  return total;
}
// Windows of one or two dimensions, by the definition: the extremum, and what each element has of the shares.
struct pooled {
  std::int64_t size[2], width[2], step[2], before[2], results[2];
  bool least = false;
  std::int64_t apart[2] = {1, 1};  // the elements of a window

  void operator()(const std::vector<double>& values, const std::vector<double>& dy, std::vector<double>& y,
                  std::vector<double>& dx) const {
    y.clear();
    dx.assign(values.size(), 0);
    for (std::int64_t r = 0; r < results[0]; ++r)
      for (std::int64_t c = 0; c < results[1]; ++c) {
        double best = least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
        visit(r, c, [&](std::size_t at) {
          const double v = values[at];
          best = std::isnan(v) || std::isnan(best) ? NAN : least ? std::min(best, v) : std::max(best, v);
        });
        double count = 0;
        visit(r, c, [&](std::size_t at) { count += values[at] == best; });
        visit(r, c, [&](std::size_t at) { dx[at] += values[at] == best ? dy[y.size()] / count : 0; });
        y.push_back(best);
      }
  }

 private:
  template <class Visit>
  void visit(std::int64_t r, std::int64_t c, Visit each) const {
    for (std::int64_t a = 0; a < width[0]; ++a)
      for (std::int64_t b = 0; b < width[1]; ++b) {
        const std::int64_t p = r * step[0] - before[0] + a * apart[0], q = c * step[1] - before[1] + b * apart[1];
        if (p >= 0 && p < size[0] && q >= 0 && q < size[1]) each(static_cast<std::size_t>(p * size[1] + q));
      }
  }
};
// As so many threads share it.
template <int Tasks>
void in_pieces(void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double) {
  for (int k = 0; k < Tasks; ++k) body(call, count * k / Tasks, count * (k + 1) / Tasks);
}
void expect_shares(trial& test, const char* input, const char* cotangent, const pooled& windows,
                   const std::vector<double>& from, bool one_dimension = false) {
  const std::int64_t count = windows.size[0] * windows.size[1], results = windows.results[0] * windows.results[1];
  const std::vector<double> values(from.begin(), from.begin() + count);
  std::vector<double> dy, y, dx;
  for (std::int64_t k = 0; k < results; ++k)
    dy.push_back(static_cast<double>(static_cast<float>(std::sin(static_cast<double>(k)))));
  windows(values, dy, y, dx);
  if (one_dimension)
    test.with(input, {count}, values).with(cotangent, {results}, dy);
  else
    test.with(input, {windows.size[0], windows.size[1]}, values)
        .with(cotangent, {windows.results[0], windows.results[1]}, dy);
  ASSERT_EQ(test.run(), 0);
  const auto first = test.outputs[1].bytes;
  for (const auto tasks : {in_odd_tasks, in_pieces<2>, in_pieces<3>, in_pieces<7>}) {
    test.code->call.parallel_for = tasks;
    ASSERT_EQ(test.run(), 0);
    ASSERT_TRUE(first == test.outputs[1].bytes);
  }
  double scale = 1;
  for (const double w : dx) scale = std::max(scale, std::abs(w));
  for (std::int64_t k = 0; k < results; ++k) {
    const float found = test.outputs[0].get<float>(k);
    const double want = y[static_cast<std::size_t>(k)];
    ASSERT_TRUE(std::isnan(want) ? std::isnan(found) : static_cast<double>(found) == want)
        << k << ": " << found << ", " << want;
  }
  for (std::int64_t k = 0; k < count; ++k)
    ASSERT_NEAR(test.outputs[1].get<float>(k), dx[static_cast<std::size_t>(k)], 1e-5 * scale) << k << "\n"
                                                                                              << test.plan_text();
}

template <std::int64_t Width, std::int64_t Step>
void in_ranges() {
  constexpr auto w = constant<Width>, wide = constant<Width + 3>;
  constexpr auto step = constant<Step>;
  constexpr auto steps = [](auto size, auto width) { return quotient(size - width, constant<Step>) + 1_c; };
  constexpr auto strided = define<"strided">(t.in(0_c, steps(extent(x, dim<0>), w))) =
      max(u.in(0_c, w), x(step * t + u));
  constexpr auto skipped = define<"skipped">(t.in(0_c, quotient(extent(x, dim<0>), step))) =
      min(u.in(0_c, w), x.skipping(step * t + u - constant<Width / 2>));
  constexpr auto columns = define<"columns">(t.in(0_c, steps(extent(m, dim<0>), w)), i) =
      max(u.in(0_c, w), m(step * t + u, i));
  constexpr auto square =
      define<"square">(t.in(0_c, steps(extent(m, dim<0>), w)), i.in(0_c, steps(extent(m, dim<1>), wide))) =
          max(over(u.in(0_c, w), j.in(0_c, wide)), m(step * t + u, step * i + j));
  const std::int64_t line = 90 + 2 * Width, high = Width + 25, broad = Width + 31;
  const auto results = [](std::int64_t size, std::int64_t width) { return (size - width) / Step + 1; };
  for (const data kind : kinds) {
    SCOPED_TRACE(testing::Message() << Width << ", step " << Step << ", data " << static_cast<int>(kind));
    const auto values = drawn(std::max(line, high * broad), kind);
    trial one = trial_of(strided, vjp(strided, x)), cut = trial_of(skipped, vjp(skipped, x)),
          down = trial_of(columns, vjp(columns, m)), both = trial_of(square, vjp(square, m));
    expect_shares(one, "x", "cotangent_strided", {{1, line}, {1, Width}, {1, Step}, {0, 0}, {1, results(line, Width)}},
                  values, true);
    expect_shares(cut, "x", "cotangent_skipped",
                  {{1, line}, {1, Width}, {1, Step}, {0, Width / 2}, {1, line / Step}, true}, values, true);
    expect_shares(down, "m", "cotangent_columns",
                  {{high, broad}, {Width, 1}, {Step, 1}, {0, 0}, {results(high, Width), broad}}, values);
    expect_shares(
        both, "m", "cotangent_square",
        {{high, broad}, {Width, Width + 3}, {Step, Step}, {0, 0}, {results(high, Width), results(broad, Width + 3)}},
        values);
    EXPECT_EQ(count_of(both.plan_text(), "folded index by index"), Width > 9 * Step                   ? 2
                                                                   : Width * Width > 64 * Step * Step ? 2
                                                                   : Step > 1                         ? 0
                                                                                                      : 1)
        << both.plan_text();
    if (Step == 1 && Width > 16) {
      EXPECT_GT(count_of(down.plan_text(), "running blocks of its size"), 0) << down.plan_text();
    }
  }
}
// One of equals gets it whole: the first or the last, NaN counting as the extremum.
template <std::int64_t Width, std::int64_t Step>
void to_one() {
  constexpr auto w = constant<Width>, step = constant<Step>;
  constexpr auto count = quotient(extent(x, dim<0>) - w, step) + 1_c;
  constexpr auto first = define<"first">(t.in(0_c, count)) = max<ties::first>(u.in(0_c, w), x(step * t + u));
  constexpr auto last = define<"last">(t.in(0_c, count)) = min<ties::last>(u.in(0_c, w), x(step * t + u));
  constexpr auto place = define<"place">(t.in(0_c, count)) = argmax(u.in(0_c, w), x(step * t + u));
  const std::int64_t size = 300 + 2 * Width, results = (size - Width) / Step + 1;
  for (const data kind : kinds) {
    SCOPED_TRACE(testing::Message() << Width << ", step " << Step << ", data " << static_cast<int>(kind));
    const auto values = drawn(size, kind);
    std::vector<double> dy;
    for (std::int64_t k = 0; k < results; ++k) dy.push_back(static_cast<double>(k % 17 - 8));
    trial up = trial_of(place, vjp(first, x)), down = trial_of(vjp(last, x));
    up.with("x", {size}, values).with("cotangent_first", {results}, dy);
    down.with("x", {size}, values).with("cotangent_last", {results}, dy);
    ASSERT_EQ(up.run(), 0);
    ASSERT_EQ(down.run(), 0);
    EXPECT_GT(count_of(up.plan_text(), "running blocks of its size"), 0) << up.plan_text();
    EXPECT_GT(count_of(down.plan_text(), "running blocks of its size"), 0) << down.plan_text();
    std::vector<double> highest(values.size()), lowest(values.size());
    for (std::int64_t k = 0; k < results; ++k) {
      std::int64_t top = 0, low = 0;
      const auto at = [&](std::int64_t q) { return values[static_cast<std::size_t>(k * Step + q)]; };
      for (std::int64_t q = 1; q < Width; ++q) {
        if (!std::isnan(at(top)) && (at(q) > at(top) || std::isnan(at(q)))) top = q;
        if (std::isnan(at(q)) || (!std::isnan(at(low)) && at(q) <= at(low))) low = q;
      }
      ASSERT_EQ(up.outputs[0].get<std::int64_t>(k), top) << k;
      highest[static_cast<std::size_t>(k * Step + top)] += dy[static_cast<std::size_t>(k)];
      lowest[static_cast<std::size_t>(k * Step + low)] += dy[static_cast<std::size_t>(k)];
    }
    for (std::int64_t k = 0; k < size; ++k) {
      ASSERT_EQ(up.outputs[1].get<float>(k), static_cast<float>(highest[static_cast<std::size_t>(k)])) << k;
      ASSERT_EQ(down.outputs[0].get<float>(k), static_cast<float>(lowest[static_cast<std::size_t>(k)])) << k;
    }
  }
}
TEST(ties_of_windows, to_the_first_or_the_last) {
  to_one<50, 1>();
  to_one<63, 1>();
  to_one<64, 1>();
  to_one<150, 3>();
  to_one<130, 2>();
}

TEST(ties_of_windows, in_ranges_of_any_kind) {
  in_ranges<9, 1>();
  in_ranges<16, 3>();
  in_ranges<20, 1>();
  in_ranges<33, 2>();
  in_ranges<63, 2>();
  in_ranges<70, 1>();
  in_ranges<70, 2>();
  in_ranges<70, 5>();
}

// Dilated: every Gap-th element, in one dimension and in two, the least and the first.
template <std::int64_t Width, std::int64_t Gap>
void dilated() {
  constexpr auto w = constant<Width>, wide = constant<Width + 1>, gap = constant<Gap>;
  constexpr auto places = [](auto size, auto width) { return size - constant<Gap> * (width - 1_c); };
  constexpr auto line = define<"line">(t.in(0_c, places(extent(x, dim<0>), w))) = max(u.in(0_c, w), x(t + gap * u));
  constexpr auto low = define<"low">(t.in(0_c, places(extent(x, dim<0>), w))) = min(u.in(0_c, w), x(t + gap * u));
  constexpr auto down = define<"down">(t.in(0_c, places(extent(m, dim<0>), w)), i) =
      max(u.in(0_c, w), m(t + gap * u, i));
  constexpr auto square =
      define<"square">(t.in(0_c, places(extent(m, dim<0>), w)), i.in(0_c, places(extent(m, dim<1>), wide))) =
          min(over(u.in(0_c, w), j.in(0_c, wide)), m(t + gap * u, i + gap * j));
  const std::int64_t reach = Gap * (Width - 1), count = reach + 211, high = reach + 23, broad = reach + Gap + 37;
  for (const data kind : kinds) {
    SCOPED_TRACE(testing::Message() << Width << " elements " << Gap << " apart, data " << static_cast<int>(kind));
    const auto values = drawn(std::max(count, high * broad), kind);
    trial one = trial_of(line, vjp(line, x)), least = trial_of(low, vjp(low, x)),
          columns = trial_of(down, vjp(down, m)), both = trial_of(square, vjp(square, m));
    expect_shares(one, "x", "cotangent_line",
                  {{1, count}, {1, Width}, {1, 1}, {0, 0}, {1, count - reach}, false, {1, Gap}}, values, true);
    expect_shares(least, "x", "cotangent_low",
                  {{1, count}, {1, Width}, {1, 1}, {0, 0}, {1, count - reach}, true, {1, Gap}}, values, true);
    expect_shares(columns, "m", "cotangent_down",
                  {{high, broad}, {Width, 1}, {1, 1}, {0, 0}, {high - reach, broad}, false, {Gap, 1}}, values);
    expect_shares(
        both, "m", "cotangent_square",
        {{high, broad}, {Width, Width + 1}, {1, 1}, {0, 0}, {high - reach, broad - reach - Gap}, true, {Gap, Gap}},
        values);
    for (trial* each : {&one, &least, &columns, &both})
      if (Width >= 16) {
        EXPECT_GE(count_of(each->plan_text(), "each part is laid out by itself"), 3) << each->plan_text();
      }
  }
}
TEST(ties_of_windows, dilated) {
  dilated<3, 2>();
  dilated<5, 3>();
  dilated<17, 2>();
  dilated<33, 3>();
  dilated<40, 5>();
}

// Of computed halves: the extremum is rounded, and so is what is compared with it.
TEST(ties_of_windows, computed_of_halves) {
  constexpr auto h = tensor<"h", float16, 1>;
  constexpr auto size = extent(h, dim<0>);
  constexpr auto narrow = define<"narrow">(t.in(0_c, size - 3_c)) = max(u.in(0_c, 4_c), h(t + u) * h(t + u));
  constexpr auto broad = define<"broad">(t.in(0_c, size - 99_c)) = max(u.in(t, t + 100_c), h(u) * h(u));
  trial test = trial_of(vjp(narrow, h)), other = trial_of(vjp(broad, h));
  test.random("h", {1500}).random("cotangent_narrow", {1497}).expect_right(2e-3);
  other.random("h", {1500}).random("cotangent_broad", {1401}).expect_right(2e-3);
}

// What is predicted for windows of one width; no data is needed.
template <class Y, class X>
double cost_of(Y y, X in, const char* name, const char* cotangent, std::vector<std::int64_t> size,
               std::vector<std::int64_t> results) {
  trial test = trial_of(vjp(y, in));
  test.with(name, std::move(size), {}).with(cotangent, std::move(results), {}).make();
  return operations_of(test);
}
template <std::int64_t Width>
std::array<double, 5> costs() {
  constexpr auto w = constant<Width>;
  constexpr auto line = extent(x, dim<0>);
  constexpr auto half = [](auto size) { return quotient(size - constant<Width>, 2_c) + 1_c; };
  constexpr auto steps = define<"y">(t.in(0_c, half(line))) = max(u.in(0_c, w), x(2_c * t + u));
  constexpr auto gaps = define<"y">(t.in(0_c, line - 2_c * (w - 1_c))) = min(u.in(0_c, w), x(t + 2_c * u));
  constexpr auto first = define<"y">(t.in(0_c, line - w + 1_c)) = max<ties::first>(u.in(0_c, w), x(t + u));
  constexpr auto down = define<"y">(t.in(0_c, extent(m, dim<0>) - w + 1_c), i) = max(u.in(0_c, w), m(t + u, i));
  constexpr auto square = define<"y">(t.in(0_c, half(extent(m, dim<0>))), i.in(0_c, half(extent(m, dim<1>)))) =
      max(over(u.in(0_c, w), j.in(0_c, w)), m(2_c * t + u, 2_c * i + j));
  const std::int64_t count = 20000, side = 700, part = (side - Width) / 2 + 1;
  return {cost_of(steps, x, "x", "cotangent_y", {count}, {(count - Width) / 2 + 1}),
          cost_of(gaps, x, "x", "cotangent_y", {count}, {count - 2 * (Width - 1)}),
          cost_of(first, x, "x", "cotangent_y", {count}, {count - Width + 1}),
          cost_of(down, m, "m", "cotangent_y", {side, side}, {side - Width + 1, side}),
          cost_of(square, m, "m", "cotangent_y", {side, side}, {part, part})};
}
TEST(ties_of_windows, cost_what_small_ones_do) {
  const auto narrow = costs<64>(), broad = costs<192>();
  for (std::size_t k = 0; k < narrow.size(); ++k) EXPECT_LT(broad[k], 1.5 * narrow[k]) << k << ": " << narrow[k];
}

}  // namespace
}  // namespace sheaf::test::extremum_with_sum_tests
