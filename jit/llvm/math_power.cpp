// x^y. For f32 in f64: e^(y log |x|) needs eleven bits more than the result has. For f64 the logarithm is a sum of two
// numbers, by exact products and sums (T. J. Dekker, 1971; J.-M. Muller, Elementary Functions, third edition, section
// 11.3).
#include <sheaf/jit/llvm/math.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

struct pair {
  Value* high;
  Value* low;
};

struct powers : real_math {
  using real_math::real_math;

  struct parts {
    Value* m;      // mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1]
    Value* power;  // of two
  };
  parts apart(Value* x, bool may_be_subnormal) const {
    Value* tiny = may_be_subnormal ? less(x, real(0x1p-1022)) : nullptr;
    if (tiny) x = select(tiny, mul(x, real(0x1p54)), x);
    const split e = exponent(x);
    return {sub(unbits(b.CreateSub(bits(x), e.moved)), real(1)),
            tiny ? select(tiny, sub(e.power, real(54)), e.power) : e.power};
  }

  // To 2^-33, for f32: of numbers that f32 has.
  Value* rough(Value* x, Value* y) const {
    const parts p = apart(x, false);
    Value* s = div(p.m, add(p.m, real(2)));
    Value* z = mul(s, s);
    Value* series =
        polynomial(z, {0x1.555554fd26805p-1, 0x1.999a7b5fa63a6p-2, 0x1.2438a1145fb09p-2, 0x1.e2fec3af28b1dp-3});
    Value* log = fma(p.power, real(0x1.62e42fefa39efp-1), fma(mul(s, z), series, add(s, s)));
    const reduced by = by_log2(at_least(at_most(mul(y, log), 200.0), -200.0));
    Value* tail = polynomial(by.r, {0x1.0000005204eaap-1, 0x1.55548e1c77aacp-3, 0x1.55545d8710a6bp-5,
                                    0x1.123bed0a95fcdp-7, 0x1.6db471352ca2ep-10});
    return mul(add(fma(mul(by.r, by.r), tail, by.r), real(1)), power_of_two(by.n));
  }

  Value* product_error(Value* x, Value* y, Value* product) const {  // x y - product
    if (f.m.target.fma) return fma(x, y, negated(product));
    const auto halves = [&](Value* v) {
      Value* shifted = mul(v, real(0x1p27 + 1));
      Value* high = sub(shifted, sub(shifted, v));
      return pair{high, sub(v, high)};
    };
    const pair a = halves(x), c = halves(y);
    Value* rest = sub(mul(a.high, c.high), product);
    rest = add(add(rest, mul(a.high, c.low)), mul(a.low, c.high));
    return add(rest, mul(a.low, c.low));
  }
  Value* finite_or_zero(Value* x) const { return select(less(magnitude(x), infinity()), x, real(0)); }
  pair product(Value* x, Value* y) const {
    Value* high = mul(x, y);
    return {high, product_error(x, y, high)};
  }
  pair product(pair x, pair y) const {
    const pair p = product(x.high, y.high);
    return {p.high, add(p.low, fma(x.high, y.low, mul(x.low, y.high)))};
  }
  pair sum(Value* larger, Value* smaller) const {  // the larger may be 0 too
    Value* high = add(larger, smaller);
    return {high, sub(smaller, sub(high, larger))};
  }
  pair sum(Value* larger, pair smaller) const {
    const pair s = sum(larger, smaller.high);
    return {s.high, add(s.low, smaller.low)};
  }

