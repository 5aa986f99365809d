// Scratch rows: what is costly and needed by several loops over the same range at one place (the exponentials of a
// softmax: their sum, then each by it) is stored by the first of them in a row of the task's own and read by the
// others. The rows of a slice count from its first: where its reductions are computed in place, they and the loops that
// write its rows share scratch rows, if all of them walk the same rows and not too many.
#include <algorithm>
#include <initializer_list>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using namespace tuning::scratch_rows;

}  // namespace

node_id scratch_row_table::alike(graph& g, node_id n, node_id lane) {
  if (std::ranges::find(of_slice, lane) != of_slice.end()) return bare_(g, under(g, n, lane, of_slice.front()));
  const auto found = std::ranges::find_if(lanes_, [&](node_id l) { return plan::same_range(g, l, lane); });
  const node_id first = found == lanes_.end() ? lanes_.emplace_back(lane) : *found;
  return bare_(g, under(g, n, lane, first));
}

node_id scratch_row_table::under(graph& g, node_id n, node_id lane, node_id first) {
  if (first == lane) return n;
  auto [put, fresh] = renamed_.try_emplace(lane, g);
  if (fresh) put->second.add(lane, first);
  return put->second(n);
}

namespace {

// A thread of a GPU divides in ten instructions, and loads what it stored in one.
bool is_costly(const graph& g, node_id n, bool divisions) {
  const op_cost least = divisions ? op_cost::division : op_cost::function;
  return is_elementwise(g.kind(n)) && is_floating(g.type(n)) && row(g.kind(n)).cost >= least;
}

// f of what is costly in a loop over `lane`, and computed for each of its iterations.
template <class F>
void for_each_costly(const graph& g, node_id body, node_id lane, node_id of_rows, bool divisions, const F& f) {
  std::unordered_set<node_id> mine;
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (!mine.insert(n).second || g.kind(n) == op::reduce || g.kind(n) == op::extent || g.kind(n) == op::define) return;
    const bool transposed = of_rows != no_node && g.kind(n) == op::load && plan::uses(g, n, of_rows);
    const bool costly = transposed || is_costly(g, n, divisions);
    if (costly && g.free[n].has(g.ordinal(lane))) f(n);
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  walk(walk, body);
}

}  // namespace

void scratch_row_table::count(graph& g, node_id body, node_id lane, node_id of_rows) {
  for_each_costly(g, body, lane, of_rows, divisions, [&](node_id n) { ++uses[alike(g, n, lane)]; });
}

void kernel_lowering::find_scratch_rows() {
  scratch_rows = {};
  scratch_rows.divisions = known.for_groups();
  if (stages.front()->how == plan::way::range_scatter) return find_scratch_rows_of_slices();
  if (stages.front()->short_rows) return find_scratch_rows_of_lanes();
  std::unordered_set<node_id> reductions;
  // Sizes are compared where it matters.
  const auto fits = [&](node_id lane, std::initializer_list<node_id> bodies) {
    int costly = 0;
    for (const node_id body : bodies) for_each_costly(g, body, lane, no_node, false, [&](node_id) { ++costly; });
    if (costly == 0) return false;
    const auto low = known.value(g.arg(lane, 0)), high = known.value(g.arg(lane, 1));
    return low && high && *high > *low && (*high - *low) * 4 <= most_bytes;
  };
  // Every loop runs over the whole of its range.
  for (const stage* s : stages)
    if (s->how != plan::way::map && s->how != plan::way::partial) return;
  for (const stage* s : stages) {
    if (s->vector != no_node && fits(s->vector, {s->body})) scratch_rows.count(g, s->body, s->vector);
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::reduce || g[n].count != 3 || !reductions.insert(n).second) return;
      if (!fits(g.arg(n, 2), {g.arg(n, 0), g.arg(n, 1)})) return;
      for (const int k : {0, 1}) scratch_rows.count(g, g.arg(n, k), g.arg(n, 2));
    });
  }
}

// Not where rows are folded again for each of any number of others.
static bool goes_along_rows(graph& g, node_id reduce, node_id rows) {
  return std::ranges::any_of(plan::loads_in(g, reduce), [&](node_id load) {
    return plan::uses(g, load, rows) && plan::uses(g, load, g.arg(reduce, 2));
  });
}

// Short rows in lanes: what is loaded or computed of all of them by one loop along them is kept for the others.
void kernel_lowering::find_scratch_rows_of_lanes() {
  const stage& first = *stages.front();
  for (const stage* s : stages)
    if (!s->short_rows || s->vector != first.vector || s->lanes != first.lanes) return;
  scratch_rows.rows = first.vector;
  scratch_rows.lanes = first.lanes;
  std::unordered_set<node_id> reductions;
  for (const stage* s : stages) {
    const auto vector = std::ranges::find(s->loops, s->vector);
    const auto count_along = [&](node_id idx, std::initializer_list<node_id> parts) {
      scratch_rows.along.push_back(idx);
      for (const node_id part : parts) scratch_rows.count(g, part, idx, s->vector);
    };
    if (s->loops.end() - vector == 2) count_along(s->loops.back(), {s->body});
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::reduce || !reductions.insert(n).second || !goes_along_rows(g, n, s->vector)) return;
      count_along(g.arg(n, 2), {g.arg(n, 0), g.arg(n, 1)});
    });
  }
}

