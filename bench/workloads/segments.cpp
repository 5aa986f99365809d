// W11: mean and softmax of the segments of a list, 1 to 10,000 elements each.
#include "data.hpp"
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

constexpr std::int64_t elements = std::int64_t{1} << 22;

struct list {
  array<float, 1> x = noise(-4, 4, elements), y = touched(elements), dy = noise(-1, 1, elements),
                  dx = touched(elements);
  array<std::int64_t, 1> off;
  array<float, 1> means, dmeans;
  std::vector<std::int64_t> segment_of = std::vector<std::int64_t>(elements);
  std::vector<double> sums, log_totals, along;

  list() {
    std::vector<std::int64_t> ends = {0};
    while (ends.back() < elements)
      ends.push_back(std::min(elements, ends.back() + 1 + static_cast<std::int64_t>(bits_at(ends.size()) % 10000)));
    off = array<std::int64_t, 1>(static_cast<std::int64_t>(ends.size()));
    std::copy(ends.begin(), ends.end(), off.data());
    const std::int64_t count = off.size() - 1;
    means = touched(count);
    dmeans = noise(-1, 1, count);
    for (std::int64_t k = 0; k < count; ++k) {
      double sum = 0, exps = 0, inner = 0;
      for (std::int64_t n = off(k); n < off(k + 1); ++n) {
        segment_of[at(n)] = k;
        sum += value(n);
        exps += std::exp(value(n));
      }
      for (std::int64_t n = off(k); n < off(k + 1); ++n)
        inner += static_cast<double>(dy(n)) * std::exp(value(n)) / exps;
      sums.push_back(sum);
      log_totals.push_back(std::log(exps));
      along.push_back(inner);
    }
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
  double value(std::int64_t n) const { return static_cast<double>(x(n)); }
  double size(std::int64_t k) const { return static_cast<double>(off(k + 1) - off(k)); }
  double form(std::int64_t n) const { return std::exp(value(n) - log_totals[at(segment_of[at(n)])]); }

  double mean_error() const {
    return error_of(means, 1, [this](std::int64_t k, double* want) { *want = sums[at(k)] / size(k); });
  }
  double mean_gradient_error() const {
    return error_of(dx, 1, [this](std::int64_t n, double* want) {
      const std::int64_t k = segment_of[at(n)];
      *want = static_cast<double>(dmeans(k)) / size(k);
    });
  }
  double soft_error() const {
    return error_of(y, 1, [this](std::int64_t n, double* want) { *want = form(n); });
  }
  double soft_gradient_error() const {
    return error_of(dx, 1, [this](std::int64_t n, double* want) {
      *want = form(n) * (static_cast<double>(dy(n)) - along[at(segment_of[at(n)])]);
    });
  }
};

}  // namespace

void segments(session& s) {
  if (!s.wants("W11")) return;
  list d;
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
