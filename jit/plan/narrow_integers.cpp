#include <sheaf/jit/plan/narrow_integers.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/products.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::products;

// The largest size that a number of this type may have.
double largest(element type) {
  if (type == element::boolean) return 1;
  const int bits = 8 * row(type).bytes;
  return std::ldexp(1.0, is_unsigned(type) ? bits : bits - 1);
}

class narrowing {
 public:
  explicit narrowing(graph& g) : g_(g) {}

  // How large it may be; infinity: it may not be computed in 32 bits.
  double bound(node_id n) {
    if (const auto known = bounds_.find(n); known != bounds_.end()) return known->second;
    return bounds_[n] = bound_of(n);
  }

  // The same number, which has a bound, in i32.
  node_id in_32_bits(node_id n) {
    if (const auto done = made_.find(n); done != made_.end()) return done->second;
    return made_[n] = narrowed(n);
  }

 private:
  double bound_of(node_id n) {
    constexpr double unknown = INFINITY;
    if (!is_integer(g_.type(n)) && g_.type(n) != element::boolean) return unknown;
    const double own = largest(g_.type(n));
    const op kind = g_.kind(n);
    const auto of = [&](int k) { return bound(g_.arg(n, k)); };
    const double wrapped = own <= in_i32 ? own : unknown;
    const auto fits = [&](double made) { return made <= std::min(own, in_i32) ? made : wrapped; };
    switch (kind) {
      case op::constant: return std::abs(static_cast<double>(g_[n].attribute));
      case op::cast: return is_floating(g_.type(g_.arg(n, 0))) ? fits(own) : fits(of(0));
      case op::add:
      case op::sub: return fits(of(0) + of(1));
      case op::mul: return fits(of(0) * of(1));
      case op::neg:
      case op::abs: return fits(of(0));
      case op::minimum:
      case op::maximum: return fits(std::max(of(0), of(1)));
      case op::select: return fits(std::max(of(1), of(2)));
      default: return wrapped;
    }
  }

  node_id narrowed(node_id n) {
    const op kind = g_.kind(n);
    if (g_.type(n) == element::i32) return n;
    if (kind == op::cast && !is_floating(g_.type(g_.arg(n, 0))) && bound(g_.arg(n, 0)) <= in_i32)
      return in_32_bits(g_.arg(n, 0));
    if (kind == op::constant) return cast_to(g_, element::i32, n);
    const bool computes = g_.type(n) == element::i64 && is_elementwise(kind) && kind != op::cast;
    if (!computes) return cast_to(g_, element::i32, n);
    node_id list[] = {no_node, no_node, no_node};
    for (int k = 0; k < g_[n].count; ++k)
      list[k] = kind == op::select && k == 0 ? g_.arg(n, k) : in_32_bits(g_.arg(n, k));
    return make(g_, kind, list[0], list[1], list[2]);
  }

  graph& g_;
  std::unordered_map<node_id, double> bounds_;
  std::unordered_map<node_id, node_id> made_;
};

}  // namespace

node_id take_narrow_integers(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  const node_id body = g.arg(n, 0);
  if (known.call().gpu || s.how != way::map || g.type(n) != element::i64 || monoid_of(g, n) != monoid::sum ||
      g[n].attribute != static_cast<std::int64_t>(monoid::sum) || !holds(g, body, op::mul) ||
      holds(g, body, op::reduce))
    return no_node;
  narrowing narrow(g);
  const double each = narrow.bound(body);
  if (!(each <= in_i32)) return no_node;
  amount terms = 1;
  for (const node_id idx : bound_indices(g, n)) {
    const auto trips = is_closed(g, idx) ? known.value(trips_of(g, idx)) : std::nullopt;
    if (!trips || trips->is_of_class()) return no_node;
    terms *= max(1, *trips);
  }
  const auto all_fit = [&](double limit) { return terms <= std::floor(limit / std::max(each, 1.0)); };
  const auto folded = [&](element type, node_id value) {
    std::vector<node_id> list = arguments(g, n, 0);
    list[0] = value;
    return g.intern(op::reduce, type, g[n].attribute, list.data(), static_cast<int>(list.size()));
  };
  const node_id narrowed = narrow.in_32_bits(body);
  // Of floating numbers a product has tiles, and multiplies and adds at once.
  if (g.kind(narrowed) == op::mul)
    for (const element type : {element::f32, element::f64}) {
      const auto part = [&](int k) { return cast_to(g, type, g.arg(narrowed, k)); };
      const node_id made = folded(type, make(g, op::mul, part(0), part(1)));
      if (is_product(g, known, made, rows_of_task) && all_fit(type == element::f32 ? in_f32 : in_f64))
        return cast_to(g, element::i64, made);
    }
  return all_fit(in_i32) ? cast_to(g, element::i64, folded(element::i32, narrowed)) : no_node;
}

}  // namespace sheaf::inline v0_1::plan
