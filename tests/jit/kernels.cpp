// Loops, tails, reductions, tasks and checks of compiled kernels, against plain loops, for three
// processors.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "processors.hpp"

namespace sheaf::test::kernels_tests {
namespace {

SHEAF_ON_PROCESSORS(kernels);

constexpr std::int64_t no_position = std::numeric_limits<std::int64_t>::max();

// The fixed tree: lane k of `lanes` holds every lanes-th value; then the upper half is combined into the lower.
template <class T, class Combine>
T by_lanes(const std::vector<T>& x, std::size_t lanes, T identity, Combine combine) {
  std::vector<T> lane(lanes, identity);
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % lanes] = combine(lane[i % lanes], x[i]);
  for (std::size_t half = lanes / 2; half; half /= 2)
    for (std::size_t k = 0; k < half; ++k) lane[k] = combine(lane[k], lane[k + half]);
  return lane[0];
}

// Every vector loop as one masked body: the results are to stay.
ir::module size_optimised(ir::module m) {
  const std::function<void(ir::block&)> mark = [&](ir::block& body) {
    for (ir::statement& s : body) {
      s.size_optimised = s.kind == ir::statement_kind::loop && s.how_loop == loop_kind::vector;
      mark(s.body);
    }
  };
  for (ir::kernel& k : m.kernels) mark(k.body);
  return m;
}

// out[i] = fold over j of x[i, j]; with `use_mask`, where mask[i, j].
ir::module fold_rows(element type, monoid fold, int lanes, bool use_mask) {
  const bool position = fold == monoid::argmax || fold == monoid::argmin;
  ir::module m;
  m.name = "fold_rows";
  const auto x = add_slot(m, "x", type, 2, role::input);
  const auto out = add_slot(m, "out", position ? element::i64 : type, 1, role::output);
  const auto mask = use_mask ? add_slot(m, "mask", element::boolean, 2, role::input) : -1;
  ir::kernel_builder k("fold");
  auto& top = k.top();
  auto i = top.loop(loop_kind::parallel, "i", top.i64(0), top.extent(x, 0));
  const value acc = i.accumulator(type, fold, true);
  auto j = i.loop(loop_kind::vector, "j", i.i64(0), i.extent(x, 1), lanes);
  const std::vector<value> at = {i.counter(), j.counter()};
  const value live = use_mask ? j.load(mask, element::boolean, at, access::contiguous) : ir::none;
  j.combine(acc, j.load(x, type, at, access::contiguous, live), live, position ? j.lanes() : ir::none);
  j.close();
  i.store(out, {i.counter()}, i.fold_lanes(acc));
  i.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

TEST_P(kernels, sum_of_every_length_is_the_fixed_tree_bit_for_bit) {
  for (int lanes : {4, 32, 64}) {
    program p(fold_rows(element::f32, monoid::sum, lanes, false), options());
    program less_code(size_optimised(fold_rows(element::f32, monoid::sum, lanes, false)), options());
    for (std::int64_t n = 0; n <= 2 * lanes + 1; ++n) {
      const auto x = numbers(static_cast<std::size_t>(3 * n));
      std::vector<float> out(3), again(3);
      p.reset().argument(x.data(), {3, n}).argument(out.data(), {3}).run();
      less_code.reset().argument(x.data(), {3, n}).argument(again.data(), {3}).run();
      EXPECT_EQ(out, again) << n;
      for (std::size_t r = 0; r < 3; ++r) {
        const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(r) * n,
                                     x.begin() + static_cast<std::ptrdiff_t>(r + 1) * n);
        EXPECT_EQ(out[r], by_lanes(one, static_cast<std::size_t>(lanes), 0.0f, std::plus<float>())) << n;
      }
    }
  }
}

template <class T>
void check_fold(const sheaf_llvm_options& options, monoid fold, std::vector<T> x, bool masked,
                std::function<T(const std::vector<T>&)> expected) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<unsigned char> mask;
  std::vector<T> live;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mask.push_back(!masked || i % 3 != 1);
    if (mask.back()) live.push_back(x[i]);
  }
  T out{};
  program p(fold_rows(element_of<T>, fold, 16, masked), options);
  p.argument(x.data(), {1, n}).argument(&out, {1});
  if (masked) p.argument(mask.data(), {1, n});
  p.run();
  const T want = expected(live);
  EXPECT_TRUE(out == want || (out != out && want != want))
      << +out << " but expected " << +want << ", length " << n << ", fold " << static_cast<int>(fold);
}

