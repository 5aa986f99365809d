// Attention with gradients whose rows walk parts of the places: prefixes, windows, documents, lengths, shared keys.
// What several stages need is stored or folded once, and what no row walks is skipped.
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::pair_ranges_tests {
namespace {

constexpr auto h = axis<"h">;
constexpr auto t = axis<"t">;
constexpr auto s = axis<"s">;
constexpr auto d = axis<"d">;
constexpr auto e = axis<"e">;
constexpr auto q = tensor<"q", float, 3>;
constexpr auto k = tensor<"k", float, 3>;
constexpr auto v = tensor<"v", float, 3>;
constexpr auto g = tensor<"g", float, 3>;
constexpr auto doc = tensor<"doc", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto len = tensor<"len", std::int64_t, 1>;

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

constexpr auto scores = define<"scores">(h, t, s) = sum(d, q(h, t, d) * k(h, s, d)) * 0.25_c;
// The result, and its product with a cotangent, whose gradients are asked for.
constexpr auto attend(auto walked) {
  constexpr auto top = define<"top">(h, t) = logsumexp(decltype(walked){}, scores(h, t, s));
  return define<"y">(h, t, e) = sum(decltype(walked){}, exp(scores(h, t, s) - top(h, t)) * v(h, s, e));
}
template <class Walked>
trial attention(Walked) {
  constexpr auto y = attend(Walked{});
  constexpr auto loss = define<"loss">() = sum(over(h, t, e), y(h, t, e) * g(h, t, e));
  return trial_of(y, grad(loss, q), grad(loss, k), grad(loss, v));
}
void fill(trial& of, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  for (const char* name : {"q", "k", "v", "g"}) of.random(name, {heads, rows, columns});
}

// The gradients of queries and of keys take one factor, stored once, whichever way they walk it.
TEST(pair_ranges, a_factor_of_two_products_is_stored_once) {
  trial of = attention(s);
  fill(of, 2, 128, 64);
  const std::string plan = of.plan_text();
  EXPECT_EQ(count_of(plan, "materialised(h, t, s)"), 2u) << plan;
  EXPECT_EQ(count_of(plan, "materialised(h, s, t)"), 0u) << plan;
  of.expect_right(1e-4);
}

// Scores of a prefix are computed anew, not stored whole, and once for all that a row is folded to.
TEST(pair_ranges, prefixes_are_folded_once) {
  trial of = attention(s.where(s <= t));
  fill(of, 2, 200, 32);
  const std::string plan = of.plan_text();
  EXPECT_EQ(count_of(plan, "(h, t, s) ->"), 0u) << plan;
  EXPECT_EQ(count_of(plan, "parallel over t in chunks of 96"), 2u) << plan;  // of the result, of queries' gradients
  EXPECT_EQ(count_of(plan, "parallel over s in chunks of 96"), 1u) << plan;
  of.expect_right(1e-4);
}

TEST(pair_ranges, windows_are_no_scatters) {
  trial of = attention(s.in(maximum(0_c, t - 40_c), t + 1_c));
  fill(of, 2, 200, 32);
  EXPECT_EQ(of.plan_text().find("range scatter"), std::string::npos) << of.plan_text();
  of.expect_right(1e-4);
}

// Of the gradient of keys a place names the rows that walk it; documents may stand in any order.
TEST(pair_ranges, documents) {
  constexpr auto by_offsets = s.in(off(doc(t)), off(doc(t) + 1_c));
  for (const int order : {0, 1, 2})
    for (const std::int64_t rows : {200, 97}) {
      trial of = attention(by_offsets);
      of.force_for_tests = true;
      fill(of, 2, rows, 10);
      std::vector<double> ids;
      for (std::int64_t n = 0; n < rows; ++n)
        ids.push_back(order == 0 ? n / 30 : order == 1 ? static_cast<double>(n * 7 % 5) : n < 50 ? 3 : n % 2);
      of.with("doc", {rows}, ids).with("off", {9}, {0, 30, 31, 31, 70, 75, 80, 90, 97});
      EXPECT_EQ(count_of(of.plan_text(), "output 2, pair tiles"), 1u) << of.plan_text();
      EXPECT_EQ(of.plan_text().find("range scatter"), std::string::npos) << of.plan_text();
      of.expect_right(1e-4);
    }
}
TEST(pair_ranges, rows_of_the_same_document) {
  for (const int order : {0, 1}) {
    trial of = attention(s.where(doc(s) == doc(t) && s <= t));
    of.force_for_tests = true;
    fill(of, 2, 150, 10);
    std::vector<double> ids;
    for (int n = 0; n < 150; ++n) ids.push_back(order == 0 ? n / 40 : n * 7 % 3);
    of.with("doc", {150}, ids);
    EXPECT_EQ(count_of(of.plan_text(), "output 2, pair tiles"), 1u) << of.plan_text();
    of.expect_right(1e-4);
  }
}
// What a row does not walk is not read into it, be it infinite.
TEST(pair_ranges, documents_do_not_meet) {
  constexpr auto y = define<"y">(h, s, d) = sum(
      t, select(off(doc(t)) <= s && s < off(doc(t) + 1_c), exp(scores(h, t, s)) * q(h, t, d), 0_c));
  trial of = trial_of(y);
  of.force_for_tests = true;
  std::vector<double> values(150 * 8), ids;
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n % 13) / 13;
  values[100 * 8 + 3] = std::numeric_limits<double>::infinity();
  values[20 * 8 + 5] = std::numeric_limits<double>::quiet_NaN();
  for (int n = 0; n < 150; ++n) ids.push_back(n < 60 ? 0 : n % 2 + 1);
  of.with("q", {1, 150, 8}, values).random("k", {1, 150, 8}).with("doc", {150}, ids).with("off", {4}, {0, 60, 90, 150});
  EXPECT_NE(of.plan_text().find("pair tiles"), std::string::npos) << of.plan_text();
  of.expect_right(1e-4);
}

// Rows of a batch that is padded walk as many places as it has.
TEST(pair_ranges, lengths) {
  trial of = attention(s.in(0_c, len(h)));
  of.force_for_tests = true;
  fill(of, 4, 130, 12);
  of.with("len", {4}, {130, 0, 64, 77});
  EXPECT_EQ(of.plan_text().find("(h, t, s) ->"), std::string::npos) << of.plan_text();
  EXPECT_EQ(count_of(of.plan_text(), "output 2, pair tiles"), 1u) << of.plan_text();
  of.expect_right(1e-4);
}

// The gradients of keys that several heads share: a product of each head, then their sum.
TEST(pair_ranges, shared_keys) {
  constexpr auto p = define<"p">(h, t, s) = sum(d, q(h, t, d) * k(h / 3_c, s, d)) * 0.25_c;
  constexpr auto top = define<"top">(h, t) = logsumexp(s, p(h, t, s));
  constexpr auto y = define<"y">(h, t, e) = sum(s, exp(p(h, t, s) - top(h, t)) * v(h / 3_c, s, e));
  constexpr auto loss = define<"loss">() = sum(over(h, t, e), y(h, t, e) * g(h, t, e));
  trial of = trial_of(y, grad(loss, q), grad(loss, k), grad(loss, v));
  of.random("q", {6, 150, 32}).random("g", {6, 150, 32}).random("k", {2, 150, 32}).random("v", {2, 150, 32});
  EXPECT_EQ(count_of(of.plan_text(), "a product of each update"), 2u) << of.plan_text();
  of.expect_right(1e-4);
}

// A maximum that is written out has ties: the scores that it is compared with have its bits, whatever computes them.
TEST(pair_ranges, maxima_of_scores_written_out) {
  constexpr auto a = tensor<"a", float, 2>;
  constexpr auto b = tensor<"b", float, 2>;
  constexpr auto p = define<"p">(t, s) = sum(d, a(t, d) * b(s, d));
  constexpr auto m = define<"m">(t) = max(s.in(0_c, t + 1_c), p(t, s));
  constexpr auto z = define<"z">(t) = sum(s.in(0_c, t + 1_c), exp(p(t, s) - m(t)));
  constexpr auto loss = define<"loss">() = sum(t, z(t));
  for (const std::int64_t rows : {9, 140, 300}) {
    trial of(detail::build_graph<decltype(grad(loss, a))>());
    of.random("a", {rows, 64}).random("b", {rows, 64});
    of.expect_right(1e-3);
  }
}

// Under a mask of rows and places a product is computed without it, if what it hides is finite; both are stored.
TEST(pair_ranges, scores_under_a_mask_of_data) {
  constexpr auto hidden = tensor<"hidden", bool, 2>;
  trial of = attention(s.where(hidden(t, s)));
  of.with("hidden", {70, 70}, std::vector<double>(4900, 1));
  fill(of, 6, 70, 16);
  of.expect_right(1e-4);
}

}  // namespace
}  // namespace sheaf::test::pair_ranges_tests
