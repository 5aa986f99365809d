#include <sheaf/jit/plan/checks.hpp>

#include <algorithm>
#include <set>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/check_stages.hpp>
#include <sheaf/jit/plan/guarded_data.hpp>
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

// Loads that are evaluated whatever the data, but for loops that it leaves empty, arguments first; but those with a
// subscript that is outside whatever the data: find_violations asks whether these are evaluated. Of irregular calls, of
// which that is not known, it asks about such a subscript alone.
class unconditional_loads {
 public:
  // when: what extents must be for any of them.
  unconditional_loads(const asked_loads& outside, unproven_loads& unproven, std::vector<evaluated_load>& found,
                      node_id when)
      : g_(outside.g),
        known_(outside.known),
        outside_(outside),
        unproven_(unproven),
        found_(found),
        around_{.when = when} {}
  void operator()(node_id n) {
    if (!is_new(seen_[n])) return;
    const op kind = g_.kind(n);
    if (kind == op::extent || kind == op::define) return;
    if (kind == op::select && asks_for_elements(g_, g_.arg(n, 0), g_.arg(n, 1))) (*this)(g_.arg(n, 1));
    // The first may guard the rest.
    if (kind == op::select || kind == op::logical_and || kind == op::logical_or) return (*this)(g_.arg(n, 0));
    if (kind == op::reduce) return reduction(n);
    for (int k = g_[n].count - 1; k >= (kind == op::load ? 1 : 0); --k) (*this)(g_.arg(n, k));
    if (kind == op::load && (!outside_.has(n) || known_.irregular())) add(n);
  }

 private:
  using loops = std::vector<node_id>;
  // Where something stands: in loops that data may leave empty, and where extents leave none empty.
  struct place {
    loops in = {};
    node_id when;
  };

  // Who is evaluated in some loops is evaluated in more.
  bool is_new(std::vector<place>& before) {
    const auto is_part = [&](const place& other) {
      const auto is_around = [&](node_id idx) { return std::ranges::find(around_.in, idx) != around_.in.end(); };
      return (other.when == around_.when || is_true(g_, other.when)) && std::ranges::all_of(other.in, is_around);
    };
    if (std::ranges::any_of(before, is_part)) return false;
    before.push_back(around_);
    return true;
  }
  void add(node_id n) {
    evaluated_load e{n, around_.in, g_.free[n].meets(inner_), around_.when};
    if (outside_.has(n)) e.apart = outside_.dimensions.at(n);
    if (std::ranges::find(found_, e) == found_.end()) found_.push_back(std::move(e));
  }
  // By data: what stands in a window that numbers or indices alone cut to nothing is checked all the same.
  bool may_be_empty(node_id idx) {
    const node_id low = g_.arg(idx, 0), high = g_.arg(idx, 1);
    return (holds(g_, low, op::load) || holds(g_, high, op::load)) && !known_less_equal(g_, plus(g_, low, 1), high);
  }

  // Its ranges as far as no part of the condition guards them and no loop before them is empty, then what is asked
  // first, then what waits for no condition.
  void reduction(node_id n) {
    if (!unproven_.in(n)) return;
    const loops all = nesting_order(g_, bound_indices(g_, n));
    std::size_t open = 0, walked = 0;
    while (open < all.size() && demanded_before(g_, n, all, open).empty()) ++open;
    while (walked < all.size() && !is_empty(known_, all[walked])) ++walked;
    const std::size_t sure = std::min(open, walked);
    for (int k = g_[n].count - 1; k > 1; --k) {
      const auto at = static_cast<std::size_t>(std::ranges::find(all, g_.arg(n, k)) - all.begin());
      if (at < sure) within(n, std::span(all).first(at), [&] { (*this)(all[at]); });
    }
    within(n, std::span(all).first(walked), [&] {
      if (walked < all.size()) {
        const auto asked = demanded_before(g_, n, all, walked);
        if (!asked.empty()) (*this)(asked.front());
        return;
      }
      (*this)(g_.arg(n, 1));
      if (is_true(g_, g_.arg(n, 1))) (*this)(g_.arg(n, 0));
    });
  }
  // Walks what is evaluated in some of a reduction's loops.
  template <class Walk>
  void within(node_id n, std::span<const node_id> entered, const Walk& walk) {
    const place around = around_;
    const index_set inner = inner_;
    for (const node_id idx : entered) {
      if (may_be_empty(idx)) around_.in.push_back(idx);
      around_.when = when_run(g_, known_, {&idx, 1}, around_.when);
    }
    if (!around_.in.empty()) inner_ |= set_of(g_, bound_indices(g_, n));
    walk();
    around_ = around;
    inner_ = inner;
  }

