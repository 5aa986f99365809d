// What is known of a buffer (pointer, extents, strides): read once, in the function's prologue.
#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

// Everything that the runtime wrote before the call stays as it is during it.
LoadInst* load_fact(builder& b, Type* type, Value* base, std::uint64_t offset) {
  LoadInst* load = b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), base, offset));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(b.getContext(), {}));
  return load;
}

void local_facts(function_emitter& f, const ir::buffer& buffer, buffer_facts& facts) {
  auto& b = f.build;
  Type* const element = stored_type(b.getContext(), buffer.type);
  facts.data = f.stack_slot(ArrayType::get(element, static_cast<std::uint64_t>(buffer.elements)), buffer.name.c_str());
  std::int64_t stride = 1;
  for (std::size_t d = facts.strides.size(); d-- > 0;) {
    const std::int64_t extent = d < buffer.extents.size() ? buffer.extents[d] : buffer.elements;
    facts.extents[d] = b.getInt64(static_cast<std::uint64_t>(extent));
    facts.strides[d] = b.getInt64(static_cast<std::uint64_t>(stride));
    stride *= extent;
  }
}

void slot_facts(function_emitter& f, const ir::buffer& buffer, buffer_facts& facts) {
  builder b(f.prologue, InstSimplifyFolder(f.m.module.getDataLayout()));
  Type *const ptr = b.getPtrTy(), *const i64 = b.getInt64Ty();
  const std::uint64_t at = static_cast<std::uint64_t>(buffer.slot) * sizeof(sheaf_tensor);
  Value* tensors = load_fact(b, ptr, f.call(), offsetof(sheaf_call, tensors));
  facts.data = load_fact(b, ptr, tensors, at + offsetof(sheaf_tensor, data));
  if (!buffer.rank) return;
  Value* extents = load_fact(b, ptr, tensors, at + offsetof(sheaf_tensor, extents));
  Value* strides = load_fact(b, ptr, tensors, at + offsetof(sheaf_tensor, strides));
  for (std::size_t d = 0; d < facts.strides.size(); ++d) {
    const bool known = d < buffer.extents.size() && buffer.extents[d] >= 0;
    const bool unit = buffer.unit_inner && d + 1 == facts.strides.size();
    facts.extents[d] = known ? static_cast<Value*>(b.getInt64(static_cast<std::uint64_t>(buffer.extents[d])))
                             : load_fact(b, i64, extents, d * sizeof(std::int64_t));
    facts.strides[d] = unit ? static_cast<Value*>(b.getInt64(1)) : load_fact(b, i64, strides, d * sizeof(std::int64_t));
  }
}

}  // namespace

buffer_facts& facts_of(function_emitter& f, std::int32_t id) {
  buffer_facts& facts = f.buffers[static_cast<std::size_t>(id)];
  if (facts.data) return facts;
  const ir::buffer& buffer = f.buffer(id);
  facts.extents.resize(static_cast<std::size_t>(buffer.rank));
  facts.strides.resize(static_cast<std::size_t>(buffer.rank));
  if (buffer.where == ir::role::local)
    local_facts(f, buffer, facts);
  else
    slot_facts(f, buffer, facts);
  return facts;
}

Value* end_of(function_emitter& f, std::int32_t id) {
  buffer_facts& facts = facts_of(f, id);
  if (facts.end || facts.extents.empty()) return facts.end;
  builder b(f.prologue, InstSimplifyFolder(f.m.module.getDataLayout()));
  Value *dense = b.getTrue(), *size = b.getInt64(1);
  for (std::size_t d = facts.extents.size(); d-- > 0;) {
    dense = b.CreateAnd(dense, b.CreateICmpEQ(facts.strides[d], size));
    size = b.CreateMul(size, facts.extents[d]);
  }
  Type* const element = stored_type(b.getContext(), f.buffer(id).type);
  Value* const none = ConstantPointerNull::get(b.getPtrTy());
  return facts.end = b.CreateSelect(dense, b.CreateGEP(element, facts.data, size), none);
}

Value* buffer_extent(function_emitter& f, std::int32_t b, int dimension) {
  return facts_of(f, b).extents[static_cast<std::size_t>(dimension)];
}

}  // namespace sheaf::inline v0_1::llvm_backend
