// Loads that are proven to be inside: another node than one that has to be tested, and proven no more where a rewrite
// changes its subscripts without vouching for them.
#include <gtest/gtest.h>

#include <sheaf/dsl/sugar/sugar.hpp>
#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/jit/pipeline.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::test::proofs_tests {
namespace {

struct program {
  graph g;
  node_id t = index(g, g.name("t", 1), 0, integer(g, 0), integer(g, 8));
  node_id tensor = define(g, g.name("tensor", 6), t, &t, 1);
  node_id tested = load(g, tensor, &t, 1), proof = proven(g, tested);
  node_id next = make(g, op::add, t, integer(g, 1));
};

TEST(proofs, are_of_the_load) {
  program p;
  EXPECT_NE(p.tested, p.proof);
  EXPECT_FALSE(is_proven(p.g, p.tested));
  EXPECT_TRUE(is_proven(p.g, p.proof));
  EXPECT_EQ(p.proof, proven(p.g, p.proof));
  EXPECT_EQ(p.t, proven(p.g, p.t));
}

TEST(proofs, are_dropped_where_a_subscript_changes) {
  program p;
  plan::replacement anew(p.g), vouched(p.g, proofs::kept), elsewhere(p.g);
  anew.add(p.t, p.next);
  vouched.add(p.t, p.next);
  elsewhere.add(p.next, p.t);
  const node_id there = load(p.g, p.tensor, &p.next, 1);
  EXPECT_EQ(there, anew(p.proof));
  EXPECT_EQ(proven(p.g, there), vouched(p.proof));
  EXPECT_EQ(p.proof, elsewhere(p.proof));
  EXPECT_EQ(there, substitute(p.g, p.proof, p.t, p.next));
}

// The load of y under a condition on data has no check, and is not that of x, which has one.
TEST(proofs, are_given_by_checks) {
  constexpr auto x = tensor<"x", float, 1>;
  constexpr auto y = tensor<"y", float, 1>;
  constexpr auto k = tensor<"k", std::int32_t, 1>;
  constexpr auto i = axis<"i">;
  constexpr auto out = define<"out">(i) = x(k(i)) + select(k(i) > 3_c, y(k(i)), 0.0_c);
  using outputs = std::remove_cv_t<decltype(out)>;
  planned p = plan_program(
      detail::build_graph<outputs>(),
      {.inputs = {{{100}, true}, {{100}, true}, {{100}, true}}, .unit_outputs = {}, .overrides = {}, .on = {}}, "p");
  int tested = 0, loads = 0;
  for (const plan::stage& s : p.plan.stages)
    if (s.where == plan::place::output)
      plan::for_each_node(p.g, s.body, [&](node_id n) {
        if (p.g.kind(n) != op::load) return;
        ++loads;
        tested += !plan::is_inside(p.g, n);
      });
  EXPECT_EQ(3, loads);
  EXPECT_EQ(1, tested);
}

}  // namespace
}  // namespace sheaf::test::proofs_tests
