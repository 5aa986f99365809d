#include <sheaf/jit/plan/algorithms/scan/scans.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/passes/running_derivative.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/algorithms/recurrence/recurrence.hpp>
#include <sheaf/jit/plan/algorithms/scan/descending.hpp>
#include <sheaf/jit/plan/algorithms/scan/scan_results.hpp>
#include <sheaf/jit/plan/algorithms/scan/states.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/separate.hpp>
#include <sheaf/jit/plan/sliding.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/algorithms/window/windows.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace numerics::scan;
using tuning::scan::window_from;

// A value with a reduction in it is stored first, so that scans walk over what is there.
node_id plain_value(const context& c, node_id value, const stage& s) {
  graph& g = c.g;
  if (!holds(g, value, op::reduce)) return value;
  if (g.kind(value) == op::tuple) {
    flat<node_id> parts;
    for (int k = 0; k < g[value].count; ++k) parts.push(plain_value(c, g.arg(value, k), s));
    return tuple(g, parts);
  }
  return stored(c, value, {"materialised", layout_of(c, value, s), "a scan walks over it"});
}

// The fold of each block of `size` places of `walk`, and from them, by a scan, what comes before each block.
void carry_blocks(const context& c, stage& s) {
  graph& g = c.g;
  scan_form& f = s.scan();
  const node_id low = g.arg(f.walk, 0), high = g.arg(f.walk, 1), size = integer(g, f.block);
  // Of an exclusive scan the results may have one block more than the values.
  const node_id count = make(g, op::quotient, plus(g, make(g, op::sub, g.arg(s.owned, 1), low), f.block - 1), size);
  const node_id p = fresh_index(g, f.walk, integer(g, 0), count);
  const node_id start = make(g, op::add, low, make(g, op::mul, p, size));
  const node_id part = fresh_index(g, f.walk, start, make(g, op::minimum, make(g, op::add, start, size), high));
  replacement put(g, proofs::kept);
  put.add(f.walk, part);
  const node_id q =
      f.backward ? fresh_index(g, f.walk, plus(g, p, 1), count) : fresh_index(g, f.walk, integer(g, 0), p);
  replacement earlier(g, proofs::kept);
  earlier.add(p, q);
  f.block_index = p;
  const std::string reason = "blocks of " + std::to_string(f.block) + ", so that tasks can share the scan";
  const bool ordered = runs_in_lanes_of_group(c, s);
  const auto total = [&](monoid fold, element type, node_id value) {
    const node_id whole = intern_reduce(g, fold, type, value, truth(g, true), {part});
    const node_id made = proven(g, stored(c, whole, {"partial", layout_of(c, f.value, s), reason, origin::partial}));
    if (ordered) make_ends(stage_behind(c, made), f, fold, p);
    return made;
  };
  const auto carry = [&](monoid fold, element type, node_id totals) {
    const node_id sum = intern_reduce(g, fold, type, earlier(totals), truth(g, true), {q});
    return proven(g, stored(c, sum, {"carried", layout_of(c, totals, s), "what comes before each block"}));
  };
  const bool several = g.kind(f.value) == op::tuple;
  const int values = several ? g[f.value].count : 1;
  const auto fold_of = [&](int k) { return several ? sibling(g, f.fold, k) : f.fold; };
  const auto type_of = [&](int k) {
    return several ? own_row_of(g, fold_of(k)).type : numerics::carried(f.fold, folded_type(g, s));
  };
  flat<node_id> totals, carries;
  const node_id value = several ? put(f.value) : cast_to(g, type_of(0), put(f.value));
  for (int k = 0; k < values; ++k) totals.push(total(fold_of(k), type_of(k), value));
  const node_id state = several ? tuple(g, totals) : totals[0];
  const std::vector<bool> needed = needed_of_carry(g, f, values);
  for (int k = 0; k < values; ++k)
    carries.push(needed[static_cast<std::size_t>(k)] ? carry(fold_of(k), type_of(k), state)
                                                     : own_row_of(g, fold_of(k)).identity);
  f.carry = several ? tuple(g, carries) : carries[0];
}

