// W5: means of a matrix. W6: a loss of one. W8: layer norm. W9: softmax and cross entropy. W12: other reductions along
// an axis.
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto shift = tensor<"shift", float, 1>;
constexpr auto target = tensor<"target", std::int64_t, 1>;

struct matrix {
  static constexpr std::int64_t side = 32768;  // 4 GB
  device_array<float, 2> x, dx;
  device_array<float, 1> y, dy;
  explicit matrix(gpu_session& s)
      : x(s.random(-1, 1, side, side)), dx(s.empty(side, side)), y(s.empty(side)), dy(s.random(-1, 1, side)) {}
};

template <class Y>
void measure(gpu_session& s, const char* id, const char* name, Y y, matrix& m) {
  s.both_rows(id, name, y, x, results{m.y, m.dy, m.dx}, bytes_of(m.x), x = m.x);
}
template <class Y>
void measure_argmax(gpu_session& s, const char* what, Y y, const matrix& m) {
  device_array<std::int64_t, 1> where(s.s, matrix::side);
  const auto program = compile(y, on(gpu));
  s.row("W12", what, bytes_of_all(m.x, where), [&] { program(x = m.x, y = where, on(s.s)); });
}

void measure_loss(gpu_session& s, matrix& m) {
  constexpr auto loss = define<"loss">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  constexpr auto dx = grad(loss, x);
  device_array<float, 0> l(s.s);
  const auto forward = compile(loss, on(gpu));
  s.row("W6", "forward", bytes_of_all(m.x), [&] { forward(x = m.x, loss = l, on(s.s)); });
  const auto both = compile(loss, dx, on(gpu));
  s.row("W6", "forward+backward", bytes_of_all(m.x, m.dx), [&] { both(x = m.x, loss = l, dx = m.dx, on(s.s)); });
}

struct row_data {
  static constexpr std::int64_t count = 262144, width = 1024;  // 1 GB each
  device_array<float, 2> x, y, dy, dx;
  explicit row_data(gpu_session& s)
      : x(s.random(-4, 4, count, width)),
        y(s.empty(count, width)),
        dy(s.random(-1, 1, count, width)),
        dx(s.empty(count, width)) {}
};

void measure_norm(gpu_session& s, row_data& d) {
  const auto scale = s.random(0.5, 1.5, row_data::width), by = s.random(-1, 1, row_data::width);
  auto dscale = s.empty(row_data::width), dby = s.empty(row_data::width);
  constexpr auto y = layer_norm(x, w, shift);
  const auto forward = compile(y, on(gpu));
  s.row("W8", "forward", bytes_of_all(d.x, d.y), [&] { forward(x = d.x, w = scale, shift = by, y = d.y, on(s.s)); });
  constexpr auto dx = vjp(y, x);
  constexpr auto dw = vjp(y, w);
  constexpr auto db = vjp(y, shift);
  const auto both = compile(y, dx, dw, db, on(gpu));
  s.row("W8", "forward+backward", bytes_of_all(d.x, d.y, d.dy, d.dx), [&] {
    both(x = d.x, w = scale, shift = by, cotangent(y) = d.dy, y = d.y, dx = d.dx, dw = dscale, db = dby, on(s.s));
  });
}

void measure_softmax(gpu_session& s, row_data& d) {
  s.both_rows("W9", "softmax", softmax(x, dim<1>), x, results{d.y, d.dy, d.dx}, bytes_of(d.x), x = d.x);
}

void measure_entropy(gpu_session& s, row_data& d) {
  array<std::int64_t, 1> wanted(row_data::count);
  for (std::int64_t r = 0; r < wanted.size(); ++r)
    wanted(r) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r)) % row_data::width);
  const auto chosen = to_device(wanted, s.s);
  device_array<float, 0> l(s.s);
  constexpr auto loss = cross_entropy(x, target);
  constexpr auto dx = grad(loss, x);
  const auto forward = compile(loss, on(gpu));
  s.row("W9", "cross_entropy:forward", bytes_of_all(d.x, chosen),
        [&] { forward(x = d.x, target = chosen, loss = l, on(s.s)); });
  const auto both = compile(loss, dx, on(gpu));
  s.row("W9", "cross_entropy:forward+backward", bytes_of_all(d.x, chosen, d.dx),
        [&] { both(x = d.x, target = chosen, loss = l, dx = d.dx, on(s.s)); });
}

}  // namespace

void matrices(gpu_session& s) {
  if (!s.wants("W5") && !s.wants("W6") && !s.wants("W12")) return;
  matrix m(s);
  if (s.wants("W5")) {
    measure(s, "W5", "axis0", mean(x, dim<0>), m);
    measure(s, "W5", "axis1", mean(x, dim<1>), m);
  }
  if (s.wants("W6")) measure_loss(s, m);
  if (!s.wants("W12")) return;
  measure(s, "W12", "logsumexp0", logsumexp(x, dim<0>), m);
  measure(s, "W12", "logsumexp1", logsumexp(x, dim<1>), m);
  measure(s, "W12", "var0", var(x, dim<0>), m);
  measure(s, "W12", "var1", var(x, dim<1>), m);
  measure(s, "W12", "norm0", norm<2>(x, dim<0>), m);
  measure(s, "W12", "norm1", norm<2>(x, dim<1>), m);
  measure_argmax(s, "argmax0:forward", argmax(x, dim<0>), m);
  measure_argmax(s, "argmax1:forward", argmax(x, dim<1>), m);
}

void rows(gpu_session& s) {
  if (!s.wants("W8") && !s.wants("W9")) return;
  row_data d(s);
  if (s.wants("W8")) measure_norm(s, d);
  if (!s.wants("W9")) return;
  measure_softmax(s, d);
  measure_entropy(s, d);
}

}  // namespace sheaf::bench
