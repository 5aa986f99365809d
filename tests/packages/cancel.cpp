// Programs that another thread cancels: each throws `cancelled` long before it would be done, and is as before when it
// is called again.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <sheaf/runtime/cancel.hpp>
#include <sheaf/runtime/host.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = sum(j, exp(x(i) * x(j)));
constexpr auto z = define<"z">() = sum(i, y(i) * y(i));

int main() {
  std::vector<float> few(100, 0.5f), many(400'000, 0.5f);  // 16e10 exponentials: a minute
  auto step = compile(z);
  const float before = step(x = few);
  cancel_token stop;
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  bool was_cancelled = false;
  {
    const std::jthread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      stop.cancel();
    });
    const cancel_scope scope(stop);
    try {
      const float sum = step(x = many);
      std::printf("done: %g\n", static_cast<double>(sum));
    } catch (const cancelled& reason) {
      was_cancelled = true;
      std::puts(reason.what());
    }
  }
  const double seconds = std::chrono::duration<double>(clock::now() - start).count();
  const status ended = attempt([&] {
    const cancel_scope scope(stop);
    step(x = few);
  });
  if (ended || ended.code() != code::cancelled) return std::puts("a status says otherwise"), 1;
  const float after = step(x = few);
  std::printf("after %.2f s; %g, %g\n", seconds, static_cast<double>(before), static_cast<double>(after));
  return was_cancelled && seconds < 15 && before == after ? 0 : 1;
}