template <class T>
void check_folds(const sheaf_llvm_options& options) {
  for (bool masked : {false, true})
    for (std::size_t n : {0, 1, 15, 16, 17, 33, 100}) {
      std::vector<T> x;
      for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<T>(i * 7 % 23 + 1) * static_cast<T>(i % 2 ? 1 : -1));
      using limits = std::numeric_limits<T>;
      const T low = limits::has_infinity ? -limits::infinity() : limits::lowest(),
              high = limits::has_infinity ? limits::infinity() : limits::max();
      using list = std::vector<T>;
      check_fold<T>(options, monoid::sum, x, masked,
                    [](const list& v) { return std::accumulate(v.begin(), v.end(), T(0)); });
      check_fold<T>(options, monoid::max, x, masked,
                    [&](const list& v) { return v.empty() ? low : *std::max_element(v.begin(), v.end()); });
      check_fold<T>(options, monoid::min, x, masked,
                    [&](const list& v) { return v.empty() ? high : *std::min_element(v.begin(), v.end()); });
      for (T& v : x) v = v == T(5) ? T(2) : T(1);
      check_fold<T>(options, monoid::prod, x, masked, [](const list& v) {
        return std::accumulate(v.begin(), v.end(), T(1), [](T a, T b) { return static_cast<T>(a * b); });
      });
    }
}

TEST_P(kernels, folds_of_numbers) {
  check_folds<std::int8_t>(options());
  check_folds<std::uint8_t>(options());
  check_folds<std::int32_t>(options());
  check_folds<std::int64_t>(options());
  check_folds<float>(options());
  check_folds<double>(options());
}

TEST_P(kernels, any_and_all) {
  program any(fold_rows(element::boolean, monoid::any, 16, false), options()),
      all(fold_rows(element::boolean, monoid::all, 16, false), options());
  std::vector<unsigned char> x(4 * 21), some(4), every(4);
  x[21 + 20] = 1;
  for (std::size_t j = 0; j < 42; ++j) x[42 + j] = 1;
  x[63] = 0;
  any.argument(x.data(), {4, 21}).argument(some.data(), {4}).run();
  all.argument(x.data(), {4, 21}).argument(every.data(), {4}).run();
  EXPECT_EQ(some, (std::vector<unsigned char>{0, 1, 1, 1}));
  EXPECT_EQ(every, (std::vector<unsigned char>{0, 0, 1, 0}));
}

TEST_P(kernels, nan_goes_through_max_and_min) {
  for (std::size_t at : {0, 3, 16, 36}) {
    auto x = numbers(37);
    x[at] = NAN;
    for (monoid fold : {monoid::max, monoid::min}) {
      float out = 0;
      program p(fold_rows(element::f32, fold, 16, false), options());
      p.argument(x.data(), {1, 37}).argument(&out, {1}).run();
      EXPECT_TRUE(std::isnan(out)) << at;
    }
  }
}

std::int64_t position_of(const sheaf_llvm_options& options, monoid fold, const std::vector<float>& x) {
  std::int64_t out = -1;
  program p(fold_rows(element::f32, fold, 16, false), options);
  p.argument(x.data(), {1, static_cast<std::int64_t>(x.size())}).argument(&out, {1}).run();
  return out;
}

