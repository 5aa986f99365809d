// Group-by: reductions by key as privatised tables, several in one walk, by keys of two dimensions, of positions; keys
// that are outside, and rows that no key names.
#include <sheaf/dsl/sugar/sugar.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::group_by_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto f = axis<"f">;
constexpr auto j = axis<"j", 7>;
constexpr auto k = axis<"k", 5>;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = tensor<"y", float, 1>;
constexpr auto rows = tensor<"rows", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto key = tensor<"key", std::int64_t, 1>;
constexpr auto small_key = tensor<"small_key", std::int32_t, 1>;

std::int64_t count_of(const std::string& text, const char* part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
constexpr auto privatised = "privatised tables: one for each";

void give(trial& test, std::int64_t updates) {
  // One key in eight is outside, and some rows have none.
  std::vector<double> keys, values;
  for (std::int64_t n = 0; n < updates; ++n) {
    keys.push_back(static_cast<double>((n * 7919 + n / 5) % 8 == 3 ? -1 : (n * 7919 + n / 5) % 8));
    values.push_back(static_cast<double>((n * 31) % 61) / 8 - 4);
  }
  for (int n = 0; n < test.g.inputs.size(); ++n) {
    const std::string name = plan::text_of(test.g, test.g.inputs[n].name);
    test.with(name.c_str(), {updates}, name.ends_with("key") ? keys : values);
  }
}

template <class... Y>
void expect_right_of_keys(std::int64_t updates, Y... outputs) {
  trial test = trial_of(outputs...);
  give(test, updates);
  test.expect_right();
}

// The code of its kernels.
template <class... Y>
std::string expect_tables(std::int64_t updates, std::int64_t kernels, Y... outputs) {
  trial test = trial_of(outputs...);
  test.force_for_tests = updates < 65536;
  give(test, updates);
  test.expect_right();
  EXPECT_NE(test.plan_text().find(privatised), std::string::npos) << test.plan_text();
  EXPECT_EQ(count_of(test.plan_text(), "kernel table,"), kernels) << test.plan_text();
  return ir::print(test.p->code);
}

TEST(group_by, folds_of_numbers) {
  for (const std::int64_t updates : {90, 200000}) {
    SCOPED_TRACE(updates);
    expect_tables(updates, 1, define<"s">(j) = sum(i.where(key(i) == j), x(i)));
    expect_tables(updates, 1, define<"s">(j) = sum(i.where(small_key(i) == j), x(i)));
    expect_tables(updates, 1, define<"s">(j) = max(i.where(key(i) == j), x(i)));
    expect_tables(updates, 1, define<"s">(j) = min(i.where(key(i) == j && x(i) > 0_c), cast<std::int32_t>(x(i))));
    expect_tables(updates, 1, define<"s">(j) = prod(i.where(key(i) == j), 1_c + x(i) / 4096_c));
    expect_tables(updates, 1, define<"s">(j) = count(i, small_key(i) == j));
    expect_tables(updates, 1, define<"s">(j) = sum(i.where(key(i) == j), cast<bfloat16>(x(i))));
  }
}

TEST(group_by, several_in_one_walk) {
  constexpr auto total = define<"total">(j) = sum(i.where(key(i) == j), x(i));
  constexpr auto average = define<"average">(j) = mean(i.where(key(i) == j), x(i));
  constexpr auto most = define<"most">(j) = max(i.where(key(i) == j), x(i));
  constexpr auto positive = define<"positive">(j) = count(i.where(key(i) == j), x(i) > 0_c);
  expect_tables(90, 1, total, average, most, positive);
  expect_tables(200000, 1, total, average, most, positive);
}

// Ids that ascend, in runs of many lengths: 16 updates of one row are folded at once, whichever way they are walked.
TEST(group_by, runs_of_keys) {
  const auto runs = [](std::int64_t updates, auto... outputs) {
    trial test = trial_of(outputs...);
    std::vector<double> keys, small, values;
    for (std::int64_t n = 0, key = -1, left = 300; n < updates; ++n) {
      if (left-- == 0) {
        ++key;
        left = (key * 37) % 60 + (key % 9 == 0 ? 5000 : 0);
      }
      keys.push_back(static_cast<double>(key));
      small.push_back(static_cast<double>(key % 9));
      values.push_back(static_cast<double>((n * 31) % 61) / 8 - 4);
    }
    for (int n = 0; n < test.g.inputs.size(); ++n) {
      const std::string name = plan::text_of(test.g, test.g.inputs[n].name);
      test.with(name.c_str(), {updates}, name == "key" ? keys : name == "small_key" ? small : values);
    }
    test.expect_right();
    EXPECT_NE(ir::print(test.p->code).find("i_run"), std::string::npos) << test.plan_text();
  };
  for (const std::int64_t updates : {2048, 5003, 200000}) {
    SCOPED_TRACE(updates);
    runs(updates, define<"s">(j) = sum(i.where(key(i) == j), x(i)));
    runs(updates, define<"s">(j) = max(i.where(small_key(i) == j), x(i)), define<"c">(j) = count(i, small_key(i) == j));
    runs(updates, define<"s">(j) = sum(i.where(small_key(i) == j), x(i) * y(i)));
  }
}

// Terms that depend on their row are walked one by one.
TEST(group_by, logsumexp) {
  for (const std::int64_t updates : {5003, 200000})
    expect_right_of_keys(updates, define<"s">(j) = logsumexp(i.where(key(i) == j), x(i)));
}

// What reads the mean of its key is one walk later.
TEST(group_by, variance) {
  constexpr auto average = define<"average">(j) = mean(i.where(key(i) == j), x(i));
  constexpr auto variance = define<"variance">(j) =
      mean(i.where(key(i) == j), (x(i) - average(j)) * (x(i) - average(j)));
  expect_tables(200000, 2, average, variance);
}

TEST(group_by, positions) {
  constexpr auto first = define<"first">(j) = argmax(i.where(key(i) == j), x(i));
  constexpr auto least = define<"least">(j) = argmin(i.where(small_key(i) == j), x(i) * y(i));
  for (const std::int64_t updates : {90, 200000}) {
    expect_tables(updates, 2, first);
    expect_tables(updates, 2, least);
  }
}

TEST(group_by, a_position_of_nan) {
  constexpr auto first = define<"first">(j) = argmax(i.where(key(i) == j), x(i));
  trial test = trial_of(first);
  test.force_for_tests = true;
  const double nan = std::nan("");
  test.with("key", {9}, {0, 1, 0, 1, 2, 3, 3, 0, 9}).with("x", {9}, {1, 2, nan, 4, nan, -INFINITY, -INFINITY, nan, 5});
  test.expect_right();
}

// No loop runs over the columns of a histogram of two dimensions.
TEST(group_by, keys_of_two_dimensions) {
  constexpr auto counts = define<"counts">(j, k) = count(i.where(key(i) == j && small_key(i) == k), x(i) > -9_c);
  constexpr auto sums = define<"sums">(j, k) = sum(i.where(small_key(i) == k && key(i) == j), x(i));
  expect_tables(90, 1, counts, sums);
  const std::string code = expect_tables(200000, 1, counts, sums);
  const std::string walk = code.substr(code.find("serial i"), code.find("kernel", code.find("serial i")));
  EXPECT_EQ(walk.substr(0, walk.find("\nkernel")).find(" k."), std::string::npos) << code;
}

// Neither does a task own columns that data names, however many there are.
TEST(group_by, gradients_of_diagonals) {
  constexpr auto a = tensor<"a", float, 2>;
  constexpr auto diagonal = define<"diagonal">(i) = a.wrapped(2_c * i, i) * x(i);
  for (const std::int64_t columns : {3, 19, 40}) {
    trial test = trial_of(vjp(diagonal, a));
    test.random("a", {19, columns}).random("x", {25}).random("cotangent_diagonal", {25});
    test.expect_right();
  }
}

TEST(group_by, gradients_of_gathers) {
  constexpr auto loss = define<"loss">() = sum(i, w(key(i)) * x(i));
  constexpr auto squared = define<"squared">() = loss() * loss();
  trial test = trial_of(squared, grad(squared, w));
  test.random("w", {100}).random("x", {200000}).below("key", {200000}, 100);
  test.expect_right(1e-4);
  EXPECT_NE(test.plan_text().find(privatised), std::string::npos) << test.plan_text();
}

// Keys that are asked for in lanes, a part of a chunk at a time: of some parts all lie inside, of others some don't.
// Rows beyond L2 are prefetched, those that lie nowhere too.
TEST(group_by, keys_outside) {
  constexpr auto group = axis<"group", 400>;
  constexpr auto sums = define<"sums">(group) = sum(i.where(key(i) == group), x(i));
  std::vector<double> keys(50000);
  for (std::size_t n = 0; n < keys.size(); ++n)
    keys[n] = n % 3001 == 7 ? (n % 2 == 0 ? -5. : 400.) : static_cast<double>(n * 7919 % 400);
  for (const bool far : {false, true}) {
    trial test = trial_of(sums);
    if (far) test.on.second_cache = 1;
    test.random("x", {50000}).with("key", {50000}, keys);
    test.expect_right();
    const std::string text = ir::print(test.p->code);
    EXPECT_EQ(text.find("_part") != std::string::npos, !far) << text;
    EXPECT_EQ(text.find("prefetch table") != std::string::npos, far) << text;
  }
}

TEST(group_by, rows_of_columns) {
  constexpr auto sums = define<"sums">(j, f) = sum(i.where(key(i) == j), rows(i, f));
  trial test = trial_of(sums);
  test.random("rows", {20000, 33}).below("key", {20000}, 9);
  test.expect_right();
  EXPECT_NE(test.plan_text().find(privatised), std::string::npos) << test.plan_text();
}

// The number of tables follows from updates and rows: none where a table is as large as what is added to it.
TEST(group_by, tables_are_no_larger_than_their_updates) {
  constexpr auto back = grad(define<"loss">() = sum(i, w(key(i)) * x(i)), w);
  for (const std::int64_t names : {1000, 100000}) {
    trial test = trial_of(back);
    test.random("w", {names}).random("x", {100000}).below("key", {100000}, names);
    EXPECT_EQ(test.plan_text().find(privatised) != std::string::npos, names == 1000) << test.plan_text();
  }
}

// Each batch has its own places, of two dimensions: an update of a channel has one place, not a row of them.
TEST(group_by, places_of_batches) {
  constexpr auto n = axis<"n">;
  constexpr auto c = axis<"c">;
  constexpr auto u = axis<"u">;
  constexpr auto v = axis<"v">;
  constexpr auto image = tensor<"image", float, 4>;
  constexpr auto to = tensor<"to", std::int64_t, 4>;
  constexpr auto weight = tensor<"weight", float, 4>;
  constexpr auto read = define<"read">(n, c, u, v) = image(n, c, to(n, u, v, 0_c), to(n, u, v, 1_c));
  constexpr auto loss = define<"loss">() = sum(over(n, c, u, v), read(n, c, u, v) * weight(n, c, u, v));
  for (const std::int64_t channels : {1, 5, 20}) {
    trial test(detail::build_graph<decltype(grad(loss, image))>());
    test.random("image", {2, channels, 9, 33}).random("weight", {2, channels, 6, 70}).below("to", {2, 6, 70, 2}, 9);
    test.make();
    EXPECT_EQ(test.plan_text().find(" lanes\n"), std::string::npos) << test.plan_text();
    test.expect_right();
  }
}
// One of the places is of what lies in lanes otherwise, and of another place.
TEST(group_by, places_of_each_other) {
  constexpr auto n = axis<"n">;
  constexpr auto c = axis<"c", 6>;
  constexpr auto d = axis<"d", 6>;
  constexpr auto u = axis<"u">;
  constexpr auto to = tensor<"to", std::int64_t, 2>;
  constexpr auto weight = tensor<"weight", float, 2>;
  constexpr auto by_last = define<"by_last">(k, c, d) =
      sum(over(n, u.where(k == to(n, 0_c) && c == to(n, 1_c) + d * to(n, 0_c))), weight(n, u));
  constexpr auto by_each = define<"by_each">(k, c, d) =
      sum(over(n, u.where(k == to(n, 0_c) && c == to(n, 1_c) + d && d == c - to(n, 1_c))), weight(n, u));
  trial test(detail::build_graph<std::remove_cvref_t<decltype(by_last)>, std::remove_cvref_t<decltype(by_each)>>());
  test.random("weight", {90, 7}).below("to", {90, 2}, 5).expect_right();
}

}  // namespace
}  // namespace sheaf::test::group_by_tests
