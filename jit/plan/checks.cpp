#include <sheaf/jit/plan/checks.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/subscript_ends.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/suspected.hpp>
#include <sheaf/jit/plan/violations.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Does the condition say that the reduction's range has an element? Without one nothing in it is evaluated anyway.
bool asks_for_elements(const graph& g, node_id condition, node_id reduce) {
  if (g.kind(reduce) != op::reduce || g[reduce].count != 3 || g.kind(condition) != op::less) return false;
  const auto is_zero = [&](node_id n) { return is_constant(g, n) && g.type(n) == element::i64 && g[n].attribute == 0; };
  const node_id low = g.arg(g.arg(reduce, 2), 0), high = g.arg(g.arg(reduce, 2), 1);
  if (g.arg(condition, 0) == low && g.arg(condition, 1) == high) return true;
  if (!is_zero(g.arg(condition, 0))) return false;
  node_id size = g.arg(condition, 1);
  for (int k = 0; k < 2; ++k)
    if (g.kind(size) == op::maximum && is_zero(g.arg(size, k))) size = g.arg(size, 1 - k);
  return (g.kind(size) == op::sub && g.arg(size, 0) == high && g.arg(size, 1) == low) || (size == high && is_zero(low));
}

// Does an expression load what ranges alone don't prove inside, or a definition that does? Others are no matter:
// whether loops around them are empty is not asked.
class unproven_loads {
 public:
  explicit unproven_loads(graph& g) : g_(g) {}
  bool in(node_id n) {
    if (const auto known = leads_.find(n); known != leads_.end()) return known->second;
    const int count = g_.kind(n) == op::extent ? 0 : g_.kind(n) == op::define ? 1 : g_[n].count;  // of it its body
    bool leads = g_.kind(n) == op::load && !is_inside(g_, n);
    for (int k = 0; !leads && k < count; ++k) leads = in(g_.arg(n, k));
    return leads_[n] = leads;
  }

 private:
  graph& g_;
  std::unordered_map<node_id, bool> leads_;
};

// Loads that are evaluated whatever the data, arguments first; but those that find_violations asks about.
class unconditional_loads {
 public:
  unconditional_loads(const outside_loads& outside, unproven_loads& unproven, std::vector<node_id>& found)
      : g_(outside.g), known_(outside.known), outside_(outside), unproven_(unproven), found_(found) {}
  void operator()(node_id n) {
    if (!seen_.insert(n).second) return;
    const op kind = g_.kind(n);
    if (kind == op::extent || kind == op::define) return;
    if (kind == op::select && asks_for_elements(g_, g_.arg(n, 0), g_.arg(n, 1))) (*this)(g_.arg(n, 1));
    // The first may guard the rest.
    if (kind == op::select || kind == op::logical_and || kind == op::logical_or) return (*this)(g_.arg(n, 0));
    if (kind == op::reduce) return reduction(n);
    for (int k = g_[n].count - 1; k >= (kind == op::load ? 1 : 0); --k) (*this)(g_.arg(n, k));
    if (kind != op::load || outside_.has(n)) return;
    if (std::ranges::find(found_, n) == found_.end()) found_.push_back(n);
  }

 private:
  // Its ranges as far as no part of the condition guards them and no loop before them is empty, then what is asked
  // first, then what waits for no condition.
  void reduction(node_id n) {
    if (!unproven_.in(n)) return;
    const auto loops = nesting_order(g_, bound_indices(g_, n));
    std::size_t open = 0, walked = 0;
    while (open < loops.size() && demanded_before(g_, n, loops, open).empty()) ++open;
    while (walked < loops.size() && !is_empty(known_, loops[walked])) ++walked;
    const std::span<const node_id> sure(loops.data(), std::min(open, walked));
    for (int k = g_[n].count - 1; k > 1; --k)
      if (std::ranges::find(sure, g_.arg(n, k)) != sure.end()) (*this)(g_.arg(n, k));
    if (walked < loops.size()) {
      const auto asked = demanded_before(g_, n, loops, walked);
      if (!asked.empty()) (*this)(asked.front());
      return;
    }
    (*this)(g_.arg(n, 1));
    if (is_true(g_, g_.arg(n, 1))) (*this)(g_.arg(n, 0));
  }

