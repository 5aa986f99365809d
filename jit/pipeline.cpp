#include <sheaf/jit/pipeline.hpp>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/ir/passes/contract_fma.hpp>
#include <sheaf/jit/ir/passes/insert_prefetch.hpp>
#include <sheaf/jit/ir/passes/interleave_kernels.hpp>
#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>
#include <sheaf/jit/ir/passes/partition_loops.hpp>
#include <sheaf/jit/ir/passes/strip_loops.hpp>
#include <sheaf/jit/ir/passes/transpose_accesses.hpp>
#include <sheaf/jit/ir/passes/unroll_and_jam.hpp>
#include <sheaf/jit/ir/passes/unswitch_loops.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/summary.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/lower/lower.hpp>
#include <sheaf/jit/plan/algorithms/moments/one_walk.hpp>
#include <sheaf/jit/plan/horizontal_fusion.hpp>
#include <sheaf/jit/plan/cache_tile.hpp>
#include <sheaf/jit/plan/group_tile.hpp>
#include <sheaf/jit/plan/error_bound.hpp>
#include <sheaf/jit/plan/checks.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/storage_folding.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/promised.hpp>
#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/rows.hpp>
#include <sheaf/jit/plan/register_tile.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/plan/overrides.hpp>
#include <sheaf/jit/plan/traffic.hpp>
#include <sheaf/jit/plan/updates.hpp>
#include <sheaf/jit/plan/verify.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1 {

namespace {

constexpr int dump_level = 6;  // of SHEAF_DEBUG

lower::context lowered(compilation& c) { return {c.program.g, c.known, c.program.plan, c.program.code}; }

ir::extent_of typical_extents(const compilation& c) {
  const plan::call_facts& call = c.known.call();
  return [&call](const ir::buffer& b, int d) {
    const auto input = static_cast<std::size_t>(b.slot);
    const auto dimension = static_cast<std::size_t>(d);
    const bool known = b.where == ir::role::input && input < call.inputs.size();
    return known ? call.inputs[input].extents[dimension].typical() : tuning::partition::usual_extent;
  };
}

constexpr pass table[] = {
    {"stages", "what is stored, before anything is known of how",
     [](compilation& c) {
       c.program.plan.stages = plan::stages_of(c.program.g, c.known);
       plan::store_products(c.program.g, c.known, c.program.plan.stages);
     }},
    {"updates apart", "an output's copy is a stage like others",
     [](compilation& c) { plan::store_apart(c.program.g, c.known, c.program.plan.stages); }},
    {"bounds checks", "on expressions as the program wrote them: the subscripts of its own tensors, not of ours",
     [](compilation& c) {
       plan::add_checks(c.program.g, c.known, c.program.plan.stages, c.program.plan);
       c.program.plan.written = c.program.g.size();  // with its loads proven
     }},
    {"materialise", "the rules of plan/rules.cpp, stage by stage: which algorithm, and what else must be stored",
     [](compilation& c) {
       plan::walk_stored_means(c.program.g, c.known, c.program.plan.stages);
       plan::materialise(c.program.g, c.known, c.program.plan.stages);
     }},
    {"order of checks", "what checks read runs before outputs are written; all stages are there now",
     [](compilation& c) { plan::mark_demanded(c.program.g, c.program.plan.stages); }},
    {"promised constants", "what one call leaves for the next is never grouped with what it does not",
     [](compilation& c) { plan::mark_promised(c.program.g, c.known, c.program.plan.stages); }},
    {"shared rows", "partial results and maps over the same rows, before loops are fixed",
     [](compilation& c) {
       if (c.known.call().overrides.fusion == fusion::planned) plan::share_rows(c.program.g, c.known, c.program.plan);
     }},
    {"accumulators", "once each reduction's lanes are known",
     [](compilation& c) { plan::widen_accumulators(c.program.g, c.known, c.program.plan); }},
    {"kernels", "stages that share a loop; nothing changes a stage's loops after it",
     [](compilation& c) { plan::group(c.program.g, c.known, c.program.plan); }},
    {"storage folding", "needs the loops that the stages of a kernel share",
     [](compilation& c) { plan::fold_storage(c.program.g, c.known, c.program.plan); }},
    {"register tiles", "what is stored for one iteration at a time has no tile",
     [](compilation& c) { plan::choose_register_tiles(c.program.g, c.known, c.program.plan); }},
    {"cache tiles", "of kernels with a register tile that walk more than L2 holds",
     [](compilation& c) { plan::choose_cache_tiles(c.program.g, c.known, c.program.plan); }},
    {"task sizes", "of kernels that have their tiles, which are worth more than tasks of their parts",
     [](compilation& c) { plan::size_tasks(c.program.g, c.known, c.program.plan); }},
    {"group tiles", "of kernels that stayed by themselves for it, on a GPU",
     [](compilation& c) { plan::choose_group_tiles(c.program.g, c.known, c.program.plan); }},
    {"options", "throws where the plan is not what the caller's options ask for",
     [](compilation& c) { plan::check_followed(c.program.g, c.known, c.program.plan); }},
    {"traffic", "predicts bytes and operations of the kernels that there will be",
     [](compilation& c) { plan::predict_traffic(c.program.g, c.known, c.program.plan); }},
    {"horizontal fusion", "chooses by their predicted traffic",
     [](compilation& c) { plan::fuse_horizontally(c.known, c.program.plan); }},
    {"updates in place", "kernels have their order now: outputs that this is not sure of are planned again, apart",
     [](compilation& c) { c.unproven = plan::unproven_updates(c.program.g, c.known, c.program.plan); }},
    {"folds", "IR from here on: the program's own monoids",
     [](compilation& c) { lower::add_folds(c.program.g, c.program.code); }},
    {"buffers", "which slot of the call each tensor has",
     [](compilation& c) { c.buffers = lower::add_buffers(lowered(c), c.program.workspaces); }},
    {"lower", "loops and values of each kernel", [](compilation& c) { lower::add_kernels(lowered(c), c.buffers); }},
    {"contract fma", "before loops are copied: a product that is added as it is made stays so in each copy",
     [](compilation& c) { ir::contract_fma(c.program.code); }},
    {"unswitch loops", "before a GPU's loops are written out; LLVM has the same pass for a CPU's",
     [](compilation& c) {
       if (c.known.call().gpu) ir::unswitch_loops(c.program.code);
     }},
    {"insert prefetch", "on loops as they are lowered, which show what is read again; a GPU hides latency",
     [](compilation& c) {
       const plan::call_facts& call = c.known.call();
       if (!call.gpu) ir::insert_prefetch(c.program.code, {call.on.from_last_cache(), call.on.from_memory()});
     }},
    {"unroll and jam", "on each kernel by itself: what is prefetched for one iteration is for each",
     [](compilation& c) { ir::unroll_and_jam(c.program.code); }},
    {"transpose accesses", "of the innermost loops, which those before make; a GPU has no registers to transpose in",
     [](compilation& c) {
       if (!c.known.call().gpu) ir::transpose_accesses(c.program.code);
     }},
    {"prefetch rows in lanes",
     "of what the pass before transposes: a stream for each lane is more than hardware follows",
     [](compilation& c) { ir::prefetch_rows_in_lanes(c.program.code); }},
    {"strip loops", "of the innermost loops; before they are taken apart, which need not be where nothing is divided",
     [](compilation& c) {
       if (!c.known.call().gpu) ir::strip_loops(c.program.code, typical_extents(c));
     }},
    {"partition loops", "copies bodies as the passes before left them; threads of a GPU take an element each",
     [](compilation& c) {
       if (!c.known.call().gpu) ir::partition_loops(c.program.code, typical_extents(c));
     }},
    {"non-temporal stores", "on each kernel by itself, before some are interleaved",
     [](compilation& c) { ir::non_temporal_stores(c.program.code, c.known.call().on.non_temporal_from()); }},
    {"interleave kernels", "last: the kernels that horizontal fusion chose become one",
     [](compilation& c) { ir::interleave_kernels(c.program.code); }},
};

// What the pass before left, so that only what changed is written.
class observer {
 public:
  observer(const compilation& c)
      : c_(c), dumps_(runtime::current_settings().debug >= dump_level), verifies_(runtime::current_settings().verify) {}

