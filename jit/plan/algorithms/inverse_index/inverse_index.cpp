#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/equal_data.hpp>
#include <sheaf/jit/plan/promised.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/flat_walk.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::inverse_index;

// The extent of a tensor that is subscripted by idx alone.
node_id walked_extent(graph& g, node_id root, node_id idx) {
  node_id found = no_node;
  for_each_node(g, root, [&](node_id n) {
    for (int d = 0; g.kind(n) == op::load && d + 1 < g[n].count; ++d)
      if (found == no_node && g.arg(n, 1 + d) == idx && g.kind(g.arg(n, 0)) == op::input)
        found = extent(g, g.arg(n, 0), d);
  });
  return found;
}

// How many updates a list has room for: all of them where ranges are closed; of slices that cover a tensor, its
// elements.
node_id room_of(graph& g, const stage& s) {
  const auto bound = bound_indices(g, s.body);
  node_id room = integer(g, 1);
  for (const node_id idx : bound) {
    const bool within =
        std::ranges::any_of(bound, [&](node_id other) { return other != idx && g.free[other].has(g.ordinal(idx)); });
    if (within && is_closed(g, idx)) continue;
    node_id count = no_node;
    if (is_closed(g, idx))
      count = trips_of(g, idx);
    else
      count = walked_extent(g, s.body, idx);
    if (count == no_node) return no_node;
    room = make(g, op::mul, room, count);
  }
  return room;
}

}  // namespace

std::vector<node_id> walk_of(const graph& g, const facts& known, const stage& s) {
  std::vector<node_id> walk = nesting_order(g, bound_indices(g, s.body));
  const auto rank = [&](node_id idx) { return is_closed(g, idx) ? known.trips(idx) : 0; };
  if (!known.for_groups()) return walk;
  const auto longest =
      std::max_element(walk.begin(), walk.end(), [&](node_id a, node_id b) { return rank(a) < rank(b); });
  std::rotate(walk.begin(), longest, longest + 1);
  return walk;
}

node_id chunks_of(graph& g, const inverse_index_form& l) { return blocks_in(g, trips_of(g, l.owned), l.listed()); }

bool take_repeated(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (s.how != way::scatter) return false;
  index_set all, decided;  // by data: an update has one place of those
  for (const node_id idx : s.indices) (idx == s.owned || is_fixed(g, s, idx) ? decided : all).insert(g.ordinal(idx));
  all |= set_of(g, bound_indices(g, s.body));
  if (known.for_groups() && !known.call().force_for_tests && known.trips(all) < tuning::tasks::worth_a_launch)
    return false;
  node_id repeated = no_node;
  const auto look = [&](node_id n) {
    const bool value = is_floating(g.type(n)) || g.type(n) == element::i64;
    if (!is_elementwise(g.kind(n)) || !value || g.free[n].empty() || holds(g, n, op::reduce)) return;
    if (g.free[n].meets(decided) || !has_closed_ranges(g, n)) return;
    const bool slow = is_slow(g, n);
    if (!slow && (!is_floating(g.type(n)) || work_of(g, n) < tuning::scatter::much_work)) return;
    const double repeats = slow ? 2 * repeats_allowed : tuning::scatter::repeats_of_work;
    if (known.trips(all) > repeats * known.trips(g.free[n])) repeated = n;  // the last: outermost
  };
  for (const int part : {0, 1})  // and then places that are computed, as those of an image that is resampled
    if (repeated == no_node) for_each_node(g, g.arg(s.body, part), look);
  if (repeated == no_node) return false;
  store_by_itself(c, s, repeated, "a scatter would compute it for each of its updates");
  return true;
}

bool take_atomic(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  const element type = g.type(s.define);
  const bool adds = s.how == way::scatter && monoid_of(g, s.body) == monoid::sum && g.type(s.body) == type;
  const bool has_add = type == element::f32 || type == element::f64 || type == element::i32 || type == element::i64;
  if (known.call().overrides.scatters != scatters::atomic || !adds || !has_add || rows_of(g, s).at == no_node)
    return false;
  if (!is_closed(g, walk_of(g, known, s).front()) || !is_closed(g, s.owned)) return false;
  s.atomic = true;
  s.reasons.push_back("updates are added by atomics, in any order");
  return true;
}

