// What every emitted text has after prelude_values.cpp: how the threads of a group load and store elements that lie
// beside each other, by words of up to 16 bytes.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

const char* const prelude_memory = R"(
// Lanes in runs: run g * T + t of V lanes is thread t's. Those from `rest` on are dead. Where none is, and memory
// allows, by 16 bytes; of one run a thread, those that scans take, where none of its own is.
template <int Bytes> struct word_of { typedef uint4 type; };
template <> struct word_of<8> { typedef uint2 type; };
template <> struct word_of<4> { typedef u32 type; };
template <> struct word_of<2> { typedef u16 type; };
template <> struct word_of<1> { typedef u8 type; };
template <bool Constant, class E> FN E loaded(const E* p) { return Constant ? __ldg(p) : *p; }
template <bool Constant, bool Scans, int T, int V, class E, int K>
FN void load_runs(E (&x)[K], const E* p, int rest) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  const int t = (int)threadIdx.x & (T - 1);
  if (rest >= (Scans ? t * V + V : K * T) && (u64)p % C == 0) {
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
// A thread's own run of up to K elements.
template <class E, int K> FN void load_along(E (&x)[K], const E* p, int rest) {
  constexpr int B = K * (int)sizeof(E), C = B % 16 == 0 ? 16 : B % 8 == 0 ? 8 : (int)sizeof(E), N = B / C;
  typedef typename word_of<C>::type word;
  if (rest >= K && (u64)p % C == 0) {
    word w[N];
    EACH(N) w[k] = loaded<true>((const word*)p + k);
    memcpy(x, w, sizeof x);
  } else {
    EACH(K) x[k] = k < rest ? loaded<true>(p + k) : (E)0;
  }
}
// x, of which the compiler knows nothing.
#ifdef SHEAF_EMULATED
FN int opaque(int x) { return x; }
#else
FN int opaque(int x) { int y; asm("mov.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
#endif
// 0 where it is not asked for, and no branch.
#ifdef SHEAF_EMULATED
template <class E> FN E load_if(bool when, const E* p) { return when ? *p : (E)0; }
#else
#define LOAD_IF(E, NAME, ZERO, REGISTER) FN E load_if(bool when, const E* p) { E y; \
  asm("{ .reg .pred q; setp.ne.u32 q, %2, 0; mov." NAME " %0, " ZERO "; @q ld.global.nc." NAME " %0, [%1]; }" \
      : REGISTER(y) : "l"(p), "r"((u32)when)); return y; }
LOAD_IF(u16, "u16", "0", "=h")
LOAD_IF(float, "f32", "0f00000000", "=f")
#endif
// A row that a thread holds in words, N runs of V elements of it: all are under way at once. A run has no branch of its
// own where none of its elements but all lie beyond the end.
template <int Words> struct words_of;
template <> struct words_of<1> { typedef u32 type; };
template <> struct words_of<2> { typedef uint2 type; };
template <> struct words_of<4> { typedef uint4 type; };
FN uint2 load_words(bool when, const uint2* p) {
#ifdef SHEAF_EMULATED
  return when ? *p : uint2{};
#else
  uint2 y;
  asm("{ .reg .pred q; setp.ne.u32 q, %3, 0; mov.u32 %0, 0; mov.u32 %1, 0; @q ld.global.nc.v2.u32 {%0, %1}, [%2]; }"
      : "=&r"(y.x), "=&r"(y.y) : "l"(p), "r"((u32)when));
  return y;
#endif
}
FN uint4 load_words(bool when, const uint4* p) {
#ifdef SHEAF_EMULATED
  return when ? *p : uint4{};
#else
  uint4 y;
  asm("{ .reg .pred q; setp.ne.u32 q, %5, 0; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0; "
      "@q ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
      : "=&r"(y.x), "=&r"(y.y), "=&r"(y.z), "=&r"(y.w) : "l"(p), "r"((u32)when));
  return y;
#endif
}
FN u32 load_words(bool when, const u32* p) { return when ? *p : 0; }
template <int T, int V, int N, class E, int R> FN void load_row(u32 (&r)[R], const E* p, int end) {
  constexpr int B = V * (int)sizeof(E), W = B / 4;
  typedef typename words_of<W>::type word;
  const int t = (int)threadIdx.x & (T - 1);
  if (end % V == 0 && (u64)p % B == 0) {
    _Pragma("unroll") for (int n = 0; n < N; ++n) {
      const int lane = (n * T + t) * V;
      const word w = load_words(lane < end, (const word*)(p + lane));
      memcpy(&r[n * W], &w, sizeof w);
    }
  } else {
    _Pragma("unroll") for (int n = 0; n < N; ++n) {
      E x[V];
      EACH(V) x[k] = (n * T + t) * V + k < end ? p[(n * T + t) * V + k] : (E)0;
      memcpy(&r[n * W], x, sizeof x);
    }
  }
}
// What the compiler made of words before is made anew: it would take a register for each element.
template <class E, int K> FN void read_words(E (&x)[K], const u32* r) {
  constexpr int N = K * (int)sizeof(E) / 4;
  u32 w[N];
  EACH(N) w[k] = (u32)opaque((int)r[k]);
  memcpy(x, w, sizeof x);
}
template <bool Stream, class E> FN void put(E* p, E x) {
  if (Stream) __stcs(p, x);
  else *p = x;
}
template <bool Stream, bool Scans, int T, int V, class E, int K>
FN void store_runs(E* p, const E (&x)[K], int rest) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  const int t = (int)threadIdx.x & (T - 1);
  if (rest >= (Scans ? t * V + V : K * T) && (u64)p % C == 0) {
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
// The same of a row in the group's own memory from a whole vector on: what dead lanes load is any number.
template <int T, int V, class E, int K> FN void load_whole(E (&x)[K], const E* p) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  word w[N];
  EACH(N) w[k] = ((const word*)(p + ((int)threadIdx.x & (T - 1)) * V))[k];
  memcpy(x, w, sizeof x);
}
template <int T, int V, class E, int K> FN void store_whole(E* p, const E (&x)[K], int rest) {
  constexpr int B = V * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  const int first = ((int)threadIdx.x & (T - 1)) * V;
  if (rest >= first + V) {
    word w[N];
    memcpy(w, x, sizeof x);
    EACH(N) ((word*)(p + first))[k] = w[k];
  } else {
    EACH(K) if (first + k < rest) p[first + k] = x[k];
  }
}
// The same of a row that only the thread itself reads again: its 16 bytes lie beside those of its neighbours.
template <int T, class E, int K> FN void load_own(E (&x)[K], const E* p) {
  constexpr int B = K * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  word w[N];
  EACH(N) w[k] = ((const word*)p)[k * T + ((int)threadIdx.x & (T - 1))];
  memcpy(x, w, sizeof x);
}
template <int T, class E, int K> FN void store_own(E* p, const E (&x)[K]) {
  constexpr int B = K * (int)sizeof(E), C = B < 16 ? B : 16, N = B / C;
  typedef typename word_of<C>::type word;
  word w[N];
  memcpy(w, x, sizeof x);
  EACH(N) ((word*)p)[k * T + ((int)threadIdx.x & (T - 1))] = w[k];
}
)";

}  // namespace sheaf::inline v0_1::cuda
