// A service whose sizes change in every call, with outputs into views: what a call of sizes never seen costs beside one
// of the same sizes. Two programs: means of slices with gradients, and logsumexp of segments with gradients.
// scripts/bench runs it (row dynamic).
#include <cstdlib>
#include <random>

#include <sheaf/sheaf.hpp>

#include "support/measure.hpp"
#include "support/resident.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::bench;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto s = tensor<"s", float, 1>;
constexpr auto part = tensor<"part", std::int64_t, 1>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
constexpr auto segment = define<"segment">(m.in(0_c, extent(part, dim<0>) - 1_c)) =
    logsumexp(t.in(part(m), part(m + 1_c)), s(t));
constexpr auto spread = define<"spread">() = sum(m, segment(m) * segment(m));

constexpr std::int64_t most_rows = 100000, most_slices = 10000, columns = 16;

struct arrays {
  array<float, 2> rows{most_rows, columns}, drows{most_rows, columns};
  array<float, 1> scores{most_rows}, dscores{most_rows};
  array<std::int64_t, 2> cuts{most_slices, 2};
  array<std::int64_t, 1> parts{most_slices + 1};
  array<float, 0> value;
  std::mt19937_64 random{11};

  arrays() {
    for (float& e : rows) e = static_cast<float>(random() % 4096) / 1024 - 2;
    for (float& e : scores) e = static_cast<float>(random() % 4096) / 1024 - 2;
  }
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  }
  // Slices of up to 20 rows; segments that follow each other.
  void draw(std::int64_t n, std::int64_t slices) {
    for (std::int64_t k = 0; k < slices; ++k) {
      cuts(k, 0) = up_to(n);
      cuts(k, 1) = std::min(n, cuts(k, 0) + up_to(20));
      parts(k) = n * k / std::max<std::int64_t>(slices, 1);
    }
    parts(slices) = n;
  }
};

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// call(program, data, rows, slices). A twin has the same code and has seen the sizes: it is called some times before,
// so that caches and branch predictors know the data, and then timed beside the first call, one or the other first.
// What made a kernel is no call of a class that was there; the first tenth warms.
constexpr int calls_before = 3;

template <class Program, class Call>
void measure(const char* name, int calls, const Program& program, const Program& twin, Call call) {
  arrays data;
  std::vector<double> first, again;
  long before = 0;
  for (int k = 0; k < calls; ++k) {
    const std::int64_t rows = 1 + data.up_to(most_rows - 1), slices = data.up_to(most_slices);
    data.draw(rows, slices);
    for (int n = 0; n < calls_before; ++n) call(twin, data, rows, slices);
    const auto time = [&](const Program& of) { return seconds_of([&] { call(of, data, rows, slices); }); };
    const std::int64_t kernels = program.statistics().kernels;
    double one = 0, two = 0;
    if (k % 2 == 0) one = time(program), two = time(twin);
    else two = time(twin), one = time(program);
    if (k >= calls / 10 && program.statistics().kernels == kernels) first.push_back(one), again.push_back(two);
    if (k == 99) before = resident_kilobytes();
  }
  const std::string label = name;
  const statistics s = program.statistics();
  const auto value = [&](const char* what, double v, const char* unit) {
    report("dynamic", (label + ":" + what).c_str(), v, unit);
  };
  value("median", at(first, 0.5) / at(again, 0.5), "x");
  value("99th", at(first, 0.99) / at(again, 0.99), "x");
  const statistics made = twin.statistics();  // which was called first
  value("kernels", static_cast<double>(made.compiled + made.from_disk), "-");
  value("classes", static_cast<double>(s.kernels), "-");
  value("planned", 1e3 * s.compile_seconds / static_cast<double>(s.kernels), "ms");  // a class: the twin has its kernel
  value("evicted", static_cast<double>(s.evicted), "-");
  value("kernel_bytes", static_cast<double>(s.bytes) / 1024, "kB");
  value("memory", static_cast<double>(resident_kilobytes() - before) / 1024, "MB");
}

}  // namespace

int main(int count, char** words) {
  const int calls = count > 1 ? std::atoi(words[1]) : 10000;
  measure("slices", calls, compile(loss, grad(loss, x)), compile(loss, grad(loss, x)),
          [](const auto& program, arrays& a, std::int64_t rows, std::int64_t slices) {
            program(x = view_of<const float>(a.rows.data(), {rows, columns}),
                    cut = view_of<const std::int64_t>(a.cuts.data(), {slices, 2}), loss = a.value,
                    grad(loss, x) = view_of(a.drows.data(), {rows, columns}));
          });
  measure("segments", calls, compile(spread, grad(spread, s)), compile(spread, grad(spread, s)),
          [](const auto& program, arrays& a, std::int64_t rows, std::int64_t slices) {
            program(s = view_of<const float>(a.scores.data(), {rows}),
                    part = view_of<const std::int64_t>(a.parts.data(), {slices + 1}), spread = a.value,
                    grad(spread, s) = view_of(a.dscores.data(), {rows}));
          });
}
