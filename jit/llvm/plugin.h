/* What the rest of Sheaf sees of the LLVM plug-in, libsheaf_llvm.so: three functions found with dlsym. No LLVM types.
 * The module is passed by pointer as C++ data, so both sides must be built from the same sources by the same compiler;
 * sheaf_llvm_version tells, before anything else is called. */
#ifndef SHEAF_LLVM_PLUGIN_H
#define SHEAF_LLVM_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace sheaf::inline v0_1::ir {
struct module;
}
extern "C" {
#endif

/* Made by the build from the sources of the IR and the generator; sheaf_llvm_version returns that of the plug-in. */
#define SHEAF_LLVM_VERSION SHEAF_CODEGEN_FINGERPRINT

typedef struct sheaf_llvm_options {
  const char *cpu;      /* "native" or null: this machine; else an LLVM name, "x86-64-v3", "znver4" */
  const char *features; /* more features, "+avx2,-fma"; null: none. With "native" they come after the machine's own */
  int32_t level;        /* 2 unless the kernel must not be optimised (0): level 1 code was measured 8 times slower */
  int32_t verify;       /* run LLVM's verifier: for debugging the emitter, costs a tenth of the time */
  /* 1: a sum of products rounds the product; 0: it uses one fused multiply-add where there is one */
  int32_t exact_sum;
  /* 1: the code of every other processor must have the same bits: SHEAF_LLVM_CANNOT where this one cannot */
  int32_t strict;
  int32_t want_ir;      /* fill ir_text: LLVM IR after the passes */
  int32_t want_asm;     /* fill asm_text; compiles a second time */
  const char *triple;   /* null: x86-64 Linux; others in the generator of kernels ahead of time */
  const void *listing;  /* of the module, an ir::listing, whose lines debuggers are told; null: none */
} sheaf_llvm_options;

enum { SHEAF_LLVM_DONE, SHEAF_LLVM_FAILED, SHEAF_LLVM_CANNOT };

/* Milliseconds by stage. */
typedef struct sheaf_llvm_times {
  double target, emit, passes, codegen;
} sheaf_llvm_times;

typedef struct sheaf_llvm_result {
  unsigned char *object; /* relocatable, PIC, small code model; externals: libm, memcpy, memset */
  size_t object_size;
  char *ir_text, *asm_text, *error; /* null where absent; zero-terminated */
  sheaf_llvm_times times;
} sheaf_llvm_result;

#ifdef __cplusplus
/* SHEAF_LLVM_DONE, or another with error filled. Several threads may compile at a time. Free the result in both
   cases. */
typedef int32_t (*sheaf_llvm_compile_fn)(const sheaf::ir::module *, const sheaf_llvm_options *, sheaf_llvm_result *);
int32_t sheaf_llvm_compile(const sheaf::ir::module* module, const sheaf_llvm_options* options,
                           sheaf_llvm_result* result);
/* Several modules of different names as one object. */
int32_t sheaf_llvm_compile_all(const sheaf::ir::module *const *modules, size_t count,
                               const sheaf_llvm_options *options, sheaf_llvm_result *result);
#endif
int32_t sheaf_llvm_version(void);
void sheaf_llvm_free(sheaf_llvm_result *result);

#ifdef __cplusplus
}
#endif
#endif
