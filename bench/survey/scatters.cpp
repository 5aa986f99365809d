// See loops.hpp: folds that data sends to their results, and folds of rows, as loops over what is folded.
#include "loops_scope.hpp"

namespace sheaf::bench {

// Where an index of the results comes from: an expression, or a range between some.
struct sent_index {
  node_id index = no_node, equal = no_node;
};
struct loop_printer::scatter_form {
  std::vector<sent_index> places;
  std::vector<node_id> lower, upper, bound, rest;  // conditions that are ranges; what is folded over; other conditions
  bool is_sent(node_id j) const {
    return std::any_of(places.begin(), places.end(), [&](const sent_index& p) { return p.index == j; });
  }
};

namespace {
bool holds(const std::vector<node_id>& list, node_id n) { return std::find(list.begin(), list.end(), n) != list.end(); }
}  // namespace

// Conditions that fix or bound an index of the results by what is folded over.
loop_printer::scatter_form loop_printer::form_of(node_id reduce, const std::vector<node_id>& free_ones) const {
  scatter_form f;
  index_set folded;
  for (int k = 2; k < g_[reduce].count; ++k) f.bound.push_back(g_.arg(reduce, k));
  for (const node_id b : f.bound) folded.insert(g_.ordinal(b));
  const std::vector<node_id> all = conjuncts_of(g_.arg(reduce, 1));
  const auto side = [&](node_id c, int k, op kind) {  // the index of the results that is on this side, by itself
    if (g_[c].count != 2 || g_.kind(c) != kind) return no_node;
    const node_id j = g_.arg(c, k), e = g_.arg(c, 1 - k);
    const bool found = g_.kind(j) == op::index && !g_.free[e].has(g_.ordinal(j)) && holds(free_ones, j);
    return found && g_.free[e].meets(folded) ? j : no_node;
  };
  std::vector<node_id> used;
  for (const node_id c : all)
    for (int k = 0; k < 2; ++k)
      if (const node_id j = side(c, k, op::equal); j != no_node && !f.is_sent(j)) {
        f.places.push_back({j, g_.arg(c, 1 - k)});
        used.push_back(c);
        break;
      }
  for (const node_id j : free_ones) {
    if (f.is_sent(j)) continue;
    std::vector<node_id> from, to;
    for (const node_id c : all) {
      if (side(c, 1, op::less_equal) == j || side(c, 1, op::less) == j) from.push_back(c);
      if (side(c, 0, op::less_equal) == j || side(c, 0, op::less) == j) to.push_back(c);
    }
    if (from.empty() || to.empty()) continue;
    f.places.push_back({j});
    f.lower.insert(f.lower.end(), from.begin(), from.end());
    f.upper.insert(f.upper.end(), to.begin(), to.end());
  }
  for (const node_id c : all)
    if (!holds(used, c) && !holds(f.lower, c) && !holds(f.upper, c)) f.rest.push_back(c);
  return f;
}

// Can the loops run over what is folded? Without data only where rows are folded: the last index of the results is that
// of memory, and none that is folded.
bool loop_printer::can_scatter(node_id reduce, const std::vector<node_id>& free_ones, const scatter_form& f) const {
  index_set results;
  for (const sent_index& p : f.places) results.insert(g_.ordinal(p.index));
  for (const node_id b : f.bound)
    if (g_.free[b].meets(results)) return false;
  for (const sent_index& p : f.places)
    if (p.equal != no_node && g_.free[p.equal].meets(results)) return false;
  if (!f.places.empty()) return true;
  const node_id last = free_ones.back(), body = g_.arg(reduce, 0);
  const int o = g_.ordinal(last);
  bool rows = last_in_loads(body, last) && !last_in_loads(body, f.bound.back()) && !g_.free[g_.arg(reduce, 1)].has(o);
  for (const node_id b : f.bound) rows = rows && !g_.free[b].has(o);
  return rows && !row(monoid_of(g_, reduce)).boolean;
}

std::string loop_printer::size_of(const std::vector<node_id>& indices) {
  std::string size = "1";
  for (const node_id j : indices) size += " * std::max(0l, " + value(g_.arg(j, 1)) + " - " + value(g_.arg(j, 0)) + ")";
  return size;
}

void loop_printer::enter(node_id index, const range& r, std::vector<node_id>& conditions, bool shared) {
  if (scopes_.back()->bound.has(g_.ordinal(index))) failed_ = true;  // one name for two loops
  open((shared ? "#pragma omp parallel for\n" : "") + loop_of(index, r));
  scopes_.back()->bound.insert(g_.ordinal(index));
  guard(conditions, false);
}

std::size_t loop_printer::enter_places(scatter_form& f) {
  for (const sent_index& p : f.places) {
    if (p.equal == no_node) continue;
    const std::string i = leaf(p.index), e = value(p.equal), low = value(g_.arg(p.index, 0));
    const std::string high = value(g_.arg(p.index, 1));
    say("const long " + i + " = " + e + ";");
    scopes_.back()->counts.updates += 1;
    open("if (" + i + " >= " + low + " && " + i + " < " + high + ")", true);
    scopes_.back()->bound.insert(g_.ordinal(p.index));
    guard(f.rest, false);
  }
  for (const sent_index& p : f.places) {
    if (p.equal != no_node) continue;
    range r = range_of(p.index);
    for (const node_id c : f.lower)
      if (g_.arg(c, 1) == p.index)
        r.low = "std::max<long>(" + r.low + ", " + value(g_.arg(c, 0)) + (g_.kind(c) == op::less ? " + 1)" : ")");
    for (const node_id c : f.upper)
      if (g_.arg(c, 0) == p.index)
        r.high = "std::min<long>(" + r.high + ", " + value(g_.arg(c, 1)) + (g_.kind(c) == op::less ? ")" : " + 1)");
    enter(p.index, r, f.rest, false);
  }
  return 2 * f.places.size();
}

bool loop_printer::scatter(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name) {
  scatter_form f = form_of(reduce, free_ones);
  if (!can_scatter(reduce, free_ones, f)) return false;
  const node_id last = free_ones.back();
  say("std::fill_n(" + name + ", " + size_of(free_ones) + ", " + type_in_c(g_.type(reduce)) + "(" + identity(reduce) +
      "));");
  std::size_t opened = 0;
  const auto loop = [&](node_id j, bool shared) {
    enter(j, range_of(j), f.rest, shared);
    opened += 2;
  };
  for (const node_id j : free_ones)
    if (j != last && !f.is_sent(j)) loop(j, opened == 0);
  while (!f.bound.empty()) {  // one after those that its range depends on
    std::size_t k = 0;
    while (k + 1 < f.bound.size() && !g_.free[g_.arg(f.bound[k], 0)].within(scopes_.back()->bound)) ++k;
    loop(f.bound[k], false);
    f.bound.erase(f.bound.begin() + static_cast<std::ptrdiff_t>(k));
  }
  opened += enter_places(f);
  if (!f.is_sent(last)) loop(last, opened == 0);
  guard(f.rest, true);
  combine(reduce, table_place(name, free_ones));
  for (std::size_t k = 0; k <= opened; ++k) close();
  return true;
}

}  // namespace sheaf::bench
