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
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const results into{y, dy, dx};
  const auto given = image = images;
  s.both_rows("W7", "avg", avg_pool2d<options>(image), image, into, bytes_of(images), given);
  s.both_rows("W7", "max", max_pool2d<options>(image), image, into, bytes_of(images), given);
}

void measure_signal(gpu_session& s) {
  constexpr std::int64_t length = std::int64_t{1} << 28, width = 1024;
  constexpr auto wide = constant<width>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(x, dim<0>) - wide + 1_c)) = mean(u.in(0_c, wide), x(t + u));
  const auto values = s.random(0, 1, length), dy = s.random(-1, 1, length - width + 1);
  auto y = s.empty(length - width + 1), dx = s.empty(length);
  s.both_rows("W13", "", moved, x, results{y, dy, dx}, bytes_of(values), x = values);
}

}  // namespace

void gpu_windows(gpu_session& s) {
  if (s.wants("W7")) measure_images(s);
  if (s.wants("W13")) measure_signal(s);
}

}  // namespace sheaf::bench
