// Slices that follow each other, folded by tiles of rows: of every length about the ends of tiles, empty ones, one of
// everything.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::tiles_tests {
namespace {

constexpr auto z = tensor<"z", float, 1>;
constexpr auto d = tensor<"d", double, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto h = tensor<"h", float16, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;

values offsets_of(const std::vector<std::int64_t>& lengths, std::int64_t first = 0) {
  std::vector<double> list = {static_cast<double>(first)};
  for (const std::int64_t length : lengths) list.push_back(list.back() + static_cast<double>(length));
  return integers({static_cast<std::int64_t>(list.size())}, list);
}
std::int64_t rows_of(const std::vector<std::int64_t>& lengths) {
  std::int64_t all = 0;
  for (const std::int64_t length : lengths) all += length;
  return all;
}

// Lengths about those of a lane's run, an iteration of lanes, and a tile of 32 (where plans are for little data) and of
// 1024 rows.
const std::vector<std::vector<std::int64_t>> cases = {
    {0, 1, 31, 32, 33, 0, 0, 64, 65, 63, 1, 1, 1, 0},
    {20000},
    {0, 0, 20000, 0, 0},
    {1023, 1025, 1024, 1024, 2048, 1, 2047, 0, 1, 8000, 300},
    {1024, 1024, 0, 1024, 15000},
    {5, 17000, 3},
    {0},
    {0, 0, 0},
    {1},
};

template <class Y>
void check(const char* what, Y y, const std::vector<std::int64_t>& lengths) {
  const std::int64_t rows = rows_of(lengths), before = lengths.size() % 3;  // rows of no slice at both ends
  const std::int64_t all = rows + before + 2;
  std::vector<double> whole, small;  // sums of the small ones are exact in f32
  for (std::int64_t k = 0; k < all; ++k) {
    whole.push_back(static_cast<double>(k * 7919 % 1000 - 500));
    small.push_back(static_cast<double>(k * 7919 % 9 - 4));
  }
  check_backends(value_of(what, y), {{"z", floats(1, {all}, 0.5, 1.5)},
                                     {"d", floats(2, {all}, -1, 1)},
                                     {"h", {element::f16, {all}, small}},
                                     {"n", {element::i32, {all}, whole}},
                                     {"off", offsets_of(lengths, before)}});
}

TEST(tiles, sums) {
  for (const auto& lengths : cases) check("sum", segment_sum(z, offsets(off)), lengths);
}
TEST(tiles, sums_of_f64) {
  for (const auto& lengths : cases) check("sum", segment_sum(d, offsets(off)), lengths);
}
TEST(tiles, means) {
  for (const auto& lengths : {cases[3], cases[5]}) check("mean", segment_mean(z, offsets(off)), lengths);
}
TEST(tiles, extremes) {
  for (const auto& lengths : cases) check("max", segment_max(d, offsets(off)), lengths);
  check("min", segment_min(n, offsets(off)), cases[3]);
}
TEST(tiles, integers) {
  for (const auto& lengths : cases) check("sum", segment_sum(n, offsets(off)), lengths);
}
TEST(tiles, logsumexp) {
  for (const auto& lengths : {cases[0], cases[3], cases[5]}) check("lse", segment_logsumexp(d, offsets(off)), lengths);
}

TEST(tiles, halves) {
  for (const auto& lengths : {cases[0], cases[3], cases[5]}) {
    check("sum", segment_sum(h, offsets(off)), lengths);
    check("max", segment_max(h, offsets(off)), lengths);
  }
}

// Rows of several columns: a slice is walked by rows, and columns are lanes.
TEST(tiles, columns) {
  constexpr auto pooled = segment_mean(x, offsets(off));
  constexpr auto largest = segment_max(x, offsets(off));
  for (const std::int64_t columns : {3, 8, 33})
    for (const auto& lengths : {cases[0], std::vector<std::int64_t>{0, 3, 4, 5, 0, 1, 12, 700, 0, 2, 0}}) {
      const table data = {{"x", floats(3, {rows_of(lengths) + 1, columns}, -1, 1)}, {"off", offsets_of(lengths, 1)}};
      check_backends(value_of("mean", pooled), data);
      check_backends(value_of("max", largest), data);
      check_backends(first_order("both", pooled, x), data);
    }
}
TEST(tiles, bags) {
  std::vector<std::int64_t> lengths = {3, 0, 1, 500, 2, 0, 7, 64, 5};
  std::vector<double> names;
  for (std::int64_t k = 0; k < rows_of(lengths); ++k) names.push_back(static_cast<double>(k * 7919 % 50));
  const table data = {
      {"x", floats(3, {50, 20}, -1, 1)}, {"ids", integers({rows_of(lengths)}, names)}, {"off", offsets_of(lengths)}};
  check_backends(first_order("mean", embedding_bag(ids, x, offsets(off)), x), data);
  constexpr auto largest = embedding_bag<bag{.mode = bag_mode::max}>(ids, x, offsets(off));
  check_backends(first_order("max", largest, x), data);
}
TEST(tiles, softmax) {
  for (const auto& lengths : {cases[0], cases[3]}) {
    const table data = {{"d", floats(3, {rows_of(lengths) + 2}, -1, 1)}, {"off", offsets_of(lengths, 1)}};
    check_backends(first_order("softmax", segment_softmax(d, offsets(off)), d), data);
  }
}

// Rows that no slice has, before and after; no slice at all; one that fills several tiles, of ours and of tests.
TEST(tiles, rows_of_slices) {
  const std::vector<std::vector<std::int64_t>> all = {{}, {0, 0}, {700}, {0, 3, 0, 900, 1, 0, 31, 33, 2, 0}};
  for (const auto& lengths : all) {
    const table data = {{"d", floats(3, {rows_of(lengths) + 40}, -1, 1)}, {"off", offsets_of(lengths, 9)}};
    check_backends(first_order("mean", segment_mean(d, offsets(off)), d), data);
    check_backends(first_order("softmax", segment_softmax(d, offsets(off)), d), data);
    check_backends(first_order("logsumexp", segment_logsumexp(d, offsets(off)), d), data);
  }
}

// Power-law lengths, as where one slice has as many rows as thousands of others.
TEST(tiles, mixtures) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t k = 1; rows_of(lengths) < 40000; ++k) lengths.push_back(4000 / ((k * 7919) % 1000 + 1));
  check("sum", segment_sum(z, offsets(off)), lengths);
  check("max", segment_max(z, offsets(off)), lengths);
}

