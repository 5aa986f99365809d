// What every emitted text has after prelude_memory.cpp: what threads of a group tell each other. A group is T threads:
// a power of two within one warp, or a whole block. Lane l of a vector of L lanes is held by thread l % T as element
// l / T; where L < T, threads from L on hold none.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

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
// The same without ends of slices, in the loop's order: what came before is a cell that may be wider.
template <class Op, bool Back, int T, class A, class E, int K> FN void scan_runs(u32 group, E (&x)[K], A& carry) {
  const int t = (int)threadIdx.x & (T - 1);
  _Pragma("unroll") for (int k = 1; k < K; ++k)
    if (Back) x[K - 1 - k] = Op::of(x[K - k], x[K - 1 - k]);
    else x[k] = Op::of(x[k - 1], x[k]);
  E all = x[Back ? 0 : K - 1];
  _Pragma("unroll") for (int n = 1; n < T; n *= 2) {
    const E other = of_lane(group, all, Back ? t + n : t - n, T);
    if (Back ? t + n < T : t >= n) all = Op::of(other, all);
  }
  const E other = of_lane(group, all, Back ? t + 1 : t - 1, T), start = (E)carry;
  const E before = t == (Back ? T - 1 : 0) ? start : Op::of(start, other);
  EACH(K) x[k] = Op::of(before, x[k]);
  carry = Op::of(carry, (A)of_lane(group, all, Back ? 0 : T - 1, T));
}
// Of folds that know an order, in a backward loop.
template <class Op> struct turned {
  template <class E> FN E of(const E& a, const E& b) { return Op::of(b, a); }
};
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

// Where a thread's element goes, of those whose place is the same: table[place] counts them, in the order of threads.
template <int T> FN int next_place(u32 group, int* table, i64 place, bool live) {
  static_assert(T <= 32, "");
  const u32 same = __match_any_sync(group, live ? (int)place : -1);
  const u32 before = same & ((1u << (threadIdx.x & 31)) - 1);
  const int first = live ? table[place] : 0;
  __syncwarp(group);
  if (live && before == 0) table[place] = first + __popc(same);
  __syncwarp(group);
  return live ? first + __popc(before) : 0;
}
// Combines what the threads of a warp have with places of a table, for each place in the order of threads.
template <class F, int T, class E> FN void add_in_order(u32 group, E* table, E* to, E x, bool live) {
  static_assert(T == 32, "");
  const u32 same = __match_any_sync(group, live ? (int)(to - table) : -1);
  const int turn = __popc(same & ((1u << (threadIdx.x & 31)) - 1));
  for (int n = 0; __any_sync(group, live && turn >= n); ++n) {
    if (live && turn == n) *to = F::of(*to, x);
    __syncwarp(group);
  }
}
// next_place of a block of up to 8 warps: seen[place] has a byte for each of them, which is 0 between calls.
FN int next_place_of_block(int* table, u64* seen, i64 place, bool live) {
  const int shift = (int)threadIdx.x / 32 * 8;
  const u32 same = __match_any_sync(0xffffffffu, live ? (int)place : -1);
  const u32 before = same & ((1u << (threadIdx.x & 31)) - 1);
  u8* const own = (u8*)seen + (live ? place * 8 + shift / 8 : 0);
  const bool counts = live && before == 0;
  if (counts) *own = (u8)__popc(same);
  __syncthreads();
  const u64 all = live ? seen[place] : 0;
  const int first = live ? table[place] : 0;
  const int warps = first + (int)((all & ((1ull << shift) - 1)) * 0x0101010101010101ull >> 56);
  __syncthreads();
  if (counts) *own = 0;
  if (counts && all >> shift >> 8 == 0) table[place] = warps + __popc(same);
  __syncwarp(0xffffffffu);
  return warps + __popc(before);
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
