// The text of a module says everything an emitter reads, and numbers values by appearance.
#include <gtest/gtest.h>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/print.hpp>

namespace sheaf::inline v0_1::ir {
namespace {

module row_sum() {
  module m;
  m.name = "row_sum";
  const auto x = add_buffer(m, {.name = "x",
                                .type = element::f32,
                                .rank = 2,
                                .where = role::input,
                                .slot = 0,
                                .unit_inner = true,
                                .extents = {-1, 64}});
  const auto y =
      add_buffer(m, {.name = "y", .type = element::f32, .rank = 1, .where = role::output, .slot = 1, .extents = {}});
  kernel_builder k("sum");
  auto& top = k.top();
  // One value a statement: the order in which a call's arguments are made is the compiler's.
  const value zero = top.i64(0), rows = top.extent(x, 0);
  auto i = top.loop(loop_kind::parallel, "i", zero, rows);
  i.head().cost = 6.5;
  const value acc = i.accumulator(element::f32, monoid::sum, true);
  const value first = i.i64(0), columns = i.extent(x, 1), row = i.counter();
  auto j = i.loop(loop_kind::vector, "j", first, columns, 32);
  const value v = j.load(x, element::f32, {row, j.counter()}, access::contiguous);
  const value scale = top.real(element::f32, 0.1);  // hoisted while the loop is being written
  const value scaled = j.emit(op::mul, {v, scale}), live = j.emit(op::less, {scale, v});
  j.combine(acc, scaled, live);
  j.close();
  i.store(y, {row}, i.fold_lanes(acc), access::uniform);
  i.close();
  m.kernels.push_back(std::move(k).finish());
  m.kernels[0].body.back().body.back().non_temporal = true;
  return m;
}

constexpr const char* expected = R"(module row_sum
buffer input #0 x f32 rank 2 unit_inner extents ? 64
buffer output #1 y f32 rank 1
kernel sum
  %0 i64 = constant 0
  %1 i64 = extent x 0
  %2 f32 = constant 0.1
  parallel i.0 in %0 .. %1
    %3 f32v = accumulator sum
    %4 i64 = constant 0
    %5 i64 = extent x 1
    %6 i64 = counter i.0
    vector j.1 in %4 .. %5 lanes 32
      %7 i64 = counter j.1
      %8 f32v = load contiguous x[%6, %7]
      %9 f32v = mul %8, %2
      %10 boolv = less %2, %8
      combine %3 with %9 mask %10
    %11 f32 = fold_lanes %3
    store uniform non_temporal y[%6] = %11
)";

TEST(print, text_of_a_row_sum) { EXPECT_EQ(print(row_sum()), expected); }

// Every field that changes what is emitted changes the text: it is the key of the cache.
TEST(print, every_field_is_in_the_text) {
  const std::string plain = print(row_sum());
  auto differs = [&](auto change) {
    module m = row_sum();
    change(m);
    return print(m) != plain;
  };
  EXPECT_TRUE(differs([](module& m) { m.name = "other"; }));
  EXPECT_TRUE(differs([](module& m) { m.buffers[0].unit_inner = false; }));
  EXPECT_TRUE(differs([](module& m) { m.buffers[0].extents[1] = 65; }));
  EXPECT_TRUE(differs([](module& m) { m.buffers[1].slot = 2; }));
  EXPECT_TRUE(differs([](module& m) { m.buffers[1].type = element::f64; }));
  EXPECT_FALSE(differs([](module& m) { m.kernels[0].body.back().cost = 7; }));  // a call's argument
  EXPECT_TRUE(differs([](module& m) { m.kernels[0].body.back().how_loop = loop_kind::serial; }));
  EXPECT_TRUE(differs([](module& m) { m.kernels[0].body.back().body.back().non_temporal = false; }));
  EXPECT_TRUE(differs([](module& m) { m.kernels[0].body.back().body.back().how = access::contiguous; }));
  for (std::size_t n = 0; n < row_sum().kernels[0].instructions.size(); ++n) {
    EXPECT_TRUE(differs([&](module& m) { m.kernels[0].instructions[n].type = element::bf16; })) << n;
    EXPECT_TRUE(differs([&](module& m) { m.kernels[0].instructions[n].vector ^= true; })) << n;
  }
  const auto asking = [](bool half_line, bool l2) {
    module m = row_sum();
    statement ask{};
    ask.kind = statement_kind::prefetch, ask.target = 0, ask.half_line = half_line, ask.l2 = l2;
    m.kernels[0].body.back().body.push_back(ask);
    return print(m);
  };
  EXPECT_NE(asking(true, true), asking(true, false));
  EXPECT_NE(asking(true, true), asking(false, true));
  auto every = [&](opcode code, auto change) {
    return differs([&](module& m) {
      for (instruction& i : m.kernels[0].instructions)
        if (i.code == code) change(i);
    });
  };
  EXPECT_TRUE(every(opcode::constant, [](instruction& i) { ++i.bits; }));
  EXPECT_TRUE(every(opcode::extent, [](instruction& i) { ++i.dimension; }));
  EXPECT_TRUE(every(opcode::accumulator, [](instruction& i) { i.fold = monoid::max; }));
  EXPECT_TRUE(every(opcode::load, [](instruction& i) { i.how = access::strided; }));
  EXPECT_TRUE(every(opcode::load, [](instruction& i) { i.target = 1; }));
  EXPECT_TRUE(every(opcode::load, [](instruction& i) { i.mask = 0; }));
  EXPECT_TRUE(every(opcode::elementwise, [](instruction& i) { i.what = op::pow; }));
}

TEST(print, tiles_of_products) {
  module m;
  const std::int32_t h = add_buffer(m, {.name = "h", .type = element::f16, .rank = 2, .where = role::input, .slot = 0,
                                        .unit_inner = true, .extents = {}});
  const std::int32_t panel = add_buffer(m, {.name = "panel", .type = element::f16, .rank = 3, .where = role::local,
                                            .elements = 2 * 32 * 40, .unit_inner = true, .extents = {2, 32, 40}});
  kernel_builder k("k");
  const value zero = k.top().i64(0), all = k.top().i64(64);
  auto t = k.top().loop(loop_kind::vector, "t", zero, all, 64);
  const value sum = t.accumulator(element::f32, monoid::sum, true);
  t.copy(panel, {zero, t.lanes(), zero}, h, {t.lanes(), zero}, all);
  t.await();
  t.mma({sum, sum}, {.warps_of_columns = 1, .of_rows = panel, .of_columns = panel, .columns_along = true,
                     .results_of_rows = 2, .terms = 32}, zero);
  t.close();
  m.kernels.push_back(std::move(k).finish());
  const std::string text = print(m);
  EXPECT_NE(text.find("copy panel[%0, %3, %0] = first %1 of h[%3, %0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("await\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mma 2 rows of %2, %2 with panel[%0] by panel[%0] along, 32 terms, 1 warps of columns\n"),
            std::string::npos) << text;
}

TEST(print, nan_and_signed_zero_are_told_apart) {
  auto text = [](double x) {
    module m;
    kernel_builder k("k");
    k.top().real(element::f64, x);
    m.kernels.push_back(std::move(k).finish());
    return print(m);
  };
  EXPECT_NE(text(0.0), text(-0.0));
  EXPECT_NE(text(0.1), text(0.1 + 1e-17 * 2));
  EXPECT_NE(text(std::bit_cast<double>(0x7ff8000000000001)), text(std::bit_cast<double>(0x7ff8000000000002)));
}

}  // namespace
}  // namespace sheaf::inline v0_1::ir
