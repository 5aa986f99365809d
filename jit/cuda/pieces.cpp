// The bounds of a parallel loop, evaluated by the host.
#include <optional>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::cuda {

std::int64_t pieces(const ir::module& m, std::size_t k, std::span<const std::int64_t* const> extents) {
  const ir::kernel& kernel = m.kernels[k];
  const ir::statement* const loop = parallel_loop(kernel);
  if (loop == nullptr) return 1;
  std::vector<std::optional<std::int64_t>> known(kernel.instructions.size());
  const auto at = [&](ir::value v) -> std::optional<std::int64_t>& { return known[static_cast<std::size_t>(v)]; };
  for (const ir::statement& s : kernel.body) {
    if (s.kind != ir::statement_kind::instruct) continue;
    const ir::instruction& i = kernel.instructions[static_cast<std::size_t>(s.id)];
    if (is_floating(i.type)) continue;
    if (i.code == ir::opcode::constant) at(s.id) = i.bits;
    if (i.code == ir::opcode::extent) {
      const ir::buffer& b = m.buffers[static_cast<std::size_t>(i.target)];
      if (b.slot >= 0) at(s.id) = extents[static_cast<std::size_t>(b.slot)][i.dimension];
    }
    if (i.code != ir::opcode::elementwise || row(i.what).integer == nullptr) continue;
    std::int64_t x[3] = {0, 0, 0};
    bool all = true;
    for (std::size_t n = 0; n < i.args.size(); ++n) {
      all = all && at(i.args[n]).has_value() &&
            !is_floating(kernel.instructions[static_cast<std::size_t>(i.args[n])].type);
      x[n] = at(i.args[n]).value_or(0);
    }
    if (all) at(s.id) = row(i.what).integer(x[0], x[1], x[2]);
  }
  if (!at(loop->low) || !at(loop->high)) return -1;
  return std::max<std::int64_t>(*at(loop->high) - *at(loop->low), 0);
}

}  // namespace sheaf::cuda
