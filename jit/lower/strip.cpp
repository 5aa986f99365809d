// Strips: what is costly and needed by several loops over the same range at one place (the exponentials of a softmax: their
// sum, then each by it) is stored by the first of them in a row of the piece's own and read by the others.
#include <algorithm>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/schedule.hpp>

namespace sheaf::lower {

namespace {

constexpr double most_bytes = 32 << 10;  // of one strip: it stays in the nearest cache
constexpr std::int64_t all_bytes = 48 << 10;

}  // namespace

node_id strip_table::alike(graph& g, node_id n, node_id lane) {
  const auto found =
      std::find_if(lanes_.begin(), lanes_.end(), [&](node_id l) { return plan::same_range(g, l, lane); });
  if (found == lanes_.end()) {
    lanes_.push_back(lane);
    return n;
  }
  if (*found == lane) return n;
  auto [put, fresh] = renamed_.try_emplace(lane, g);
  if (fresh) put->second.add(lane, *found);
  return put->second(n);
}

// A loop over `lane` computes these for each of its turns.
void strip_table::count(graph& g, node_id body, node_id lane) {
  std::unordered_set<node_id> mine;
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (!mine.insert(n).second || g.kind(n) == op::reduce || g.kind(n) == op::extent || g.kind(n) == op::define) return;
    if (plan::is_function(g, n) && g.free[n].has(g.ordinal(lane)) && is_floating(g.type(n))) ++uses[alike(g, n, lane)];
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  walk(walk, body);
}

void kernel_lowering::find_strips() {
  strips = {};
  std::unordered_set<node_id> reductions;
  const auto fits = [&](node_id lane) {
    const auto low = known.value(g.arg(lane, 0)), high = known.value(g.arg(lane, 1));
    return low && high && *high > *low && static_cast<double>(*high - *low) * 4 <= most_bytes;
  };
  // Every loop runs over the whole of its range.
  for (const stage* s : stages)
    if (s->how != plan::way::map && s->how != plan::way::partial) return;
  for (const stage* s : stages) {
    if (s->vector != no_node && fits(s->vector)) strips.count(g, s->body, s->vector);
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::reduce || g[n].count != 3 || !reductions.insert(n).second || !fits(g.arg(n, 2))) return;
      strips.count(g, g.arg(n, 0), g.arg(n, 2));
      strips.count(g, g.arg(n, 1), g.arg(n, 2));
    });
  }
}

// The loop whose lanes run at s, as the scope of its body, and the scope it stands in.
strip_table::place kernel_lowering::lane_loop(scope& s) const {
  scope* loop = &s;
  while (loop->parent != nullptr && loop->parent->lane == s.lane) loop = loop->parent;
  return {loop, loop->parent};
}

std::optional<ir::value> kernel_lowering::from_strip(node_id n, scope& at) {
  if (at.lane == no_node || !plan::is_function(g, n) || strips.uses.empty()) return std::nullopt;
  const auto [loop, outside] = lane_loop(at);
  const auto found = strips.stored.find(strips.alike(g, n, at.lane));
  if (found == strips.stored.end() || outside == nullptr || found->second.row != outside->number ||
      found->second.loop == loop->number)
    return std::nullopt;
  const ir::value place = emit(position_of(at.lane), *loop, true);
  return at.block->load(found->second.buffer, g.type(n), {place}, ir::access::contiguous);
}

// Every lane of the loop must come by: what is guarded is not stored.
void kernel_lowering::into_strip(node_id n, ir::value made, scope& at) {
  if (at.lane == no_node || !plan::is_function(g, n) || strips.uses.empty()) return;
  const auto [loop, outside] = lane_loop(at);
  const node_id key = strips.alike(g, n, at.lane);
  const auto uses = strips.uses.find(key);
  if (loop != &at || outside == nullptr || !loop->whole || uses == strips.uses.end() || uses->second < 2 ||
      strips.stored.contains(key))
    return;
  std::int64_t elements = 64;
  while (elements < *known.value(g.arg(at.lane, 1)) - *known.value(g.arg(at.lane, 0))) elements *= 2;
  const std::int64_t bytes = elements * row(g.type(n)).bytes;
  if (strips.bytes + bytes > all_bytes) return;
  strips.bytes += bytes;
  const std::int32_t id = ir::add_buffer(code, {.name = "strip",
                                                .type = g.type(n),
                                                .rank = 1,
                                                .where = ir::role::local,
                                                .elements = elements,
                                                .unit_inner = true,
                                                .extents = {elements}});
  const ir::value place = emit(position_of(at.lane), at, true);
  at.block->store(id, {place}, made, ir::access::contiguous);
  strips.stored[key] = {id, loop->number, outside->number};
}

}  // namespace sheaf::lower
