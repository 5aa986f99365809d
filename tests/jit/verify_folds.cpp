// The grammar of states of several values, and of the steps of a program's own monoids.
#include "broken_kernel.hpp"

namespace sheaf::inline v0_1::ir {
namespace {

// A state of an i64 count and an f32 sum.
void add_pair(module& m) {
  m.folds.push_back({element::i64, 0, {{op::add, element::i64, 0, {0, 2}}}, 4, 0, 2});
  m.folds.push_back({element::f32, 0, {{op::add, element::f32, 0, {1, 3}}}, 4, 1, 2});
}
TEST(verify, a_state_of_several_values_is_accepted) {
  parts p;
  add_pair(p.m);
  auto& top = p.top();
  const value state = top.accumulator(element::i64, own_kind(0), true);
  auto i = p.vector("i");
  const value one = i.i64(1), x = i.load(p.x, element::f32, {i.counter()}, access::contiguous);
  i.combine_state(state, {one, x});
  i.close();
  const value sum = top.read_part(state, element::f32, 1, true);
  top.store(p.y, {top.i64(0)}, sum);
  EXPECT_EQ(p.refusal(), "accepted");
}
TEST(verify, a_state_is_combined_as_a_whole) {
  parts p;
  add_pair(p.m);
  const value state = p.top().accumulator(element::i64, own_kind(0), false);
  p.top().combine(state, p.top().i64(1));
  expect(p, "accumulators", "as many values as the state has");
}
TEST(verify, values_of_a_state_have_its_types) {
  parts p;
  add_pair(p.m);
  const value state = p.top().accumulator(element::i64, own_kind(0), false), one = p.top().i64(1);
  p.top().combine_state(state, {one, one});
  expect(p, "types", "the type of the state's value");
}
TEST(verify, a_state_is_read_value_by_value) {
  parts p;
  add_pair(p.m);
  const value state = p.top().accumulator(element::i64, own_kind(0), false);
  p.top().read_part(state, element::i64, 1, false);
  expect(p, "types", "the accumulator's type");
  parts q;
  add_pair(q.m);
  q.top().read_part(q.top().accumulator(element::i64, own_kind(0), false), element::f32, 2, false);
  expect(q, "accumulators", "no such value of the state");
}
TEST(verify, an_accumulator_names_the_first_fold_of_a_state) {
  parts p;
  add_pair(p.m);
  p.top().accumulator(element::f32, own_kind(1), false);
  expect(p, "accumulators", "the first of the folds of a state");
  parts q;
  add_pair(q.m);
  q.top().accumulator(element::i64, own_kind(2), false);
  expect(q, "accumulators", "no such monoid");
}
TEST(verify, a_state_is_not_scanned_in_lanes) {
  parts p;
  add_pair(p.m);
  const value state = p.top().accumulator(element::i64, own_kind(0), false);
  auto i = p.vector("i");
  i.scan_lanes(state, i.lanes());
  i.close();
  expect(p, "accumulators", "scan_lanes of a state of several values");
}
TEST(verify, folds_of_a_state_stand_in_order) {
  parts p;
  add_pair(p.m);
  p.m.folds.pop_back();
  expect(p, "folds", "a state of too few folds");
  parts q;
  add_pair(q.m);
  std::swap(q.m.folds[0], q.m.folds[1]);
  expect(q, "folds", "fold 0");
}
TEST(verify, a_step_of_a_fold_takes_what_is_before_it) {
  parts p;
  add_pair(p.m);
  p.m.folds[1].steps[0].args[1] = 4;
  expect(p, "folds", "fold 1: a step takes what is not made before it");
  parts q;
  add_pair(q.m);
  q.m.folds[0].result = 5;
  expect(q, "folds", "fold 0: its result is no value");
}

}  // namespace
}  // namespace sheaf::inline v0_1::ir
