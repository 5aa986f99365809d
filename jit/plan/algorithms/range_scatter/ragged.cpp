#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/exponentials.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/vouched.hpp>
#include <sheaf/jit/plan/zero_terms.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::range_scatter;

// Rows that stay in a core's cache between two walks.
std::int64_t short_slice_rows(const facts& known) { return known.call().force_for_tests ? 3 : short_slice; }

// ---- conditions as ranges

struct bound_by_data {
  node_id index = no_node, low = no_node, high = no_node, rest = no_node;
  std::vector<node_id> said_by_terms = {};  // and by the range now
};

// The first bound index whose condition gives it a range, with what remains of the condition. So does one of data that
// each term of a sum has for itself.
bound_by_data bound_in(graph& g, node_id n) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  const int said = list.size();
  needed_conditions needed(g);
  if (monoid_of(g, n) == monoid::sum && is_floating(g.type(n)))
    for (const node_id c : needed.of(g.arg(n, 0)))
      if (holds(g, c, op::load)) list.push(c);
  const auto bound = bound_indices(g, n);
  for (const node_id t : bound) {
    bound_by_data r{t, g.arg(t, 0), g.arg(t, 1), truth(g, true)};
    index_set later;  // ranges that follow t's
    later.insert(g.ordinal(t));
    for (std::size_t k = 0; k < bound.size(); ++k)
      for (const node_id other : bound)
        if (g.free[other].meets(later)) later.insert(g.ordinal(other));
    for (int place = 0; place < list.size(); ++place) {
      const node_id c = list[place];
      const bool compares = g.kind(c) == op::less_equal || g.kind(c) == op::less;
      const node_id a = compares ? g.arg(c, 0) : no_node, b = compares ? g.arg(c, 1) : no_node;
      const auto bounds = [&](node_id e) {
        return g.type(e) == element::i64 && !g.free[e].meets(later) && is_safe(g, e);
      };
      const bool high = compares && a == t && bounds(b), low = compares && b == t && bounds(a);
      if (place >= said && (high || low)) r.said_by_terms.push_back(c);
      if (high) {
        r.high = stricter(g, op::minimum, r.high, g.kind(c) == op::less ? b : plus(g, b, 1));
      } else if (low) {
        r.low = stricter(g, op::maximum, r.low, g.kind(c) == op::less_equal ? a : plus(g, a, 1));
      } else if (place < said) {
        r.rest = conjunction(g, r.rest, c);
      }
    }
    if (r.low != g.arg(t, 0) || r.high != g.arg(t, 1)) return r;
  }
  return {};
}

// What n reads, what is read around it, and what reductions around it bind.
index_set indices_around(const graph& g, node_id n, node_id root) {
  index_set all = indices_in(g, n);
  all |= g.free[root];
  std::unordered_set<node_id> around{n};
  for_each_node(g, root, [&](node_id q) {
    for (int k = g.kind(q) == op::load ? 1 : 0; k < g[q].count; ++k)
      if (around.contains(g.arg(q, k)) && around.insert(q).second && g.kind(q) == op::reduce)
        all |= set_of(g, bound_indices(g, q));
  });
  return all;
}

node_id narrowed_once(graph& g, node_id n, node_id root) {
  if (keeps_several(g, n)) return no_node;
  const bound_by_data r = bound_in(g, n);
  if (r.index == no_node) return no_node;
  replacement holds(g, proofs::kept), put(g, proofs::kept);
  for (const node_id c : r.said_by_terms) holds.add(c, truth(g, true));
  put.add(r.index, unused_index(g, r.index, r.low, r.high, indices_around(g, n, root)));
  std::vector<node_id> indices;
  for (const node_id idx : bound_indices(g, n)) indices.push_back(put(idx));
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(holds(g.arg(n, 0))), put(r.rest), indices);
}

std::vector<node_id> reductions_within(const graph& g, node_id root) {
  std::vector<node_id> list;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == op::reduce && n != root) list.push_back(n);
  });
  return list;
}

// ---- sums over the same slices

