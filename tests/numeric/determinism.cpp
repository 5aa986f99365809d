// The same bits whatever the threads, run after run; programs called from several threads; many shapes of one program.
#include <support/both.hpp>

#include <atomic>
#include <thread>

#include <sheaf/runtime/thread_pool.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;

constexpr auto pooled = define<"pooled">(i, j) = mean(k, x(pick(i, k), j));
constexpr auto top = define<"top">(i) = logsumexp(j, pooled(i, j));
constexpr auto loss = define<"loss">() = sum(i, top(i) * top(i));
constexpr auto down = define<"down">(j) = sum(i, x(i, j));
constexpr auto total = define<"total">() = sum(over(i, j), x(i, j) * x(i, j));

// A pool of its own for the time of a test, then the one before.
class threads_for_a_while {
 public:
  explicit threads_for_a_while(int threads) : before_(current_parallel_hook()), pool_(threads) {
    set_parallel_hook(pool_.hook());
  }
  ~threads_for_a_while() { set_parallel_hook(before_); }

 private:
  parallel_hook before_;
  runtime::thread_pool pool_;
};

// Splits every loop to single iterations, last first: as unlike the pool as the contract allows.
void backwards(void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double) {
  for (std::int64_t at = count; at-- > 0;) body(call, at, at + 1);
}

struct workload {
  array<float, 2> values = noise_array<float>(-1, 1, 3001, 67);
  array<std::int64_t, 2> picks{701, 9};
  workload() {
    for (int a = 0; a < picks.size(); ++a) picks.data()[a] = (a * 7919 + a * a) % 3001;
  }
};

TEST(determinism, same_bits_for_any_number_of_threads) {
  const workload w;
  const auto dx = grad(loss, x);
  const auto run = [&] {
    const auto program = compile(pooled, top, loss, dx, down, total);
    return program(x = w.values, pick = w.picks);
  };
  const auto once = [&] {
    const threads_for_a_while one(1);
    return run();
  }();
  const auto check = [&](const auto& again, const std::string& what) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((same_bits(std::get<K>(once), std::get<K>(again)) || (ADD_FAILURE() << what << ", output " << K, true)), ...);
    }(std::make_index_sequence<6>{});
  };
  for (const int threads : {1, 2, 3, 7, 16}) {
    const threads_for_a_while these(threads);
    for (int repeat = 0; repeat < 3; ++repeat) check(run(), std::to_string(threads) + " threads");
  }
  const parallel_hook before = current_parallel_hook();
  set_parallel_hook({backwards, nullptr, 5});
  check(run(), "a hook that splits backwards");
  set_parallel_hook({nullptr, nullptr, 1});
  check(run(), "no hook");
  set_parallel_hook(before);
}

// Many columns are walked row by row: how many rows at a time is no matter of threads.
TEST(determinism, statistics_of_columns_have_the_same_bits) {
  const array<float, 2> values = noise_array<float>(-2, 2, 1003, 1029);
  const auto program = compile(logsumexp(x, dim<0>), var(x, dim<0>), argmax(x, dim<0>), softmax(x, dim<0>));
  const auto run = [&] { return program(x = values); };
  EXPECT_NE(std::string(program.explain(x = values)).find("where the centre moves"), std::string::npos);
  const auto once = [&] {
    const threads_for_a_while one(1);
    return run();
  }();
  for (const int threads : {1, 2, 3, 7, 16}) {
    const threads_for_a_while these(threads);
    const auto again = run();
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((same_bits(std::get<K>(once), std::get<K>(again)) ||
        (ADD_FAILURE() << threads << " threads, output " << K, true)),
       ...);
    }(std::make_index_sequence<4>{});
  }
}

