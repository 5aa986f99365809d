// W1, W2: means of gathered and of masked rows. W3, W4: of slices. W10: bags of embeddings. W11: segments; and 64M elements in
// segments of one length or of all.
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto m = axis<"m">;

void measure_gathers(gpu_session& s) {
  constexpr std::int64_t B = 512, T = 2048, F = 256, K = 64;  // 1 GB
  constexpr auto data = tensor<"data", float, 3>;
  constexpr auto picks = tensor<"picks", std::int64_t, 2>;
  constexpr auto keep = tensor<"keep", bool, 2>;
  constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, picks(b, k), f));
  constexpr auto given = define<"given">(b, f) = mean(t.where(keep(b, t)), data(b, t, f));
  const auto x = s.random(0, 1, B, T, F);
  const auto dy = s.random(-1, 1, B, F);
  auto dx = s.empty(B, T, F);
  auto y = s.empty(B, F);
  array<std::int64_t, 2> ids(B, K);
  array<bool, 2> mask(B, T);
  double distinct = 0;
  for (std::int64_t r = 0; r < B; ++r)
    for (std::int64_t c = 0; c < K; ++c) {
      ids(r, c) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r * K + c)) % T);
      distinct += mask(r, ids(r, c)) ? 0 : 1;
      mask(r, ids(r, c)) = true;
    }
  const auto named = to_device(ids, s.s);
  const auto kept = to_device(mask, s.s);
  s.s.synchronise();
  const double picked = distinct * F * 4;
  const auto rows_of = [&](const char* id, auto out, double names, auto... by) {
    const auto forward = compile(out, on(gpu));
    s.row(id, "forward", picked + names + bytes_of_all(y), [&] { forward(data = x, by..., out = y, on(s.s)); });
    const auto gradient = vjp(out, data);
    const auto both = compile(out, gradient, on(gpu));
    s.row(id, "forward+backward", picked + names + bytes_of_all(y, dy, dx),
          [&] { both(data = x, by..., cotangent(out) = dy, out = y, gradient = dx, on(s.s)); });
  };
  if (s.wants("W1")) rows_of("W1", gathered, bytes_of_all(named), picks = named);
  if (s.wants("W2")) rows_of("W2", given, bytes_of_all(kept), keep = kept);
}

void measure_slices(gpu_session& s, const char* id, std::int64_t count, std::int64_t about, bool anywhere) {
  constexpr std::int64_t T = 262144 * 16, F = 128;  // 2 GB
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  constexpr auto dpooled = vjp(pooled, x);
  array<std::int64_t, 2> bounds(count, 2);
  for (std::int64_t n = 0, at = 0; n < count; ++n) {
    const std::int64_t size = about / 2 + static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(n)) %
                                                                    static_cast<std::uint64_t>(about));
    if (anywhere)
      at = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(count + n)) %
                                     static_cast<std::uint64_t>(T - size));
    bounds(n, 0) = std::min(at, T - 1);
    bounds(n, 1) = at = std::min(at + size, T);
  }
  const auto values = s.random(0, 1, T, F), dy = s.random(-1, 1, count, F);
  const auto cuts = to_device(bounds, s.s);
  s.s.synchronise();
  auto y = s.empty(count, F), dx = s.empty(T, F);
  const auto forward = compile(pooled, on(gpu));
  s.row(id, "forward", bytes_of_all(values, cuts, y), [&] { forward(x = values, cut = cuts, pooled = y, on(s.s)); });
  const auto both = compile(pooled, dpooled, on(gpu));
  s.row(id, "forward+backward", bytes_of_all(values, cuts, y, dy, dx),
        [&] { both(x = values, cut = cuts, cotangent(pooled) = dy, pooled = y, dpooled = dx, on(s.s)); });
}

// Offsets of segments that cover `elements`; length(n) of the n-th.
template <class Length>
array<std::int64_t, 1> offsets_of(std::int64_t elements, Length length) {
  std::vector<std::int64_t> at = {0};
  for (std::int64_t n = 0; at.back() < elements; ++n) at.push_back(std::min(elements, at.back() + length(n)));
  array<std::int64_t, 1> made(at.size());
  std::copy(at.begin(), at.end(), made.data());
  return made;
}
std::int64_t power_law(std::int64_t n) {
  return static_cast<std::int64_t>(std::min(1e5, 1 / (1e-5 + uniform_at(static_cast<std::uint64_t>(n)))));
}

constexpr auto values = tensor<"values", float, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;

