// W7: pooling of images. W13: the mean of a sliding window, and the same for windows of 3 to 65536 (row window).
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr std::int64_t in = 224, out = 112;

struct images {
  array<float, 4> x = noise(-1, 1, 8, 64, in, in), dx = touched(8, 64, in, in), y = touched(8, 64, out, out),
                  dy = noise(-1, 1, 8, 64, out, out);

  // visit(tap) for the elements of a plane that the window at (r, c) has.
  template <class Visit>
  static void taps(std::int64_t r, std::int64_t c, Visit visit) {
    for (std::int64_t u = std::max<std::int64_t>(0, 2 * r - 1); u < std::min(in, 2 * r + 2); ++u)
      for (std::int64_t v = std::max<std::int64_t>(0, 2 * c - 1); v < std::min(in, 2 * c + 2); ++v) visit(u * in + v);
  }
  // What a window is worth: its maximum, or the mean of its 9 places, those outside being 0.
  static double worth(const float* plane, std::int64_t r, std::int64_t c, bool maximum) {
    double total = 0, best = -infinity;
    taps(r, c, [&](std::int64_t at) {
      total += static_cast<double>(plane[at]) / 9;
      best = std::max(best, static_cast<double>(plane[at]));
    });
    return maximum ? best : total;
  }
  double error(bool maximum) const {
    return error_of(y, out * out, [&](std::int64_t p, double* want) {
      for (std::int64_t r = 0; r < out; ++r)
        for (std::int64_t c = 0; c < out; ++c) want[r * out + c] = worth(x.data() + p * in * in, r, c, maximum);
    });
  }
  double gradient_error(bool maximum) const {
    return error_of(dx, in * in, [&](std::int64_t p, double* want) {
      const float* plane = x.data() + p * in * in;
      std::fill(want, want + in * in, 0.0);
      for (std::int64_t r = 0; r < out; ++r)
        for (std::int64_t c = 0; c < out; ++c) {
          const auto d = static_cast<double>(dy.data()[(p * out + r) * out + c]);
          const double best = worth(plane, r, c, true);
          double times = 0;  // equal ones share
          taps(r, c, [&](std::int64_t at) { times += static_cast<double>(plane[at]) == best ? 1 : 0; });
          taps(r, c, [&](std::int64_t at) {
            if (!maximum)
              want[at] += d / 9;
            else if (static_cast<double>(plane[at]) == best)
              want[at] += d / times;
          });
        }
    });
  }
};

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
constexpr std::int64_t length = std::int64_t{1} << 24;

struct signal {
  array<float, 1> x = noise(0, 1, length), dx = touched(length), y, dy;
  std::vector<double> before = std::vector<double>(length + 1, 0);

  explicit signal(std::int64_t width) { set(width); }
  void set(std::int64_t width) {
    y = touched(length - width + 1);
    dy = noise(-1, 1, length - width + 1);
  }
  template <class Value>
  void run_up(std::int64_t count, Value value) {
    for (std::int64_t k = 0; k < count; ++k) before[at(k + 1)] = before[at(k)] + value(k);
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
  double error(std::int64_t width) {
    run_up(length, [&](std::int64_t k) { return static_cast<double>(x(k)); });
    return error_of(y, 1, [&](std::int64_t k, double* want) {
      *want = (before[at(k + width)] - before[at(k)]) / static_cast<double>(width);
    });
  }
  double gradient_error(std::int64_t width) {
    run_up(dy.size(), [&](std::int64_t k) { return static_cast<double>(dy(k)); });
    return error_of(dx, 1, [&](std::int64_t k, double* want) {
      *want = (before[at(std::min(k + 1, dy.size()))] - before[at(std::max<std::int64_t>(0, k - width + 1))]) /
              static_cast<double>(width);
    });
  }
};

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
