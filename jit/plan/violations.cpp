#include <sheaf/jit/plan/violations.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/checks.hpp>

namespace sheaf::inline v0_1::plan {

bool is_empty(const facts& known, node_id idx) {
  const graph& g = known.g();
  const auto low = known.value(g.arg(idx, 0)), high = known.value(g.arg(idx, 1));
  return low && high && !is_open(*low, *high) && high->certain() <= *low;
}
bool is_open(const facts& known, node_id idx) {
  const graph& g = known.g();
  const auto low = known.value(g.arg(idx, 0)), high = known.value(g.arg(idx, 1));
  return low && high && is_open(*low, *high);
}
node_id has_elements(graph& g, node_id idx) { return make(g, op::less, g.arg(idx, 0), g.arg(idx, 1)); }
node_id when_run(graph& g, const facts& known, std::span<const node_id> loops, node_id when) {
  for (const node_id idx : loops)
    if (is_open(known, idx)) when = conjunction(g, when, has_elements(g, idx));
  return when;
}

// Gradients of gradients read a table of slices under conditions without number, of which each would be a check: of
// irregular calls of programs of so many indices, too, a plan asks whether the table has the column.
static bool names_column(const graph& g, node_id tensor, node_id subscript) {
  return g.indices.size() >= tuning::checks::many_indices && g.kind(tensor) == op::input && is_constant(g, subscript) &&
         !is_floating(g.inputs[static_cast<int>(g[tensor].attribute)].type);
}

asked_loads outside_loads(graph& g, const facts& known) {
  asked_loads asked{g, known};
  const node_id count = g.size();
  for (node_id n = 0; n < count; ++n)
    for (int d = 0; g.kind(n) == op::load && d + 1 < g[n].count; ++d) {
      const node_id tensor = g.arg(n, 0), e = g.arg(n, 1 + d);
      if (!is_uniform(g, e)) continue;
      const auto at = known.value(e), low = known.value(low_of(g, tensor, d)),
                 high = known.value(high_of(g, tensor, d));
      if (!at || !low || !high) continue;
      const bool open = (is_open(*at, *low) || is_open(*at, *high)) && !names_column(g, tensor, e);
      if (open ? !is_inside(g, n) : at->certain() < *low || at->certain() >= *high) asked.dimensions[n].push_back(d);
    }
  return asked;
}

std::vector<node_id> demanded_before(const graph& g, node_id reduce, std::span<const node_id> loops, std::size_t k) {
  index_set later;
  for (const node_id idx : loops.subspan(k)) later.insert(g.ordinal(idx));
  flat<node_id> parts;
  deltas::conjuncts(g, g.arg(reduce, 1), parts);
  std::vector<node_id> list;
  for (const node_id part : parts) {
    if (g.free[part].meets(later)) break;
    list.push_back(part);
  }
  return list;
}

namespace {

class path_walk {
 public:
  path_walk(const asked_loads& asked, std::vector<violation>& found)
      : g_(asked.g), known_(asked.known), asked_(asked), found_(found) {}

  void operator()(node_id n, const std::vector<node_id>& loops, node_id where) {
    const op kind = g_.kind(n);
    if (kind == op::extent || kind == op::define || !leads_to_one(n) || !is_new(n, loops, where)) return;
    if (kind == op::select) {
      const node_id c = g_.arg(n, 0), yes = g_.arg(n, 1), no = g_.arg(n, 2);
      (*this)(c, loops, where);
      behind(c, yes, loops, where);
      return behind(make(g_, op::logical_not, c), no, loops, where);
    }
    if (kind == op::logical_and || kind == op::logical_or) {
      const node_id first = g_.arg(n, 0), second = g_.arg(n, 1);
      (*this)(first, loops, where);
      return behind(kind == op::logical_and ? first : make(g_, op::logical_not, first), second, loops, where);
    }
    if (kind == op::reduce) return reduction(n, loops, where);
    for (int k = kind == op::load ? 1 : 0; k < g_[n].count; ++k) (*this)(g_.arg(n, k), loops, where);
    if (kind == op::load && asked_.has(n))
      for (const int d : asked_.dimensions.at(n)) add(n, d, loops, where);
    if (kind == op::load && g_.kind(g_.arg(n, 0)) == op::define) definition(g_.arg(n, 0), loops, where);
  }

 private:
  // How a node is reached: in which loops, and the parts of the condition, both sorted.
  struct reached {
    std::vector<node_id> loops, conditions;
  };

