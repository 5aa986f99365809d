// See loops.hpp: folds that data sends to their results, and folds of rows, as loops over what is folded.
#include "loops_scope.hpp"

namespace sheaf::bench {

namespace {
struct sent {  // where an index of the results comes from
  node_id index = no_node;
  node_id equal = no_node;
  std::vector<std::string> lows{}, highs{};
};
}  // namespace

bool loop_printer::scatter(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name) {
  std::vector<node_id> bound, conjuncts;
  for (int k = 2; k < g_[reduce].count; ++k) bound.push_back(g_.arg(reduce, k));
  index_set folded, results;
  for (const node_id b : bound) folded.insert(g_.ordinal(b));
  std::vector<sent> places;
  std::vector<node_id> lower, upper;
  const std::vector<node_id> all = conjuncts_of(g_.arg(reduce, 1));
  const auto is_sent = [&](node_id j) {
    return std::any_of(places.begin(), places.end(), [&](const sent& p) { return p.index == j; });
  };
  const auto side = [&](node_id c, int k, op kind) {  // the index of the results that is on this side, by itself
    const node_id j = g_.arg(c, k), e = g_.arg(c, 1 - k);
    if (g_.kind(c) != kind || g_.kind(j) != op::index || g_.free[e].has(g_.ordinal(j))) return no_node;
    if (std::find(free_ones.begin(), free_ones.end(), j) == free_ones.end()) return no_node;
    return g_.free[e].meets(folded) ? j : no_node;
  };
  std::vector<node_id> used;
  for (const node_id c : all)
    for (int k = 0; k < 2; ++k)
      if (const node_id j = g_[c].count == 2 ? side(c, k, op::equal) : no_node; j != no_node && !is_sent(j)) {
        places.push_back({j, g_.arg(c, 1 - k)});
        used.push_back(c);
        break;
      }
  for (const node_id j : free_ones) {
    if (is_sent(j)) continue;
    sent s{j};
    std::vector<node_id> from, to;
    for (const node_id c : all) {
      if (g_[c].count != 2) continue;
      if (side(c, 1, op::less_equal) == j || side(c, 1, op::less) == j) from.push_back(c);
      if (side(c, 0, op::less_equal) == j || side(c, 0, op::less) == j) to.push_back(c);
    }
    if (from.empty() || to.empty()) continue;
    places.push_back(s);
    for (const node_id c : from) lower.push_back(c);
    for (const node_id c : to) upper.push_back(c);
  }
  for (const sent& p : places) results.insert(g_.ordinal(p.index));
  for (const node_id b : bound)
    if (g_.free[b].meets(results)) return false;
  for (const sent& p : places)
    if (p.equal != no_node && g_.free[p.equal].meets(results)) return false;
  const node_id last = free_ones.back();
  const bool rows = places.empty() && last_in_loads(g_.arg(reduce, 0), last) &&
                    !last_in_loads(g_.arg(reduce, 0), bound.back()) && !g_.free[g_.arg(reduce, 1)].has(g_.ordinal(last));
  for (const node_id b : bound)
    if (rows && g_.free[b].has(g_.ordinal(last))) return false;
  if (places.empty() && !rows) return false;
  if (monoid_of(g_, reduce) == monoid::any || monoid_of(g_, reduce) == monoid::all) {
    if (rows) return false;
  }

  for (const node_id c : all)
    if (std::find(used.begin(), used.end(), c) == used.end() && std::find(lower.begin(), lower.end(), c) == lower.end() &&
        std::find(upper.begin(), upper.end(), c) == upper.end())
      conjuncts.push_back(c);
  std::string size = "1";
  for (const node_id j : free_ones) size += " * std::max(0l, " + value(g_.arg(j, 1)) + " - " + value(g_.arg(j, 0)) + ")";
  say("std::fill_n(" + name + ", " + size + ", " + type_in_c(g_.type(reduce)) + "(" + identity(reduce) + "));");

  std::size_t opened = 0;
  const auto enter = [&](node_id j, const range& r, bool shared) {
    if (scopes_.back()->bound.has(g_.ordinal(j))) failed_ = true;
    open((shared ? "#pragma omp parallel for\n" : "") + loop_of(j, r));
    scopes_.back()->bound.insert(g_.ordinal(j));
    guard(conjuncts, false);
    opened += 2;
  };
  for (const node_id j : free_ones)
    if (j != last && !is_sent(j)) enter(j, range_of(j), opened == 0);
  while (!bound.empty()) {
    std::size_t k = 0;
    while (k + 1 < bound.size() && !g_.free[bound[k]].within(scopes_.back()->bound)) ++k;
    enter(bound[k], range_of(bound[k]), false);
    bound.erase(bound.begin() + static_cast<std::ptrdiff_t>(k));
  }
  for (const sent& p : places) {
    if (p.equal == no_node) continue;
    const std::string i = leaf(p.index), e = value(p.equal), low = value(g_.arg(p.index, 0)), high = value(g_.arg(p.index, 1));
    say("const long " + i + " = " + e + ";");
    scopes_.back()->counts.updates += 1;
    open("if (" + i + " >= " + low + " && " + i + " < " + high + ")", true);
    scopes_.back()->bound.insert(g_.ordinal(p.index));
    guard(conjuncts, false);
    opened += 2;
  }
  for (const sent& p : places) {
    if (p.equal != no_node) continue;
    range r = range_of(p.index);
    for (const node_id c : lower)
      if (g_.arg(c, 1) == p.index)
        r.low = "std::max<long>(" + r.low + ", " + value(g_.arg(c, 0)) + (g_.kind(c) == op::less ? " + 1)" : ")");
    for (const node_id c : upper)
      if (g_.arg(c, 0) == p.index)
        r.high = "std::min<long>(" + r.high + ", " + value(g_.arg(c, 1)) + (g_.kind(c) == op::less_equal ? " + 1)" : ")");
    enter(p.index, r, false);
  }
  if (!is_sent(last)) enter(last, range_of(last), opened == 0);
  guard(conjuncts, true);
  combine(reduce, table_place(reduce, name, free_ones));
  for (std::size_t k = 0; k <= opened; ++k) close();
  return true;
}

}  // namespace sheaf::bench
