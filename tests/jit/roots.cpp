// What a stage names: a renaming reaches all of it, and a stage runs after everything that its form reads.
#include <gtest/gtest.h>

#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::test::roots_tests {
namespace {

struct program {
  graph g;
  node_id t = index(g, g.name("t", 1), 0, integer(g, 0), integer(g, 8));
  node_id offsets = define(g, g.name("offsets", 7), t, &t, 1);
  node_id total = define(g, g.name("total", 5), t, &t, 1);
};

TEST(roots, that_decide_are_read) {
  program p;
  plan::stage first, second;
  first.define = p.offsets;
  first.body = p.t;
  second.define = p.total;
  second.body = p.t;
  second.order_when = load(p.g, p.offsets, &p.t, 1);
  const plan::read_table table(p.g, {first, second});
  EXPECT_TRUE(table.reads(p.total, p.offsets));
  EXPECT_FALSE(table.reads(p.offsets, p.total));
}

TEST(roots, are_all_renamed) {
  program p;
  plan::stage s;
  s.define = p.total;
  plan::tile_form& tiles = s.form.emplace<plan::tile_form>();
  s.parallel = s.slices.slice = tiles.slice = p.t;
  s.body = s.order_when = s.slices.low = tiles.begin = load(p.g, p.offsets, &p.t, 1);
  s.slices.array = p.offsets;
  const node_id u = plan::fresh_index(p.g, p.t, integer(p.g, 0), integer(p.g, 8));
  plan::replacement put(p.g);
  put.rename(p.t, u);
  plan::replace_in_roots(s, put);
  const node_id renamed = load(p.g, p.offsets, &u, 1);
  for (const node_id idx : {s.parallel, s.slices.slice, tiles.slice}) EXPECT_EQ(u, idx);
  for (const node_id n : {s.body, s.order_when, s.slices.low, tiles.begin}) EXPECT_EQ(renamed, n);
  EXPECT_EQ(p.offsets, s.slices.array);
}

}  // namespace
}  // namespace sheaf::test::roots_tests
