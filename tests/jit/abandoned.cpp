#include <gtest/gtest.h>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::test::abandoned_tests {
namespace {

node_id index(graph& g, int number) {
  const node_id ends[] = {integer(g, 0), integer(g, 1000 + number)};
  return g.intern(op::index, element::i64, number, ends, 2);
}

TEST(abandoned, nodes_are_made_anew_and_others_get_their_ordinals) {
  graph g;
  const node_id kept = index(g, 0);
  const node_id own = g.size();
  const node_id first = index(g, 3), sum = make(g, op::add, first, kept);
  g.abandon_from(own);
  EXPECT_EQ(g.most_indices - 1, g.indices_left());
  for (int k = g.indices.size(); k < g.most_indices; ++k) index(g, 1000 + k);
  const node_id again = index(g, 3);
  EXPECT_EQ(0, g.indices_left());
  EXPECT_THROW(index(g, 4), std::length_error);
  EXPECT_NE(first, again);
  EXPECT_EQ(g.ordinal(first), g.ordinal(again));
  EXPECT_EQ(again, g.indices[g.ordinal(again)]);
  EXPECT_EQ(kept, index(g, 0));
  const node_id other = make(g, op::add, again, kept);
  EXPECT_NE(sum, other);
  EXPECT_TRUE(g.free[other].has(g.ordinal(kept)));
  EXPECT_TRUE(g.free[other].has(g.ordinal(again)));
}

}  // namespace
}  // namespace sheaf::test::abandoned_tests
