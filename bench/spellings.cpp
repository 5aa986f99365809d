// The table of docs/costs.md: what each spelling takes, over the sum or the copy of the same data. One thread, medians
// of 11 calls after two. Built only when asked for (bench_spellings).
#include <sheaf/sheaf.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {
using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto m = axis<"m">;
constexpr auto s = axis<"s">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto id = tensor<"id", std::int32_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr std::int64_t rows = 4000, columns = 1000, all = rows * columns;

// Of f32 between 0.1 and 1.1; ids in any order, offsets of rows.
struct data {
  array<float, 1> a{all}, b{all};
  array<float, 2> grid{rows, columns};
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(all), sorted = ids;
  std::vector<std::int64_t> offsets = std::vector<std::int64_t>(rows + 1);
  data() {
    for (std::int64_t n = 0; n < all; ++n) {
      const auto random = static_cast<std::uint32_t>(n) * 2654435761u;
      a.data()[n] = grid.data()[n] = static_cast<float>(random >> 12) / static_cast<float>(1 << 20) + 0.1f;
      b.data()[n] = 1 / a.data()[n];
      ids[static_cast<std::size_t>(n)] = static_cast<std::int32_t>((random >> 9) % rows);
      sorted[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(n / columns);
    }
    for (std::int64_t n = 0; n <= rows; ++n) offsets[static_cast<std::size_t>(n)] = n * columns;
  }
};

template <class Call>
double milliseconds(Call call) {
  using clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int n = 0; n < 13; ++n) {
    const auto start = clock::now();
    call();
    const std::chrono::duration<double, std::milli> spent = clock::now() - start;
    if (n > 1) times.push_back(spent.count());
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

class table {
 public:
  template <class Program, class... B>
  void base(const char* name, const Program& program, B&&... arguments) {
    unit_ = milliseconds([&] { [[maybe_unused]] auto r = program(arguments...); });
    std::printf("\n| over %s, %.2f ms | |\n|---|---|\n", name, unit_);
  }
  template <class Program, class... B>
  void operator()(const char* spelling, const Program& program, B&&... arguments) {
    const double spent = milliseconds([&] { [[maybe_unused]] auto r = program(arguments...); });
    std::printf("| %s | %.1f |\n", spelling, spent / unit_);
    std::fflush(stdout);
  }

 private:
  double unit_ = 1;
};

void reductions(table& row, const data& d) {
  row.base("`sum(v)`", compile(sum(v)), v = d.a);
  row("`sum(i, v(i) * v(i))` and `sum(v)` in one program", compile(sum(i, v(i) * v(i)), sum(v)), v = d.a);
  row("`max(v)`", compile(max(v)), v = d.a);
  row("`argmax(v)`", compile(argmax(v)), v = d.a);
  row("`argmax<ties::last>(v)`", compile(argmax<ties::last>(v)), v = d.a);
  row("`argmax(x)` of a matrix", compile(argmax(x)), x = d.grid);
  row("`logsumexp(v)`", compile(logsumexp(v)), v = d.a);
  row("`sum<accumulate<double>>(v)`", compile(sum<accumulate<double>>(v)), v = d.a);
  row("`sum<compensated>(v)`", compile(sum<compensated>(v)), v = d.a);
  row("`mean<empty::error>(v)`", compile(mean<empty::error>(v)), v = d.a);
  row("`sum(i.where(v(i) > 0.5_c), v(i))`", compile(sum(i.where(v(i) > 0.5_c), v(i))), v = d.a);
  row("`sum(x, dim<0>)`", compile(sum(x, dim<0>)), x = d.grid);
  row("`sum(flip(v, dim<0>))`", compile(sum(flip(v, dim<0>))), v = d.a);
  row("`sum(concat(dim<0>, v, w))`, twice as much", compile(sum(concat(dim<0>, v, w))), v = d.a, w = d.b);
  row("`segment_sum(v, offsets(off))`", compile(segment_sum(v, offsets(off))), v = d.a, off = d.offsets);
  row("`segment_sum<4000>(v, id)`, ids ascending", compile(segment_sum<rows>(v, id)), v = d.a, id = d.sorted);
  row("`segment_sum<4000>(v, id)`, ids in any order", compile(segment_sum<rows>(v, id)), v = d.a, id = d.ids);
  row("`sum(i, v(id(i)))`", compile(sum(i, v(id(i)))), v = d.a, id = d.ids);
}

void elements(table& row, const data& d) {
  constexpr auto inside = i.in(0_c, extent(v, dim<0>));
  row.base("`2_c * v(i)`", compile(define<"o">(i) = 2_c * v(i)), v = d.a);
  row("`v(i) + w(i)`", compile(define<"o">(i) = v(i) + w(i)), v = d.a, w = d.b);
  row("`exp(v(i))`", compile(define<"o">(i) = exp(v(i))), v = d.a);
  row("`v.padded(0_c)(i - 1_c)`", compile(define<"o">(inside) = v.padded(0_c)(i - 1_c)), v = d.a);
  row("`v.clamped(i - 1_c)`", compile(define<"o">(inside) = v.clamped(i - 1_c)), v = d.a);
  row("`v.wrapped(i - 1_c)`", compile(define<"o">(inside) = v.wrapped(i - 1_c)), v = d.a);
  row("`v.reflected(i - 1_c)`", compile(define<"o">(inside) = v.reflected(i - 1_c)), v = d.a);
  row("`reshape<2000, -1>(x)`", compile(reshape<2000, -1>(x)), x = d.grid);
  row("`x(j, i)`", compile(define<"o">(i, j) = x(j, i)), x = d.grid);
  row("`concat(dim<1>, x, y)`, twice as much", compile(concat(dim<1>, x, y)), x = d.grid, y = d.grid);
  row("`cumsum(v, dim<0>)`", compile(cumsum(v, dim<0>)), v = d.a);
  row("`sum(s.in(0_c, t + 1_c), v(s))`",
      compile(define<"o">(t.in(0_c, extent(v, dim<0>))) = sum(s.in(0_c, t + 1_c), v(s))), v = d.a);
  row("`mean(u.in(0_c, 8_c), v(t + u))`",
      compile(define<"o">(t.in(0_c, extent(v, dim<0>) - 7_c)) = mean(u.in(0_c, 8_c), v(t + u))), v = d.a);
  row("`mean(u.in(0_c, 1000_c), v(t + u))`",
      compile(define<"o">(t.in(0_c, extent(v, dim<0>) - 999_c)) = mean(u.in(0_c, 1000_c), v(t + u))), v = d.a);
  row("`max(u.in(0_c, 1000_c), v(t + u))`",
      compile(define<"o">(t.in(0_c, extent(v, dim<0>) - 999_c)) = max(u.in(0_c, 1000_c), v(t + u))), v = d.a);
  row("`softmax(x, dim<1>)`", compile(softmax(x, dim<1>)), x = d.grid);
  row("`softmax(x, dim<0>)`", compile(softmax(x, dim<0>)), x = d.grid);
  row("`layer_norm(x)`", compile(layer_norm(x)), x = d.grid);
}

void gradients(table& row, const data& d) {
  constexpr auto squares = define<"squares">() = sum(i, v(i) * v(i));
  constexpr auto most = define<"most">() = max(v);
  constexpr auto first = define<"first">() = max<ties::first>(v);
  constexpr auto soft = softmax(x, dim<1>);
  constexpr auto of_soft = define<"of_soft">() = sum(over(i, j), soft(i, j) * soft(i, j));
  constexpr auto gathered = define<"gathered">() = sum(i, v(id(i)) * v(id(i)));
  row.base("`2_c * v(i)`", compile(define<"o">(i) = 2_c * v(i)), v = d.a);
  row("`grad(squares, v)`", compile(grad(squares, v)), v = d.a);
  row("`value_and_grad(squares, v)`", compile(value_and_grad(squares, v)), v = d.a);
  row("`grad(max(v), v)`", compile(grad(most, v)), v = d.a);
  row("`grad(max<ties::first>(v), v)`", compile(grad(first, v)), v = d.a);
  row("`grad` of a sum of squares of `softmax(x, dim<1>)`", compile(grad(of_soft, x)), x = d.grid);
  row("`grad` of a sum of squares of `v(id(i))`", compile(grad(gathered, v)), v = d.a, id = d.ids);
}

}  // namespace

int main() {
  const data d;
  table row;
  reductions(row, d);
  elements(row, d);
  gradients(row, d);
}
