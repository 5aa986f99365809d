// Real readings with gaps: weekly carbon dioxide at Mauna Loa. A month is a slice of weeks, of four or five; weeks
// without a reading are masked; a few months have none. A curve of trend and season is fitted to the monthly means by
// conjugate gradients: the gradient, and the second derivatives along a direction, are expressions as well. Writes
// mauna_loa.svg and, around the gap of 1964, mauna_loa_1964.svg.
#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <support/chart.hpp>
#include <support/csv.hpp>

namespace {
using namespace sheaf;

constexpr auto m = axis<"m">;     // months
constexpr auto t = axis<"t">;     // weeks
constexpr auto n = axis<"n", 2>;  // harmonics of the year
constexpr auto i = axis<"i">;     // parameters

constexpr auto co2 = tensor<"co2", float, 1>;  // parts per million; anything where not valid
constexpr auto valid = tensor<"valid", std::uint8_t, 1>;
constexpr auto year = tensor<"year", double, 1>;       // decimal
constexpr auto cut = tensor<"cut", std::int64_t, 2>;   // the weeks [begin, end) of each month
constexpr auto theta = tensor<"theta", double, 1, 7>;  // level, slope, bend, then cosine and sine of each harmonic

constexpr auto weeks = t.in(cut(m, 0_c), cut(m, 1_c)).where(valid(t));
constexpr auto readings = define<"readings">(m) = count(t.in(cut(m, 0_c), cut(m, 1_c)), valid(t));
constexpr auto average = define<"average">(m) = mean(weeks, co2(t));  // NaN where there is no reading
constexpr auto highest = define<"highest">(m) = max(weeks, co2(t));   // -inf there

// The curve at each week, its average over the weeks that were read, and the mean squared distance to the monthly
// means.
constexpr auto s = define<"s">(t) = (year(t) - 1980_c) / 22_c;
constexpr auto phase = constant<6.283185307179586> * cast<double>(n + 1_c) * year(t);
constexpr auto curve = define<"curve">(t) =
    theta(0_c) + theta(1_c) * s(t) + theta(2_c) * s(t) * s(t) +
    sum(n, theta(2_c * n + 3_c) * cos(phase) + theta(2_c * n + 4_c) * sin(phase));
constexpr auto off = define<"off">(m) = average(m) - mean(weeks, curve(t));
constexpr auto loss = define<"loss">() = mean(m.where(readings(m) > 0_c), off(m) * off(m));

// The second derivatives times a direction: the gradient of the gradient along it.
constexpr auto towards = tensor<"towards", double, 1, 7>;
constexpr auto along = define<"along">() = sum(i, grad(loss, theta)(i) * towards(i));
constexpr auto bend = grad(along, theta);

// Months as slices of the weeks.
struct calendar {
  std::vector<std::int64_t> year, month, bounds;  // bounds: begin and end, one after the other

  explicit calendar(const support::readings& weekly) {
    for (std::size_t w = 0; w < weekly.year.size(); ++w) {
      const auto at = static_cast<std::int64_t>(w);
      if (year.empty() || year.back() != weekly.year[w] || month.back() != weekly.month[w]) {
        year.push_back(weekly.year[w]);
        month.push_back(weekly.month[w]);
        bounds.push_back(at);
        bounds.push_back(at);
      }
      bounds.back() = at + 1;
    }
  }
  view<const std::int64_t, 2> slices() const { return view_of(bounds.data(), year.size(), 2); }
  double middle(std::size_t k) const {
    return static_cast<double>(year[k]) + (static_cast<double>(month[k]) - 0.5) / 12;
  }
};

using parameters = array<double, 1>;

double dot(const parameters& a, const parameters& b) {
  double total = 0;
  for (int k = 0; k < 7; ++k) total += a(k) * b(k);
  return total;
}
// a + factor * b
parameters moved(const parameters& a, double factor, const parameters& b) {
  parameters result(7);
  for (int k = 0; k < 7; ++k) result(k) = a(k) + factor * b(k);
  return result;
}

// The loss is quadratic in the parameters, so that conjugate gradients need about as many steps as there are
// parameters.
parameters fit(const support::readings& weekly, const calendar& months) {
  const auto slope_at = compile(value_and_grad(loss, theta));
  const auto bend_along = compile(bend);
  parameters now(7);
  auto [distance, slope] =
      slope_at(co2 = weekly.value, valid = weekly.valid, year = weekly.time, cut = months.slices(), theta = now);
  const auto [distance_slow, slope_slow] = reference(value_and_grad(loss, theta))(
      co2 = weekly.value, valid = weekly.valid, year = weekly.time, cut = months.slices(), theta = now);
  const parameters apart = moved(slope, -1, slope_slow);
  std::printf("\nThe first gradient %s with the reference.\n",
              dot(apart, apart) < 1e-8 * dot(slope, slope) ? "agrees" : "DISAGREES");
  std::printf("Fitting 7 parameters by conjugate gradients\n  step   loss (ppm^2)   gradient\n");
  parameters direction = moved(parameters(7), -1, slope);
  for (int step = 0;; ++step) {
    const double before = dot(slope, slope);
    std::printf("  %4d   %12.2f   %.0e\n", step, static_cast<double>(distance), std::sqrt(before));
    if (std::sqrt(before) < 1e-4 || step == 20) return now;
    const parameters bent = bend_along(co2 = weekly.value, valid = weekly.valid, year = weekly.time,
                                       cut = months.slices(), theta = now, towards = direction);
    now = moved(now, before / dot(direction, bent), direction);
    std::tie(distance, slope) =
        slope_at(co2 = weekly.value, valid = weekly.valid, year = weekly.time, cut = months.slices(), theta = now);
    direction = moved(moved(parameters(7), -1, slope), dot(slope, slope) / before, direction);
  }
}

struct monthly {
  array<std::int64_t, 1> read;
  array<float, 1> mean, highest;
};

// An empty month shows what a reduction over nothing is worth.
std::string in_words(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(value));
  return std::isnan(value) ? "NaN" : text;
}