// Rows of a table that bags name often, once and never: listed, and listed by each task.
TEST(determinism, gradients_of_a_table_have_the_same_bits) {
  constexpr auto table = tensor<"table", float, 2>;
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr std::int64_t words = 110000, names = 6000, bags = 300;
  const array<float, 2> rows = noise_array<float>(-1, 1, words, 40);
  array<std::int64_t, 1> named(names), ends(bags + 1);
  for (std::int64_t n = 0; n < names; ++n) named(n) = n % 3 == 0 ? 17 : n * n % words;
  for (std::int64_t n = 0; n <= bags; ++n) ends(n) = n * names / bags;
  constexpr auto y = embedding_bag(ids, table, offsets(off));
  constexpr auto greatest = embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off));
  constexpr auto squares = define<"squares">() = sum(over(i, j), y(i, j) * y(i, j));
  constexpr auto squares_of_greatest = define<"squares_of_greatest">() =
      sum(over(i, j), greatest(i, j) * greatest(i, j));
  constexpr auto dtable = grad(squares, table);
  const auto program = compile(dtable, grad(squares_of_greatest, table));
  const auto run = [&] { return program(table = rows, ids = named, off = ends); };
  EXPECT_NE(std::string(program.explain(table = rows, ids = named, off = ends))
                .find("a task walks the updates of its own rows"),
            std::string::npos);
  const auto [once, once_largest] = run();
  for (const int threads : {1, 2, 3, 7, 16}) {
    const threads_for_a_while these(threads);
    const auto [again, again_largest] = run();
    EXPECT_TRUE(same_bits(once, again) && same_bits(once_largest, again_largest)) << threads << " threads";
  }
  named(names - 1) = words;
  array<float, 2> given(words, 40);
  given.fill(5);
  EXPECT_THROW(compile(dtable)(table = rows, ids = named, off = ends, dtable = given), error);
  for (const float v : given) ASSERT_EQ(v, 5);
}

TEST(determinism, sums_are_accurate_too) {
  const workload w;
  const threads_for_a_while these(7);
  const auto [d, t] = both(down, total).rounds(1024)(x = w.values);
  double exact = 0;
  for (const float v : w.values) exact += static_cast<double>(v) * static_cast<double>(v);
  EXPECT_NEAR(t(), exact, exact * 1e-6);
}

TEST(concurrency, several_threads_call_one_program_with_many_shapes) {
  const auto program = compile(down, total);
  std::atomic<int> wrong = 0;
  const auto call = [&](int seed) {
    for (int round = 0; round < 20; ++round) {
      const int rows = 1 + (seed * 5 + round) % 6, columns = 1 + (round * 3 + seed) % 20;
      array<float, 2> values(rows, columns);
      values.fill(2);
      const auto [d, t] = program(x = values);
      for (const float v : d) wrong += v != static_cast<float>(2 * rows);
      wrong += t() != static_cast<float>(4 * rows * columns);
    }
  };
  std::vector<std::thread> callers;
  for (int seed = 0; seed < 6; ++seed) callers.emplace_back(call, seed);
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(wrong, 0);
}

// A gather with workspace, large enough to share its loops, from several callers at a time.
TEST(concurrency, callers_do_not_share_workspace) {
  const workload w;
  const auto program = compile(loss, grad(loss, x));
  const auto [expected, gradient] = program(x = w.values, pick = w.picks);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int one = 0; one < 4; ++one)
    callers.emplace_back([&, &expected_ = expected, &gradient_ = gradient] {
      for (int round = 0; round < 5; ++round) {
        const auto [l, dx] = program(x = w.values, pick = w.picks);
        wrong += !same_bits(l, expected_) || !same_bits(dx, gradient_);
      }
    });
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(wrong, 0);
}

TEST(programs, are_moved_and_work_for_many_shapes_in_turn) {
  auto first = compile(total);
  auto program = std::move(first);
  for (int round = 0; round < 2; ++round)
    for (int rows = 0; rows < 5; ++rows) {
      array<float, 2> values(rows, 3);
      values.fill(1);
      EXPECT_EQ(program(x = values), static_cast<float>(3 * rows));
    }
  program = compile(total);
  EXPECT_EQ(program(x = array<float, 2>(2, 2)), 0);
}

}  // namespace
