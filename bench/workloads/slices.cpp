// W3: means of slices that lie side by side. W4: of many slices that overlap. overlap: W4 with slices 64 times as long.
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto dpooled = vjp(pooled, x);

constexpr std::int64_t T = 262144, F = 128;

struct slices {
  array<float, 2> x = noise(0, 1, T, F), dx = touched(T, F), y, dy;
  array<std::int64_t, 2> cut;
  explicit slices(std::int64_t count) : y(touched(count, F)), dy(noise(-1, 1, count, F)), cut(count, std::int64_t{2}) {}

  // Lengths of half to one and a half of `about`, one slice after the other.
  void side_by_side(std::int64_t about) {
    std::int64_t at = 0;
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      cut(k, 0) = std::min(at, T - 1);
      at += length(k, about);
      cut(k, 1) = at = std::min(at, T);
    }
  }
  // Anywhere, in no order.
  void anywhere(std::int64_t about) {
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      const std::int64_t size = length(k, about);
      const auto from = bits_at(static_cast<std::uint64_t>(y.extent(0) + k)) % static_cast<std::uint64_t>(T - size + 1);
      cut(k, 0) = static_cast<std::int64_t>(from);
      cut(k, 1) = cut(k, 0) + size;
    }
  }
  static std::int64_t length(std::int64_t k, std::int64_t about) {
    return about / 2 +
           static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(about));
  }

  // Rows of x that a slice has, each once.
  traffic forward() const {
    std::vector<int> covers(T + 1, 0);
    for (std::int64_t k = 0; k < y.extent(0); ++k)
      ++covers[static_cast<std::size_t>(cut(k, 0))], --covers[static_cast<std::size_t>(cut(k, 1))];
    double rows = 0;
    for (std::int64_t r = 0, open = 0; r < T; ++r) rows += (open += covers[static_cast<std::size_t>(r)]) > 0 ? 1 : 0;
    return traffic{rows * F * 4, 0} + reads(cut) + writes(y);
  }
  traffic both() const { return forward() + reads(dy) + writes(dx); }

  // By running sums in f64: 1e-12 is far below what is measured.
  double error() const {
    std::vector<double> before(static_cast<std::size_t>((T + 1) * F), 0);
    in_parts(F, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = 0; r < T; ++r)
        for (std::int64_t v = first; v < last; ++v)
          before[static_cast<std::size_t>((r + 1) * F + v)] =
              before[static_cast<std::size_t>(r * F + v)] + static_cast<double>(x(r, v));
    });
    return error_of(y, F, [&](std::int64_t k, double* want) {
      const auto size = static_cast<double>(cut(k, 1) - cut(k, 0));
      for (std::int64_t v = 0; v < F; ++v)
        want[v] = (before[static_cast<std::size_t>(cut(k, 1) * F + v)] -
                   before[static_cast<std::size_t>(cut(k, 0) * F + v)]) /
                  size;
    });
  }
  double gradient_error() const {
    std::vector<double> change(static_cast<std::size_t>((T + 1) * F), 0);
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      const auto size = static_cast<double>(cut(k, 1) - cut(k, 0));
      for (std::int64_t v = 0; v < F; ++v) {
        change[static_cast<std::size_t>(cut(k, 0) * F + v)] += static_cast<double>(dy(k, v)) / size;
        change[static_cast<std::size_t>(cut(k, 1) * F + v)] -= static_cast<double>(dy(k, v)) / size;
      }
    }
    for (std::int64_t r = 1; r < T; ++r)
      for (std::int64_t v = 0; v < F; ++v)
        change[static_cast<std::size_t>(r * F + v)] += change[static_cast<std::size_t>((r - 1) * F + v)];
    return error_of(dx, F, [&](std::int64_t r, double* want) { std::copy_n(change.data() + r * F, F, want); });
  }
};

double measure_forward(session& s, const char* id, slices& d) {
  const auto program = compile(pooled);
  return s
      .row(
          id, "forward", d.forward(), [&] { program(x = d.x, cut = d.cut, pooled = d.y); }, [&] { return d.error(); })
      .kernel;
}
double measure_both(session& s, const char* id, slices& d) {
  const auto program = compile(pooled, dpooled);
  return s
      .row(
          id, "forward+backward", d.both(),
          [&] { program(x = d.x, cut = d.cut, cotangent(pooled) = d.dy, pooled = d.y, dpooled = d.dx); },
          [&] { return std::max(d.error(), d.gradient_error()); })
      .kernel;
}

}  // namespace

void slice_means(session& s) {
  if (s.wants("W3")) {
    slices d(4096);
    d.side_by_side(64);
    measure_forward(s, "W3", d);
    measure_both(s, "W3", d);
  }
  if (!s.wants("W4") && !s.wants("overlap")) return;
  slices d(65536);
  d.anywhere(1024);
  const double forward = measure_forward(s, "W4", d), both = measure_both(s, "W4", d);
  if (!s.wants("overlap")) return;
  if (forward > 500) {  // work that grows with the slices would take minutes
    std::printf("note overlap: not measured, W4 itself takes %.0f ms\n", forward);
    return;
  }
  d.anywhere(65536);
  report("overlap", "forward", measure_forward(s, "overlap:ms", d) / forward, "x");
  report("overlap", "forward+backward", measure_both(s, "overlap:ms", d) / both, "x");
}

}  // namespace sheaf::bench
