// Logarithms, and the inverse hyperbolic functions, which are logarithms of 1 + w: w keeps the digits of arguments near
// 0, as near 1 for acosh (J.-M. Muller, Elementary Functions, third edition, 2016, section 11.2).
#include <sheaf/jit/llvm/math.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

struct logarithms : real_math {
  using real_math::real_math;

  // log(1 + m) + e log 2 for m in [sqrt(1/2) - 1, sqrt(2) - 1].
  Value* log_of(Value* m, Value* e) const {
    if (!is_double) {
      Value* p = polynomial(m, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4d8p-3, -0x1.555c6p-3, 0x1.23348p-3,
                                -0x1.fc1c3ep-4, 0x1.e71828p-4, -0x1.de6f7ep-4, 0x1.1438acp-4});
      Value* square = mul(m, m);
      Value* small = fma(mul(m, square), p, mul(e, real(log2_low())));
      small = fma(square, real(-0.5), small);
      return fma(e, real(log2_high()), add(m, small));
    }
    // By 2 artanh(m / (2 + m)): J.-M. Muller, Elementary Functions, third edition, section 11.2.1, gathered so that m
    // itself stays whole.
    Value* s = div(m, add(m, real(2)));
    Value* z = mul(s, s);
    Value* p = polynomial(z, {0x1.5555555555593p-1, 0x1.999999997fb00p-2, 0x1.2492494219e3dp-2, 0x1.c71c51e6639acp-3,
                              0x1.74664675cf49ap-3, 0x1.39a0ee5862caep-3, 0x1.2f0dcc197a9a8p-3});
    Value* half = mul(m, real(0.5));
    Value* small = fma(s, fma(half, m, mul(z, p)), mul(e, real(log2_low())));
    small = fma(negated(half), m, small);
    return fma(e, real(log2_high()), add(m, small));
  }
  // What a polynomial gives is wrong for 0, negative numbers, infinity and NaN.
  Value* log_edges(Value* x, Value* y, double pole) const {
    Value* edge = select(equal(x, real(pole)), ConstantFP::getInfinity(reals, true), nan());
    return select(equal(x, infinity()), x, select(more(x, real(pole)), y, edge));
  }

  Value* natural(Value* x) const {
    const double up = is_double ? 0x1p54 : 0x1p25, by = is_double ? 54 : 25;
    Value* tiny = less(x, real(is_double ? 0x1p-1022 : 0x1p-126));
    Value* normal = select(tiny, mul(x, real(up)), x);
    const split e = exponent(normal);
    Value* mantissa = unbits(b.CreateSub(bits(normal), e.moved));
    Value* power = select(tiny, sub(e.power, real(by)), e.power);
    return log_edges(x, log_of(sub(mantissa, real(1)), power), 0);
  }

  // log(1 + x), or where x is large log(x 2^more): the 1 does not count, and x is scaled so that 2^-e stays a normal
  // number.
  Value* of_sum(Value* x, Value* large, double doublings) const {
    Value* one = select(large, real(0), real(1));
    Value* scaled = select(large, mul(x, real(0x1p-32)), x);
    const split e = exponent(add(one, scaled));
    Value* inverse = unbits(b.CreateSub(integer(bias() << digits()), e.moved));
    Value* m = fma(scaled, inverse, select(large, real(-1), sub(inverse, real(1))));
    return log_of(m, select(large, add(e.power, real(32 + doublings)), e.power));
  }

  // The inverse functions are log(2 x) beyond it, to the last bit; x^2 does not overflow before.
  Value* is_far(Value* x) const { return more(x, real(is_double ? 0x1p28 : 0x1p14)); }
  Value* inverse_of(Value* x, Value* w) const {
    Value* large = is_far(x);
    return select(equal(x, infinity()), x, of_sum(select(large, x, w), large, 1));
  }
};

}  // namespace

Value* real_math::log(Value* x) const { return logarithms(f, x).natural(x); }

Value* real_math::log1p(Value* x) const {
  const logarithms l(f, x);
  Value* y = l.log_edges(x, l.of_sum(x, more(x, real(0x1p64)), 0), -1);
  return select(equal(x, real(0)), x, y);
}

Value* real_math::asinh(Value* x) const {  // w = |x| + sqrt(x^2 + 1) - 1
  Value* size = magnitude(x);
  Value* root = sqrt(fma(size, size, real(1)));
  Value* w = add(size, div(mul(size, size), add(root, real(1))));
  return with_sign_of(logarithms(f, x).inverse_of(size, w), x);
}

Value* real_math::acosh(Value* x) const {  // w = t + sqrt(x^2 - 1), t = x - 1
  Value* t = sub(x, real(1));
  Value* w = add(t, sqrt(fma(t, t, add(t, t))));
  return select(less(x, real(1)), nan(), logarithms(f, x).inverse_of(x, w));
}

Value* real_math::atanh(Value* x) const {  // half of it, w = (1 + |x|) / (1 - |x|) - 1
  Value* size = magnitude(x);
  Value* w = div(add(size, size), sub(real(1), size));
  return with_sign_of(mul(log1p(w), real(0.5)), x);
}

}  // namespace sheaf::inline v0_1::llvm_backend
