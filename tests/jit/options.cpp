// Options of compile: each changes the plan as it says, results stay right, and a plan that cannot follow one is an
// error in a sentence. determinism::strict on the shapes of the workloads; the bits of every plan of tests/jit, and of
// every row and mixture of tests/coverage, are compared between widths there.
#include <gtest/gtest.h>

#include <support/both.hpp>

#include <sheaf/jit/plan/overrides.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::options_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

array<std::int64_t, 2> overlapping(std::int64_t slices, std::int64_t rows) {
  array<std::int64_t, 2> bounds(slices, 2);
  for (std::int64_t s = 0; s < slices; ++s) {
    bounds(s, 0) = s * 37 % rows;
    bounds(s, 1) = std::min(rows, bounds(s, 0) + s * 11 % (rows / 2));
  }
  return bounds;
}

template <class T, int Rank>
void expect_same(const array<T, Rank>& a, const array<T, Rank>& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a, b)) << what;
}
template <class... A>
void expect_same(const std::tuple<A...>& a, const std::tuple<A...>& b, const std::string& what) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (expect_same(std::get<K>(a), std::get<K>(b), what + ", output " + std::to_string(K)), ...);
  }
  (std::index_sequence_for<A...>{});
}

// call(program) for AVX2, AVX-512 and this processor.
template <class Call, class... Outputs>
void check_strict(const char* what, Call call, Outputs... outputs) {
  const auto on = [&](const char* target) {
    return call(compile(options{.determinism = determinism::strict, .target = target}, outputs...));
  };
  const auto narrow = on("x86-64-v3");
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    expect_same(narrow, on("x86-64-v4"), what);
  expect_same(narrow, call(compile(determinism::strict, outputs...)), what);
}

TEST(strict, rows_of_matrices) {
  const auto data = noise_array<float>(-3, 3, 300, 257), other = noise_array<float>(-1, 1, 300, 257);
  constexpr auto soft = softmax(x, dim<1>);
  check_strict(
      "softmax", [&](const auto& p) { return p(x = data, cotangent(soft) = other); }, soft, vjp(soft, x));
  constexpr auto squares = define<"squares">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  check_strict(
      "mean of squares", [&](const auto& p) { return p(x = data); }, squares, grad(squares, x));
  constexpr auto spread = define<"spread">() = sum(var(x, dim<0>));
  check_strict(
      "variance over rows", [&](const auto& p) { return p(x = data); }, spread, grad(spread, x));
  constexpr auto far = define<"far">() = sum(logsumexp(x, dim<0>));
  check_strict(
      "logsumexp over rows", [&](const auto& p) { return p(x = data); }, far, grad(far, x));
  check_strict(
      "argmax", [&](const auto& p) { return p(x = data); }, argmax(x, dim<1>), argmax(x, dim<0>));
  const auto many = noise_array<float>(-3, 3, 300, 1100);
  check_strict(
      "many columns", [&](const auto& p) { return p(x = many); }, far, grad(far, x), spread, grad(spread, x));
  check_strict(
      "argmax of many columns", [&](const auto& p) { return p(x = many); }, argmax(x, dim<0>));
}

TEST(strict, slices_gathers_and_scans) {
  const auto data = noise_array<float>(-3, 3, 5000, 40);
  const auto bounds = overlapping(700, 5000);
  array<std::int64_t, 2> ids(90, 64);
  for (std::int64_t n = 0; n < ids.size(); ++n) ids.data()[n] = n * 7919 % 5000;
  const auto dy = noise_array<float>(-1, 1, 700, 40);
  check_strict(
      "slices", [&](const auto& p) { return p(x = data, cut = bounds, cotangent(pooled) = dy); }, pooled,
      vjp(pooled, x));
  constexpr auto gathered = define<"gathered">(m, f) = mean(k, x(pick(m, k), f));
  const auto dg = noise_array<float>(-1, 1, 90, 40);
  check_strict(
      "gather", [&](const auto& p) { return p(x = data, pick = ids, cotangent(gathered) = dg); }, gathered,
      vjp(gathered, x));
  constexpr auto running = cumsum(x, dim<0>);
  constexpr auto sliding = define<"sliding">(m, t.in(0_c, extent(x, dim<1>) - 29_c)) =
      mean(k.in(0_c, 30_c), x(m, t + k));
  check_strict(
      "scan", [&](const auto& p) { return p(x = data); }, running);
  check_strict(
      "window", [&](const auto& p) { return p(x = data); }, sliding);
}

