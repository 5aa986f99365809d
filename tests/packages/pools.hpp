// The thread pools of examples/pools run every iteration once, from several threads at a time, and give the same bits.
// `hook_of_pool` is the one that is tested.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;

parallel_hook hook_of_pool();

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = define<"y">(i) = sum(j, x(i, j) * x(i, j));
constexpr auto total = define<"total">() = sum(i, y(i));

std::atomic<int> loops = 0;

int main() {
  array<float, 2> data(3000, 401);
  for (std::int64_t k = 0; k < data.size(); ++k) data.data()[k] = static_cast<float>(k % 97) / 97;
  const auto program = compile(options{.sharing = sharing::always}, total, grad(total, x));
  const auto first = program(x = data);
  const float alone = static_cast<float>(std::get<0>(first));
  const array<float, 2>& alone_dx = std::get<1>(first);
  static const parallel_hook hook = hook_of_pool();
  set_parallel_hook({[](void* pool, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
                       ++loops;
                       hook.run(pool, body, call, count, std::max(cost, 1000.0));  // shared, however small
                     },
                     hook.pool, hook.threads});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k)
    callers.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) {
        auto [sum, dx] = program(x = data);
        wrong += static_cast<float>(sum) != alone;
        for (std::int64_t e = 0; e < dx.size(); e += 1001) wrong += dx.data()[e] != alone_dx.data()[e];
      }
    });
  for (std::thread& t : callers) t.join();
  std::printf("%d loops, %d wrong\n", loops.load(), wrong.load());
  return loops > 0 && wrong == 0 ? 0 : 1;
}
