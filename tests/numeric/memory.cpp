// The memory of arguments: what no pointer leads to, and elements that share a place, are errors before anything is
// written.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = define<"y">(i, j) = x(i, j) + 100_c;

struct memory : testing::Test {
  std::vector<float> data = std::vector<float>(400, 1.0f);
  const array<float, 2> rows = array<float, 2>(6, 8);
  decltype(compile(y)) program = compile(y);

  // Of an output of 6 x 8 that begins at an element and has these strides.
  std::string into(std::int64_t first, std::int64_t down, std::int64_t across) {
    return sentence_of([&] { program(x = rows, y = view_of(data.data() + first, {6, 8}, {down, across})); });
  }
  // Of an input of 6 x 8 at an element, with an output at another.
  std::string beside(std::int64_t in, std::int64_t in_down, std::int64_t in_across, std::int64_t out, std::int64_t down,
                     std::int64_t across) {
    return sentence_of([&] {
      program(x = view_of<const float>(data.data() + in, {6, 8}, {in_down, in_across}),
              y = view_of(data.data() + out, {6, 8}, {down, across}));
    });
  }
};

TEST_F(memory, null_pointers_of_elements) {
  for (const auto& run : {compile(y)}) {
    EXPECT_EQ(sentence_of([&] {
                run(x = view_of<const float>(nullptr, {6, 8}));
              }),
              "bad_argument: argument x: expected memory for its elements, found a null pointer");
    EXPECT_EQ(sentence_of([&] {
                run(x = rows, y = view_of<float>(nullptr, {6, 8}));
              }),
              "bad_argument: output y: expected memory for its elements, found a null pointer");
    EXPECT_EQ(sentence_of([&] {
                run(x = view_of<const float>(nullptr, {0, 8}), y = view_of<float>(nullptr, {0, 8}));
              }),
              "");
  }
  constexpr auto s = tensor<"s", float, 0>;
  EXPECT_EQ(sentence_of([&] { reference(define<"z">() = s() + 1_c)(s = view<const float, 0>()); }),
            "bad_argument: argument s: expected memory for its elements, found a null pointer");
}

TEST_F(memory, outputs_whose_elements_share_a_place) {
  const std::string start = "bad_argument: output y: expected a place for each element, found ";
  EXPECT_EQ(into(0, 8, 0), start + "stride 0 in dimension 1");
  EXPECT_EQ(into(0, 0, 1), start + "stride 0 in dimension 0");
  EXPECT_EQ(into(0, 3, 3), start + "strides of equal size in dimensions 0 and 1");
  EXPECT_EQ(into(50, 3, -3), start + "strides of equal size in dimensions 0 and 1");
  EXPECT_EQ(into(0, 7, 1), start + "elements that share one");
  EXPECT_EQ(into(0, 1, 5), start + "elements that share one");
  EXPECT_EQ(into(50, -7, 1), start + "elements that share one");
  EXPECT_EQ(into(0, 10, 4), start + "elements that share one");  // 2 down are 5 across
  EXPECT_EQ(into(0, 8, 1), "");
  EXPECT_EQ(into(0, 1, 6), "");
  EXPECT_EQ(into(50, -8, 1), "");
  EXPECT_EQ(into(60, 8, -1), "");
  EXPECT_EQ(into(0, 16, 2), "");
  EXPECT_EQ(into(0, 8, 7), "");  // meets only at 7 down and 8 across
}

// What elements are is asked, not where arrays begin and end.
TEST_F(memory, outputs_that_share_an_element_with_another) {
  const std::string shared = "bad_argument: output y: expected memory of its own, found memory of x";
  EXPECT_EQ(beside(0, 8, 1, 0, 8, 1), "");  // an update, see updates.cpp
  EXPECT_EQ(beside(0, 8, 1, 0, 9, 1), shared);
  EXPECT_EQ(beside(0, 8, 1, 47, 8, 1), shared);
  EXPECT_EQ(beside(0, 8, 1, 48, 8, 1), "");
  EXPECT_EQ(beside(0, 16, 1, 8, 16, 1), "");      // blocks of one matrix, side by side
  EXPECT_EQ(beside(0, 16, 1, 7, 16, 1), shared);  // a column in common
  EXPECT_EQ(beside(0, 32, 2, 1, 32, 2), "");      // every second
  EXPECT_EQ(beside(0, 32, 2, 2, 32, 2), shared);
  EXPECT_EQ(beside(0, 32, 4, 1, 48, 6), "");
  EXPECT_EQ(beside(0, 1, 6, 0, 8, 1), shared);     // transposed
  EXPECT_EQ(beside(100, 0, 0, 60, 8, 1), shared);  // all elements of the input are one
  EXPECT_EQ(beside(59, 0, 0, 60, 8, 1), "");
}

// Sizes that no i64 holds are errors before anything is computed of them.
TEST_F(memory, sizes_past_2_to_the_63) {
  constexpr std::int64_t half = std::int64_t{1} << 31;
  constexpr auto u = tensor<"u", float, 1>;
  constexpr auto w = tensor<"w", float, 1>;
  EXPECT_EQ(sentence_of([&] { program.prepare(x = like(half, half)); }),
            "bad_argument: argument x: expected fewer than 2^63 bytes, found more");
  EXPECT_EQ(sentence_of([&] { program(x = view_of<const float>(data.data(), {half, half}, {0, 0})); }),
            "bad_argument: argument x: expected fewer than 2^63 bytes, found more");
  EXPECT_EQ(sentence_of([&] { program(x = view_of<const float>(data.data(), {2, 8}, {std::int64_t{1} << 62, 1})); }),
            "bad_argument: argument x: expected fewer than 2^63 bytes, found more");
  EXPECT_EQ(sentence_of([&] {
              program(x = rows, y = view_of(data.data(), {6, 8}, {std::int64_t{1} << 60, 1}));
            }),
            "bad_argument: output y: expected fewer than 2^63 bytes, found more");
  EXPECT_EQ(sentence_of([&] { program.prepare(x = like(half, 0)); }), "");
  const auto outer = compile(define<"z">(i, j) = u(i) * w(j));
  EXPECT_EQ(sentence_of([&] { outer.prepare(u = like(half), w = like(half)); }),
            "bad_argument: output z: expected fewer than 2^63 bytes, found more");
  EXPECT_EQ(sentence_of([&] { outer.prepare(u = like(half), w = like(0)); }), "");
  EXPECT_EQ(sentence_of([&] { outer.prepare(u = like(half), w = like(half / 16)); }), "");
}

}  // namespace
