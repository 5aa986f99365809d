// Numbers that record what is decided by them, and whether other extents would be decided alike.
#include <gtest/gtest.h>

#include <set>

#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/jit/shapes/shape_cells.hpp>
#include <sheaf/jit/shapes/usual_extents.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::test::shapes_tests {
namespace {

using shapes::amount;
using shapes::decisions;

bool hold(const decisions& d, std::vector<std::int64_t> extents) { return d.hold(extents); }

TEST(shapes, numbers_without_a_formula_record_nothing) {
  decisions d(true);
  EXPECT_TRUE(amount(3) < amount(4));
  EXPECT_EQ(7, (amount(3) + 4).estimate());
  EXPECT_EQ(0u, d.size());
  EXPECT_TRUE(hold(d, {}));
}

TEST(shapes, comparisons_are_recorded_with_their_outcome) {
  decisions d(true);
  const amount rows = d.extent(0, 100), columns = d.extent(1, 8);
  EXPECT_TRUE(rows * columns >= 512);
  EXPECT_FALSE(columns > 16);
  EXPECT_TRUE(hold(d, {100, 8}));
  EXPECT_TRUE(hold(d, {32, 16}));
  EXPECT_FALSE(hold(d, {31, 16}));
  EXPECT_FALSE(hold(d, {100, 17}));
  EXPECT_EQ(2u, d.size());
  EXPECT_TRUE(rows * columns >= 512);  // asked again
  EXPECT_EQ(2u, d.size());
}

TEST(shapes, what_is_fixed_serves_that_number_alone) {
  decisions d(true);
  EXPECT_EQ(2, floor(d.extent(0, 5) / 2).whole());
  EXPECT_TRUE(hold(d, {4}));
  EXPECT_FALSE(hold(d, {6}));
}

TEST(shapes, an_estimate_decides_nothing) {
  decisions d(true);
  EXPECT_EQ(5, d.extent(0, 5).estimate());
  EXPECT_TRUE(hold(d, {1000}));
}

TEST(shapes, functions_of_whole_numbers) {
  decisions d(true);
  const amount rows = d.extent(0, 96);
  EXPECT_TRUE(remainder(rows, 32) == 0);
  EXPECT_EQ(7, bit_width(rows).whole());
  EXPECT_TRUE(hold(d, {64}));
  EXPECT_FALSE(hold(d, {65}));
  EXPECT_FALSE(hold(d, {128}));
}

TEST(shapes, formulas_have_values_for_other_extents) {
  decisions d(true);
  const amount work = max(d.extent(0, 100) * 3, 50) - log2(d.extent(1, 8));
  EXPECT_EQ(297, work.estimate());
  EXPECT_EQ(46, d.value(work, std::vector<std::int64_t>{2, 16}));
  EXPECT_EQ(4, d.value(amount(4), std::vector<std::int64_t>{2, 16}));
}

// Decisions that depend on extents in many ways, as plans do.
void decide(decisions& d, std::int64_t rows, std::int64_t columns) {
  const amount r = d.extent(0, rows), c = d.extent(1, columns);
  const amount elements = r * c, bytes = elements * 4;
  (void)(bytes > 100000);
  (void)(r / max(1, c) >= 16);
  (void)(log2(r + 1) * c < 200);
  (void)(remainder(c, 8) == 0);
  (void)(floor(r / 64) - c > 3);
  (void)(min(r, c) == r);
  if (c < 8) (void)c.fixed();
}

// A box says of each call in it what the decisions say, and leaves little to ask.
TEST(shapes, decisions_left_open_in_a_box) {
  for (std::int64_t rows = 0; rows < 3000; rows += 97)
    for (const std::int64_t columns : {0, 1, 3, 8, 40}) {
      decisions d(true);
      decide(d, rows, columns);
      d.close();
      for (const std::int64_t low : {0, 1, 32, 64, 1024})
        for (const std::int64_t across : {0, 1, 8, 32}) {
          const std::int64_t from[] = {low, across}, to[] = {2 * low, across + across / 8};
          const shapes::open_decisions open = d.open_in(from, to);
          EXPECT_LE(open.size(), d.size());
          for (std::int64_t r = low; r <= 2 * low; r += 1 + low / 7)
            for (std::int64_t c = across; c <= to[1]; ++c)
              EXPECT_EQ(d.hold(std::vector{r, c}), open.hold(std::vector{r, c})) << r << ", " << c;
        }
    }
  decisions d(true);
  decide(d, 100, 24);
  const std::int64_t from[] = {96, 24}, to[] = {127, 24}, far[] = {100000, 24}, farther[] = {200000, 24};
  EXPECT_LE(d.open_in(from, to).size(), 1u);
  EXPECT_TRUE(d.open_in(far, farther).never());
}

TEST(shapes, cells_say_what_decisions_say) {
  std::uint64_t random = 1;
  const auto number = [&](std::uint64_t most) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((random >> 33) % most);
  };
  for (int round = 0; round < 30; ++round) {
    decisions d(true);
    const std::vector first{number(5000), number(50)};
    decide(d, first[0], first[1]);
    d.close();
    shapes::shape_cells cells;
    for (int k = 0; k < 1000; ++k) {
      const std::vector extents{number(k % 2 == 0 ? 5000 : 70), k % 3 == 0 ? first[1] : number(50)};
      ASSERT_EQ(d.hold(extents), cells.hold(d, first, extents)) << extents[0] << ", " << extents[1];
      ASSERT_EQ(d.hold(extents), cells.hold_elsewhere(d, extents)) << extents[0] << ", " << extents[1];
    }
    EXPECT_TRUE(cells.hold(d, first, first));
  }
}

