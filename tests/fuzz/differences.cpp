// Derivatives of programs in f64 against differences of the slow evaluator. Input: a program and arguments. Output:
// the first derivative that disagrees. Shown by tests/fuzz/main.cpp.
#include <algorithm>
#include <cmath>

#include <sheaf/dsl/graph/evaluate.hpp>

#include "check.hpp"

namespace sheaf::fuzz {

namespace {

tensor_value value_of(const tensor_data& t) {
  tensor_value v;
  v.type = t.type;
  for (const std::int64_t e : t.extents) v.extents.push(e);
  for (const double x : t.reals) v.reals.push(x);
  for (const std::int64_t x : t.integers) v.integers.push(x);
  return v;
}

// One tensor of the program as a function of its inputs.
class function {
 public:
  function(program p, const std::string& name) {
    p.outputs = {{name, nullptr}};
    g_ = parsed(text_of(p));
  }
  bool ok() const { return !g_.failed() && g_.size() < 3000; }
  const graph& shown() const { return g_; }
  std::vector<double> operator()(const arguments& a) const {
    flat<tensor_value> inputs;
    for (int i = 0; i < g_.inputs.size(); ++i) {
      const auto t = a.inputs.find(name_of_input(g_, i));
      if (t == a.inputs.end()) return {};
      inputs.push(value_of(t->second));
    }
    const evaluation e = evaluate(g_, g_.outputs[0], inputs);
    if (!e.status.ok()) return {};
    return std::vector<double>(e.value.reals.begin(), e.value.reals.end());
  }

 private:
  graph g_;
};

// The derivative of f at 0 by differences; false where f is not smooth enough there to judge.
constexpr double step = 1e-4;
template <class F>
bool slope_of(F f, double& slope, double& size) {
  constexpr double h = step;
  double at[5];
  for (int k = 0; k < 5; ++k)
    if (!f((k - 2) * h, at[k]) || !(std::abs(at[k]) < 1e6)) return false;
  const double fine = (at[3] - at[1]) / (2 * h), coarse = (at[4] - at[0]) / (4 * h);
  slope = (4 * fine - coarse) / 3;
  size = 1 + std::abs(at[2]) + std::abs(slope);
  const double left = (at[2] - at[1]) / h, right = (at[3] - at[2]) / h;  // they differ at a kink
  const double left2 = (at[2] - at[0]) / (2 * h), right2 = (at[4] - at[2]) / (2 * h);
  // the second is twice the first where f is smooth
  const double bend = std::abs(right - left), bend2 = std::abs(right2 - left2);
  return std::abs(fine - coarse) < 1e-4 * size &&
         (bend < 1e-6 * size || std::abs(bend2 - 2 * bend) < 0.2 * bend + 1e-6 * size);
}

// Is a value between x and y, or one that it is computed with, NaN or infinite somewhere, or its slope? A derivative is
// then NaN where another factor is 0, also where y does not change with x: 0 * NaN (semantics.md).
bool may_be_nan(const graph& g, const std::string& x, const arguments& a) {
  bounded_outputs bounds(g, a);
  for (node_id n = 0; n < g.size(); ++n)  // each is computed for all of its indices, and its derivative with it
    if (g.kind(n) == op::define) bounds.by.of(n);
  if (bounds.by.tired()) return true;
  std::vector<bool> between(static_cast<std::size_t>(g.size()), false);
  for (node_id n = 0; n < g.size(); ++n) {  // arguments first
    const bool is_x = g.kind(n) == op::input && name_of_input(g, static_cast<int>(g[n].attribute)) == x;
    bool infinite = bounds.by.was_infinite(n), reached = is_x;
    for (int k = 0; k < g[n].count; ++k) {
      if (g.kind(n) == op::load && k > 0) break;
      reached = reached || between[static_cast<std::size_t>(g.arg(n, k))];
      infinite = infinite || bounds.by.was_infinite(g.arg(n, k));
    }
    between[static_cast<std::size_t>(n)] = reached;
    if (reached && infinite) return true;
  }
  return false;
}

struct derivative_check {
  const symbol& s;
  const arguments& a;
  verdict& v;
  const function& y;
  const function& derivative;

  // Is the derivative the same a few roundings away? Where it is not, it says nothing but them.
  bool is_steady(std::size_t element, double found, double size) const {
    for (const double h : {1e-14, -3e-14, 1e-13}) {
      arguments moved = a;
      for (double& e : moved.inputs.at(s.x).reals) e += h * (1 + std::abs(e));
      const std::vector<double> values = derivative(moved);
      if (values.empty() || !(std::abs(values[element] - found) <= 1e-6 * size)) return false;
    }
    return true;
  }