  // log x to about 2^-65 of it: 2 s + s z (2/3 + z p(z)), with z = s^2 and s = m / (2 + m).
  pair log_in_two(Value* x) const {
    const parts p = apart(x, true);
    const pair divisor = sum(real(2), p.m);
    Value* inverse = div(real(1), divisor.high);
    Value* first = mul(p.m, inverse);
    Value* left = negated(product_error(first, divisor.high, p.m));  // m - first (2 + m)
    const pair s{first, mul(fma(negated(first), divisor.low, left), inverse)};
    pair z = product(s, s);
    Value* tail = mul(z.high, polynomial(z.high, {0x1.9999999999996p-2, 0x1.249249249304cp-2, 0x1.c71c71c57db6fp-3,
                                                  0x1.745d183398866p-3, 0x1.3b13626029005p-3, 0x1.1120c26de000ap-3,
                                                  0x1.de316c8898024p-4, 0x1.eb21d53fc85e5p-4}));
    pair series = sum(real(0x1.5555555555555p-1), tail);
    series.low = add(series.low, real(0x1.5555555555555p-55));
    const pair factor = sum(real(2), product(z, series));
    const pair log = sum(mul(p.power, real(log2_high())), product(s, factor));
    return {log.high, fma(p.power, real(log2_low()), log.low)};
  }

  Value* exact(Value* x, Value* y) const {
    const pair log = log_in_two(x);
    Value* high = mul(y, log.high);
    Value* low = fma(y, log.low, product_error(y, log.high, high));
    Value* bounded = at_least(at_most(high, 800.0), -800.0);
    low = select(equal(bounded, high), low, real(0));
    reduced by = by_log2(bounded, 2 * bias());
    by.r = add(by.r, low);
    return scaled(exp_of_rest(by.r), by);
  }

  // `size` is |x|^y where x is neither 0 nor infinite; the rest as C has it (ISO/IEC 9899, F.10.4.4).
  Value* edges(Value* x, Value* y, Value* size) const {
    Value* a = magnitude(x);
    Value* infinite = equal(a, infinity());
    Value* grows = b.CreateICmpEQ(infinite, more(y, real(0)));
    size = select(b.CreateOr(infinite, equal(a, real(0))), select(grows, infinity(), real(0)), size);
    size = select(equal(a, real(1)), real(1), size);
    Value* whole = equal(floor(y), y);
    Value* half = mul(y, real(0.5));
    Value* odd = b.CreateAnd(whole, b.CreateFCmpONE(floor(half), half));
    Value* negative = b.CreateICmpSLT(bits(x), integer(0));
    size = select(b.CreateAnd(negative, odd), negated(size), size);
    Value* undefined = b.CreateAnd(less(x, real(0)), b.CreateNot(b.CreateOr(whole, infinite)));
    undefined = b.CreateOr(undefined, b.CreateFCmpUNO(x, y));
    size = select(undefined, nan(), size);
    return select(b.CreateOr(equal(y, real(0)), equal(x, real(1))), real(1), size);
  }
};

}  // namespace

// x^n for n from 1, by squares: plain numbers, or pairs with what their products lost.
template <class Number>
static Number raised(Number x, int n, const auto& product) {
  Number made = x;
  for (int bit = static_cast<int>(std::bit_floor(static_cast<unsigned>(n))) / 2; bit > 0; bit /= 2) {
    made = product(made, made);
    if ((n & bit) != 0) made = product(made, x);
  }
  return made;
}

// Of f32, in f64.
static Value* rounded_power(function_emitter& f, Value* x, int exponent) {
  Value* const base = f.build.CreateFPExt(x, like(x, f.build.getDoubleTy()));
  const real_math wide(f, base);
  Value* const made = raised(base, std::abs(exponent), [&](Value* a, Value* c) { return wide.mul(a, c); });
  return f.build.CreateFPTrunc(exponent < 0 ? wide.div(wide.real(1), made) : made, like(x, f.build.getFloatTy()));
}

// x^3 or x^4 of f64, with what the square's rounding lost; where that is not finite, the power is not either.
static Value* exact_power(function_emitter& f, Value* x, int exponent) {
  const powers math(f, x);
  Value* const square = math.mul(x, x);
  Value* const lost = math.product_error(x, x, square);
  Value* const other = exponent == 3 ? x : square;
  Value* const rest = math.mul(lost, exponent == 3 ? x : math.add(square, square));
  return math.fma(square, other, math.finite_or_zero(rest));
}

