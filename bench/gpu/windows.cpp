// W7: pooling of images. W13: means of a sliding window.
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto image = tensor<"image", float, 4>;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;

void measure_images(gpu_session& s) {
  constexpr std::int64_t count = 128, in = 224, out = 112;  // 1.6 GB
  const auto images = s.random(-1, 1, count, 64, in, in), dy = s.random(-1, 1, count, 64, out, out);
  auto dx = s.empty(count, 64, in, in), y = s.empty(count, 64, out, out);
  const auto measure = [&](const std::string& name, auto pooled) {
    const auto forward = compile(pooled, on(gpu));
    s.row("W7", (name + ":forward").c_str(), bytes_of_all(images, y),
          [&] { forward(image = images, pooled = y, on(s.s)); });
    const auto gradient = vjp(pooled, image);
    const auto both = compile(pooled, gradient, on(gpu));
    s.row("W7", (name + ":forward+backward").c_str(), bytes_of_all(images, y, dy, dx),
          [&] { both(image = images, cotangent(pooled) = dy, pooled = y, gradient = dx, on(s.s)); });
  };
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  measure("avg", avg_pool2d<options>(image));
  measure("max", max_pool2d<options>(image));
}

void measure_signal(gpu_session& s) {
  constexpr std::int64_t length = std::int64_t{1} << 28, width = 1024;
  constexpr auto wide = constant<width>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(x, dim<0>) - wide + 1_c)) = mean(u.in(0_c, wide), x(t + u));
  constexpr auto dmoved = vjp(moved, x);
  const auto values = s.random(0, 1, length), dy = s.random(-1, 1, length - width + 1);
  auto y = s.empty(length - width + 1), dx = s.empty(length);
  const auto forward = compile(moved, on(gpu));
  s.row("W13", "forward", bytes_of_all(values, y), [&] { forward(x = values, moved = y, on(s.s)); });
  const auto both = compile(moved, dmoved, on(gpu));
  s.row("W13", "forward+backward", bytes_of_all(values, y, dy, dx),
        [&] { both(x = values, cotangent(moved) = dy, moved = y, dmoved = dx, on(s.s)); });
}

}  // namespace

void gpu_windows(gpu_session& s) {
  if (s.wants("W7")) measure_images(s);
  if (s.wants("W13")) measure_signal(s);
}

}  // namespace sheaf::bench
