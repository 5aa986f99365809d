// Two questions Sheaf was made to answer: the mean of slices of rows, and the mean of gathered rows, each with its
// gradient. Prints the expressions as the library sees them, what came out, and how far that is from the slow
// reference. With --plan it also prints which loops run.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include <sheaf/sheaf.hpp>

namespace {
using namespace sheaf;

constexpr auto m = axis<"m">;  // slices
constexpr auto t = axis<"t">;  // rows
constexpr auto f = axis<"f">;  // features
constexpr auto b = axis<"b">;  // batch
constexpr auto k = axis<"k">;  // picks

constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;  // rows [begin, end)
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));

constexpr auto data = tensor<"data", float, 3>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;
constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, pick(b, k), f));

int differing = 0;

template <class Array>
void compare(const char* what, const Array& values, const Array& expected) {
  double worst = 0;
  for (std::int64_t i = 0; i < values.size(); ++i)
    worst =
        std::fmax(worst, std::fabs(static_cast<double>(values.begin()[i]) - static_cast<double>(expected.begin()[i])));
  const bool same = worst < 1e-6;
  differing += !same;
  std::printf("%s: %s\n", what, same ? "agrees with the reference" : "DIFFERS from the reference");
}

void print_rows(const char* title, const array<float, 2>& values) {
  std::printf("%s\n", title);
  for (std::int64_t i = 0; i < values.extent(0); ++i) {
    std::printf("  %2lld:", static_cast<long long>(i));
    for (std::int64_t j = 0; j < values.extent(1); ++j) std::printf(" %7.4f", static_cast<double>(values(i, j)));
    std::printf("\n");
  }
}

void slice_mean(bool with_plan) {
  std::printf("== The mean of slices of rows ==\n\n");
  array<float, 2> rows(10, 4);
  for (int i = 0; i < 40; ++i) rows.data()[i] = static_cast<float>(i);
  const std::int64_t bounds[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};

  const auto step = compile(pooled, vjp(pooled, x));
  std::printf("The expression and its gradient, derived while this program was compiled:\n\n%s\n\n", step.text());
  array<float, 2> ones(4, 4);
  ones.fill(1);
  if (with_plan) std::printf("The plan:\n\n%s\n", step.explain(x = rows, cut = bounds, cotangent(pooled) = ones));

  const auto [y, dx] = step(x = rows, cut = bounds, cotangent(pooled) = ones);
  const auto [y_slow, dx_slow] = reference(pooled, vjp(pooled, x))(x = rows, cut = bounds, cotangent(pooled) = ones);
  print_rows("x is 0..39 in rows of 4. The means of rows [3,5), [1,8), [4,8), [6,9):", y);
  compare("values", y, y_slow);
  print_rows("Their gradient to x, each mean counting as 1; row 4 lies in three slices: 1/2 + 1/7 + 1/4.", dx);
  compare("gradient", dx, dx_slow);
  std::printf("Rows 0 and 9 lie in no slice; their gradient is exactly 0: %s\n\n",
              dx(0, 0) == 0 && dx(9, 3) == 0 ? "yes" : "NO");
}

void gather_mean(bool with_plan) {
  std::printf("== The mean of gathered rows ==\n\n");
  array<float, 3> values(4, 7, 5);
  for (int i = 0; i < 140; ++i) values.data()[i] = static_cast<float>(i);
  const std::int64_t picks[4][3] = {{0, 2, 5}, {1, 1, 6}, {3, 4, 5}, {6, 0, 6}};  // repeated ones count each time

  const auto step = compile(gathered, vjp(gathered, data));
  std::printf("The expression and its gradient:\n\n%s\n\n", step.text());
  array<float, 2> ones(4, 5);
  ones.fill(1);
  if (with_plan)
    std::printf("The plan:\n\n%s\n", step.explain(data = values, pick = picks, cotangent(gathered) = ones));

  const auto [y, d] = step(data = values, pick = picks, cotangent(gathered) = ones);
  const auto [y_slow, d_slow] =
      reference(gathered, vjp(gathered, data))(data = values, pick = picks, cotangent(gathered) = ones);
  print_rows("data is 0..139 as [4,7,5]. The means of the picked rows, [4,7,5] -> [4,5]:", y);
  compare("values", y, y_slow);
  std::printf("The gradient of a picked row is 1/3, of one that was picked twice 2/3. For feature 0 of each batch:\n");
  for (int i = 0; i < 4; ++i) {
    std::printf("  %2d:", i);
    for (int j = 0; j < 7; ++j) std::printf(" %7.4f", static_cast<double>(d(i, j, 0)));
    std::printf("\n");
  }
  compare("gradient", d, d_slow);
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_plan = argc > 1 && std::strcmp(argv[1], "--plan") == 0;
  slice_mean(with_plan);
  gather_mean(with_plan);
  return differing == 0 ? 0 : 1;
}

