// W3, W4: means of slices. W10: bags of embeddings. W11: segments; and 64M elements in segments of one length or of
// all.
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto m = axis<"m">;

void measure_slices(gpu_session& s, const char* id, std::int64_t count, std::int64_t about, bool anywhere) {
  constexpr std::int64_t T = 262144 * 16, F = 128;  // 2 GB
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
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
  s.both_rows(id, "", pooled, x, results{y, dy, dx}, bytes_of_all(values, cuts), x = values, cut = cuts);
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
  const auto x = s.random(-4, 4, elements);
  if (s.wants("W11")) {
    const auto ends = to_device(offsets_of(elements, power_law), s.s);
    const std::int64_t count = ends.extent(0) - 1;
    auto y = s.empty(elements), dx = s.empty(elements), means = s.empty(count);
    const auto dy = s.random(-1, 1, elements), dmeans = s.random(-1, 1, count);
    const double bytes = bytes_of_all(x, ends);
    s.both_rows("W11", "mean", segment_mean(values, offsets(off)), values, results{means, dmeans, dx}, bytes,
                values = x, off = ends);
    s.both_rows("W11", "softmax", segment_softmax(values, offsets(off)), values, results{y, dy, dx}, bytes, values = x,
                off = ends);
  }
  if (!s.wants("segmented")) return;
  constexpr auto total = segment_sum(values, offsets(off));
  const auto program = compile(total, on(gpu));
  for (const std::int64_t length : {1, 4, 16, 64, 256, 0}) {
    const auto ends = to_device(
        length == 0 ? offsets_of(elements, power_law) : offsets_of(elements, [=](std::int64_t) { return length; }),
        s.s);
    auto sums = s.empty(ends.extent(0) - 1);
    s.row("segmented", length == 0 ? "power_law" : std::to_string(length), bytes_of_all(x, ends, sums),
          [&] { program(values = x, off = ends, total = sums, on(s.s)); });
  }
}

void measure_bags(gpu_session& s) {
  constexpr std::int64_t words = 1000000, features = 128, count = 16384 * 16;
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto table = tensor<"table", float, 2>;
  constexpr auto weight = tensor<"weight", float, 1>;
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
  const results into{y, dy, drows};
  const double bytes = distinct * features * 4 + bytes_of_all(named, ends_there);
  const auto by_table = table = rows;
  const auto by_ids = ids = named;
  const auto by_ends = off = ends_there;
  constexpr auto plain = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off));
  s.both_rows("W10", "sum", plain, table, into, bytes, by_table, by_ids, by_ends);
  s.both_rows("W10", "mean", embedding_bag(ids, table, offsets(off)), table, into, bytes, by_table, by_ids, by_ends);
  constexpr auto largest = embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off));
  s.both_rows("W10", "max", largest, table, into, bytes, by_table, by_ids, by_ends);

  constexpr auto weighted = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off), weight);
  constexpr auto dtable = vjp(weighted, table);
  constexpr auto dweight = vjp(weighted, weight);
  const auto shares = s.random(0, 1, picks.size());
  auto dshares = s.empty(picks.size());
  const auto forward = compile(weighted, on(gpu));
  s.row("W10", "weighted:forward", bytes + bytes_of_all(shares, y),
        [&] { forward(by_table, by_ids, by_ends, weight = shares, weighted = y, on(s.s)); });
  const auto both = compile(weighted, dtable, dweight, on(gpu));
  s.row("W10", "weighted:forward+backward", bytes + bytes_of_all(shares, y, dy, drows, dshares), [&] {
    both(by_table, by_ids, by_ends, weight = shares, cotangent(weighted) = dy, weighted = y, dtable = drows,
         dweight = dshares, on(s.s));
  });
}

}  // namespace

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
