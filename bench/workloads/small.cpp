// sum_l1: the sum of 4096 floats that lie in L1. threads: W9 in cache, two cores over one.
#include <sheaf/runtime/thread_pool.hpp>

#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

// Nanoseconds of one of many calls, the median of several rounds.
template <class Call>
double each_of_many(Call call) {
  constexpr int calls = 5000;
  std::vector<double> rounds;
  for (int r = 0; r < 21; ++r)
    rounds.push_back(seconds_of([&] {
                       for (int k = 0; k < calls; ++k) call();
                     }) *
                     1e9 / calls);
  return median(rounds);
}

void sum_in_cache() {
  constexpr auto i = axis<"i">;
  constexpr auto x = tensor<"x", float, 1>;
  constexpr auto y = define<"y">() = sum(i, x(i));
  const auto values = noise(0, 1, 4096);
  array<float, 0> into;
  const auto program = compile(y);
  const double taken = each_of_many([&] { program(x = values, y = into); });
  double wanted = 0;
  for (std::int64_t k = 0; k < values.size(); ++k) wanted += static_cast<double>(values(k));
  report("sum_l1", "forward", taken, "ns", 0, 0, error_of(into, {wanted}));
}

// The rows in 4 MB, beside the result in the last cache. One thread and all of them in turn, so that both meet the same
// machine.
template <class Run>
void two_over_one(const char* what, Run run) {
  runtime::thread_pool alone(1), two(2);
  const parallel_hook before = current_parallel_hook();
  const auto timed = [&](runtime::thread_pool& pool) {
    set_parallel_hook(pool.hook());
    run();  // brings the data into this pool's caches
    return seconds_of([&] {
      for (int k = 0; k < 20; ++k) run();
    });
  };
  std::vector<double> ratios;
  for (int k = 0; k < 21; ++k) {
    const double one = timed(alone), both = timed(two);
    ratios.push_back(one / both);
  }
  set_parallel_hook(before);
  report("threads", what, median(ratios), "x");
}

void softmax_in_cache() {
  if (current_parallel_hook().threads < 2) {
    std::printf("note threads: this machine has one core\n");
    return;
  }
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto y = softmax(x, dim<1>);
  constexpr auto dx = vjp(y, x);
  const auto values = noise(-4, 4, 1024, 1024), dy = noise(-1, 1, 1024, 1024);
  auto into = touched(1024, 1024), gradient = touched(1024, 1024);
  const auto forward = compile(y);
  two_over_one("forward", [&] { forward(x = values, y = into); });
  const auto both = compile(y, dx);
  two_over_one("forward+backward", [&] { both(x = values, cotangent(y) = dy, y = into, dx = gradient); });
}

}  // namespace

void small_work(session& s) {
  if (s.wants("sum_l1")) sum_in_cache();
  if (s.wants("threads")) softmax_in_cache();
}

}  // namespace sheaf::bench
