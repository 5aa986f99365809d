// See loops.hpp: reductions, as loops of their own, as runs along a prefix, and as scatters.
#include <sheaf/dsl/graph/affine.hpp>

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
    case monoid::sum: return "+";
    case monoid::prod: return "*";
    case monoid::max: return "max";
    case monoid::min: return "min";
    case monoid::any: return "||";
    case monoid::all: return "&&";
    default: return {};
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
    case monoid::all: return "1";
    case monoid::max:
    case monoid::argmax: return real ? "-" + type + "::infinity()" : type + "::lowest()";
    case monoid::min:
    case monoid::argmin: return real ? type + "::infinity()" : type + "::max()";
    default: return "0";
  }
}

void loop_printer::combine(node_id reduce, const std::string& into) {
  const node_id body = g_.arg(reduce, 0);
  const std::string v = value(body), type = type_in_c(g_.type(reduce));
  const bool real = is_floating(g_.type(body)), product = g_.kind(body) == op::mul;
  work_counts& c = scopes_.back()->counts;
  if (real) c.arithmetic += (product && monoid_of(g_, reduce) == monoid::sum ? 0 : 1) * (type == "double" ? 2 : 1);
  switch (monoid_of(g_, reduce)) {
    case monoid::sum: return say(into + " += " + v + ";");
    case monoid::prod: return say(into + " *= " + v + ";");
    case monoid::max: return say(into + " = largest<" + type + ">(" + into + ", " + v + ");");
    case monoid::min: return say(into + " = least<" + type + ">(" + into + ", " + v + ");");
    case monoid::any: return say(into + " = " + into + " || " + v + ";");
    case monoid::all: return say(into + " = " + into + " && " + v + ";");
    default: break;
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

void loop_printer::fold(node_id reduce) {
  const std::string name = scopes_.back()->names[reduce], type = type_in_c(g_.type(reduce));
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

bool loop_printer::table(node_id reduce, node_id target) {
  std::vector<node_id> free_ones;
  for (int k = 1; k < g_[target].count; ++k)
    if (g_.free[reduce].has(g_.ordinal(g_.arg(target, k)))) free_ones.push_back(g_.arg(target, k));
  const bool whole = g_.arg(target, 0) == reduce && static_cast<int>(free_ones.size()) == tensor_rank(g_, target);
  for (int o = 0; o < g_.indices.size(); ++o)
    if (g_.free[reduce].has(o) && std::find(free_ones.begin(), free_ones.end(), g_.indices[o]) == free_ones.end())
      free_ones.push_back(g_.indices[o]);
  if (free_ones.empty() || row(monoid_of(g_, reduce)).position) return false;
  for (const node_id j : free_ones)
    if (!closed(j)) return false;
  const std::string name = whole ? tensor_name(target) : "t" + std::to_string(reduce);
  const bool narrow = g_.type(reduce) == element::f16 || g_.type(reduce) == element::bf16;
  if (whole && narrow) return false;
  const std::string before = scopes_.back()->code;
  if (!whole) {
    std::string size = "1";
    for (const node_id j : free_ones) size += " * std::max(0l, " + value(g_.arg(j, 1)) + " - " + value(g_.arg(j, 0)) + ")";
    const std::string type = type_in_c(g_.type(reduce));
    say("static memory m" + name + "; " + type + "* __restrict " + name + " = static_cast<" + type + "*>(m" + name +
        ".of(sizeof(" + type + ") * (" + size + ")));");
  }
  if (run(reduce, free_ones, name) || scatter(reduce, free_ones, name)) {
    tables_[reduce] = {name, free_ones};
    return true;
  }
  scopes_.back()->code = before;
  return false;
}

std::string loop_printer::table_place(node_id reduce, const std::string& name, const std::vector<node_id>& free_ones) {
  (void)reduce;
  std::vector<std::string> subscripts, lows, extents;
  for (const node_id j : free_ones) {
    subscripts.push_back(leaf(j));
    lows.push_back(value(g_.arg(j, 0)));
    extents.push_back("(" + value(g_.arg(j, 1)) + " - " + value(g_.arg(j, 0)) + ")");
  }
  return place(name, subscripts, lows, extents);
}

// Ranges that grow with one index, from either end: what was folded for the place before is kept.
bool loop_printer::run(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name) {
  const std::vector<node_id> bound = bound_of(g_, reduce);
  if (bound.size() != 1) return false;
  const node_id s = bound[0], low = g_.arg(s, 0), high = g_.arg(s, 1);
  node_id along = no_node;
  bool forward = true;
  for (const node_id t : free_ones) {
    const int o = g_.ordinal(t);
    if (g_.free[g_.arg(reduce, 0)].has(o) || g_.free[g_.arg(reduce, 1)].has(o)) continue;
    const bool in_low = g_.free[low].has(o), in_high = g_.free[high].has(o);
    const line l = split_affine(g_, in_low ? low : high, t);
    if (in_low == in_high || !l.affine || l.slope <= 0) continue;
    along = t;
    forward = in_high;
  }
  if (along == no_node) return false;
  const bool row = free_ones.back() != along;
  const std::string i = leaf(s), t = leaf(along), type = type_in_c(g_.type(reduce));
  std::size_t opened = 0;
  for (const node_id j : free_ones) {
    if (j == along || (row && j == free_ones.back())) continue;
    open((opened++ == 0 ? "#pragma omp parallel for\n" : "") + loop_of(j, range_of(j)));
    scopes_.back()->bound.insert(g_.ordinal(j));
  }
  const node_id last = free_ones.back();
  const range along_range = range_of(along), columns = row ? range_of(last) : range{"0l", "1l"};
  const std::string sums = name + "_run", cell = sums + "[" + (row ? leaf(last) + " - " + columns.low : "0") + "]";
  say("std::vector<" + type + "> " + sums + "(static_cast<std::size_t>(std::max(0l, " + columns.high + " - " + columns.low +
      ")), " + identity(reduce) + ");");
  say("long " + i + " = " + (forward ? value(low) : value(high) + " - 1") + ";");
  open(forward ? loop_of(along, along_range)
               : "for (long " + t + " = " + along_range.high + " - 1; " + t + " >= " + along_range.low + "; --" + t + ")");
  scopes_.back()->bound.insert(g_.ordinal(along));
  const std::string bound_text = forward ? "; " + i + " < " + value(high) + "; ++" + i : "; " + i + " >= " + value(low) + "; --" + i;
  open("for (" + bound_text + ")");
  scopes_.back()->bound.insert(g_.ordinal(s));
  if (row) {
    open(loop_of(last, columns));
    scopes_.back()->bound.insert(g_.ordinal(last));
  }
  std::vector<node_id> conjuncts = conjuncts_of(g_.arg(reduce, 1));
  guard(conjuncts, true);
  combine(reduce, cell);
  for (int k = 0; k < (row ? 3 : 2); ++k) close();
  if (row) {
    open(loop_of(last, columns));
    scopes_.back()->bound.insert(g_.ordinal(last));
  }
  say(table_place(reduce, name, free_ones) + " = " + cell + ";");
  for (std::size_t k = 0; k < opened + (row ? 2 : 1); ++k) close();
  return true;
}

}  // namespace sheaf::bench
