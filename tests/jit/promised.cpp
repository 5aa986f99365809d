// Plans for index data that stays: the first call has the bits of a call without, and so have those after it, which
// run less code and find nothing but what is promised. In small tasks, so that every kind of list is made.
#include <sheaf/dsl/sugar/sugar.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::promised_tests {
namespace {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto dy = tensor<"dy", float, 2>;
constexpr auto weight = tensor<"weight", float, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

plan::call_facts promising(trial& test) {
  plan::call_facts call = test.seen();
  for (int i = 0; i < test.g.inputs.size(); ++i) call.promised.push_back(!is_floating(test.g.inputs[i].type));
  return call;
}

void expect_bits(const trial& test, const std::vector<memory>& outputs, const char* when) {
  for (std::size_t k = 0; k < outputs.size(); ++k)
    EXPECT_TRUE(test.outputs[k].bytes == outputs[k].bytes) << "output " << k << ", " << when;
}

// what: the ways that are promised.
void expect_promised(trial& test, const std::vector<plan::way>& what) {
  test.force_for_tests = true;
  test.expect_right();
  const plan::call_facts call = promising(test);
  planned p = plan_program(test.g, call, "promised");
  SCOPED_TRACE(p.text);
  for (const plan::way how : what)
    EXPECT_TRUE(std::any_of(p.plan.stages.begin(), p.plan.stages.end(), [&](const plan::stage& s) {
      return s.how == how && s.promised;
    })) << plan::way_name(how);
  const plan::facts known(p.g, call);
  std::vector<memory> outputs = test.outputs, rest;
  for (const workspace& w : p.workspaces) {
    std::vector<std::int64_t> extents;
    for (const node_id e : w.extents) extents.push_back(known.exact(e).value());
    rest.push_back(memory::dense(w.type, extents));
  }
  for (const plan::check& c : p.checks)
    if (!c.uniform) rest.push_back(memory::dense(element::i64, {}));
  sheaf_llvm_options how = default_options();
  how.cpu = "native";
  how.strict = 1;
  program first(p.code, how), again(p.code_again(), how);
  for (program* code : {&first, &again})
    for (std::vector<memory>* list : {&test.inputs, &outputs, &rest})
      for (memory& one : *list) code->argument(one.bytes.data(), one.extents, one.strides);
  const auto forget = [&] {
    for (memory& one : outputs) std::fill(one.bytes.begin(), one.bytes.end(), 0xCD);
    for (std::size_t k = 0; k < rest.size(); ++k)
      if (k >= p.workspaces.size() || !p.workspaces[k].promised)
        std::fill(rest[k].bytes.begin(), rest[k].bytes.end(), 0xAB);
  };
  forget();
  ASSERT_EQ(first.run(), 0);
  expect_bits(test, outputs, "first call");
  for (const auto pool : {sheaf_parallel_for{nullptr}, sheaf_parallel_for{in_odd_tasks}}) {
    forget();
    const std::vector<memory> before = rest;
    again.call.parallel_for = pool;
    ASSERT_EQ(again.run(), 0);
    expect_bits(test, outputs, "a later call");
    for (std::size_t k = 0; k < p.workspaces.size(); ++k)
      EXPECT_TRUE(!p.workspaces[k].promised || before[k].bytes == rest[k].bytes) << "workspace " << k << " was written";
  }
}

template <class Y, class X>
void over_bags(Y y, X by, bool weighted) {
  constexpr auto loss = define<"loss">() = sum(over(m, f), dy(m, f) * Y{}(m, f));
  for (const std::int64_t names : {3, 37})
    for (const std::int64_t columns : {5, 70}) {
      SCOPED_TRACE(std::to_string(names) + " names, " + std::to_string(columns) + " columns");
      trial test = trial_of(y, grad(loss, by));
      test.random("x", {37, columns}).random("dy", {5, columns}).below("ids", {90}, names);
      test.with("off", {6}, {0, 0, 3, 3, 40, 90});
      if (weighted) test.random("weight", {90});
      expect_promised(test, {plan::way::inverse_index});
    }
}

TEST(promised, updates_of_bags) {
  over_bags(embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off)), x, false);
  over_bags(embedding_bag(ids, x, offsets(off)), x, false);
  over_bags(embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off), weight), x, true);
  over_bags(embedding_bag<bag{.mode = bag_mode::max}>(ids, x, offsets(off)), x, false);
}

template <class Y>
void over_slices(Y y, const std::vector<plan::way>& what, const std::vector<double>& slices) {
  constexpr auto loss = define<"loss">() = sum(over(m, f), dy(m, f) * Y{}(m, f));
  for (const std::int64_t columns : {5, 70}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    const auto count = static_cast<std::int64_t>(slices.size() / 2);
    trial test = trial_of(y, grad(loss, x));
    test.random("x", {37, columns}).random("dy", {count, columns}).with("cut", {count, 2}, slices);
    expect_promised(test, columns >= 8 ? what : std::vector<plan::way>{plan::way::lists});
  }
}

TEST(promised, events_and_lists_of_slices) {
  constexpr auto mean_of = define<"mean_of">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  constexpr auto sum_of = define<"sum_of">(m, f) = sum(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  const std::vector<double> deep{0, 37, 3, 30, 9, 9, 0, 20, 17, 37, 36, 37, 5, 2}, flat{0, 4, 4, 4, 7, 12, 20, 37};
  for (const auto& slices : {deep, flat}) {
    over_slices(sum_of, {plan::way::endpoints, plan::way::lists}, slices);
    over_slices(mean_of, {plan::way::lists}, slices);
  }
}

// Where floats decide what is listed, nothing is promised.
TEST(promised, nothing_that_floats_decide) {
  constexpr auto at = define<"at">(t) = cast<std::int64_t>(weight(t));
  constexpr auto y = define<"y">(t, f) = x(at(t), f);
  constexpr auto loss = define<"loss">() = sum(over(t, f), dy(t, f) * y(t, f));
  trial test = trial_of(grad(loss, x));
  test.force_for_tests = true;
  test.random("x", {37, 8}).random("dy", {90, 8}).with("weight", {90}, std::vector<double>(90, 3));
  planned p = plan_program(test.g, promising(test), "promised");
  for (const plan::stage& s : p.plan.stages) EXPECT_FALSE(s.promised) << p.text;
}

}  // namespace
}  // namespace sheaf::test::promised_tests
