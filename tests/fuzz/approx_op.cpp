// The error of one op. See approx.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "approx.hpp"

namespace sheaf::fuzz {

double unit_of(element type) {
  return type == element::f16 ? 0x1p-11 : type == element::bf16 ? 0x1p-8 : type == element::f64 ? 0x1p-53 : 0x1p-24;
}
double largest_of(element type) {
  return type == element::f16    ? 65504
         : type == element::f64  ? std::numeric_limits<double>::max()
         : type == element::bf16 ? 3.3895313892515355e38
                                 : std::numeric_limits<float>::max();
}
double smallest_of(element type) {
  return type == element::f16    ? 0x1p-24
         : type == element::f64  ? 0x1p-1074
         : type == element::bf16 ? 0x1p-133
                                 : 0x1p-149;
}

double quantum(double x) {
  if (x == 0 || !std::isfinite(x)) return unknown;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  const auto bits = static_cast<std::int64_t>(std::abs(mantissa) * 0x1p53);
  return std::ldexp(1.0, exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(bits)));
}

namespace {

// Halves are computed in f32.
element computed_in(element type) { return type == element::f64 ? type : element::f32; }

// Is a op b exactly this number?
bool is_exact(op kind, double a, double b, double r) {
  switch (kind) {
    case op::add: {
      const double back = r - a;
      return (a - (r - back)) + (b - back) == 0;
    }
    case op::sub: return is_exact(op::add, a, -b, r);
    case op::mul: return std::fma(a, b, -r) == 0;
    case op::div: return std::fma(r, b, -a) == 0;
    case op::sqrt: return std::fma(r, r, -a) == 0;
    case op::neg: case op::abs: case op::sign: case op::floor: case op::ceil: case op::round:
    case op::minimum: case op::maximum: return true;
    case op::tanh: case op::sin: case op::erf: case op::expm1: case op::log1p: case op::tan: case op::asin:
    case op::atan: case op::sinh: case op::asinh: case op::atanh: return a == 0;
    case op::exp: return a == 0 || (std::isinf(a) && a < 0);
    case op::cos: return a == 0;
    default: return false;
  }
}

// Of arguments that are not numbers, or whose errors reach something else.
double error_of_special(op kind, const approximate& a, const approximate& b, int arity) {
  if (a.sure() && (arity < 2 || b.sure())) return 0;
  const bool joins = kind == op::add || kind == op::sub || kind == op::neg || kind == op::mul;
  if (std::isnan(a.real) && a.sure()) return 0;
  if (arity > 1 && std::isnan(b.real) && b.sure()) return 0;
  if (joins && arity > 1 && std::isinf(a.real) != std::isinf(b.real)) {
    const approximate& other = std::isinf(a.real) ? b : a;
    const bool far = kind != op::mul || std::abs(other.real) > other.error;
    if (far && other.error < unknown && (std::isinf(a.real) ? a : b).sure()) return 0;
  }
  return unknown;
}

// Of a function whose slope grows as one over the root of the distance to where it ends.
double near_edge(double distance, double error) {
  return error == 0 ? 0 : distance > 2 * error ? 2 * error / std::sqrt(distance) : unknown;
}

double slope(op kind, double x, double error, double r) {
  switch (kind) {
    case op::exp: return error > 1 ? unknown : 3 * std::abs(r) * error;
    case op::expm1: return error > 1 ? unknown : 3 * (std::abs(r) + 1) * error;
    case op::log: return std::abs(x) > 2 * error ? 2 * error / std::abs(x) : unknown;
    case op::log1p: return std::abs(1 + x) > 2 * error ? 2 * error / std::abs(1 + x) : unknown;
    case op::sqrt: return x > 2 * error ? error / r : error == 0 ? 0 : x >= 0 ? std::sqrt(3 * error) : unknown;
    case op::tan: return error * (1 + r * r) > 0.01 ? unknown : 3 * error * (1 + r * r);
    case op::asin:
    case op::acos: return near_edge(1 - std::abs(x), error);
    case op::acosh: return near_edge(x - 1, error);
    case op::atanh: return 1 - std::abs(x) > 2 * error ? 2 * error / (1 - std::abs(x)) : error == 0 ? 0 : unknown;
    case op::sinh:
    case op::cosh: return error > 1 ? unknown : 3 * std::cosh(x) * error;
    default: return 2 * error;  // tanh, sigmoid, erf, sin, cos, neg, abs, ...
  }
}

// Floors and their kin, and comparisons, jump: unknown where the error reaches a jump.
bool jumps(op kind, const approximate& a, double scale) {
  const double reach = a.error;
  if (reach == 0) return false;
  if (kind == op::round)
    return std::floor(a.real - reach + 0.5) != std::floor(a.real + reach + 0.5) ||
           std::abs(a.real - std::floor(a.real) - 0.5) <= reach;
  if (kind == op::sign) return std::abs(a.real) <= reach;
  return std::floor(a.real - reach) != std::floor(a.real + reach) || scale * 0x1p-40 > 1;
}

approximate compared(op kind, const approximate* x) {
  approximate r;
  r.integer = static_cast<std::int64_t>(row(kind).real(x[0].real, x[1].real, 0));
  if (std::isnan(x[0].real) || std::isnan(x[1].real)) {
    r.error = (std::isnan(x[0].real) && x[0].sure()) || (std::isnan(x[1].real) && x[1].sure()) ? 0 : unknown;
    return r;
  }
  const double reach = x[0].error + x[1].error;
  if (reach > 0 && (std::isinf(reach) || std::abs(x[0].real - x[1].real) <= reach)) r.error = unknown;
  if (std::isinf(x[0].real) && x[0].real == x[1].real && x[0].sure() && x[1].sure()) r.error = 0;
  return r;
}

approximate divided(op kind, element type, const approximate& a, const approximate& b) {
  const double u = unit_of(computed_in(type)), q = a.real / b.real;
  approximate r;
  r.real = row(kind).real(a.real, b.real, 0);
  if (kind == op::div) {
    if (b.real == 0 && a.real != 0 && !std::isnan(a.real)) r.error = unknown;  // the sign of a zero is nobody's
    else if (std::abs(b.real) <= 2 * b.error) r.error = unknown;
    else r.error = 2 * (a.error + std::abs(q) * b.error) / std::abs(b.real) + 2 * u * std::abs(q);
    return r;
  }
  if (a.sure() && b.sure()) {  // exact, whatever the size of the quotient
    const bool kept =
        kind == op::remainder ? round_to(computed_in(type), r.real) == r.real : std::abs(r.real) * u < 0.5;
    if (b.real == 0 && kind == op::quotient && a.real != 0) r.error = unknown;
    else if (std::isfinite(r.real) && !kept)
      r.error = 2 * u * (kind == op::remainder ? std::abs(b.real) : std::abs(r.real));
    return r;
  }
  const double reach = (a.error + std::abs(q) * b.error) / std::abs(b.real) * 2 + 4 * u * std::abs(q);
  const bool special = b.real == 0 || !std::isfinite(b.real) || !std::isfinite(a.real);
  if (special || std::abs(b.real) <= 2 * b.error || std::floor(q - reach) != std::floor(q + reach))
    r.error = unknown;
  else if (kind == op::remainder)
    r.error = a.error + std::abs(std::floor(q)) * b.error + 4 * u * (std::abs(a.real) + std::abs(r.real));
  return r;
}

// Does it cross 0 elsewhere than at 0, so that its error is no part of itself there?
bool is_small_near_a_number(op kind) {
  return kind == op::log || kind == op::log1p || kind == op::sin || kind == op::cos || kind == op::tan ||
         kind == op::acos || kind == op::acosh;
}

double propagated(op kind, element type, const approximate* x, double r) {
  const double u = unit_of(computed_in(type)), ea = x[0].error, eb = x[1].error, a = std::abs(x[0].real),
               b = std::abs(x[1].real);
  switch (kind) {
    case op::add: case op::sub: return ea + eb + u * std::abs(r);
    case op::mul: return ea * b + eb * a + ea * eb + u * std::abs(r);
    case op::minimum: case op::maximum: return std::max(ea, eb);
    case op::pow: {
      if (x[0].real == 0) return ea == 0 && eb == 0 && x[1].real > 0 ? 0 : unknown;
      const double relative = eb * std::abs(std::log(a)) + b * ea / a;
      return a <= 2 * ea || relative > 0.5 || (x[0].real < 0 && eb > 0)
                 ? unknown
                 : std::abs(r) * (2 * relative + 8 * u * (1 + b * std::abs(std::log(a))));
    }
    case op::neg: case op::abs: return ea;
    case op::sign: case op::floor: case op::ceil: case op::round: return jumps(kind, x[0], a) ? unknown : 0;
    default:
      return slope(kind, x[0].real, ea, r) + 8 * u * std::abs(r) + (is_small_near_a_number(kind) ? 4 * u : 0);
  }
}

// Of sums and their multiples.
summands summands_of_op(op kind, const approximate* x) {
  const bool sums = x[0].of.size > 0 || (row(kind).arity > 1 && x[1].of.size > 0);
  if (!sums || (kind != op::neg && kind != op::add && kind != op::sub && kind != op::mul)) return {};
  const summands a = summands_of(x[0]);
  if (kind == op::neg) return a;
  const summands b = summands_of(x[1]);
  if (kind == op::mul) return {a.size * b.size, a.least * b.least, std::max(a.count, b.count)};
  return {a.size + b.size, std::min(a.least, b.least), a.count + b.count};
}

}  // namespace

