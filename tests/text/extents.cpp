// Extents of indices as programs write them: numbers of narrow types, ranges that start elsewhere, loads that are
// simplified away. By kernels as by the reference.
#include "answers.hpp"

namespace sheaf::test::extents_tests {
namespace {

// What a type doesn't hold is cut off where arrays are made, too.
TEST(extents, numbers_of_narrow_types) {
  const auto six = filled<double>(6, 1);
  const std::string input = "input b: f64[?]\n";
  const auto count = [&](const char* text, const std::string& words) {
    expect((input + text).c_str(), {{"b", six}}, words);
  };
  count("y(k.in(0, cast<bool>(extent(b, 0)))) = 7.0\noutput y", "7 ");
  count("y(k.in(0, cast<i64>(extent(b, 0) > 2) + 1)) = 7.0\noutput y", "7 7 ");
  count("a(k.in(0, cast<u8>(extent(b, 0) * 43))) = b.clamped(k)\ns = sum(k, a(k))\noutput a, s", "1 1 2 ");
  count("y(k.in(0, cast<i8>(extent(b, 0) * 43) + cast<i8>(1))) = 7.0\noutput y", "7 7 7 ");
  count("y(k.in(0, cast<i8>(extent(b, 0)) + cast<i8>(125) + 126)) = 7.0\noutput y", "7 ");
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const char* text = "input b: f64[?]\ny(k.in(0, cast<i8>(extent(b, 0)) + cast<i8>(125))) = 7.0\noutput y";
    EXPECT_NE(worth(text, {{"b", six}}, runs_on).find("expected extents of at least 0, found -125"),
              std::string::npos);
  }
}

TEST(extents, outputs_start_at_0) {
  const auto six = filled<float>(6, 1);
  for (const char* low : {"2", "-1", "extent(b, 0) - 3"}) {
    const std::string a = "input b: f32[?]\na(k.in(" + std::string(low) + ", 6)) = b(k)\n";
    for (const char* rest : {"output a", "l = sum(k, a(k))\noutput grad(l, b), vjp(a, b, a)"})
      EXPECT_NE(worth((a + rest).c_str(), {{"b", six}}, jit::backend::reference)
                    .find("definition a: the range of index k starts elsewhere than at 0"),
                std::string::npos);
  }
}

// x(i) gives i its extent though nothing is left of it.
TEST(extents, loads_that_are_simplified_away) {
  array<std::int64_t, 1> whole(3);
  whole.fill(5);
  const arguments with{{"x", whole}};
  for (const char* body : {"x(o) * 0", "select(true, 0, x(o))", "x(o) - x(o)"})
    expect(("input x: i64[?]\ny(o) = cast<f64>(" + std::string(body) + ") + 1\noutput y").c_str(), with, "1 1 1 ");
  expect("input x: i64[?]\ny = cast<f64>(sum(o, 0 * x(o) + 2))\noutput y", with, "6 ");
  // Each sum has its own, and agrees with what else is written.
  array<double, 1> three(3), five(5);
  three.fill(1);
  five.fill(2);
  const arguments both{{"a", three}, {"b", five}};
  const std::string of_both = "input a: f64[?]\ninput b: f64[?]\n";
  expect((of_both + "y = sum(o, select(true, 1, a(o))) + sum(o, select(true, 1, b(o)))\noutput y").c_str(), both, "8 ");
  expect((of_both + "y(o) = sum(o, b(o)) + select(true, 0, a(o))\noutput y").c_str(), both, "10 10 10 ");
  EXPECT_NE(worth((of_both + "y(o) = 7 * sum(o, a(o))\noutput y").c_str(), both, jit::backend::reference)
                .find("index o has no extent"),
            std::string::npos);
  // Of the definition itself, of no other one.
  EXPECT_NE(worth("input x: i64[?]\na(o) = x(o)\ny(o) = 7.0\noutput a, y", with, jit::backend::reference)
                .find("definition y: index o has no extent: no tensor here is subscripted with o alone; give it a "
                      "domain such as o.in(0, n)"),
            std::string::npos);
}

// A mask that is known leaves nothing of infinities either.
TEST(extents, masks_that_are_known) {
  array<double, 1> b(3);
  b(0) = INFINITY, b(1) = NAN, b(2) = -2;
  const arguments with{{"b", b}};
  expect("input b: f64[?]\ny(o) = false * b(o)\noutput y", with, "0 0 0 ");
  expect("input b: f64[?]\ny(o) = b(o) * (1 > 2)\noutput y", with, "0 0 0 ");
  expect("input b: f64[?]\ny(o) = (1 < 2) * b(o)\noutput y", with, "inf nan -2 ");
}

TEST(extents, names_that_mean_nothing_yet) {
  const auto six = filled<float>(6, 1);
  const auto said = [&](const char* text) { return worth(text, {{"b", six}}, jit::backend::reference); };
  EXPECT_NE(said("input b: f32[?]\ny(o) = relu7(b(o))\noutput y").find("tensor relu7: no function has this name"),
            std::string::npos);
  EXPECT_NE(said("input b: f32[?]\ny(o) = y(o - 1) + b(o)\noutput y").find("tensor y: its own line reads it"),
            std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::extents_tests
