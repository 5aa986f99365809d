// What texts have after prelude_mma.cpp where warpgroups, which are four warps, multiply. A panel lies as the manual of
// PTX says for wgmma with swizzles of 128 bytes: atoms of 8 rows of 128 bytes, whose runs of 16 bytes are permuted, one
// after the other. Terms along rows ("K-major"): 8 rows or columns of the tile are an atom, and 16 terms are 32 bytes.
// Else ("MN-major"): 8 terms of 64 rows or columns are an atom, and the next 64 begin after all terms of these. Where
// there is no wgmma, threads load what a descriptor would say, in the order of terms.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

const char* const prelude_warpgroup = R"(
#if !defined(SHEAF_EMULATED) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WARPGROUPS 1
#endif
enum { bytes_of_atom = 1024, bytes_of_places = 64 * 128 };  // of 8 rows; of 64 rows or columns of the tile
// A group of copies ends.
FN void commit_copies() {
#if defined(SHEAF_EMULATED)
  sheaf_commit_copies();
#elif defined(COPIES_BEHIND)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All but so many groups of copies and products are done. What threads have copied, the tensor cores see after that.
template <int Copies, int Products> FN void await_groups() {
#if defined(SHEAF_EMULATED)
  sheaf_await_groups(Copies);
#elif defined(COPIES_BEHIND)
#ifdef WARPGROUPS
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Products) : "memory");
#endif
  asm volatile("cp.async.wait_group %0;" ::"n"(Copies) : "memory");
#ifdef WARPGROUPS
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
#endif
}
#ifdef WARPGROUPS
#define SUM(x) "+" "f"(x)
// Bits 0 to 13: the address; 16 to 29: from 64 rows or columns to the next; 32 to 45: from atom to atom, all three in
// 16 bytes; 62 and 63: swizzles of 128 bytes.
FN u64 descriptor(const u16* panel) {
  const u64 at = (in_shared(panel) & 0x3ffff) >> 4;
  return at | (u64)(bytes_of_places >> 4) << 16 | (u64)(bytes_of_atom >> 4) << 32 | 1ull << 62;
}
#else
template <bool Along> FN u16 of_panel(const u16* panel, int place, int term) {
  const int byte = Along ? place / 8 * bytes_of_atom + place % 8 * 128 + term * 2
                         : place / 64 * bytes_of_places + term / 8 * bytes_of_atom + term % 8 * 128 + place % 64 * 2;
  return panel[(byte ^ (byte >> 7 & 7) << 4) / 2];
}
#endif
// Products of 64 rows of a warpgroup by N columns: thread l of warp w has row 16 w + l / 4, and the eighth after it, of
// columns 2 (l % 4) and 2 (l % 4) + 1 of each eight.
template <bool Brain, bool Rows, bool Columns, int N, int Terms>
FN void multiply_in_place(float (&c)[N / 2], const u16* rows, const u16* columns) {
#ifndef WARPGROUPS
  const int l = (int)threadIdx.x & 31, row = (int)threadIdx.x / 32 % 4 * 16 + l / 4, column = l % 4 * 2;
  _Pragma("unroll 1") for (int term = 0; term < Terms; ++term)
    _Pragma("unroll") for (int n = 0; n < N / 2; ++n) {
      const u16 x = of_panel<Rows>(rows, row + n / 2 % 2 * 8, term);
      const u16 y = of_panel<Columns>(columns, n / 4 * 8 + column + n % 2, term);
      c[n] = Brain ? fused(from_bf16(x), from_bf16(y), c[n]) : fused(from_f16(x), from_f16(y), c[n]);
    }
#endif
}
)";

}  // namespace sheaf::inline v0_1::cuda
