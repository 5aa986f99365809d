// Gathers, strided loads, scatters, locals, guards, scalar masks and stores by non-temporal stores, for three
// processors.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "processors.hpp"
#include <sheaf/jit/ir/passes/insert_prefetch.hpp>
#include <sheaf/jit/ir/passes/transpose_accesses.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::test::memory_tests {
namespace {

SHEAF_ON_PROCESSORS(memory);

// out[i] = x[pick[i]] where pick[i] is not negative; a dead lane's address is far from any memory.
TEST_P(memory, gather_with_mask_touches_no_dead_lane) {
  for (element type : {element::f32, element::i8}) {
    ir::module m;
    m.name = "gather";
    const auto x = add_slot(m, "x", type, 1, role::input), pick = add_slot(m, "pick", element::i64, 1, role::input);
    const auto out = add_slot(m, "out", type, 1, role::output);
    ir::kernel_builder k("gather");
    auto& top = k.top();
    auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(pick, 0), 16);
    const value index = i.load(pick, element::i64, {i.counter()}, access::contiguous);
    const value live = i.emit(op::less_equal, {i.i64(0), index});
    i.store(out, {i.counter()}, i.load(x, type, {index}, access::gather, live), access::contiguous);
    i.close();
    m.kernels.push_back(std::move(k).finish());
    program p(m, options());
    for (std::int64_t n = 0; n < 35; ++n) {
      std::vector<std::int64_t> picks;
      for (std::int64_t a = 0; a < n; ++a) picks.push_back(a % 5 == 2 ? -1'000'000'000'000 : a * 3 % 40);
      const auto size = static_cast<std::size_t>(n);
      p.reset();
      if (type == element::f32) {
        const auto data = numbers(40);
        std::vector<float> y(size);
        p.argument(data.data(), {40}).argument(picks.data(), {n}).argument(y.data(), {n}).run();
        for (std::size_t a = 0; a < size; ++a)
          EXPECT_EQ(y[a], picks[a] < 0 ? 0 : data[static_cast<std::size_t>(picks[a])]);
      } else {
        std::vector<std::int8_t> data(40), y(size);
        std::iota(data.begin(), data.end(), std::int8_t(3));
        p.argument(data.data(), {40}).argument(picks.data(), {n}).argument(y.data(), {n}).run();
        for (std::size_t a = 0; a < size; ++a)
          EXPECT_EQ(y[a], picks[a] < 0 ? 0 : data[static_cast<std::size_t>(picks[a])]);
      }
    }
  }
}

