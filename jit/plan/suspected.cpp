#include <sheaf/jit/plan/suspected.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The size of the dimension that an index walks wherever the condition has it; no_node if it is more than a subscript.
node_id dimension_of(graph& g, node_id condition, node_id idx) {
  node_id size = no_node;
  bool subscript = true;
  for_each_node(g, condition, [&](node_id n) {
    for (int k = 0; k < g[n].count && g.kind(n) != op::extent; ++k) {
      if (g.arg(n, k) != idx) continue;
      const node_id own = g.kind(n) == op::load && k > 0 ? extent(g, g.arg(n, 0), k - 1) : no_node;
      subscript = subscript && own != no_node && (size == no_node || known_equal(g, size, own));
      size = own;
    }
  });
  return subscript ? size : no_node;
}

// The number that a sum with a constant casts to an integer, and the constant; no_node: it is something else.
struct cast_number {
  node_id number = no_node;
  std::int64_t offset = 0;
};
cast_number cast_of(const graph& g, node_id e) {
  cast_number c;
  if ((g.kind(e) == op::add || g.kind(e) == op::sub) && is_constant(g, g.arg(e, 1))) {
    c.offset = g[g.arg(e, 1)].attribute;
    if (c.offset > INT32_MAX || c.offset < -INT32_MAX) return c;
    if (g.kind(e) == op::sub) c.offset = -c.offset;
    e = g.arg(e, 0);
  }
  if (g.kind(e) == op::cast && g.type(e) == element::i64 && is_floating(g.type(g.arg(e, 0)))) c.number = g.arg(e, 0);
  return c;
}

// Whether a subscript may be out of bounds: true wherever it is. A cast to 32 bits saturates, so one beyond their range
// compares as one at its end, which is taken for outside.
node_id maybe_outside(graph& g, const check& c) {
  const node_id e = c.least, inside = range_condition(g, e, c.low, c.high);
  if (c.least != c.most || make(g, op::logical_not, inside) != c.outside) return c.outside;
  const cast_number as = cast_of(g, e);
  if (as.number == no_node || !is_constant(g, c.low) || !is_uniform(g, c.high)) return c.outside;
  const std::int64_t low = g[c.low].attribute - as.offset;
  if (low <= INT32_MIN || low > INT32_MAX) return c.outside;
  const auto narrow = [&](node_id n) { return cast_to(g, element::i32, n); };
  const node_id high = make(g, op::sub, c.high, integer(g, as.offset)), number = narrow(as.number);
  const node_id end = make(g, op::maximum, make(g, op::minimum, high, integer(g, INT32_MAX)), integer(g, INT32_MIN));
  const node_id within =
      conjunction(g, make(g, op::less_equal, narrow(integer(g, low)), number), make(g, op::less, number, narrow(end)));
  return make(g, op::logical_not, within);
}

// False: whatever the data, the subscript is inside. true: nothing is known without it.
node_id may_fail(graph& g, const check& c) {
  if (c.least != c.most) return truth(g, true);
  const closed_bounds b = closed_bounds_of(g, c.least);
  if (b.least == no_node || b.most == no_node || !is_uniform(g, c.low) || !is_uniform(g, c.high)) return truth(g, true);
  return make(g, op::logical_not,
              conjunction(g, make(g, op::less_equal, c.low, b.least), make(g, op::less, b.most, c.high)));
}

bool is_asked_together(const graph& g, const facts& known, const check& c, const std::unordered_set<node_id>& by_data) {
  if (c.demand >= 0 || c.uniform || c.indices.empty()) return false;
  index_set all;
  for (const node_id idx : c.indices) {
    if (!is_uniform(g, g.arg(idx, 0)) || !is_uniform(g, g.arg(idx, 1))) return false;
    all.insert(g.ordinal(idx));
  }
  const bool waits = any_node(g, c.outside, [&](node_id n) { return by_data.contains(n) || g.kind(n) == op::reduce; });
  return !waits && (known.call().force_for_tests || known.trips(all) >= tuning::checks::asked_together);
}

// Another check may have asked the same.
node_id asked_first(graph& g, const check& c, node_id question, const char* how, std::vector<stage>& first) {
  stage s;
  s.body = question;
  define_stage(g, s, "suspected_" + c.tensor);
  s.made = origin::rule;
  s.reasons.push_back("subscript " + std::to_string(c.dimension) + " of " + c.tensor + how);
  const node_id asked = result_of(g, s);
  if (std::ranges::find(first, s.define, &stage::define) == first.end()) first.push_back(std::move(s));
  return asked;
}

}  // namespace

