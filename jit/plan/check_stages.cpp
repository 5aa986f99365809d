#include <sheaf/jit/plan/check_stages.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/subscript_ends.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/suspected.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Does a fold ask each of its terms for one of these indices, as `key(t) == k`, by what is read inside of its tensors?
bool folds_by_key(graph& g, node_id n, const std::vector<node_id>& indices) {
  if (g[n].count != 3 || !is_closed(g, g.arg(n, 2))) return false;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  return std::ranges::any_of(list, [&](node_id part) {
    if (g.kind(part) != op::equal) return false;
    for (const int side : {0, 1})
      if (std::ranges::find(indices, g.arg(part, side)) != indices.end() && uses(g, g.arg(part, 1 - side), g.arg(n, 2)))
        return true;
    return false;
  });
}

// The value of a definition of much data that is folded by keys: anew for each subscript it would be folded as often.
// no_node: another definition, or one that reads what has to be checked itself.
node_id value_by_key(graph& g, const facts& known, node_id define) {
  if (known.call().gpu) return no_node;
  const std::vector<node_id> indices = arguments(g, define, 1);
  const node_id body = with_inlined(g, g.arg(define, 0), [](node_id) { return true; });
  const std::vector<node_id> folds = reductions_in(g, body);
  if (folds.empty() || !std::ranges::all_of(indices, [&](node_id idx) { return is_closed(g, idx); })) return no_node;
  for (const node_id n : folds) {
    const auto terms = known.value(trips_of(g, g.arg(n, 2)));
    const bool many = known.call().force_for_tests || (terms && *terms >= tuning::checks::asked_together);
    if (!many || !folds_by_key(g, n, indices)) return no_node;
    if (holds(g, g.arg(n, 0), op::reduce) || holds(g, g.arg(n, 1), op::reduce)) return no_node;
  }
  return std::ranges::all_of(loads_in(g, body), [&](node_id n) { return is_inside(g, n); }) ? body : no_node;
}

// Checks run before any stage does: what they read of definitions is computed anew, or stored for them.
class without_definitions {
 public:
  without_definitions(graph& g, const facts& known, std::vector<stage>& first) : g_(g), known_(known), first_(first) {}

  node_id operator()(node_id e) {
    const node_id plain = with_inlined(g_, e, [&](node_id define) {
      return !is_stored(define) && value_by_key(g_, known_, define) == no_node;
    });
    node_id found = plain;
    rewrite_loads(g_, found, [&](node_id n) {
      const node_id define = g_.arg(n, 0);
      if (g_.kind(define) != op::define || is_stored(define)) return n;
      return load_at(g_, stored_for_checks(define), arguments(g_, n, 1));
    });
    return found;
  }

 private:
  bool is_stored(node_id define) const { return std::ranges::find(first_, define, &stage::define) != first_.end(); }
  node_id stored_for_checks(node_id define) {
    stage s;
    s.body = value_by_key(g_, known_, define);
    s.indices = arguments(g_, define, 1);
    define_stage(g_, s, "asked_" + name_of(g_, define));
    s.made = origin::rule;
    s.reasons.push_back("by its keys, for checks that read it");
    const node_id made = s.define;
    if (!is_stored(made)) first_.insert(first_.begin(), std::move(s));  // it reads no other stage
    return made;
  }

  graph& g_;
  const facts& known_;
  std::vector<stage>& first_;
};

// A condition under loops, both without definitions: ranges read them too.
struct question {
  node_id outside;
  std::vector<node_id> loops;
};
question asked_alone(graph& g, without_definitions& alone, node_id outside, const std::vector<node_id>& loops) {
  if (loops.empty()) return {alone(outside), {}};
  const node_id whole = alone(intern_reduce(g, monoid::any, element::boolean, truth(g, true), outside, loops));
  return {g.arg(whole, 1), bound_indices(g, whole)};
}

