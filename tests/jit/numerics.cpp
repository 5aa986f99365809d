// What decides bits is answered once: types of accumulators, and which products are contracted.
#include <sheaf/jit/numerics/numerics.hpp>

#include <gtest/gtest.h>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/contract_fma.hpp>
#include <sheaf/jit/ir/print.hpp>

namespace sheaf::inline v0_1::numerics {
namespace {

static_assert(accumulated(element::f16) == element::f32 && accumulated(element::bf16) == element::f32);
static_assert(accumulated(element::f32) == element::f32 && accumulated(element::u8) == element::u8);
static_assert(joined(monoid::sum, element::f32) == element::f64 && joined(monoid::max, element::f32) == element::f32);
static_assert(carried(monoid::prod, element::f16) == element::f64);
static_assert(carried(monoid::sum, element::i32) == element::i32);
static_assert(in_lanes(element::f64, narrow_lanes) == element::f32 && in_lanes(element::f64, 0) == element::f64);
static_assert(folds_in_f64(monoid::sum, element::f32, element::f64));
static_assert(!folds_in_f64(monoid::max, element::f32, element::f64));
static_assert(window::type_of(monoid::sum, element::f32, window::folded_lanes) == element::f32);
static_assert(window::type_of(monoid::sum, element::f32, window::folded_lanes + 1) == element::f64);
static_assert(window::type_of(monoid::sum, element::f32, window::summed_in_f64 + 1) == element::f32);
static_assert(window::type_of(monoid::max, element::f32, window::folded_lanes + 1) == element::f32);
static_assert(window::type_of_tied(element::f32, 2 * window::sums_in_a_row, 1) == element::f64);

// sum(i, x(i) * x(i)), but for how the loop combines.
template <class Combine>
bool contracts_squares(element sum, monoid fold, Combine combine) {
  ir::module m;
  const auto x = ir::add_buffer(
      m, {.name = "x", .type = element::f32, .rank = 1, .where = ir::role::input, .slot = 0, .extents = {}});
  ir::kernel_builder k("squares");
  auto& top = k.top();
  const ir::value zero = top.i64(0), size = top.extent(x, 0), cell = top.accumulator(sum, fold, false);
  auto i = top.loop(ir::loop_kind::serial, "i", zero, size);
  const ir::value v = i.load(x, element::f32, {i.counter()});
  const ir::value square = i.emit(op::mul, {v, v});
  combine(i, cell, square);
  i.close();
  m.kernels.push_back(std::move(k).finish());
  ir::contract_fma(m);
  return ir::print(m).find(" fma\n") != std::string::npos;
}

TEST(numerics, a_product_that_only_a_sum_takes_is_contracted) {
  const auto sum = [](ir::block_builder& b, ir::value cell, ir::value x) { b.combine(cell, x); };
  EXPECT_TRUE(contracts_squares(element::f32, monoid::sum, sum));
  EXPECT_FALSE(contracts_squares(element::f32, monoid::prod, sum));
}

TEST(numerics, other_products_are_rounded) {
  const auto twice = [](ir::block_builder& b, ir::value cell, ir::value x) { b.combine(cell, x), b.combine(cell, x); };
  EXPECT_FALSE(contracts_squares(element::f32, monoid::sum, twice));
  const auto difference = [](ir::block_builder& b, ir::value cell, ir::value x) {
    b.combine(cell, b.emit(op::sub, {x, x}));
  };
  EXPECT_FALSE(contracts_squares(element::f32, monoid::sum, difference));
  const auto wider = [](ir::block_builder& b, ir::value cell, ir::value x) {
    b.combine(cell, b.cast(element::f64, x));
  };
  EXPECT_FALSE(contracts_squares(element::f64, monoid::sum, wider));
  const auto inside = [](ir::block_builder& b, ir::value cell, ir::value x) {
    auto guard = b.guard(b.emit(op::less, {b.counter(), b.i64(3)}));
    guard.combine(cell, x);
    guard.close();
  };
  EXPECT_FALSE(contracts_squares(element::f32, monoid::sum, inside));
}

}  // namespace
}  // namespace sheaf::inline v0_1::numerics
