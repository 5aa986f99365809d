// Register tiles: several results of a sum of products at a time. Values against the evaluator, the same bits for
// registers of another width and number, and what the plan says of it.
#include "plan_harness.hpp"

namespace sheaf::test::register_tile_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;

bool says(trial& t, const char* words) { return t.plan_text().find(words) != std::string::npos; }

// Rows, columns, terms: tiles that fit, tiles with rows left over, fewer rows than a tile.
constexpr std::int64_t shapes[][3] = {{64, 64, 64}, {61, 50, 33}, {5, 300, 40}, {1, 1000, 20}, {300, 7, 31},
                                      {33, 17, 70}};

TEST(register_tile, product) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  for (const auto& [rows, columns, terms] : shapes) {
    trial t = trial_of(c);
    t.random("x", {rows, terms}).random("y", {terms, columns});
    if (rows == 64) {
      EXPECT_TRUE(says(t, "register tile 6 i")) << t.plan_text();
      EXPECT_NE(ir::print(t.p->code).find("i_tile"), std::string::npos) << ir::print(t.p->code);
    }
    t.expect_right(1e-5);
  }
}

// Blocks of terms, panels of lanes, tasks of rows; parts of each are left over. The same bits as without, which is what
// a processor with other caches has.
TEST(register_tile, cache_tiles) {
  constexpr auto c = define<"c">(i, j) = v(j) + sum(k, x(i, k) * exp(y(k, j)));
  constexpr auto top = define<"top">(i, j) = max(k, x(i, k) - y(k, j));
  for (const std::int64_t terms : {0, 3, 256, 600}) {
    trial sum = trial_of(c), most = trial_of(top);
    for (trial* t : {&sum, &most}) {
      t->random("x", {200, terms}).random("y", {terms, 70});
      t->on.second_cache = 1;
    }
    sum.random("v", {70});
    if (terms > 0) {
      EXPECT_TRUE(says(sum, "cache tile 192 i x 256 k, 1 packed")) << sum.plan_text();
      EXPECT_TRUE(says(most, "cache tile 192 i x 256 k, 1 packed")) << most.plan_text();
    }
    sum.expect_right(1e-5);
    most.expect_right(1e-6);
  }
}

// Rows of both operands: columns of a panel are packed, so that results have lanes. Few rows are folded in lanes.
TEST(register_tile, columns_that_are_far_apart) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(j, k)) + v(j);
  for (const std::int64_t rows : {200, 20}) {
    trial t = trial_of(c);
    t.random("x", {rows, 300}).random("y", {70, 300}).random("v", {70});
    EXPECT_EQ(says(t, "cache tile 192 i x 256 k, 1 packed"), rows == 200) << t.plan_text();
    t.expect_right(1e-5);
  }
}

// The gradients of a product are products whose operands are transposed.
TEST(register_tile, gradients) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  constexpr auto loss = define<"loss">() = sum(over(i, j), c(i, j) * c(i, j));
  for (const auto& [rows, columns, terms] : shapes) {
    trial t = trial_of(c, grad(loss, x), grad(loss, y));
    t.random("x", {rows, terms}).random("y", {terms, columns});
    if (rows == 64) {
      EXPECT_TRUE(says(t, "kernel dloss_dy, parallel over k, register tile")) << t.plan_text();
    }
    t.expect_right(1e-4);
  }
}

// One load of the vector serves several rows.
TEST(register_tile, matrix_by_vector) {
  constexpr auto c = define<"c">(i) = sum(k, x(i, k) * v(k));
  for (const std::int64_t rows : {256, 255, 3}) {
    trial t = trial_of(c);
    t.random("x", {rows, 300}).random("v", {300});
    EXPECT_EQ(says(t, "register tile"), rows > 3) << t.plan_text();
    t.expect_right(1e-5);
  }
}

TEST(register_tile, functions_and_gathered_rows) {
  constexpr auto c = define<"c">(i, j) =
      tanh(sum(k, maximum(x(ids(i), k), 0_c) * y(k, j)) + v(j));
  trial t = trial_of(c);
  t.random("x", {50, 60}).random("y", {60, 70}).random("v", {70}).below("ids", {45}, 50);
  EXPECT_TRUE(says(t, "register tile")) << t.plan_text();
  t.expect_right(1e-5);
}

// Rows whose matrix is chosen by data: those of one matrix follow each other and share it; the last of each, fewer than
// a tile, are by themselves. Few rows a matrix, or short ones, are not worth it.
TEST(register_tile, matrices_that_data_chooses) {
  constexpr auto w = tensor<"w", float, 3>;
  constexpr auto narrow = tensor<"narrow", std::int32_t, 1>;
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * w(ids(i), k, j));
  constexpr auto d = define<"d">(i, j) = max(k, x(i, k) + w(narrow(i) - 1_c, k, j));
  for (const std::int64_t rows : {500, 61, 5}) {
    trial t = trial_of(c);
    t.random("x", {rows, 40}).random("w", {3, 40, 70}).below("ids", {rows}, 3);
    EXPECT_EQ(says(t, "register tile 6 i of equal data"), rows > 24) << t.plan_text();
    EXPECT_EQ(says(t, "rules: row order"), rows > 24) << t.plan_text();
    t.expect_right(1e-5);
  }
  trial two = trial_of(c, d);
  two.random("x", {300, 40}).random("w", {3, 40, 70}).below("ids", {300}, 3);
  two.with("narrow", {300}, std::vector<double>(300, 2));
  EXPECT_TRUE(says(two, "rules: row order")) << two.plan_text();
  two.expect_right(1e-5);
  trial all = trial_of(c);
  all.force_for_tests = true;
  all.random("x", {37, 5}).random("w", {30, 5, 6}).below("ids", {37}, 30);
  EXPECT_TRUE(says(all, "rules: row order")) << all.plan_text();
  all.expect_right(1e-5);
}