TEST(shapes, formulas_are_evaluated_without_the_others) {
  decisions d(true);
  const amount r = d.extent(0, 10), c = d.extent(1, 4);
  for (int k = 0; k < 100; ++k) (void)(r + k);
  const std::vector<amount> list{r * c + 1, 7, max(r, c)};
  const shapes::formulas some = d.formulas_of(list);
  EXPECT_LT(some.bytes(), 10 * sizeof(shapes::step));
  const std::vector<std::int64_t> extents{3, 5};
  EXPECT_EQ(16, some.values(extents)[some.place(0)]);
  EXPECT_EQ(5, some.values(extents)[some.place(1)]);
}

TEST(shapes, the_first_difference_is_said) {
  decisions d(true);
  const std::vector<std::string> names{"rows", "columns"};
  EXPECT_TRUE(d.extent(0, 100) >= 64);
  EXPECT_TRUE(d.extent(1, 8) * 2 < d.extent(0, 100));
  EXPECT_EQ("", d.difference(std::vector<std::int64_t>{64, 8}, names));
  EXPECT_EQ("rows >= 64", d.difference(std::vector<std::int64_t>{63, 8}, names));
  EXPECT_EQ("(columns * 2) < rows", d.difference(std::vector<std::int64_t>{64, 32}, names));
}

TEST(shapes, a_class_compares_what_stands_for_extents) {
  decisions d(false);
  const amount rows = d.extent(0, 100, 4096);
  EXPECT_TRUE(rows >= 1000);
  EXPECT_TRUE(hold(d, {2}));
  EXPECT_EQ(4096, rows.typical());
  EXPECT_EQ(100, rows.estimate());
  EXPECT_EQ(0u, d.size());
}

TEST(shapes, what_is_certain_is_of_the_call) {
  decisions d(false);
  const amount rows = d.extent(0, 100, 4096);
  EXPECT_FALSE((rows * 2).certain() >= 1000);
  EXPECT_TRUE(hold(d, {499}));
  EXPECT_FALSE(hold(d, {500}));
  EXPECT_EQ(100, rows.whole());
  EXPECT_FALSE(hold(d, {99}));
}

// Of a convolution: how many places its weights have is not asked.
TEST(shapes, a_window_has_few_places_in_all_classes) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto m = axis<"m">;
  constexpr auto t = axis<"t">;
  constexpr auto u = axis<"u">;
  constexpr auto y = define<"y">(m, t.in(0_c, extent(x, dim<1>) - extent(w, dim<0>) + 1_c)) =
      sum(u, x(m, t + u) * w(u));
  const graph g = detail::build_graph<decltype(y)>();
  const shapes::usual_extents classes(g, shapes::usual_extents::covering::few);
  const auto of = [&](std::int64_t places) {
    shapes::decisions d(false);
    return classes.of(std::vector<std::int64_t>{100, 1000, places}, d).back().usual();
  };
  EXPECT_LE(of(3), 16);
  EXPECT_EQ(of(3), of(500));
}
// Nor of a filter whose places are moved inside at the edges.
TEST(shapes, a_window_that_is_moved_inside_has_few_places) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto m = axis<"m">;
  constexpr auto t = axis<"t">;
  constexpr auto u = axis<"u">;
  const auto of = [](auto subscripts) {
    const graph g = detail::build_graph<decltype(subscripts)>();
    shapes::decisions d(false);
    const shapes::usual_extents classes(g, shapes::usual_extents::covering::few);
    return classes.of(std::vector<std::int64_t>{100, 1000, 9}, d).back().usual();
  };
  constexpr auto rows = m.in(0_c, extent(x, dim<0>));
  constexpr auto columns = t.in(0_c, extent(x, dim<1>));
  EXPECT_LE(of(define<"c">(rows, columns) = sum(u, x.clamped(m, t + u - 4_c) * w(u))), 16);
  EXPECT_LE(of(define<"r">(rows, columns) = sum(u, x.reflected(m, t + u - 4_c) * w(u))), 16);
  EXPECT_LE(of(define<"p">(rows, columns) = sum(u, x.wrapped(m, t + u) * w(u))), 16);
}

