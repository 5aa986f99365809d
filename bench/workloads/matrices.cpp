// W5: means of a matrix along each axis. W6: the mean square of its differences from 1. W12: logsumexp, variance, norm
// and argmax along each axis.
#include "matrices.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;

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

template <class Y>
void measure_argmax(session& s, const char* what, Y y, const matrix& m, int reduced) {
  array<std::int64_t, 1> where(matrix::side);
  const auto program = compile(y);
  s.row(
      "W12", what, reads(m.x) + writes(where), [&] { program(x = m.x, y = where); },
      [&] { return error_of(where, positions_of_largest(m, reduced)); });
}

void mean_square(session& s, matrix& m) {
  constexpr auto loss = define<"loss">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  constexpr auto dx = grad(loss, x);
  array<float, 0> l;
  const auto forward = compile(loss);
  s.row(
      "W6", "forward", reads(m.x) + writes(l), [&] { forward(x = m.x, loss = l); }, [&] { return m.square_error(l); });
  const auto both = compile(loss, dx);
  s.row(
      "W6", "forward+backward", reads(m.x) + writes(l, m.dx), [&] { both(x = m.x, loss = l, dx = m.dx); },
      [&] { return std::max(m.square_error(l), m.square_gradient_error()); });
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
