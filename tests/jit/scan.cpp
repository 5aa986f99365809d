// Running results and windows: recognised, right for every size and direction, the same bits for any tasks.
#include "plan_harness.hpp"

namespace sheaf::test::scan_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto s = axis<"s">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto v = axis<"v">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto z = tensor<"z", double, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;
constexpr auto m = tensor<"m", float, 2>;

constexpr auto count = extent(x, dim<0>);
const std::vector<std::int64_t> sizes = {0, 1, 2, 16, 17, 33, 300};

void expect_way(trial& test, const char* way) {
  EXPECT_NE(test.plan_text().find(way), std::string::npos) << test.plan_text();
}

TEST(scan, sum_forward_and_backward) {
  constexpr auto up = define<"up">(t) = sum(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto down = define<"down">(t) = sum(s.in(t, count), x(s)) + 0_c * x(t);
  for (const auto size : sizes) {
    trial test = trial_of(up, down);
    test.random("x", {size}).expect_right();
    expect_way(test, ", scan");
  }
}
TEST(scan, exclusive) {
  constexpr auto up = define<"up">(t) = sum(s.in(0_c, t), x(s)) + 0_c * x(t);
  constexpr auto down = define<"down">(t) = sum(s.in(t + 1_c, count), x(s)) + 0_c * x(t);
  for (const auto size : sizes) {
    trial test = trial_of(up, down);
    test.random("x", {size}).expect_right();
    expect_way(test, ", scan");
  }
}
TEST(scan, every_monoid) {
  constexpr auto product = define<"product">(t) = prod(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto highest = define<"highest">(t) = max(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto lowest = define<"lowest">(t) = min(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto some = define<"some">(t) = any(s.in(0_c, t + 1_c), x(s) > 0.5_c) && x(t) == x(t);
  constexpr auto every = define<"every">(t) = all(s.in(t, count), x(s) < 0.8_c) && x(t) == x(t);
  for (const auto size : sizes) trial_of(product, highest, lowest, some, every).random("x", {size}).expect_right();
}
TEST(scan, other_types) {
  constexpr auto h = tensor<"h", float16, 1>;
  constexpr auto b = tensor<"b", bfloat16, 1>;
  constexpr auto halves = define<"halves">(t) = sum(s.in(0_c, t + 1_c), h(s)) + h(t);
  constexpr auto brains = define<"brains">(t) = max(s.in(t, extent(b, dim<0>)), b(s)) + b(t);
  constexpr auto doubles = define<"doubles">(t) = sum(s.in(0_c, t + 1_c), z(s)) + z(t);
  constexpr auto whole = define<"whole">(t) = sum(s.in(0_c, t + 1_c), n(s)) + n(t);
  for (const auto size : sizes) {
    trial_of(halves, brains).random("h", {size}).random("b", {size}).expect_right(1e-2);
    trial_of(doubles, whole).random("z", {size}).below("n", {size}, 100).expect_right(1e-12);
  }
}
TEST(scan, along_rows_and_columns) {
  constexpr auto rows = define<"rows">(i, t) = sum(s.in(0_c, t + 1_c), m(i, s)) + m(i, t);
  constexpr auto columns = define<"columns">(t, j) = sum(s.in(0_c, t + 1_c), m(s, j)) + m(t, j);
  constexpr auto back = define<"back">(t, j) = max(s.in(t, extent(m, dim<0>)), m(s, j)) + m(t, j);
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{1, 1}, {3, 70}, {70, 3}, {65, 64}, {5, 0}})
    for (const bool turned : {false, true}) {
      trial test = trial_of(rows, columns, back);
      test.random("m", shape, turned).expect_right();
      expect_way(test, ", scan");
    }
}
TEST(scan, gradients_are_backward_scans) {
  constexpr auto up = define<"up">(t) = sum(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() = sum(t, up(t) * up(t) * w(t));
  for (const auto size : sizes) {
    trial test = trial_of(up, loss, grad(loss, x));
    test.random("x", {size}).random("w", {size}).expect_right();
    expect_way(test, "one pass, backward");
  }
}
TEST(scan, long_ones_run_in_blocks) {
  constexpr auto up = define<"up">(t) = sum(s.in(0_c, t + 1_c), n(s)) + n(t);
  constexpr auto down = define<"down">(t) = sum(s.in(t, extent(n, dim<0>)), n(s)) + n(t);
  trial test = trial_of(up, down);
  const std::int64_t size = 200003;
  test.below("n", {size}, 1000);
  ASSERT_EQ(test.run(), 0);
  expect_way(test, "blocks of 16384");
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), 0);
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    sum += test.inputs[0].get<std::int32_t>(k);
    ASSERT_EQ(test.outputs[0].get<std::int64_t>(k), sum + test.inputs[0].get<std::int32_t>(k)) << k;
  }
  for (std::int64_t k = 0; k < size; ++k) {
    ASSERT_EQ(test.outputs[1].get<std::int64_t>(k), sum + test.inputs[0].get<std::int32_t>(k)) << k;
    sum -= test.inputs[0].get<std::int32_t>(k);
  }
}
TEST(scan, long_exclusive_ones_run_in_blocks) {
  constexpr auto before = define<"before">(t) = sum(s.in(0_c, t), n(s)) + n(t);
  for (const std::int64_t size : {200003, 16384 * 9, 16384 * 9 + 1}) {
    trial test = trial_of(before);
    test.below("n", {size}, 1000);
    ASSERT_EQ(test.run(), 0);
    expect_way(test, "blocks of 16384");
    test.code->call.parallel_for = in_odd_tasks;
    ASSERT_EQ(test.run(), 0);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      ASSERT_EQ(test.outputs[0].get<std::int64_t>(k), sum + test.inputs[0].get<std::int32_t>(k)) << k;
      sum += test.inputs[0].get<std::int32_t>(k);
    }
  }
}
TEST(scan, does_not_drift) {
  constexpr auto up = define<"up">(t) = sum(s.in(0_c, t + 1_c), x(s)) * (x(t) == x(t));
  const std::int64_t size = 4000000;
  trial test = trial_of(up);
  std::vector<double> values(static_cast<std::size_t>(size));
  std::mt19937_64 bits(3);
  for (double& value : values) value = static_cast<float>(std::uniform_real_distribution<float>(0, 1)(bits));
  test.with("x", {size}, values);
  ASSERT_EQ(test.run(), 0);
  double sum = 0, worst = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    sum += values[static_cast<std::size_t>(k)];
    worst = std::max(worst, std::abs(test.outputs[0].get<float>(k) - sum) / sum);
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(scan, gradient_of_products) {
  constexpr auto up = define<"up">(t) = prod(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() = sum(t, up(t) * w(t));
  for (const std::int64_t size : {1, 2, 17, 60})
    for (const int zeros : {0, 1, 2}) {
      std::vector<double> values;
      for (std::int64_t k = 0; k < size; ++k)
        values.push_back(
            zeros > 0 && (k == 5 || (zeros > 1 && k == 11)) ? 0 : 0.75 + 0.5 * static_cast<double>(k * 7 % 10) / 10);
      trial test = trial_of(up, loss, grad(loss, x));
      test.with("x", {size}, values).random("w", {size}).expect_right();
      expect_way(test, "one step from place to place, backward");
    }
}

TEST(scan, gradient_of_a_running_maximum_with_ties) {
  constexpr auto up = define<"up">(t) = max(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto down = define<"down">(t) = min(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() = sum(t, (up(t) + 2_c * down(t)) * w(t));
  for (const auto size : sizes) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < size; ++k) values.push_back(static_cast<double>(k * 5 % 7 + k / 40) / 8);
    trial test = trial_of(up, loss, grad(loss, x));
    test.with("x", {size}, values).random("w", {size}).expect_right();
    expect_way(test, "a recurrence");
    trial other = trial_of(down, grad(loss, x));
    other.with("x", {size}, values).random("w", {size}).expect_right();
  }
}
// With the square of this many steps it would not come to an end.
TEST(scan, gradients_of_long_scans) {
  constexpr auto product = define<"product">(t) = prod(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto highest = define<"highest">(t) = max(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto lowest = define<"lowest">(t) = min(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto softest = define<"softest">(t) = logsumexp(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto hardest = define<"hardest">(t) = logsumexp(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() =
      sum(t, (product(t) + highest(t) * lowest(t) + softest(t) * hardest(t)) * w(t));
  trial test = trial_of(loss, grad(loss, x));
  test.random("x", {1000003}).random("w", {1000003});
  for (std::string text = test.plan_text(); text.find(" operations") != std::string::npos;
       text = text.substr(text.find(" operations") + 5)) {
    const std::size_t end = text.find(" operations"), begin = text.rfind(' ', end - 1);
    EXPECT_LT(std::stod(text.substr(begin, end - begin)), 1e9) << test.p->text;
  }
  ASSERT_EQ(test.run(), 0);
}
// Long recurrences run in blocks: against loops in f64, the same bits for any tasks.
TEST(scan, long_recurrences_run_in_blocks) {
  constexpr auto softest = define<"softest">(t) = logsumexp(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto hardest = define<"hardest">(t) = logsumexp(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto highest = define<"highest">(t) = max(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() = sum(t, (softest(t) + highest(t)) * w(t));
  for (const std::int64_t size : {200003, 131072, 16384 * 9 + 1}) {
    std::vector<double> values, weights;
    std::mt19937_64 bits(11);
    for (std::int64_t k = 0; k < size; ++k) {
      values.push_back(static_cast<double>(bits() % 4096) / 256 + static_cast<double>(k / 7000) / 2 -
                       (k % 3000 == 0 ? 200 : 0));
      weights.push_back(static_cast<double>(bits() % 1024) / 1024);
    }
    trial test = trial_of(softest, hardest, grad(loss, x));
    test.with("x", {size}, values).with("w", {size}, weights);
    ASSERT_EQ(test.run(), 0);
    expect_way(test, "blocks of 16384, so");
    std::vector<double> up(values.size()), down(values.size()), gradient(values.size());
    const auto joined = [](double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); };
    for (std::size_t k = 0; k < values.size(); ++k) up[k] = k == 0 ? values[k] : joined(up[k - 1], values[k]);
    for (std::size_t k = values.size(); k-- > 0;)
      down[k] = k + 1 == values.size() ? values[k] : joined(down[k + 1], values[k]);
    // d up[t] / d x[s] = exp(x[s] - up[t]): backward, what later results give, relative to up.
    double later = 0;
    for (std::size_t k = values.size(); k-- > 0;) {
      later = weights[k] + (k + 1 == values.size() ? 0 : later * std::exp(up[k] - up[k + 1]));
      gradient[k] = later * std::exp(values[k] - up[k]);
    }
    double top = -std::numeric_limits<double>::infinity();
    std::vector<std::size_t> tied;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] > top) tied.clear();
      if (values[k] >= top) tied.push_back(k), top = values[k];
      for (const std::size_t q : tied) gradient[q] += weights[k] / static_cast<double>(tied.size());
    }
    for (std::int64_t k = 0; k < size; ++k) {
      const auto at = static_cast<std::size_t>(k);
      ASSERT_NEAR(test.outputs[0].get<float>(k), up[at], 1e-5 * std::max(1.0, std::abs(up[at]))) << k;
      ASSERT_NEAR(test.outputs[1].get<float>(k), down[at], 1e-5 * std::max(1.0, std::abs(down[at]))) << k;
      ASSERT_NEAR(test.outputs[2].get<float>(k), gradient[at], 1e-4 * std::max(1.0, std::abs(gradient[at]))) << k;
    }
    std::vector<std::vector<unsigned char>> first;
    for (memory& m : test.outputs) first.push_back(m.bytes);
    test.code->call.parallel_for = in_odd_tasks;
    ASSERT_EQ(test.run(), 0);
    for (std::size_t o = 0; o < first.size(); ++o) EXPECT_TRUE(first[o] == test.outputs[o].bytes) << o;
  }
}
TEST(scan, running_logsumexp_and_gradient) {
  constexpr auto up = define<"up">(t) = logsumexp(s.in(0_c, t + 1_c), x(s)) + 0_c * x(t);
  constexpr auto down = define<"down">(t) = logsumexp(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto loss = define<"loss">() = sum(t, up(t) * down(t) * w(t));
  for (const auto size : sizes) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < size; ++k)
      values.push_back(static_cast<double>(k * 37 % 101) * (k % 3 == 0 ? 2 : -1) - 90);
    trial test = trial_of(up, loss, grad(loss, x));
    test.with("x", {size}, values).random("w", {size}).expect_right();
    expect_way(test, "a recurrence");
  }
}

// Conditions of the terms, of the result, and of what the terms are relative to; nothing may have come before a result.
TEST(scan, recurrences_that_ask_conditions) {
  constexpr auto asked = [](auto k) { return w(k) > 0.3_c; };
  constexpr auto whole = define<"whole">(t) = logsumexp(s.in(t, count), x(s)) + 0_c * x(t);
  constexpr auto partly = define<"partly">(t) = logsumexp(s.in(0_c, t + 1_c).where(asked(s)), x(s)) + 0_c * x(t);
  constexpr auto terms = define<"terms">(t) =
      sum(s.in(0_c, t + 1_c).where(asked(s)), w(s) * exp(x(s) - max(u.in(0_c, t + 1_c), x(u)))) + 0_c * x(t);
  constexpr auto chosen = define<"chosen">() = sum(t.where(asked(t)), (x(t) - whole(t)) * w(t));
  constexpr auto softest = define<"softest">() = sum(t.where(asked(t)), partly(t) * w(t));
  for (const auto size : sizes)
    for (const double least : {-300, -1}) {
      std::vector<double> values;
      for (std::int64_t k = 0; k < size; ++k) values.push_back(least + static_cast<double>(k * 37 % 101) / 3);
      const auto is_one_pass = [&](trial test) {
        test.with("x", {size}, values).random("w", {size}).expect_right();
        expect_way(test, "a recurrence");
      };
      is_one_pass(trial_of(chosen, grad(chosen, x)));
      is_one_pass(trial_of(partly, grad(softest, x)));
      is_one_pass(trial_of(terms));
    }
}
// Running results at places of a running range: all of them are stored, as none of its places asks for its own.
TEST(scan, running_results_within_a_running_sum) {
  constexpr auto nested = define<"nested">(t) =
      sum(s.in(0_c, t + 1_c).where(w(s) > 0.3_c), w(s) / (1_c + sum(u.in(s, count), x(u) * x(u)))) + 0_c * x(t);
  for (const auto size : sizes) {
    trial test = trial_of(nested);
    test.random("x", {size}).random("w", {size}).expect_right();
    if (size > 2) expect_way(test, "stage materialised");
  }
}

// The results have the extent of y, as a caller's output or weights would give it.
constexpr auto y = tensor<"y", float, 1>;

TEST(window, large) {
  constexpr auto mean_of = define<"mean_of">(t) = y(t) * mean(u.in(0_c, 100_c), x(t + u));
  constexpr auto highest = define<"highest">(t) = y(t) * max(u.in(0_c, 100_c), x(t + u));
  constexpr auto loss = define<"loss">() = sum(t, mean_of(t) * mean_of(t));
  for (const std::int64_t results : {0, 1, 2, 99, 100, 101, 250, 900}) {
    trial test = trial_of(mean_of, highest, loss, grad(loss, x));
    test.random("x", {results + 99}).random("y", {results}).expect_right();
    if (results >= 100) expect_way(test, "window of 100");
  }
}

TEST(window, with_steps_and_in_two_dimensions) {
  constexpr auto a = tensor<"a", float, 2>;
  constexpr auto b = tensor<"b", float, 2>;
  constexpr auto strided = define<"strided">(t) = y(t) + sum(u.in(0_c, 130_c), x(2_c * t + u));
  constexpr auto square = define<"square">(i, j) =
      b(i, j) + max(over(u.in(0_c, 60_c), v.in(0_c, 50_c)), a(i + u, j + v));
  for (const std::int64_t results : {0, 1, 70, 200})
    trial_of(strided).random("x", {2 * results + 128}).random("y", {results}).expect_right();
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{1, 1}, {70, 61}, {61, 70}})
    trial_of(square).random("a", {shape[0] + 59, shape[1] + 49}).random("b", shape).expect_right();
}
TEST(window, does_not_drift) {
  constexpr auto total = define<"total">(t) = sum(u.in(0_c, 1000_c), x(t + u)) * (y(t) == y(t));
  const std::int64_t results = 1000000, width = 1000;
  trial test = trial_of(total);
  std::vector<double> values(static_cast<std::size_t>(results + width - 1));
  std::mt19937_64 bits(5);
  for (double& value : values) value = static_cast<double>(std::uniform_real_distribution<float>(0, 1)(bits));
  values[3] = 1e30;  // no later window knows of it
  test.with("x", {results + width - 1}, values).random("y", {results});
  ASSERT_EQ(test.run(), 0);
  double worst = 0;
  for (std::int64_t k = 4; k < results; k += 997) {
    double sum = 0;
    for (std::int64_t q = 0; q < width; ++q) sum += values[static_cast<std::size_t>(k + q)];
    worst = std::max(worst, std::abs(test.outputs[0].get<float>(k) - sum) / sum);
  }
  EXPECT_LT(worst, 3e-7);
}

}  // namespace
}  // namespace sheaf::test::scan_tests
