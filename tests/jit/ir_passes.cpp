// The passes over kernel IR, by its text before and after; insert_prefetch has a file of its own.
#include <sheaf/jit/ir/passes/interleave_kernels.hpp>
#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>
#include <sheaf/jit/ir/passes/unroll_and_jam.hpp>
#include <sheaf/jit/ir/passes/unswitch_loops.hpp>

#include "ir_passes.hpp"

namespace sheaf::test::ir_passes_tests {
namespace {

// to[i] = from[i], by tasks of one element, or in lanes.
ir::kernel copy(const char* name, std::int32_t from, std::int32_t to, loop_kind kind, bool once = true) {
  ir::kernel_builder k(name);
  auto& top = k.top();
  const value low = top.i64(0), high = top.extent(from, 0);
  const bool lanes = kind == loop_kind::vector;
  const access how = lanes ? access::contiguous : access::uniform;
  auto loop = top.loop(kind, "i", low, high, lanes ? 16 : 1);
  const value i = loop.counter();
  loop.store(to, {i}, loop.load(from, element::f32, {i}, how), how, ir::none, once);
  loop.close();
  return std::move(k).finish();
}

struct copies {
  ir::module m{.name = "copies", .buffers = {}, .folds = {}, .kernels = {}};
  std::int32_t x = add_vector(m, "x", role::input, many_bytes), y = add_vector(m, "y", role::output, many_bytes);
};

TEST(non_temporal_stores, of_large_outputs) {
  copies c;
  c.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector));
  const std::string before = kernels_of(c.m);
  ir::non_temporal_stores(c.m, many_bytes);
  EXPECT_EQ(kernels_of(c.m), R"(kernel copy
  %0 i64 = constant 0
  %1 i64 = extent x 0
  vector i.0 in %0 .. %1 lanes 16
    %2 i64 = counter i.0
    %3 f32v = load contiguous x[%2]
    store contiguous non_temporal y[%2] = %3
)") << before;
}

TEST(non_temporal_stores, not_of_what_caches_keep) {
  const auto stays = [](copies c, double from) {
    const std::string before = kernels_of(c.m);
    ir::non_temporal_stores(c.m, from);
    EXPECT_EQ(before, kernels_of(c.m));
  };
  copies c, again, rewritten, elements;
  for (copies* each : {&c, &again}) each->m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector));
  rewritten.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector, false));
  elements.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::parallel));
  stays(c, 2 * many_bytes);
  again.m.buffers[static_cast<std::size_t>(again.y)].read_again = true;
  for (const copies& each : {again, rewritten, elements}) stays(each, many_bytes);
}

TEST(interleave_kernels, ranges_alternate) {
  copies c;
  const auto u = add_vector(c.m, "u", role::input, 0), v = add_vector(c.m, "v", role::output, 0);
  c.m.kernels.push_back(copy("first", c.x, c.y, loop_kind::parallel));
  c.m.kernels.push_back(copy("second", u, v, loop_kind::parallel));
  c.m.kernels.front().interleaved = {.with = 1, .iterations = 8, .cost = 1};
  ir::interleave_kernels(c.m);
  ASSERT_EQ(c.m.kernels.size(), 1u);
  const std::string text = kernels_of(c.m);
  EXPECT_NE(text.find("kernel first_and_second"), std::string::npos) << text;
  EXPECT_NE(text.find("parallel iteration.2 in"), std::string::npos) << text;
  EXPECT_LT(text.find("store uniform y"), text.size()) << text;
  EXPECT_LT(text.find("store uniform v"), text.size()) << text;
}

TEST(interleave_kernels, not_without_tasks) {
  copies c;
  const auto u = add_vector(c.m, "u", role::input, 0), v = add_vector(c.m, "v", role::output, 0);
  c.m.kernels.push_back(copy("first", c.x, c.y, loop_kind::parallel));
  c.m.kernels.push_back(copy("second", u, v, loop_kind::serial));
  c.m.kernels.front().interleaved = {.with = 1, .iterations = 8, .cost = 1};
  const std::string before = kernels_of(c.m);
  ir::interleave_kernels(c.m);
  EXPECT_EQ(before, kernels_of(c.m));
}

// ---- unroll and jam