/* Output:
== The mean of slices of rows ==

The expression and its gradient, derived while this program was compiled:

input cut: i64[?, ?]
input x: f32[?, ?]
input cotangent_pooled: f32[?, ?]
axis m: extent(cut, 0)
axis f: extent(x, 1)
axis t: extent(x, 0)
expect extent(cut, 0) == extent(cotangent_pooled, 0) for m
expect extent(x, 1) == extent(cotangent_pooled, 1) for f
pooled(m, f) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, f)) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0))
dpooled_dx(t, f) = sum(m.where(cut(m, 0) <= t && t < cut(m, 1)), cotangent_pooled(m, f) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0)))
output pooled, dpooled_dx

x is 0..39 in rows of 4. The means of rows [3,5), [1,8), [4,8), [6,9):
   0: 14.0000 15.0000 16.0000 17.0000
   1: 16.0000 17.0000 18.0000 19.0000
   2: 22.0000 23.0000 24.0000 25.0000
   3: 28.0000 29.0000 30.0000 31.0000
values: agrees with the reference
Their gradient to x, each mean counting as 1; row 4 lies in three slices: 1/2 + 1/7 + 1/4.
   0:  0.0000  0.0000  0.0000  0.0000
   1:  0.1429  0.1429  0.1429  0.1429
   2:  0.1429  0.1429  0.1429  0.1429
   3:  0.6429  0.6429  0.6429  0.6429
   4:  0.8929  0.8929  0.8929  0.8929
   5:  0.3929  0.3929  0.3929  0.3929
   6:  0.7262  0.7262  0.7262  0.7262
   7:  0.7262  0.7262  0.7262  0.7262
   8:  0.3333  0.3333  0.3333  0.3333
   9:  0.0000  0.0000  0.0000  0.0000
gradient: agrees with the reference
Rows 0 and 9 lie in no slice; their gradient is exactly 0: yes

== The mean of gathered rows ==

The expression and its gradient:

input pick: i64[?, ?]
input data: f32[?, ?, ?]
input cotangent_gathered: f32[?, ?]
axis k: extent(pick, 1)
axis b: extent(data, 0)
axis f: extent(data, 2)
axis i: extent(data, 1)
expect extent(data, 0) == extent(pick, 0) for b
expect extent(data, 0) == extent(cotangent_gathered, 0) for b
expect extent(data, 2) == extent(cotangent_gathered, 1) for f
gathered(b, f) = sum(k, data(b, pick(b, k), f)) / cast<f32>(extent(pick, 1))
dgathered_ddata(b, i, f) = sum(k.where(i == pick(b, k)), cotangent_gathered(b, f) / cast<f32>(extent(pick, 1)))
output gathered, dgathered_ddata

data is 0..139 as [4,7,5]. The means of the picked rows, [4,7,5] -> [4,5]:
   0: 11.6667 12.6667 13.6667 14.6667 15.6667
   1: 48.3333 49.3333 50.3333 51.3333 52.3333
   2: 90.0000 91.0000 92.0000 93.0000 94.0000
   3: 125.0000 126.0000 127.0000 128.0000 129.0000
values: agrees with the reference
The gradient of a picked row is 1/3, of one that was picked twice 2/3. For feature 0 of each batch:
   0:  0.3333  0.0000  0.3333  0.0000  0.0000  0.3333  0.0000
   1:  0.0000  0.6667  0.0000  0.0000  0.0000  0.0000  0.3333
   2:  0.0000  0.0000  0.0000  0.3333  0.3333  0.3333  0.0000
   3:  0.3333  0.0000  0.0000  0.0000  0.0000  0.0000  0.6667
gradient: agrees with the reference
*/
