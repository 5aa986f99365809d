#include <sheaf/jit/plan/verify.hpp>

#include <algorithm>
#include <bit>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using numerics::lanes::most;

[[noreturn]] void broken(const graph& g, const stage& s, const char* rule, const std::string& expected) {
  throw bad_plan(std::string("plan: ") + rule + ": stage " + name_of(g, s.define) + ": expected " + expected);
}

void check_loops(const graph& g, const stage& s) {
  if (s.how != way::map || s.loops.empty() || s.rows.whole != no_node) return;
  if (!std::ranges::is_permutation(s.loops, s.indices)) broken(g, s, "loops", "a loop for each index");
  if (s.vector != no_node && s.vector != s.loops.back() && !s.short_rows && !s.loop_within)
    broken(g, s, "loops", "lanes in the innermost loop");
}

void check_lanes(const graph& g, const stage& s) {
  if (s.lanes < 1 || s.lanes > most || !std::has_single_bit(static_cast<unsigned>(s.lanes)))
    broken(g, s, "lanes", "a power of two, found " + std::to_string(s.lanes));
}

void check_form(const graph& g, const stage& s) {
  const std::size_t expected = s.how == way::scan                                ? stage_form(scan_form{}).index()
                               : s.how == way::window                            ? stage_form(window_form{}).index()
                               : s.how == way::sweep || s.how == way::endpoints ? stage_form(sweep_form{}).index()
                               : s.how == way::tiles || s.how == way::tile_starts ? stage_form(tile_form{}).index()
                               : s.how == way::pair_tiles                        ? stage_form(pair_tile_form{}).index()
                                                                                 : 0;
  if (s.form.index() != expected) broken(g, s, "form", std::string("that of ") + way_name(s.how));
}

// What is stored twice is added twice, where it is added.
void check_alternatives(const graph& g, const stage& s, const std::vector<stage>& stages) {
  for (const stage& other : stages)
    if (&other != &s && other.define == s.define && other.when == no_node && s.when == no_node)
      broken(g, s, "stages", "one for each definition, or a condition for each but one, found two without");
}

void check_scope(const graph& g, const stage& s) {
  if (s.how != way::map || s.body == no_node || s.rows.whole != no_node) return;
  if (!g.free[s.body].within(set_of(g, s.indices))) broken(g, s, "scope", "a value of its indices");
}

void check_stored(const graph& g, const stage& s, const std::unordered_set<node_id>& stored) {
  const auto check = [&](node_id define) {
    if (g.kind(define) == op::define && !stored.contains(define))
      broken(g, s, "stored", "a stage for " + name_of(g, define));
  };
  for_each_root(s, [&](node_id root, root_kind what) {
    if (what == root_kind::made) return check(root);
    if (what != root_kind::read) return;
    for_each_node(g, root, [&](node_id n) {
      if (g.kind(n) == op::load) check(g.arg(n, 0));
    });
  });
}

void check_kernels(const graph& g, const program_plan& plan) {
  std::vector<int> uses(plan.stages.size());
  std::unordered_set<node_id> stored;
  for (const stage& s : plan.stages)
    if (s.how == way::space) stored.insert(s.define);  // a table, which others fill
  for (const kernel_plan& k : plan.kernels) {
    for (const int i : k.stages) stored.insert(plan.at(i).define);
    for (const int i : k.stages) {
      const stage& s = plan.at(i);
      if (k.part == 0) ++uses[static_cast<std::size_t>(i)];
      check_stored(g, s, stored);
    }
  }
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i] != 1 && plan.stages[i].how != way::space)
      broken(g, plan.stages[i], "kernels", "one kernel, found " + std::to_string(uses[i]));
}

}  // namespace

void verify(const graph& g, const program_plan& plan) {
  std::unordered_set<node_id> stored;
  for (const stage& s : plan.stages) {
    stored.insert(s.define);
    check_alternatives(g, s, plan.stages);
  }
  for (const stage& s : plan.stages) {
    check_loops(g, s);
    check_lanes(g, s);
    check_form(g, s);
    check_scope(g, s);
    check_stored(g, s, stored);
  }
  if (!plan.kernels.empty()) check_kernels(g, plan);
}

}  // namespace sheaf::inline v0_1::plan
