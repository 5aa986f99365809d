// What every emitted text begins with: arithmetic whose meaning C++ leaves open, elements in memory, and what threads
// of a group tell each other. A group is T threads: a power of two within one warp, or a whole block. Lane l of a
// vector of L lanes is held by thread l % T as element l / T; where L < T, threads from L on hold none.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

const char* const prelude_types = R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
#define FN static __device__ __forceinline__
#define EACH(K) _Pragma("unroll") for (int k = 0; k < K; ++k)
#define MOST 9223372036854775807ll

FN float bits_f32(u32 x) { return __uint_as_float(x); }
FN double bits_f64(u64 x) { return __longlong_as_double((i64)x); }

FN i8 add(i8 a, i8 b) { return (i8)(a + b); }
FN u8 add(u8 a, u8 b) { return (u8)(a + b); }
FN i16 add(i16 a, i16 b) { return (i16)(a + b); }
FN u16 add(u16 a, u16 b) { return (u16)((u32)a + (u32)b); }
FN u32 add(u32 a, u32 b) { return (u32)(a + b); }
FN u64 add(u64 a, u64 b) { return (u64)(a + b); }
FN i32 add(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
FN i64 add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
FN float add(float a, float b) { return a + b; }
FN double add(double a, double b) { return a + b; }
FN i8 sub(i8 a, i8 b) { return (i8)(a - b); }
FN u8 sub(u8 a, u8 b) { return (u8)(a - b); }
FN i16 sub(i16 a, i16 b) { return (i16)(a - b); }
FN u16 sub(u16 a, u16 b) { return (u16)((u32)a - (u32)b); }
FN u32 sub(u32 a, u32 b) { return (u32)(a - b); }
FN u64 sub(u64 a, u64 b) { return (u64)(a - b); }
FN i32 sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
FN i64 sub(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
FN float sub(float a, float b) { return a - b; }
FN double sub(double a, double b) { return a - b; }
FN i8 mul(i8 a, i8 b) { return (i8)(a * b); }
FN u8 mul(u8 a, u8 b) { return (u8)(a * b); }
FN i16 mul(i16 a, i16 b) { return (i16)(a * b); }
FN u16 mul(u16 a, u16 b) { return (u16)((u32)a * (u32)b); }
FN u32 mul(u32 a, u32 b) { return (u32)(a * b); }
FN u64 mul(u64 a, u64 b) { return (u64)(a * b); }
FN i32 mul(i32 a, i32 b) { return (i32)((u32)a * (u32)b); }
FN i64 mul(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
FN float mul(float a, float b) { return a * b; }
FN double mul(double a, double b) { return a * b; }
FN float fused(float a, float b, float c) { return fmaf(a, b, c); }
FN double fused(double a, double b, double c) { return fma(a, b, c); }

// NaN in either gives NaN; of two equal zeros either.
template <class E> FN E largest(E a, E b) { const E c = b > a ? b : a; return b != b ? b : c; }
template <class E> FN E smallest(E a, E b) { const E c = b < a ? b : a; return b != b ? b : c; }
template <class E> FN E sign_of(E x) { return x > (E)0 ? (E)1 : x < (E)0 ? (E)-1 : (E)0; }
FN float magnitude(float x) { return fabsf(x); }
FN double magnitude(double x) { return fabs(x); }
// As PyTorch: a count below 0 or of all bits and more leaves nothing but the sign.
template <class E> FN E shift_left(E x, E n) {
  return n < (E)0 || n >= (E)(8 * sizeof(E)) ? (E)0 : (E)((u64)x << (u64)n);
}
template <class E> FN E shift_right(E x, E n) {
  if (n < (E)0 || n >= (E)(8 * sizeof(E))) return x < (E)0 ? (E)-1 : (E)0;
  return (E)(x >> n);
}
template <class E> FN E magnitude(E x) { return x < (E)0 ? sub((E)0, x) : x; }

// Rounded towards minus infinity. A divisor of 0 gives 0, and nothing traps. Division of 64 bits takes long: most is
// of 32.
template <class E> FN E floor_div(E n, E d) {
  if (d == (E)0) return (E)0;
  if (d == (E)-1 && (E)-1 < (E)0) return sub((E)0, n);
  if (sizeof(E) == 8 && !(((u64)n | (u64)d) >> 32)) return (E)((u32)n / (u32)d);
  const E q = (E)(n / d), r = (E)(n - q * d);
  return r != (E)0 && (r < (E)0) != (d < (E)0) ? (E)(q - 1) : q;
}
template <class E> FN E floor_mod(E n, E d) {
  if (d == (E)0 || (d == (E)-1 && (E)-1 < (E)0)) return (E)0;
  if (sizeof(E) == 8 && !(((u64)n | (u64)d) >> 32)) return (E)((u32)n % (u32)d);
  const E r = (E)(n % d);
  return r != (E)0 && (r < (E)0) != (d < (E)0) ? (E)(r + d) : r;
}
// Of the exact quotient: what is left has the other sign where n / d was rounded up to a whole number, or to 0 from
// below.
FN float floor_div(float n, float d) {
  const float q = floorf(n / d), r = q == 0 ? n : fmaf(-q, d, n);
  if (fabsf(n) > 3.402823466e38f && d != 0) return n - n;
  const bool below = (r < 0 || r > 0) && (__float_as_int(r) ^ __float_as_int(d)) < 0;
  return below && fabsf(q) < 8388608.0f ? q - 1 : q;
}
FN double floor_div(double n, double d) {
  const double q = floor(n / d), r = q == 0 ? n : fma(-q, d, n);
  if (fabs(n) > 1.7976931348623157e308 && d != 0) return n - n;
  const bool below = (r < 0 || r > 0) && (__double_as_longlong(r) ^ __double_as_longlong(d)) < 0;
  return below && fabs(q) < 4503599627370496.0 ? q - 1 : q;
}
FN float floor_mod(float n, float d) {
  const float r = fmodf(n, d);
  return (r < 0 || r > 0) && ((__float_as_int(r) ^ __float_as_int(d)) < 0) ? r + d : r;
}
FN double floor_mod(double n, double d) {
  const double r = fmod(n, d);
  return (r < 0 || r > 0) && ((__double_as_longlong(r) ^ __double_as_longlong(d)) < 0) ? r + d : r;
}
FN float sigmoid(float x) { const float e = expf(-fabsf(x)); return (x < 0 ? e : 1.0f) / (1.0f + e); }
FN double sigmoid(double x) { const double e = exp(-fabs(x)); return (x < 0 ? e : 1.0) / (1.0 + e); }

// To integers: towards zero, to the nearest that there is, and NaN to 0.
template <class F> struct same { typedef F type; };
template <class E, class F>
FN E whole(F x, typename same<F>::type low, typename same<F>::type high, E least, E most) {
  return x != x ? (E)0 : x <= low ? least : x >= high ? most : (E)x;
}

// f16 and bf16 are held as f32 and rounded half to even.
FN float from_bf16(u16 x) { return __uint_as_float((u32)x << 16); }
FN u16 to_bf16(float x) {
  const u32 b = __float_as_uint(x);
  return (u16)(x != x ? (b >> 16) | 0x40u : (b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
// In any order: sums of floating numbers may differ from run to run.
FN void add_at(float* p, float x) { atomicAdd(p, x); }
FN void add_at(double* p, double x) { atomicAdd(p, x); }
FN void add_at(i32* p, i32 x) { atomicAdd(p, x); }
FN void add_at(i64* p, i64 x) { atomicAdd((u64*)p, (u64)x); }
// The first failure is kept for the host, its ticket written last.
FN void fail(i64 record, i64 ticket, i64 check, i64 position) {
  volatile i64* const r = (volatile i64*)record;
  if (r == nullptr || r[0] != 0) return;
  r[1] = check;
  r[2] = position;
  __threadfence_system();
  r[0] = ticket;
}
#ifndef SHEAF_EMULATED
FN float from_f16(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
FN u16 to_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
#endif
)";

const char* const prelude_groups = R"(
// Is this the last block to get here? It sees what the others wrote before. The count is 0 again after that.
FN bool is_last(i64 arrived) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc((u32*)arrived, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}
template <int T> FN void meet(u32 group) {
  if (T > 32) __syncthreads();
  else if (T > 1) __syncwarp(group);
}
// A value and where it was, see place_of.
template <class E> struct placed { E value; i64 at; };
// What thread `from` has, of the `width` threads in a warp; of `from` the low bits count.
template <class E> FN E of_lane(u32 group, E x, int from, int width) { return (E)__shfl_sync(group, x, from, width); }
template <class E> FN placed<E> of_lane(u32 group, placed<E> x, int from, int width) {
  placed<E> y;
  y.value = of_lane(group, x.value, from, width);
  y.at = of_lane(group, x.at, from, width);
  return y;
}
template <int T, class E> FN E of_thread(u32 group, E x, int from) {
  if (T == 1) return x;
  if (T <= 32) return of_lane(group, x, from, T);
  __shared__ E area[T];
  __syncthreads();
  area[threadIdx.x] = x;
  __syncthreads();
  return area[from & (T - 1)];
}

struct sum_of { template <class E> FN E of(E a, E b) { return add(a, b); } };
struct prod_of { template <class E> FN E of(E a, E b) { return mul(a, b); } };
struct max_of { template <class E> FN E of(E a, E b) { return largest(a, b); } };
struct min_of { template <class E> FN E of(E a, E b) { return smallest(a, b); } };
struct any_of { FN bool of(bool a, bool b) { return a | b; } };
struct all_of { FN bool of(bool a, bool b) { return a & b; } };

// The extreme value, and of equal ones the first. NaN is beyond every number.
template <bool Largest> struct place_of {
  template <class E> FN placed<E> of(placed<E> a, placed<E> b) {
    const bool known = a.value == a.value;
    const bool beyond = known && (Largest ? !(b.value <= a.value) : !(b.value >= a.value));
    const bool same = b.value == a.value || (!known && b.value != b.value);
    return beyond || (same && b.at < a.at) ? b : a;
  }
};
// Lanes in runs: run g * T + t of V lanes is thread t's. Those from `rest` on are dead. Where none is, and memory
// allows, by 16 bytes.
template <int Bytes> struct word_of { typedef uint4 type; };
template <> struct word_of<8> { typedef uint2 type; };
template <> struct word_of<4> { typedef u32 type; };
template <> struct word_of<2> { typedef u16 type; };
template <> struct word_of<1> { typedef u8 type; };
template <bool Constant, class E> FN E loaded(const E* p) { return Constant ? __ldg(p) : *p; }
template <bool Constant, int T, int V, class E, int K> FN void load_runs(E (&x)[K], const E* p, int rest) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  const int t = (int)threadIdx.x & (T - 1);
  if (rest >= K * T && (u64)p % C == 0) {
    word w[K / V * N];
    _Pragma("unroll") for (int g = 0; g < K / V; ++g)
      EACH(N) w[g * N + k] = loaded<Constant>((const word*)(p + (g * T + t) * V) + k);
    memcpy(x, w, sizeof x);
  } else {
    EACH(K) {
      const int lane = (k / V * T + t) * V + k % V;
      x[k] = lane < rest ? loaded<Constant>(p + lane) : (E)0;
    }
  }
}
template <bool Stream, class E> FN void put(E* p, E x) {
  if (Stream) __stcs(p, x);
  else *p = x;
}
template <bool Stream, int T, int V, class E, int K> FN void store_runs(E* p, const E (&x)[K], int rest) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  const int t = (int)threadIdx.x & (T - 1);
  if (rest >= K * T && (u64)p % C == 0) {
    word w[K / V * N];
    memcpy(w, x, sizeof x);
    _Pragma("unroll") for (int g = 0; g < K / V; ++g)
      EACH(N) put<Stream>((word*)(p + (g * T + t) * V) + k, w[g * N + k]);
  } else {
    EACH(K) {
      const int lane = (k / V * T + t) * V + k % V;
      if (lane < rest) put<Stream>(p + lane, x[k]);
    }
  }
}
// Lanes in one run a thread, each folded with those before it from the last one on that begins anew, or from what came
// before the first: a thread folds its own, the threads what theirs came to by log-steps, and then each what came
// before it.
template <class Op, int T, int L, class E, int K>
FN void scan_slices(u32 group, E (&x)[K], const bool (&begins)[K], E& carry) {
  const int t = (int)threadIdx.x & (T - 1);
  bool anew = begins[0];
  _Pragma("unroll") for (int k = 1; k < K; ++k) {
    x[k] = begins[k] ? x[k] : Op::of(x[k - 1], x[k]);
    anew |= begins[k];
  }
  E last = x[K - 1];
  _Pragma("unroll") for (int n = 1; n < T; n *= 2) {
    const E before = of_lane(group, last, t - n, T);
    const bool begun = of_lane(group, anew, t - n, T);
    if (t >= n && !anew) last = Op::of(before, last);
    anew |= t >= n && begun;
  }
  if (!anew) last = Op::of(carry, last);
  E before = of_lane(group, last, t - 1, T);
  if (t == 0) before = carry;
  bool open = true;
  EACH(K) {
    open = open && !begins[k];
    if (open) x[k] = Op::of(before, x[k]);
  }
  carry = of_lane(group, last, T - 1, T);
}
// The fixed tree: the upper half of the lanes is combined into the lower until one is left.
template <class Op, int T, int L, class E, int K> FN E fold_lanes(u32 group, const E (&x)[K]) {
  constexpr int W = L < T ? L : T;
  const int t = (int)threadIdx.x & (T - 1);
  E s[K];
  EACH(K) s[k] = x[k];
  _Pragma("unroll") for (int n = K / 2; n; n /= 2)
    _Pragma("unroll") for (int k = 0; k < n; ++k) s[k] = Op::of(s[k], s[k + n]);
  E r = s[0];
  if (T > 32) {  // each warp folds all of it, so that no thread has to wait for the result
    constexpr int J = W > 32 ? W / 32 : 1;
    __shared__ E area[T];
    __syncthreads();
    area[threadIdx.x] = r;
    __syncthreads();
    E p[J];
    _Pragma("unroll") for (int j = 0; j < J; ++j) p[j] = area[(t & (W > 32 ? 31 : W - 1)) + 32 * j];
    _Pragma("unroll") for (int n = J / 2; n; n /= 2)
      _Pragma("unroll") for (int j = 0; j < n; ++j) p[j] = Op::of(p[j], p[j + n]);
    r = p[0];
  }
  constexpr int V = T < 32 ? T : 32;
  if (T > 1) {
    _Pragma("unroll") for (int n = (W < V ? W : V) / 2; n; n /= 2) r = Op::of(r, of_lane(group, r, t + n, V));
    r = of_lane(group, r, 0, V);
  }
  return r;
}

// A sum of f32 folded to f64: the same tree, of f64 from F64_FROM lanes on.
template <int T, int L, int K> FN double sum_wide(u32 group, const float (&x)[K]) {
  constexpr int W = L < T ? L : T;
  const int t = (int)threadIdx.x & (T - 1);
  float s[K];
  double d[K];
  EACH(K) s[k] = x[k], d[k] = x[k];
  _Pragma("unroll") for (int n = K / 2; n; n /= 2)
    _Pragma("unroll") for (int k = 0; k < n; ++k) {
      if (n * W >= F64_FROM) s[k] = s[k] + s[k + n], d[k] = s[k];
      else d[k] = d[k] + d[k + n];
    }
  float r = s[0];
  double w = d[0];
  if (T > 32) {  // see fold_lanes
    constexpr int J = W > 32 ? W / 32 : 1;
    __shared__ float area[T];
    __syncthreads();
    area[threadIdx.x] = r;
    __syncthreads();
    float p[J];
    _Pragma("unroll") for (int j = 0; j < J; ++j) p[j] = area[(t & (W > 32 ? 31 : W - 1)) + 32 * j];
    _Pragma("unroll") for (int n = J / 2; n; n /= 2)
      _Pragma("unroll") for (int j = 0; j < n; ++j) p[j] = p[j] + p[j + n];
    r = p[0];
    w = r;
  }
  constexpr int V = T < 32 ? T : 32;
  if (T > 1) {
    _Pragma("unroll") for (int n = (W < V ? W : V) / 2; n; n /= 2) {
      if (n >= F64_FROM) r = r + of_lane(group, r, t + n, V), w = r;
      else w = w + of_lane(group, w, t + n, V);
    }
    w = of_lane(group, w, 0, V);
  }
  return w;
}

// Lane l gets the one `by` before it (backward: after it) in the row of `kept` and x (backward: x and `kept`).
template <bool Back, int T, int L, class E, int K>
FN void neighbours(u32 group, E (&out)[K], const E (&kept)[K], const E (&x)[K], int by) {
  constexpr int W = L < T ? L : T;
  const int t = (int)threadIdx.x & (T - 1), q = by / W, r = by & (W - 1);
  E next[K];
  EACH(K) {
    const int near = Back ? k + q : k - q, far = Back ? near + 1 : near - 1;
    E y = Back ? (near < K ? x[near] : kept[near - K]) : (near >= 0 ? x[near] : kept[near + K]);
    if (r) {
      const E z = Back ? (far < K ? x[far] : kept[far - K]) : (far >= 0 ? x[far] : kept[far + K]);
      y = of_thread<T>(group, (Back ? t >= r : t < W - r) ? y : z, (Back ? t + r : t - r) & (W - 1));
    }
    next[k] = y;
  }
  EACH(K) out[k] = next[k];
}
// The lane that comes last in the loop's order.
template <bool Back, int T, int L, class E, int K> FN E last_lane(u32 group, const E (&x)[K]) {
  return of_thread<T>(group, x[Back ? 0 : K - 1], Back ? 0 : (L < T ? L : T) - 1);
}

// Each lane combined with all before it, by steps of 1, 2, 4, ... lanes.
template <class Op, bool Back, int T, int L, class E, int K> FN void prefixes(u32 group, E (&x)[K], E none) {
  E before[K], nothing[K];
  EACH(K) nothing[k] = none;
  _Pragma("unroll") for (int step = 1; step < L; step *= 2) {
    neighbours<Back, T, L>(group, before, nothing, x, step);
    EACH(K) x[k] = Back ? Op::of(x[k], before[k]) : Op::of(before[k], x[k]);
  }
}

FN double scaled(bool by, double x) { return by ? x : 0.0; }
FN double scaled(double by, double x) { return x == 0.0 || by == 0.0 ? 0.0 : by * x; }
FN bool joined(bool a, bool b) { return a & b; }
FN double joined(double a, double b) { return scaled(a, b); }
// Steps x -> factor * x + value, joined pairwise by log-steps; `carry` is what came before the first lane.
template <bool Back, int T, int L, class F, int K>
FN void recur_lanes(u32 group, double (&x)[K], F (&factor)[K], double& carry) {
  double before[K], nothing[K];
  F earlier[K], one[K];
  EACH(K) nothing[k] = -0.0, one[k] = (F)1;
  _Pragma("unroll") for (int step = 1; step < L; step *= 2) {
    neighbours<Back, T, L>(group, before, nothing, x, step);
    neighbours<Back, T, L>(group, earlier, one, factor, step);
    EACH(K) x[k] = scaled(factor[k], before[k]) + x[k], factor[k] = joined(factor[k], earlier[k]);
  }
  EACH(K) x[k] = scaled(factor[k], carry) + x[k];
  carry = last_lane<Back, T, L>(group, x);
}

constexpr __device__ int levels_of(int n) { return n < 2 ? 1 : 1 + levels_of(n / 2); }
// Folds of 1, 2, 4, ... lanes, each from two of the one before, put together to N; or, where combining a value twice
// changes nothing, from two that overlap.
template <class Op, bool Overlaps, bool Back, int N, int T, int L, class E, int M, int K>
FN void slide_lanes(u32 group, E (&out)[K], E (&kept)[M][K], const E (&x)[K]) {
  E level[M][K], other[K];
  EACH(K) level[0][k] = x[k];
  _Pragma("unroll") for (int m = 0; m + 1 < M; ++m) {
    neighbours<Back, T, L>(group, other, kept[m], level[m], 1 << m);
    EACH(K) level[m + 1][k] = Back ? Op::of(level[m][k], other[k]) : Op::of(other[k], level[m][k]);
  }
  constexpr int wide = 1 << (M - 1);
  if (Overlaps) {
    EACH(K) out[k] = level[M - 1][k];
    if (wide < N) {
      neighbours<Back, T, L>(group, other, kept[M - 1], level[M - 1], N - wide);
      EACH(K) out[k] = Back ? Op::of(out[k], other[k]) : Op::of(other[k], out[k]);
    }
  } else {
    int done = 0;
    _Pragma("unroll") for (int m = 0; m < M; ++m) {
      if (!(N >> m & 1)) continue;
      if (done) {
        neighbours<Back, T, L>(group, other, kept[m], level[m], done);
        EACH(K) out[k] = Back ? Op::of(out[k], other[k]) : Op::of(other[k], out[k]);
      } else {
        EACH(K) out[k] = level[m][k];
      }
      done += 1 << m;
    }
  }
  _Pragma("unroll") for (int m = 0; m < M; ++m) EACH(K) kept[m][k] = level[m][k];
}
)";

}  // namespace sheaf::inline v0_1::cuda
