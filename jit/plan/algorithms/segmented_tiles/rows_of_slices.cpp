// Rows that are of one slice each: gradients of reductions over slices, and what is normalised by them.
#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::segmented_tiles;

// What depends on the slice alone and takes longer than a load: the outermost first. Not what is read where data says,
// which may be nowhere for a slice without rows.
class part_of_slice {
 public:
  part_of_slice(const graph& g, node_id slice) : g_(g), slice_(slice) {}
  node_id operator()(node_id n) {
    if (g_.kind(n) == op::define || g_.kind(n) == op::extent || !seen_.insert(n).second) return no_node;
    index_set own;
    own.insert(g_.ordinal(slice_));
    if (g_.free[n] == own && is_worth_it(n)) return n;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (const node_id found = (*this)(g_.arg(n, k)); found != no_node) return found;
    return no_node;
  }

 private:
  bool is_worth_it(node_id root) const {
    if (g_.kind(root) == op::load || !has_closed_ranges(g_, root)) return false;
    int loads = 0;
    bool slow = false, plain = true;
    for_each_node(g_, root, [&](node_id n) {
      slow = slow || g_.kind(n) == op::reduce || is_slow(g_, n);
      if (g_.kind(n) != op::load) return;
      ++loads;
      for (int d = 1; d < g_[n].count; ++d)
        plain = plain && (g_.kind(g_.arg(n, d)) == op::index || !holds(g_, g_.arg(n, d), op::load));
    });
    return plain && (slow || loads > 1);
  }
  const graph& g_;
  node_id slice_;
  std::unordered_set<node_id> seen_;  // each shared node is visited once
};

}  // namespace

bool take_rows_of_slices(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (!plans_tiles(known) || s.how != way::range_scatter || s.indices.size() != 1 || s.when != no_node ||
      s.base != no_node || s.slices.array != no_node || s.reads_block_tree || keeps_several(g, s.body))
    return false;
  const auto bound = bound_indices(g, s.body);
  if (bound.size() != 1 || in_order(g, monoid_of(g, s.body))) return false;
  const updated_rows rows = rows_of(g, s);
  if (rows.low == no_node || rows.high == no_node || !is_true(g, rows.rest)) return false;
  tile_form f{.slice = bound[0], .low = rows.low, .high = rows.high, .walk = s.owned};
  const auto count = known.value(g.arg(f.walk, 1)), slices = known.value(g.arg(f.slice, 1));
  if (!is_number(g, g.arg(f.slice, 0), 0) || !is_number(g, g.arg(f.walk, 0), 0) || !has_closed_ranges(g, f.low) ||
      !is_closed(g, f.walk) || !slices_follow(g, f) || !count || !slices || slices->is_open() ||
      slices->certain() >= most_slices)
    return false;
  const bool force = known.call().force_for_tests;
  if (!force && *count < least_rows) return false;
  const node_id value = g.arg(s.body, 0), own = part_of_slice(g, f.slice)(value);
  if (holds(g, value, op::reduce) && own == no_node) return false;
  if (own != no_node) {
    store_by_itself(c, s, own, "it depends on the slice, not on the row: once for each slice", false);
    return true;
  }
  if (!may_vectorise(g, value, f.walk)) return false;
  f.size = force ? 32 : numerics::tile::rows;
  f.lanes = force ? 8 : numerics::tile::lanes;
  f.type = g.type(s.body);
  find_all(c, f);
  f.mine = load(g, f.firsts, &f.walk, 1);
  f.value = cast_to(g, f.type, with(g, value, f.slice, f.mine, proofs::kept));
  f.rest = identity_of(g, monoid_of(g, s.body), f.type);
  s.body = f.value;
  s.how = way::tiles;
  s.form = f;
  s.owned = s.vector = no_node;
  s.loops.clear();
  s.operations = *count * (1 + cost_of(g, known, value, f.walk));
  share_tasks(g, known, s);
  s.reasons.push_back("rows in tiles of " + std::to_string(f.size) +
                      ", each of the slice that begins last before it, however long the slices are");
  return true;
}

bool stores_rows_of(const graph& g, const stage& fold, const stage& rows) {
  if (fold.how != way::tiles || rows.how != way::tiles) return false;
  const tile_form &a = fold.tiles(), &b = rows.tiles();
  if (a.reduce == no_node || a.columns != no_node || b.reduce != no_node || a.firsts != b.firsts || a.size != b.size ||
      a.lanes != b.lanes)
    return false;
  if (fold.when != rows.when || fold.asked != rows.asked || fold.promised != rows.promised) return false;
  return all_nodes(g, rows.body, [&](node_id n) {
    return g.kind(n) != op::load || g.arg(n, 0) != fold.define || (g[n].count == 2 && g.arg(n, 1) == b.mine);
  });
}

std::vector<kept_value> kept_values(graph& g, const tile_form& fold, const tile_form& rows) {
  std::unordered_set<node_id> folded, seen;
  for_each_node(g, fold.value, [&](node_id n) { folded.insert(n); });
  std::vector<kept_value> kept;
  std::int64_t bytes = 0;
  const auto visit = [&](auto&& self, node_id n) -> void {
    if (n == rows.mine || !uses(g, n, rows.walk) || !seen.insert(n).second) return;
    const node_id same = with(g, n, rows.walk, fold.walk, proofs::kept);
    const std::int64_t size = row(g.type(n)).bytes;
    if (folded.contains(same) && holds(g, n, op::load) && bytes + size <= kept_bytes) {
      bytes += size;
      kept.push_back({same, n});
    } else if (is_elementwise(g.kind(n))) {
      for (int k = 0; k < g[n].count; ++k) self(self, g.arg(n, k));
    }
  };
  visit(visit, rows.value);
  return kept;
}

}  // namespace sheaf::inline v0_1::plan
