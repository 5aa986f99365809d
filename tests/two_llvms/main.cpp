// An application that has an LLVM of its own, and makes code with it before Sheaf brings another one and after.
#include <cstdint>
#include <cstdio>

#include <llvm-c/Core.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>

#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(i, x(i) * x(i));

// What `int f(int a) { return a * 3 + by; }`, made by the application's LLVM, answers.
static int made_by_application(int a, int by) {
  LLVMModuleRef module = LLVMModuleCreateWithName("application");
  LLVMTypeRef whole = LLVMInt32Type();
  LLVMValueRef f = LLVMAddFunction(module, "f", LLVMFunctionType(whole, &whole, 1, 0));
  LLVMBuilderRef b = LLVMCreateBuilder();
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlock(f, "entry"));
  LLVMValueRef tripled = LLVMBuildMul(b, LLVMGetParam(f, 0), LLVMConstInt(whole, 3, 0), "");
  LLVMBuildRet(b, LLVMBuildAdd(b, tripled, LLVMConstInt(whole, static_cast<unsigned>(by), 0), ""));
  LLVMDisposeBuilder(b);
  LLVMExecutionEngineRef engine = nullptr;
  char* problem = nullptr;
  if (LLVMCreateExecutionEngineForModule(&engine, module, &problem) != 0) return std::puts(problem), -1;
  const auto call = reinterpret_cast<int (*)(int)>(LLVMGetFunctionAddress(engine, "f"));
  const int answer = call(a);
  LLVMDisposeExecutionEngine(engine);
  return answer;
}

int main() {
  LLVMLinkInMCJIT();
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  const float data[4] = {1, 2, 3, 4};
  const int before = made_by_application(5, 1);
  auto step = compile(total, grad(total, x));
  auto [value, dx] = step(x = data);
  const int after = made_by_application(7, 2);
  std::printf("%d, %g, %g, %d\n", before, static_cast<double>(value), static_cast<double>(dx(3)), after);
  return before == 16 && value == 30.0f && dx(3) == 8.0f && after == 23 ? 0 : 1;
}