TEST(strict, functions_of_both_types) {
  const auto single = noise_array<float>(-30, 30, 10007);
  const auto twice = noise_array<double>(-30, 30, 10007);
  const auto all = [](auto e) {
    return sin(e) + cos(e * 1000_c) + exp(e) + log(abs(e)) + tanh(e) + erf(e * 0.1_c) + pow(abs(e), 1.7_c) +
           sigmoid(e) + expm1(e) + log1p(abs(e));
  };
  constexpr auto n = axis<"n">;
  auto a = define<"a">() = sum(n, all(v(n)));
  auto b = define<"b">() = sum(n, all(w(n)));
  check_strict(
      "functions", [&](const auto& p) { return p(v = single, w = twice); }, a, b, grad(a, v), grad(b, w));
}

TEST(strict, is_an_error_without_fused_multiply_add) {
  const auto data = noise_array<float>(-1, 1, 100);
  constexpr auto y = define<"y">() = sum(i, v(i));
  const auto said =
      sentence_of([&] { compile(options{.determinism = determinism::strict, .target = "x86-64"}, y)(v = data); });
  EXPECT_NE(said.find("determinism::strict: expected a processor with fused multiply-add, found processor x86-64"),
            std::string::npos)
      << said;
  EXPECT_EQ(sentence_of([&] { compile(options{.target = "x86-64"}, y)(v = data); }), "");
}

TEST(options_of_compile, lanes) {
  const auto data = noise_array<float>(-1, 1, 64, 500);
  constexpr auto y = define<"y">(i, j) = exp(x(i, j)) * 2_c;
  const auto planned = compile(y);
  for (const int lanes : {4, 16, 64, 256}) {
    const auto overridden = compile(options{.lanes = lanes}, y);
    EXPECT_NE(std::string(overridden.explain(x = data)).find("in " + std::to_string(lanes) + " lanes"),
              std::string::npos)
        << overridden.explain(x = data);
    EXPECT_NE(std::string(overridden.explain(x = data)).find("options: " + std::to_string(lanes) + " lanes"),
              std::string::npos);
    EXPECT_TRUE(same_bits(overridden(x = data), planned(x = data)));
  }
  const auto said = sentence_of([&] { compile(options{.lanes = 12}, y); });
  EXPECT_NE(said.find("options.lanes: expected 0 or a power of two from 4 to 256, found 12"), std::string::npos)
      << said;
  constexpr auto sliding = define<"sliding">(m, t.in(0_c, extent(x, dim<1>) - 99_c)) =
      mean(k.in(0_c, 100_c), x(m, t + k));
  const auto refused = sentence_of([&] { compile(options{.lanes = 8}, sliding)(x = data); });
  EXPECT_NE(refused.find("options.lanes is 8, but stage"), std::string::npos) << refused;
}

TEST(options_of_compile, fusion) {
  const auto data = noise_array<float>(-1, 1, 600, 300);
  constexpr auto mine = define<"mine">(i) = mean(j, x(i, j));
  constexpr auto y = define<"y">(i, j) = x(i, j) - mine(i);
  constexpr auto z = define<"z">(i) = max(j, x(i, j));
  const auto planned = compile(mine, y, z), apart = compile(options{.fusion = fusion::off}, mine, y, z);
  const std::string one = planned.explain(x = data), three = apart.explain(x = data);
  EXPECT_LT(count(one, "kernel "), 3) << one;
  EXPECT_EQ(count(three, "kernel "), 3) << three;
  expect_same(planned(x = data), apart(x = data), "kernels apart");
}

TEST(options_of_compile, algorithm_for_slices) {
  const auto data = noise_array<float>(-1, 1, 1500, 48);
  const auto bounds = overlapping(150, 1500);
  const auto dy = noise_array<float>(-1, 1, 150, 48);
  constexpr auto dx = vjp(pooled, x);
  const auto right = reference(pooled, dx)(x = data, cut = bounds, cotangent(pooled) = dy);
  const auto with = [&](algorithm a) {
    const auto program = compile(options{.algorithm = a}, pooled, dx);
    const auto found = program(x = data, cut = bounds, cotangent(pooled) = dy);
    expect_agree(std::get<0>(found), std::get<0>(right), 64, "forward");
    expect_agree(std::get<1>(found), std::get<1>(right), 256, "backward");
    return std::string(program.explain(x = data, cut = bounds, cotangent(pooled) = dy));
  };
  const std::string direct = with(algorithm::direct), lists = with(algorithm::inverse_index),
                    tables = with(algorithm::block_tree);
  EXPECT_EQ(count(direct, "tables of blocks") + count(direct, "lists\n"), 0) << direct;
  EXPECT_EQ(count(lists, "tables of blocks"), 0) << lists;
  EXPECT_GE(count(lists, ", slice lists\n"), 1) << lists;
  EXPECT_GE(count(tables, "block tree"), 2) << tables;
  constexpr auto y = define<"y">(i) = sum(j, x(i, j));
  const auto refused = sentence_of([&] { compile(options{.algorithm = algorithm::block_tree}, y)(x = data); });
  EXPECT_NE(refused.find("options.algorithm is block_tree, but no stage"), std::string::npos) << refused;
}