// The size of the tensor dimension that an index with a range of data walks over; no_node where it subscripts none.
node_id walked_extent(graph& g, node_id idx) {
  for (node_id n = 0; n < g.size(); ++n)
    for (int d = 0; g.kind(n) == op::load && d + 1 < g[n].count; ++d)
      if (g.arg(n, 1 + d) == idx) return extent(g, g.arg(n, 0), d);
  return no_node;
}

// In the order in which the subscript names them.
std::vector<node_id> free_indices(const graph& g, node_id e) {
  std::vector<node_id> list;
  for_each_node(g, e, [&](node_id n) {
    if (g.kind(n) == op::index && g.free[e].has(g.ordinal(n))) list.push_back(n);
  });
  return list;
}

// Ranges of data that walk over no tensor are taken to be shorter; a position in a longer one is named wrongly.
using tuning::checks::most_of_a_range;

// A slice may end where the tensor has no elements any more: it is taken to be longer where it is the subscript.
void positions(graph& g, check& c, const std::vector<node_id>& list) {
  for (const node_id idx : list) {
    index_set outer = g.free[idx];
    outer.erase(g.ordinal(idx));
    const bool own = outer.empty() && !holds(g, g.arg(idx, 0), op::load) && !holds(g, g.arg(idx, 1), op::load);
    const node_id whole = own                  ? make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0))
                          : idx == c.subscript ? no_node
                                               : walked_extent(g, idx);
    c.indices.push_back(idx);
    c.firsts.push_back(own || whole == no_node ? g.arg(idx, 0) : integer(g, 0));
    c.sizes.push_back(whole == no_node ? integer(g, most_of_a_range) : whole);
  }
}

// only: a condition without which there is nothing to be found.
stage stage_of(graph& g, const check& c, node_id only = no_node) {
  node_id position = integer(g, 0);
  for (std::size_t k = 0; k < c.indices.size(); ++k)
    position = make(g, op::add, make(g, op::mul, position, c.sizes[k]), make(g, op::sub, c.indices[k], c.firsts[k]));
  const node_id highest = integer(g, INT64_MAX);
  std::vector<node_id> loops = c.indices;
  node_id outside = c.outside;
  if (only != no_node) {
    const node_id idx = loops.front(), low = g.arg(idx, 0);
    replacement put(g);
    put.rename(idx, fresh_index(g, idx, low, make(g, op::select, only, g.arg(idx, 1), low)));
    for (node_id* n : {&position, &outside}) *n = put(*n);
    for (node_id& n : loops) n = put(n);
  }
  stage s;
  s.body = loops.empty() ? make(g, op::select, outside, position, highest)
                         : intern_reduce(g, monoid::min, element::i64, position, outside, loops);
  define_stage(g, s, "check_" + (c.demand < 0 ? c.tensor : "demand") + "_" + std::to_string(c.ordinal));
  s.where = place::check;
  s.ordinal = c.ordinal;
  s.reasons.push_back(c.demand < 0 ? "subscript " + std::to_string(c.dimension) + " of " + c.tensor + " is data"
                                   : "demanded of data: " + demand_name(g, c.demand));
  return s;
}

std::string tensor_name(const graph& g, node_id tensor) {
  if (g.kind(tensor) == op::define) return name_of(g, tensor);
  const text_range t = g.names[g.inputs[static_cast<int>(g[tensor].attribute)].name];
  return std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size));
}

// A subscript, and the range that it must be in.
struct subscript {
  subscript(graph& g, node_id load, int d)
      : tensor(g.arg(load, 0)),
        dimension(d),
        e(g.arg(load, 1 + d)),
        low(low_of(g, tensor, d)),
        high(high_of(g, tensor, d)),
        asked(is_number(g, low, 0) ? clamped_instead(g, e, high) : e) {}
  node_id inside(graph& g) const { return range_condition(g, asked, low, high); }

  node_id tensor;
  int dimension;
  node_id e, low, high, asked;
};

