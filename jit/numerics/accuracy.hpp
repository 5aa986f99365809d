// How far one operation of a kernel may be from the exact result of its operands. Shown by tests/jit/math.cpp, which
// tries the functions, and tests/coverage, whose programs keep the bounds that follow (plan/error_bound.hpp).
#pragma once
#include <sheaf/dsl/graph/ops.hpp>

namespace sheaf::inline v0_1::numerics {

// Of a number near x, x times this is at most half a unit in the last place.
constexpr double half_ulp(element type) {
  switch (type) {
    case element::f64: return 0x1p-53;
    case element::f32: return 0x1p-24;
    case element::f16: return 0x1p-11;
    case element::bf16: return 0x1p-8;
    default: return 0;  // integers are exact
  }
}

// Of f32, for each term of a sum that a tensor core makes of exact products: addends are truncated where the largest of
// a group of at least 4, with the sum before, ends, and so is their sum (Fasi, Higham, Mikaitis, Pranesh, Numerical
// behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021): 6 units in the last place for 4 terms.
inline constexpr double mma_roundings = 3;

// Units in the last place; 0.5 is a result that is rounded once.
constexpr double largest_error(op kind) {
  switch (kind) {
    case op::neg:
    case op::abs:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::minimum:
    case op::maximum:
    case op::select: return 0;
    case op::exp:
    case op::log: return 1.1;
    case op::expm1:
    case op::log1p:
    case op::erf:
    case op::sin:
    case op::cos:
    case op::asin:
    case op::acos:
    case op::atan:
    case op::cosh:
    case op::asinh: return 2;
    case op::sinh:
    case op::acosh:
    case op::atanh:
    case op::sigmoid: return 2.5;
    case op::tanh: return 3;
    case op::tan: return 3.5;
    case op::pow: return 1.5;
    case op::quotient:
    case op::remainder: return 1;
    default: return 0.5;
  }
}

// Of CUDA's functions of f32 where they are less accurate (CUDA C++ Programming Guide, Mathematical Functions).
constexpr double largest_error_on_gpu(op kind) {
  switch (kind) {
    case op::tan:
    case op::acosh:
    case op::pow: return 4;
    case op::sinh:
    case op::asinh:
    case op::atanh: return 3;
    default: return largest_error(kind);
  }
}

}  // namespace sheaf::inline v0_1::numerics
