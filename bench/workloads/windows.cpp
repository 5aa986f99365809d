// W7: pooling of images. W13: the mean of a sliding window, and the same for windows of 3 to 65536 (row window).
#include "windows.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto image = tensor<"image", float, 4>;

template <class Y>
void measure(session& s, const std::string& name, Y y, images& m, bool maximum) {
  const auto forward = compile(y);
  s.row(
      "W7", (name + ":forward").c_str(), reads(m.x) + writes(m.y), [&] { forward(image = m.x, y = m.y); },
      [&] { return m.error(maximum); });
  const auto dx = vjp(y, image);
  const auto both = compile(y, dx);
  s.row(
      "W7", (name + ":forward+backward").c_str(), reads(m.x, m.dy) + writes(m.y, m.dx),
      [&] { both(image = m.x, cotangent(y) = m.dy, y = m.y, dx = m.dx); },
      [&] { return std::max(m.error(maximum), m.gradient_error(maximum)); });
}

constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
struct times {
  double forward, both;
};
template <std::int64_t Width>
times measure_window(session& s, const char* id, const std::string& name, signal& d) {
  d.set(Width);
  constexpr auto width = constant<Width>;
  constexpr auto y = define<"y">(t.in(0_c, extent(x, dim<0>) - width + 1_c)) = mean(u.in(0_c, width), x(t + u));
  constexpr auto dx = vjp(y, x);
  const auto forward = compile(y);
  const timing first = s.row(
      id, (name + "forward").c_str(), reads(d.x) + writes(d.y), [&] { forward(x = d.x, y = d.y); },
      [&] { return d.error(Width); });
  const auto both = compile(y, dx);
  const timing second = s.row(
      id, (name + "forward+backward").c_str(), reads(d.x, d.dy) + writes(d.y, d.dx),
      [&] { both(x = d.x, cotangent(y) = d.dy, y = d.y, dx = d.dx); },
      [&] { return std::max(d.error(Width), d.gradient_error(Width)); });
  return {first.kernel, second.kernel};
}

}  // namespace

void pooling(session& s) {
  if (!s.wants("W7")) return;
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  images m;
  measure(s, "avg", avg_pool2d<options>(image), m, false);
  measure(s, "max", max_pool2d<options>(image), m, true);
}

void windows(session& s) {
  if (!s.wants("W13") && !s.wants("window")) return;
  signal d(1024);
  if (s.wants("W13")) measure_window<1024>(s, "W13", "", d);
  if (!s.wants("window")) return;
  const times each[] = {measure_window<3>(s, "window:ms", "3:", d), measure_window<31>(s, "window:ms", "31:", d),
                        measure_window<1024>(s, "window:ms", "1024:", d),
                        measure_window<65536>(s, "window:ms", "65536:", d)};
  times slowest = each[0], fastest = each[0];
  for (const times& one : each) {
    slowest = {std::max(slowest.forward, one.forward), std::max(slowest.both, one.both)};
    fastest = {std::min(fastest.forward, one.forward), std::min(fastest.both, one.both)};
  }
  report("window", "forward", slowest.forward / fastest.forward, "x");
  report("window", "forward+backward", slowest.both / fastest.both, "x");
}

}  // namespace sheaf::bench
