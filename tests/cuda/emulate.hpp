// What emitted CUDA text needs to be C++ for the host: put before it. Threads are fibers, see emulator.hpp.
#pragma once
#include <math.h>
#include <string.h>

#define __device__
#define __global__ __attribute__((visibility("default")))
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define SHEAF_EMULATED 1

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct sheaf_dim {
  unsigned x, y, z;
};
// line: where in the text a collective stands: threads that meet at different ones have gone different ways.
extern "C" {
extern sheaf_dim sheaf_thread, sheaf_block, sheaf_grid;
void sheaf_barrier(int line);
void sheaf_warp_sync(unsigned mask, int line);
unsigned long long sheaf_shuffle(unsigned mask, unsigned long long bits, int from, int width, int line);
// What each thread of the mask brought, by lane; until the next collective.
const unsigned long long* sheaf_gather(unsigned mask, unsigned long long bits, int line);
}
#define threadIdx sheaf_thread
#define blockIdx sheaf_block
#define gridDim sheaf_grid

static inline void __syncthreads(int line = __builtin_LINE()) { sheaf_barrier(line); }
static inline void __syncwarp(unsigned mask, int line = __builtin_LINE()) { sheaf_warp_sync(mask, line); }
template <class E>
static inline E __shfl_sync(unsigned mask, E x, int from, int width, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  memcpy(&bits, &x, sizeof x);
  bits = sheaf_shuffle(mask, bits, from, width, line);
  memcpy(&x, &bits, sizeof x);
  return x;
}

// Which threads of the mask have the same number.
static inline unsigned __match_any_sync(unsigned mask, int x, int line = __builtin_LINE()) {
  const unsigned long long* const all = sheaf_gather(mask, static_cast<unsigned>(x), line);
  unsigned same = 0;
  for (int from = 0; from < 32; ++from)
    if (mask >> from & 1u && static_cast<int>(all[from]) == x) same |= 1u << from;
  return same;
}
static inline int __any_sync(unsigned mask, int x, int line = __builtin_LINE()) {
  const unsigned long long* const all = sheaf_gather(mask, static_cast<unsigned>(x != 0), line);
  int any = 0;
  for (int from = 0; from < 32; ++from)
    if (mask >> from & 1u) any |= static_cast<int>(all[from]);
  return any;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }

template <class To, class From>
static inline To sheaf_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y);
  memcpy(&y, &x, sizeof x);
  return y;
}
static inline float __uint_as_float(unsigned x) { return sheaf_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return sheaf_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return sheaf_bits<float>(x); }
static inline int __float_as_int(float x) { return sheaf_bits<int>(x); }
static inline double __longlong_as_double(long long x) { return sheaf_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return sheaf_bits<long long>(x); }
static inline float from_f16(unsigned short x) { return static_cast<float>(sheaf_bits<_Float16>(x)); }
static inline unsigned short to_f16(float x) { return sheaf_bits<unsigned short>(static_cast<_Float16>(x)); }
// Copies that nobody waits for: those of every other thread arrive at once, the others as they are awaited.
// So neither what is read before it is awaited is right, nor what is copied over while others still read it.
struct sheaf_copy {
  void* to;
  const void* from;
  unsigned bytes;
  int group;
};
struct sheaf_copies_of_thread {
  sheaf_copy list[48];
  int behind, groups;
};
static sheaf_copies_of_thread sheaf_copies[256];
static inline void sheaf_copy_behind(void* to, const void* from, unsigned bytes = 16) {
  sheaf_copies_of_thread& own = sheaf_copies[sheaf_thread.x];
  if (sheaf_thread.x % 2 == 0 || own.behind == 48)
    memcpy(to, from, bytes);
  else
    own.list[own.behind++] = {to, from, bytes, own.groups};
}
static inline void sheaf_commit_copies() { ++sheaf_copies[sheaf_thread.x].groups; }
// Of groups before `end`.
static inline void sheaf_end_copies(int end) {
  sheaf_copies_of_thread& own = sheaf_copies[sheaf_thread.x];
  int kept = 0;
  for (int n = 0; n < own.behind; ++n)
    if (own.list[n].group < end)
      memcpy(own.list[n].to, own.list[n].from, own.list[n].bytes);
    else
      own.list[kept++] = own.list[n];
  own.behind = kept;
}
static inline void sheaf_await_copies() { sheaf_end_copies(sheaf_copies[sheaf_thread.x].groups + 1); }
static inline void sheaf_await_groups(int behind) { sheaf_end_copies(sheaf_copies[sheaf_thread.x].groups - behind); }
static inline void __threadfence_system() {}
static inline void __threadfence() {}
static inline unsigned atomicInc(unsigned* p, unsigned most) {
  const unsigned before = *p;
  *p = before >= most ? 0 : before + 1;
  return before;
}
template <class E>
static inline E atomicAdd(E* p, E x) {
  const E before = *p;
  *p = before + x;
  return before;
}
template <class E>
static inline E __ldg(const E* p) {
  return *p;
}
template <class E>
static inline void __stcs(E* p, E x) {
  *p = x;
}
