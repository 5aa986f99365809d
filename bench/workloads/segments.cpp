// W11: mean and softmax of the segments of a list, 1 to 10,000 elements each.
#include "segments.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;

constexpr auto average = segment_mean(x, offsets(off));
// Each element by the total of the one segment that it is in.
constexpr auto total = segment_logsumexp(x, offsets(off));
constexpr auto here = m.in(0_c, extent(off, dim<0>) - 1_c).where(off(m) <= t && t < off(m + 1_c));
constexpr auto soft = define<"soft">(t) = sum(here, exp(x(t) - total(m)));

}  // namespace

void segments(session& s) {
  if (!s.wants("W11")) return;
  segmented_list d;
  const auto mean_forward = compile(average);
  s.row(
      "W11", "mean:forward", reads(d.x, d.off) + writes(d.means),
      [&] { mean_forward(x = d.x, off = d.off, average = d.means); }, [&] { return d.mean_error(); });
  constexpr auto daverage = vjp(average, x);
  const auto mean_both = compile(average, daverage);
  s.row(
      "W11", "mean:forward+backward", reads(d.x, d.off, d.dmeans) + writes(d.means, d.dx),
      [&] { mean_both(x = d.x, off = d.off, cotangent(average) = d.dmeans, average = d.means, daverage = d.dx); },
      [&] { return std::max(d.mean_error(), d.mean_gradient_error()); });
  const auto soft_forward = compile(soft);
  s.row(
      "W11", "softmax:forward", reads(d.x, d.off) + writes(d.y),
      [&] { soft_forward(x = d.x, off = d.off, soft = d.y); }, [&] { return d.soft_error(); });
  constexpr auto dsoft = vjp(soft, x);
  const auto soft_both = compile(soft, dsoft);
  s.row(
      "W11", "softmax:forward+backward", reads(d.x, d.off, d.dy) + writes(d.y, d.dx),
      [&] { soft_both(x = d.x, off = d.off, cotangent(soft) = d.dy, soft = d.y, dsoft = d.dx); },
      [&] { return std::max(d.soft_error(), d.soft_gradient_error()); });
}

}  // namespace sheaf::bench