// sum(m where c, a) + sum(k where the same of k, b) as one sum.
node_id joined(graph& g, node_id n) {
  if (g.kind(n) != op::add) return no_node;
  const node_id a = g.arg(n, 0), b = g.arg(n, 1);
  if (g.kind(a) != op::reduce || g.kind(b) != op::reduce || monoid_of(g, a) != monoid::sum ||
      monoid_of(g, b) != monoid::sum)
    return no_node;
  if (g.type(a) != g.type(b) || is_true(g, g.arg(a, 1)) || g[a].count != 3 || g[b].count != 3) return no_node;
  const node_id i = g.arg(a, 2), k = g.arg(b, 2);
  if (!known_equal(g, g.arg(i, 0), g.arg(k, 0)) || !known_equal(g, g.arg(i, 1), g.arg(k, 1))) return no_node;
  const bool captured = any_node(g, b, [&](node_id q) { return q == i && i != k; });
  if (captured) return no_node;
  replacement put(g, proofs::kept);
  put.add(k, i);
  if (put(g.arg(b, 1)) != g.arg(a, 1)) return no_node;
  return intern_reduce(g, monoid::sum, g.type(a), make(g, op::add, g.arg(a, 0), put(g.arg(b, 0))), g.arg(a, 1), {i});
}

}  // namespace

node_id narrowed(graph& g, node_id root) {
  for (;;) {
    std::vector<node_id> all = reductions_within(g, root);
    if (g.kind(root) == op::reduce) all.push_back(root);
    node_id from = no_node, to = no_node;
    for (const node_id n : all)
      if (to == no_node) to = narrowed_once(g, from = n, root);
    if (to == no_node) break;
    replacement put(g, proofs::kept);
    put.add(from, to);
    root = put(root);
  }
  for (;;) {
    std::vector<node_id> sums;
    for_each_node(g, root, [&](node_id n) {
      if (g.kind(n) == op::add) sums.push_back(n);
    });
    node_id from = no_node, to = no_node;
    for (const node_id n : sums)
      if (to == no_node) to = joined(g, from = n);
    if (to == no_node) return root;
    root = with(g, root, from, to, proofs::kept);
  }
}

slice_lists slices_of(graph& g, const stage& s) {
  const updated_rows rows = rows_of(g, s);
  return {.slice = bound_indices(g, s.body)[0], .low = rows.low, .high = rows.high, .owned = s.owned};
}

bool has_plain_bounds(const graph& g, const slice_lists& l) {
  const auto plain = [&](node_id bound) {
    return bound != no_node && g.free[bound].within(set_of(g, {l.slice})) && has_closed_ranges(g, bound) &&
           !holds(g, bound, op::reduce) && g.type(bound) == element::i64;
  };
  return plain(l.low) && plain(l.high);
}

bool follow_each_other(graph& g, node_id low, node_id high, node_id slice) {
  replacement next(g, proofs::kept);
  next.add(slice, plus(g, slice, 1));
  return holds(g, low, op::load) && !holds(g, low, op::reduce) && next(low) == high;
}

namespace {

// The range of an index, within the tensors that it subscripts alone and unchecked. What a condition guards says
// nothing of the range: x.padded(v) has elements outside of x.
void clip(graph& g, node_id n, node_id idx, node_id& low, node_id& high) {
  const auto within = [&](node_id q) {
    for (int d = 0; d + 1 < g[q].count && !is_proven(g, q); ++d) {
      if (g.arg(q, 1 + d) != idx) continue;
      const node_id first = low_of(g, g.arg(q, 0), d), end = high_of(g, g.arg(q, 0), d);
      if (!known_less_equal(g, first, low)) low = make(g, op::maximum, low, first);
      if (!known_less_equal(g, high, end)) high = make(g, op::minimum, high, end);
    }
  };
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);  // where one fails there is no term, whatever the others read
  list.push(g.arg(n, 0));
  for (const node_id e : list) for_each_read_always(g, e, within);
}

// The same reduction, over nothing unless a condition on the slice holds. Equal ones of two stages stay equal.
node_id where(graph& g, node_id n, node_id condition, replacement put) {
  const node_id idx = g.arg(n, 2);
  node_id low = g.arg(idx, 0), high = make(g, op::select, condition, g.arg(idx, 1), low);
  clip(g, n, idx, low, high);
  put.keep_proofs();
  put.add(idx, unused_index(g, idx, low, high, indices_in(g, n)));
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), put(g.arg(n, 1)), {put(idx)});
}

// Does n walk the slice, or the part of it that lies in a tensor?
bool walks_slice(graph& g, const slice_lists& l, node_id n) {
  index_set own;
  own.insert(g.ordinal(l.slice));
  if (g[n].count != 3 || !g.free[n].within(own) || keeps_several(g, n)) return false;
  const auto is = [&](node_id e, op clipped, node_id end) {
    return known_equal(g, e, end) ||
           (g.kind(e) == clipped && (known_equal(g, g.arg(e, 0), end) || known_equal(g, g.arg(e, 1), end)));
  };
  return is(g.arg(g.arg(n, 2), 0), op::maximum, l.low) && is(g.arg(g.arg(n, 2), 1), op::minimum, l.high);
}

