// W8: layer norm with scale and shift. W9: softmax and cross entropy of rows.
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto shift = tensor<"shift", float, 1>;
constexpr auto target = tensor<"target", std::int64_t, 1>;

constexpr std::int64_t rows = 16384, width = 1024;
constexpr double count = width;

double at(const array<float, 2>& a, std::int64_t r, std::int64_t c) { return static_cast<double>(a(r, c)); }

struct norm_data {
  array<float, 2> x = noise(-4, 4, rows, width), y = touched(rows, width), dy = noise(-1, 1, rows, width),
                  dx = touched(rows, width);
  array<float, 1> w = noise(0.5, 1.5, width), b = noise(-1, 1, width), dw = touched(width), db = touched(width);
  std::vector<double> centre = std::vector<double>(rows), scale = centre;

  norm_data() {
    in_parts(rows, [this](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        double total = 0, squares = 0;
        for (std::int64_t c = 0; c < width; ++c) total += at(x, r, c);
        for (std::int64_t c = 0; c < width; ++c) squares += std::pow(at(x, r, c) - total / count, 2);
        centre[static_cast<std::size_t>(r)] = total / count;
        scale[static_cast<std::size_t>(r)] = 1 / std::sqrt(squares / count + 1e-5);
      }
    });
  }
  double form(std::int64_t r, std::int64_t c) const {
    return (at(x, r, c) - centre[static_cast<std::size_t>(r)]) * scale[static_cast<std::size_t>(r)];
  }
  double forward_error() const {
    return error_of(y, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = form(r, c) * static_cast<double>(w(c)) + static_cast<double>(b(c));
    });
  }
  double input_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      double total = 0, along = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        want[c] = at(dy, r, c) * static_cast<double>(w(c));
        total += want[c] / count;
        along += want[c] * form(r, c) / count;
      }
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = (want[c] - total - form(r, c) * along) * scale[static_cast<std::size_t>(r)];
    });
  }
  double parameter_error() const {
    std::vector<double> of_w(width, 0), of_b(width, 0);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        of_w[static_cast<std::size_t>(c)] += at(dy, r, c) * form(r, c);
        of_b[static_cast<std::size_t>(c)] += at(dy, r, c);
      }
    return std::max(error_of(dw, of_w), error_of(db, of_b));
  }
};

struct soft_data {
  array<float, 2> x = noise(-4, 4, rows, width), y = touched(rows, width), dy = noise(-1, 1, rows, width),
                  dx = touched(rows, width);
  array<std::int64_t, 1> target{rows};
  array<float, 0> loss;
  std::vector<double> log_total = std::vector<double>(rows);

  soft_data() {
    in_parts(rows, [this](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        double total = 0;
        for (std::int64_t c = 0; c < width; ++c) total += std::exp(at(x, r, c));
        log_total[static_cast<std::size_t>(r)] = std::log(total);
        target(r) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r)) % width);
      }
    });
  }
  double soft(std::int64_t r, std::int64_t c) const {
    return std::exp(at(x, r, c) - log_total[static_cast<std::size_t>(r)]);
  }
  double softmax_error() const {
    return error_of(y, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c) want[c] = soft(r, c);
    });
  }
  double softmax_gradient_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      double along = 0;
      for (std::int64_t c = 0; c < width; ++c) along += at(dy, r, c) * (want[c] = soft(r, c));
      for (std::int64_t c = 0; c < width; ++c) want[c] *= at(dy, r, c) - along;
    });
  }
  double loss_error() const {
    double wanted = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      wanted += (log_total[static_cast<std::size_t>(r)] - at(x, r, target(r))) / static_cast<double>(rows);
    return error_of(loss, {wanted});
  }
  double loss_gradient_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = (soft(r, c) - (c == target(r) ? 1 : 0)) / static_cast<double>(rows);
    });
  }
};

void measure_softmax(session& s, soft_data& d) {
  constexpr auto y = softmax(x, dim<1>);
  constexpr auto dx = vjp(y, x);
  const auto forward = compile(y);
  s.row(
      "W9", "softmax:forward", reads(d.x) + writes(d.y), [&] { forward(x = d.x, y = d.y); },
      [&] { return d.softmax_error(); });
  const auto both = compile(y, dx);
  s.row(
      "W9", "softmax:forward+backward", reads(d.x, d.dy) + writes(d.y, d.dx),
      [&] { both(x = d.x, cotangent(y) = d.dy, y = d.y, dx = d.dx); },
      [&] { return std::max(d.softmax_error(), d.softmax_gradient_error()); });
}
void measure_loss(session& s, soft_data& d) {
  constexpr auto loss = cross_entropy(x, target);
  constexpr auto dx = grad(loss, x);
  const auto forward = compile(loss);
  s.row(
      "W9", "cross_entropy:forward", reads(d.x, d.target) + writes(d.loss),
      [&] { forward(x = d.x, target = d.target, loss = d.loss); }, [&] { return d.loss_error(); });
  const auto both = compile(loss, dx);
  s.row(
      "W9", "cross_entropy:forward+backward", reads(d.x, d.target) + writes(d.loss, d.dx),
      [&] { both(x = d.x, target = d.target, loss = d.loss, dx = d.dx); },
      [&] { return std::max(d.loss_error(), d.loss_gradient_error()); });
}

}  // namespace

void layer_norms(session& s) {
  if (!s.wants("W8")) return;
  norm_data d;
  constexpr auto y = layer_norm(x, w, shift);
  const auto forward = compile(y);
  s.row(
      "W8", "forward", reads(d.x, d.w, d.b) + writes(d.y), [&] { forward(x = d.x, w = d.w, shift = d.b, y = d.y); },
      [&] { return d.forward_error(); });
  constexpr auto dx = vjp(y, x);
  constexpr auto dw = vjp(y, w);
  constexpr auto db = vjp(y, shift);
  const auto both = compile(y, dx, dw, db);
  s.row(
      "W8", "forward+backward", reads(d.x, d.w, d.b, d.dy) + writes(d.y, d.dx, d.dw, d.db),
      [&] { both(x = d.x, w = d.w, shift = d.b, cotangent(y) = d.dy, y = d.y, dx = d.dx, dw = d.dw, db = d.db); },
      [&] { return std::max({d.forward_error(), d.input_error(), d.parameter_error()}); });
}

void softmaxes(session& s) {
  if (!s.wants("W9")) return;
  soft_data d;
  measure_softmax(s, d);
  measure_loss(s, d);
}

}  // namespace sheaf::bench
