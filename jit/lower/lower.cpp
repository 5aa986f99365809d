#include <sheaf/jit/lower/lower.hpp>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

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

}  // namespace

void add_folds(const graph& g, ir::module& code) {
  for (const own_monoid_row& m : g.monoids) code.folds.push_back(steps_of(g, m));
}

void add_kernels(const context& c, const buffer_ids& buffers) {
  for (const plan::kernel_plan& k : c.plan.kernels) {
    const node_id own = c.g.size();
    kernel_lowering lowering(c, buffers);
    c.code.kernels.push_back(lowering(k));
    if (c.g.indices_left() < tuning::kernels::indices_left) c.g.abandon_from(own);
    c.code.kernels.back().notes = std::move(lowering.notes);
    c.code.kernels.back().promised = k.promised;
    c.code.kernels.back().interleaved = {k.interleaved.with, k.interleaved.iterations, k.interleaved.cost};
  }
}

}  // namespace sheaf::inline v0_1::lower
