// The stages of checks: what pass `checks` found to be asked, as conditions that data answers, each a minimum over the
// positions where it fails. Those over the same elements are asked together whether any of them finds something.
// Shown by tests/numeric/errors.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/violations.hpp>

namespace sheaf::inline v0_1::plan {

// A load that is evaluated whatever the conditions.
struct evaluated_load {
  node_id load = no_node;
  std::vector<node_id> around;  // the loops that data may leave empty
  bool inner = false;           // it depends on indices that are bound in these
  node_id when = no_node;       // of extents, that the plan doesn't ask (facts::irregular)
  std::vector<int> apart = {};  // subscripts that are violations of their own

  bool operator==(const evaluated_load&) const = default;
};
std::vector<node_id> nodes_of(const std::vector<evaluated_load>& list);
// Which subscripts may be outside where loops that the load doesn't depend on have no elements.
std::vector<int> waiting_subscripts(graph& g, const evaluated_load& e);

struct check_stages {
  graph& g;
  const facts& known;
  program_plan& plan;              // gets the checks
  std::vector<stage> stages = {};  // in order of evaluation

  // Each subscript of the load that ranges do not prove inside, once for each condition.
  void add_load(const evaluated_load& e);
  // The positions of the loops around it for which it is evaluated; the host's to look at where no data says.
  void add_violation(const violation& v);
  // Those that extents alone decide, without a walk, are checked where a call's extents are, before a plan is made.
  void add_demands();
  // loads: what checks vouch for.
  void ask_together(const std::vector<node_id>& loads);

 private:
  bool is_asked(const check& c) const;
  // only: a condition without which there is nothing to be found.
  void add_stage(check& c, node_id only = no_node);
};

// Partial results of checks that are made in one kernel: those of s over the range that the leader walks are found in
// the same walk.
void walk_together(graph& g, const stage& leader, stage& s);

}  // namespace sheaf::inline v0_1::plan
