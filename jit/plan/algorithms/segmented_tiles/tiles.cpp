#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Of a warp: what its tiles keep lets some forty of them share a multiprocessor. Of rows of several columns fewer, so
// that there are enough tiles, but parts of slices, two a tile, stay few beside the rows.
namespace tile = numerics::tile;
using namespace tuning::segmented_tiles;

node_id memory(const context& c, const tile_form& f, const char* name, node_id body,
               const std::vector<node_id>& extents) {
  std::vector<node_id> indices;
  for (const node_id e : extents) indices.push_back(fresh_index(c.g, f.walk, integer(c.g, 0), e));
  c.before.push_back(space(c.g, name, body, indices));
  return c.before.back().define;
}

class tiling {
 public:
  tiling(const context& c, stage& s) : c_(c), g_(c.g), known_(c.known), s_(s) {}

  bool operator()() {
    const std::vector<node_id> all = reductions_in(g_, s_.body);
    for (const node_id n : all) {
      if (!may_tile(n)) continue;
      if (all.size() == 1 && (n == s_.body || !is_part_of_others(n))) return tile(), true;
      store_by_itself(c_, s_, n, "its slices are taken by tiles of rows", false);
      return true;
    }
    return false;
  }

 private:
  // Does another output hold it as well, as a gradient does the maximum of what has none? Then it is stored for both.
  bool is_part_of_others(node_id n) const {
    return std::ranges::any_of(g_.outputs, [&](node_id other) {
      return other != s_.define && any_node(g_, g_.arg(other, 0), [&](node_id e) { return e == n; });
    });
  }
  bool may_tile(node_id n) {
    const monoid fold = monoid_of(g_, n);
    if (keeps_several(g_, n) || in_order(g_, fold) || g_[n].count != 3) return false;
    const index_set own = set_of(g_, s_.indices);
    f_.slice = s_.indices.front();
    f_.columns = s_.indices.size() > 1 ? s_.indices.back() : no_node;
    if (f_.columns != s_.vector && f_.columns != no_node) return false;
    const node_id t = g_.arg(n, 2);
    f_.reduce = n, f_.low = g_.arg(t, 0), f_.high = g_.arg(t, 1);
    if (!(g_.free[n] == own) || !is_number(g_, g_.arg(f_.slice, 0), 0) || !has_closed_ranges(g_, n)) return false;
    if (!slices_follow(g_, f_)) return reason_against(), false;
    node_id rows = rows_walked(g_, folded(n), t, reads_each_row(n, t));
    if (rows == no_node) return false;
    while (g_.kind(rows) == op::minimum && known_equal(g_, g_.arg(rows, 0), g_.arg(rows, 1))) rows = g_.arg(rows, 0);
    f_.walk = fresh_index(g_, t, integer(g_, 0), rows);
    f_.type = numerics::accumulated(g_.type(n));
    const auto count = known_.value(rows), slices = known_.value(g_.arg(f_.slice, 1));
    return count && slices && !slices->is_open() && slices->certain() < most_slices && choose_size(*count);
  }
  bool choose_size(const amount& rows) {
    if (known_.call().force_for_tests) return f_.size = f_.columns == no_node ? 32 : 4, true;
    f_.size = f_.columns == no_node ? tile::rows : tile::most_wide_rows;
    if (f_.columns == no_node) return rows >= least_rows;
    while (f_.size > tile::least_wide_rows && rows / static_cast<double>(f_.size) < tile::enough_tiles) f_.size /= 2;
    return rows / static_cast<double>(f_.size) >= tile::enough_tiles / 2;
  }
  // Is each row read, so that none can be beyond a tensor? Not behind a choice within the term, as of `x.padded(0)(t)`.
  bool reads_each_row(node_id n, node_id t) const {
    std::unordered_set<node_id> always;
    bool each = true;
    for (int k = 0; k < 2; ++k) for_each_read_always(g_, g_.arg(n, k), [&](node_id load) { always.insert(load); });
    for (int k = 0; k < 2; ++k)
      for_each_node(g_, g_.arg(n, k), [&](node_id e) {
        if (g_.kind(e) == op::load && uses(g_, e, t)) each = each && always.contains(e);
      });
    return each;
  }
  node_id folded(node_id n) {
    return make(g_, op::select, g_.arg(n, 1), g_.arg(n, 0), identity_of(g_, monoid_of(g_, n), g_.type(n)));
  }
  // What is folded of a row, whose slice a load stands for that is never made.
  void take_value() {
    const node_id value = folded(f_.reduce), mine = load(g_, f_.firsts, &f_.walk, 1);
    replacement row(g_, proofs::kept), put(g_, proofs::kept);
    row.add(g_.arg(f_.reduce, 2), f_.walk);
    const node_id of_row = row(value);
    if (f_.columns == no_node && g_.free[of_row].has(g_.ordinal(f_.slice))) put.add(f_.slice, f_.mine = mine);
    f_.value = cast_to(g_, f_.type, put(of_row));
  }

  void reason_against() {
    const std::string why = "slices may overlap, so a slice, however long, is one group's";
    const bool data = holds(g_, f_.low, op::load) || holds(g_, f_.high, op::load);
    if (data && std::ranges::find(s_.reasons, why) == s_.reasons.end()) s_.reasons.push_back(why);
  }

