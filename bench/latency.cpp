// What a first kernel, a next one, one from the disk cache and a call cost. A process is fresh once, so it measures one
// thing: bench_latency first|next|w8|cached|call forward|forward+backward. scripts/bench runs it several times.
#include <cstring>
#include <fstream>
#include <string>

#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::bench;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
constexpr auto largest = define<"largest">(m) = max(f, x(m, f) * x(m, f));
constexpr auto other = define<"other">() = sum(m, largest(m));

struct data {
  array<float, 2> rows{64, 32};
  array<std::int64_t, 2> bounds{8, 2};
  data() {
    rows.fill(1);
    for (int k = 0; k < 8; ++k) bounds(k, 0) = 8 * k, bounds(k, 1) = 8 * k + 8;
  }
};

bool is_loaded(const char* library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

// From the expression's words to a kernel that is ready to be called.
double slice_mean(bool backward, const data& d) {
  if (!backward) return seconds_of([&] { compile(pooled).explain(x = d.rows, cut = d.bounds); });
  return seconds_of([&] { compile(loss, grad(loss, x)).explain(x = d.rows, cut = d.bounds); });
}
double square_maximum(bool backward, const data& d) {
  if (!backward) return seconds_of([&] { compile(other).explain(x = d.rows); });
  return seconds_of([&] { compile(other, grad(other, x)).explain(x = d.rows); });
}

// W8 as the workloads have it: nothing is computed, so its data need not be there.
double layer_norm_of_rows(bool backward) {
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto shift = tensor<"shift", float, 1>;
  constexpr auto y = layer_norm(x, w, shift);
  constexpr auto dx = vjp(y, x);
  constexpr auto dw = vjp(y, w);
  constexpr auto db = vjp(y, shift);
  const array<float, 2> rows(uninitialized, 16384, 1024), dy(uninitialized, 16384, 1024);
  const array<float, 1> factors(uninitialized, 1024), shifts(uninitialized, 1024);
  if (!backward) return seconds_of([&] { compile(y).explain(x = rows, w = factors, shift = shifts); });
  return seconds_of([&] {
    compile(y, dx, dw, db).explain(x = rows, w = factors, shift = shifts, cotangent(y) = dy);
  });
}

// Nanoseconds of one of many calls, the median of several rounds.
template <class Call>
double each_of_many(Call call) {
  constexpr int calls = 20000;
  std::vector<double> rounds;
  for (int r = 0; r < 11; ++r)
    rounds.push_back(seconds_of([&] {
                       for (int k = 0; k < calls; ++k) call();
                     }) *
                     1e9 / calls);
  return median(rounds);
}

// Nine inputs and a view of the output.
void measure_ten_arguments(const array<float, 1>& values, array<float, 1>& into) {
  constexpr auto a = tensor<"a", float, 1>;
  constexpr auto b = tensor<"b", float, 1>;
  constexpr auto c = tensor<"c", float, 1>;
  constexpr auto d = tensor<"d", float, 1>;
  constexpr auto e = tensor<"e", float, 1>;
  constexpr auto g = tensor<"g", float, 1>;
  constexpr auto h = tensor<"h", float, 1>;
  constexpr auto o = tensor<"o", float, 1>;
  constexpr auto p = tensor<"p", float, 1>;
  constexpr auto all = define<"all">(t) = a(t) + b(t) + c(t) + d(t) + e(t) + g(t) + h(t) + o(t) + p(t);
  const auto program = compile(all);
  report("call", "ten_arguments", each_of_many([&] {
           program(a = values, b = values, c = values, d = values, e = values, g = values, h = values, o = values,
                   p = values, all = view_of(into.data(), {16}));
         }),
         "ns");
}

// What a call of a size that is in no table takes beyond one that was there: 2048 sizes of one class, one after the
// other, each so many times.
void measure_new_sizes() {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto y = define<"y">(t) = v(t) * 2_c + 1_c;
  const array<float, 1> values(4096);
  array<float, 1> into(4096);
  const auto program = compile(y);
  const auto each = [&](std::int64_t times) {
    std::int64_t k = 0;
    return each_of_many([&] {
      const std::int64_t n = 1024 + k++ / times % 2048;
      program(v = view_of<const float>(values.data(), {n}), y = view_of(into.data(), {n}));
    });
  };
  constexpr double often = 16;
  report("call", "new_size", (each(1) - each(static_cast<std::int64_t>(often))) * often / (often - 1), "ns");
}

void measure_calls() {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto y = define<"y">(t) = v(t) * 2_c + 1_c;
  const array<float, 1> values(16);
  array<float, 1> into(16);
  const auto program = compile(y);
  report("call", "forward", each_of_many([&] { program(v = values, y = into); }), "ns");
  report("call", "returning_an_array", each_of_many([&] { program(v = values); }), "ns");
  measure_ten_arguments(values, into);
  measure_new_sizes();
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "call") == 0) return measure_calls(), 0;
  if (count != 3)
    return std::fprintf(stderr, "usage: bench_latency first|next|w8|cached forward|forward+backward, or call\n"), 2;
  const std::string mode = words[1];
  const bool backward = std::strcmp(words[2], "forward+backward") == 0;
  const data d;
  double taken = slice_mean(backward, d);
  if (mode == "next") taken = square_maximum(backward, d);
  if (mode == "w8") taken = layer_norm_of_rows(backward);
  if (mode == "cached" && is_loaded("sheaf_llvm")) return std::fprintf(stderr, "the code generator was loaded\n"), 3;
  if (mode == "first" && !is_loaded("sheaf_llvm"))
    return std::fprintf(stderr, "the code generator was not loaded\n"), 3;
  report(("jit_" + mode).c_str(), words[2], taken * 1e3, "ms");
}