// z[i, j] = x[i, j] + x[pick[i], j + 1], rows in lanes: columns four at a time, fewer, and rows that are left over.
// What no column needs is neither read nor written.
TEST_P(memory, rows_in_lanes_are_transposed) {
  for (const element type : {element::f32, element::f64})
    for (const int lanes : {4, 8, 16, 32}) {
      ir::module m;
      m.name = "rows";
      const auto x = add_slot(m, "x", type, 2, role::input), pick = add_slot(m, "pick", element::i64, 1, role::input);
      const auto z = add_slot(m, "z", type, 2, role::output);
      ir::kernel_builder k("rows");
      auto& top = k.top();
      auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(z, 0), lanes);
      const value picked = i.load(pick, element::i64, {i.counter()}, access::contiguous), row = i.lanes();
      auto j = i.loop(loop_kind::serial, "j", i.i64(0), i.extent(z, 1));
      const value next = j.emit(op::add, {j.counter(), j.i64(1)});
      const value sum = j.emit(op::add, {j.load(x, type, {row, j.counter()}), j.load(x, type, {picked, next})});
      j.store(z, {row, j.counter()}, sum);
      j.close();
      i.close();
      m.kernels.push_back(std::move(k).finish());
      ir::transpose_accesses(m);
      ir::prefetch_rows_in_lanes(m);
      const std::string text = ir::print(m);
      EXPECT_NE(text.find("load transposed x[%4, %7]"), std::string::npos) << text;
      EXPECT_NE(text.find("prefetch transposed x[%4, %7]"), std::string::npos) << text;
      EXPECT_NE(text.find("prefetch transposed written z"), std::string::npos) << text;
      EXPECT_NE(text.find("store transposed z"), std::string::npos) << text;
      EXPECT_NO_THROW(ir::verify(m));
      program p(m, options());
      const auto check = [&]<class T>(T, std::int64_t rows, std::int64_t columns) {
        const auto some = numbers(static_cast<std::size_t>(rows * (columns + 1)));
        const std::vector<T> data(some.begin(), some.end());
        std::vector<std::int64_t> picks;
        for (std::int64_t a = 0; a < rows; ++a) picks.push_back(a * 3 % rows);
        const std::int64_t stride = columns + 5;
        std::vector<T> y(static_cast<std::size_t>(rows * stride), T(-7));
        p.reset().argument(data.data(), {rows, columns + 1}).argument(picks.data(), {rows});
        p.argument(y.data(), {rows, columns}, {stride, 1}).run();
        for (std::int64_t a = 0; a < rows; ++a)
          for (std::int64_t c = 0; c < stride; ++c) {
            const auto at = [&](std::int64_t r, std::int64_t column) {
              return data[static_cast<std::size_t>(r * (columns + 1) + column)];
            };
            const T expected = c < columns ? at(a, c) + at(picks[static_cast<std::size_t>(a)], c + 1) : T(-7);
            EXPECT_EQ(y[static_cast<std::size_t>(a * stride + c)], expected) << rows << " " << columns << " " << a;
          }
      };
      for (const std::int64_t rows : {1, 16, 37})
        for (std::int64_t columns = 0; columns < 10; ++columns)
          type == element::f32 ? check(0.0f, rows, columns) : check(0.0, rows, columns);
    }
}

// The places of what is not negative, for every tail and all widths of lanes; what is not appended stays as it was.
TEST_P(memory, places_under_a_mask_are_appended) {
  for (const int lanes : {4, 16, 64}) {
    ir::module m;
    m.name = "places";
    const auto x = add_slot(m, "x", element::i64, 1, role::input), y = add_slot(m, "y", element::i64, 1, role::output);
    const auto list = add_buffer(m, {.name = "list",
                                     .type = element::i64,
                                     .rank = 1,
                                     .where = role::local,
                                     .elements = 256,
                                     .unit_inner = true,
                                     .extents = {256}});
    ir::kernel_builder k("places");
    auto& top = k.top();
    const value count = top.accumulator(element::i64, monoid::sum, false);
    auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(x, 0), lanes);
    const value v = i.load(x, element::i64, {i.counter()}, access::contiguous);
    i.append(list, count, i.emit(op::less_equal, {i.i64(0), v}));
    i.close();
    auto n = top.loop(loop_kind::serial, "n", top.i64(0), top.read(count));
    n.store(y, {n.counter()}, n.load(list, element::i64, {n.counter()}));
    n.close();
    m.kernels.push_back(std::move(k).finish());
    program p(m, options());
    for (std::int64_t size = 0; size < 200; size += 7) {
      std::vector<std::int64_t> data, out(static_cast<std::size_t>(size) + 1, -7), expected;
      for (std::int64_t a = 0; a < size; ++a) data.push_back(a % 70 < 64 && a % 3 != 0 ? -a : a);
      for (std::int64_t a = 0; a < size; ++a)
        if (data[static_cast<std::size_t>(a)] >= 0) expected.push_back(a);
      expected.resize(out.size(), -7);
      p.reset().argument(data.data(), {size}).argument(out.data(), {size + 1}).run();
      EXPECT_EQ(out, expected) << lanes << " lanes, size " << size;
    }
  }
}

