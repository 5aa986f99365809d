#include <gtest/gtest.h>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/plan/reclaim.hpp>

namespace sheaf::test {
namespace {

node_id index(graph& g, int number) {
  const node_id ends[] = {integer(g, 0), integer(g, 1000 + number)};
  return g.intern(op::index, element::i64, number, ends, 2);
}

TEST(reclaim, others_get_the_ordinals_of_indices_that_nobody_holds) {
  graph g;
  const node_id kept = index(g, 0);
  for (int k = 1; k < index_set::capacity; ++k) index(g, k);
  EXPECT_EQ(0, g.indices_left());
  EXPECT_THROW(index(g, index_set::capacity), std::length_error);
  flat<char> live;
  live.resize(g.size(), false);
  live[kept] = live[g.arg(kept, 0)] = live[g.arg(kept, 1)] = true;
  g.reclaim(live);
  EXPECT_EQ(index_set::capacity - 1, g.indices_left());
  EXPECT_EQ(kept, index(g, 0));
  const node_id other = index(g, 7);  // as one that was there
  EXPECT_EQ(other, index(g, 7));
  EXPECT_NE(g.ordinal(kept), g.ordinal(other));
  EXPECT_EQ(other, g.indices[g.ordinal(other)]);
  const node_id sum = make(g, op::add, kept, other);
  EXPECT_TRUE(g.free[sum].has(g.ordinal(kept)));
  EXPECT_TRUE(g.free[sum].has(g.ordinal(other)));
}

TEST(reclaim, nodes_that_are_dropped_give_ordinals_back) {
  graph g;
  flat<char> live;
  for (int k = 0; k < index_set::capacity; ++k) index(g, k);
  live.resize(g.size(), false);
  g.reclaim(live);
  const int before = g.size();
  const node_id first = index(g, 3);
  const int ordinal = g.ordinal(first);
  g.shrink(before);
  EXPECT_EQ(index_set::capacity, g.indices_left());
  EXPECT_EQ(op::index, g.kind(g.indices[ordinal]));
  EXPECT_LT(g.indices[ordinal], before);
}

}  // namespace
}  // namespace sheaf::test
