// asin, acos and atan: a constant and m + m z p(z), where z = m^2 is small: of large numbers by
// asin x = pi / 2 - 2 asin sqrt((1 - x) / 2) and atan x = pi / 2 - atan(1 / x) (W. J. Cody, W. Waite, Software Manual
// for the Elementary Functions, 1980, chapters 10 and 11).
#include <sheaf/jit/llvm/math.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

struct arcs : real_math {
  using real_math::real_math;

  // pi / 2 in two parts.
  Constant* quarter(double times = 1) const { return real(times * (is_double ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0)); }
  Constant* quarter_low(double times = 1) const {
    return real(times * (is_double ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25));
  }
  Value* sum(Value* c, Value* low, Value* m, Value* z, Value* p) const {
    return add(add(c, m), fma(mul(m, z), p, low));
  }

  Value* sine_series(Value* z) const {  // z <= 1 / 4
    if (is_double)
      return polynomial(z, {0x1.5555555555387p-3, 0x1.333333336f8abp-4, 0x1.6db6db41d3dd0p-5, 0x1.f1c72c6d07d24p-6,
                            0x1.6e89ef84ccca7p-6, 0x1.1c6c26ecf589cp-6, 0x1.c6f8904b2d2aep-7, 0x1.8ee4218bbf946p-7,
                            0x1.aab86f47aba5fp-8, 0x1.40ae7e409c845p-6, -0x1.0aef606a79019p-6, 0x1.05cc72f69706ep-5});
    return polynomial(z, {0x1.5555cap-3, 0x1.33015p-4, 0x1.748c4ap-5, 0x1.8ba39ep-6, 0x1.59d998p-5});
  }
  Value* tangent_series(Value* z) const {  // z <= 1
    if (is_double)
      return polynomial(z, {-0x1.5555555555464p-2, 0x1.9999999985c22p-3, -0x1.2492491ff9755p-3, 0x1.c71c70b00e61dp-4,
                            -0x1.745d034c686e4p-4, 0x1.3b12be699e3bfp-4, -0x1.1108f06ef3550p-4, 0x1.e17b8525dde1ep-5,
                            -0x1.ad402b7459627p-5, 0x1.7f0be4b0b461ep-5, -0x1.4f9ff79331e2ep-5, 0x1.17b4ba1da07bbp-5,
                            -0x1.a8d10eaebc4abp-6, 0x1.17df45a935ea1p-6, -0x1.2f8dfbff61af4p-7, 0x1.ff1f14105ce29p-9,
                            -0x1.35715a1c58557p-10, 0x1.db9310c50bc17p-13, -0x1.5a84f77c9dacbp-16});
    return polynomial(z, {-0x1.55554p-2, 0x1.999274p-3, -0x1.2426dcp-3, 0x1.c0d15ap-4, -0x1.58d8fcp-4, 0x1.dd02cep-5,
                          -0x1.01a376p-5, 0x1.6a7588p-7, -0x1.ded006p-10});
  }

  struct halved {
    Value* large;  // |x| > 1 / 2, whose z is (1 - |x|) / 2: negative, and its root NaN, where there is no result
    Value* z;
    Value* twice;  // 2 sqrt(z)
  };
  halved halve(Value* size) const {
    Value* large = more(size, real(0.5));
    Value* z = select(large, fma(size, real(-0.5), real(0.5)), mul(size, size));
    Value* root = sqrt(z);
    return {large, z, add(root, root)};
  }
};

}  // namespace

Value* real_math::asin(Value* x) const {
  const arcs a(f, x);
  Value* size = magnitude(x);
  const auto h = a.halve(size);
  Value* m = select(h.large, negated(h.twice), size);
  // c + m may be above 1, and rounded twice as much as a result below: what it lost is put back.
  Value* c = select(h.large, a.quarter(), real(0));
  Value* lost = add(sub(c, add(c, m)), m);
  Value* low = add(select(h.large, a.quarter_low(), real(0)), lost);
  Value* y = a.sum(c, low, m, h.z, a.sine_series(h.z));
  return with_sign_of(y, x);
}

Value* real_math::acos(Value* x) const {  // pi / 2 - x ..., 2 sqrt(z) ..., pi - 2 sqrt(z) ...
  const arcs a(f, x);
  const auto h = a.halve(magnitude(x));
  Value* below = less(x, real(0));
  const auto by_part = [&](Constant* middle, Constant* left) {
    return select(h.large, select(below, left, real(0)), middle);
  };
  Value* m = select(h.large, with_sign_of(h.twice, x), negated(x));
  return a.sum(by_part(a.quarter(), a.quarter(2)), by_part(a.quarter_low(), a.quarter_low(2)), m, h.z,
               a.sine_series(h.z));
}

Value* real_math::atan(Value* x) const {
  const arcs a(f, x);
  Value* size = magnitude(x);
  Value* large = more(size, real(1));
  Value* m = select(large, div(real(-1), size), size);
  Value* z = mul(m, m);
  Value* y =
      a.sum(select(large, a.quarter(), real(0)), select(large, a.quarter_low(), real(0)), m, z, a.tangent_series(z));
  return with_sign_of(y, x);
}

}  // namespace sheaf::inline v0_1::llvm_backend