TEST_P(kernels, argmax_takes_the_first_of_ties_and_the_first_nan) {
  auto x = numbers(50);
  EXPECT_EQ(position_of(options(), monoid::argmax, x), std::max_element(x.begin(), x.end()) - x.begin());
  EXPECT_EQ(position_of(options(), monoid::argmin, x), std::min_element(x.begin(), x.end()) - x.begin());
  x[45] = x[19] = x[4] = 9;
  EXPECT_EQ(position_of(options(), monoid::argmax, x), 4);
  x[47] = x[33] = NAN;
  EXPECT_EQ(position_of(options(), monoid::argmax, x), 33);
  EXPECT_EQ(position_of(options(), monoid::argmin, x), 33);
  EXPECT_EQ(position_of(options(), monoid::argmax, std::vector<float>(40, -INFINITY)), 0);
  EXPECT_EQ(position_of(options(), monoid::argmin, std::vector<float>(40, INFINITY)), 0);
  EXPECT_EQ(position_of(options(), monoid::argmax, {}), -1);
}

// y[j] = sum over i of x[i, j] as a serial loop inside a vector loop, with i unrolled.
ir::module fold_columns(element type, int lanes, int unroll) {
  ir::module m;
  m.name = "fold_columns";
  const auto x = add_slot(m, "x", type, 2, role::input), y = add_slot(m, "y", type, 1, role::output);
  ir::kernel_builder k("fold");
  auto& top = k.top();
  const value rows = top.extent(x, 0);
  auto j = top.loop(loop_kind::vector, "j", top.i64(0), top.extent(x, 1), lanes);
  const value acc = j.accumulator(type == element::f64 ? element::f64 : element::f32, monoid::sum, true);
  auto i = j.loop(loop_kind::serial, "i", j.i64(0), rows);
  i.head().unroll = unroll;
  const value loaded = i.load(x, type, {i.counter(), j.counter()}, access::contiguous);
  i.combine(acc, type == element::f64 ? loaded : i.cast(element::f32, loaded));
  i.close();
  const value total = j.read(acc);
  j.store(y, {j.counter()}, type == element::f64 ? total : j.cast(type, total), access::contiguous);
  j.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

TEST_P(kernels, columns_of_every_width_and_no_store_beyond) {
  for (int unroll : {1, 4, -1}) {
    const ir::module columns = fold_columns(element::f32, 16, std::max(unroll, 1));
    program p(unroll < 0 ? size_optimised(columns) : columns, options());
    for (std::int64_t n = 0; n <= 33; ++n) {
      const auto x = numbers(static_cast<std::size_t>(7 * n));
      std::vector<float> y(static_cast<std::size_t>(n) + 8, 99.0f);
      p.reset().argument(x.data(), {7, n}).argument(y.data(), {n}).run();
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        float want = 0;
        for (std::size_t i = 0; i < 7; ++i) want += x[i * static_cast<std::size_t>(n) + j];
        EXPECT_EQ(y[j], want);
      }
      for (std::size_t j = static_cast<std::size_t>(n); j < y.size(); ++j) EXPECT_EQ(y[j], 99.0f);
    }
  }
}

TEST_P(kernels, narrow_elements_have_tails_too) {
  for (std::int64_t n : {1, 5, 16, 17, 31}) {
    std::vector<std::int8_t> x(static_cast<std::size_t>(3 * n)), y(static_cast<std::size_t>(n) + 4, 99);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(i % 40);
    program p(n % 2 ? fold_columns(element::i8, 16, 1) : size_optimised(fold_columns(element::i8, 16, 1)), options());
    p.argument(x.data(), {3, n}).argument(y.data(), {n}).run();
    for (std::size_t j = 0; j < y.size(); ++j) {
      const auto w = static_cast<std::size_t>(n);
      EXPECT_EQ(y[j], j < w ? std::min(127, x[j] + x[w + j] + x[2 * w + j]) : 99);
    }
  }
}

