// W3: means of slices that lie side by side. W4: of many slices that overlap. overlap: W4 with slices 64 times as long.
// kept: W4 where the slices are promised to stay, so that only the first call sorts them.
#include "slices.hpp"
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

void measure_kept(session& s, slices& d) {
  const auto program = compile(pooled, dpooled);
  const auto fixed = program.keep(cut = d.cut);
  s.row(
      "kept", "W4:forward+backward", d.both(),
      [&] { program(x = d.x, fixed, cotangent(pooled) = d.dy, pooled = d.y, dpooled = d.dx); },
      [&] { return std::max(d.error(), d.gradient_error()); });
}

}  // namespace

void slice_means(session& s) {
  if (s.wants("W3")) {
    slices d(4096);
    d.side_by_side(64);
    measure_forward(s, "W3", d);
    measure_both(s, "W3", d);
  }
  if (!s.wants("W4") && !s.wants("overlap") && !s.wants("kept")) return;
  slices d(65536);
  d.anywhere(1024);
  if (s.wants("kept")) measure_kept(s, d);
  if (!s.wants("W4") && !s.wants("overlap")) return;
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