namespace {

// Is idx 0 or more and fits 31 bits, whatever the data? One whose range depends on data does where the row of each
// update is found by a load that is checked.
bool is_narrow(const context& c, const inverse_index_form& l, node_id idx) {
  const auto& [g, known, done] = c;
  const auto fits = [&](node_id end) {
    const auto value = known.value(end);
    return value && *value <= static_cast<double>(tuning::sort::most_places);
  };
  if (is_closed(g, idx)) return known_less_equal(g, integer(g, 0), g.arg(idx, 0)) && fits(g.arg(idx, 1));
  bool found = false, guarded = false;
  for_each_node(g, l.at, [&](node_id n) {
    guarded = guarded || g.kind(n) == op::select;
    for (int d = 0; g.kind(n) == op::load && d + 1 < g[n].count; ++d)
      found = found || (g.arg(n, 1 + d) == idx && is_proven(g, n) && g.kind(g.arg(n, 0)) == op::input &&
                        fits(extent(g, g.arg(n, 0), d)));
  });
  return found && !guarded;
}

// Of the numbers of a list that a GPU sorts.
element type_of_list(const context& c, const inverse_index_form& l) {
  const auto rows = c.known.value(trips_of(c.g, l.owned));
  const bool narrow = rows && *rows < static_cast<double>(tuning::sort::most_places) &&
                      std::ranges::all_of(l.named, [&](node_id idx) { return is_narrow(c, l, idx); });
  return narrow ? element::u32 : element::i64;
}

}  // namespace

stage stage_of_list(graph& g, const inverse_index_form& l, node_id walked, std::int64_t planes_of, element type) {
  stage lists;
  lists.how = way::inverse_index;
  lists.inverse = l;
  lists.body = cast_to(g, type, l.at);
  const node_id planes = make(g, op::mul, l.room, integer(g, planes_of));
  const node_id counts = make(g, op::mul, chunks_of(g, l), integer(g, l.blocks));
  const node_id rest = make(g, op::add, planes, counts);
  const node_id size = make(g, op::add, make(g, op::add, chunks_of(g, l), integer(g, 2)), rest);
  lists.indices = {fresh_index(g, walked, integer(g, 0), size)};
  define_stage(g, lists, "inverse");
  return lists;
}

namespace {

// Tasks each count a block of the outermost index, where that is little beside the walk itself.
std::int64_t blocks_of_list(const facts& known, const inverse_index_form& l, const amount& updates) {
  if (!is_closed(known.g(), l.walk.front())) return 0;
  if (known.call().force_for_tests) return forced_blocks;
  const amount chunks = known.trips(l.owned) / static_cast<double>(l.chunk);
  const bool pays = updates >= shared_from && updates >= updates_for_a_count * list_blocks * chunks;
  return pays && known.trips(l.walk.front()) >= 2.0 * list_blocks ? list_blocks : 0;
}

}  // namespace

bool sort_list_on_device(const context& c, stage& lists, inverse_index_form& l) {
  graph& g = c.g;
  l.chunk = 1;
  l.all_fit = std::ranges::all_of(l.walk, [&](node_id idx) { return is_closed(g, idx); });
  lists.inverse = l;
  const sort_form wanted{
      .outer = l.walk.front(), .room = l.room, .keys = chunks_of(g, l), .planes = static_cast<int>(l.named.size()),
      .type = g.type(lists.define)};
  return sort_on_device(c, lists, wanted, l.walk.size() > 1 ? l.walk.back() : no_node);
}

inverse_index_form listed_by_row(const context& c, const stage& s, node_id walk, node_id owned, node_id at) {
  const auto& [g, known, done] = c;
  for (const stage& t : done) {
    inverse_index_form l = t.inverse;
    if (t.how != way::inverse_index || !l.by_row || t.when != s.when || t.sort.passes > 0 || l.walk.size() != 1)
      continue;
    if (!same_range(g, l.walk.front(), walk) || !same_range(g, l.owned, owned)) continue;
    replacement put(g, proofs::kept);
    put.rename(l.walk.front(), walk);
    if (!is_same(g, put(l.at), at)) continue;
    l.array = t.define;
    return l;
  }
  inverse_index_form l{.walk = {walk}, .named = {walk}, .owned = owned, .at = at, .chunk = 1,
                       .room = trips_of(g, walk), .by_row = true, .all_fit = true};
  stage lists = stage_of_list(g, l, walk, 1, element::i64);
  lists.when = s.when;
  lists.operations = 4 * known.trips(walk);
  lists.bytes = 8.0 * (known.trips(walk) + known.trips(owned));
  lists.reasons.push_back("inverse index: which iterations data sends to each row");
  l.array = lists.define;
  done.push_back(std::move(lists));
  return l;
}

namespace {

node_id place_in_list(graph& g, const inverse_index_form& l, node_id n, int plane) {
  const node_id first = make(g, op::add, chunks_of(g, l), integer(g, 2));
  const node_id skipped = make(g, op::mul, l.room, integer(g, plane));
  return make(g, op::add, make(g, op::add, first, skipped), n);
}

}  // namespace

