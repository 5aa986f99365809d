// text_program: texts and types that are known at run time only.
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test::text_program_tests {
namespace {

constexpr const char* squares = "loss = sum(over(t, f), x(t, f) * x(t, f))\noutput loss, grad(loss, x)";

std::string said(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(text_program, returns_what_no_argument_takes) {
  const text_program step(squares);
  array<float, 2> x(2, 3);
  x.fill(2);
  const auto results = step({{"x", x}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].name(), "loss");
  EXPECT_EQ((results[0].as<float, 0>()()), 24);
  EXPECT_EQ((results[1].as<float, 2>()(1, 2)), 4);
  EXPECT_EQ(said([&] { results[1].as<double, 2>(); }), "result dloss_dx: expected f32 of rank 2, found f64 of rank 2");
}

TEST(text_program, outputs_are_added_to_what_is_there) {
  const text_program step(squares);
  array<float, 2> x(2, 3), sums(2, 3);
  x.fill(2);
  sums.fill(10);
  for (int k = 0; k < 2; ++k) {
    const auto results = step({{"x", x}, named_argument("dloss_dx", sums).added()});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ((results[0].as<float, 0>()()), 24);
  }
  EXPECT_EQ(sums(1, 2), 18);
  float loss = 1;
  step({named_argument("loss", loss).added(), {"x", x}, named_argument("dloss_dx", sums).added()});
  EXPECT_EQ(loss, 25);
  EXPECT_EQ(sums(0, 0), 22);
  EXPECT_EQ(said([&] { step({named_argument("x", x).added()}); }),
            "call: expected an output of numbers, as those that are added to what is there are, found x, an input");
}

TEST(text_program, types_follow_the_arguments) {
  const text_program step(squares);
  const double wide[2][2] = {{1, 2}, {3, 4}};
  double loss = 0, d[2][2] = {};
  const auto left = step({{"loss", loss}, {"x", wide}, {"dloss_dx", d}});
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(loss, 30);
  EXPECT_EQ(d[1][0], 6);
}

// A loop that is cut into parts is another one than the loop inside it over an index of the same name.
TEST(text_program, a_loop_within_one_over_the_same_index) {
  const char* ties =
      "d(c) = max(over(s, i.in(0, 1)), sum(k.in(0, cut(c, 1)), sum(over(r.in(0, off(i + 1)), "
      "q.in(0, rows(r, 1)).where(rows(s, i) != 0)), x(c))))\n"
      "y(t.in(0, 12)) = d(0)\nloss = sum(i, y(i))\noutput grad(loss, x)";
  const double x[2] = {0, 0};
  const std::int64_t off[2] = {0, 3}, cut[2][2] = {{0, 1}, {0, 0}}, rows[3][2] = {{0, 0}, {0, 0}, {1, 1}};
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const auto results = text_program(ties, {}, runs_on)({{"x", x}, {"off", off}, {"cut", cut}, {"rows", rows}});
    EXPECT_EQ((results[0].as<double, 1>()(0)), 4);
    EXPECT_EQ((results[0].as<double, 1>()(1)), 0);
  }
}

TEST(text_program, says_what_does_not_fit) {
  const text_program step(squares);
  array<float, 2> x(2, 3);
  const array<float, 1> v(3);
  const float constant = 0;
  EXPECT_EQ(said([&] { step(std::vector<named_argument>{}); }),
            "text: line 1, column 24: tensor x: no function has this name, and its element type and rank are not "
            "known; declare it, as in input x: f32[?, ?], or define it above this line");
  EXPECT_EQ(said([&] { step({{"x", x}, {"y", v}}); }), "call: expected the name of an input or an output, found y");
  EXPECT_EQ(said([&] { step({{"x", x}, {"x", x}}); }), "call: expected argument x once, found it twice");
  EXPECT_EQ(said([&] {
              step({{"x", x}, {"loss", constant}});
            }),
            "call: expected a mutable view for output loss, found one of constant elements");
  EXPECT_EQ(said([&] {
              step({{"x", v}});
            }),
            "text: line 1, column 24: subscript: tensor x has rank 1, got 2 subscripts");
  const text_program declared("input x: f32[?]\ny(i) = x(i) * 2");
  EXPECT_EQ(said([&] { declared(std::vector<named_argument>{}); }),
            "call: expected argument x (f32, rank 1), found none");
  EXPECT_EQ(said([&] { declared({{"x", x}}); }), "call: expected argument x (f32, rank 1), found x (f32, rank 2)");
  EXPECT_EQ(said([&] { declared.text(); }), "nothing");
}

// One more than the largest number is no subscript, and neither does a step leave i64.
TEST(text_program, subscripts_that_wrap_are_outside) {
  const array<float, 1> x(4);
  const auto refused = [&](const char* text) {
    const text_program p(text);
    return said([&] { p({{"x", x}}); }).substr(0, 63);
  };
  const std::string words = "tensor x, dimension 0: expected a subscript from 0 to 3, found ";
  EXPECT_EQ(refused("y = x(9223372036854775807)"), words);
  EXPECT_EQ(refused("y = sum(t.in(0, 4, 9223372036854775807), x(t))"), "nothing");
  EXPECT_EQ(refused("y(t.in(0, 4)) = x(t * 4611686018427387903)"), words);
  EXPECT_EQ(refused("y(t.in(0, 4)) = x(t * 4294967296 * 4294967296 + t * 8589934592)"), words);
}

TEST(text_program, more_indices_than_a_program_may_have) {
  const array<float, 1> x(4);
  std::string text = "y = x(0)";
  for (int k = 0; k < 257; ++k) text += " + sum(t" + std::to_string(k) + ", x(t" + std::to_string(k) + "))";
  const text_program p(text);
  EXPECT_EQ(said([&] { p({{"x", x}}); }),
            "text: expected a smaller program, found a program of more than 256 indices");
}

TEST(text_program, extents_below_zero) {
  const float one = 1;
  const std::int64_t extents[1] = {-2}, strides[1] = {1};
  const text_program p("y = sum(t, x(t))");
  EXPECT_EQ(said([&] { p({{"x", view<const float, 1>(&one, extents, strides)}}); }),
            "argument x, dimension 0: expected an extent of at least 0, found -2");
}

}  // namespace
}  // namespace sheaf::test::text_program_tests
