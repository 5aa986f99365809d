// Segments, bags, gathers, scatters and counts: against plain loops, gradients against finite differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr int T = 9, F = 3;
const array<double, 2> rows = noise_array<double>(-2, 2, T, F);
const auto ends = filled(array<std::int64_t, 1>(5), {0, 3, 4, 7, 9});
const auto slices = filled(array<std::int64_t, 2>(4, 2), {0, 3, 1, 8, 2, 3, 5, 9});
const auto groups = filled(array<std::int64_t, 1>(T), {2, 0, 1, 2, 2, 0, 3, 1, 0});

// A fold of the rows that belong to a segment.
template <class Belongs, class Fold>
auto of_rows(Belongs belongs, double start, Fold fold) {
  return [=](auto at) {
    double total = start;
    for (int t = 0; t < T; ++t)
      if (belongs(at[0], t)) total = fold(total, rows(t, at[1]));
    return total;
  };
}
const auto in_ends = [](std::int64_t s, int t) { return ends(s) <= t && t < ends(s + 1); };
const auto in_slices = [](std::int64_t s, int t) { return slices(s, 0) <= t && t < slices(s, 1); };
const auto in_groups = [](std::int64_t s, int t) { return groups(t) == s; };
const auto add = [](double a, double b) { return a + b; };
const auto largest = [](double a, double b) { return std::max(a, b); };
const auto one_more = [](double a, double) { return a + 1; };

TEST(familiar_segments, by_offsets) {
  expect_each(checked(segment_sum(x, offsets(off)), x, rows, off = ends), {4, F}, of_rows(in_ends, 0, add));
  expect_each(checked(segment_max(x, offsets(off)), x, rows, off = ends), {4, F}, of_rows(in_ends, -1e9, largest));
  expect_each(checked(segment_mean(x, offsets(off)), x, rows, off = ends), {4, F},
              [](auto at) { return of_rows(in_ends, 0, add)(at) / of_rows(in_ends, 0, one_more)(at); });
}
TEST(familiar_segments, by_bounds) {
  expect_each(checked(segment_sum(x, bounds(cut)), x, rows, cut = slices), {4, F}, of_rows(in_slices, 0, add));
  expect_each(checked(segment_min(x, bounds(cut)), x, rows, cut = slices), {4, F},
              of_rows(in_slices, 1e9, [](double a, double b) { return std::min(a, b); }));
  expect_each(checked(segment_prod(x, bounds(cut)), x, rows, cut = slices), {4, F},
              of_rows(in_slices, 1, [](double a, double b) { return a * b; }));
}
// Each row's share of its segment; rows of no segment are 0, and so is their gradient.
TEST(familiar_segments, softmax_of_segments) {
  const auto share = [](auto segment) {
    return [=](auto at) {
      const std::int64_t mine = segment(at[0]);
      if (mine < 0) return 0.0;
      double total = 0;
      for (int t = 0; t < T; ++t) total += segment(t) == mine ? std::exp(rows(t, at[1])) : 0;
      return std::exp(rows(at[0], at[1])) / total;
    };
  };
  const auto ragged = filled(array<std::int64_t, 1>(5), {1, 3, 3, 7, 8});
  expect_each(checked(segment_softmax(x, offsets(off)), x, rows, off = ragged), {T, F}, share([&](std::int64_t t) {
                for (int s = 0; s < 4; ++s)
                  if (ragged(s) <= t && t < ragged(s + 1)) return s;
                return -1;
              }));
  const auto some = filled(array<std::int64_t, 1>(T), {2, 0, -1, 2, 2, 0, 3, 1, 4});
  const auto named = [&](std::int64_t t) { return some(t) < 4 ? some(t) : -1; };
  expect_each(checked(segment_softmax<4>(x, ids), x, rows, ids = some), {T, F}, share(named));
  expect_each(checked(segment_softmax(x, ids, cut.extent(dim<0>)), x, rows, ids = some, cut = slices), {T, F},
              share(named));
}
// Its cost grows with the rows, not with rows times segments: what a segment has is computed once.
TEST(familiar_segments, softmax_keeps_what_a_segment_has) {
  const auto said = [](const auto& program, auto... arguments) { return std::string(program.explain(arguments...)); };
  const auto by_offsets = said(compile(segment_softmax(x, offsets(off))), x = rows, off = ends);
  EXPECT_NE(by_offsets.find("it depends on the slice, not on the row: once for each slice"), std::string::npos)
      << by_offsets;
  const auto by_ids = said(compile(segment_softmax<4>(x, ids)), x = rows, ids = groups);
  EXPECT_NE(by_ids.find("a reduction read where data says"), std::string::npos) << by_ids;
}
TEST(familiar_segments, by_ids) {
  expect_each(checked(segment_sum<4>(x, ids), x, rows, ids = groups), {4, F}, of_rows(in_groups, 0, add));
  expect_each(checked(segment_max<4>(x, ids), x, rows, ids = groups), {4, F}, of_rows(in_groups, -1e9, largest));
  expect_each(checked(segment_logsumexp<4>(x, ids), x, rows, ids = groups), {4, F}, [](auto at) {
    return std::log(of_rows(in_groups, 0, [](double a, double b) { return a + std::exp(b); })(at));
  });
  expect_each(checked(segment_mean(x, ids, cut.extent(dim<0>)), x, rows, ids = groups, cut = slices), {4, F},
              [](auto at) { return of_rows(in_groups, 0, add)(at) / of_rows(in_groups, 0, one_more)(at); });
}

constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto weight = tensor<"weight", double, 2>;
constexpr auto share = tensor<"share", double, 1>;
const auto chosen = filled(array<std::int64_t, 2>(3, 4), {1, 5, 5, 0, 0, 0, 0, 0, 8, 2, 0, 3});
const array<double, 2> weights = noise_array<double>(0.5, 2, 3, 4);

TEST(familiar_segments, embedding_bag_of_a_matrix) {
  const auto bag_of = [](auto at, bool padded, double start, auto fold) {
    double n = 0;
    for (int k = 0; k < 4; ++k)
      if (!padded || chosen(at[0], k) != 0) start = fold(start, rows(chosen(at[0], k), at[1])), ++n;
    return std::pair(start, n);
  };
  constexpr bag totals{.mode = bag_mode::sum}, skips{.mode = bag_mode::mean, .padding = 0},
      top{.mode = bag_mode::max, .padding = 0};
  expect_each(checked(embedding_bag(picks, x), x, rows, picks = chosen), {3, F},
              [=](auto at) { return bag_of(at, false, 0, add).first / 4; });
  expect_each(checked(embedding_bag<totals>(picks, x), x, rows, picks = chosen), {3, F},
              [=](auto at) { return bag_of(at, false, 0, add).first; });
  expect_each(checked(embedding_bag<skips>(picks, x), x, rows, picks = chosen), {3, F}, [=](auto at) {
    const auto [s, n] = bag_of(at, true, 0, add);
    return n == 0 ? 0 : s / n;  // a bag of padding is 0
  });
  expect_each(checked(embedding_bag<top>(picks, x), x, rows, picks = chosen), {3, F}, [=](auto at) {
    const auto [s, n] = bag_of(at, true, -1e9, largest);
    return n == 0 ? 0 : s;
  });
  const auto weighted = [](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += rows(chosen(at[0], k), at[1]) * weights(at[0], k);
    return s;
  };
  expect_each(checked(embedding_bag<totals>(picks, x, weight), x, rows, picks = chosen, weight = weights), {3, F},
              weighted);
  expect_each(checked(embedding_bag<totals>(picks, x, weight), weight, weights, picks = chosen, x = rows), {3, F},
              weighted);
}
TEST(familiar_segments, embedding_bag_of_a_list) {
  const auto list_of = filled(array<std::int64_t, 1>(6), {4, 1, 1, 0, 7, 2});
  const auto bags = filled(array<std::int64_t, 1>(4), {0, 2, 2, 6});
  const array<double, 1> shares = noise_array<double>(0.5, 2, 6);
  const auto bag_of = [&](auto at, auto factor) {
    double s = 0;
    for (std::int64_t k = bags(at[0]); k < bags(at[0] + 1); ++k) s += rows(list_of(k), at[1]) * factor(k);
    return s;
  };
  expect_each(checked(embedding_bag(ids, x, offsets(off)), x, rows, ids = list_of, off = bags), {3, F}, [&](auto at) {
    return bag_of(at, [](auto) { return 1.0; }) /
           static_cast<double>(std::max<std::int64_t>(1, bags(at[0] + 1) - bags(at[0])));
  });
  constexpr bag totals{.mode = bag_mode::sum, .padding = 1};
  expect_each(
      checked(embedding_bag<totals>(ids, x, offsets(off), share), share, shares, ids = list_of, off = bags, x = rows),
      {3, F}, [&](auto at) { return bag_of(at, [&](auto k) { return list_of(k) == 1 ? 0.0 : shares(k); }); });
}