  void after(const pass& p) {
    const bool lowered = !c_.program.code.kernels.empty();
    if (verifies_) verify(p, lowered);
    if (!dumps_) return;
    std::string text = lowered ? ir::print(c_.program.code) : plan::print(c_.program.g, c_.program.plan);
    if (text == text_) return;
    text_ = std::move(text);
    runtime::debug_line(dump_level, std::string("after ") + p.name + "\n" + text_);
  }

 private:
  void verify(const pass& p, bool lowered) const {
    try {
      if (lowered)
        ir::verify(c_.program.code);
      else
        plan::verify(c_.program.g, c_.program.plan);
    } catch (const std::logic_error& e) {
      throw std::logic_error(std::string("after pass ") + p.name + ": " + e.what());
    }
  }

  const compilation& c_;
  bool dumps_, verifies_;
  std::string text_;
};

}  // namespace

std::span<const pass> passes() { return table; }

std::vector<node_id> planned::output_extents(int k) {
  std::vector<node_id> list;
  for (int d = 0; d < tensor_rank(g, g.outputs[k]); ++d) list.push_back(extent(g, g.outputs[k], d));
  return list;
}

ir::module planned::code_again() const {
  ir::module again = code;
  again.kernels.clear();
  for (const ir::kernel& k : code.kernels)
    if (!k.promised) again.kernels.push_back(k);
  return again;
}

planned plan_program(graph source, const plan::call_facts& call, const std::string& name) {
  planned p;
  p.g = call.updates.empty() ? std::move(source) : source;
  p.g.most_indices = index_set::capacity;
  p.code.name = name;
  const plan::facts known(p.g, call);
  compilation c{p, known, {}};
  observer watching(c);
  for (const pass& each : passes()) {
    each.run(c);
    watching.after(each);
    if (!c.unproven.empty()) return plan_program(std::move(source), plan::with_apart(call, c.unproven), name);
  }
  p.checks = p.plan.checks;
  p.text = plan::options_text(call.overrides) + plan::print(p.g, p.plan) + ir::summary(p.code);
  if (call.explains) p.text += plan::error_text(p.g, known, p.plan);
  return p;
}

}  // namespace sheaf::inline v0_1
