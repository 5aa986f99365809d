#include <sheaf/jit/plan/checks.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/check_stages.hpp>
#include <sheaf/jit/plan/proving.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/vouched.hpp>

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

void prove(graph& g, const std::vector<node_id>& loads, std::vector<stage>& stages) {
  proving with_proofs(g, loads, proving::in::all_it_reads);
  for (stage& s : stages) {
    s.vouched = vouched_in_slices(g, s, loads);
    for (vouched_load& v : s.vouched) v = {with_proofs(v.load), v.row, with_proofs(v.low), with_proofs(v.high)};
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
  check_stages checks{g, known, plan};
  std::vector<node_id> asked;
  for (const demand& d : g.demands) {
    all.unconditional(d.wrong, asked);
    all.find(d.wrong, {});
  }
  for (const node_id n : asked) checks.add_load(n);
  checks.add_demands();
  for (const node_id n : all.loads) checks.add_load(n);
  for (const violation& v : all.violations) checks.add_violation(all.outside, v);
  all.loads.insert(all.loads.end(), asked.begin(), asked.end());
  checks.ask_together(all.loads);
  stages.insert(stages.begin(), checks.stages.begin(), checks.stages.end());
  prove(g, all.loads, stages);
}

}  // namespace sheaf::inline v0_1::plan