TEST(options_of_compile, sharing) {
  const auto few = noise_array<float>(-1, 1, 8, 8), many = noise_array<float>(-1, 1, 2000, 500);
  constexpr auto y = define<"y">(i) = sum(j, x(i, j) * x(i, j));
  const auto always = compile(options{.sharing = sharing::always}, y),
             off = compile(options{.sharing = sharing::off}, y);
  const auto planned = compile(y);
  EXPECT_EQ(count(planned.ir(x = few), "parallel"), 0);
  EXPECT_EQ(count(always.ir(x = few), "parallel"), 1);
  EXPECT_EQ(count(planned.ir(x = many), "parallel"), 1);
  EXPECT_EQ(count(off.ir(x = many), "parallel"), 0);
  EXPECT_TRUE(same_bits(planned(x = many), off(x = many)));
  EXPECT_TRUE(same_bits(planned(x = few), always(x = few)));
}

TEST(target, families_by_name) {
  EXPECT_EQ(target::named("zen"), &target::families[1]);
  EXPECT_EQ(target::named("vax"), nullptr);
  EXPECT_NE(target::named(target::here().name), nullptr);
}

// A family's numbers decide scheduling; trial::expect_same_elsewhere shows that bits do not depend on them.
TEST(target, decides_scheduling) {
  constexpr auto y = define<"y">(i, j) = x(i, j) + 1_c;
  trial large = trial_of(y), small_caches = trial_of(y);
  for (trial* one : {&large, &small_caches}) one->random("x", {64, 256});
  small_caches.on.last_cache = 1024, small_caches.on.wake = 1;
  large.make();
  small_caches.make();
  EXPECT_EQ(count(ir::print(large.p->code), "non_temporal"), 0);
  EXPECT_EQ(count(ir::print(small_caches.p->code), "non_temporal"), 1) << ir::print(small_caches.p->code);
  EXPECT_EQ(count(ir::print(small_caches.p->code), "parallel"), 1);
  small_caches.expect_right();
}

// A loop's cost goes with the shapes of a call, and is no part of the kernel's text.
TEST(target, costs_are_arguments) {
  constexpr auto y = define<"y">(i) = sum(j, exp(x(i, j)));
  const auto planned = [&](std::int64_t rows) {
    trial one = trial_of(y);
    one.random("x", {rows, 256});
    one.make();
    return std::pair(ir::print(one.p->code), ir::costs_of(one.p->code));
  };
  const auto some = planned(5000), more = planned(5001);
  EXPECT_EQ(some.first, more.first);
  ASSERT_EQ(some.second.size(), 1u);
  EXPECT_GT(some.second[0], 1);
}

// Bytes as a plan predicts them, where they are known: each row read once and written once; partial results in
// between; a tensor that does not stay in the cache between two walks is read twice.
TEST(traffic, of_known_programs) {
  const auto predicted = [](auto&&... outputs) {
    trial one = trial_of(outputs...);
    one.random("x", {4096, 1024});
    one.make();
    double read = 0, written = 0;
    for (const plan::kernel_plan& k : one.p->plan.kernels) read += k.read.estimate(), written += k.written.estimate();
    return std::pair(read, written);
  };
  constexpr double all = 4096.0 * 1024 * 4;
  const auto soft = predicted(softmax(x, dim<1>));
  EXPECT_EQ(soft.first, all);
  EXPECT_EQ(soft.second, all);
  constexpr auto total = define<"total">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  const auto both = predicted(total, grad(total, x));
  EXPECT_NEAR(both.first, all, 0.01 * all);
  EXPECT_NEAR(both.second, all, 0.01 * all);
  const auto sums = predicted(define<"y">(j) = sum(i, x(i, j)));
  EXPECT_NEAR(sums.first, all, 0.1 * all);
  EXPECT_LT(sums.second, 0.1 * all);
}

}  // namespace
}  // namespace sheaf::test::options_tests
