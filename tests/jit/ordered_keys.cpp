// Folds of terms that a comparison leaves: rules `ordered keys`, `runs`, `data prefix` and `one-sided ranges`, of keys
// that ascend and of others; and what checks read by keys.
#include "plan_harness.hpp"

namespace sheaf::test::ordered_keys_tests {
namespace {

constexpr auto f = axis<"f">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto key = tensor<"key", std::int64_t, 1>;
constexpr auto at = tensor<"at", std::int64_t, 1>;
constexpr auto real = tensor<"real", float, 1>;
constexpr auto place = tensor<"place", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", double, 2>;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

using list = std::vector<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// Ascending, with equal ones, and others. What has as many keys has one kernel.
const std::vector<list> keys{{},
                             {3},
                             {1, 1, 2, 5, 5, 5, 9},
                             {7, 7, 7, 7, 7, 7, 7},
                             {5, 2, 8, 1, 1, 9, 0},
                             {-4, -4, 0,  1,  2,  3,  4,  5,  6,  7,  7,  8,  9,  10, 11, 12, 12, 13, 20,
                              21, 22, 23, 24, 25, 26, 27, 30, 30, 30, 31, 40, 41, 42, 43, 43, 44, 50}};
const list places{-9, 0, 1, 2, 4, 5, 5, 7, 8, 12, 27, 30, 43, 50, 51, 3, 100, 1, 6};

template <class... Outputs>
void expect_right(const char* rule, const char* keys_of, const char* places_of, Outputs...) {
  for (const list& each : keys) {
    SCOPED_TRACE(std::to_string(each.size()) + " keys");
    const auto count = static_cast<std::int64_t>(each.size());
    trial test(detail::build_graph<Outputs...>());
    test.force_for_tests = true;
    test.with(keys_of, {count}, each).with(places_of, {static_cast<std::int64_t>(places.size())}, places);
    for (int input = 0; input < test.g.inputs.size(); ++input) {
      const text_range text = test.g.names[test.g.inputs[input].name];
      const std::string name(test.g.text.data() + text.first, static_cast<std::size_t>(text.size));
      if (name == "v") test.random("v", {count});
      if (name == "x") test.random("x", {count, 3});
    }
    test.expect_right();
    if (count > 0) {
      EXPECT_TRUE(has(test.plan_text(), rule)) << test.plan_text();
    }
  }
}

TEST(ordered_keys, counts) {
  constexpr auto up_to = define<"up_to">(k) = count(i, key(i) <= at(k));
  constexpr auto below = define<"below">(k) = count(i, key(i) < at(k));
  constexpr auto above = define<"above">(k) = count(i, key(i) > at(k) - 2_c);
  constexpr auto equal = define<"equal">(k) = any(i, key(i) == at(k));
  expect_right("ordered keys", "key", "at", up_to, below, above, equal);
}

TEST(ordered_keys, folds) {
  constexpr auto sums = define<"sums">(k) = sum(i.where(key(i) <= at(k)), v(i));
  constexpr auto least = define<"least">(k) = min(i.where(key(i) > at(k)), v(i));
  constexpr auto last = define<"last">(k) = max<empty::value<-1>>(i.where(key(i) <= at(k)), i);
  constexpr auto rows = define<"rows">(k, f) = sum(i.where(key(i) < at(k)), x(i, f));
  expect_right("ordered keys", "key", "at", sums, least, last, rows);
}

TEST(ordered_keys, ranges) {
  constexpr auto near = define<"near">(k) = sum(i.where(at(k) - 5_c <= key(i) && key(i) <= at(k)), v(i));
  constexpr auto means = define<"means">(k) = mean(i.where(key(i) == at(k)), v(i));
  constexpr auto odd = define<"odd">(k) = sum(i.where(key(i) <= at(k) && i % 2_c == 1_c), v(i));
  constexpr auto loss = define<"loss">() = sum(k, sum(i.where(key(i) <= at(k)), v(i)) * cast<float>(at(k)));
  expect_right("ordered keys", "key", "at", near, means, odd, grad(loss, v));
}

TEST(ordered_keys, real_numbers) {
  constexpr auto share = define<"share">(k) = mean(i, cast<float>(real(i) <= place(k)));
  constexpr auto chosen = define<"chosen">(k) = sum(i, where(place(k) < real(i), v(i), 0_c));
  expect_right("ordered keys", "real", "place", share, chosen);
}

TEST(ordered_keys, not_a_number) {
  constexpr auto below = define<"below">(k) = count(i, real(i) < place(k));
  constexpr auto above = define<"above">(k) = sum(i.where(real(i) >= place(k)), v(i));
  constexpr auto equal = define<"equal">(k) = min(i.where(real(i) == place(k)), v(i));
  for (const list& each : {list{1, 2, nan, 3, 4, 9}, list{1, 2, 3, 3, 4, 9}, list{nan, nan, nan, nan, nan, nan}}) {
    trial test(detail::build_graph<std::remove_cv_t<decltype(below)>, std::remove_cv_t<decltype(above)>,
                                   std::remove_cv_t<decltype(equal)>>());
    test.force_for_tests = true;
    test.with("real", {6}, each).with("place", {4}, {nan, 2, 3.5, 10}).random("v", {6}).expect_right();
  }
}

TEST(ordered_keys, in_groups) {
  constexpr auto n = extent(key, dim<0>);
  constexpr auto running = define<"running">(i.in(0_c, n)) = sum(j.in(0_c, i + 1_c).where(key(j) == key(i)), v(j));
  constexpr auto most = define<"most">(i.in(0_c, n)) = max(j.in(0_c, i + 1_c).where(key(j) == key(i)), v(j));
  constexpr auto earlier = define<"earlier">(i.in(0_c, n)) = count(j.in(0_c, i), key(j) == key(i));
  expect_right("ordered keys", "key", "at", running, most, earlier, define<"unused">(k) = at(k));
}

constexpr auto begin = tensor<"begin", std::int64_t, 1>;

TEST(ordered_keys, runs) {
  constexpr auto running = define<"running">(i.in(0_c, extent(v, dim<0>))) = sum(j.in(begin(i), i + 1_c), v(j));
  constexpr auto most = define<"most">(i.in(0_c, extent(v, dim<0>))) = max(j.in(begin(i), i + 1_c), v(j));
  constexpr auto least = define<"least">(i.in(0_c, extent(v, dim<0>)), f) = min(j.in(begin(i), i + 1_c), x(j, f));
  const list nested{0, 0, 0, 3, 4, 4, 4, 4, 8}, crossing{0, 1, 1, 0, 4, 2, 6, 7, 8}, empty{0, 0, 0, 3, 4, 5, 9, 7, 8};
  for (const list& begins : {nested, crossing, empty}) {
    trial test(detail::build_graph<std::remove_cv_t<decltype(running)>, std::remove_cv_t<decltype(most)>,
                                   std::remove_cv_t<decltype(least)>>());
    test.force_for_tests = true;
    test.with("begin", {9}, begins).random("v", {9}).random("x", {9, 3}).expect_right();
    EXPECT_TRUE(has(test.plan_text(), "rules: runs")) << test.plan_text();
  }
}

// Of one begin and the same terms folds of other kinds are other results.
template <class T>
void expect_apart(const list& begins) {
  constexpr auto terms = tensor<"terms", T, 1>;
  constexpr auto rows = extent(terms, dim<0>);
  constexpr auto least = define<"least">(i.in(0_c, rows)) = min(j.in(begin(i), i + 1_c), terms(j));
  constexpr auto most = define<"most">(i.in(0_c, rows)) = max(j.in(begin(i), i + 1_c), terms(j));
  constexpr auto total = define<"total">(i.in(0_c, rows)) = sum(j.in(begin(i), i + 1_c), terms(j));
  constexpr auto span = define<"span">(i.in(0_c, rows)) =
      max(j.in(begin(i), i + 1_c), terms(j)) - min(j.in(begin(i), i + 1_c), terms(j));
  trial test(detail::build_graph<std::remove_cv_t<decltype(least)>, std::remove_cv_t<decltype(most)>,
                                 std::remove_cv_t<decltype(total)>, std::remove_cv_t<decltype(span)>>());
  test.force_for_tests = true;
  test.with("begin", {9}, begins).with("terms", {9}, {1, 2, 3, 4, 5, 6, 2, 9, 7}).expect_right();
  EXPECT_TRUE(has(test.plan_text(), "rules: runs")) << test.plan_text();
}
TEST(ordered_keys, runs_of_one_begin) {
  for (const list& begins : {list{0, 0, 0, 3, 4, 4, 4, 4, 8}, list{0, 1, 1, 0, 4, 2, 6, 7, 8}})
    expect_apart<float>(begins), expect_apart<double>(begins), expect_apart<std::int64_t>(begins);
}

TEST(ordered_keys, prefixes_of_data) {
  constexpr auto first = define<"first">(k) = sum(i.in(0_c, at(k)), v(i));
  constexpr auto last = define<"last">(k) = max(i.in(at(k), extent(v, dim<0>)), v(i));
  constexpr auto loss = define<"loss">() = sum(k, first(k) * first(k));
  trial test(detail::build_graph<std::remove_cv_t<decltype(first)>, std::remove_cv_t<decltype(last)>,
                                 std::remove_cv_t<decltype(grad(loss, v))>>());
  test.force_for_tests = true;
  test.with("at", {9}, {0, 3, 11, 5, 5, 1, 10, 9, 2}).random("v", {11}).expect_right();
  EXPECT_TRUE(has(test.plan_text(), "data prefix")) << test.plan_text();
  EXPECT_TRUE(has(test.plan_text(), "one-sided ranges")) << test.plan_text();
}

TEST(ordered_keys, one_sided) {
  constexpr auto range = i.in(0_c, 12_c);
  constexpr auto up = define<"up">(range) = count(k, at(k) <= i);
  constexpr auto down = define<"down">(range) = max(k.where(i < at(k)), v(k));
  constexpr auto beyond = define<"beyond">(range) = sum(k.where(at(k) < i), v(k));
  constexpr auto to = define<"to">(range) = sum(k.where(i <= at(k) && v(k) > 0_c), v(k));
  trial test(detail::build_graph<std::remove_cv_t<decltype(up)>, std::remove_cv_t<decltype(down)>,
                                 std::remove_cv_t<decltype(beyond)>, std::remove_cv_t<decltype(to)>>());
  test.force_for_tests = true;
  test.with("at", {10}, {0, 3, 11, 5, 5, -1, 10, 100, 2, 12}).random("v", {10}).expect_right();
}

// A check that reads what is folded by keys does not fold it for each subscript; a bad one is found.
TEST(ordered_keys, checks_read_by_key) {
  constexpr auto first = define<"first">(k.in(0_c, 4_c)) = min<empty::value<99>>(i.where(key(i) == k), i);
  constexpr auto of_first = define<"of_first">(i) = v(first(key(i)));
  trial test(detail::build_graph<std::remove_cv_t<decltype(of_first)>>());
  test.force_for_tests = true;
  test.with("key", {7}, {3, 1, 1, 0, 3, 0, 1}).random("v", {7}).expect_right();
  EXPECT_TRUE(has(test.plan_text(), "stage asked_first(k)")) << test.plan_text();
}

}  // namespace
}  // namespace sheaf::test::ordered_keys_tests
