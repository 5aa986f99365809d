// See loops.hpp: reductions, as loops of their own, as runs along a prefix, and as scatters.
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/graph/substitute.hpp>

#include "loops_scope.hpp"

namespace sheaf::bench {

namespace {
std::vector<node_id> bound_of(const graph& g, node_id reduce) {
  std::vector<node_id> left, order;
  for (int k = 2; k < g[reduce].count; ++k) left.push_back(g.arg(reduce, k));
  while (!left.empty()) {
    std::size_t k = 0;
    for (; k < left.size(); ++k) {
      bool ready = true;
      for (const node_id other : left) ready = ready && (other == left[k] || !g.free[left[k]].has(g.ordinal(other)));
      if (ready) break;
    }
    if (k == left.size()) k = 0;
    order.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return order;
}
template <class Visit>
void for_each_below(const graph& g, node_id n, std::vector<bool>& seen, Visit visit) {
  if (seen[static_cast<std::size_t>(n)]) return;
  seen[static_cast<std::size_t>(n)] = true;
  visit(n);
  const op kind = g.kind(n);
  if (kind == op::define || kind == op::index || kind == op::extent) return;
  for (int k = 0; k < g[n].count; ++k) for_each_below(g, g.arg(n, k), seen, visit);
}
std::string reduction_clause(monoid kind) {
  switch (kind) {
    case monoid::sum:
      return "+";
    case monoid::prod:
      return "*";
    case monoid::max:
      return "max";
    case monoid::min:
      return "min";
    case monoid::any:
      return "||";
    case monoid::all:
      return "&&";
    default:
      return {};
  }
}
}  // namespace

std::vector<node_id> loop_printer::conjuncts_of(node_id condition) const {
  if (is_true(g_, condition)) return {};
  if (g_.kind(condition) != op::logical_and) return {condition};
  std::vector<node_id> list = conjuncts_of(g_.arg(condition, 0));
  for (const node_id c : conjuncts_of(g_.arg(condition, 1))) list.push_back(c);
  return list;
}

std::string loop_printer::identity(node_id reduce) const {
  const std::string type = "std::numeric_limits<" + type_in_c(g_.type(g_.arg(reduce, 0))) + ">";
  const bool real = is_floating(g_.type(g_.arg(reduce, 0)));
  switch (monoid_of(g_, reduce)) {
    case monoid::prod:
    case monoid::all:
      return "1";
    case monoid::max:
    case monoid::argmax:
      return real ? "-" + type + "::infinity()" : type + "::lowest()";
    case monoid::min:
    case monoid::argmin:
      return real ? type + "::infinity()" : type + "::max()";
    default:
      return "0";
  }
}

void loop_printer::combine(node_id reduce, const std::string& into) {
  const node_id body = g_.arg(reduce, 0);
  const std::string v = value(body), type = type_in_c(g_.type(reduce));
  const bool real = is_floating(g_.type(body)), product = g_.kind(body) == op::mul;
  work_counts& c = scopes_.back()->counts;
  if (real) c.arithmetic += (product && monoid_of(g_, reduce) == monoid::sum ? 0 : 1) * (type == "double" ? 2 : 1);
  switch (monoid_of(g_, reduce)) {
    case monoid::sum:
      return say(into + " += " + v + ";");
    case monoid::prod:
      return say(into + " *= " + v + ";");
    case monoid::max:
      return say(into + " = largest<" + type + ">(" + into + ", " + v + ");");
    case monoid::min:
      return say(into + " = least<" + type + ">(" + into + ", " + v + ");");
    case monoid::any:
      return say(into + " = " + into + " || " + v + ";");
    case monoid::all:
      return say(into + " = " + into + " && " + v + ";");
    default:
      break;
  }
  const std::string at = leaf(g_.arg(reduce, 2)), less = monoid_of(g_, reduce) == monoid::argmax ? " > " : " < ";
  say("if (" + v + less + into + "_best) { " + into + "_best = " + v + "; " + into + " = " + at + "; }");
}

// Opens an if for the conjuncts that can be asked here; all: for those that are left.
void loop_printer::guard(std::vector<node_id>& conjuncts, bool all) {
  std::string asked;
  std::vector<node_id> later;
  for (const node_id c : conjuncts) {
    if (!all && !g_.free[c].within(scopes_.back()->bound)) {
      later.push_back(c);
      continue;
    }
    asked += (asked.empty() ? "" : " && ") + ("(" + value(c) + ")");
  }
  conjuncts = later;
  open("if (" + (asked.empty() ? "true" : asked) + ")", !asked.empty());
}

void loop_printer::fold_loops(node_id reduce, const std::vector<node_id>& order, const std::string& into) {
  std::vector<node_id> conjuncts = conjuncts_of(g_.arg(reduce, 1));
  const bool whole = scopes_.size() == 1;
  std::size_t opened = 0;
  for (std::size_t k = 0; k < order.size(); ++k, opened += 2) {
    guard(conjuncts, false);
    const range r = range_of(order[k]);
    const std::string clause = reduction_clause(monoid_of(g_, reduce));
    const bool shared = whole && k == 0 && !clause.empty();
    if (scopes_.back()->bound.has(g_.ordinal(order[k]))) failed_ = true;  // one name for two loops
    open((shared ? "#pragma omp parallel for reduction(" + clause + ":" + into + ")\n" : "") + loop_of(order[k], r));
    scopes_.back()->bound.insert(g_.ordinal(order[k]));
  }
  guard(conjuncts, true);
  combine(reduce, into);
  for (std::size_t k = 0; k <= opened; ++k) close();
}

// The same with indices that no loop around it has.
node_id loop_printer::with_own_names(node_id reduce) {
  flat<node_id> list, from, to;
  for (int k = 2; k < g_[reduce].count; ++k) {
    const node_id idx = g_.arg(reduce, k);
    if (!scopes_.back()->bound.has(g_.ordinal(idx))) continue;
    from.push(idx);
    to.push(index(g_, index_name(g_, idx), 900 + names_++, g_.arg(idx, 0), g_.arg(idx, 1)));
  }
  if (from.empty()) return reduce;
  substitution put(g_, from.data(), to.data(), from.size());
  for (int k = 0; k < g_[reduce].count; ++k) list.push(put(g_.arg(reduce, k)));
  return g_.intern(op::reduce, g_.type(reduce), g_[reduce].attribute, list.data(), list.size());
}

void loop_printer::fold(node_id named) {
  const node_id reduce = with_own_names(named);
  const std::string name = scopes_.back()->names[named], type = type_in_c(g_.type(reduce));
  if (row(monoid_of(g_, reduce)).position) {
    say(type_in_c(g_.type(g_.arg(reduce, 0))) + " " + name + "_best = " + identity(reduce) + ";");
    say("long " + name + " = -1;");
  } else {
    say(type + " " + name + " = " + identity(reduce) + ";");
  }
  fold_loops(reduce, bound_of(g_, reduce), name);
}

// ---- reductions that are stored for all places at once

bool loop_printer::closed(node_id index) const {
  return g_[index].count == 2 && g_.free[g_.arg(index, 0)].empty() && g_.free[g_.arg(index, 1)].empty();
}

// Is the index, or it and something more, the last subscript of a load?
bool loop_printer::last_in_loads(node_id body, node_id index) const {
  std::vector<bool> seen(static_cast<std::size_t>(g_.size()), false);
  bool last = false;
  for_each_below(g_, body, seen, [&](node_id n) {
    if (g_.kind(n) != op::load || g_[n].count < 2) return;
    const node_id e = g_.arg(n, g_[n].count - 1);
    last = last || (g_.free[e].has(g_.ordinal(index)) && g_.kind(e) != op::load);
  });
  return last;
}

void loop_printer::tables_in(node_id body, node_id target) {
  std::vector<bool> seen(static_cast<std::size_t>(g_.size()), false);
  std::vector<node_id> list;
  for_each_below(g_, body, seen, [&](node_id n) {
    if (g_.kind(n) == op::reduce) list.push_back(n);
  });
  std::sort(list.begin(), list.end());  // what is inside another comes before it
  for (const node_id n : list)
    if (tables_.count(n) == 0) table(n, target);
}

// The indices that a reduction depends on, those of a definition first and in its order.
std::vector<node_id> loop_printer::free_of(node_id reduce, node_id target) const {
  std::vector<node_id> list;
  for (int k = 1; k < g_[target].count; ++k)
    if (g_.free[reduce].has(g_.ordinal(g_.arg(target, k)))) list.push_back(g_.arg(target, k));
  for (int o = 0; o < g_.indices.size(); ++o)
    if (g_.free[reduce].has(o) && std::find(list.begin(), list.end(), g_.indices[o]) == list.end())
      list.push_back(g_.indices[o]);
  return list;
}

void loop_printer::storage(const std::string& name, sheaf::element type, const std::string& size) {
  const std::string c = type_in_c(type);
  say("static memory m" + name + "; " + c + "* __restrict " + name + " = static_cast<" + c + "*>(m" + name +
      ".of(sizeof(" + c + ") * (" + size + ")));");
}

bool loop_printer::table(node_id reduce, node_id target) {
  const std::vector<node_id> free_ones = free_of(reduce, target);
  const bool whole = g_.arg(target, 0) == reduce && static_cast<int>(free_ones.size()) == tensor_rank(g_, target);
  if (free_ones.empty() || row(monoid_of(g_, reduce)).position) return false;
  for (const node_id j : free_ones)
    if (!closed(j)) return false;
  if (whole && stored_type(g_.type(reduce)) != type_in_c(g_.type(reduce))) return false;  // rounded once, not each time
  const std::string name = whole ? tensor_name(target) : "t" + std::to_string(reduce);
  const std::string before = scopes_.back()->code;
  if (!whole) storage(name, g_.type(reduce), size_of(free_ones));
  if (run(reduce, free_ones, name) || scatter(reduce, free_ones, name)) {
    tables_[reduce] = {name, free_ones};
    return true;
  }
  scopes_.back()->code = before;
  return false;
}

std::string loop_printer::table_place(const std::string& name, const std::vector<node_id>& free_ones) {
  std::vector<std::string> subscripts, lows, extents;
  for (const node_id j : free_ones) {
    subscripts.push_back(leaf(j));
    lows.push_back(value(g_.arg(j, 0)));
    extents.push_back("(" + value(g_.arg(j, 1)) + " - " + value(g_.arg(j, 0)) + ")");
  }
  return place(name, subscripts, lows, extents);
}

// The index with which the range of the reduction grows, and nothing else of it.
node_id loop_printer::along_of(node_id reduce, const std::vector<node_id>& free_ones) {
  graph& g = g_;
  const node_id s = g.arg(reduce, 2), low = g.arg(s, 0), high = g.arg(s, 1);
  for (const node_id t : free_ones) {
    const int o = g.ordinal(t);
    if (g.free[g.arg(reduce, 0)].has(o) || g.free[g.arg(reduce, 1)].has(o)) continue;
    const bool in_low = g.free[low].has(o), in_high = g.free[high].has(o);
    const line l = split_affine(g, in_low ? low : high, t);
    if (in_low != in_high && l.affine && l.slope > 0) return t;
  }
  return no_node;
}

// Opens the loop along which ranges grow: folds what is new there, then stands where the result is stored.
void loop_printer::along_loop(node_id reduce, node_id along, node_id column, const std::string& cell) {
  const node_id s = g_.arg(reduce, 2), low = g_.arg(s, 0), high = g_.arg(s, 1);
  const bool forward = g_.free[high].has(g_.ordinal(along));
  const std::string i = leaf(s), t = leaf(along);
  const range r = range_of(along), columns = column == no_node ? range{} : range_of(column);
  const auto each_column = [&] {
    if (column == no_node) return;
    open(loop_of(column, columns));
    scopes_.back()->bound.insert(g_.ordinal(column));
  };
  open(forward ? loop_of(along, r)
               : "for (long " + t + " = " + r.high + " - 1; " + t + " >= " + r.low + "; --" + t + ")");
  scopes_.back()->bound.insert(g_.ordinal(along));
  open("for (; " + i + (forward ? " < " + value(high) + "; ++" : " >= " + value(low) + "; --") + i + ")");
  scopes_.back()->bound.insert(g_.ordinal(s));
  each_column();
  std::vector<node_id> conjuncts = conjuncts_of(g_.arg(reduce, 1));
  guard(conjuncts, true);
  combine(reduce, cell);
  for (int k = 0; k < (column == no_node ? 2 : 3); ++k) close();
  each_column();
}

// Ranges that grow with one index, from either end: what was folded for the place before is kept.
bool loop_printer::run(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name) {
  const node_id along = g_[reduce].count == 3 ? along_of(reduce, free_ones) : no_node;
  if (along == no_node) return false;
  const node_id s = g_.arg(reduce, 2), low = g_.arg(s, 0), high = g_.arg(s, 1);
  const bool forward = g_.free[high].has(g_.ordinal(along));
  const bool row = free_ones.back() != along;
  const std::string i = leaf(s), type = type_in_c(g_.type(reduce));
  std::size_t opened = 0;
  for (const node_id j : free_ones) {
    if (j == along || (row && j == free_ones.back())) continue;
    open((opened++ == 0 ? "#pragma omp parallel for\n" : "") + loop_of(j, range_of(j)));
    scopes_.back()->bound.insert(g_.ordinal(j));
  }
  const node_id last = free_ones.back();
  const range columns = row ? range_of(last) : range{"0l", "1l"};
  const std::string sums = name + "_run", cell = sums + "[" + (row ? leaf(last) + " - " + columns.low : "0") + "]";
  say("std::vector<" + type + "> " + sums + "(static_cast<std::size_t>(std::max(0l, " + columns.high + " - " +
      columns.low + ")), " + identity(reduce) + ");");
  say("long " + i + " = " + (forward ? value(low) : value(high) + " - 1") + ";");
  along_loop(reduce, along, row ? last : no_node, cell);
  say(table_place(name, free_ones) + " = " + cell + ";");
  for (std::size_t k = 0; k < opened + (row ? 2 : 1); ++k) close();
  return true;
}

}  // namespace sheaf::bench