// The results of a scan in blocks, if it pays.
void share_scan(const context& c, stage& s);

// The body of a stage is a running result, or a function of one: it runs as a scan.
void make_scan(const context& c, stage& s, const sliding& r, bool is_function) {
  graph& g = c.g;
  const node_id body = s.body;
  const walked w = value_along(g, r);
  scan_form& f = s.form.emplace<scan_form>();
  f.fold = monoid_of(g, r.reduce);
  f.value = plain_value(c, w.value, s);
  f.walk = w.walk;
  if (is_function) name_function(g, f, r, body);
  const bound_line low = bound_of(g, r.low, r.over), high = bound_of(g, r.high, r.over);
  f.backward = low.slope == 1;
  f.shift = g[f.backward ? low.rest : high.rest].attribute;
  s.how = way::scan;
  s.owned = r.over;
  s.body = f.value;
  s.reasons.push_back(std::string("scan: its range ") + (f.backward ? "begins" : "ends") +
                      " at the index itself; one pass" + (f.backward ? ", backward" : ""));
  share_scan(c, s);
  if (is_function) read_function(g, s);
}

void share_scan(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  scan_form& f = s.scan();
  index_set others = g.free[f.value];
  others.erase(g.ordinal(f.walk));
  const amount rows = known.trips(others), places = known.trips(f.walk);
  const bool begins = known_equal(g, g.arg(f.walk, 0), g.arg(s.owned, 0)), inclusive = f.shift == (f.backward ? 0 : 1);
  const bool aligned = begins && (inclusive || (!f.backward && f.shift == 0));
  // A GPU's lanes along another index are one chain each: what counts is its warps.
  const bool lanes_aside = known.for_groups() && s.indices.back() != s.owned;
  const amount chains = lanes_aside ? rows / tuning::grid::warp : rows;
  const bool ordered = runs_in_lanes_of_group(c, s);  // a warp's each
  const double many =
      ordered ? tuning::tasks::warps_of_gpu : known.enough_tasks() * (known.for_groups() ? gpu_rows : many_rows);
  if (!aligned || !all_of({shapes::less_than(chains, many), {rows * places, known.elements(blocks_from)}})) return;
  std::int64_t block = least_block;
  while (static_cast<double>(block) * rows < known.elements(block_elements)) block *= 2;
  // Tiles of a GPU: as many as it asks for, not more, for each of them keeps a total.
  while ((lanes_aside || ordered) && places / static_cast<double>(2 * block) * chains >= tuning::grid::enough_tiles)
    block *= 2;
  while (ordered && block < 2 * numerics::group_scan_lanes) block *= 2;
  if (places < 4 * static_cast<double>(block)) return;
  f.block = block;
  carry_blocks(c, s);
  if (g.kind(f.value) != op::tuple) {
    // As it stands: a mask of the value is none of what was carried, which may be infinite or NaN.
    const node_id both[] = {f.value, f.carry};
    s.body = f.fold == monoid::prod ? g.intern(op::mul, g.type(f.value), 0, both, 2)
                                    : combined(g, f.fold, f.value, f.carry);
    return;
  }
  flat<node_id> read = values_of(g, f.value);
  for (const node_id v : values_of(g, f.carry)) read.push(v);
  s.body = tuple(g, read);
}

// A scan in blocks that begin anew, as a stage of its own: the fold of each block up to a place, or from it on.
struct folded_blocks {
  walked of;
  monoid fold;
  element type;
  std::int64_t size;
  bool backward;
};
node_id blocks(const context& c, const folded_blocks& b, const stage& s, const std::string& reason) {
  graph& g = c.g;
  const auto& [w, fold, type, size, backward] = b;
  const node_id index_like = w.walk;
  const node_id low = g.arg(w.walk, 0), high = g.arg(w.walk, 1);
  const node_id start =
      make(g, op::add, low,
           make(g, op::mul, make(g, op::quotient, make(g, op::sub, w.walk, low), integer(g, size)), integer(g, size)));
  const node_id inner = backward ? fresh_index(g, index_like, w.walk, make(g, op::minimum, plus(g, start, size), high))
                                 : fresh_index(g, index_like, start, plus(g, w.walk, 1));
  const node_id whole =
      intern_reduce(g, fold, type, with(g, w.value, w.walk, inner, proofs::kept), truth(g, true), {inner});
  const node_id result =
      stored(c, whole, {backward ? "rest_of_block" : "begun_block", layout_of(c, w.value, s), reason});
  stage& made = stage_behind(c, result);
  made.how = way::scan;
  made.owned = w.walk;
  made.body = w.value;
  made.form = scan_form{.fold = fold,
                        .value = w.value,
                        .walk = w.walk,
                        .shift = backward ? 0 : 1,
                        .backward = backward,
                        .block = size,
                        .open = backward};
  return result;
}

