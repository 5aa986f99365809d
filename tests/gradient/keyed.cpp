// Gradients of folds by key: what they need of a key's other elements is folded once for each key. Asked for at each
// element's own key, it would be folded anew for each of them, elements times elements.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <sheaf/text.hpp>

namespace sheaf::test {
namespace {

std::string program_of(const std::string& fold, const std::string& element) {
  return "input x: f64[?]\ninput key: i64[?]\ny(m.in(0, 4)) = " + fold + "(t.where(key(t) == m), " + element +
         ")\nloss = sum(m, y(m) * y(m))\noutput loss, grad(loss, x)";
}

struct keyed : ::testing::TestWithParam<const char*> {};

TEST_P(keyed, is_folded_once_for_each_key) {
  const text_program p(program_of(GetParam(), "x(t) * x(t)"));
  const std::string text = p.text();
  EXPECT_NE(text.find("by_key(m) ="), std::string::npos) << text;
  EXPECT_EQ(text.find("== key(t))"), std::string::npos) << text;
}

TEST_P(keyed, is_the_derivative) {
  const text_program p(program_of(GetParam(), "x(t) * x(t)"));
  array<std::int64_t, 1> key(9);
  array<double, 1> x(9);
  for (int k = 0; k < 9; ++k) key(k) = (k * 5) % 4, x(k) = 0.3 + 0.17 * ((k * 7) % 9);
  const auto loss = [&] { return p({{"x", x}, {"key", key}})[0].as<double, 0>()(); };
  const auto results = p({{"x", x}, {"key", key}});
  const auto dx = results[1].as<double, 1>();
  for (int k = 0; k < 9; ++k) {
    const double was = x(k), step = 1e-5;
    x(k) = was + step;
    const double above = loss();
    x(k) = was - step;
    const double below = loss();
    x(k) = was;
    EXPECT_NEAR(dx(k), (above - below) / (2 * step), 1e-6) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(folds, keyed, ::testing::Values("mean", "max", "min", "logsumexp", "mean<empty::zero>",
                                                         "max<empty::zero>", "logsumexp<empty::zero>"));

// Keys of each row: what the row's other elements of a key come to is folded once for each row and key.
TEST(keyed_adjoints, of_keys_in_rows_are_folded_by_row_and_key) {
  const text_program p(
      "input x: f64[?, ?]\ninput key: i64[?, ?]\n"
      "y(i, m.in(0, 4)) = max(t.where(key(i, t) == m), x(i, t)) + logsumexp(t.where(key(i, t) == m), x(i, t))\n"
      "loss = sum(over(i, m.in(0, 4).where(any(t, key(i, t) == m))), y(i, m) * y(i, m))\noutput loss, grad(loss, x)");
  const std::string text = p.text();
  EXPECT_NE(text.find("by_key(i, m) ="), std::string::npos) << text;
  array<std::int64_t, 2> key(3, 8);
  array<double, 2> x(3, 8);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 8; ++k) key(i, k) = (k * 5 + i) % (2 + i), x(i, k) = 0.3 + 0.17 * ((k * 7 + i) % 9);
  const auto loss = [&] { return p({{"x", x}, {"key", key}})[0].as<double, 0>()(); };
  const auto results = p({{"x", x}, {"key", key}});
  const auto dx = results[1].as<double, 2>();
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 8; ++k) {
      const double was = x(i, k), step = 1e-5;
      x(i, k) = was + step;
      const double above = loss();
      x(i, k) = was - step;
      const double below = loss();
      x(i, k) = was;
      EXPECT_NEAR(dx(i, k), (above - below) / (2 * step), 1e-6) << i << " " << k;
    }
}

// What an empty fold has for a value does not hide that each element has one key.
TEST(keyed_adjoints, of_gathered_elements_walk_no_keys) {
  const text_program p(
      "input x: f64[?, ?]\ninput from: i64[?]\ninput to: i64[?]\n"
      "y(m.in(0, 4), f) = max<empty::zero>(e.where(to(e) == m), x(from(e), f))\n"
      "loss = sum(over(m, f), y(m, f) * y(m, f))\noutput loss, grad(loss, x)");
  EXPECT_EQ(p.text().find("over(e, m"), std::string::npos) << p.text();
  array<std::int64_t, 1> from(6), to(6);
  array<double, 2> x(3, 2);
  for (int k = 0; k < 6; ++k) from(k) = k % 3, to(k) = k * k % 3, x(k / 2, k % 2) = k + 1;
  const auto results = p({{"x", x}, {"from", from}, {"to", to}});
  const auto dx = results[1].as<double, 2>();
  const double expected[3][2] = {{2, 4}, {0, 0}, {10, 12}};
  for (int i = 0; i < 3; ++i)
    for (int f = 0; f < 2; ++f) EXPECT_EQ(dx(i, f), expected[i][f]) << i << " " << f;
}

// What a place reads where it may fail stays where the program reads it.
TEST(keyed_adjoints, do_not_read_more) {
  const text_program p(
      "input x: f64[?]\ninput key: i64[?]\ninput at: i64[?]\n"
      "y(m.in(0, 4)) = select(at(m) < 0, 0, max(t.where(key(t) == m), x(t) * x(at(m))))\n"
      "loss = sum(m, y(m) * y(m))\noutput loss, grad(loss, x)");
  array<std::int64_t, 1> key(4), at(4);
  array<double, 1> x(4);
  for (int k = 0; k < 4; ++k) key(k) = k % 2, at(k) = k == 3 ? -1 : k, x(k) = 1.5 + k;
  EXPECT_NO_THROW(p({{"x", x}, {"key", key}, {"at", at}}));
}

}  // namespace
}  // namespace sheaf::test