std::vector<suspicion> suspected_together(graph& g, const facts& known, std::span<const check> checks,
                                          const std::unordered_set<node_id>& by_data) {
  struct question {
    std::vector<node_id> indices;
    node_id outside, when;
    std::vector<std::size_t> checks;
    bool cheaper;  // than the check itself
  };
  std::vector<question> questions;
  for (std::size_t k = 0; k < checks.size(); ++k) {
    const check& c = checks[k];
    if (!is_asked_together(g, known, c, by_data)) continue;
    const node_id outside = maybe_outside(g, c), when = may_fail(g, c);
    const auto same = [&](const question& q) {
      return q.indices == c.indices && is_true(g, q.when) == is_true(g, when);
    };
    const auto found = std::ranges::find_if(questions, same);
    if (found == questions.end()) {
      questions.push_back({c.indices, outside, when, {k}, outside != c.outside || !is_true(g, when)});
      continue;
    }
    found->outside = make(g, op::logical_or, found->outside, outside);
    found->when = make(g, op::logical_or, found->when, when);
    found->checks.push_back(k);
  }
  std::vector<suspicion> list;
  for (question& q : questions) {
    if (!q.cheaper && q.checks.size() < 2) continue;
    stage s;
    s.body = intern_reduce(g, monoid::any, element::boolean, q.outside, q.when, q.indices);
    define_stage(g, s, "suspected_" + checks[q.checks.front()].tensor);
    s.made = origin::rule;
    s.reasons.push_back(std::to_string(q.checks.size()) + " checks of data, before one is asked where it fails");
    list.push_back({std::move(q.checks), std::move(s)});
  }
  return list;
}

std::optional<lone_question> by_itself(graph& g, const check& c) {
  std::vector<node_id> asks{c.subscript}, own;
  for (const node_id end : {c.least, c.most})
    if (end != no_node) asks.push_back(end);
  const auto asked = [&](node_id idx) {
    return std::ranges::any_of(asks, [&](node_id e) { return names(g, e, idx); });
  };
  replacement put(g);
  for (std::size_t k = c.indices.size(); k-- > 0;) {
    node_id idx = c.indices[k];
    if (!asked(idx)) continue;
    index_set outer = g.free[idx];
    outer.erase(g.ordinal(idx));
    // A range that moves lies within one of all its places; that of data may be of any length.
    const bool data = holds(g, g.arg(idx, 0), op::load) || holds(g, g.arg(idx, 1), op::load);
    const node_id least = closed_bounds_of(g, g.arg(idx, 0)).least, most = closed_bounds_of(g, g.arg(idx, 1)).most;
    const bool moves = std::ranges::any_of(indices_of(g, outer), [&](node_id other) { return !asked(other); });
    if (moves && !data && least != no_node && most != no_node) {
      const node_id whole = unused_index(g, idx, least, most, indices_in(g, c.outside));
      put.rename(idx, whole);
      idx = whole;
    } else {
      asks.push_back(g.arg(idx, 0)), asks.push_back(g.arg(idx, 1));
    }
    own.insert(own.begin(), idx);
  }
  if (own.size() == c.indices.size()) return std::nullopt;
  for (node_id& idx : own) idx = put(idx);
  flat<node_id> parts;
  deltas::conjuncts(g, put(c.outside), parts);
  node_id outside = truth(g, true);
  for (const node_id part : parts)
    if (g.free[part].within(set_of(g, own))) outside = conjunction(g, outside, part);
  return lone_question{outside, std::move(own)};
}

bool is_implied(graph& g, const std::optional<lone_question>& alone, std::span<const check> asked) {
  return alone && std::ranges::any_of(asked, [&](const check& other) {
    if (other.demand >= 0 || other.indices.size() != alone->indices.size()) return false;
    replacement put(g);
    for (std::size_t k = 0; k < other.indices.size(); ++k) {
      if (!same_range(g, other.indices[k], alone->indices[k])) return false;
      put.rename(alone->indices[k], other.indices[k]);
    }
    return put(alone->outside) == other.outside;
  });
}

node_id suspected_by_itself(graph& g, const check& c, const std::optional<lone_question>& alone,
                            std::vector<stage>& first) {
  if (!alone) return no_node;
  const auto& [outside, own] = *alone;
  const node_id any =
      own.empty() ? outside
                  : intern_reduce(g, monoid::any, element::boolean, truth(g, true), outside, own);
  return asked_first(g, c, any, " by itself, before what guards it", first);
}

node_id suspected(graph& g, const facts& known, const check& c, std::vector<stage>& first) {
  for (const node_id idx : c.indices) {
    if (!holds(g, g.arg(idx, 0), op::load) || !holds(g, g.arg(idx, 1), op::load)) continue;
    const node_id size = dimension_of(g, c.outside, idx);
    if (size == no_node || !known.value(size)) continue;
    const node_id whole = fresh_index(g, idx, integer(g, 0), size);
    replacement put(g);
    put.rename(idx, whole);
    const node_id outside = put(c.outside);
    amount slices = 1;
    for (const node_id other : c.indices)
      if (other != idx) slices *= known.trips(other);
    if (indices_of(g, g.free[outside]) != std::vector<node_id>{whole} ||
        known.trips(whole) > tuning::checks::rows_for_a_slice * slices *
                                 (known.trips(whole) < tuning::checks::walked_by_all ? 1 : tuning::checks::of_many))
      continue;
    return asked_first(g, c, intern_reduce(g, monoid::any, element::boolean, truth(g, true), outside, {whole}),
                       " anywhere, before slices", first);
  }
  return no_node;
}

}  // namespace sheaf::inline v0_1::plan
