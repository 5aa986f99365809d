// The GPU's table: W1 to W13 at 16 times the size, streaming and segmented reductions, products, the host's cost of a
// call.
// bench_gpu [--once] [ID...]; nothing where there is no GPU, and says so. --once: each row is called once behind a
// kernel "mark", for a profiler that lists kernels.
#include <algorithm>

#include "session.hpp"

namespace sheaf::bench {

gpu_session::gpu_session(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {
  once = !wanted_.empty() && wanted_.front() == "--once";
  if (once) wanted_.erase(wanted_.begin());
  constexpr std::int64_t count = std::int64_t{1} << 30;  // 1 GB of bytes read, as much written
  device_array<std::uint8_t, 1> from(s, count), to(s, count);
  const double ms = median_of([&] { copy(to.view(), from.view(), s); });
  bytes_per_ms_ = 2.0 * static_cast<double>(count) / ms;
  report("copy", "device", bytes_per_ms_ / 1e6, "GB/s");
}
void gpu_session::mark() {
  constexpr auto n = axis<"n">;
  constexpr auto unmarked = tensor<"unmarked", float, 1>;
  constexpr auto marked = define<"mark">(n) = unmarked(n);
  static const auto program = compile(marked, on(gpu));
  const device_array<float, 1> one(s, 1);
  program(unmarked = one, on(s));
}
bool gpu_session::wants(const std::string& id) const {
  return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), id) != wanted_.end();
}

namespace {

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto doubled = define<"doubled">(i) = x(i) + x(i);
constexpr auto total = define<"total">() = sum(i, x(i));
constexpr auto halves = tensor<"halves", float16, 1>;
constexpr auto bytes = tensor<"bytes", std::uint8_t, 1>;
constexpr auto total_of_halves = define<"total_of_halves">() = sum(i, cast<float>(halves(i)));
constexpr auto total_of_bytes = define<"total_of_bytes">() = sum(i, bytes(i));

// Microseconds of the host for a call that is ready, and milliseconds to make a program.
void host_cost(gpu_session& s) {
  const auto values = s.random(0, 1, 1024);
  auto into = s.empty(1024);
  const auto program = compile(doubled, on(gpu));
  program(x = values, doubled = into, on(s.s));
  s.s.synchronise();
  std::vector<double> rounds;
  for (int r = 0; r < 21; ++r) {
    const double start = now();
    for (int k = 0; k < 200; ++k) program(x = values, doubled = into, on(s.s));
    rounds.push_back((now() - start) * 1e6 / 200);
    s.s.synchronise();
  }
  report("launch", "host", median(rounds), "us");
}

void compile_time(gpu_session& s) {
  constexpr auto a = tensor<"a", float, 2>;
  constexpr auto y = softmax(a, dim<1>);
  constexpr auto loss = define<"loss">() =
      sum(over(axis<"m">, axis<"n">), y(axis<"m">, axis<"n">) * y(axis<"m">, axis<"n">));
  const auto values = s.random(0, 1, 64, 257);
  const auto timed = [&](const char* what) {
    const double start = now();
    const auto program = compile(loss, grad(loss, a), on(gpu));
    program.reserve(a = values, on(s.s));
    report("compile", what, (now() - start) * 1e3, "ms");
  };
  timed("first");
  timed("again");
}

}  // namespace

void small_calls(gpu_session& s) {
  if (s.wants("launch")) host_cost(s);
  if (s.wants("compile")) compile_time(s);
}

void streaming(gpu_session& s) {
  if (!s.wants("sum")) return;
  const auto values = s.random(0, 1, std::int64_t{1} << 28);
  device_array<float, 0> into(s.s);
  const auto program = compile(total, on(gpu));
  s.row("sum", "1GB", bytes_of_all(values), [&] { program(x = values, total = into, on(s.s)); });
  const device_array<float16, 1> narrow(s.s, std::int64_t{1} << 29);  // zeros
  const auto of_halves = compile(total_of_halves, on(gpu));
  s.row("sum", "1GB_of_f16", bytes_of_all(narrow),
        [&] { of_halves(halves = narrow, total_of_halves = into, on(s.s)); });
  const device_array<std::uint8_t, 1> small(s.s, std::int64_t{1} << 30);
  device_array<std::int64_t, 0> count(s.s);
  const auto of_bytes = compile(total_of_bytes, on(gpu));
  s.row("sum", "1GB_of_u8", bytes_of_all(small), [&] { of_bytes(bytes = small, total_of_bytes = count, on(s.s)); });
}

}  // namespace sheaf::bench

int main(int count, char** words) {
  using namespace sheaf;
  if (gpu_count() == 0) return std::printf("note no GPU here: %s\n", why_no_gpu()), 0;
  std::printf("note %s\n", describe(on(gpu)));
  bench::gpu_session s({words + 1, words + count});
  for (const auto measure : {bench::small_calls, bench::streaming, bench::matrices, bench::rows, bench::gathers,
                             bench::slice_means, bench::bags, bench::segments, bench::gpu_windows,
                             bench::products, bench::catalogue}) {
    try {
      measure(s);
    } catch (const std::exception& e) {
      std::printf("note failed: %s\n", e.what());
      s.failed = true;
    }
  }
  return s.failed ? 1 : 0;
}