// Rows of values that the program computes are short or not, whichever way what they are computed from lies.
TEST(shapes, rows_of_values_are_short_or_not) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto w = tensor<"w", float, 2>;
  constexpr auto m = axis<"m">;
  constexpr auto t = axis<"t">;
  constexpr auto c = axis<"c">;
  constexpr auto score = sum(t, x(m, t) * w(c, t));
  const auto of = [](auto outputs, std::int64_t columns, std::int64_t others) {
    const graph g = detail::build_graph<decltype(outputs)>();
    shapes::decisions d(false);
    const shapes::usual_extents classes(g, shapes::usual_extents::covering::few);
    std::vector<double> usual;
    for (const amount& n : classes.of(std::vector<std::int64_t>{1000, columns, others, columns}, d))
      usual.push_back(n.usual());
    return usual;
  };
  constexpr auto nearest = define<"nearest">(m) = argmax(c, score);
  constexpr auto scores = define<"scores">(m, c) = score;
  constexpr auto loss = define<"loss">() = mean(m, logsumexp(c, score));
  EXPECT_LT(of(nearest, 20, 31)[2], of(nearest, 20, 32)[2]);
  EXPECT_LT(of(scores, 90, 31)[2], of(scores, 90, 32)[2]);
  EXPECT_LT(of(loss, 20, 31)[2], of(loss, 20, 32)[2]);
  EXPECT_EQ(of(nearest, 20, 3), of(nearest, 9, 31));
  EXPECT_EQ(of(nearest, 97, 3), of(nearest, 97, 32));  // beside longer rows that is not asked
  EXPECT_EQ(of(nearest, 20, 3)[0], of(nearest, 20, 32)[0]);
}

TEST(shapes, classes_of_a_program) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto m = axis<"m">;
  constexpr auto t = axis<"t">;
  constexpr auto y = define<"y">(m) = sum(t, x(m, t));
  const graph g = detail::build_graph<decltype(y)>();
  const shapes::usual_extents classes(g, shapes::usual_extents::covering::few);
  const auto of = [&](std::int64_t rows, std::int64_t columns) {
    shapes::decisions d(false);
    std::vector<double> usual;
    for (const amount& n : classes.of(std::vector<std::int64_t>{rows, columns}, d)) usual.push_back(n.usual());
    return usual;
  };
  EXPECT_EQ(of(100, 7), of(70000, 31));
  EXPECT_NE(of(100, 7), of(100, 32));
  EXPECT_EQ(of(1, 100), of(70000, 8192));
  EXPECT_NE(of(100, 96), of(100, 97));
  EXPECT_NE(of(16384, 96), of(16385, 96));
  EXPECT_EQ(of(0, 100), of(100, 0));
  EXPECT_EQ(of(16, 8193), of(70000, 70000));
  EXPECT_NE(of(16, 8192), of(16, 8193));
  EXPECT_NE(of(15, 8193), of(16, 8193));
  EXPECT_NE(of(15, 8193), of(15, 8192));
  std::set<std::vector<double>> all;
  for (std::int64_t rows = 1; rows < 100000000; rows *= 3)
    for (std::int64_t columns = 1; columns < 100000000; columns *= 3) {
      all.insert(of(rows, columns));
      decisions d(false);
      classes.of(std::vector<std::int64_t>{rows, columns}, d);
      EXPECT_EQ(of(rows, columns) == of(100, 20), hold(d, {100, 20})) << rows << ", " << columns;
    }
  EXPECT_EQ(all.size(), 6u);
}

}  // namespace
}  // namespace sheaf::test::shapes_tests