  // What roundings of y's elements from `first` on, times c, may change in a difference.
  double noise(std::size_t first, std::size_t count, const tensor_data* c) const {
    const bounded_outputs bounds(y.shown(), a);
    double all = 0;
    for (std::size_t i = first; i < first + count && !bounds.by.tired(); ++i)
      all += bounds.of[0]->values[i].error * (c == nullptr ? 1 : std::abs(c->reals[i]));
    return bounds.by.tired() || std::isnan(all) ? math::infinity : 4 * all / step;
  }

  void fail(std::size_t element, double found, double slope, double size, double noise) {
    if (std::isnan(found) ? may_be_nan(y.shown(), s.x, a)
                          : std::abs(found - slope) <= noise || !is_steady(element, found, size))
      return;
    char words[200];
    std::snprintf(words, sizeof words, "element %zu of ", element);
    v.kind = "derivative";
    v.words = words + s.what + "(" + s.y + ", " + s.x + ")";
    std::snprintf(words, sizeof words, ": %.12g, differences %.12g", found, slope);
    v.words += words;
  }

  // Of a scalar that `weighted` makes of y: by each element of x.
  void backward(const std::vector<double>& found) {
    const tensor_data* c = s.along.empty() ? nullptr : &a.inputs.at(s.along);
    arguments moved = a;
    tensor_data& x = moved.inputs.at(s.x);
    std::size_t count = 0;
    for (std::size_t k = 0, tried = 0; k < x.reals.size() && tried < 5 && v.ok();
         k += 1 + x.reals.size() / 5, ++tried) {
      const double kept = x.reals[k];
      const auto f = [&](double h, double& result) {
        x.reals[k] = kept + h;
        const std::vector<double> values = y(moved);
        x.reals[k] = kept;
        result = 0;
        count = values.size();
        for (std::size_t i = 0; i < values.size(); ++i) result += values[i] * (c == nullptr ? 1 : c->reals[i]);
        return !values.empty();
      };
      double slope = 0, size = 0;
      if (!slope_of(f, slope, size)) continue;
      ++v.slopes;
      if (!(std::abs(found[k] - slope) <= 2e-6 * size)) fail(k, found[k], slope, size, noise(0, count, c));
    }
  }

  // Each element of y along a direction of x.
  void forward(const std::vector<double>& found) {
    const tensor_data& direction = a.inputs.at(s.along);
    for (std::size_t k = 0, tried = 0; k < found.size() && tried < 5 && v.ok(); k += 1 + found.size() / 5, ++tried) {
      const auto f = [&](double h, double& result) {
        arguments moved = a;
        tensor_data& x = moved.inputs.at(s.x);
        for (std::size_t i = 0; i < x.reals.size(); ++i) x.reals[i] += h * direction.reals[i];
        const std::vector<double> values = y(moved);
        if (!values.empty()) result = values[k];
        return !values.empty();
      };
      double slope = 0, size = 0;
      if (!slope_of(f, slope, size)) continue;
      ++v.slopes;
      if (!(std::abs(found[k] - slope) <= 2e-6 * size)) fail(k, found[k], slope, size, noise(k, 1, nullptr));
    }
  }
};

bool is_moved_input(const program& p, const std::string& name) {
  const symbol* s = p.find(name);
  return s != nullptr && s->from == origin::input && s->type == element::f64;
}

}  // namespace

void check_differences(const program& p, const arguments& a, verdict& v) {
  for (const symbol& s : p.symbols) {
    if (s.from != origin::derivative || !is_moved_input(p, s.x) || !v.ok()) continue;
    if (!s.along.empty() && (!is_moved_input(p, s.along) || a.inputs.count(s.along) == 0)) continue;
    const symbol* y = p.find(s.y);
    if (y == nullptr || y->type != element::f64 || s.along == s.x) continue;
    bool ruled = false;  // stop_gradient and grafts are not what differences see; neither are rules
    for (const symbol& other : p.symbols) ruled = ruled || !other.rules.empty();
    if (ruled) continue;
    const function f(p, s.y), derivative(p, s.name);
    if (!f.ok() || !derivative.ok()) continue;
    const std::vector<double> found = derivative(a);
    if (found.empty()) continue;
    derivative_check one{s, a, v, f, derivative};
    if (s.what == "jvp") one.forward(found);
    else one.backward(found);
  }
}

}  // namespace sheaf::fuzz
