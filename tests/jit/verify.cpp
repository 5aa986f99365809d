// The grammar: a program that keeps every rule passes; one that breaks a rule is refused by that rule's name.
#include <memory>

#include "broken_kernel.hpp"

namespace sheaf::inline v0_1::ir {
namespace {

TEST(verify, append_needs_a_local_row_a_scalar_count_and_a_mask) {
  for (const int wrong : {0, 1, 2, 3}) {
    parts p;
    const std::int32_t list = add_buffer(p.m, {.name = "list",
                                               .type = wrong == 1 ? element::f32 : element::i64,
                                               .rank = 1,
                                               .where = role::local,
                                               .elements = 64,
                                               .unit_inner = true,
                                               .extents = {64}});
    const value count = p.top().accumulator(element::i64, wrong == 2 ? monoid::max : monoid::sum, false);
    auto i = p.vector("i", wrong == 3 ? 128 : 8);
    const value v = i.load(p.x, element::f32, {i.counter()}, access::contiguous);
    i.append(list, count, i.emit(op::less, {i.real(element::f32, 0), v}));
    i.close();
    switch (wrong) {
      case 0:
        EXPECT_EQ(p.refusal(), "accepted");
        break;
      case 1:
        expect(p, "types", "local row of i64");
        break;
      case 2:
        expect(p, "accumulators", "scalar sum of i64");
        break;
      default:
        expect(p, "vectorness", "2 to 64 lanes");
    }
  }
}
TEST(verify, a_sound_kernel_is_accepted) {
  parts p;
  auto i = p.vector("i");
  i.store(p.y, {i.counter()}, i.load(p.x, element::f32, {i.counter()}, access::contiguous), access::contiguous);
  i.close();
  EXPECT_EQ(p.refusal(), "accepted");
}

TEST(verify, an_inner_value_is_not_seen_outside) {
  parts p;
  auto i = p.top().loop(loop_kind::serial, "i", p.top().i64(0), p.top().i64(4));
  const value inner = i.counter();
  i.close();
  p.top().store(p.y, {inner}, p.top().real(element::f32, 1));
  expect(p, "scope", "store");
}

TEST(verify, a_value_is_not_used_before_it_is_made) {
  parts p;
  auto i = p.top().loop(loop_kind::serial, "i", p.top().i64(0), p.top().i64(4));
  i.close();
  const value late = p.top().i64(3);
  p.top().emit(op::add, {late, late});
  parts q;
  kernel k = std::move(p.k).finish();
  std::swap(k.body[k.body.size() - 1], k.body[k.body.size() - 2]);
  q.m.kernels.push_back(std::move(k));
  expect(q, "scope", "elementwise add");
}

TEST(verify, arguments_have_one_type) {
  parts p;
  p.top().emit(op::add, {p.top().i64(1), p.top().real(element::f32, 1)});
  expect(p, "types", "arguments of different types");
}

TEST(verify, math_wants_floats) {
  parts p;
  p.top().emit(op::exp, {p.top().i64(1)});
  expect(p, "types", "expected floating arguments");
}

TEST(verify, a_loop_bound_is_i64) {
  parts p;
  auto i = p.top().loop(loop_kind::serial, "i", p.top().i64(0), p.top().real(element::f32, 4));
  i.close();
  expect(p, "types", "high bound");
}

TEST(verify, one_vector_loop_at_a_time) {
  parts p;
  auto i = p.vector("i");
  auto j = i.loop(loop_kind::vector, "j", i.i64(0), i.i64(4), 4);
  j.close();
  i.close();
  expect(p, "loop_nesting", "a vector loop inside another");
}

TEST(verify, lanes_are_a_power_of_two) {
  parts p;
  auto i = p.vector("i", 12);
  i.close();
  expect(p, "loop_nesting", "power of two");
}

TEST(verify, vectors_stay_in_their_loop) {
  parts p;
  const value acc = p.top().accumulator(element::f32, monoid::sum, true);
  p.top().read(acc);
  expect(p, "vectorness", "outside a vector loop");
}

TEST(verify, a_parallel_loop_comes_after_pure_instructions_only) {
  parts p;
  p.top().store(p.y, {p.top().i64(0)}, p.top().real(element::f32, 1));
  auto i = p.top().loop(loop_kind::parallel, "i", p.top().i64(0), p.top().i64(4));
  i.close();
  expect(p, "parallel_at_top", "only pure instructions before it");
}

TEST(verify, a_parallel_loop_is_the_last_statement) {
  parts p;
  auto i = p.top().loop(loop_kind::parallel, "i", p.top().i64(0), p.top().i64(4));
  i.close();
  p.top().i64(1);
  expect(p, "parallel_at_top", "nothing after it");
}

TEST(verify, contiguous_wants_a_known_stride) {
  parts p;
  p.m.buffers[0].unit_inner = false;
  auto i = p.vector("i");
  i.load(p.x, element::f32, {i.counter()}, access::contiguous);
  i.close();
  expect(p, "access_kind", "stride 1");
}

TEST(verify, subscripts_are_as_many_as_dimensions) {
  parts p;
  p.top().load(p.x, element::f32, {});
  expect(p, "access_kind", "subscripts are not as many");
}

TEST(verify, an_accumulator_is_no_value) {
  parts p;
  const value acc = p.top().accumulator(element::f32, monoid::sum, false);
  p.top().emit(op::neg, {acc});
  expect(p, "accumulators", "used as a value");
}

TEST(verify, an_accumulator_keeps_its_lanes) {
  parts p;
  const value acc = p.top().accumulator(element::f32, monoid::sum, true);
  for (int lanes : {8, 16}) {
    auto i = p.vector("i", lanes);
    i.combine(acc, i.load(p.x, element::f32, {i.counter()}, access::contiguous));
    i.close();
  }
  expect(p, "accumulators", "different lanes");
}

TEST(verify, lanes_are_not_folded_where_some_may_be_dead) {
  parts p;
  auto i = p.vector("i");
  i.fold_lanes(i.accumulator(element::f32, monoid::sum, true));
  i.close();
  expect(p, "accumulators", "inside a vector loop");
}

TEST(verify, argmax_wants_a_position) {
  parts p;
  const value acc = p.top().accumulator(element::f32, monoid::argmax, false);
  p.top().combine(acc, p.top().real(element::f32, 1));
  expect(p, "accumulators", "need a position");
}

TEST(verify, only_sums_of_products_are_contracted) {
  parts p;
  auto& top = p.top();
  const value x = top.load(p.x, element::f32, {top.i64(0)}), acc = top.accumulator(element::f32, monoid::sum, false);
  top.combine(acc, top.emit(op::add, {x, x}));
  block body = std::move(top).finish();
  body.back().fma = true;
  top.take(std::move(body));
  expect(p, "accumulators", "fma of what is no sum of a product");
}

TEST(verify, a_mask_is_boolean) {
  parts p;
  p.top().load(p.x, element::f32, {p.top().i64(0)}, access::uniform, p.top().i64(1));
  expect(p, "mask", "not boolean");
}

TEST(verify, inputs_are_not_written) {
  parts p;
  p.top().store(p.x, {p.top().i64(0)}, p.top().real(element::f32, 1));
  expect(p, "module_shape", "a store to an input");
}

TEST(verify, locals_are_small) {
  parts p;
  add_buffer(p.m,
             {.name = "big", .type = element::f64, .rank = 1, .where = role::local, .elements = 40'000, .extents = {}});
  expect(p, "local_size", "256 KiB");
}

TEST(verify, sliding_fits_the_lanes) {
  parts p;
  auto& top = p.top();
  const value slider = top.slider(element::f32, monoid::sum, 32);
  const value low = top.i64(0), high = top.i64(64);
  auto loop = top.loop(loop_kind::vector, "i", low, high, 16);
  loop.slide_lanes(slider, loop.cast(element::f32, loop.lanes()));
  loop.close();
  expect(p, "accumulators", "1 to the lanes");
}
TEST(verify, shifts_are_within_the_lanes) {
  parts p;
  auto& top = p.top();
  const value slider = top.slider(element::f32, monoid::sum, 32);
  const value low = top.i64(0), high = top.i64(64);
  auto loop = top.loop(loop_kind::vector, "i", low, high, 16);
  loop.shift_lanes(slider, loop.cast(element::f32, loop.lanes()));
  loop.close();
  expect(p, "accumulators", "shift_lanes: expected the accumulator's width, 1 to the lanes");
}
TEST(verify, recurrences_are_of_f64) {
  parts p;
  auto& top = p.top();
  const value cell = top.accumulator(element::f32, monoid::sum, false);
  const value low = top.i64(0), high = top.i64(64);
  auto loop = top.loop(loop_kind::vector, "i", low, high, 16);
  const value x = loop.cast(element::f32, loop.lanes());
  loop.recur_lanes(cell, x, x, false);
  loop.close();
  expect(p, "types", "sums of f64");
}

TEST(verify, places_are_taken_of_a_local_row_of_i32) {
  const auto take = [](element type, bool in_lanes) {
    auto p = std::make_unique<parts>();
    const std::int32_t row = add_local(p->m, "row", type, 8);
    auto& top = p->top();
    const value low = top.i64(0), high = top.i64(64);
    auto i = top.loop(in_lanes ? loop_kind::vector : loop_kind::serial, "i", low, high, in_lanes ? 16 : 1);
    i.next_places(row, in_lanes ? i.lanes() : i.counter(), none);
    i.close();
    return p;
  };
  EXPECT_EQ(take(element::i32, true)->refusal(), "accepted");
  expect(*take(element::i64, true), "types", "local row of i32");
  expect(*take(element::i32, false), "vectorness", "outside a vector loop");
}

// Two panels of 128 x 32 halves and 64 sums a lane; `wrong` breaks one thing.
std::string refused_product(int wrong) {
  parts p;
  const auto panel = [&](element type, std::int64_t row) {
    return add_buffer(p.m, {.name = "panel",
                            .type = type,
                            .rank = 3,
                            .where = role::local,
                            .elements = 2 * 128 * row,
                            .unit_inner = true,
                            .extents = {2, 128, row}});
  };
  const std::int32_t h = add_buffer(p.m, {.name = "h",
                                          .type = wrong == 1 ? element::bf16 : element::f16,
                                          .rank = 2,
                                          .where = role::input,
                                          .slot = 3,
                                          .unit_inner = wrong != 2,
                                          .extents = {}});
  const std::int32_t rows = panel(element::f16, wrong == 3 ? 36 : 40);
  const std::int32_t columns = panel(wrong == 4 ? element::bf16 : element::f16, 40);
  auto t = p.vector("t", wrong == 5 ? 64 : 128);
  const value zero = t.i64(0), live = t.i64(8);
  std::vector<value> sums;
  for (int n = 0; n < (wrong == 6 ? 120 : 128); ++n)
    sums.push_back(t.accumulator(wrong == 7 ? element::f64 : element::f32, monoid::sum, true));
  t.copy(rows, {zero, t.lanes(), zero}, h, {t.lanes(), zero}, live);
  t.await();
  t.mma(sums, {.of_rows = rows,
               .of_columns = columns,
               .rows_along = true,
               .columns_along = true,
               .results_of_rows = 8,
               .terms = wrong == 8 ? 24 : wrong == 9 ? 48 : 32},
        zero);
  t.close();
  return p.refusal();
}
TEST(verify, warps_multiply_panels_of_halves) {
  EXPECT_EQ(refused_product(0), "accepted");
  const char* const words[] = {"elements of one type",    "lie one after the other", "no multiple of 16 bytes",
                               "panels of different types", "all its warps",           "multiple of four columns",
                               "lanes of f32 sums",       "multiple of 16 terms",    "too few places"};
  for (int wrong = 1; wrong <= 9; ++wrong)
    EXPECT_NE(refused_product(wrong).find(words[wrong - 1]), std::string::npos) << wrong << refused_product(wrong);
}

TEST(verify, lanes_are_deinterleaved_by_whole_steps) {
  const auto spread = [](lane_pattern apart) {
    parts p;
    auto i = p.vector("i");
    i.load_deinterleaved(p.x, element::f32, {i.counter()}, apart);
    i.close();
    return p.refusal();
  };
  EXPECT_EQ(spread({2, 1, 0, true, 1}), "accepted");
  EXPECT_EQ(spread({1, 4, 3}), "accepted");
  for (const lane_pattern wrong :
       {lane_pattern{0, 1, 0}, lane_pattern{1, 0, 0}, lane_pattern{1, 2, 2}, lane_pattern{1, 2, -1},
        lane_pattern{2, 1, 0, true, 2}, lane_pattern{2, 2, 0, true, 0}}) {
    const std::string found = spread(wrong);
    EXPECT_EQ(found.substr(0, 11), "access_kind") << found;
    EXPECT_NE(found.find("lanes are not deinterleaved so"), std::string::npos) << found;
  }
}
TEST(verify, deinterleaved_lanes_want_a_known_stride) {
  parts p;
  p.m.buffers[static_cast<std::size_t>(p.x)].unit_inner = false;
  auto i = p.vector("i");
  i.load_deinterleaved(p.x, element::f32, {i.counter()}, {2, 1, 0});
  i.close();
  expect(p, "access_kind", "not known to have stride 1");
}
TEST(verify, only_loads_are_deinterleaved) {
  parts p;
  auto i = p.vector("i");
  i.store(p.y, {i.counter()}, i.real(element::f32, 1), access::deinterleaved);
  i.close();
  expect(p, "access_kind", "only loads are deinterleaved");
}
TEST(verify, a_pattern_repeats_after_a_power_of_two) {
  for (const int period : {0, 3, 64}) {
    parts p;
    auto i = p.vector("i");
    i.pattern(1, period);
    i.close();
    expect(p, "module_shape", "no such period");
  }
  parts q;
  auto i = q.vector("i");
  i.pattern(5, 8);
  i.close();
  EXPECT_EQ(q.refusal(), "accepted");
}
TEST(verify, a_pattern_stays_in_a_vector_loop) {
  parts p;
  p.top().pattern(1, 2);
  expect(p, "vectorness", "a vector outside a vector loop");
}

TEST(verify, checks_come_first) {
  parts p;
  p.top().store(p.y, {p.top().i64(0)}, p.top().real(element::f32, 1));
  p.m.kernels.push_back(std::move(p.k).finish());
  p.k = kernel_builder("check");
  p.top().store(p.pick, {}, p.top().i64(1));
  expect(p, "check_order", "kernel check");
}

TEST(verify, an_op_has_its_number_of_arguments) {
  parts p;
  p.top().emit(op::add, {p.top().i64(1)});
  expect(p, "arity", "wrong number");
}

}  // namespace
}  // namespace sheaf::inline v0_1::ir
