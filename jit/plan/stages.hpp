// Pass `stages`: what is stored. Outputs are; a definition in between is computed where it is used, unless that would
// repeat its work. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The outputs, and the definitions that are used at different places, each with the other definitions put into its
// body. Producers before consumers.
std::vector<stage> stages_of(graph& g, const facts& known);

// Producers first.
void order_stages(const graph& g, std::vector<stage>& stages);

// Turns nodes of a stage's body that must be stored into stages of their own, before it: reductions that are
// scatters, reductions over much data to few results (in blocks of a fixed size, then over the blocks), and reductions
// whose place in the loop nest would repeat their work.
void materialise(graph& g, const facts& known, std::vector<stage>& stages);

// A new stage for an expression; its indices are those it depends on, in the order in which `like` has them,
// then those it lacks, then the one it runs in lanes. Returns the load that stands for it.
struct stored_as {
  const char* name;
  const stage& like;
  std::string reason;
  origin made = origin::rule;
  bool shared = false;  // another stage's that has the value already, whatever its indices are called, will do
};
node_id stored(const context& c, node_id body, stored_as as);
// Gives a stage that has its value and its indices the definition of both, by this name.
void define_stage(graph& g, stage& s, std::string_view name);
// The stage whose results such a load reads.
stage& stage_behind(const context& c, node_id loaded);

// Does the program name a value of two indices or more that takes reductions, and is it stored as it stands?
bool is_named_pair(const graph& g, const stage& s);

// A stage of `before` that has this value already, read at `walk`; no_node: there is none.
node_id known_as(graph& g, node_id value, node_id walk, const std::vector<stage>& before);

// In the body of a stage, a node by another of the same value.
void replace_in(graph& g, stage& s, node_id from, node_id to);
// What a stage computes of n becomes a stage of its own; not `in_lanes`: without those of s.
void store_by_itself(const context& c, stage& s, node_id n, std::string reason, bool in_lanes = true);

// What a stage stores, at its own indices, as the load that stands for it.
node_id result_of(graph& g, const stage& s);

// Does the value change with each of the indices? Where it is read, an index that it does not name may have no loop.
bool names_all(const graph& g, node_id value, const std::vector<node_id>& indices);

// Memory that kernels share and nothing fills: a value of `body`'s type for each place of the indices.
stage space(graph& g, const std::string& name, node_id body, std::vector<node_id> indices);

// What a stage's place held before the rows at hand, as a load; `use` loads what it holds after them. Nothing stores
// it: the lowering knows it where partial results are updated.
node_id earlier(graph& g, node_id use);

}  // namespace sheaf::inline v0_1::plan
