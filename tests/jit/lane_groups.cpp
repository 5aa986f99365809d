// Loops of more lanes than a processor's registers hold run in groups of fewer, where each lane has its result for
// itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "processors.hpp"

namespace sheaf::test {
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
}  // namespace sheaf::test
