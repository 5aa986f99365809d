// W1: the mean of gathered rows. W2: the same as a mean under a mask that is given, under one made of the indices in the
// expression, and as a one-hot contraction.
#include <set>

#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto data = tensor<"data", float, 3>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;

constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, picks(b, k), f));
constexpr auto given = define<"given">(b, f) = mean(t.where(keep(b, t)), data(b, t, f));
constexpr auto masked = define<"masked">(b, f) = mean(t.where(any(k, picks(b, k) == t)), data(b, t, f));
constexpr auto hot = cast<float>(any(k, picks(b, k) == t));
constexpr auto contracted = define<"contracted">(b, f) =
    sum(t, hot* data(b, t, f)) / sum(t.in(0_c, data.extent(dim<1>)), hot);

constexpr std::int64_t B = 32, T = 2048, F = 256, K = 64;

struct rows {
  array<float, 3> x = noise(0, 1, B, T, F), dx = touched(B, T, F);
  array<float, 2> y = touched(B, F), dy = noise(-1, 1, B, F);
  array<std::int64_t, 2> ids{B, K};
  array<bool, 2> mask{B, T};
  std::vector<double> times = std::vector<double>(B * T, 0), once = times;  // each row of x stands in its mean
  double distinct = 0;

  rows() {
    mask.fill(false);
    for (std::int64_t r = 0; r < B; ++r)
      for (std::int64_t c = 0; c < K; ++c) {
        const auto id = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r * K + c)) % T);
        ids(r, c) = id;
        times[static_cast<std::size_t>(r * T + id)] += 1;
        distinct += mask(r, id) ? 0 : 1;
        mask(r, id) = true;
        once[static_cast<std::size_t>(r * T + id)] = 1;
      }
    for (std::int64_t r = 0; r < B; ++r) {
      double of_times = 0, of_once = 0;
      for (std::int64_t c = r * T; c < (r + 1) * T; ++c)
        of_times += times[static_cast<std::size_t>(c)], of_once += once[static_cast<std::size_t>(c)];
      for (std::int64_t c = r * T; c < (r + 1) * T; ++c)
        times[static_cast<std::size_t>(c)] /= of_times, once[static_cast<std::size_t>(c)] /= of_once;
    }
  }
  // Rows of x that are named, each once, whatever the form; and what names them.
  template <class Names>
  traffic forward(const Names& names) const {
    return traffic{distinct * F * 4, 0} + reads(names) + writes(y);
  }
  double error(const std::vector<double>& share) const {
    return error_of(y, F, [&](std::int64_t r, double* want) {
      std::fill(want, want + F, 0.0);
      for (std::int64_t c = 0; c < T; ++c)
        if (const double w = share[static_cast<std::size_t>(r * T + c)]; w != 0)
          for (std::int64_t v = 0; v < F; ++v) want[v] += w * static_cast<double>(x(r, c, v));
    });
  }
  double gradient_error(const std::vector<double>& share) const {
    return error_of(dx, F, [&](std::int64_t row, double* want) {
      for (std::int64_t v = 0; v < F; ++v)
        want[v] = share[static_cast<std::size_t>(row)] * static_cast<double>(dy(row / T, v));
    });
  }
};

// name: what the row is called before its colon; empty for the only form.
template <class Y, class... Named>
void measure(session& s, const char* id, const std::string& name, Y y, rows& m, const std::vector<double>& share,
             const traffic& bytes, const Named&... names) {
  const auto forward = compile(y);
  s.row(
      id, (name + "forward").c_str(), bytes, [&] { forward(data = m.x, y = m.y, names...); },
      [&] { return m.error(share); });
  const auto dx = vjp(y, data);
  const auto both = compile(y, dx);
  s.row(
      id, (name + "forward+backward").c_str(), bytes + reads(m.dy) + writes(m.dx),
      [&] { both(data = m.x, cotangent(y) = m.dy, y = m.y, dx = m.dx, names...); },
      [&] { return std::max(m.error(share), m.gradient_error(share)); });
}

}  // namespace

void gather_means(session& s) {
  if (!s.wants("W1") && !s.wants("W2")) return;
  rows m;
  const auto by_ids = picks = m.ids;
  const auto by_mask = keep = m.mask;
  if (s.wants("W1")) measure(s, "W1", "", gathered, m, m.times, m.forward(m.ids), by_ids);
  if (!s.wants("W2")) return;
  measure(s, "W2", "given:", given, m, m.once, m.forward(m.mask), by_mask);
  measure(s, "W2", "mask:", masked, m, m.once, m.forward(m.ids), by_ids);
  measure(s, "W2", "onehot:", contracted, m, m.once, m.forward(m.ids), by_ids);
}

}  // namespace sheaf::bench