check check_of(const graph& g, const subscript& s) {
  check c;
  c.tensor = tensor_name(g, s.tensor);
  c.dimension = s.dimension;
  c.subscript = c.least = c.most = s.e;
  c.low = s.low;
  c.high = s.high;
  return c;
}

bool is_apart(const evaluated_load& of, int dimension) {
  return std::ranges::find(of.apart, dimension) != of.apart.end();
}

// The loops around a load whose indices a subscript doesn't depend on; those of one of numbers and extents are found
// where they are evaluated.
std::vector<node_id> others_around(const graph& g, const evaluated_load& of, node_id e) {
  if (is_uniform(g, e)) return {};
  std::vector<node_id> list = of.around;
  std::erase_if(list, [&](node_id idx) { return g.free[e].has(g.ordinal(idx)); });
  return list;
}

// The loops around a subscript have elements; what is read for each of their elements waits for none where there is
// nothing to be read at all.
node_id with_elements(graph& g, without_definitions& alone, const evaluated_load& of, const subscript& s) {
  node_id all = truth(g, true);
  for (const node_id idx : others_around(g, of, s.e)) all = conjunction(g, all, has_elements(g, idx));
  if (is_true(g, all)) return of.when;
  all = alone(all);
  if (of.inner) all = make(g, op::logical_or, make(g, op::less_equal, s.high, s.low), all);
  return conjunction(g, of.when, all);
}

}  // namespace

std::vector<node_id> nodes_of(const std::vector<evaluated_load>& list) {
  std::vector<node_id> nodes;
  for (const evaluated_load& e : list)
    if (std::ranges::find(nodes, e.load) == nodes.end()) nodes.push_back(e.load);
  return nodes;
}

std::vector<int> waiting_subscripts(graph& g, const evaluated_load& of) {
  std::vector<int> list;
  if (others_around(g, of, of.load).empty() && is_true(g, of.when) && of.apart.empty()) return list;
  for (int d = 0; d + 1 < g[of.load].count; ++d) {
    const subscript s(g, of.load, d);
    const bool waits = !is_uniform(g, s.e) || is_apart(of, d);
    if (waits && !is_true(g, s.inside(g))) list.push_back(d);
  }
  return list;
}

void check_stages::add_load(const evaluated_load& of) {
  without_definitions alone(g, known, stages);
  for (int d = 0; d + 1 < g[of.load].count; ++d) {
    const subscript s(g, of.load, d);
    if (is_apart(of, d) || is_true(g, s.inside(g))) continue;
    const node_id asked = alone(s.asked);
    const std::optional<ends> of_place = ends_of_place(g, asked, s.low, s.high);
    ends r = of_place ? *of_place : ends_of(g, asked);
    const node_id between =
        conjunction(g, range_condition(g, r.least, s.low, make(g, op::add, r.least, integer(g, 1))),
                    range_condition(g, r.most, r.most, s.high));
    ask_for_elements(g, r, between);
    const node_id inside = make(g, op::logical_or, make(g, op::logical_not, r.nonempty), between);
    if (is_true(g, inside)) continue;
    check c = check_of(g, s);
    c.least = r.least;
    c.most = r.most;
    c.outside = conjunction(g, with_elements(g, alone, of, s), alone(make(g, op::logical_not, inside)));
    positions(g, c, free_indices(g, c.outside));
    const std::optional<lone_question> lone = by_itself(g, c);
    if (is_asked(c) || is_implied(g, lone, plan.checks)) continue;
    c.uniform = c.indices.empty() && !holds(g, c.outside, op::load);
    if (!c.uniform) {
      node_id only = known.call().gpu ? no_node : suspected(g, known, c, stages);
      if (only == no_node && !known.call().gpu) only = suspected_by_itself(g, c, lone, stages);
      add_stage(c, only);
    }
    plan.checks.push_back(std::move(c));
  }
}