  void tile() {
    f_.lanes = f_.columns != no_node ? s_.lanes : known_.call().force_for_tests ? 8 : tile::lanes;
    find_all(c_, f_);
    const node_id tiles = tiles_of(g_, f_);
    take_value();
    const monoid fold = monoid_of(g_, f_.reduce);
    std::vector<node_id> extents{integer(g_, 2), tiles};
    if (f_.columns != no_node) extents.push_back(trips_of(g_, f_.columns));
    f_.parts = memory(c_, f_, "parts", identity_of(g_, fold, numerics::joined(fold, f_.type)), extents);
    s_.how = way::tiles;
    s_.form = f_;
    s_.loops.clear();
    s_.vector = no_node;
    share_tasks(g_, known_, s_);
    s_.reasons.push_back("rows in tiles of " + std::to_string(f_.size) +
                         ", however long the slices are; what crosses the ends of tiles is joined in their order");
  }

  const context c_;
  graph& g_;
  const facts& known_;
  stage& s_;
  tile_form f_;
};

// A bound without a limit that is the same for all slices: what is cut there still follows.
node_id unlimited(const graph& g, const tile_form& f, node_id bound, op limit) {
  for (int k = 0; g.kind(bound) == limit && k < 2; ++k)
    if (!g.free[g.arg(bound, k)].has(g.ordinal(f.slice))) return g.arg(bound, 1 - k);
  return bound;
}

// A bound without what limits it to the rows that are walked, which changes no tile.
node_id within_walk(const graph& g, const tile_form& f, node_id bound, op limit, int end) {
  for (int k = 0; g.kind(bound) == limit && k < 2; ++k)
    if (known_equal(g, g.arg(bound, k), g.arg(f.walk, end))) return g.arg(bound, 1 - k);
  return bound;
}
// Tiles of one size over the same slices begin in the same of them.
bool same_starts(graph& g, const tile_form& a, const tile_form& b) {
  const auto same = [&](node_id of_a, node_id of_b, op limit, int end) {
    const node_id moved = with(g, within_walk(g, a, of_a, limit, end), a.slice, b.slice, proofs::kept);
    return is_same(g, moved, within_walk(g, b, of_b, limit, end));
  };
  return a.size == b.size && same_range(g, a.slice, b.slice) && same_range(g, a.walk, b.walk) &&
         same(a.low, b.low, op::maximum, 0) && same(a.high, b.high, op::minimum, 1);
}
node_id starts_of(const context& c, const tile_form& f) {
  graph& g = c.g;
  for (const stage& other : c.before)
    if (other.how == way::tile_starts && same_starts(g, other.tiles(), f)) return other.define;
  stage starts;
  starts.how = way::tile_starts;
  starts.body = make(g, op::add, f.low, f.high);
  starts.indices = {fresh_index(g, f.walk, integer(g, 0), make(g, op::add, tiles_of(g, f), integer(g, 1)))};
  define_stage(g, starts, "firsts");
  starts.form = tile_form{.slice = f.slice, .low = f.low, .high = f.high, .walk = f.walk, .size = f.size};
  starts.bytes = 8 * c.known.trips(starts.indices[0]);
  starts.operations = of_search * c.known.trips(starts.indices[0]);
  starts.reasons.push_back("the slice in which each tile of " + std::to_string(f.size) + " rows begins");
  c.before.push_back(std::move(starts));
  return c.before.back().define;
}

}  // namespace

bool slices_follow(graph& g, const tile_form& f) {
  const node_id low = unlimited(g, f, f.low, op::maximum), high = unlimited(g, f, f.high, op::minimum);
  if (!follow_each_other(g, low, high, f.slice)) return false;
  for (const demand& d : g.demands) {
    const node_id wrong = d.wrong;
    if (g.kind(wrong) != op::reduce || monoid_of(g, wrong) != monoid::any || g[wrong].count != 3) continue;
    const node_id s = g.arg(wrong, 2);
    if (!is_true(g, g.arg(wrong, 1)) || !same_range(g, s, f.slice)) continue;
    // Of narrow offsets, which are cast to be subscripts, before that.
    const node_id falls = with(g, g.arg(wrong, 0), s, f.slice, proofs::kept);
    if (falls == make(g, op::less, high, low)) return true;
    if (falls == make(g, op::less, without_cast(g, high), without_cast(g, low))) return true;
  }
  return false;
}

void find_all(const context& c, tile_form& f) {
  graph& g = c.g;
  const auto at_slice = [&](node_id bound, node_id m) { return with(g, bound, f.slice, m, proofs::kept); };
  f.begin = at_slice(f.low, integer(g, 0));
  f.end = at_slice(f.high, make(g, op::sub, g.arg(f.slice, 1), integer(g, 1)));
  f.firsts = starts_of(c, f);
}

bool plans_tiles(const facts& known) {
  const options& wanted = known.call().overrides;
  return known.call().gpu && wanted.algorithm == algorithm::planned && wanted.determinism != determinism::strict;
}

node_id tiles_of(graph& g, const tile_form& f) {
  return make(g, op::maximum, blocks_in(g, g.arg(f.walk, 1), f.size), integer(g, 1));
}

bool take_tiles(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (!plans_tiles(known) || s.how != way::map || s.reads_block_tree || s.swept || s.when != no_node ||
      s.indices.empty())
    return false;
  if (s.indices.size() > 2) return false;
  return tiling(c, s)();
}

}  // namespace sheaf::inline v0_1::plan