  const graph& g_;
  const facts& known_;
  const outside_loads& outside_;
  unproven_loads& unproven_;
  std::vector<node_id>& found_;
  std::unordered_set<node_id> seen_;
};

// By stage, its body as the program wrote it: a sum that is stored for a comparison's sake stands behind the conditions
// around the comparison.
std::vector<node_id> written_bodies(graph& g, const std::vector<stage>& stages) {
  const auto is_of_rule = [&](node_id d) {
    return std::ranges::any_of(stages, [&](const stage& s) { return s.define == d && s.made == origin::rule; });
  };
  std::vector<node_id> list;
  for (const stage& s : stages) list.push_back(with_inlined(g, s.body, is_of_rule));
  return list;
}

// By stage: is anything of it evaluated? What is read in empty loops alone is not.
std::vector<bool> evaluated(const graph& g, const facts& known, const std::vector<stage>& stages,
                            const std::vector<node_id>& bodies, unproven_loads& unproven) {
  std::vector<bool> list(stages.size(), false);
  std::unordered_set<node_id> read, seen;
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (!seen.insert(n).second || g.kind(n) == op::extent) return;
    if (g.kind(n) == op::reduce && unproven.in(n))
      for (const node_id idx : bound_indices(g, n))
        if (is_empty(known, idx)) return;
    if (g.kind(n) == op::load) read.insert(g.arg(n, 0));
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  for (std::size_t i = stages.size(); i-- > 0;) {  // readers first
    const stage& s = stages[i];
    const auto empty = [&](node_id idx) { return is_empty(known, idx); };
    list[i] = s.where == place::output || read.contains(s.define);
    if (list[i] && unproven.in(bodies[i])) list[i] = std::ranges::none_of(s.indices, empty);
    if (list[i]) walk(walk, bodies[i]);
  }
  return list;
}

// What is evaluated of the program.
struct evaluated_loads {
  graph& g;
  const facts& known;
  const outside_loads outside{g, known};
  unproven_loads unproven{g};
  std::vector<node_id> loads = {};
  std::vector<violation> violations = {};

  void find(node_id body, std::span<const node_id> indices) {
    if (!outside.dimension.empty()) find_violations(outside, body, indices, violations);
  }
  void unconditional(node_id n, std::vector<node_id>& found) { unconditional_loads(outside, unproven, found)(n); }

  void add(const stage& s, node_id body, bool reached) {
    unconditional_loads collect(outside, unproven, loads);
    if (reached) collect(body);
    for (const node_id idx : s.indices) collect(idx);
    if (s.where == place::output) find(body, s.indices);
  }

  // What a differentiated definition reads, also where the gradients alone are computed and read less: a bad subscript
  // would just not meet any row there.
  void add_differentiated(node_id definition) {
    std::vector<node_id> own;
    if (!unproven.in(definition)) return;
    if (std::ranges::any_of(arguments(g, definition, 1), [&](node_id idx) { return is_empty(known, idx); })) return;
    unconditional(g.arg(definition, 0), own);
    for (const node_id n : own) {
      if (g.kind(g.arg(n, 0)) == op::define) add_differentiated(g.arg(n, 0));
      if (std::ranges::find(loads, n) == loads.end()) loads.push_back(n);
    }
  }
};

// Checks run before any stage does: what they read of definitions is computed anew.
node_id without_definitions(graph& g, node_id e) {
  return with_inlined(g, e, [](node_id) { return true; });
}

// A condition under loops, both without definitions: ranges read them too.
struct question {
  node_id outside;
  std::vector<node_id> loops;
};
question without_definitions(graph& g, node_id outside, const std::vector<node_id>& loops) {
  if (loops.empty()) return {without_definitions(g, outside), {}};
  const node_id whole = intern_reduce(g, monoid::any, element::boolean, truth(g, true), outside, loops);
  const node_id alone = without_definitions(g, whole);
  return {g.arg(alone, 1), bound_indices(g, alone)};
}