// What a definition of the slice is worth, in the place of its load.
void inline_definitions(graph& g, stage& s, const slice_lists& l, const std::vector<stage>& before) {
  for (;;) {
    node_id use = no_node;
    for_each_node(g, s.body, [&](node_id n) {
      if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::define || g[n].count != 2 || g.arg(n, 1) != l.slice)
        return;
      for (const stage& other : before)
        if (other.define == g.arg(n, 0) && other.where == place::workspace && other.how == way::map &&
            other.made == origin::program && holds(g, g.arg(other.define, 0), op::reduce))
          use = n;
    });
    if (use == no_node) return;
    const node_id define = g.arg(use, 0);
    // As it was written it reads others, which are computed where they are read unless they are stored.
    const node_id own = with_inlined(g, g.arg(define, 0), [&](node_id d) {
      return std::ranges::none_of(before, [&](const stage& other) { return other.define == d; });
    });
    const node_id body = g.arg(define, 1) == l.slice ? own : without_binding(g, own, l.slice);
    replacement rename(g, proofs::kept), put(g, proofs::kept);
    rename.add(g.arg(define, 1), l.slice);
    put.add(use, rename(body));
    s.body = put(s.body);
  }
}

// What is normalised by a logsumexp of the slice takes the exponentials that it sums.
void share_exponentials(graph& g, stage& s, const slice_lists& l) {
  std::vector<node_id> lanes{s.owned};
  for (const node_id n : reductions_within(g, s.body))
    if (walks_slice(g, l, n)) lanes.push_back(g.arg(n, 2));
  s.body = by_terms_of_sums(g, s.body, lanes);
}

// As what is stored for each slice lies: a slice where the stage has its rows.
stage of_slices(const stage& s, node_id slice) {
  stage like = s;
  like.vector = no_node;
  std::ranges::replace(like.indices, s.owned, slice);
  return like;
}

// Reductions over the slice itself are computed where its rows are written, while they are in the cache; a task that
// begins within a slice does so again. Of a long slice they are stored before: no range is walked for both.
bool compute_in_place(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  const slice_lists l = slices_of(g, s);
  if (l.low == no_node || l.high == no_node || !is_closed(g, l.slice)) return false;
  inline_definitions(g, s, l, before);
  share_exponentials(g, s, l);
  // Of few rows a task has few: a slice that is longer than its rows would be folded anew by each task that it meets.
  const node_id share = make(g, op::quotient, trips_of(g, s.owned), integer(g, tasks_of_slices));
  const node_id most = make(g, op::minimum, integer(g, short_slice_rows(known)),
                            make(g, op::maximum, share, integer(g, least_chunk)));
  const node_id is_short = make(g, op::less_equal, make(g, op::sub, l.high, l.low), most);
  const node_id is_long = make(g, op::logical_not, is_short);
  const stage like = of_slices(s, l.slice);
  replacement here(g), stored_too(g);
  for (const node_id n : reductions_within(g, s.body)) {
    if (!walks_slice(g, l, n)) continue;
    const node_id of_long = where(g, n, is_long, stored_too);
    stored_too.add(n, of_long);
    const node_id of_short = where(g, n, is_short, here);
    const std::string reason =
        "of slices longer than " + std::to_string(short_slice_rows(known)) + ": several tasks need it";
    const node_id materialised = stored(c, of_long, {"materialised", like, reason});
    here.add(n, make(g, op::select, is_short, of_short, materialised));
    s.slices.shorts.push_back(g.arg(of_short, 2));
  }
  if (s.slices.shorts.empty()) return false;
  s.body = here(s.body);
  s.reasons.push_back("what a slice of at most " + std::to_string(short_slice_rows(known)) +
                      " rows needs of itself is computed with it in the cache");
  return true;
}

}  // namespace

bool take_per_slice(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (s.how != way::range_scatter || bound_indices(g, s.body).size() != 1) return false;
  if (!s.slices.sought) {
    s.slices.sought = true;
    if (compute_in_place(c, s)) return true;
  }
  node_id inner = no_node;
  for (const node_id n : reductions_within(g, s.body)) {
    const auto& is_short = s.slices.shorts;
    const bool in_place = std::ranges::find(is_short, g.arg(n, 2)) != is_short.end();
    if (!g.free[n].has(g.ordinal(s.owned)) && has_closed_ranges(g, n) && !in_place) inner = n;  // the last: outermost
  }
  if (inner == no_node) return false;
  store_by_itself(c, s, inner, "it depends on the slice, not on the row: once for each slice", false);
  return true;
}

