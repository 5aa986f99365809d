// What texts with tiles of products have after prelude.cpp: copies of 16 bytes into shared memory that nobody waits
// for, and products of warps. Fragments lie in threads as the manual of PTX says for mma.m16n8k16; a warp loads them by
// ldmatrix, four matrices of 8 x 8 halves at a time. Rows of panels are an odd number of 16 bytes, so that the 8 rows
// of a matrix are in different banks.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

const char* const prelude_copies = R"(
#if !defined(SHEAF_EMULATED) && __CUDA_ARCH__ >= 800
#define COPIES_BEHIND 1
#endif
#ifdef SHEAF_EMULATED
#define DYNAMIC_SHARED(n) __shared__ __align__(1024) u8 shared[n]
#else
#define DYNAMIC_SHARED(n) extern __shared__ __align__(1024) u8 shared[]
FN u32 in_shared(const void* p) { return (u32)__cvta_generic_to_shared(p); }
#endif
// 16 bytes, of which elements from `live` on are 0: these, and runs that begin anywhere, are copied one by one.
template <class E> FN void copy_whole_run(E* to, const E* from) {
#if defined(SHEAF_EMULATED)
  sheaf_copy_behind(to, from, 16);
#elif defined(COPIES_BEHIND)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(from));
#else
  *(uint4*)to = *(const uint4*)from;
#endif
}
template <class E> FN void copy_run(E* to, const E* from, i64 live) {
  constexpr int N = 16 / sizeof(E);
  if ((live >= N) & ((u64)from % 16 == 0)) return copy_whole_run(to, from);
  E x[N];
  EACH(N) x[k] = k < live ? from[k] : (E)0;
  memcpy(to, x, sizeof x);
}
// An element of 4 or 8 bytes.
template <class E> FN void copy_element(E* to, const E* from) {
#if defined(SHEAF_EMULATED)
  sheaf_copy_behind(to, from, sizeof(E));
#elif defined(COPIES_BEHIND)
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(in_shared(to)), "l"(from), "n"(sizeof(E)));
#else
  *to = *from;
#endif
}
FN void await_copies() {
#if defined(SHEAF_EMULATED)
  sheaf_await_copies();
#elif defined(COPIES_BEHIND)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
// Neighbours in memory, of 8 bytes at most.
template <class E> FN void store_pair(E* to, E a, E b) {
  typedef typename word_of<2 * (int)sizeof(E)>::type word;
  const E x[2] = {a, b};
  word both;
  memcpy(&both, x, sizeof x);
  if ((u64)to % sizeof x == 0)
    *(word*)to = both;
  else
    to[0] = a, to[1] = b;
}
)";

const char* const prelude_mma = R"(
// Thread l names row l % 8 of matrix l / 8. Of each it gets two neighbours of row l / 4, or, turned, of column l / 4.
template <bool Turned> FN void load_matrices(u32 (&x)[4], const u16* row) {
#ifdef SHEAF_EMULATED
  const int l = (int)threadIdx.x & 31;
  EACH(4) {
    u16 pair[2];
    for (int n = 0; n < 2; ++n) {
      const int r = Turned ? l % 4 * 2 + n : l / 4, c = Turned ? l / 4 : l % 4 * 2 + n;
      pair[n] = ((const u16*)of_lane(~0u, (u64)row, 8 * k + r, 32))[c];
    }
    memcpy(&x[k], pair, sizeof pair);
  }
#else
  const u32 at = in_shared(row);
  if (Turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
#endif
}
// Sums in the order of terms, where there is no such instruction: what each thread has of both factors is told to those
// that multiply it.
template <bool Brain> FN float half_of(u32 pair, int n) {
  const u16 bits = (u16)(pair >> 16 * n);
  return Brain ? from_bf16(bits) : from_f16(bits);
}
template <bool Brain> FN void multiply_in_order(float* c, const u32 (&a)[4], const u32 (&b)[2]) {
  const int l = (int)threadIdx.x & 31;
  _Pragma("unroll") for (int h = 0; h < 2; ++h)
    _Pragma("unroll 1") for (int p = 0; p < 4; ++p) {
      u32 of_row[2], of_column[2];
      EACH(2) of_row[k] = of_lane(~0u, a[2 * h + k], l / 4 * 4 + p, 32);
      EACH(2) of_column[k] = of_lane(~0u, b[h], (l % 4 * 2 + k) * 4 + p, 32);
      _Pragma("unroll") for (int n = 0; n < 2; ++n)
        EACH(4) c[k] = fused(half_of<Brain>(of_row[k / 2], n), half_of<Brain>(of_column[k % 2], n), c[k]);
    }
}
#define SUMS "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
#define BEFORE "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
template <bool Brain> FN void multiply(float* c, const u32 (&a)[4], const u32 (&b)[2]) {
#ifdef COPIES_BEHIND
#define FACTORS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
  if (Brain)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};" : SUMS : FACTORS, BEFORE);
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};" : SUMS : FACTORS, BEFORE);
#else
#ifndef SHEAF_EMULATED
  if (!Brain) {
    EACH(2) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                         "{%7, %8, %9, %10};" : SUMS : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]), BEFORE);
    return;
  }
#endif
  multiply_in_order<Brain>(c, a, b);
#endif
}
// M x N blocks of 16 x 8 results of a warp, of 2 x W, see mma_form. Rows, Columns: terms lie along the rows of the
// panel, which are P and Q halves apart.
template <bool Brain, bool Rows, bool Columns, int W, int M, int N, int Terms, int P, int Q>
FN void multiply_tile(float (&c)[4 * M * N], const u16* rows, const u16* columns) {
  const int l = (int)threadIdx.x & 31, w = (int)threadIdx.x / 32, matrix = l / 8;
  const int row = w / W * 16 * M + matrix % 2 * 8 + (Rows ? l % 8 : 0), row_term = matrix / 2 * 8 + (Rows ? 0 : l % 8);
  const int column = w % W * 8 * N + matrix / 2 * 8 + (Columns ? l % 8 : 0);
  const int column_term = matrix % 2 * 8 + (Columns ? 0 : l % 8);
  rows += Rows ? row * P + row_term : row_term * P + row;
  columns += Columns ? column * Q + column_term : column_term * Q + column;
  _Pragma("unroll") for (int term = 0; term < Terms; term += 16) {
    u32 a[M][4], b[N / 2][4];
    EACH(M) load_matrices<!Rows>(a[k], rows + (Rows ? 16 * k * P + term : term * P + 16 * k));
    EACH(N / 2) load_matrices<!Columns>(b[k], columns + (Columns ? 16 * k * Q + term : term * Q + 16 * k));
    _Pragma("unroll") for (int m = 0; m < M; ++m)
      _Pragma("unroll") for (int n = 0; n < N; ++n) {
        const u32 two[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
        multiply<Brain>(c + 4 * (m * N + n), a[m], two);
      }
  }
}
)";

}  // namespace sheaf::inline v0_1::cuda