// The size of the tensor dimension that an index with a range of data walks over; no_node where it subscripts none.
node_id walked(graph& g, node_id idx) {
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

void positions(graph& g, check& c, const std::vector<node_id>& list) {
  for (const node_id idx : list) {
    index_set outer = g.free[idx];
    outer.erase(g.ordinal(idx));
    const bool own = outer.empty() && !holds(g, g.arg(idx, 0), op::load) && !holds(g, g.arg(idx, 1), op::load);
    const node_id whole = own ? make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0)) : walked(g, idx);
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

int count_of_checks(const std::vector<stage>& list) {
  return static_cast<int>(std::ranges::count(list, place::check, &stage::where));
}

std::string tensor_name(const graph& g, node_id tensor) {
  if (g.kind(tensor) == op::define) return name_of(g, tensor);
  const text_range t = g.names[g.inputs[static_cast<int>(g[tensor].attribute)].name];
  return std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size));
}

void add_load(graph& g, const facts& known, node_id n, program_plan& plan, std::vector<stage>& first) {
  for (int d = 0; d + 1 < g[n].count; ++d) {
    const node_id tensor = g.arg(n, 0), e = g.arg(n, 1 + d), low = low_of(g, tensor, d), high = high_of(g, tensor, d);
    const node_id asked = is_number(g, low, 0) ? clamped_instead(g, e, high) : e;
    if (is_true(g, range_condition(g, asked, low, high))) continue;
    ends r = ends_of(g, without_definitions(g, asked));
    const node_id between = conjunction(g, range_condition(g, r.least, low, make(g, op::add, r.least, integer(g, 1))),
                                        range_condition(g, r.most, r.most, high));
    ask_for_elements(g, r, between);
    const node_id inside = make(g, op::logical_or, make(g, op::logical_not, r.nonempty), between);
    if (is_true(g, inside)) continue;
    check c;
    c.tensor = tensor_name(g, tensor);
    c.dimension = d;
    c.subscript = e;
    c.least = r.least;
    c.most = r.most;
    c.low = low;
    c.high = high;
    c.outside = without_definitions(g, make(g, op::logical_not, inside));
    const auto same = [&](const check& other) { return other.outside == c.outside; };
    if (std::ranges::any_of(plan.checks, same)) continue;
    positions(g, c, free_indices(g, c.outside));
    c.uniform = c.indices.empty() && !holds(g, c.outside, op::load);
    if (!c.uniform) {
      const node_id only = known.call().gpu ? no_node : suspected(g, known, c, first);
      c.ordinal = count_of_checks(first);
      first.push_back(stage_of(g, c, only));
    }
    plan.checks.push_back(std::move(c));
  }
}

// The positions of the loops around it for which it is evaluated; the host's to look at where no data says.
void add_violation(const outside_loads& outside, const violation& v, program_plan& plan, std::vector<stage>& first) {
  graph& g = outside.g;
  const facts& known = outside.known;
  check c;
  c.dimension = outside.dimension.at(v.load);
  const node_id tensor = g.arg(v.load, 0);
  c.tensor = tensor_name(g, tensor);
  c.subscript = c.least = c.most = g.arg(v.load, 1 + c.dimension);
  c.low = low_of(g, tensor, c.dimension);
  c.high = high_of(g, tensor, c.dimension);
  const question asked = without_definitions(g, v.where, v.loops);
  c.outside = asked.outside;
  c.uniform = known.value(c.outside).has_value();
  for (const node_id idx : asked.loops)
    c.uniform = c.uniform && known.value(g.arg(idx, 0)) && known.value(g.arg(idx, 1));
  if (!c.uniform) {
    positions(g, c, asked.loops);
    c.ordinal = count_of_checks(first);
    first.push_back(stage_of(g, c));
  }
  plan.checks.push_back(std::move(c));
}

