// Unrolled stencils: what the plan says, how lanes meet memory, and that no check runs for those that are inside.
#include <sheaf/dsl/sugar/sugar.hpp>

#include "tie_data.hpp"

namespace sheaf::test::stencil_tests {
namespace {

constexpr auto image = tensor<"image", float, 3>;
constexpr auto batch = tensor<"batch", float, 4>;
constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};

bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

planned plan_of(const auto&... outputs) {
  return plan_program(
      detail::build_graph<std::remove_cvref_t<decltype(outputs)>...>(),
      {.inputs = {{{64, 64, 224}, true}, {{64, 32, 112}, true}}, .unit_outputs = {}, .overrides = {}, .on = {}},
      "stencil");
}

TEST(stencil, forward) {
  const planned p = plan_of(avg_pool2d<halving>(image));
  EXPECT_TRUE(has(p.text, "3 points unrolled")) << p.text;
  EXPECT_FALSE(has(p.text, "check")) << p.text;
  const std::string code = ir::print(p.code);
  EXPECT_TRUE(has(code, "load deinterleaved step 2")) << code;
  EXPECT_FALSE(has(code, "gather")) << code;
  // The first lanes are masked, those between are not; the last would be for other extents.
  EXPECT_EQ(count_of(code, "vector i2."), 3) << code;
  EXPECT_EQ(count_of(code, "mask"), 4) << code;
}

TEST(stencil, backward) {
  const planned p = plan_of(vjp(avg_pool2d<halving>(image), image));
  EXPECT_TRUE(has(p.text, "2 points unrolled")) << p.text;
  EXPECT_FALSE(has(p.text, "check")) << p.text;
  const std::string code = ir::print(p.code);
  EXPECT_TRUE(has(code, "load deinterleaved step 1 repeat 2 phase 0")) << code;
  EXPECT_TRUE(has(code, "pattern 01")) << code;  // odd places have two windows
  EXPECT_FALSE(has(code, "gather")) << code;
}

TEST(stencil, a_maximum_and_its_shares_are_kept) {
  constexpr auto y = max_pool2d<halving>(image);
  const planned p = plan_of(y, vjp(y, image));
  EXPECT_EQ(count_of(p.text, "\nkernel") + has(p.text.substr(0, 6), "kernel"), 1) << p.text;
  EXPECT_EQ(count_of(p.text, "-> workspace"), 1) << p.text;
  EXPECT_EQ(p.plan.stages.size(), 3u) << p.text;
}

// Tasks share the channels; within a task one image comes after the other, and its shares in the same memory.
TEST(stencil, what_one_iteration_needs_takes_the_memory_of_one) {
  constexpr auto y = max_pool2d<halving>(batch);
  trial test = trial_of(y, vjp(y, batch));
  test.random("batch", {5, 16, 9, 63}).random("cotangent_max_pool2d_batch", {5, 16, 5, 32}).make();
  ASSERT_EQ(test.p->workspaces.size(), 1u) << test.plan_text();
  EXPECT_EQ(test.p->workspaces[0].folded_storage, (std::vector<bool>{true, false, false, false})) << test.plan_text();
  EXPECT_TRUE(has(test.plan_text(), "stored for one iteration at a time")) << test.plan_text();
  // Where tasks share the images, or another kernel reads the shares, each has its own.
  trial alone = trial_of(y, vjp(y, batch));
  alone.random("batch", {16, 2, 9, 63}).random("cotangent_max_pool2d_batch", {16, 2, 5, 32}).make();
  EXPECT_EQ(alone.p->workspaces[0].folded_storage, (std::vector<bool>{false, true, false, false})) << alone.plan_text();
  trial apart = trial_of(y, vjp(y, batch));
  apart.overrides.fusion = fusion::off;
  apart.random("batch", {5, 16, 9, 63}).random("cotangent_max_pool2d_batch", {5, 16, 5, 32}).make();
  EXPECT_FALSE(has(apart.plan_text(), "stored for one iteration at a time")) << apart.plan_text();
}

// Odd widths, steps of 1 to 3, padding or none, images one after the other and beside each other; ties, infinities and
// NaN.
template <std::int64_t Kernel, std::int64_t Step, std::int64_t Padding>
void pooled() {
  constexpr pool options{.kernel = {Kernel, Kernel}, .stride = {Step, Step}, .padding = {Padding, Padding}};
  constexpr auto highest = max_pool2d<options>(batch);
  constexpr auto average = avg_pool2d<options>(batch);
  for (const data kind : {data::many_ties, data::infinite})
    for (const std::int64_t width : {16 * Step + 1, 33 * Step + 2}) {
      SCOPED_TRACE(testing::Message() << Kernel << ", step " << Step << ", width " << width << ", data "
                                      << static_cast<int>(kind));
      const std::int64_t height = 5, count = 2 * 16;
      const auto results = [](std::int64_t size) { return (size + 2 * Padding - Kernel) / Step + 1; };
      const auto values = drawn(count * height * width, kind);
      trial top = trial_of(highest, vjp(highest, batch)), mean = trial_of(average, vjp(average, batch));
      const std::vector<std::int64_t> size{2, 16, height, width}, windows{2, 16, results(height), results(width)};
      top.with("batch", size, values).random("cotangent_max_pool2d_batch", windows).expect_right();
      mean.random("batch", size).random("cotangent_avg_pool2d_batch", windows).expect_right();
    }
}
TEST(stencil, any_step_and_padding) {
  pooled<3, 1, 1>();
  pooled<3, 2, 1>();
  pooled<3, 3, 0>();
  pooled<2, 2, 0>();
}

// As many places as the weights have, which are known when they are.
TEST(stencil, weights_of_any_extent) {
  constexpr auto n = axis<"n">;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto a = axis<"a">;
  constexpr auto b = axis<"b">;
  constexpr auto w = tensor<"w", float, 2>;
  constexpr auto down = extent(image, dim<1>) - extent(w, dim<0>) + 1_c;
  constexpr auto across = extent(image, dim<2>) - extent(w, dim<1>) + 1_c;
  constexpr auto y = define<"y">(n, i.in(0_c, down), j.in(0_c, across)) =
      sum(over(a, b), image(n, i + a, j + b) * w(a, b));
  constexpr auto loss = define<"loss">() =
      sum(over(n, i.in(0_c, down), j.in(0_c, across)), y(n, i, j) * y(n, i, j));
  for (const std::int64_t width : {1, 3, 5}) {
    trial test = trial_of(grad(loss, image), grad(loss, w));
    test.random("image", {3, 9, 70}).random("w", {2, width});
    EXPECT_TRUE(has(test.plan_text(), (std::to_string(width) + " points unrolled").c_str())) << test.plan_text();
    test.expect_right();
  }
}

// A sum of products over channels and windows: each product is added to what those before come to, masked where the
// window leaves the image, so that an infinite weight does not meet the padding. Rows of few results are lanes as well.
TEST(stencil, products_are_added_one_after_the_other) {
  constexpr auto n = axis<"n">;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto o = axis<"o">;
  constexpr auto c = axis<"c">;
  constexpr auto a = axis<"a">;
  constexpr auto b = axis<"b">;
  constexpr auto x = tensor<"x", float, 4>;
  constexpr auto w = tensor<"w", float, 4>;
  constexpr auto y = define<"y">(n.in(0_c, extent(x, dim<0>)), o, i.in(0_c, extent(x, dim<2>)),
                                 j.in(0_c, extent(x, dim<3>))) =
      sum(over(c, a, b), x.padded(0_c)(n, c, i + a - 1_c, j + b - 1_c) * w(o, c, a, b));
  constexpr auto loss = define<"loss">() = sum(over(n, o, i.in(0_c, extent(x, dim<2>)), j.in(0_c, extent(x, dim<3>))),
                                               y(n, o, i, j) * y(n, o, i, j));
  std::vector<double> weights(6 * 5 * 3 * 3, 0.5);
  weights[3] = std::numeric_limits<double>::infinity();  // of the first points along a row
  for (const std::int64_t width : {6, 14, 33, 64, 224}) {
    SCOPED_TRACE(width);
    trial test = trial_of(y), both = trial_of(grad(loss, x), grad(loss, w));
    test.random("x", {2, 5, 7, width}).with("w", {6, 5, 3, 3}, weights);
    both.random("x", {2, 5, 7, width}).random("w", {6, 5, 3, 3});
    EXPECT_TRUE(has(test.plan_text(), "3 points unrolled")) << test.plan_text();
    EXPECT_TRUE(has(both.plan_text(), "3 points unrolled")) << both.plan_text();
    const std::string code = ir::print(test.p->code);
    EXPECT_TRUE(has(code, "fma mask")) << code;
    EXPECT_EQ(code.find("f32v = add"), std::string::npos) << code;
    test.expect_right(1e-5);
    both.expect_right(1e-4);
  }
}

// Their loads are inside in each of the places: nothing asks for the extent again.
TEST(stencil, weights_of_a_padded_convolution) {
  constexpr auto n = axis<"n">;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto o = axis<"o">;
  constexpr auto c = axis<"c">;
  constexpr auto a = axis<"a">;
  constexpr auto b = axis<"b">;
  constexpr auto x = tensor<"x", float, 4>;
  constexpr auto w = tensor<"w", float, 4>;
  constexpr auto y = define<"y">(n.in(0_c, extent(x, dim<0>)), o, i.in(0_c, extent(x, dim<2>)), j.in(0_c, 64_c)) =
      sum(over(c, a, b), x.padded(0_c)(n, c, i + a - 1_c, j + b - 1_c) * w(o, c, a, b));
  for (const std::int64_t width : {63, 64, 65, 80}) {
    trial test = trial_of(y);
    test.random("x", {2, 5, 7, width}).random("w", {6, 5, 3, 3});
    EXPECT_TRUE(has(test.plan_text(), "3 points unrolled")) << test.plan_text();
    const std::string code = ir::print(test.p->code);
    for (std::size_t at = code.find("uniform w["); at != std::string::npos; at = code.find("uniform w[", at + 1))
      EXPECT_EQ(code.substr(at, code.find('\n', at) - at).find("mask"), std::string::npos) << code;
    test.expect_right(1e-5);
  }
}

// What checks have proven of a window holds at its points: no load is masked. Of one image the rows that are read come
// to L1 once for all filters, which L2 holds; of many filters they would come from further for each row.
TEST(stencil, rows_of_a_strided_convolution) {
  constexpr auto n = axis<"n">;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto o = axis<"o">;
  constexpr auto c = axis<"c">;
  constexpr auto a = axis<"a">;
  constexpr auto b = axis<"b">;
  constexpr auto x = tensor<"x", float, 4>;
  constexpr auto w = tensor<"w", float, 4>;
  constexpr auto rows = i.in(0_c, (extent(x, dim<2>) - 3_c) / 2_c + 1_c);
  constexpr auto columns = j.in(0_c, (extent(x, dim<3>) - 3_c) / 2_c + 1_c);
  constexpr auto y = define<"y">(n, o, rows, columns) =
      sum(over(c, a, b), x(n, c, 2_c * i + a, 2_c * j + b) * w(o, c, a, b));
  for (const std::int64_t width : {39, 40, 77}) {
    trial test = trial_of(y);
    test.random("x", {2, 5, 39, width}).random("w", {6, 5, 3, 3});
    EXPECT_TRUE(has(test.plan_text(), "loops: i, n, o, j;")) << test.plan_text();
    EXPECT_FALSE(has(ir::print(test.p->code), " mask ")) << ir::print(test.p->code);
    test.expect_right(1e-5);
  }
  trial many = trial_of(y);
  many.random("x", {1, 256, 7, 15}).random("w", {300, 256, 3, 3}).make();
  EXPECT_TRUE(has(many.plan_text(), "loops: o, n, i, j;")) << many.plan_text();
}

// A stage counts what another one finds at the same place, in three parts of the row: in each the count waits.
TEST(stencil, one_reads_what_another_stores) {
  constexpr auto u = axis<"u">;
  constexpr auto v = axis<"v">;
  constexpr auto h = axis<"h">;
  constexpr auto s = axis<"s">;
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto w = tensor<"w", float, 2>;
  constexpr auto columns = extent(x, dim<1>);
  constexpr auto window = v.in(maximum(s - 3_c, 0_c), minimum(s + 1_c, columns));
  constexpr auto rows = u.in(0_c, extent(x, dim<0>));
  constexpr auto most = define<"most">(h, s.in(0_c, columns)) = max(over(window, rows), x(u, v) - w(h, u));
  constexpr auto ties = define<"ties">(h, s.in(0_c, columns)) =
      sum(over(window, rows.where(x(u, v) - w(h, u) == most(h, s))), 1_c);
  for (const std::int64_t width : {39, 100}) {
    SCOPED_TRACE(width);
    trial test = trial_of(most, ties);
    test.below("x", {5, width}, 4).below("w", {3, 5}, 3);
    EXPECT_TRUE(has(test.plan_text(), "4 points unrolled")) << test.plan_text();
    test.expect_right(0);
  }
}

// Rows of 8 lie one behind the other, but another tensor is read from row to row: written out, its places would gather.
TEST(stencil, not_where_others_gather) {
  constexpr auto b = axis<"b">;
  constexpr auto k = axis<"k">;
  constexpr auto v = axis<"v">;
  constexpr auto x = tensor<"x", float, 3>;
  constexpr auto beside = tensor<"beside", float, 1>;
  constexpr auto best = define<"best">(b) =
      max(over(k.in(0_c, 8_c), v), beside(8_c * b + k) + x(b, k, v) - logsumexp(v, x(b, k, v)));
  trial test = trial_of(best);
  test.random("x", {40, 8, 50}).random("beside", {320});
  EXPECT_FALSE(has(test.plan_text(), "points unrolled")) << test.plan_text();
  test.expect_right(1e-5);
}

// A gate of an image's places, which all channels share: its window and that of its gradient are folded once for all.
TEST(stencil, not_within_loops_that_it_does_not_depend_on) {
  constexpr auto c = axis<"c">;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto u = axis<"u">;
  constexpr auto v = axis<"v">;
  constexpr auto x = tensor<"x", float, 3>;
  constexpr auto w = tensor<"w", float, 2>;
  constexpr auto across = mean(c, x(c, i, j));
  constexpr auto flat = define<"flat">(i, j) = across;
  constexpr auto gate = define<"gate">(i.in(0_c, extent(x, dim<1>)), j.in(0_c, extent(x, dim<2>))) =
      sigmoid(sum(over(u, v), w(u, v) * flat.padded(0_c)(i + u - 1_c, j + v - 1_c)));
  constexpr auto loss = define<"loss">() = sum(over(c, i, j), x(c, i, j) * x(c, i, j) * gate(i, j));
  trial test = trial_of(grad(loss, x), grad(loss, w));
  test.random("x", {20, 19, 40}).random("w", {3, 3});
  EXPECT_TRUE(has(test.plan_text(), "asked for at several places by what reads it")) << test.plan_text();
  EXPECT_TRUE(has(test.plan_text(), "its place in the nest runs 15200 times, it has 760 values")) << test.plan_text();
  test.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::stencil_tests