// Has the range an element wherever it is asked for?
bool has_elements(graph& g, const sliding& r) { return known_less_equal(g, plus(g, r.low, 1), r.high); }

// The same load with one subscript replaced, by an end of the range: where that may be empty it lies outside, and both
// arms of the select that does not take it are evaluated.
node_id at(graph& g, const sliding& r, node_id loaded, node_id idx, node_id place) {
  replacement put(g);
  put.add(idx, place);
  return has_elements(g, r) ? proven(g, put(loaded)) : put(loaded);
}

bool pays(graph& g, const facts& known, const sliding& r, std::int64_t width) {
  const amount results = known.trips(r.over),
               stride = static_cast<double>(std::max<std::int64_t>(1, bound_of(g, r.low, r.over).slope));
  return static_cast<double>(width) >= window_from * stride && results * stride >= static_cast<double>(width);
}

// A running result whose range is cut, or grows by other steps: it is read from a plain one. So is what comes after a
// place of a long axis: the result one further of a scan in blocks, where there is one; its load asks for itself
// whether it is inside.
node_id make_lookup(const context& c, const sliding& r, bool backward, bool is_later, const stage& s) {
  graph& g = c.g;
  const walked w = value_along(g, r);
  const monoid fold = monoid_of(g, r.reduce);
  const node_id inner = backward ? fresh_index(g, w.walk, w.walk, g.arg(w.walk, 1))
                                 : fresh_index(g, w.walk, g.arg(w.walk, 0), plus(g, w.walk, 1));
  replacement put(g, proofs::kept), place(g);
  put.add(w.walk, inner);
  place.add(w.walk, backward ? r.low : plus(g, r.high, -1));
  const node_id value = put(w.value);
  const node_id whole = intern_reduce(g, fold, g.type(r.reduce), value, truth(g, true), {inner});
  const node_id running = stored(c, whole, {"running", layout_of(c, w.value, s), "a scan that others look up"});
  const bool inside = !is_later && has_elements(g, r);
  const node_id found = inside ? proven(g, place(running)) : place(running);
  return make(g, op::select, make(g, op::less, r.low, r.high), found, identity_of(g, fold, g.type(r.reduce)));
}
bool is_later(graph& g, const facts& known, const sliding& r, const stage& s) {
  const bound_line low = bound_of(g, r.low, r.over);
  if (low.slope != 1 || !is_number(g, low.rest, 1)) return false;
  if (!known.for_groups()) return known.trips(r.over) >= known.elements(blocks_from);
  // A GPU's chains are cut where they are few, and a state's lanes along the last index are a warp's.
  index_set others = g.free[r.reduce];
  others.erase(g.ordinal(r.over));
  const amount rows = known.trips(others), places = known.trips(r.over);
  const bool along = s.indices.back() == r.over;
  if (along && !folds_tuple(g, r.reduce)) return places >= known.elements(blocks_from);
  const amount chains = along ? rows : rows / tuning::grid::warp;
  const double many = along ? tuning::tasks::warps_of_gpu : known.enough_tasks() * gpu_rows;
  return shapes::all_of({shapes::less_than(chains, many), {rows * places, known.elements(blocks_from)}});
}

