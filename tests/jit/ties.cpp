// Derivatives of maxima over windows: sums over what ties, as windows of their own; every width, few and many ties, NaN and
// infinities, cut windows, batches, both modes; the same bits for any pieces.
#include <array>

#include "plan_harness.hpp"

namespace sheaf::test {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto m = tensor<"m", float, 2>;
constexpr auto z = tensor<"z", double, 1>;

int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
// Of each plan: how many tie, and what they get.
void expect_ties(trial& test, std::int64_t width) {
  const std::string text = test.plan_text();
  EXPECT_EQ(count_of(text, "window of " + std::to_string(width) + ", sums of ties:"), 2) << text;
  EXPECT_EQ(count_of(text, "stage"), 3) << text;  // the maximum too is computed once
}

enum class data { few_ties, many_ties, all_tie, falling, endless };
std::vector<double> drawn(std::int64_t count, data kind) {
  std::mt19937_64 bits(static_cast<unsigned>(kind) + 3);
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto draw = static_cast<double>(bits() % (kind == data::few_ties ? 1000003 : 5));
    const double odd = draw == 0                      ? -std::numeric_limits<double>::infinity()
                       : draw == 1 && bits() % 8 == 0 ? std::numeric_limits<double>::infinity()
                       : draw == 2 && bits() % 8 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                      : draw;
    values.push_back(kind == data::all_tie   ? 1.5
                     : kind == data::falling ? static_cast<double>(-k)
                     : kind == data::endless ? odd
                                             : draw);
  }
  return values;
}
constexpr data kinds[] = {data::few_ties, data::many_ties, data::all_tie, data::falling, data::endless};

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
      const bool least = (static_cast<int>(kind) + results) % 2 == 0;
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
      test.code->call.parallel_for = in_odd_pieces;
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
  for (const data kind : {data::few_ties, data::many_ties, data::endless}) {
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
    doubles.with("z", {size}, one).random("cotangent_wide", {size - Width + 1}).expect_right();
    expect_ties(doubles, Width);
    for (const bool turned : {false, true}) {
      trial batch = trial_of(vjp(rows, m));
      batch.with("m", {3, size}, values, turned).random("cotangent_rows", {3, size - Width + 1}).expect_right();
      if (!turned) expect_ties(batch, Width);
    }
  }
}
TEST(ties_of_windows, against_the_reference) {
  against_the_reference<3>();
  against_the_reference<20>();
  against_the_reference<130>();
}

// Ranges with steps, in two dimensions, along columns.
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
    for (std::int64_t p = r * step[0] - before[0]; p < r * step[0] - before[0] + width[0]; ++p)
      for (std::int64_t q = c * step[1] - before[1]; q < c * step[1] - before[1] + width[1]; ++q)
        if (p >= 0 && p < size[0] && q >= 0 && q < size[1]) each(static_cast<std::size_t>(p * size[1] + q));
  }
};
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
  for (const bool odd : {false, true}) {
    if (odd) test.code->call.parallel_for = in_odd_pieces;
    const auto first = odd ? test.outputs[1].bytes : std::vector<unsigned char>{};
    ASSERT_EQ(test.run(), 0);
    if (odd) {
      EXPECT_TRUE(first == test.outputs[1].bytes);
    }
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
double in_ranges() {
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
  double operations = 0;
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
      EXPECT_GT(count_of(down.plan_text(), "blocks of their size"), 0) << down.plan_text();
    }
    operations = operations_of(both);
  }
  return operations;
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
    EXPECT_GT(count_of(up.plan_text(), "blocks of their size"), 0) << up.plan_text();
    EXPECT_GT(count_of(down.plan_text(), "blocks of their size"), 0) << down.plan_text();
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
  to_one<64, 1>();
  to_one<150, 3>();
  to_one<130, 2>();
}

TEST(ties_of_windows, in_ranges_of_any_kind) {
  in_ranges<9, 1>();
  in_ranges<16, 3>();
  in_ranges<20, 1>();
  in_ranges<33, 2>();
  in_ranges<70, 1>();
  in_ranges<70, 2>();
  in_ranges<70, 5>();
}

}  // namespace
}  // namespace sheaf::test
