#include <sheaf/jit/plan/algorithms/scan/runs.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using tuning::runs::least_results;

// The fold over [begin, r], at the place r of its result.
struct run_form {
  node_id reduce = no_node, t = no_node, r = no_node, begin = no_node;
};

bool is_run(const context& c, const stage& s, node_id n, run_form& f) {
  graph& g = c.g;
  if (g[n].count != 3 || !is_true(g, g.arg(n, 1)) || !g.free[n].within(set_of(g, s.indices))) return false;
  const monoid fold = monoid_of(g, n);
  if (g[n].attribute != static_cast<std::int64_t>(fold) || is_own(fold)) return false;
  if (fold != monoid::sum && fold != monoid::max && fold != monoid::min) return false;
  f = {.reduce = n, .t = g.arg(n, 2)};
  f.begin = g.arg(f.t, 0);
  if (!holds(g, f.begin, op::load) || holds(g, f.begin, op::reduce)) return false;
  for (const node_id r : s.indices)
    if (g.arg(f.t, 1) == plus(g, r, 1)) f.r = r;
  if (f.r == no_node || !is_closed(g, f.r) || !uses(g, f.begin, f.r) || names(g, g.arg(n, 0), f.r)) return false;
  return has_closed_ranges(g, n) && is_safe(g, with(g, g.arg(n, 0), f.t, f.r, proofs::kept));
}

// Does a stage need the fold for each of its values?
bool is_always_needed(const graph& g, node_id body, node_id n) {
  if (body == n) return true;
  if (!is_elementwise(g.kind(body)) || g.kind(body) == op::select || g.kind(body) == op::logical_and ||
      g.kind(body) == op::logical_or)
    return false;
  for (int k = 0; k < g[body].count; ++k)
    if (is_always_needed(g, g.arg(body, k), n)) return true;
  return false;
}

class running_in_groups {
 public:
  running_in_groups(const context& c, stage& s, const run_form& f) : c_(c), g_(c.g), s_(s), f_(f) {}

  void operator()() {
    const node_id goes_on = stored(c_, make(g_, op::less, f_.begin, f_.r),
                                   {"goes_on", layout_of(c_, f_.begin, s_), "whether a running fold begins anew"});
    const node_id all = asked(), when = s_.when == no_node ? truth(g_, true) : s_.when;
    const node_id runs = conjunction(g_, when, all), others = conjunction(g_, when, make(g_, op::logical_not, all));
    const node_id n = f_.reduce;
    const monoid fold = monoid_of(g_, n);
    const element type = fold == monoid::sum ? numerics::recurred(g_.type(n)) : numerics::accumulated(g_.type(n));
    const node_id value = cast_to(g_, type, with(g_, g_.arg(n, 0), f_.t, f_.r, proofs::kept));
    // Folds of other kinds, or under other conditions, are other results.
    const node_id body =
        make(g_, op::select, conjunction(g_, proven(g_, goes_on), runs), value, identity_of(g_, fold, type));
    const node_id made = stored(c_, body, {"run", layout_of(c_, value, s_), "each result is made of the one before"});
    stage& scan = stage_behind(c_, made);
    scan.how = way::scan;
    scan.owned = f_.r;
    scan.form = scan_form{.fold = fold, .value = value, .walk = f_.r, .factor = proven(g_, goes_on)};
    scan.when = runs;
    scan.reasons.push_back("scan: it begins anew where data says");
    stage fast = s_;
    fast.when = runs;
    fast.reasons = {"where each fold begins at its own place or where the one before does: a scan"};
    replace_in(g_, fast, n, cast_to(g_, g_.type(n), made));
    c_.before.push_back(std::move(fast));
    s_.when = others;
  }

 private:
  // Does each fold begin at its own place, or where the one before does?
  node_id asked() {
    const node_id first = g_.arg(f_.r, 0);
    const index_set used = indices_in(g_, f_.reduce);
    const node_id i = unused_index(g_, f_.r, first, g_.arg(f_.r, 1), used);
    const node_id here = with(g_, f_.begin, f_.r, i, proofs::kept), last = plus(g_, i, -1),
                  before = with(g_, f_.begin, f_.r, last);  // there is none before the first
    const node_id same = make(g_, op::logical_and, make(g_, op::less, first, i), make(g_, op::equal, here, before));
    const node_id fine = make(g_, op::logical_or, make(g_, op::equal, here, i), same);
    std::vector<node_id> all{i};
    for (const node_id idx : indices_of(g_, g_.free[fine]))
      if (idx != i) all.push_back(idx);
    stage like = s_;
    like.vector = no_node;
    const node_id made = stored(c_, intern_reduce(g_, monoid::all, element::boolean, fine, truth(g_, true), all),
                                {"runs", like, "whether each result is made of the one before"});
    stage_behind(c_, made).decides = true;
    return made;
  }

  const context& c_;
  graph& g_;
  stage& s_;
  const run_form& f_;
};

}  // namespace

bool take_runs(const context& c, stage& s) {
  if (s.how != way::map || s.where == place::check || s.rows.whole != no_node || c.known.for_groups()) return false;
  for (const stage& t : c.before)  // those of a condition alone are asked once
    if (t.define == s.define) return false;
  run_form f;
  for (const node_id n : reductions_in(c.g, s.body)) {
    if (!is_run(c, s, n, f) || !is_always_needed(c.g, s.body, n)) continue;
    if (!c.known.call().force_for_tests && c.known.bits().trips(f.r) < least_results) continue;
    if (reductions_in(c.g, s.body).size() > 1) {
      store_by_itself(c, s, n, "each may be made of the one before");
      return true;
    }
    running_in_groups(c, s, f)();
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