TEST(familiar_segments, gathers) {
  constexpr auto index = tensor<"index", std::int64_t, 2>;
  const auto places = filled(array<std::int64_t, 2>(2, F), {4, 0, 8, 4, 4, 1});
  expect_each(checked(take_along_axis(x, index, dim<0>), x, rows, index = places), {2, F},
              [&](auto at) { return rows(places(at[0], at[1]), at[1]); });
  expect_each(checked(index_select(x, ids, dim<0>), x, rows, ids = groups), {T, F},
              [](auto at) { return rows(groups(at[0]), at[1]); });
}
TEST(familiar_segments, scatters) {
  constexpr auto index = tensor<"index", std::int64_t, 2>;
  constexpr auto source = tensor<"source", double, 2>;
  const auto places = filled(array<std::int64_t, 2>(2, F), {4, 0, 8, 4, 4, 1});
  const array<double, 2> added = noise_array<double>(-1, 1, 2, F);
  const auto expected = [&](auto at) {
    double s = rows(at[0], at[1]);
    for (int k = 0; k < 2; ++k)
      if (places(k, at[1]) == at[0]) s += added(k, at[1]);
    return s;
  };
  expect_each(checked(scatter_add(x, index, source, dim<0>), source, added, x = rows, index = places), {T, F},
              expected);
  const array<double, 2> whole_rows = noise_array<double>(-1, 1, T, F);
  expect_each(checked(index_add(x, ids, source, dim<0>), source, whole_rows, x = rows, ids = groups), {T, F},
              [&](auto at) {
                double s = rows(at[0], at[1]);
                for (int k = 0; k < T; ++k)
                  if (groups(k) == at[0]) s += whole_rows(k, at[1]);
                return s;
              });
}
TEST(familiar_segments, counts) {
  const array<double, 1> shares = noise_array<double>(0.5, 2, T);
  const auto n = both(bincount<5>(ids))(ids = groups);
  expect_each(n, {5}, [](auto at) { return std::count(groups.begin(), groups.end(), at[0]); });
  expect_each(checked(bincount<5>(ids, share), share, shares, ids = groups), {5}, [&](auto at) {
    double s = 0;
    for (int t = 0; t < T; ++t)
      if (groups(t) == at[0]) s += shares(t);
    return s;
  });
  const auto h = both(histogram<4>(x, -1_c, 1_c))(x = rows);
  expect_each(h, {4}, [](auto at) {
    return std::count_if(rows.begin(), rows.end(), [&](double v) {
      return v >= -1 && v <= 1 && static_cast<std::int64_t>((v + 1) / 2 * 4) == at[0];
    });
  });
  const auto hot = both(one_hot<4>(ids))(ids = groups);
  expect_each(hot, {T, 4}, [](auto at) { return groups(at[0]) == at[1]; });
}

}  // namespace
