#include <sheaf/jit/lower/lower.hpp>

#include <sheaf/jit/ir/beside.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/beside.hpp>
#include <sheaf/jit/plan/checks.hpp>
#include <sheaf/jit/plan/folds.hpp>
#include <sheaf/jit/plan/in_turn.hpp>
#include <sheaf/jit/plan/kept.hpp>
#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/rows.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/steer.hpp>
#include <sheaf/jit/plan/traffic.hpp>

namespace sheaf::inline v0_1 {

namespace {

std::string text_of(const graph& g, name_id name) {
  const text_range t = g.names[name];
  return std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size));
}

// Buffers by slot: inputs, outputs, workspaces, checks.
class buffer_table {
 public:
  buffer_table(planned& p, const plan::facts& known) : p_(p), known_(known) {
    for (int i = 0; i < p.g.inputs.size(); ++i) {
      const input_row& row = p.g.inputs[i];
      ir::buffer b{
          .name = text_of(p.g, row.name), .type = row.type, .rank = row.rank, .where = ir::role::input, .extents = {}};
      const auto k = static_cast<std::size_t>(i);
      b.unit_inner = k >= known.call().inputs.size() || known.call().inputs[k].unit_inner;
      for (int d = 0; d < row.rank; ++d) b.extents.push_back(p.g.static_extents[row.first_extent + d]);
      ids[p.g.intern(op::input, row.type, i, nullptr, 0)] = add(std::move(b));
    }
    for (const plan::place where : {plan::place::output, plan::place::workspace, plan::place::check}) add_stages(where);
  }

  std::unordered_map<node_id, std::int32_t> ids;

 private:
  std::int32_t add(ir::buffer b) {
    b.slot = static_cast<int>(p_.code.buffers.size());
    return ir::add_buffer(p_.code, std::move(b));
  }
  void add_stages(plan::place where) {
    static constexpr ir::role roles[] = {ir::role::output, ir::role::workspace, ir::role::check};
    // Outputs and checks are called by their ordinal, in whatever order their kernels run.
    const bool ordered = where != plan::place::workspace;
    const auto last = where == plan::place::output  ? static_cast<std::size_t>(p_.g.outputs.size())
                      : where == plan::place::check ? p_.plan.checks.size()
                                                    : 1;
    for (std::size_t k = 0; k < last; ++k)
      for (plan::stage& s : p_.plan.stages) {
        if (s.where != where || (ordered && s.ordinal != static_cast<int>(k))) continue;
        if (ids.contains(s.define)) continue;  // stored one way or another
        ir::buffer b{.name = plan::name_of(p_.g, s.define),
                     .type = p_.g.type(s.define),
                     .rank = static_cast<int>(s.indices.size()),
                     .where = roles[static_cast<int>(where)],
                     .extents = {}};
        const auto o = static_cast<std::size_t>(s.ordinal);
        b.unit_inner =
            where != plan::place::output || o >= known_.call().unit_outputs.size() || known_.call().unit_outputs[o];
        if (where == plan::place::workspace) {
          s.ordinal = static_cast<int>(p_.workspaces.size());
          workspace w{b.type, {}, s.kept};
          for (int d = 0; d < b.rank; ++d) w.extents.push_back(extent(p_.g, s.define, d));
          for (const node_id idx : s.indices) w.in_turn.push_back(std::ranges::count(s.in_turn, idx) > 0);
          p_.workspaces.push_back(std::move(w));
        }
        ids[s.define] = add(std::move(b));
      }
  }

  planned& p_;
  const plan::facts& known_;
};

// The program's own monoids as steps, arguments before what uses them.
ir::own_fold steps_of(const graph& g, const own_monoid_row& m) {
  ir::own_fold f{m.type, g[m.identity].attribute, {}, 0, m.component, m.width};
  std::unordered_map<node_id, std::int32_t> place;
  const auto add = [&](const auto& self, node_id n) -> std::int32_t {
    if (g.kind(n) == op::operand) return static_cast<std::int32_t>(g[n].attribute);
    if (const auto known = place.find(n); known != place.end()) return known->second;
    ir::fold_step step{g.kind(n), g.type(n), g.kind(n) == op::constant ? g[n].attribute : 0, {}};
    for (int k = 0; k < g[n].count; ++k) step.args.push_back(self(self, g.arg(n, k)));
    f.steps.push_back(std::move(step));
    return place[n] = static_cast<std::int32_t>(f.steps.size()) + 2 * m.width - 1;
  };
  f.result = add(add, m.combine);
  return f;
}

// Kernels that take turns with a later one stand in its place.
void take_turns(planned& p) {
  std::vector<ir::kernel>& kernels = p.code.kernels;
  std::vector<bool> moved(kernels.size(), false);
  for (std::size_t n = 0; n < kernels.size(); ++n) {
    const plan::turns_taken& turns = p.plan.kernels[n].beside;
    if (turns.with < 0) continue;
    ir::kernel& other = kernels[static_cast<std::size_t>(turns.with)];
    std::optional<ir::kernel> both = ir::beside(kernels[n], other, turns.turns, turns.cost);
    if (!both) continue;
    other = *std::move(both);
    moved[n] = true;
  }
  std::vector<ir::kernel> left;
  for (std::size_t n = 0; n < kernels.size(); ++n)
    if (!moved[n]) left.push_back(std::move(kernels[n]));
  kernels = std::move(left);
}

}  // namespace

std::vector<node_id> planned::output_extents(int k) {
  std::vector<node_id> list;
  for (int d = 0; d < tensor_rank(g, g.outputs[k]); ++d) list.push_back(extent(g, g.outputs[k], d));
  return list;
}

ir::module planned::code_again() const {
  ir::module again = code;
  again.kernels.clear();
  for (const ir::kernel& k : code.kernels)
    if (!k.kept) again.kernels.push_back(k);
  return again;
}

planned plan_program(graph source, const plan::call_facts& call, const std::string& name) {
  planned p;
  p.g = std::move(source);
  const plan::facts known(p.g, call);
  p.plan.stages = plan::stages_of(p.g);
  plan::add_checks(p.g, known, p.plan.stages, p.plan);
  plan::materialise(p.g, known, p.plan.stages, p.plan.trusted);
  plan::mark_asked(p.g, p.plan.stages);
  plan::mark_kept(p.g, known, p.plan.stages);
  if (call.steer.fusion == fusion::planned) plan::share_rows(p.g, known, p.plan);
  plan::widen_folds(p.g, known, p.plan);
  plan::group(p.g, known, p.plan);
  plan::keep_in_turn(p.g, known, p.plan);  // needs the loops that stages share
  plan::check_followed(p.g, known, p.plan);
  plan::predict_traffic(p.g, known, p.plan);
  plan::put_beside(known, p.plan);
  p.code.name = name;
  for (const own_monoid_row& m : p.g.monoids) p.code.folds.push_back(steps_of(p.g, m));
  const buffer_table buffers(p, known);
  for (const plan::kernel_plan& k : p.plan.kernels) {
    p.code.kernels.push_back(lower::kernel_lowering(p.g, known, p.plan, p.code, buffers.ids)(k));
    p.code.kernels.back().kept = k.kept;
  }
  take_turns(p);
#ifdef SHEAF_VERIFY
  ir::verify(p.code);
#endif
  p.checks = p.plan.checks;
  p.text = plan::options_text(call.steer) + plan::print(p.g, p.plan);
  return p;
}

}  // namespace sheaf::inline v0_1
