#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

void mark(const module& m, block& body, double from) {
  for (statement& s : body) {
    mark(m, s.body, from);
    if (s.kind != statement_kind::store || !s.once || s.how != access::contiguous) continue;
    s.non_temporal = leaves_caches(m.buffers[static_cast<std::size_t>(s.target)], from);
  }
}

}  // namespace

bool leaves_caches(const buffer& b, double from) {
  return b.where == role::output && b.bytes >= from && !b.read_again;
}

void non_temporal_stores(module& m, double from) {
  for (kernel& k : m.kernels) mark(m, k.body, from);
}

}  // namespace sheaf::inline v0_1::ir