// The index of the loop along the rows in lanes that this scope is the body of.
node_id kernel_lowering::loop_along_rows(const scope& at) const {
  if (scratch_rows.rows == no_node || at.lane != scratch_rows.rows || at.parent == nullptr) return no_node;
  const auto made = plan::indices_of(g, at.bound.without(at.parent->bound));
  if (made.size() != 1 || at.parent->lane != at.lane) return no_node;
  return std::ranges::find(scratch_rows.along, made.front()) != scratch_rows.along.end() ? made.front() : no_node;
}

// Of what reductions over a slice compute and other loops over its rows need too.
void kernel_lowering::find_scratch_rows_of_slices() {
  const stage& first = *stages.front();
  if (known.call().gpu || first.slices.shorts.empty() || first.vector != first.owned ||
      first.indices.size() != 1)
    return;
  for (const stage* s : stages)
    for (const node_id lane : s->slices.shorts) scratch_rows.of_slice.push_back(lane);
  scratch_rows.of_slice.push_back(first.owned);
  std::unordered_set<node_id> reductions;
  for (const stage* s : stages)
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::reduce || g[n].count != 3 || !scratch_rows.walks_slice(g.arg(n, 2)) ||
          !reductions.insert(n).second)
        return;
      scratch_rows.count(g, g.arg(n, 0), g.arg(n, 2));
    });
  const auto filled = scratch_rows.uses;
  for (const stage* s : stages) scratch_rows.count(g, g.arg(s->body, 0), first.owned);
  std::erase_if(scratch_rows.uses, [&](const auto& e) { return e.second < 2 || !filled.contains(e.first); });
  std::int64_t bytes = 0;
  for (const auto& [n, uses] : scratch_rows.uses) bytes += row(g.type(n)).bytes;
  while (bytes != 0 && 2 * scratch_rows.elements * bytes <= slice_bytes) scratch_rows.elements *= 2;
}

// Do all loops over the slice at hand walk the same rows, which scratch rows hold? `rows`: of the slice that the task
// writes.
std::optional<ir::value> kernel_lowering::share_scratch_rows(const range& rows, scope& at) {
  if (scratch_rows.of_slice.empty() || scratch_rows.uses.empty()) return std::nullopt;
  ir::block_builder& b = *at.block;
  const auto both = [&](ir::value x, ir::value y) { return b.emit(op::logical_and, {x, y}); };
  const node_id walked = scratch_rows.of_slice.front();
  const ir::value first = emit(g.arg(walked, 0), at), end = emit(g.arg(walked, 1), at);
  ir::value shared = b.emit(op::less_equal, {b.emit(op::sub, {end, first}), b.i64(scratch_rows.elements)});
  shared = both(shared, both(b.emit(op::less_equal, {first, rows.low}), b.emit(op::less_equal, {rows.high, end})));
  for (const node_id lane : scratch_rows.of_slice) {
    if (lane == walked || lane == stages.front()->owned) continue;
    shared = both(shared, b.emit(op::equal, {first, emit(g.arg(lane, 0), at)}));
    shared = both(shared, b.emit(op::equal, {end, emit(g.arg(lane, 1), at)}));
  }
  scratch_rows.first = first;
  return shared;
}

// The loop whose lanes run at s, as the scope of its body, and the scope it stands in.
scratch_row_table::place kernel_lowering::lane_loop(scope& s) const {
  if (scratch_rows.rows != no_node) return {&s, s.parent};
  scope* loop = &s;
  while (loop->parent != nullptr && loop->parent->lane == s.lane) loop = loop->parent;
  return {loop, loop->parent};
}

// What has no lanes may look like what another loop has in its lanes, and is one value of it.
bool kernel_lowering::may_be_in_scratch_row(node_id n, const scope& at) const {
  if (at.lane == no_node || scratch_rows.uses.empty()) return false;
  if (scratch_rows.rows == no_node)
    return is_costly(g, n, scratch_rows.divisions) && plan::uses(g, n, at.lane);
  const node_id along = loop_along_rows(at);
  return along != no_node && plan::uses(g, n, along) && plan::uses(g, n, at.lane);
}

std::optional<ir::value> kernel_lowering::from_scratch_row(node_id n, scope& at) {
  if (!may_be_in_scratch_row(n, at)) return std::nullopt;
  const auto [loop, outside] = lane_loop(at);
  const node_id walked = scratch_rows.rows != no_node ? loop_along_rows(at) : at.lane;
  const auto found = scratch_rows.stored.find(scratch_rows.alike(g, n, walked));
  if (found == scratch_rows.stored.end() || outside == nullptr || at.is_open(found->second.loop)) return std::nullopt;
  bool in_row = found->second.row == outside->number;
  for (const scope* p = outside; p != nullptr && !scratch_rows.of_slice.empty(); p = p->parent)
    in_row = in_row || found->second.row == p->number;
  if (!in_row) return std::nullopt;
  const ir::value place = place_in_scratch_row(*loop, walked);
  return at.block->load(found->second.buffer, g.type(n), {place}, ir::access::contiguous);
}

