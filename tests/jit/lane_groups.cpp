// Loops of more lanes than a processor's registers hold run in groups of fewer, where each lane has its result for
// itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

#include "processors.hpp"

namespace sheaf::test::lane_groups_tests {
namespace {

SHEAF_ON_PROCESSORS(lane_groups);

// y[f] = sum of x[t, f] over t, in f64.
ir::module column_sums(int lanes) {
  ir::module m;
  m.name = "column_sums";
  const auto x = add_slot(m, "x", element::f64, 2, role::input), y = add_slot(m, "y", element::f64, 1, role::output);
  ir::kernel_builder k("column_sums");
  auto& top = k.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto f = top.loop(loop_kind::vector, "f", zero, columns, lanes);
  const value column = f.counter(), sum = f.accumulator(element::f64, monoid::sum, true);
  auto t = f.loop(loop_kind::serial, "t", zero, rows);
  t.combine(sum, t.load(x, element::f64, {t.counter(), column}, access::contiguous));
  t.close();
  f.store(y, {column}, f.read(sum), access::contiguous);
  f.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

TEST_P(lane_groups, any_count) {
  for (const int lanes : {16, 64, 256}) {
    program p(column_sums(lanes), options());
    for (const std::int64_t n : {0, 1, 7, 16, 33, 64, 100, 300}) {
      const auto size = static_cast<std::size_t>(n);
      std::vector<double> x(3 * size), y(size + 1, -1);
      for (std::size_t a = 0; a < x.size(); ++a) x[a] = static_cast<double>(a % 101);
      p.reset();
      p.argument(x.data(), {3, n}).argument(y.data(), {n}).run();
      for (std::size_t f = 0; f < size; ++f) EXPECT_EQ(y[f], x[f] + x[size + f] + x[2 * size + f]) << lanes << " " << f;
      EXPECT_EQ(y[size], -1);
    }
  }
}

// y[t] = the sum, the maximum and the place of the minimum of x[t, f] over f: a row that is no longer than a quarter of
// the lanes meets those alone.
ir::module row_folds(int lanes) {
  ir::module m;
  m.name = "row_folds";
  const auto x = add_slot(m, "x", element::f32, 2, role::input), y = add_slot(m, "y", element::f32, 2, role::output),
             at = add_slot(m, "at", element::i64, 1, role::output);
  ir::kernel_builder k("row_folds");
  auto& top = k.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto t = top.loop(loop_kind::serial, "t", zero, rows);
  const value row = t.counter(), one = t.i64(1), sum = t.accumulator(element::f32, monoid::sum, true),
              most = t.accumulator(element::f32, monoid::max, true),
              least = t.accumulator(element::f32, monoid::argmin, true);
  auto f = t.loop(loop_kind::vector, "f", zero, columns, lanes);
  const value v = f.load(x, element::f32, {row, f.counter()}, access::contiguous);
  f.combine(sum, v);
  f.combine(most, v);
  f.combine(least, v, ir::none, f.lanes());
  f.close();
  t.store(y, {row, zero}, t.fold_lanes(sum));
  t.store(y, {row, one}, t.fold_lanes(most));
  t.store(at, {row}, t.fold_lanes(least));
  t.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

TEST_P(lane_groups, rows_of_any_length_are_folded) {
  for (const int lanes : {16, 32, 64}) {
    program p(row_folds(lanes), options());
    for (const std::int64_t n : {0, 1, 3, 4, 5, 8, 9, 15, 16, 17, 33, 64, 66, 100}) {
      const auto size = static_cast<std::size_t>(n);
      std::vector<float> x(2 * size), y(4, -1);
      std::vector<std::int64_t> at(2, -7);
      for (std::size_t a = 0; a < x.size(); ++a) x[a] = static_cast<float>(a * 37 % 101) - 50;
      p.reset();
      p.argument(x.data(), {2, n}).argument(y.data(), {2, 2}).argument(at.data(), {2}).run();
      for (std::size_t t = 0; t < 2; ++t) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(t * size), end = begin + n;
        EXPECT_EQ(y[2 * t], std::accumulate(begin, end, 0.F)) << lanes << " " << n;
        EXPECT_EQ(y[2 * t + 1], n == 0 ? -std::numeric_limits<float>::infinity() : *std::max_element(begin, end));
        EXPECT_EQ(at[t], n == 0 ? -1 : std::min_element(begin, end) - begin) << lanes << " " << n;
      }
    }
  }
}

TEST_P(lane_groups, sums_stay_in_registers) {
  sheaf_llvm_options o = options();
  o.want_asm = 1;
  std::istringstream code(program(column_sums(256), o).code().assembly);
  int additions = 0;
  for (std::string line; std::getline(code, line);) additions += line.find("addpd") != std::string::npos;
  EXPECT_GE(additions, 8);
  EXPECT_LE(additions, 48) << "a whole group, half a group, a register";
}

}  // namespace
}  // namespace sheaf::test::lane_groups_tests
