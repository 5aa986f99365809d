// What every emitted text begins with: arithmetic whose meaning C++ leaves open, and elements in memory.
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
#if !defined(SHEAF_EMULATED) && __CUDA_ARCH__ >= 800
FN float largest(float a, float b) { float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
FN float smallest(float a, float b) { float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
#endif
// high - low, as far as lanes' numbers go.
FN int limit_of(i64 high, i64 low) {
  const i64 apart = (i64)((u64)high - (u64)low);
  if (((high ^ low) & (high ^ apart)) < 0) return high < 0 ? -4096 : 4096;
  return (int)smallest(largest(apart, -4096ll), 4096ll);
}
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
#ifndef SHEAF_EMULATED  // shr clamps by itself, see the manual of PTX
FN i32 shift_right(i32 x, i32 n) { i32 y; asm("shr.s32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(n)); return y; }
FN u32 shift_right(u32 x, u32 n) { u32 y; asm("shr.u32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(n)); return y; }
FN i32 shift_left(i32 x, i32 n) { i32 y; asm("shl.b32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(n)); return y; }
FN u32 shift_left(u32 x, u32 n) { u32 y; asm("shl.b32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(n)); return y; }
#endif
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
#ifdef SHEAF_EMULATED
template <class E, class F>
FN E whole(F x, typename same<F>::type low, typename same<F>::type high, E least, E most) {
  return x != x ? (E)0 : x <= low ? least : x >= high ? most : (E)x;
}
#else  // cvt clamps by itself, see the manual of PTX
FN i32 clamped(float x, i32) { return __float2int_rz(x); }
FN i32 clamped(double x, i32) { return __double2int_rz(x); }
FN u32 clamped(float x, u32) { return __float2uint_rz(x); }
FN u32 clamped(double x, u32) { return __double2uint_rz(x); }
FN i64 clamped(float x, i64) { return __float2ll_rz(x); }
FN i64 clamped(double x, i64) { return __double2ll_rz(x); }
FN u64 clamped(float x, u64) { return __float2ull_rz(x); }
FN u64 clamped(double x, u64) { return __double2ull_rz(x); }
template <class E, class F> FN E clamped(F x, E) {
  const i32 y = clamped(x, (i32)0), low = (E)-1 < (E)0 ? -(1 << (8 * sizeof(E) - 1)) : 0;
  const i32 high = low == 0 ? (1 << (8 * sizeof(E))) - 1 : -low - 1;
  return (E)(y < low ? low : y > high ? high : y);
}
// Of f32 to 32 bits and less it makes 0 of NaN, too.
template <class E> FN E number(float x) { return sizeof(E) <= 4 || x == x ? clamped(x, (E)0) : (E)0; }
template <class E> FN E number(double x) { return x == x ? clamped(x, (E)0) : (E)0; }
template <class E, class F>
FN E whole(F x, typename same<F>::type, typename same<F>::type, E, E) {
  return number<E>(x);
}
#endif

// f16 and bf16 are held as f32 and rounded half to even.
FN float from_bf16(u16 x) { return __uint_as_float((u32)x << 16); }
FN u16 to_bf16(float x) {
#if !defined(SHEAF_EMULATED) && __CUDA_ARCH__ >= 800
  u32 y;  // of two numbers: that of one runs at a fraction of the speed
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(0.0f), "f"(x));
  return (u16)y;
#endif
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

}  // namespace sheaf::inline v0_1::cuda
