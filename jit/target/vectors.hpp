// What code generation may know of a processor: a row for each width of vector registers, and the names that LLVM has
// for what they do. Another width is another row. Nothing here changes a bit of a result, but that a processor without
// fused multiply-add rounds products. Shown by tests/jit/options.cpp, and by all tests that run on_processors.
#pragma once
#include <span>

namespace sheaf::inline v0_1::target {

struct vectors {
  const char* name;
  const char* features;  // of LLVM: a processor that has all of them is of this row
  int register_bytes;
  int registers;
  int least_masked;     // bytes of the narrowest elements that loads and stores take a mask for; 0: of none
  bool mask_registers;  // masks have registers of their own, and gathers and scatters take them
  bool slow_division;   // of a whole register: a multiplication by the reciprocal and its correction is faster
  // LLVM's intrinsics, null: there is none. A register times powers of two, of f32 and of f64, by 16, 32 and 64 bytes;
  // a permutation of f32 within halves of 16 bytes.
  const char* scale[2][3];
  const char* permute_in_halves;
};

// Widest first; the last is of every processor.
inline constexpr vectors widths[] = {
    {.name = "AVX-512",
     .features = "+avx512f,+avx512dq,+avx512bw,+avx512vl",
     .register_bytes = 64,
     .registers = 32,
     .least_masked = 1,
     .mask_registers = true,
     .slow_division = true,
     .scale = {{"llvm.x86.avx512.mask.scalef.ps.128", "llvm.x86.avx512.mask.scalef.ps.256",
                "llvm.x86.avx512.mask.scalef.ps.512"},
               {"llvm.x86.avx512.mask.scalef.pd.128", "llvm.x86.avx512.mask.scalef.pd.256",
                "llvm.x86.avx512.mask.scalef.pd.512"}},
     .permute_in_halves = nullptr},
    {.name = "AVX2",
     .features = "+avx2",
     .register_bytes = 32,
     .registers = 16,
     .least_masked = 4,
     .mask_registers = false,
     .slow_division = false,
     .scale = {},
     .permute_in_halves = "llvm.x86.avx.vpermilvar.ps.256"},
    {.name = "SSE2",
     .features = "",
     .register_bytes = 16,
     .registers = 16,
     .least_masked = 0,
     .mask_registers = false,
     .slow_division = false,
     .scale = {},
     .permute_in_halves = nullptr},
};

inline constexpr vectors arm_widths[] = {
    {.name = "NEON",
     .features = "",
     .register_bytes = 16,
     .registers = 32,
     .least_masked = 0,
     .mask_registers = false,
     .slow_division = false,
     .scale = {},
     .permute_in_halves = nullptr},
};

// What processors of one instruction set have in common; the names are LLVM's.
struct architecture {
  const char* prefix;              // of its triples
  std::span<const vectors> widths;
  const char* fused_multiply_add;  // features; empty: all processors have it
  const char* half_conversions;
  const char* avoided;             // features: insertq has no form of AVX, and takes 80 cycles amid instructions of it
  const char* fence_of_stores;     // orders non-temporal stores before others; null: they need none
};
inline constexpr architecture architectures[] = {
    {.prefix = "x86_64",
     .widths = widths,
     .fused_multiply_add = "+fma",
     .half_conversions = "+f16c",
     .avoided = "-sse4a",
     .fence_of_stores = "llvm.x86.sse.sfence"},
    {.prefix = "aarch64",
     .widths = arm_widths,
     .fused_multiply_add = "",
     .half_conversions = "",
     .avoided = "",
     .fence_of_stores = nullptr},
};

inline constexpr const char* triple = "x86_64-unknown-linux-gnu";  // of kernels made at run time
inline constexpr const char* widest_bits = "512";  // or LLVM gives some processors halves of their registers
inline constexpr int line_bytes = 64;  // of every cache

}  // namespace sheaf::inline v0_1::target
