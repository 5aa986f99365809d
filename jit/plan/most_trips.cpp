#include <sheaf/jit/plan/most_trips.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1::plan {

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();
}

double most_trips::operator()(node_id idx) {
  if (const auto found = done_.find(idx); found != done_.end()) return found->second;
  done_[idx] = infinite;  // an index may walk what is defined over one that walks what it is defined over
  const double range = is_unbound(g_, idx) ? infinite : difference(g_.arg(idx, 1), g_.arg(idx, 0));
  return done_[idx] = std::max(0.0, std::isinf(range) ? walked(idx) : range);
}

double most_trips::walked(node_id idx) {
  double most = infinite;
  for (node_id n = 0; n < g_.size(); ++n) {
    if (g_.kind(n) != op::load) continue;
    const node_id tensor = g_.arg(n, 0);
    for (int d = 0; d + 1 < g_[n].count; ++d) {
      if (g_.arg(n, 1 + d) != idx) continue;
      if (g_.kind(tensor) == op::define) {
        most = std::min(most, (*this)(g_.arg(tensor, 1 + d)));
        continue;
      }
      const auto input = static_cast<std::size_t>(g_[tensor].attribute);
      const auto& inputs = known_.call().inputs;
      if (input < inputs.size() && static_cast<std::size_t>(d) < inputs[input].extents.size())
        most = std::min(most, inputs[input].extents[static_cast<std::size_t>(d)].estimate());
    }
  }
  return most;
}

// What both have in common is taken away where it is seen: [low, min(low + 64, end)) is of 64.
double most_trips::difference(node_id high, node_id low) {
  if (high == low) return 0;
  const op kind = g_.kind(high);
  if (kind == op::minimum || kind == op::maximum) {
    const double a = difference(g_.arg(high, 0), low), b = difference(g_.arg(high, 1), low);
    return kind == op::minimum ? std::min(a, b) : std::max(a, b);
  }
  if (kind == op::add)
    for (int k = 0; k < 2; ++k)
      if (g_.arg(high, k) == low) return of(g_.arg(high, 1 - k)).high;
  if (g_.kind(low) == op::maximum)
    return std::min(difference(high, g_.arg(low, 0)), difference(high, g_.arg(low, 1)));
  if (g_.kind(low) == op::add && kind == op::add)
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j)
        if (g_.arg(high, k) == g_.arg(low, j))
          return of(g_.arg(high, 1 - k)).high - of(g_.arg(low, 1 - j)).low;
  return of(high).high - of(low).low;
}

most_trips::values most_trips::of(node_id n) {
  if (const auto found = values_.find(n); found != values_.end()) return found->second;
  values result{-infinite, infinite};
  if (const auto known = known_.value(n); known && g_.kind(n) != op::index) {
    result = {known->estimate(), known->estimate()};
  } else if (g_.kind(n) == op::index && !is_unbound(g_, n)) {
    result = {of(g_.arg(n, 0)).low, of(g_.arg(n, 1)).high - 1};
  } else if (is_elementwise(g_.kind(n)) && !is_floating(g_.type(n)) && g_[n].count == 2) {
    result = applied(g_.kind(n), of(g_.arg(n, 0)), of(g_.arg(n, 1)));
  } else if (g_.kind(n) == op::select) {
    const values a = of(g_.arg(n, 1)), b = of(g_.arg(n, 2));
    result = {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
  if (std::isnan(result.low)) result.low = -infinite;
  if (std::isnan(result.high)) result.high = infinite;
  return values_[n] = result;
}

most_trips::values most_trips::applied(op kind, const values& a, const values& b) const {
  switch (kind) {
    case op::add: return {a.low + b.low, a.high + b.high};
    case op::sub: return {a.low - b.high, a.high - b.low};
    case op::minimum: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case op::maximum: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case op::mul:
      if (b.low == b.high && b.low > 0) return {a.low * b.low, a.high * b.low};
      if (a.low == a.high && a.low > 0) return {b.low * a.low, b.high * a.low};
      break;
    case op::quotient:
      if (b.low == b.high && b.low > 0) return {std::floor(a.low / b.low), std::floor(a.high / b.low)};
      break;
    case op::remainder:
      if (b.low == b.high && b.low > 0) return {0, b.low - 1};
      break;
    default: break;
  }
  return {-infinite, infinite};
}

}  // namespace sheaf::inline v0_1::plan