// y[i, j] = sum(k, x[i, k] * x[k, j]), two iterations of i at once. carried: a sum over i as well; local: a row in
// memory of the task's.
std::string jammed_product(bool carried, bool local) {
  ir::module m{.name = "product", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_matrix(m, "y");
  m.buffers[static_cast<std::size_t>(y)].where = role::output;
  const auto row_of = ir::add_buffer(m, {.name = "row", .type = element::f32, .rank = 1, .where = role::local,
                                         .elements = 16, .extents = {}});
  ir::kernel_builder b("product");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  const value all = top.accumulator(element::f32, monoid::sum, false);
  auto i = open(top, loop_kind::serial, "i", zero, rows, 100);
  i.head().jam = 2;
  const value row = i.counter();
  auto j = open(i, loop_kind::vector, "j", zero, columns, 100);
  const value column = j.counter(), sum = j.accumulator(element::f32, monoid::sum, true);
  auto k = open(j, loop_kind::serial, "k", zero, columns, 100);
  const value at = k.counter(), right = k.load(x, element::f32, {at, column}, access::contiguous),
              left = k.load(x, element::f32, {row, at});
  k.combine(sum, k.emit(op::mul, {left, right}));
  k.close();
  const value result = j.read(sum);
  if (local) j.store(row_of, {zero}, result, access::contiguous);
  j.store(y, {row, column}, result, access::contiguous);
  j.close();
  if (carried) i.combine(all, i.load(x, element::f32, {row, zero}));
  i.close();
  if (carried) top.store(y, {zero, zero}, top.read(all));
  m.kernels.push_back(std::move(b).finish());
  ir::unroll_and_jam(m);
  return kernels_of(m);
}

// One load of the row serves both; each has its own load, product and sum. What is left is the loop as it was.
TEST(unroll_and_jam, shares_what_does_not_vary) {
  const std::string text = jammed_product(false, false);
  const std::string tile = text.substr(0, text.find("  serial i.0"));
  EXPECT_NE(tile.find(R"(    vector j.4 in %0 .. %2 lanes 16
)"), std::string::npos) << text;
  EXPECT_NE(tile.find(R"(        %20 f32v = load contiguous x[%19, %16]
        %21 f32 = load uniform x[%13, %19]
        %22 f32v = mul %21, %20
        combine %17 with %22
        %23 f32 = load uniform x[%15, %19]
        %24 f32v = mul %23, %20
        combine %18 with %24
)"), std::string::npos) << text;
  EXPECT_NE(text.find("  serial i.0 in %9 .. %1\n"), std::string::npos) << text;
}

// y[i, j] = sum(k, x[i, k] * x[x[i, 0], j]) where rows run together that name the same one.
TEST(unroll_and_jam, where_data_is_equal) {
  ir::module m{.name = "product", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_matrix(m, "y");
  const auto ids = ir::add_buffer(m, {.name = "ids", .type = element::i64, .rank = 1, .where = role::input, .slot = 2,
                                      .unit_inner = true, .extents = {}});
  m.buffers[static_cast<std::size_t>(y)].where = role::output;
  ir::kernel_builder b("product");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto i = open(top, loop_kind::serial, "i", zero, rows, 100);
  const value row = i.counter(), id = i.load(ids, element::i64, {row});
  i.head().jam = 2;
  i.head().equal = {id};
  auto j = open(i, loop_kind::vector, "j", zero, columns, 100);
  const value column = j.counter(), right = j.load(x, element::f32, {id, column}, access::contiguous),
              left = j.load(x, element::f32, {row, zero});
  j.store(y, {row, column}, j.emit(op::mul, {left, right}), access::contiguous);
  j.close();
  i.close();
  m.kernels.push_back(std::move(b).finish());
  ir::unroll_and_jam(m);
  ir::verify(m);
  const std::string text = kernels_of(m);
  EXPECT_NE(text.find("serial i_tile"), std::string::npos) << text;
  EXPECT_NE(text.find("logical_not"), std::string::npos) << text;
  std::size_t gathered = 0;
  for (std::size_t at = 0; (at = text.find("load contiguous x", at)) != std::string::npos; ++at) ++gathered;
  EXPECT_EQ(gathered, 2U) << text;  // of both rows at once, and of one alone
  EXPECT_EQ(text.find("where equal"), std::string::npos) << text;
}

TEST(unroll_and_jam, not_what_iterations_share) {
  for (const bool carried : {true, false}) {
    const std::string text = jammed_product(carried, !carried);
    EXPECT_EQ(text.find("_tile"), std::string::npos) << text;
    EXPECT_EQ(text.find("jam"), std::string::npos) << text;
  }
}

// The sum of x[0 .. n) where `given` holds, or where it holds of the element.
ir::kernel guarded_sum(const copies& c, bool of_element) {
  ir::kernel_builder k("sum");
  auto& top = k.top();
  const value low = top.i64(0), high = top.extent(c.x, 0), given = top.emit(op::less, {top.i64(3), high});
  const value all = top.accumulator(element::f32, monoid::sum, false);
  auto loop = top.loop(loop_kind::serial, "i", low, high);
  const value i = loop.counter();
  auto some = loop.guard(of_element ? loop.emit(op::less, {low, i}) : given);
  some.combine(all, some.load(c.x, element::f32, {i}));
  some.close();
  loop.close();
  top.store(c.y, {low}, top.read(all));
  return std::move(k).finish();
}

TEST(unswitch_loops, of_what_no_iteration_changes) {
  copies c;
  c.m.kernels.push_back(guarded_sum(c, false));
  ir::unswitch_loops(c.m);
  const std::string text = kernels_of(c.m);
  EXPECT_NE(text.find("  guard %3\n    serial i.0"), std::string::npos) << text;
  EXPECT_EQ(text.find("guard", text.find("serial")), std::string::npos) << text;
}
TEST(unswitch_loops, not_of_what_each_iteration_asks) {
  copies c;
  c.m.kernels.push_back(guarded_sum(c, true));
  const std::string before = kernels_of(c.m);
  ir::unswitch_loops(c.m);
  EXPECT_EQ(before, kernels_of(c.m));
}

}  // namespace
}  // namespace sheaf::test::ir_passes_tests
