// Math by calls of glibc's libmvec: vectors are cut to registers and joined again, a scalar fills one register. libm is
// not called, though it is faster for one number: its bits differ, and a value computed again must equal the one stored
// (the gradient of max compares them). libmvec has every function here for SSE (b), AVX2 (d) and AVX-512 (e), at up to
// 4 ulp, with special values as in libm. Its bits differ between the widths, and every call spills what lives in vector
// registers; hence the f32 functions of math.cpp.
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::llvm_backend {

using namespace llvm;

namespace {

const char* name_of(op what) {
  switch (what) {
    case op::exp:
      return "exp";
    case op::log:
      return "log";
    case op::log1p:
      return "log1p";
    case op::expm1:
      return "expm1";
    case op::tanh:
      return "tanh";
    case op::erf:
      return "erf";
    case op::sin:
      return "sin";
    case op::cos:
      return "cos";
    case op::pow:
      return "pow";
    default:
      throw compile_error("not a function of libmvec");
  }
}

Value* call(function_emitter& f, const std::string& name, std::span<Value* const> args) {
  Type* const type = args[0]->getType();
  const std::vector<Type*> types(args.size(), type);
  FunctionCallee callee = f.m.module.getOrInsertFunction(name, FunctionType::get(type, types, false));
  auto* function = cast<Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();  // errno is nobody's business here
  return f.build.CreateCall(callee, {args.data(), args.size()});
}

// Lanes [first, first + count) of x, filled up with ones (valid for every function) where x is narrower than a
// register.
Value* piece(function_emitter& f, Value* x, int first, int count) {
  const int lanes = static_cast<int>(cast<FixedVectorType>(x->getType())->getNumElements());
  std::vector<int> picked;
  for (int k = 0; k < count; ++k) picked.push_back(first + k < lanes ? first + k : lanes);
  return f.build.CreateShuffleVector(x, ConstantFP::get(x->getType(), 1.0), picked);
}

Value* join(function_emitter& f, std::vector<Value*> parts, int lanes) {
  while (parts.size() > 1) {
    std::vector<Value*> next;
    for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
      std::vector<int> both;
      const auto width = static_cast<int>(cast<FixedVectorType>(parts[k]->getType())->getNumElements());
      for (int j = 0; j < 2 * width; ++j) both.push_back(j);
      next.push_back(f.build.CreateShuffleVector(parts[k], parts[k + 1], both));
    }
    parts = std::move(next);
  }
  std::vector<int> front;
  for (int j = 0; j < lanes; ++j) front.push_back(j);
  const bool whole = static_cast<int>(cast<FixedVectorType>(parts[0]->getType())->getNumElements()) == lanes;
  return whole ? parts[0] : f.build.CreateShuffleVector(parts[0], front);
}

}  // namespace

Value* emit_math_call(function_emitter& f, op what, element type, std::span<Value* const> args) {
  const int width = f.m.target.register_bytes() / (type == element::f64 ? 8 : 4);
  const char* isa = f.m.target.avx512 ? "e" : f.m.target.avx2 ? "d" : "b";
  const std::string name = std::string("_ZGV") + isa + "N" + std::to_string(width) + (args.size() == 2 ? "vv_" : "v_") +
                           name_of(what) + (type == element::f64 ? "" : "f");
  const auto* vector = dyn_cast<FixedVectorType>(args[0]->getType());
  const int lanes = vector ? static_cast<int>(vector->getNumElements()) : width;
  std::vector<Value*> parts;
  for (int first = 0; first < lanes; first += width) {
    std::vector<Value*> pieces;
    for (Value* x : args) pieces.push_back(vector ? piece(f, x, first, width) : splat(f, x, width));
    parts.push_back(call(f, name, pieces));
  }
  return vector ? join(f, std::move(parts), lanes) : f.build.CreateExtractElement(parts[0], std::uint64_t{0});
}

}  // namespace sheaf::llvm_backend