  // Of two ways to a node one says all where what it waits for is a part of what the other waits for: wherever the
  // other gets there, the first has failed. A gradient of a gradient has thousands of ways to a load.
  bool is_new(node_id n, const std::vector<node_id>& loops, node_id where) {
    reached way{loops, {}};
    flat<node_id> parts;
    deltas::conjuncts(g_, where, parts);
    for (const node_id part : parts)
      if (!is_true(g_, part)) way.conditions.push_back(part);
    std::ranges::sort(way.loops);
    std::ranges::sort(way.conditions);
    const auto never = [&](node_id part) {
      return g_.kind(part) == op::logical_not && std::ranges::binary_search(way.conditions, g_.arg(part, 0));
    };
    if (std::ranges::any_of(way.conditions, never)) return false;
    auto& before = seen_[n];
    const auto is_part_of_this = [&](const reached& other) {
      return std::ranges::includes(way.loops, other.loops) && std::ranges::includes(way.conditions, other.conditions);
    };
    if (std::ranges::any_of(before, is_part_of_this)) return false;
    before.push_back(std::move(way));
    return true;
  }

  // Of an irregular call a plan doesn't know whether a subscript without data is outside.
  void add(node_id n, int d, std::vector<node_id> loops, node_id where) {
    const node_id tensor = g_.arg(n, 0), e = g_.arg(n, 1 + d);
    if (known_.irregular() && is_uniform(g_, e)) {
      read_anyway(loops, where);
      const node_id inside = range_condition(g_, e, low_of(g_, tensor, d), high_of(g_, tensor, d));
      where = conjunction(g_, where, make(g_, op::logical_not, inside));
    }
    found_.push_back({.load = n, .dimension = d, .loops = loops, .where = where});
  }

  bool enters(node_id idx, std::vector<node_id>& loops) const {
    const auto same = [&](node_id other) { return g_.ordinal(other) == g_.ordinal(idx); };
    if (is_empty(known_, idx) || std::ranges::any_of(loops, same)) return false;
    loops.push_back(idx);
    return true;
  }

  // It is computed as a whole as soon as one element is read.
  void definition(node_id define, std::vector<node_id> loops, node_id where) {
    read_anyway(loops, where);
    for (int d = 0; d < tensor_rank(g_, define); ++d)
      if (!enters(g_.arg(define, 1 + d), loops)) return;
    (*this)(g_.arg(define, 0), loops, where);
  }
  // Where neither data nor an index decides, a condition says all of the loops.
  void read_anyway(std::vector<node_id>& loops, node_id& where) {
    const bool anyway = known_.irregular() ? is_uniform(g_, where) : is_true(g_, where);
    if (!anyway || !std::ranges::all_of(loops, [&](node_id idx) { return runs(idx); })) return;
    where = when_run(g_, known_, loops, where);
    loops.clear();
  }
  // Or is that not asked?
  bool runs(node_id idx) const {
    const auto low = known_.value(g_.arg(idx, 0)), high = known_.value(g_.arg(idx, 1));
    return low && high && (is_open(*low, *high) || low->certain() < *high);
  }

  // What is evaluated only where c holds.
  void behind(node_id c, node_id n, const std::vector<node_id>& loops, node_id where) {
    const amount holds = known_.value(c).value_or(1);
    if (holds.is_open() || holds.certain() != 0) (*this)(n, loops, conjunction(g_, where, c));
  }

  void reduction(node_id n, std::vector<node_id> loops, node_id where) {
    const auto own = nesting_order(g_, bound_indices(g_, n));
    for (std::size_t k = 0; k < own.size(); ++k) {
      node_id asked = truth(g_, true);
      for (const node_id part : demanded_before(g_, n, own, k)) asked = conjunction(g_, asked, part);
      for (const int end : {0, 1}) behind(asked, g_.arg(own[k], end), loops, where);
      if (!enters(own[k], loops)) return;
    }
    (*this)(g_.arg(n, 1), loops, where);
    behind(g_.arg(n, 1), g_.arg(n, 0), loops, where);
  }

  bool leads_to_one(node_id n) {
    if (const auto known = leads_.find(n); known != leads_.end()) return known->second;
    bool leads = asked_.has(n);
    const int count = g_.kind(n) == op::define ? 1 : g_[n].count;  // of a definition its body
    for (int k = 0; !leads && g_.kind(n) != op::extent && k < count; ++k) leads = leads_to_one(g_.arg(n, k));
    return leads_[n] = leads;
  }

  graph& g_;
  const facts& known_;
  const asked_loads& asked_;
  std::vector<violation>& found_;
  std::unordered_map<node_id, bool> leads_;
  std::unordered_map<node_id, std::vector<reached>> seen_;
};

}  // namespace

void find_violations(const asked_loads& asked, node_id body, std::span<const node_id> indices,
                     std::vector<violation>& found) {
  if (std::ranges::none_of(indices, [&](node_id idx) { return is_empty(asked.known, idx); }))
    path_walk(asked, found)(body, {indices.begin(), indices.end()}, truth(asked.g, true));
}

}  // namespace sheaf::inline v0_1::plan