stage lists_stage(graph& g, const facts& known, const slice_lists& l) {
  const node_id slices = trips_of(g, l.slice);
  const node_id size =
      make(g, op::add, make(g, op::mul, chunks_of(g, l), integer(g, 2)), make(g, op::add, slices, integer(g, 1)));
  stage lists;
  lists.how = way::lists;
  lists.body = make(g, op::add, l.low, l.high);
  lists.indices = {fresh_index(g, l.slice, integer(g, 0), size)};
  define_stage(g, lists, "slices");
  lists.slices = l;
  lists.bytes = 8 * known.trips(lists.indices[0]);
  lists.operations = 4 * known.trips(l.slice);
  lists.reasons.push_back("the slices by the " + std::to_string(l.chunk) + " rows in which they begin" +
                          (l.shift == no_node ? "" : ", or some powers of 4 times as many"));
  return lists;
}

void sort_slices(const context& c, stage& lists) {
  const auto& [g, known, done] = c;
  const slice_lists& l = lists.slices;
  if (!known.call().gpu || (!known.call().force_for_tests && known.trips(l.slice) < sorted_from)) return;
  sort_on_device(c, lists, {.outer = l.slice, .room = trips_of(g, l.slice), .keys = chunks_of(g, l)});
}

bool list_slices(const context& c, stage& s) {
  const auto& [g, known, done] = c;
  if (s.how != way::range_scatter || s.slices.array != no_node) return false;
  const auto bound = bound_indices(g, s.body);
  index_set all = set_of(g, s.indices);
  const algorithm wanted = known.call().overrides.algorithm;
  if (wanted == algorithm::direct) return false;
  if (bound.size() != 1) return false;
  const amount slices = known.trips(bound[0]);
  const bool enough = known.call().force_for_tests || s.reads_block_tree || wanted == algorithm::inverse_index ||
                      slices * known.trips(s.owned) >= known.elements(asked_from) ||
                      all_of({{slices, 4}, {known.trips(all), known.elements(listed_from)}});
  if (!enough) return false;
  slice_lists l = slices_of(g, s);
  if (!has_plain_bounds(g, l)) return false;
  all.erase(g.ordinal(s.owned));
  const amount across = known.trips(all), rows = known.trips(s.owned);
  l.chunk = known.call().force_for_tests || s.reads_block_tree ? 4 : least_chunk;
  // Where short slices are folded with their rows, threads take tasks in a row, and fold twice what is at the ends.
  const auto longest = static_cast<double>(short_slice_rows(known));
  const double task = known.call().gpu ? (s.slices.shorts.empty() ? known.elements(gpu_task_elements) : 4 * longest)
                                       : (s.slices.shorts.empty() ? task_elements : longest / 4);
  if (known.call().gpu)
    while (static_cast<double>(l.chunk) * across < task &&
           static_cast<double>(l.chunk) * 2 * known.enough_tasks() < rows)
      l.chunk *= 4;
  else
    l.shift = shift_of_chunks(g, known, l, all |= folded_within(g, s), static_cast<std::int64_t>(task));
  // Of threads' tasks no size is right: a quarter or four times as many rows are worth less than another sort.
  const auto fits = [&](const slice_lists& o) {
    if (o.shift != no_node) return o.chunk == l.chunk;
    const bool near = std::max(o.chunk, l.chunk) == 4 * std::min(o.chunk, l.chunk);
    return o.chunk == l.chunk || (known.for_groups() && !o.all && near);
  };
  const auto same = std::ranges::find_if(done, [&](const stage& other) {
    const slice_lists& o = other.slices;
    return other.how == way::lists && o.slice == l.slice && o.owned == l.owned && is_same(g, o.low, l.low) &&
           is_same(g, o.high, l.high) && fits(o);
  });
  if (same != done.end()) {
    l.chunk = same->slices.chunk, l.shift = same->slices.shift, l.array = same->define;
  } else {
    stage lists = lists_stage(g, known, l);
    lists.when = s.when;
    sort_slices(c, lists);
    l.array = lists.define;
    s.reasons.push_back("a task walks the slices that meet its rows, and writes each row once");
    done.push_back(std::move(lists));
  }
  l.shorts = s.slices.shorts, l.sought = s.slices.sought;
  s.slices = l;
  prove_vouched(g, s);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