void print_months(const calendar& months, const monthly& found) {
  std::printf("\n  month     weeks  read     mean      max\n");
  for (std::size_t k = 0; k < months.year.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    if (k >= 4 && found.read(at) > 0) continue;  // the first ones, and those without a reading
    std::printf("  %lld-%02lld   %5lld %5lld  %7s  %7s\n", static_cast<long long>(months.year[k]),
                static_cast<long long>(months.month[k]),
                static_cast<long long>(months.bounds[2 * k + 1] - months.bounds[2 * k]),
                static_cast<long long>(found.read(at)), in_words(found.mean(at)).c_str(),
                in_words(found.highest(at)).c_str());
  }
}

// Trend in ppm a year, and the swing of the season.
void print_fit(const parameters& p, double mean_square) {
  const auto growth = [&](double y) { return (p(1) + 2 * p(2) * (y - 1980) / 22) / 22; };
  std::printf("\nGrowth %.2f ppm a year in 1960, %.2f in 2000; the season swings by %.1f ppm.\n", growth(1960),
              growth(2000), 2 * std::hypot(p(3), p(4)));
  std::printf("The fit misses the monthly means by %.2f ppm (root mean square).\n", std::sqrt(mean_square));
}

support::chart drawing(const support::readings& weekly, const calendar& months, const monthly& found,
                       const array<double, 1>& fitted, double from, double to) {
  const bool close = to - from < 10;
  support::series raw{"weekly readings", {}, {}, support::mark::points, "#9aa5b1", close ? 4.0 : 2.0};
  support::series means{"monthly means", {}, {}, support::mark::line, "#0072b2", close ? 2.0 : 1.2};
  support::series maxima{"monthly maxima", {}, {}, support::mark::points, "#009e73", close ? 6.0 : 2.6};
  support::series curve_line{"trend and season", {}, {}, support::mark::line, "#d55e00", close ? 2.0 : 1.0};
  for (std::size_t w = 0; w < weekly.time.size(); ++w) {
    if (weekly.time[w] < from || weekly.time[w] > to) continue;
    raw.x.push_back(weekly.time[w]);
    raw.y.push_back(weekly.valid[w] != 0 ? static_cast<double>(weekly.value[w]) : std::nan(""));
    curve_line.x.push_back(weekly.time[w]);
    curve_line.y.push_back(fitted(static_cast<std::int64_t>(w)));
  }
  for (std::size_t k = 0; k < months.year.size(); ++k) {
    if (months.middle(k) < from || months.middle(k) > to) continue;
    means.x.push_back(months.middle(k));
    means.y.push_back(static_cast<double>(found.mean(static_cast<std::int64_t>(k))));
    maxima.x.push_back(months.middle(k));
    maxima.y.push_back(static_cast<double>(found.highest(static_cast<std::int64_t>(k))));
  }
  return {.title = "Carbon dioxide at Mauna Loa",
          .subtitle = "parts per million; months without a reading leave a gap",
          .x_label = "year",
          .curves = {raw, curve_line, means, maxima},
          .width = 1100,
          .height = 560};
}

}  // namespace

int main() {
  const support::readings weekly = support::read_readings(SHEAF_DATA_DIR "/co2.csv");
  const calendar months(weekly);
  auto [read, mean_of_month, max_of_month] =
      compile(readings, average, highest)(co2 = weekly.value, valid = weekly.valid, cut = months.slices());
  const monthly found{read, mean_of_month, max_of_month};
  std::printf("%zu weeks in %zu months.\n", weekly.time.size(), months.year.size());
  print_months(months, found);

  const parameters best = fit(weekly, months);
  const auto [fitted, mean_square] = compile(curve, loss)(co2 = weekly.value, valid = weekly.valid, year = weekly.time,
                                                          cut = months.slices(), theta = best);
  print_fit(best, mean_square);
  support::write_svg(drawing(weekly, months, found, fitted, 1958, 2002), "mauna_loa.svg");
  support::write_svg(drawing(weekly, months, found, fitted, 1962, 1966), "mauna_loa_1964.svg");
}

/* Output:
2284 weeks in 526 months.

  month     weeks  read     mean      max
  1958-03       1     1   316.10   316.10
  1958-04       4     4   317.20   317.60
  1958-05       5     3   317.43   317.90
  1958-06       4     0      NaN     -inf
  1958-10       4     0      NaN     -inf
  1964-02       5     0      NaN     -inf
  1964-03       4     0      NaN     -inf
  1964-04       4     0      NaN     -inf

The first gradient agrees with the reference.
Fitting 7 parameters by conjugate gradients
  step   loss (ppm^2)   gradient
     0      115770.23   7e+02
     1         863.07   2e+01
     2         299.24   1e+01
     3          11.33   4e+00
     4           0.56   1e-01
     5           0.56   1e-03
     6           0.56   4e-05

Growth 0.86 ppm a year in 1960, 1.81 in 2000; the season swings by 5.6 ppm.
The fit misses the monthly means by 0.75 ppm (root mean square).
*/