// From the first row of the slice, or of the range.
ir::value kernel_lowering::place_in_scratch_row(scope& loop, node_id lane) {
  if (scratch_rows.rows != no_node) {
    const ir::value place = emit(position_of(lane), loop), lanes = loop.block->i64(scratch_rows.lanes);
    return loop.block->emit(op::mul, {place, lanes});
  }
  if (scratch_rows.of_slice.empty()) return emit(position_of(lane), loop, true);
  return loop.block->emit(op::sub, {emit(lane, loop, true), scratch_rows.first});
}

// Its buffer; -1 where there is no room.
std::int32_t kernel_lowering::scratch_row_of(node_id n, node_id lane) {
  if (const auto found = scratch_rows.buffers.find(n); found != scratch_rows.buffers.end()) return found->second;
  std::int64_t elements = scratch_rows.elements, counted = 0;
  if (scratch_rows.rows != no_node) {
    elements = scratch_rows.lanes * static_cast<std::int64_t>(tuning::short_rows::longest_of_functions);
  } else if (scratch_rows.of_slice.empty()) {
    const auto low = known.value(g.arg(lane, 0)), high = known.value(g.arg(lane, 1));
    if (!low || !high) return -1;  // a row of data's, beside those that scratch rows were looked for
    const plan::amount size = *high - *low;
    const bool of_class = size.is_of_class();
    if (!(size * 4).is_at_most(most_bytes)) return -1;
    if (of_class && known.call().gpu) elements = class_elements;
    if (of_class && !known.call().gpu) elements = static_cast<std::int64_t>(most_bytes) / 4, counted = class_elements;
    while (elements < size.certain()) elements *= of_class ? 4 : 2;
  }
  // Most rows of a class take a part of its buffer.
  const std::int64_t bytes = (counted != 0 ? counted : elements) * row(g.type(n)).bytes;
  if (scratch_rows.of_slice.empty() && scratch_rows.bytes + bytes > all_bytes) return -1;
  scratch_rows.bytes += bytes;
  const std::string what = g.kind(n) == op::load ? "a load" : sheaf::row(g.kind(n)).name;
  const std::int32_t id = ir::add_local(code, "scratch_row", g.type(n), elements);
  scratch_rows.notes[id] = "scratch row of " + std::to_string(elements) + " places along " + index_text(lane) + ": " +
                           what + " is computed once for all loops over them";
  note(scratch_rows.notes[id]);
  scratch_rows.buffers[n] = id;
  return id;
}

// Every lane of the loop must come by: what is guarded is not stored.
void kernel_lowering::into_scratch_row(node_id n, ir::value made, scope& at) {
  if (!may_be_in_scratch_row(n, at)) return;
  const auto [loop, outside] = lane_loop(at);
  const node_id walked = scratch_rows.rows != no_node ? loop_along_rows(at) : at.lane;
  const node_id key = scratch_rows.alike(g, n, walked);
  const auto uses = scratch_rows.uses.find(key);
  const bool may_fill = scratch_rows.of_slice.empty() || (scratch_rows.sharing && scratch_rows.walks_slice(at.lane));
  if (!may_fill || loop != &at || outside == nullptr || !loop->whole || uses == scratch_rows.uses.end() ||
      uses->second < 2 || scratch_rows.stored.contains(key))
    return;
  const std::int32_t id = scratch_row_of(key, walked);
  if (id < 0) return;
  const ir::value place = place_in_scratch_row(at, walked);
  at.block->store(id, {place}, made, ir::access::contiguous);
  scratch_rows.stored[key] = {id, loop->number, outside->number};
}

namespace {

void find_loaded(const ir::kernel& k, const ir::block& body, std::unordered_set<std::int32_t>& loaded) {
  for (const ir::statement& s : body) {
    find_loaded(k, s.body, loaded);
    if (s.kind != ir::statement_kind::instruct) continue;
    const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
    if (i.code == ir::opcode::load) loaded.insert(i.target);
  }
}
void erase_stores(ir::block& body, std::int32_t buffer) {
  std::erase_if(body, [&](const ir::statement& s) {
    return s.kind == ir::statement_kind::store && s.target == buffer;
  });
  for (ir::statement& s : body) erase_stores(s.body, buffer);
}

}  // namespace

// Loops that turned out to be one need no row between them.
ir::kernel kernel_lowering::without_unread_rows(ir::kernel made) {
  if (!scratch_rows.divisions) return made;
  std::unordered_set<std::int32_t> loaded;
  find_loaded(made, made.body, loaded);
  for (const auto& [id, text] : scratch_rows.notes)
    if (!loaded.contains(id)) erase_stores(made.body, id), std::erase(notes, text);
  for (const auto& [id, text] : scratch_rows.notes)
    if (loaded.contains(id)) note(text);
  return made;
}

}  // namespace sheaf::inline v0_1::lower