void check_stages::add_violation(const violation& v) {
  check c = check_of(g, subscript(g, v.load, v.dimension));
  without_definitions alone(g, known, stages);
  const question asked = asked_alone(g, alone, v.where, v.loops);
  c.outside = asked.outside;
  // There whether another index lets it be read is not asked: no cheaper question goes before it.
  const auto decides = [&](node_id idx) { return !g.free[c.subscript].has(g.ordinal(idx)); };
  if (known.call().gpu && std::ranges::any_of(asked.loops, decides)) return;
  if (v.least != no_node) {
    c.least = alone(v.least);
    c.most = alone(v.most);
  }
  c.uniform = known.value(c.outside).has_value();
  for (const node_id idx : asked.loops)
    c.uniform = c.uniform && known.value(g.arg(idx, 0)) && known.value(g.arg(idx, 1));
  // It is asked without its loops then.
  if (c.uniform) c.outside = when_run(g, known, asked.loops, c.outside);
  else positions(g, c, asked.loops);
  const std::optional<lone_question> lone = by_itself(g, c);
  if (is_asked(c) || is_implied(g, lone, plan.checks)) return;
  if (!c.uniform) {
    add_stage(c, known.call().gpu ? no_node : suspected_by_itself(g, c, lone, stages));
  }
  plan.checks.push_back(std::move(c));
}

// In the same loops: others may be empty.
bool check_stages::is_asked(const check& c) const {
  return std::ranges::any_of(
      plan.checks, [&](const check& other) { return other.outside == c.outside && other.indices == c.indices; });
}

void check_stages::add_demands() {
  for (int k = 0; k < g.demands.size(); ++k) {
    const node_id wrong = g.demands[k].wrong;
    const bool walks = g.kind(wrong) == op::reduce;
    if (!walks && known.value(wrong)) continue;
    check c;
    c.demand = k;
    without_definitions alone(g, known, stages);
    const question asked = asked_alone(g, alone, walks ? conjunction(g, g.arg(wrong, 1), g.arg(wrong, 0)) : wrong,
                                       walks ? bound_indices(g, wrong) : std::vector<node_id>());
    c.outside = asked.outside;
    positions(g, c, asked.loops);
    add_stage(c);
    plan.checks.push_back(std::move(c));
  }
}

void check_stages::ask_together(const std::vector<node_id>& loads) {
  if (known.call().gpu || plan.checks.empty()) return;
  std::unordered_set<node_id> vouched;
  for (const node_id n : loads)
    if (!is_inside(g, n)) vouched.insert(n);
  for (suspicion& s : suspected_together(g, known, plan.checks, vouched)) {
    const node_id only = result_of(g, s.asks);
    std::vector<std::size_t> places;
    for (const std::size_t k : s.checks) {
      const check& c = plan.checks[k];
      const auto own = std::ranges::find_if(
          stages, [&](const stage& of) { return of.where == place::check && of.ordinal == c.ordinal; });
      *own = stage_of(g, c, only);
      places.push_back(static_cast<std::size_t>(own - stages.begin()));
    }
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(std::ranges::min(places)), std::move(s.asks));
  }
}

void walk_together(graph& g, const stage& leader, stage& s) {
  if (g.kind(leader.body) != op::reduce || g.kind(s.body) != op::reduce) return;
  const auto walk = bound_indices(g, leader.body), own = bound_indices(g, s.body);
  if (walk.size() != 1 || own.size() != 1 || walk == own || !same_range(g, own[0], walk[0]) || mentions(g, s, walk[0]))
    return;
  replacement put(g, proofs::kept);
  put.rename(own[0], walk[0]);
  replace_in_roots(s, put);
}

void check_stages::add_stage(check& c, node_id only) {
  c.ordinal = static_cast<int>(std::ranges::count(stages, place::check, &stage::where));
  stages.push_back(stage_of(g, c, only));
}

}  // namespace sheaf::inline v0_1::plan