// The reduction with subscripts in which a bound index cancels, as in x(t + (i - t)), without it.
node_id without_cancelled(graph& g, node_id n) {
  replacement put(g, proofs::kept);
  bool any = false;
  const std::vector<node_id> list = bound_indices(g, n);
  for_each_node(g, g.arg(n, 1), [&](node_id e) {
    if (g.kind(e) != op::load) return;
    for (int k = 1; k < g[e].count; ++k)
      for (const node_id idx : list) {
        const node_id subscript = g.arg(e, k);
        if (!g.free[subscript].has(g.ordinal(idx))) continue;
        const line l = split_affine(g, subscript, idx);
        if (!l.affine || l.slope != 0) continue;
        put.add(subscript, l.rest);
        any = true;
      }
  });
  if (!any) return n;
  // A range may hold such a subscript too; the loops stay as they are.
  for (const node_id idx : indices_of(g, g.free[g.arg(n, 1)])) put.rename(idx, idx);
  const node_id condition = put(g.arg(n, 1));
  return intern_reduce(g, monoid_of(g, n), g.type(n), g.arg(n, 0), condition, list);
}

bool is_running(graph& g, const sliding& r) {
  const bound_line low = bound_of(g, r.low, r.over), high = bound_of(g, r.high, r.over);
  if (!low.affine || !high.affine || low.slope + high.slope != 1 || low.slope * high.slope != 0) return false;
  const bound_line& moving = low.slope == 1 ? low : high;
  return !moving.limited && is_constant(g, moving.rest);
}

enum class range_kind : std::uint8_t { none, running, growing, shrinking, window };

range_kind kind_of(graph& g, site& at) {
  if (!at.slides()) return range_kind::none;
  const sliding& r = at.range();
  if (is_running(g, r)) return range_kind::running;
  if (!uses(g, r.high, r.over)) return range_kind::shrinking;
  return uses(g, r.low, r.over) ? range_kind::window : range_kind::growing;
}

// As a recurrence. On a GPU such a fold is a scan like others, whose state is a map.
bool folds_maps(const context& c, node_id n) {
  graph& g = c.g;
  return !c.known.for_groups() && folds_tuple(g, n) && derivative::is_chain(g, monoid_of(g, n)) &&
         own_row_of(g, monoid_of(g, n)).component == 1;
}

// The rule's result in the place of the reduction, if there is one.
bool put_in(const context& c, stage& s, const site& at, node_id instead) {
  if (instead == no_node || instead == at.node) return false;
  replace_in(c.g, s, at.node, instead);
  return true;
}

}  // namespace

// [a, a + w): what is left of a's block, less a whole one, joined with what was begun of the next. A window cut at its
// beginning is begun there; one cut at its end that lies within the last block is what is left of it.
flat<node_id> window_by_two_scans(const context& c, const sliding& r, std::int64_t width, const stage& s) {
  graph& g = c.g;
  walked w = value_along(g, r);
  w.value = plain_value(c, w.value, s);
  const monoid fold = monoid_of(g, r.reduce);
  const element materialised = numerics::accumulated(g.type(r.reduce));
  const std::string reason =
      "window of " + std::to_string(width) + ": running blocks of its size, so that its cost does not grow with it";
  flat<node_id> lefts, rights, result, none;
  const auto add_ends = [&](monoid own, element held, node_id value) {
    const walked part{w.walk, value};
    const node_id rest = blocks(c, {part, own, held, width, true}, s, reason);
    const node_id begun = blocks(c, {part, own, held, width, false}, s, reason);
    lefts.push(at(g, r, rest, w.walk, r.low));
    rights.push(at(g, r, begun, w.walk, plus(g, r.high, -1)));
  };
  if (g.kind(w.value) == op::tuple) {
    const int count = g[w.value].count;
    for (int k = 0; k < count; ++k) {
      const monoid own = sibling(g, fold, k), plain = folded_alone(g, own, count);
      none.push(own_row_of(g, own).identity);
      add_ends(plain, own_row_of(g, own).type, plain == own ? w.value : g.arg(w.value, k));
    }
    result = combined(g, fold, lefts, rights);
  } else {
    none.push(identity_of(g, fold, materialised));
    add_ends(fold, materialised, cast_to(g, materialised, w.value));
    result.push(combined(g, fold, lefts[0], rights[0]));
  }
  const node_id first = g.arg(w.walk, 0), size = integer(g, width);
  node_id begins_last = no_node, some = no_node;
  if (bound_of(g, r.high, r.over).limited) {
    const node_id places = make(g, op::sub, plus(g, g.arg(w.walk, 1), -1), first);
    const node_id last_block = make(g, op::add, first, make(g, op::mul, make(g, op::quotient, places, size), size));
    begins_last = make(g, op::less, last_block, r.low);
  }
  if (!has_elements(g, r)) some = make(g, op::less, r.low, r.high);
  flat<node_id> state;
  for (int k = 0; k < result.size(); ++k) {
    node_id value = result[k];
    if (begins_last != no_node) value = make(g, op::select, begins_last, lefts[k], value);
    if (some != no_node) value = make(g, op::select, some, value, none[k]);
    state.push(value);
  }
  return state;
}