node_id listed_place(graph& g, const inverse_index_form& l, node_id n, int plane) {
  const node_id place = place_in_list(g, l, n, plane);
  return proven(g, load(g, l.array, &place, 1));
}

node_id listed_value(graph& g, const inverse_index_form& l, node_id n, int plane) {
  const node_id value = l.named[static_cast<std::size_t>(plane)];
  if (g.kind(value) == op::index) return cast_to(g, element::i64, listed_place(g, l, n, plane));
  const node_id list[] = {l.array, place_in_list(g, l, n, plane)};
  return proven(g, g.intern(op::load, g.type(value), 0, list, 2));
}

bool take_row_order(const context& c, stage& s) {
  const auto& [g, known, done] = c;
  const node_id idx = s.parallel;
  const bool loops =
      s.how == way::map && s.task.chunk == 0 && idx != no_node && s.loops.front() == idx && is_closed(g, idx);
  if (known.call().gpu || !loops || s.order.index != no_node || s.order_when != no_node || s.where == place::check ||
      s.rows.whole != no_node || s.short_rows || s.reads_block_tree)
    return false;
  index_set inner = set_of(g, s.loops);
  inner.erase(g.ordinal(idx));
  const std::vector<node_id> reductions = reductions_in(g, s.body);
  for (const node_id n : reductions) inner |= set_of(g, bound_indices(g, n));
  const std::vector<equal_rows> rows = equal_data(g, known, reductions, idx, inner);
  if (rows.size() != 1 || g.free[rows.front().subscript].meets(inner)) return false;
  const node_id owned = fresh_index(g, idx, rows.front().low, rows.front().high);
  const inverse_index_form l = listed_by_row(c, s, idx, owned, rows.front().subscript);
  const node_id walk = fresh_index(g, idx, g.arg(idx, 0), g.arg(idx, 1));
  s.order = {idx, walk, listed_place(g, l, make(g, op::sub, walk, g.arg(idx, 0)))};
  s.reasons.push_back("in the order of the data that chooses what a row reads");
  return true;
}

namespace {

// Which of its indices an update's value depends on, once its row is known.
std::vector<node_id> needed_by(graph& g, const stage& s, const std::vector<node_id>& walk) {
  const term_of_row term = in_row(g, s);
  std::vector<node_id> needed;
  for (const node_id idx : walk)
    if (uses(g, term.value, idx) || uses(g, term.rest, idx)) needed.push_back(idx);
  return needed;
}

// Where all that the value depends on is one load of 4 bytes, that goes with the key: by rows it would be read
// anywhere, a sector for each. Not of a list that is kept, whose values may change; nor of slices, which may be walked
// with rows that none has, whose value nothing proves.
void list_value(const context& c, const stage& s, const std::vector<node_id>& walk, std::vector<node_id>& needed) {
  const auto& [g, known, before] = c;
  if (walk.size() != 1) return;
  const term_of_row term = in_row(g, s);
  const index_set walked = set_of(g, walk);
  node_id value = no_node;
  for (const node_id root : {term.value, term.rest})
    for_each_node(g, root, [&](node_id n) {
      if (value == no_node && g.kind(n) == op::load && g.free[n].meets(walked)) value = n;
    });
  if (value == no_node || !g.free[value].within(walked) || g.kind(g.arg(value, 0)) != op::input) return;
  const element type = g.type(value);
  if (row(type).bytes != row(element::u32).bytes || !is_inside(g, value)) return;
  replacement put(g, proofs::kept);
  put.add(value, identity_of(g, monoid::sum, type));
  if (g.free[put(term.value)].meets(walked) || g.free[put(term.rest)].meets(walked)) return;
  needed = {value};
}

// Does each update read elements of its own, which lie one after the other in the order of the walk or anywhere? By
// rows all of them lie anywhere, and what few updates share stays in a cache.
bool reads_own_elements(graph& g, const stage& s, const std::vector<node_id>& walk) {
  const term_of_row term = in_row(g, s);
  return any_node(g, term.value, [&](node_id n) {
    return g.kind(n) == op::load && uses(g, n, s.vector) &&
           std::ranges::all_of(walk, [&](node_id idx) { return uses(g, n, idx); });
  });
}

// Lists cost more than asking each update where it goes, as many tasks as there are. They pay where a row of the result
// comes from memory for each of its updates, what these read does not, and where the places are computed.
bool pays_on_processor(const context& c, const stage& s, const updated_rows& t, const amount& results) {
  const auto& [g, known, done] = c;
  if (results < listed_from || known.trips(s.owned) < least_rows) return false;
  if (is_promised(g, known, t.at) || is_slow(g, t.at)) return true;
  return results >= beyond_caches && !reads_own_elements(g, s, bound_indices(g, s.body));
}

// Where blocks count by themselves.
amount bytes_of_counts(const facts& known, const inverse_index_form& l) {
  if (l.blocks == 0) return 0;
  return 8.0 * known.trips(l.owned) / static_cast<double>(l.chunk) * static_cast<double>(l.blocks);
}

std::string what_is_listed(const inverse_index_form& l) {
  const std::string rows = l.by_row ? "row" : std::to_string(l.chunk) + " rows";
  const std::string blocks = l.blocks == 0 ? "" : ", in " + std::to_string(l.blocks) + " blocks of the outermost loop";
  return "inverse index: the updates by the " + rows + " that they go to" + blocks;
}

}  // namespace

