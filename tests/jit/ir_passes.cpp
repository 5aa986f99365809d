// The passes over kernel IR, by its text before and after.
#include <gtest/gtest.h>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/interleave_kernels.hpp>
#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::test {
namespace {

using ir::access;
using ir::loop_kind;
using ir::role;
using ir::value;

constexpr double many_bytes = 1 << 20;

std::int32_t add_vector(ir::module& m, const char* name, role where, double bytes) {
  return ir::add_buffer(m, {.name = name,
                            .type = element::f32,
                            .rank = 1,
                            .where = where,
                            .slot = static_cast<int>(m.buffers.size()),
                            .unit_inner = true,
                            .extents = {},
                            .bytes = bytes});
}

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

// The text of the kernels, without that of the module and its buffers.
std::string kernels_of(const ir::module& m) {
  EXPECT_NO_THROW(ir::verify(m));
  const std::string text = ir::print(m);
  return text.substr(text.find("kernel "));
}

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
  EXPECT_NE(text.find("kernel second_and_first"), std::string::npos) << text;
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

}  // namespace
}  // namespace sheaf::test