  graph& g_;
  const facts& known_;
  const asked_loads& outside_;
  unproven_loads& unproven_;
  std::vector<evaluated_load>& found_;
  place around_;
  index_set inner_;  // bound by what is in loops that data may leave empty
  std::unordered_map<node_id, std::vector<place>> seen_;
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

// Is anything of a stage evaluated? What is read in empty loops alone is not.
class evaluated_stages {
 public:
  evaluated_stages(graph& g, const facts& known, unproven_loads& unproven)
      : g_(g), known_(known), unproven_(unproven) {}

  // By stage, what extents must be; no_node: it is not.
  std::vector<node_id> operator()(const std::vector<stage>& stages, const std::vector<node_id>& bodies) {
    std::vector<node_id> list(stages.size(), no_node);
    for (std::size_t i = stages.size(); i-- > 0;) {  // readers first
      const stage& s = stages[i];
      const auto read = read_.find(s.define);
      list[i] = s.where == place::output ? truth(g_, true) : read != read_.end() ? read->second : no_node;
      if (list[i] != no_node && unproven_.in(bodies[i])) list[i] = inside(s.indices, list[i]);
      if (list[i] != no_node) walk(bodies[i], list[i]);
    }
    return list;
  }

 private:
  node_id inside(const std::vector<node_id>& loops, node_id when) {
    const auto empty = [&](node_id idx) { return is_empty(known_, idx); };
    return std::ranges::any_of(loops, empty) ? no_node : when_run(g_, known_, loops, when);
  }
  void walk(node_id n, node_id when) {
    if (g_.kind(n) == op::extent || !seen_.emplace(n, when).second) return;
    if (g_.kind(n) == op::reduce && unproven_.in(n)) when = inside(bound_indices(g_, n), when);
    if (when == no_node) return;
    if (g_.kind(n) == op::load) read(g_.arg(n, 0), when);
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) walk(g_.arg(n, k), when);
  }
  void read(node_id tensor, node_id when) {
    const auto [at, first] = read_.try_emplace(tensor, when);
    if (first || is_true(g_, at->second)) return;
    at->second = is_true(g_, when) ? when : make(g_, op::logical_or, at->second, when);
  }

  graph& g_;
  const facts& known_;
  unproven_loads& unproven_;
  std::unordered_map<node_id, node_id> read_;  // by definition, what extents must be for one who reads it
  std::set<std::pair<node_id, node_id>> seen_;
};

// What is evaluated of the program.
struct evaluated_loads {
  graph& g;
  const facts& known;
  const asked_loads outside = outside_loads(g, known);
  unproven_loads unproven{g};
  std::vector<evaluated_load> loads = {};
  std::vector<violation> violations = {};

  void find(node_id body, std::span<const node_id> indices) {
    if (!outside.dimensions.empty()) find_violations(outside, body, indices, violations);
  }
  void unconditional(node_id n, std::vector<evaluated_load>& found, node_id when) {
    unconditional_loads(outside, unproven, found, when)(n);
  }

  // when: it is evaluated; no_node: it is not.
  void add(const stage& s, node_id body, node_id when) {
    if (when != no_node) unconditional(body, loads, when);
    unconditional_loads collect(outside, unproven, loads, truth(g, true));
    for (const node_id idx : s.indices) collect(idx);
    if (s.where == place::output) find(body, s.indices);
  }

