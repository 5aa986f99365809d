// W8: layer norm with scale and shift. W9: softmax and cross entropy of rows.
#include "rows.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto shift = tensor<"shift", float, 1>;
constexpr auto target = tensor<"target", std::int64_t, 1>;

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
