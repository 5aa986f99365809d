#include <sheaf/jit/lower/buffers.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/ir/builder.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using plan::place;

class buffer_table {
 public:
  buffer_table(const context& c, std::vector<workspace>& workspaces)
      : g_(c.g), known_(c.known), call_(c.known.call()), plan_(c.plan), code_(c.code), workspaces_(workspaces) {}

  buffer_ids operator()(std::vector<plan::stage>& stages) {
    for (int i = 0; i < g_.inputs.size(); ++i) add_input(i);
    add_ordered(stages, place::output, static_cast<std::size_t>(g_.outputs.size()));
    for (plan::stage& s : stages)
      if (s.where == place::workspace) add_stage(s);
    add_ordered(stages, place::check, plan_.checks.size());
    return std::move(ids_);
  }

 private:
  void add_input(int i) {
    const input_row& row = g_.inputs[i];
    ir::buffer b{.name = plan::text_of(g_, row.name),
                 .type = row.type,
                 .rank = row.rank,
                 .where = ir::role::input,
                 .extents = {}};
    const auto k = static_cast<std::size_t>(i);
    b.unit_inner = k >= call_.inputs.size() || call_.inputs[k].unit_inner;
    for (int d = 0; d < row.rank; ++d) b.extents.push_back(g_.static_extents[row.first_extent + d]);
    const node_id input = g_.intern(op::input, row.type, i, nullptr, 0);
    b.bytes = known_.bytes(input);
    ids_[input] = add(std::move(b));
  }
  // Outputs and checks are called by their ordinal, in whatever order their kernels run.
  void add_ordered(std::vector<plan::stage>& stages, place where, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      for (plan::stage& s : stages)
        if (s.where == where && s.ordinal == static_cast<int>(k)) add_stage(s);
  }
  void add_stage(plan::stage& s) {
    if (ids_.contains(s.define)) return;  // stored one way or another
    static constexpr ir::role roles[] = {ir::role::output, ir::role::workspace, ir::role::check};
    ir::buffer b{.name = plan::name_of(g_, s.define),
                 .type = g_.type(s.define),
                 .rank = static_cast<int>(s.indices.size()),
                 .where = roles[static_cast<int>(s.where)],
                 .extents = {}};
    const auto o = static_cast<std::size_t>(s.ordinal);
    b.unit_inner = s.where != place::output || o >= call_.unit_outputs.size() || call_.unit_outputs[o];
    b.bytes = s.bytes;
    b.read_again = std::ranges::any_of(
        plan_.stages, [&](const plan::stage& reader) { return plan_.reads.reads(reader.define, s.define); });
    if (s.where == place::workspace) add_workspace(s, b);
    ids_[s.define] = add(std::move(b));
  }
  void add_workspace(plan::stage& s, const ir::buffer& b) {
    s.ordinal = static_cast<int>(workspaces_.size());
    workspace w{b.type, {}, s.promised};
    for (int d = 0; d < b.rank; ++d) w.extents.push_back(extent(g_, s.define, d));
    for (const node_id idx : s.indices) w.folded_storage.push_back(std::ranges::count(s.folded_storage, idx) > 0);
    workspaces_.push_back(std::move(w));
  }
  std::int32_t add(ir::buffer b) {
    b.slot = static_cast<int>(code_.buffers.size());
    return ir::add_buffer(code_, std::move(b));
  }

  graph& g_;
  const plan::facts& known_;
  const plan::call_facts& call_;
  const plan::program_plan& plan_;
  ir::module& code_;
  std::vector<workspace>& workspaces_;
  buffer_ids ids_;
};

}  // namespace

buffer_ids add_buffers(const context& c, std::vector<workspace>& workspaces) {
  return buffer_table(c, workspaces)(c.plan.stages);
}

}  // namespace sheaf::inline v0_1::lower