  // What a differentiated definition reads, also where the gradients alone are computed and read less: a bad subscript
  // would just not meet any row there.
  void add_differentiated(node_id definition, node_id when) {
    std::vector<evaluated_load> own;
    if (!unproven.in(definition)) return;
    const std::vector<node_id> indices = arguments(g, definition, 1);
    if (std::ranges::any_of(indices, [&](node_id idx) { return is_empty(known, idx); })) return;
    unconditional(g.arg(definition, 0), own, when_run(g, known, indices, when));
    for (evaluated_load& e : own) {
      if (g.kind(g.arg(e.load, 0)) == op::define) add_differentiated(g.arg(e.load, 0), e.when);
      if (std::ranges::find(loads, e) == loads.end()) loads.push_back(std::move(e));
    }
  }

  // Behind conditions; what gradients read is what is differentiated.
  std::vector<violation> guarded(const std::vector<stage>& stages, const std::vector<node_id>& bodies) {
    std::vector<violation> found;
    std::vector<evaluated_load> always = loads;
    std::erase_if(always, [&](const evaluated_load& e) { return !waiting_subscripts(g, e).empty(); });
    guarded_data data(g, known, nodes_of(always));
    for (const node_id y : g.differentiated) data.find(g.arg(y, 0), arguments(g, y, 1), found);
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (stages[i].where == place::output) data.find(bodies[i], stages[i].indices, found);
    return found;
  }
};

// What is read for a slice as a whole, and may be outside where it has no elements, stays unproven.
void prove(graph& g, const std::vector<evaluated_load>& loads, std::vector<stage>& stages) {
  const std::vector<node_id> checked = nodes_of(loads);
  std::vector<node_id> inside;
  std::unordered_map<node_id, std::vector<int>> moved;
  for (const node_id n : checked) {
    bool anyway = false, inner = false;
    std::vector<int> waiting;
    for (const evaluated_load& e : loads) {
      if (e.load != n) continue;
      const std::vector<int> list = waiting_subscripts(g, e);
      anyway = anyway || list.empty();
      inner = inner || (e.inner && is_true(g, e.when) && e.apart.empty());
      waiting.insert(waiting.end(), list.begin(), list.end());
    }
    if (anyway || inner) inside.push_back(n);
    if (!anyway && inner) moved[n] = std::move(waiting);
  }
  proving with_proofs(g, inside, proving::in::all_it_reads);
  for (auto& [load, dimensions] : moved) with_proofs.move_inside(load, std::move(dimensions));
  for (stage& s : stages) {
    s.vouched = vouched_in_slices(g, s, checked);
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
  const auto evaluated = evaluated_stages(g, known, all.unproven)(stages, bodies);
  for (std::size_t i = 0; i < stages.size(); ++i) all.add(stages[i], bodies[i], evaluated[i]);
  for (const node_id y : g.differentiated) {
    all.add_differentiated(y, truth(g, true));
    all.find(g.arg(y, 0), arguments(g, y, 1));
  }
  check_stages checks{g, known, plan};
  std::vector<evaluated_load> asked;
  for (const demand& d : g.demands) {
    all.unconditional(d.wrong, asked, truth(g, true));
    all.find(d.wrong, {});
  }
  for (const evaluated_load& e : asked) checks.add_load(e);
  checks.add_demands();
  for (const evaluated_load& e : all.loads) checks.add_load(e);
  for (const violation& v : all.violations) checks.add_violation(v);
  for (const violation& v : all.guarded(stages, bodies)) checks.add_violation(v);
  all.loads.insert(all.loads.end(), asked.begin(), asked.end());
  checks.ask_together(nodes_of(all.loads));
  stages.insert(stages.begin(), checks.stages.begin(), checks.stages.end());
  prove(g, all.loads, stages);
}

}  // namespace sheaf::inline v0_1::plan
