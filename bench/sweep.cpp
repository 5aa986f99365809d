// Nanoseconds an element of sums and softmax over many row lengths, row widths and layouts, for the plot of
// scripts/bench --plots. bench_sweep: lines "sweep SERIES SIZE NS". A quarter of a million elements a run, in the
// L2, on one thread: what the code of a size costs.
#include <unistd.h>
#include <string>

#include <sheaf/runtime/thread_pool.hpp>
#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::bench;

constexpr auto x = tensor<"x", float, 2>;
constexpr std::int64_t elements = std::int64_t{1} << 18, room = 3 * elements;

std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= 70; ++n) all.push_back(n);
  for (const std::int64_t n : {100,  127,  128,  129,  192,  255,  256,  257,  400,  511,  512,  513,  700,  1000, 1023,
                               1024, 1025, 1500, 2047, 2048, 2049, 3000, 4095, 4096, 4097, 8191, 8192, 8193, 16384})
    all.push_back(n);
  return all;
}

// Where element (r, c) of a matrix of `rows` rows of n stands.
struct layout {
  const char* name;
  std::int64_t offset;  // floats from an address of 64 bytes
  void (*strides)(std::int64_t rows, std::int64_t n, std::int64_t* of);
};
constexpr layout layouts[] = {
    {"", 0, [](std::int64_t, std::int64_t n, std::int64_t* of) { of[0] = n, of[1] = 1; }},
    {"unaligned", 1, [](std::int64_t, std::int64_t n, std::int64_t* of) { of[0] = n, of[1] = 1; }},
    {"padded", 0, [](std::int64_t, std::int64_t n, std::int64_t* of) { of[0] = n + n / 2 + 3, of[1] = 1; }},
    {"every second", 0, [](std::int64_t, std::int64_t n, std::int64_t* of) { of[0] = 2 * n, of[1] = 2; }},
    {"transposed", 0, [](std::int64_t rows, std::int64_t, std::int64_t* of) { of[0] = 1, of[1] = rows; }},
};

// The least of several rounds of at least 0.2 ms: what a size costs, not what else the machine does.
template <class Call>
double nanoseconds(Call call) {
  call();
  const double once = std::max(1e-7, seconds_of(call));
  const int calls = std::max(1, static_cast<int>(2e-4 / once));
  double least = 1e9;
  for (int round = 0; round < 5; ++round)
    least = std::min(least, seconds_of([&] {
                              for (int k = 0; k < calls; ++k) call();
                            }) / calls);
  return 1e9 * least;
}

// into(rows, n, use) gives `use` the view that the result of such a matrix goes to, and returns what it returns.
template <class Y, class Into>
void sweep(const char* name, Y y, array<float, 1>& memory, Into into) {
  const auto program = compile(y);
  for (const layout& l : layouts)
    for (const std::int64_t n : sizes()) {
      if (isatty(2) != 0) std::fprintf(stderr, "\r\033[Ksweep: %s %s %lld", name, l.name, static_cast<long long>(n));
      const std::int64_t rows = std::max<std::int64_t>(1, elements / n), extents[] = {rows, n};
      std::int64_t strides[2];
      l.strides(rows, n, strides);
      if ((rows - 1) * strides[0] + (n - 1) * strides[1] + 1 + l.offset > room) continue;
      const view<const float, 2> from(memory.data() + l.offset, extents, strides);
      const double taken = into(rows, n, [&](auto to) { return nanoseconds([&] { program(x = from, y = to); }); });
      const std::string series = *l.name == 0 ? name : std::string(name) + ", " + l.name;
      std::printf("sweep %s: %lld %.5g\n", series.c_str(), static_cast<long long>(n),
                  taken / static_cast<double>(rows * n));
      std::fflush(stdout);
    }
  if (isatty(2) != 0) std::fprintf(stderr, "\r\033[K");
}

}  // namespace

int main() {
  runtime::thread_pool alone(1);
  set_parallel_hook(alone.hook());
  array<float, 1> memory(room), result(elements + 16384);
  for (std::int64_t k = 0; k < room; ++k) memory.data()[k] = static_cast<float>(k % 1000) * 0.001f;
  const auto line = [&](std::int64_t n, auto use) {
    const std::int64_t extent[] = {n}, stride[] = {1};
    return use(view<float, 1>(result.data(), extent, stride));
  };
  sweep("sum over axis 1", sum(x, dim<1>), memory,
        [&](std::int64_t rows, std::int64_t, auto use) { return line(rows, use); });
  sweep("sum over axis 0", sum(x, dim<0>), memory,
        [&](std::int64_t, std::int64_t n, auto use) { return line(n, use); });
  sweep("softmax", softmax(x, dim<1>), memory, [&](std::int64_t rows, std::int64_t n, auto use) {
    const std::int64_t extents[] = {rows, n}, strides[] = {n, 1};
    return use(view<float, 2>(result.data(), extents, strides));
  });
}