bool list_updates(const context& c, stage& s) {
  const auto& [g, known, done] = c;
  const bool gpu = known.call().gpu;  // sorts by all threads, where others list by one
  const bool groups = known.for_groups();
  if (s.how != way::scatter || s.atomic || s.inverse.array != no_node || s.parallel != s.owned) return false;
  if (!groups && s.vector == no_node) return false;
  updated_rows t = rows_of(g, s);
  // Where data names further indices, each element of a row would ask all of the row's updates.
  if (!groups && !fixed_of(g, s, t).empty()) return false;
  const index_set own = set_of(g, bound_indices(g, s.body));
  index_set walked = own;
  for (const node_id idx : bound_indices(g, s.body)) walked |= g.free[idx];
  if (t.at == no_node || !walked.within(own) || !g.free[t.at].within(own) || g.type(t.at) != element::i64 ||
      holds(g, t.at, op::reduce))
    return false;
  if (!is_closed(g, s.owned)) return false;
  const node_id room = room_of(g, s);
  index_set all = set_of(g, s.indices);
  const amount results = known.trips(all);
  const bool force_for_tests = known.call().force_for_tests;
  if (room == no_node || (!groups && !force_for_tests && !pays_on_processor(c, s, t, results))) return false;
  const auto updates = known.value(room);
  const auto walk = bound_indices(g, s.body);
  const bool promised = is_promised(g, known, t.at), by_row = gpu || promised;
  // Of a processor's list, which decides there whether it pays, and so under strict here.
  const amount entries = (walk.size() + (promised ? 0 : 1)) * updates.value_or(0);
  const amount bytes = 8.0 * (entries + (promised ? known.trips(s.owned) : amount(0)));
  const amount room_for_lists = most_of_result * results * row(g.type(s.define)).bytes;
  if (!updates || (!force_for_tests && (groups ? *updates < sorted_from : bytes > room_for_lists))) return false;
  const std::vector<node_id> loops = walk_of(g, known, s);
  std::vector<node_id> needed = gpu ? needed_by(g, s, loops) : loops;
  inverse_index_form l{.walk = loops,
                       .named = planes_for(needed, loops),
                       .owned = s.owned,
                       .at = t.at,
                       .chunk = force_for_tests ? 4 : least_chunk,
                       .room = room,
                       .by_row = by_row};
  while (l.chunk < most_rows && known.trips(s.owned) / static_cast<double>(l.chunk) > most_chunks) l.chunk *= 2;
  if (!gpu && !by_row) l.blocks = blocks_of_list(known, l, *updates);
  const element type = gpu ? type_of_list(c, l) : element::i64;
  if (type == element::u32 && !promised) list_value(c, s, loops, needed);
  l.named = planes_for(needed, loops);
  if (by_row && share_list(c, s, {l, needed, type})) return true;
  inverse_index_form used = l;  // as the scatter sees it
  if (gpu && flatten_walk(c, l)) used.room = l.room;
  const auto planes = static_cast<std::int64_t>(l.named.size()) + (by_row ? 0 : 1);
  stage lists = stage_of_list(g, l, used.walk.front(), planes, type);
  lists.when = s.when;
  const auto unnamed = static_cast<double>(loops.size() - l.named.size());
  lists.bytes = (bytes - 8.0 * unnamed * *updates) * (row(type).bytes / 8.0) + bytes_of_counts(known, l);
  lists.operations = 4 * *updates;
  lists.reasons.push_back(what_is_listed(l));
  if (gpu && !sort_list_on_device(c, lists, l)) return false;
  used.chunk = l.chunk, used.all_fit = l.all_fit, used.array = lists.define;
  s.inverse = used;
  fold_parts_of_rows(c, s);
  s.reasons.push_back("a task walks the updates of its own rows, row by row, and writes each row once");
  done.push_back(std::move(lists));
  return true;
}

}  // namespace sheaf::inline v0_1::plan