std::string plan_of(const std::vector<std::int32_t>& words, std::int64_t rows, const options& how = {}) {
  graph g = unpack(words.data());
  plan::call_facts call;
  call.gpu = true;
  call.overrides = how;
  for (int i = 0; i < g.inputs.size(); ++i)
    call.inputs.push_back(
        {is_floating(g.inputs[i].type) ? plan::amounts({rows}) : plan::amounts({1000, 2}), true});
  return plan_program(std::move(g), call, "program").text;
}

TEST(tiles, are_for_slices_that_follow_each_other) {
  const auto by_offsets = words_of(segment_sum(z, offsets(off)));
  EXPECT_NE(plan_of(by_offsets, 1 << 20).find("rows in tiles of 1024"), std::string::npos);
  EXPECT_EQ(plan_of(by_offsets, 1 << 10).find("in tiles"), std::string::npos);
  const std::string gradient = plan_of(words_of(vjp(segment_mean(z, offsets(off)), z)), 1 << 20);
  EXPECT_NE(gradient.find("each of the slice that begins last before it"), std::string::npos);
  EXPECT_EQ(gradient.find("sorted by"), std::string::npos);
  EXPECT_EQ(plan_of(by_offsets, 1 << 20, {.determinism = determinism::strict}).find("in tiles"), std::string::npos);
  // Behind the condition that finds a row's slice its maximum is not proven to read inside.
  const std::string softmax = plan_of(words_of(segment_softmax(z, offsets(off))), 1 << 20);
  std::size_t folds = 0;
  for (std::size_t at = softmax.find("_fold"); at != std::string::npos; at = softmax.find("_fold", at + 1)) ++folds;
  EXPECT_EQ(folds, 2u) << "the maximum, and the sum about it\n" << softmax;
  // Rows are stored where they are folded, but for those of slices that several tiles share.
  EXPECT_EQ(softmax.find("softmax_z_rows"), std::string::npos) << softmax;
  EXPECT_NE(softmax.find("softmax_z_rest"), std::string::npos) << softmax;
  const std::string apart = plan_of(words_of(segment_softmax(z, offsets(off))), 1 << 20, {.fusion = fusion::off});
  EXPECT_NE(apart.find("softmax_z_rows"), std::string::npos) << apart;
  const std::size_t first = softmax.find("firsts_find");
  EXPECT_NE(first, std::string::npos) << softmax;
  EXPECT_EQ(softmax.find("_find", first + 11), std::string::npos) << "all tiles begin in the same slices\n" << softmax;
  // These may lie anywhere.
  EXPECT_NE(plan_of(words_of(segment_sum(z, bounds(cut))), 1 << 20).find("slices may overlap"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::tiles_tests
