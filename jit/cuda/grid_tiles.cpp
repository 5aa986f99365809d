// What the host knows of a kernel's loops: how many iterations they have, and which of them may be tiles.
#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

std::optional<std::int64_t> closed_values::operator()(ir::value v) const {
  const ir::instruction& i = k_.instructions[static_cast<std::size_t>(v)];
  if (is_floating(i.type)) return std::nullopt;
  if (i.code == ir::opcode::constant) return i.bits;
  if (i.code == ir::opcode::extent) {
    const ir::buffer& b = m_.buffers[static_cast<std::size_t>(i.target)];
    const auto d = static_cast<std::size_t>(i.dimension);
    if (d < b.extents.size() && b.extents[d] >= 0) return b.extents[d];
    if (b.slot < 0 || static_cast<std::size_t>(b.slot) >= extents_.size()) return std::nullopt;
    return extents_[static_cast<std::size_t>(b.slot)][d];
  }
  if (i.code != ir::opcode::elementwise || i.vector || row(i.what).integer == nullptr) return std::nullopt;
  std::int64_t x[3] = {0, 0, 0};
  for (std::size_t n = 0; n < i.args.size(); ++n) {
    const auto known = (*this)(i.args[n]);
    if (!known) return std::nullopt;
    x[n] = *known;
  }
  return row(i.what).integer(x[0], x[1], x[2]);
}

std::int64_t closed_values::iterations(const ir::statement& loop) const {
  const auto low = (*this)(loop.low), high = (*this)(loop.high);
  if (!low || !high) return -1;
  const std::int64_t lanes = loop.how_loop == ir::loop_kind::vector ? loop.lanes : 1;
  return (std::max<std::int64_t>(*high - *low, 0) + lanes - 1) / lanes;
}

namespace {

// Constants, extents, and what is computed from them: the same wherever it is made.
bool is_closed(const ir::kernel& k, ir::value v) {
  const ir::instruction& i = k.instructions[static_cast<std::size_t>(v)];
  if (i.code == ir::opcode::constant || i.code == ir::opcode::extent) return true;
  return i.code == ir::opcode::elementwise &&
         std::all_of(i.args.begin(), i.args.end(), [&](ir::value x) { return is_closed(k, x); });
}

// Buffers that a body loads and stores: its iterations may read what others wrote.
void find_accesses(const ir::kernel& k, const ir::block& body, std::vector<bool>& loaded, std::vector<bool>& stored) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store) stored[static_cast<std::size_t>(s.target)] = true;
    if (s.kind == ir::statement_kind::copy)
      loaded[static_cast<std::size_t>(s.target)] = stored[static_cast<std::size_t>(s.to)] = true;
    if (s.kind == ir::statement_kind::instruct)
      if (const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)]; i.code == ir::opcode::load)
        loaded[static_cast<std::size_t>(i.target)] = true;
    find_accesses(k, s.body, loaded, stored);
  }
}

bool is_pure(ir::opcode code) {
  return code == ir::opcode::elementwise || code == ir::opcode::constant || code == ir::opcode::extent ||
         code == ir::opcode::counter || code == ir::opcode::load;
}

}  // namespace

const ir::statement* shared_below(const ir::module& m, const ir::kernel& k, const ir::statement& loop) {
  if (loop.how_loop == ir::loop_kind::vector) return nullptr;
  const ir::statement* found = nullptr;
  for (const ir::statement& s : loop.body) {
    if (s.kind == ir::statement_kind::prefetch) continue;
    if (s.kind == ir::statement_kind::instruct) {
      if (!is_pure(k.instructions[static_cast<std::size_t>(s.id)].code)) return nullptr;
      continue;
    }
    if (found != nullptr || s.kind != ir::statement_kind::loop || s.backward) return nullptr;
    if (s.how_loop != ir::loop_kind::serial && s.how_loop != ir::loop_kind::vector) return nullptr;
    found = &s;
  }
  if (found == nullptr || !is_closed(k, found->low) || !is_closed(k, found->high)) return nullptr;
  std::vector<bool> loaded(m.buffers.size()), stored(m.buffers.size());
  find_accesses(k, loop.body, loaded, stored);
  for (std::size_t b = 0; b < loaded.size(); ++b)
    if (loaded[b] && stored[b]) return nullptr;
  return found;
}

}  // namespace sheaf::inline v0_1::cuda