// y[2 i + 1] = x[i] where x[i] > 0: a strided load, a scatter with a mask.
TEST_P(memory, strided_loads_and_masked_scatters) {
  ir::module m;
  m.name = "scatter";
  const auto x = add_slot(m, "x", element::f32, 1, role::input), y = add_slot(m, "y", element::f32, 1, role::output);
  m.buffers[0].unit_inner = m.buffers[1].unit_inner = false;
  ir::kernel_builder k("scatter");
  auto& top = k.top();
  auto i = top.loop(loop_kind::vector, "i", top.i64(0), top.extent(x, 0), 16);
  const value v = i.load(x, element::f32, {i.counter()}, access::strided);
  const value to = i.emit(op::add, {i.emit(op::mul, {i.lanes(), i.i64(2)}), i.i64(1)});
  i.store(y, {to}, v, access::gather, i.emit(op::less, {i.real(element::f32, 0), v}));
  i.close();
  m.kernels.push_back(std::move(k).finish());
  program p(m, options());
  for (std::int64_t n = 0; n < 35; ++n) {
    const auto data = numbers(static_cast<std::size_t>(3 * n + 1));
    std::vector<float> out(static_cast<std::size_t>(2 * n + 2), 7.0f);
    p.reset().argument(data.data(), {n}, {3}).argument(out.data(), {2 * n}, {1}).run();
    for (std::size_t a = 0; a < out.size(); ++a) {
      const float source = a % 2 && a / 2 < static_cast<std::size_t>(n) ? data[a / 2 * 3] : -1;
      EXPECT_EQ(out[a], source > 0 ? source : 7.0f);
    }
  }
}

TEST_P(memory, locals_guards_masked_scalars_and_streams) {
  ir::module m;
  m.name = "mixed";
  const auto x = add_slot(m, "x", element::f32, 1, role::input), y = add_slot(m, "y", element::f32, 1, role::output);
  const auto row = ir::add_buffer(
      m, {.name = "row", .type = element::f32, .rank = 1, .where = role::local, .elements = 100, .extents = {}});
  ir::kernel_builder k("mixed");
  auto& top = k.top();
  const value zero = top.i64(0), n = top.extent(x, 0);
  auto fill = top.loop(loop_kind::vector, "i", zero, n, 32);
  const value v = fill.load(x, element::f32, {fill.counter()}, access::contiguous);
  fill.store(row, {fill.counter()}, fill.emit(op::mul, {v, fill.real(element::f32, 2)}), access::contiguous);
  fill.close();
  auto change = top.loop(loop_kind::serial, "s", zero, n);
  const value odd =
      change.emit(op::equal, {change.emit(op::remainder, {change.counter(), change.i64(2)}), change.i64(1)});
  auto inside = change.guard(odd);
  inside.store(row, {change.counter()}, inside.real(element::f32, 5));
  inside.close();
  const value first = change.emit(op::equal, {change.counter(), zero});
  const value before = change.load(row, element::f32, {change.emit(op::sub, {change.counter(), change.i64(1)})},
                                   access::uniform, change.emit(op::logical_not, {first}));
  change.store(row, {change.counter()}, change.emit(op::add, {before, before}), access::uniform, first);
  change.close();
  auto out = top.loop(loop_kind::vector, "o", zero, n, 32);
  out.store(y, {out.counter()}, out.load(row, element::f32, {out.counter()}, access::contiguous), access::contiguous,
            ir::none, true);
  out.close();
  m.kernels.push_back(std::move(k).finish());
  const auto data = numbers(77);
  for (std::size_t shift : {0, 1}) {
    std::vector<float> store(100);
    float* aligned = store.data() + (16 - reinterpret_cast<std::uintptr_t>(store.data()) / 4 % 16) + shift;
    program p(m, options());
    p.argument(data.data(), {77}).argument(aligned, {77}).run();
    for (std::size_t a = 0; a < 77; ++a) EXPECT_EQ(aligned[a], a == 0 ? 0 : a % 2 ? 5 : 2 * data[a]) << a;
  }
}

}  // namespace
}  // namespace sheaf::test::memory_tests