// Of f64, with what roundings lost. The inverse comes first: its powers end where those of x^-n do.
static pair power_in_two(const powers& math, Value* x, int exponent) {
  pair base{x, math.real(0)};
  if (exponent < 0) {
    base.high = math.div(math.real(1), x);
    Value* const whole = math.mul(base.high, x);
    Value* const left = math.sub(math.sub(math.real(1), whole), math.product_error(base.high, x, whole));
    base.low = math.mul(left, base.high);
  }
  return raised(base, std::abs(exponent), [&](pair a, pair c) { return math.product(a, c); });
}

// x^(n + 1/2) is the root of x by x^n. It is infinite of -infinity and 0 of -0. Of a negative number n, 1 / root below
// -1/2 would be a rounding more: it is the root by 1 / x.
static Value* power_of_root(function_emitter& f, Value* x, double exponent) {
  const powers math(f, x);
  Value* const infinite = math.equal(x, ConstantFP::getInfinity(math.reals, true));
  Value* const root = math.select(infinite, math.infinity(), math.add(math.sqrt(x), math.real(0)));
  if (exponent == 0.5) return root;
  if (exponent == -0.5) return math.div(math.real(1), root);
  Value* const size = math.magnitude(x);
  const int whole = static_cast<int>(std::trunc(exponent));
  if (whole > 0) {
    const pair power = power_in_two(math, size, whole);
    return math.fma(power.high, root, math.finite_or_zero(math.mul(power.low, root)));
  }
  const pair inverse = power_in_two(math, size, -1);
  const pair one = math.product(pair{root, math.real(0)}, inverse);
  const pair power = raised(inverse, -whole, [&](pair a, pair c) { return math.product(a, c); });
  const pair made = math.product(one, power);
  Value* const sum = math.add(made.high, math.finite_or_zero(made.low));
  Value* const at_ends = f.build.CreateOr(math.equal(size, math.infinity()), math.equal(size, math.real(0)));
  return math.select(at_ends, inverse.high, sum);  // there the product was 0 by infinity
}

// Powers by numbers of halves up to 16 in size; null of others, and of those that simplification leaves none of.
Value* emit_small_power(function_emitter& f, Value* x, const Value* y) {
  const auto* number = dyn_cast<Constant>(y);
  if (number != nullptr && number->getType()->isVectorTy()) number = number->getSplatValue();
  const auto* const exponent = dyn_cast_or_null<ConstantFP>(number);
  if (exponent == nullptr) return nullptr;
  const bool is_double = exponent->getType()->isDoubleTy();
  const double value = is_double ? exponent->getValueAPF().convertToDouble() : exponent->getValueAPF().convertToFloat();
  const powers math(f, x);
  if (value == -1) return math.div(math.real(1), x);
  if (!(std::abs(value) <= 16) || value == 0 || value * 2 != std::trunc(value * 2)) return nullptr;
  if (value != std::trunc(value)) {
    if (is_double || f.m.target.fma || std::abs(value) == 0.5) return power_of_root(f, x, value);
    Value* const wide = f.build.CreateFPExt(x, like(x, f.build.getDoubleTy()));
    return f.build.CreateFPTrunc(power_of_root(f, wide, value), x->getType());
  }
  const int n = static_cast<int>(value);
  if (!is_double) return rounded_power(f, x, n);
  if (n == 3 || n == 4) return exact_power(f, x, n);
  const pair made = power_in_two(math, x, n);
  return math.add(made.high, math.finite_or_zero(made.low));
}

Value* emit_power(function_emitter& f, Value* x, Value* y) {
  const powers math(f, x);
  if (math.is_double) return math.edges(x, y, math.exact(math.magnitude(x), y));
  Type* const wide = like(x, f.build.getDoubleTy());
  Value* size = f.build.CreateFPExt(math.magnitude(x), wide);
  Value* made = powers(f, size).rough(size, f.build.CreateFPExt(y, wide));
  return math.edges(x, y, f.build.CreateFPTrunc(made, math.reals));
}

}  // namespace sheaf::inline v0_1::llvm_backend
