// Whether iterations of a loop may run once more, so that the last few of them are as many as others at once.
#include <unordered_set>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

Value* may_run_again(function_emitter& f, const ir::statement& s) {
  std::unordered_set<std::int32_t> loaded, stored;
  for (const ir::statement& each : s.body) {
    if (each.kind == ir::statement_kind::store && !each.adds) {
      stored.insert(each.target);
    } else if (each.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = f.instruction(each.id);
      if (i.code > ir::opcode::load) return nullptr;
      if (i.code == ir::opcode::load) loaded.insert(i.target);
    } else if (each.kind != ir::statement_kind::prefetch) {
      return nullptr;
    }
  }
  Value* apart = f.build.getTrue();
  for (const std::int32_t from : loaded)
    for (const std::int32_t to : stored) {
      if (from == to) return nullptr;
      if (f.buffer(from).where != ir::role::input || f.buffer(to).where != ir::role::output) continue;
      if (f.buffer(from).type != f.buffer(to).type) continue;
      apart = f.build.CreateAnd(apart, f.build.CreateICmpNE(facts_of(f, from).data, facts_of(f, to).data));
    }
  return apart;
}

}  // namespace sheaf::inline v0_1::llvm_backend
