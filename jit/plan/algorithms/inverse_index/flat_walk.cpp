// The list of a scatter whose updates are the rows of slices that follow each other, as of embedding bags: it walks the
// rows, not slice by slice, and finds the slice of each where a stage before stored it. So tasks have as many updates
// each, in whole vectors, however long slices are.
#include <sheaf/jit/plan/algorithms/inverse_index/flat_walk.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::segmented_tiles;

// How many rows a subscript that is a load reaches: of the tensors that it reads at the row, all of which have it;
// no_node, where the row goes elsewhere, too.
node_id rows_of_tensors(graph& g, node_id at, node_id row) {
  node_id rows = no_node;
  bool plain = g.kind(at) == op::load || g.kind(at) == op::cast;
  for_each_node(g, at, [&](node_id n) {
    plain = plain && g.kind(n) != op::select && g.kind(n) != op::reduce;
    for (int d = 0; g.kind(n) == op::load && d + 1 < g[n].count; ++d) {
      if (!uses(g, g.arg(n, 1 + d), row)) continue;
      plain = plain && g.arg(n, 1 + d) == row && g.kind(g.arg(n, 0)) == op::input;
      const node_id size = plain ? extent(g, g.arg(n, 0), d) : no_node;
      rows = rows == no_node || size == no_node ? size : make(g, op::minimum, rows, size);
    }
  });
  return plain ? rows : no_node;
}

// The stage that stores the slice of each row, -1 of those that no slice has.
stage slices_of_rows(const context& c, tile_form f) {
  graph& g = c.g;
  f.size = c.known.call().force_for_tests ? 32 : numerics::tile::rows;
  f.lanes = c.known.call().force_for_tests ? 8 : numerics::tile::lanes;
  f.type = element::i32;
  find_all(c, f);
  f.mine = load(g, f.firsts, &f.walk, 1);
  f.value = cast_to(g, f.type, f.mine);
  f.rest = cast_to(g, f.type, integer(g, -1));
  stage s;
  s.how = way::tiles;
  s.body = f.value;
  s.indices = {f.walk};
  s.form = f;
  define_stage(g, s, "slices");
  const amount rows = c.known.trips(f.walk);
  s.bytes = 4 * rows;
  s.operations = 2 * rows;
  s.reasons.push_back("the slice of each row, so that the list of updates walks rows, however long the slices are");
  return s;
}

}  // namespace

bool flatten_walk(const context& c, inverse_index_form& l) {
  const auto& [g, known, before] = c;
  if (!plans_tiles(known) || l.walk.size() != 2 || is_closed(g, l.walk.back())) return false;
  const node_id slice = l.walk.front(), row = l.walk.back();
  tile_form f{.slice = slice, .low = g.arg(row, 0), .high = g.arg(row, 1)};
  const node_id rows = rows_of_tensors(g, l.at, row);
  if (rows == no_node || !is_number(g, g.arg(slice, 0), 0) || !slices_follow(g, f)) return false;
  f.walk = fresh_index(g, row, integer(g, 0), rows);
  const auto count = known.value(rows), slices = known.value(g.arg(slice, 1));
  if (!count || !slices || slices->is_open() || slices->certain() >= most_slices) return false;
  if (!known.call().force_for_tests && *count < least_rows) return false;
  const node_id walk = fresh_index(g, row, integer(g, 0), rows);
  replacement put(g, proofs::kept);
  put.add(row, walk);
  const auto by_slice = [&](node_id n) { return n != slice && uses(g, put(n), slice); };  // not by the row's range
  if (by_slice(l.at) || std::ranges::any_of(l.named, by_slice)) return false;
  stage of_rows = slices_of_rows(c, f);
  const node_id mine = cast_to(g, element::i64, proven(g, load(g, of_rows.define, &walk, 1)));
  const node_id below = make(g, op::sub, g.arg(l.owned, 0), integer(g, 1));  // in no row
  l.at = make(g, op::select, make(g, op::less_equal, integer(g, 0), mine), put(l.at), below);
  for (const node_id n : l.named) l.values.push_back(n == slice ? mine : put(n));
  l.walk = {walk};
  l.room = rows;
  before.push_back(std::move(of_rows));
  return true;
}

}  // namespace sheaf::inline v0_1::plan
