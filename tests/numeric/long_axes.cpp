// The familiar layer on long axes: its running reductions and pooling reach the kernels that threads share, as the
// plan says, with the same bits for any number of threads.
#include <support/both.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include <sheaf/runtime/thread_pool.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", float, 1>;
constexpr auto t = axis<"t">;
constexpr std::int64_t size = 300001;

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

// What an expression's plan says, and that its bits are the same for any number of threads.
template <class Y, class... Arguments>
void expect_shared(Y y, const std::string& part, const Arguments&... arguments) {
  const auto program = compile(y);
  const std::string plan = program.explain(arguments...);
  EXPECT_NE(plan.find(part), std::string::npos) << plan;
  const auto on = [&](int threads) {
    const threads_for_a_while pool(threads);
    return program(arguments...);
  };
  const auto once = on(1);
  for (const int threads : {2, 3, 7, 16}) {
    const auto found = on(threads);
    EXPECT_EQ(std::memcmp(found.data(), once.data(), static_cast<std::size_t>(once.size()) * sizeof(float)), 0)
        << threads << " threads\n"
        << plan;
  }
}

const std::string blocks = "blocks of 16384";

TEST(long_axes, running_reductions_are_shared) {
  const array<float, 1> values = noise_array<float>(-1, 1, size);
  constexpr auto near_one = define<"near_one">(t) = x(t) * 0.001_c + 1_c;
  expect_shared(cumsum(x, dim<0>), blocks, x = values);
  expect_shared(cumsum<reversed>(x, dim<0>), blocks, x = values);
  expect_shared(cumsum<exclusive>(x, dim<0>), blocks, x = values);
  expect_shared(cumsum<reversed, exclusive>(x, dim<0>), blocks, x = values);
  expect_shared(cumprod<reversed, exclusive>(near_one, dim<0>), blocks, x = values);
  expect_shared(cummax(x, dim<0>), blocks, x = values);
  expect_shared(cummax<reversed>(x, dim<0>), blocks, x = values);
  expect_shared(cummin<exclusive>(x, dim<0>), blocks, x = values);
  expect_shared(logcumsumexp<reversed>(x, dim<0>), blocks, x = values);
  expect_shared(cummin(x, dim<0>), blocks, x = values);
  expect_shared(cumprod(near_one, dim<0>), blocks, x = values);
  expect_shared(logcumsumexp(x, dim<0>), blocks, x = values);
}

// What comes after each place: values of a loop in f64, and the identity at the last. What blocks hand on is rounded
// to f32, so an error is measured against the largest sum.
TEST(long_axes, reversed_without_itself) {
  const array<float, 1> values = noise_array<float>(-1, 1, size);
  const auto sums = compile(cumsum<reversed, exclusive>(x, dim<0>))(x = values);
  const auto most = compile(cummax<reversed, exclusive>(x, dim<0>))(x = values);
  double sum = 0, largest = 0;
  for (std::int64_t k = size - 1; k >= 0; --k)
    largest = std::max(largest, std::abs(sum += static_cast<double>(values(k))));
  sum = 0;
  float best = -std::numeric_limits<float>::infinity();
  for (std::int64_t k = size - 1; k >= 0; --k) {
    ASSERT_NEAR(sums(k), sum, 1e-6 * largest) << k;
    ASSERT_EQ(most(k), best) << k;
    sum += static_cast<double>(values(k));
    best = std::max(best, values(k));
  }
}

TEST(long_axes, gradients_of_running_reductions_are_shared) {
  const array<float, 1> values = noise_array<float>(-1, 1, size), seeds = noise_array<float>(-1, 1, size);
  constexpr auto sum = cumsum(x, dim<0>);
  constexpr auto highest = cummax(x, dim<0>);
  constexpr auto logs = logcumsumexp(x, dim<0>);
  expect_shared(vjp(sum, x), blocks, x = values, cotangent(sum) = seeds);
  expect_shared(vjp(highest, x), blocks, x = values, cotangent(highest) = seeds);
  expect_shared(vjp(logs, x), blocks, x = values, cotangent(logs) = seeds);
}

template <std::int64_t Width>
void pooled() {
  constexpr pool options{.kernel = {Width}, .stride = {1}};
  const array<float, 1> values = noise_array<float>(-1, 1, size), seeds = noise_array<float>(-1, 1, size - Width + 1);
  constexpr auto mean_of = avg_pool1d<options>(x);
  constexpr auto top = max_pool1d<options>(x);
  const std::string window = "window of " + std::to_string(Width);
  expect_shared(mean_of, window, x = values);
  expect_shared(top, window, x = values);
  expect_shared(vjp(mean_of, x), window, x = values, cotangent(mean_of) = seeds);
  expect_shared(vjp(top, x), window + ", sums of ties", x = values, cotangent(top) = seeds);
}
TEST(long_axes, pooling_and_its_gradients) {
  pooled<5>();
  pooled<100>();
  pooled<1000>();
  pooled<20000>();
}

// Sums down the rows take blocks of them: as large as the room for their partial results asks, and no sum of f32
// longer for it. By themselves, and where the same pass sums along the rows. Small integers: every order of additions
// has the same bits.
TEST(long_axes, partial_results_take_no_more_than_a_megabyte) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto a = tensor<"a", float, 2>;
  constexpr auto down = define<"down">(j) = sum(i, a(i, j));
  constexpr auto along = define<"along">(i) = sum(j, a(i, j));
  constexpr int high = 5003, wide = 2048;
  array<float, 2> data(high, wide);
  std::vector<float> columns(wide), lines(high);
  for (int r = 0; r < high; ++r)
    for (int c = 0; c < wide; ++c) {
      const auto value = static_cast<float>((r * 7 + c * 3) % 11);
      data(r, c) = value;
      columns[static_cast<std::size_t>(c)] += value;
      lines[static_cast<std::size_t>(r)] += value;
    }
  const auto alone = compile(down);
  const auto both = compile(down, along);
  const auto one = alone(a = data);
  const auto [first, second] = both(a = data);
  for (int c = 0; c < wide; ++c) {
    ASSERT_EQ(one(c), columns[static_cast<std::size_t>(c)]) << c;
    ASSERT_EQ(first(c), columns[static_cast<std::size_t>(c)]) << c;
  }
  for (int r = 0; r < high; ++r) ASSERT_EQ(second(r), lines[static_cast<std::size_t>(r)]) << r;
  for (const std::string plan : {alone.explain(a = data), both.explain(a = data)}) {
    const std::size_t at = plan.find("workspace: ");
    if (at == std::string::npos) continue;  // the reference
    EXPECT_LE(std::stol(plan.substr(at + 11)), 1 << 20) << plan;
  }
}

}  // namespace