bool cancel_subscripts(const context& c, stage& s, site& at) {
  if (const node_id up = ascending(c.g, at.node); up != at.node) return put_in(c, s, at, up);
  return put_in(c, s, at, without_cancelled(c.g, at.node));
}

bool separate_factors(const context& c, stage& s, site& at) {
  return !at.slides() && put_in(c, s, at, separated(c.g, at.node));
}

bool scan_maps(const context& c, stage& s, site& at) {
  if (kind_of(c.g, at) != range_kind::running || !folds_maps(c, at.node)) return false;
  return put_in(c, s, at, take_chain(c, at.range(), s));
}

bool scan_of_what_follows(const context& c, stage& s, site& at) {
  if (at.node != s.body || kind_of(c.g, at) != range_kind::running || folds_maps(c, at.node)) return false;
  return is_later(c.g, c.known, at.range(), s) &&
         put_in(c, s, at, make_lookup(c, at.range(), true, true, s));
}

bool scan(const context& c, stage& s, site& at) {
  if (kind_of(c.g, at) != range_kind::running || folds_maps(c, at.node)) return false;
  // A state's value may be rounded as it is stored.
  const bool rounded = c.known.for_groups() && folds_tuple(c.g, at.node) && is_floating(c.g.type(s.body)) &&
                       c.g.kind(s.body) == op::cast && c.g.arg(s.body, 0) == at.node;
  const bool is_function = at.node != s.body && !rounded && is_function_of_scan(c, s, at.range());
  if (at.node == s.body || rounded || is_function) {
    make_scan(c, s, at.range(), is_function);
    return true;
  }
  const node_id whole = c.known.for_groups() ? as_used(c.g, s.body, at.node) : at.node;
  const stage like = layout_of(c, at.node, s);
  replace_in(c.g, s, whole, proven(c.g, stored(c, whole, {"scanned", like, "a scan inside an expression"})));
  return true;
}

bool look_up_scan(const context& c, stage& s, site& at) {
  const range_kind kind = kind_of(c.g, at);
  if (kind != range_kind::growing && kind != range_kind::shrinking) return false;
  const bool backward = kind == range_kind::shrinking;
  return put_in(c, s, at, make_lookup(c, at.range(), backward, false, s));
}

bool window_in_one_pass(const context& c, stage& s, site& at) {
  if (kind_of(c.g, at) != range_kind::window) return false;
  if (folds_tuple(c.g, at.node) || in_order(c.g, monoid_of(c.g, at.node))) return false;
  return take_window(c, at.range(), s);
}

bool window_of_two_scans(const context& c, stage& s, site& at) {
  if (kind_of(c.g, at) != range_kind::window) return false;
  const std::int64_t width = width_of(c.g, at.range());
  if (width <= 0 || !pays(c.g, c.known, at.range(), width)) return false;
  const flat<node_id> state = window_by_two_scans(c, at.range(), width, s);
  const monoid fold = monoid_of(c.g, at.node);
  const int component = folds_tuple(c.g, at.node) ? own_row_of(c.g, fold).component : 0;
  return put_in(c, s, at, cast_to(c.g, c.g.type(at.node), state[component]));
}

}  // namespace sheaf::inline v0_1::plan