// Those that extents alone decide, without a walk, are checked where a call's extents are, before a plan is made.
void add_demands(graph& g, const facts& known, program_plan& plan, std::vector<stage>& first) {
  for (int k = 0; k < g.demands.size(); ++k) {
    const node_id wrong = g.demands[k].wrong;
    const bool walks = g.kind(wrong) == op::reduce;
    if (!walks && known.value(wrong)) continue;
    check c;
    c.demand = k;
    const question asked = without_definitions(g, walks ? conjunction(g, g.arg(wrong, 1), g.arg(wrong, 0)) : wrong,
                                               walks ? bound_indices(g, wrong) : std::vector<node_id>());
    c.outside = asked.outside;
    positions(g, c, asked.loops);
    c.ordinal = count_of_checks(first);
    first.push_back(stage_of(g, c));
    plan.checks.push_back(std::move(c));
  }
}

// Those over the same elements are asked together whether any of them finds something.
void ask_together(graph& g, const facts& known, const std::vector<node_id>& loads, const program_plan& plan,
                  std::vector<stage>& first) {
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
          first, [&](const stage& of) { return of.where == place::check && of.ordinal == c.ordinal; });
      *own = stage_of(g, c, only);
      places.push_back(static_cast<std::size_t>(own - first.begin()));
    }
    first.insert(first.begin() + static_cast<std::ptrdiff_t>(std::ranges::min(places)), std::move(s.asks));
  }
}

// The program with loads that checks vouch for as proven ones, in the definitions that it may read too. What is inside
// by ranges alone needs no proof.
class proving {
 public:
  proving(graph& g, const std::vector<node_id>& loads) : g_(g) {
    for (const node_id n : loads)
      if (!is_inside(g, n)) proven_.insert(n);
  }

  node_id operator()(node_id n) {
    if (const auto found = done_.find(n); found != done_.end()) return found->second;
    const node old = g_[n];
    flat<node_id> list;
    bool same = true;
    for (int k = 0; k < old.count; ++k) {
      list.push((*this)(g_.arg(n, k)));
      same = same && list.back() == g_.arg(n, k);
    }
    const node_id made = same ? n : g_.intern(old.kind, old.type, old.attribute, list.data(), old.count);
    return done_[n] = proven_.contains(n) ? proven(g_, made) : made;
  }

 private:
  graph& g_;
  std::unordered_set<node_id> proven_;
  std::unordered_map<node_id, node_id> done_;
};

void prove(graph& g, const std::vector<node_id>& loads, std::vector<stage>& stages) {
  proving with_proofs(g, loads);
  for (stage& s : stages) {
    s.define = with_proofs(s.define);
    for_each_root(s, [&](node_id& n, root_kind) { n = with_proofs(n); });
  }
  for (int k = 0; k < g.outputs.size(); ++k) g.outputs[k] = with_proofs(g.outputs[k]);
  for (int k = 0; k < g.demands.size(); ++k)
    for (node_id* n : {&g.demands[k].wrong, &g.demands[k].limit, &g.demands[k].found})
      if (*n != no_node) *n = with_proofs(*n);
}

}  // namespace

void add_checks(graph& g, const facts& known, std::vector<stage>& stages, program_plan& plan) {
  evaluated_loads all{g, known};
  const std::vector<node_id> bodies = written_bodies(g, stages);
  const std::vector<bool> reached = evaluated(g, known, stages, bodies, all.unproven);
  for (std::size_t i = 0; i < stages.size(); ++i) all.add(stages[i], bodies[i], reached[i]);
  for (const node_id y : g.differentiated) {
    all.add_differentiated(y);
    all.find(g.arg(y, 0), arguments(g, y, 1));
  }
  std::vector<stage> first;
  std::vector<node_id> asked;
  for (const demand& d : g.demands) {
    all.unconditional(d.wrong, asked);
    all.find(d.wrong, {});
  }
  for (const node_id n : asked) add_load(g, known, n, plan, first);
  add_demands(g, known, plan, first);
  for (const node_id n : all.loads) add_load(g, known, n, plan, first);
  for (const violation& v : all.violations) add_violation(all.outside, v, plan, first);
  all.loads.insert(all.loads.end(), asked.begin(), asked.end());
  ask_together(g, known, all.loads, plan, first);
  stages.insert(stages.begin(), first.begin(), first.end());
  prove(g, all.loads, stages);
}

}  // namespace sheaf::inline v0_1::plan