summands summands_of(const approximate& x) {
  if (x.of.size > 0) return x.of;
  return {std::isfinite(x.real) ? std::abs(x.real) : 0, quantum(x.real), 1};
}

approximate approximate_op(op kind, element type, element from, bool real, const approximate* x) {
  const op_row& w = row(kind);
  approximate r;
  if (!real) {
    r.integer = wrap_to(type, whole_result(w, from, x[0].integer, x[1].integer, x[2].integer));
    for (int k = 0; k < w.arity; ++k)
      if (!x[k].sure()) r.error = unknown;
    return r;
  }
  if (w.result == result_type::boolean) {
    if (kind != op::logical_not) return compared(kind, x);
    r.integer = x[0].real == 0;
    r.error = x[0].error > 0 && std::abs(x[0].real) <= x[0].error ? unknown : 0;
    return r;
  }
  r.real = w.real(x[0].real, x[1].real, x[2].real);
  if (kind == op::div || kind == op::remainder || kind == op::quotient) r = divided(kind, type, x[0], x[1]);
  const bool special =
      !std::isfinite(r.real) || !std::isfinite(x[0].real) || (w.arity > 1 && !std::isfinite(x[1].real));
  const element in = computed_in(type);
  const bool sure = x[0].sure() && (w.arity < 2 || x[1].sure());
  if (special) {
    if (!(r.error > 0)) r.error = error_of_special(kind, x[0], x[1], w.arity);
    if (kind == op::pow && (x[0].real == 0 || (x[0].real < 0 && !x[1].sure()))) r.error = unknown;
    if (std::isinf(r.real) && std::isfinite(x[0].real) && (w.arity < 2 || std::isfinite(x[1].real)) &&
        kind != op::log && kind != op::log1p)
      r.error = unknown;
    // A function's limit is a value of it like others: pi / 2 is a number of no type.
    if (w.cost == op_cost::function && r.error == 0 && std::isfinite(r.real) && r.real != std::round(r.real))
      r.error = 8 * unit_of(in) * std::abs(r.real);
  } else if (sure && is_exact(kind, x[0].real, x[1].real, r.real) && round_to(in, r.real) == r.real) {
    r.error = 0;
  } else if (kind != op::div && kind != op::remainder && kind != op::quotient) {
    r.error = propagated(kind, type, x, r.real) + smallest_of(in);
  } else if (r.error > 0) {
    r.error += smallest_of(in);
  }
  // What may overflow, or be so small that its digits are lost, in one width and not in another.
  if (std::isfinite(r.real) && std::abs(r.real) + r.error > 0.999 * largest_of(in))
    r.error = std::abs(r.real) <= largest_of(in) && sure && r.error == 0 ? 0 : unknown;
  if (std::isnan(r.error)) r.error = unknown;
  r.of = summands_of_op(kind, x);
  return r;
}

}  // namespace sheaf::fuzz