// Products of halves: what a register of them takes to convert is shared by the tile.
TEST(register_tile, converted_operands) {
  constexpr auto a = tensor<"a", bfloat16, 2>;
  constexpr auto b = tensor<"b", bfloat16, 2>;
  constexpr auto c = define<"c">(i, j) = sum(k, cast<float>(a(i, k)) * cast<float>(b(k, j)));
  trial t = trial_of(c);
  t.random("a", {61, 40}).random("b", {40, 70});
  EXPECT_TRUE(says(t, "register tile")) << t.plan_text();
  t.expect_right(1e-5);
}

TEST(register_tile, other_types_and_extrema) {
  constexpr auto m = tensor<"m", std::int32_t, 2>;
  constexpr auto z = tensor<"z", double, 2>;
  constexpr auto whole = define<"whole">(i, j) = sum(k, m(i, k) * m(k, j));
  constexpr auto wide = define<"wide">(i, j) = sum(k, z(i, k) * z(k, j));
  constexpr auto least = define<"least">(i, j) = min(k, x(i, k) + y(k, j));
  trial t = trial_of(whole, wide, least);
  t.below("m", {45, 45}, 1000).random("z", {45, 45}).random("x", {45, 45}).random("y", {45, 45});
  EXPECT_TRUE(says(t, "register tile")) << t.plan_text();
  t.expect_right(1e-5);
}

// Weights of a convolution by its gradient: a tile of two loops, whose sums walk images, then rows, then along them,
// though the program names images last.
TEST(register_tile, sums_go_along_memory) {
  constexpr auto images = tensor<"images", float, 4>;
  constexpr auto g = tensor<"g", float, 4>;
  constexpr auto n = axis<"n">;
  constexpr auto u = axis<"u">;
  constexpr auto c = axis<"c">;
  constexpr auto o = axis<"o">;
  constexpr auto by_weight = define<"by_weight">(o, c, u.in(0_c, 3_c)) =
      sum(over(j, i, n), images(n, c, i + u, j) * g(n, o, i, j));
  trial t = trial_of(by_weight);
  t.random("images", {3, 9, 22, 40}).random("g", {3, 10, 20, 40});
  EXPECT_TRUE(says(t, "register tile 4 o x 4 c")) << t.plan_text();
  const std::string text = ir::print(t.p->code);
  const auto image = text.find("serial n"), row = text.find("serial i"), along = text.find("vector j");
  EXPECT_TRUE(image < row && row < along && along != std::string::npos) << text;
  t.expect_right(1e-5);
}

// Of any width of registers: places are addresses, and the middle of each row has no masks.
TEST(register_tile, padded_convolutions) {
  constexpr auto images = tensor<"images", float, 4>;
  constexpr auto w = tensor<"w", float, 4>;
  constexpr auto n = axis<"n">;
  constexpr auto c = axis<"c">;
  constexpr auto o = axis<"o">;
  constexpr auto u = axis<"u">;
  constexpr auto z = axis<"z">;
  constexpr auto image = n.in(0_c, extent(images, dim<0>));
  constexpr auto plain = define<"plain">(image, o, i.in(0_c, 40_c), j.in(0_c, 40_c)) =
      sum(over(c, u, z), images.padded(0_c)(n, c, i + u - 1_c, j + z - 1_c) * w(o, c, u, z));
  constexpr auto strided = define<"strided">(image, o, i.in(0_c, 20_c), j.in(0_c, 20_c)) =
      sum(over(c, u, z), images.padded(0_c)(n, c, 2_c * i + u - 1_c, 2_c * j + z - 1_c) * w(o, c, u, z));
  for (const target::vectors& width : std::span(target::widths).first(2)) {
    trial one = trial_of(plain), two = trial_of(strided);
    for (trial* t : {&one, &two}) {
      t->vectors = &width;
      t->random("images", {2, 5, 40, 40}).random("w", {9, 5, 3, 3});
      EXPECT_TRUE(says(*t, "register tile")) << width.name << "\n" << t->plan_text();
      t->expect_right(1e-5);
    }
  }
}

// Bytes that lanes need wide take the registers of wide numbers.
TEST(register_tile, bytes) {
  constexpr auto bytes = tensor<"bytes", std::int8_t, 2>;
  constexpr auto weights = tensor<"weights", std::int8_t, 2>;
  constexpr auto sums = define<"sums">(i, j) =
      sum(k, cast<std::int32_t>(bytes(i, k)) * cast<std::int32_t>(weights(j, k)));
  constexpr auto wide = define<"wide">(i, j) = sum(k, cast<double>(bytes(i, k)) * cast<double>(weights(j, k)));
  trial one = trial_of(sums), two = trial_of(wide);
  for (trial* t : {&one, &two}) {
    t->below("bytes", {67, 300}, 100).below("weights", {130, 300}, 100);
    EXPECT_TRUE(says(*t, "register tile")) << t->plan_text();
    t->expect_right();
  }
}

// What ranges depend on is not jammed, nor what there is little of.
TEST(register_tile, not_of_triangles_or_small_products) {
  constexpr auto low = define<"low">(i, j) = sum(k.in(0_c, i), x(i, k) * y(k, j));
  trial triangle = trial_of(low);
  triangle.random("x", {60, 60}).random("y", {60, 60});
  EXPECT_FALSE(says(triangle, "register tile")) << triangle.plan_text();
  triangle.expect_right(1e-5);
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  trial small = trial_of(c);
  small.random("x", {4, 4}).random("y", {4, 4});
  EXPECT_FALSE(says(small, "register tile")) << small.plan_text();
  small.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::register_tile_tests
