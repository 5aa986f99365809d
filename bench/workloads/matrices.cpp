// W5: means of a matrix along each axis. W6: the mean square of its differences from 1. W12: logsumexp, variance, norm and
// argmax along each axis.
#include <functional>

#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;

constexpr std::int64_t side = 8192;

struct matrix {
  array<float, 2> x, dx = touched(side, side);
  array<float, 1> y = touched(side), dy = noise(-1, 1, side);
  matrix(double low, double high) : x(noise(low, high, side, side)) {}

  // The sum of value(x, k) along an axis, for each k of the other.
  template <class Value>
  std::vector<double> along(int reduced, Value value) const {
    std::vector<double> total(side, 0);
    in_parts(side, [&](std::int64_t first, std::int64_t last) {
      if (reduced == 1) {
        for (std::int64_t r = first; r < last; ++r)
          for (std::int64_t c = 0; c < side; ++c) total[at(r)] += value(static_cast<double>(x(r, c)), r);
      } else {
        for (std::int64_t r = 0; r < side; ++r)
          for (std::int64_t c = first; c < last; ++c) total[at(c)] += value(static_cast<double>(x(r, c)), c);
      }
    });
    return total;
  }
  // gradient(x, k): the derivative of result k by x.
  template <class Gradient>
  double gradient_error(int reduced, Gradient gradient) const {
    return error_of(dx, side, [&](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < side; ++c) {
        const std::int64_t k = reduced == 1 ? r : c;
        want[c] = static_cast<double>(dy.data()[k]) * gradient(static_cast<double>(x(r, c)), k);
      }
    });
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
};

// What a row's results should be: the values, and the derivative of value k by an element.
struct expected {
  std::vector<double> values;
  std::function<double(double, std::int64_t)> gradient;
};

template <class Y>
void measure(session& s, const char* id, const std::string& name, Y y, matrix& m, int reduced, const expected& want) {
  const auto forward = compile(y);
  s.row(
      id, (name + "forward").c_str(), reads(m.x) + writes(m.y), [&] { forward(x = m.x, y = m.y); },
      [&] { return error_of(m.y, want.values); });
  const auto dx = vjp(y, x);
  const auto both = compile(y, dx);
  s.row(
      id, (name + "forward+backward").c_str(), reads(m.x, m.dy) + writes(m.y, m.dx),
      [&] { both(x = m.x, cotangent(y) = m.dy, y = m.y, dx = m.dx); },
      [&] { return std::max(error_of(m.y, want.values), m.gradient_error(reduced, want.gradient)); });
}

template <class F>
std::vector<double> each(std::vector<double> values, F f) {
  for (double& v : values) v = f(v);
  return values;
}
constexpr double count = side;

expected means(const matrix& m, int reduced) {
  return {each(m.along(reduced, [](double v, std::int64_t) { return v; }), [](double v) { return v / count; }),
          [](double, std::int64_t) { return 1 / count; }};
}
expected logs(const matrix& m, int reduced) {
  const auto values =
      each(m.along(reduced, [](double v, std::int64_t) { return std::exp(v); }), [](double v) { return std::log(v); });
  return {values, [=](double v, std::int64_t k) { return std::exp(v - values[matrix::at(k)]); }};
}
expected variances(const matrix& m, int reduced) {
  const auto centre = means(m, reduced).values;
  const auto apart = [=](double v, std::int64_t k) { return v - centre[matrix::at(k)]; };
  return {each(m.along(reduced, [=](double v, std::int64_t k) { return apart(v, k) * apart(v, k); }),
               [](double v) { return v / (count - 1); }),
          [=](double v, std::int64_t k) { return 2 * apart(v, k) / (count - 1); }};
}
expected norms(const matrix& m, int reduced) {
  const auto values =
      each(m.along(reduced, [](double v, std::int64_t) { return v * v; }), [](double v) { return std::sqrt(v); });
  return {values, [=](double v, std::int64_t k) { return v / values[matrix::at(k)]; }};
}
std::vector<double> positions_of_largest(const matrix& m, int reduced) {
  std::vector<double> position(side, 0);
  in_parts(side, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      float best = reduced == 1 ? m.x(k, 0) : m.x(0, k);
      for (std::int64_t n = 1; n < side; ++n)
        if (const float v = reduced == 1 ? m.x(k, n) : m.x(n, k); v > best)
          best = v, position[matrix::at(k)] = static_cast<double>(n);
    }
  });
  return position;
}

template <class Y>
void measure_argmax(session& s, const char* what, Y y, const matrix& m, int reduced) {
  array<std::int64_t, 1> where(side);
  const auto program = compile(y);
  s.row(
      "W12", what, reads(m.x) + writes(where), [&] { program(x = m.x, y = where); },
      [&] { return error_of(where, positions_of_largest(m, reduced)); });
}

void mean_square(session& s, matrix& m) {
  constexpr auto loss = define<"loss">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  constexpr auto dx = grad(loss, x);
  array<float, 0> l;
  const auto squares = m.along(1, [](double v, std::int64_t) { return (v - 1) * (v - 1); });
  double wanted = 0;
  for (const double v : squares) wanted += v / (count * count);
  const auto error = [&] { return error_of(l, {wanted}); };
  const auto forward = compile(loss);
  s.row("W6", "forward", reads(m.x) + writes(l), [&] { forward(x = m.x, loss = l); }, error);
  const auto both = compile(loss, dx);
  s.row(
      "W6", "forward+backward", reads(m.x) + writes(l, m.dx), [&] { both(x = m.x, loss = l, dx = m.dx); },
      [&] {
        return std::max(error(), error_of(m.dx, side, [&](std::int64_t r, double* want) {
                          for (std::int64_t c = 0; c < side; ++c)
                            want[c] = 2 * (static_cast<double>(m.x(r, c)) - 1) / (count * count);
                        }));
      });
}

}  // namespace

void matrix_means(session& s) {
  if (!s.wants("W5") && !s.wants("W6")) return;
  matrix m(0, 1);
  if (s.wants("W5")) {
    measure(s, "W5", "axis0:", mean(x, dim<0>), m, 0, means(m, 0));
    measure(s, "W5", "axis1:", mean(x, dim<1>), m, 1, means(m, 1));
  }
  if (s.wants("W6")) mean_square(s, m);
}

void axis_reductions(session& s) {
  if (!s.wants("W12")) return;
  matrix m(-4, 4);
  measure(s, "W12", "logsumexp0:", logsumexp(x, dim<0>), m, 0, logs(m, 0));
  measure(s, "W12", "logsumexp1:", logsumexp(x, dim<1>), m, 1, logs(m, 1));
  measure(s, "W12", "var0:", var(x, dim<0>), m, 0, variances(m, 0));
  measure(s, "W12", "var1:", var(x, dim<1>), m, 1, variances(m, 1));
  measure(s, "W12", "norm0:", norm<2>(x, dim<0>), m, 0, norms(m, 0));
  measure(s, "W12", "norm1:", norm<2>(x, dim<1>), m, 1, norms(m, 1));
  measure_argmax(s, "argmax0:forward", argmax(x, dim<0>), m, 0);
  measure_argmax(s, "argmax1:forward", argmax(x, dim<1>), m, 1);
}

}  // namespace sheaf::bench