void measure_segments(gpu_session& s) {
  constexpr std::int64_t elements = std::int64_t{1} << 26;
  const auto x = s.random(-4, 4, elements), dy = s.random(-1, 1, elements);
  auto y = s.empty(elements), dx = s.empty(elements);
  if (s.wants("W11")) {
    const auto ends = to_device(offsets_of(elements, power_law), s.s);
    const std::int64_t count = ends.extent(0) - 1;
    auto means = s.empty(count);
    const auto dmeans = s.random(-1, 1, count);
    constexpr auto average = segment_mean(values, offsets(off));
    constexpr auto daverage = vjp(average, values);
    const auto forward = compile(average, on(gpu));
    s.row("W11", "mean:forward", bytes_of_all(x, ends, means),
          [&] { forward(values = x, off = ends, average = means, on(s.s)); });
    const auto both = compile(average, daverage, on(gpu));
    s.row("W11", "mean:forward+backward", bytes_of_all(x, ends, means, dmeans, dx),
          [&] { both(values = x, off = ends, cotangent(average) = dmeans, average = means, daverage = dx, on(s.s)); });
    constexpr auto soft = segment_softmax(values, offsets(off));
    constexpr auto dsoft = vjp(soft, values);
    const auto soft_forward = compile(soft, on(gpu));
    s.row("W11", "softmax:forward", bytes_of_all(x, ends, y),
          [&] { soft_forward(values = x, off = ends, soft = y, on(s.s)); });
    const auto soft_both = compile(soft, dsoft, on(gpu));
    s.row("W11", "softmax:forward+backward", bytes_of_all(x, ends, y, dy, dx),
          [&] { soft_both(values = x, off = ends, cotangent(soft) = dy, soft = y, dsoft = dx, on(s.s)); });
  }
  if (!s.wants("segmented")) return;
  constexpr auto total = segment_sum(values, offsets(off));
  const auto program = compile(total, on(gpu));
  for (const std::int64_t length : {1, 4, 16, 64, 256, 0}) {
    const auto ends = to_device(
        length == 0 ? offsets_of(elements, power_law) : offsets_of(elements, [=](std::int64_t) { return length; }),
        s.s);
    auto sums = s.empty(ends.extent(0) - 1);
    const std::string what = length == 0 ? "power_law" : std::to_string(length);
    s.row("segmented", what.c_str(), bytes_of_all(x, ends, sums),
          [&] { program(values = x, off = ends, total = sums, on(s.s)); });
  }
}

void measure_bags(gpu_session& s) {
  constexpr std::int64_t words = 1000000, features = 128, count = 16384 * 16;
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto table = tensor<"table", float, 2>;
  array<std::int64_t, 1> ends(count + 1);
  for (std::int64_t n = 0; n < count; ++n)
    ends(n + 1) = ends(n) + 1 + static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(n)) % 100);
  array<std::int64_t, 1> picks(ends(count));
  std::vector<bool> seen(words, false);
  double distinct = 0;
  for (std::int64_t n = 0; n < picks.size(); ++n) {
    // Ranks of a share of about 1 / rank; frequent words lie anywhere in the table.
    const double rank = std::pow(static_cast<double>(words), uniform_at(static_cast<std::uint64_t>(n) + 1000000)) - 1;
    picks(n) = static_cast<std::int64_t>(rank) * 611953 % words;
    distinct += seen[static_cast<std::size_t>(picks(n))] ? 0 : 1;
    seen[static_cast<std::size_t>(picks(n))] = true;
  }
  const auto rows = s.random(-1, 1, words, features), dy = s.random(-1, 1, count, features);
  const auto named = to_device(picks, s.s), ends_there = to_device(ends, s.s);
  s.s.synchronise();
  auto y = s.empty(count, features), drows = s.empty(words, features);
  const double read = distinct * features * 4;
  constexpr auto summed = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off));
  constexpr auto dsummed = vjp(summed, table);
  const auto forward = compile(summed, on(gpu));
  s.row("W10", "sum:forward", read + bytes_of_all(named, ends_there, y),
        [&] { forward(table = rows, ids = named, off = ends_there, summed = y, on(s.s)); });
  const auto both = compile(summed, dsummed, on(gpu));
  s.row("W10", "sum:forward+backward", read + bytes_of_all(named, ends_there, y, dy, drows), [&] {
    both(table = rows, ids = named, off = ends_there, cotangent(summed) = dy, summed = y, dsummed = drows, on(s.s));
  });
}

}  // namespace

void gathers(gpu_session& s) {
  if (s.wants("W1") || s.wants("W2")) measure_gathers(s);
}
void slice_means(gpu_session& s) {
  if (s.wants("W3")) measure_slices(s, "W3", 65536, 64, false);
  if (s.wants("W4")) measure_slices(s, "W4", 1048576, 1024, true);
}
void bags(gpu_session& s) {
  if (s.wants("W10")) measure_bags(s);
}
void segments(gpu_session& s) {
  if (s.wants("W11") || s.wants("segmented")) measure_segments(s);
}

}  // namespace sheaf::bench
