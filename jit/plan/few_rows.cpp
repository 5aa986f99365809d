#include <sheaf/jit/plan/few_rows.hpp>

#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// What is folded for each row, in a map along rows: tasks that take parts of a row would each fold it anew.
node_id folded_for_rows(const context& c, const stage& s) {
  const auto& [g, known, before] = c;
  if (known.for_groups() || s.vector == no_node || s.short_rows || s.loops.back() != s.vector || s.loops.size() < 2 ||
      s.rows.whole != no_node || !is_closed(g, s.vector))
    return no_node;
  const index_set rows = set_of(g, s.loops).without(set_of(g, {s.vector}));
  const auto is_folded = [&](node_id n) {
    return !g.free[n].empty() && g.free[n].within(rows) && has_closed_ranges(g, n) && !is_term_by_term(g, n);
  };
  const auto all = reductions_in(g, s.body);
  const auto found = std::ranges::find_if(all, is_folded);
  if (found == all.end()) return no_node;
  amount tasks = 1;
  for (const node_id idx : s.loops)
    if (idx != s.vector) tasks = max(tasks, known.trips(idx));
  std::vector<shapes::at_least> few = parts_of_lanes(known, s, tasks);
  few.push_back({known.trips(set_of(g, s.loops)), tuning::tasks::parted_from});
  return known.call().force_for_tests || shapes::all_of(few) ? *found : no_node;
}

}  // namespace

bool take_few_rows(const context& c, stage& s) {
  if (s.how != way::map) return false;
  const node_id n = folded_for_rows(c, s);
  if (n == no_node) return false;
  store_by_itself(c, s, n, "rows fewer than tasks, which take parts of them", false);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