TEST_P(kernels, a_sum_of_products_is_fused_once_everywhere) {
  ir::module m;
  m.name = "dot";
  const auto x = add_slot(m, "x", element::f32, 1, role::input), y = add_slot(m, "y", element::f32, 0, role::output);
  ir::kernel_builder k("dot");
  auto& top = k.top();
  const value acc = top.accumulator(element::f32, monoid::sum, true);
  auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(x, 0), 16);
  const value v = i.load(x, element::f32, {i.counter()}, access::contiguous);
  i.combine(acc, i.emit(op::mul, {v, v}));
  i.close();
  top.store(y, {}, top.fold_lanes(acc));
  m.kernels.push_back(std::move(k).finish());
  const auto data = numbers(45);
  for (int exact : {0, 1}) {
    sheaf_llvm_options o = options();
    o.exact_sum = exact;
    float out = 0;
    program p(m, o);
    p.argument(data.data(), {45}).argument(&out, {}).run();
    const bool fused = !exact && std::string(GetParam()) != "x86-64";
    auto plus = [](float a, float b) { return a + b; };
    std::vector<float> lane(16);
    for (std::size_t a = 0; a < 45; ++a) {
      volatile float product = data[a] * data[a];
      lane[a % 16] = fused ? std::fma(data[a], data[a], lane[a % 16]) : lane[a % 16] + product;
    }
    EXPECT_EQ(out, by_lanes(lane, 16, 0.0f, plus));
  }
}

void in_pieces(void* pool, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
  auto& seen = *static_cast<std::vector<double>*>(pool);
  seen = {static_cast<double>(count), cost};
  for (std::int64_t at = count; at > 0; at -= 2) body(call, std::max<std::int64_t>(0, at - 2), at);
}

TEST_P(kernels, pieces_in_any_order_give_the_same) {
  ir::module m = fold_rows(element::f32, monoid::sum, 16, false);
  m.kernels[0].body.back().cost = 12.5;
  const auto x = numbers(7 * 50);
  std::vector<float> alone(7), tasks(7);
  std::vector<double> seen;
  program p(m, options()), q(m, options());
  p.argument(x.data(), {7, 50}).argument(alone.data(), {7}).run();
  q.argument(x.data(), {7, 50}).argument(tasks.data(), {7});
  q.call.parallel_for = in_pieces;
  q.call.pool = &seen;
  q.run();
  EXPECT_EQ(alone, tasks);
  EXPECT_EQ(seen, (std::vector<double>{7, 12.5}));
}

// A check kernel stores the first bad position; the kernel after it must not run then.
TEST_P(kernels, a_failed_check_stops_before_any_store) {
  ir::module m;
  m.name = "checked";
  const auto pick = add_slot(m, "pick", element::i64, 1, role::input),
             y = add_slot(m, "y", element::i64, 1, role::output);
  add_slot(m, "first", element::i64, 0, role::check);
  const auto bad = add_slot(m, "second", element::i64, 0, role::check);
  ir::kernel_builder check("check"), copy("copy");
  {
    auto& top = check.top();
    const value acc = top.accumulator(element::i64, monoid::min, true);
    auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(pick, 0), 8);
    const value v = i.load(pick, element::i64, {i.counter()}, access::contiguous);
    i.combine(acc, i.lanes(), i.emit(op::less, {v, i.i64(0)}));
    i.close();
    top.store(bad, {}, top.fold_lanes(acc));
  }
  {
    auto& top = copy.top();
    auto i = top.loop(loop_kind::serial, "i", top.i64(0), top.extent(pick, 0));
    i.store(y, {i.counter()}, i.load(pick, element::i64, {i.counter()}));
    i.close();
  }
  m.kernels.push_back(std::move(check).finish());
  m.kernels.push_back(std::move(copy).finish());
  std::vector<std::int64_t> picks(20, 5), out(20);
  std::int64_t none = no_position, result = no_position;
  program p(m, options());
  p.argument(picks.data(), {20}).argument(out.data(), {20}).argument(&none, {}).argument(&result, {});
  EXPECT_EQ(p.run(), SHEAF_OK);
  EXPECT_EQ(out, picks);
  picks[17] = picks[13] = -1;
  out.assign(20, 0);
  EXPECT_EQ(p.run(), SHEAF_BAD_INDEX);
  EXPECT_EQ(p.failure.check, 1);
  EXPECT_EQ(p.failure.position, 13);
  EXPECT_EQ(out, std::vector<std::int64_t>(20));
}

}  // namespace
}  // namespace sheaf::test::kernels_tests
