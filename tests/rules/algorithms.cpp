// Programs for the rules that the sizes of tests/coverage don't reach.
#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/sheaf.hpp>

#include "rules.hpp"

namespace sheaf::test {
namespace {

constexpr auto i = axis<"i">;
constexpr auto t = axis<"t">;
constexpr auto s = axis<"s">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto y = tensor<"y", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto count = extent(x, dim<0>);

constexpr auto large = tensor<"large", double, 1>;

void random_inputs(trial& to) {
  for (int k = 0; k < to.g.inputs.size(); ++k) {
    const text_range text = to.g.names[to.g.inputs[k].name];
    const std::string name(to.g.text.data() + text.first, static_cast<std::size_t>(text.size));
    if (to.g.inputs[k].rank == 2) to.random(name.c_str(), {400, 11});
    else to.random(name.c_str(), {name == "large" ? 150000 : 5000});
  }
}

template <class... Outputs>
void expect_same(const char* name, Outputs...) {
  expect_without_rules(name, detail::build_graph<Outputs...>(), random_inputs);
}

TEST(rules, of_windows) {
  constexpr auto small = define<"small">(t.in(0_c, count - 19_c)) = sum(u.in(0_c, 20_c), x(t + u));
  constexpr auto high = define<"high">(t.in(0_c, extent(m, dim<0>) - 199_c), i) = max(u.in(0_c, 200_c), m(t + u, i));
  constexpr auto dilated = define<"dilated">(t.in(0_c, count - 117_c)) = sum(u.in(0_c, 40_c), x(t + 3_c * u));
  constexpr auto slow = define<"slow">(t.in(0_c, count - 19_c)) = sum(u.in(0_c, 20_c), y(u) * tanh(x(t + u)));
  expect_same("functions in windows", slow);
  expect_same("window", small);
  expect_same("two-scan window", high);
  expect_same("polyphase", dilated);
}

TEST(rules, of_windows_of_two_dimensions) {
  constexpr auto v = axis<"v">;
  constexpr auto rows = t.in(0_c, extent(m, dim<0>) - 5_c);
  constexpr auto columns = i.in(0_c, extent(m, dim<1>) - 5_c);
  constexpr auto window = u.in(0_c, 6_c);
  constexpr auto most = define<"most">(rows, columns) = max(over(window, v.in(0_c, 6_c)), m(t + u, i + v));
  constexpr auto all = define<"all">(rows, columns) = sum(over(window, v.in(0_c, 6_c)), m(t + u, i + v));
  expect_same("extrema", most);
  constexpr auto loss = define<"loss">() = sum(over(rows, columns), all(t, i) * all(t, i));
  expect_same("sums and their gradient", all, grad(loss, m));
}

TEST(rules, of_borders) {
  constexpr auto rows = t.in(0_c, extent(m, dim<0>));
  constexpr auto columns = i.in(0_c, extent(m, dim<1>));
  constexpr auto edge = m.clamped(t - 1_c, i) + m.clamped(t, i + 1_c);
  constexpr auto around = define<"around">(rows, columns) =
      m.padded(0_c)(t - 1_c, i) + m.padded(0_c)(t, i - 1_c) + edge - 2_c * m(t, i);
  expect_same("borders", around, grad(define<"loss">() = sum(over(rows, columns), around(t, i) * around(t, i)), m));
}

TEST(rules, of_mirrors_and_halves) {
  constexpr auto rows = t.in(0_c, extent(m, dim<0>));
  constexpr auto columns = i.in(0_c, extent(m, dim<1>));
  constexpr auto mirrored = define<"mirrored">(rows, columns) = m.reflected(t - 1_c, i) - 3_c * m.reflected(t, i + 2_c);
  expect_same("piecewise subscripts", mirrored,
              grad(define<"loss">() = sum(over(rows, columns), mirrored(t, i) * mirrored(t, i)), m));
  constexpr auto twice = i.in(0_c, 2_c * extent(m, dim<1>));
  constexpr auto between = define<"between">(rows, twice) =
      3_c * m.clamped(t, quotient(i + 1_c, 2_c) - i % 2_c) + m.clamped(t, quotient(i + 1_c, 2_c) + i % 2_c - 1_c);
  expect_same("phases of a map", between);
}

TEST(rules, of_strided_windows) {
  constexpr auto w = tensor<"w", double, 2>;
  constexpr auto places = t.in(0_c, quotient(extent(m, dim<1>) - extent(w, dim<1>), 2_c) + 1_c);
  constexpr auto strided = define<"strided">(i, s, places) = sum(u, m(i, 2_c * t + u) * w(s, u));
  constexpr auto loss = define<"loss">() = sum(over(i, s, places), strided(i, s, t) * strided(i, s, t));
  expect_without_rules("phases of results", detail::build_graph<decltype(grad(loss, m))>(), [](trial& to) {
    to.random("m", {30, 41}).random("w", {6, 3});
  });
}

TEST(rules, of_every_third_place) {
  constexpr auto third = define<"third">(t) = sum(s.in(0_c, count).where((s + t) % 3_c == 0_c), x(s) * y(t));
  expect_same("steps", third);
}

TEST(rules, of_digits) {
  constexpr auto tens = define<"tens">(t.in(0_c, 10_c)) = sum(s.where(quotient(s, 10_c) % 10_c == t), x(s) * y(s));
  expect_same("digits of indices", tens);
}

TEST(rules, of_products_of_several_tensors) {
  constexpr auto triple = define<"triple">(i, u) = sum(over(t, s), m(i, t) * m(s, t) * m(s, u));
  expect_same("order of contraction", triple);
}

TEST(rules, of_ties_in_windows) {
  constexpr auto stepped = define<"stepped">(t.in(0_c, quotient(count - 200_c, 2_c))) =
      max(u.in(0_c, 200_c), x(2_c * t + u));
  constexpr auto down = define<"down">(t.in(0_c, extent(m, dim<0>) - 39_c), i) = max(u.in(0_c, 40_c), m(t + u, i));
  constexpr auto place = define<"place">(t.in(0_c, count - 299_c)) = argmax(u.in(0_c, 300_c), x(t + u));
  expect_same("ties of steps", grad(define<"loss">() = sum(t.in(0_c, quotient(count - 200_c, 2_c)), stepped(t)), x));
  expect_same("ties along columns",
              grad(define<"loss">() = sum(over(t.in(0_c, extent(m, dim<0>) - 39_c), i), down(t, i)), m));
  expect_same("position", place);
}

TEST(rules, of_positions_of_running_extrema) {
  constexpr auto size = extent(m, dim<1>);
  constexpr auto along = t.in(0_c, size);
  constexpr auto last = define<"last">(t.in(0_c, count)) = argmin<ties::last>(s.in(t, count), x(s));
  constexpr auto most = define<"most">(i, along) = max<ties::first>(s.in(0_c, t + 1_c).where(m(i, s) > 0_c), m(i, s));
  expect_same("running position", last);
  expect_same("running position in a gradient",
              grad(define<"loss">() = sum(over(i, along), most(i, t) * cast<double>(t)), m));
}

TEST(rules, of_positions_in_windows) {
  constexpr auto rows = t.in(0_c, quotient(extent(m, dim<0>) - 1_c, 2_c));
  constexpr auto columns = i.in(0_c, extent(m, dim<1>) - 1_c);
  constexpr auto pooled = define<"pooled">(rows, columns) =
      max<ties::first>(over(s.in(0_c, 3_c), u.in(0_c, 2_c)), m(2_c * t + s, i + u));
  expect_same("scatter to places near by",
              grad(define<"loss">() = sum(over(rows, columns), pooled(t, i) * pooled(t, i)), m));
  expect_same("positions in windows", define<"place">(t.in(0_c, count - 4_c)) = argmin(u.in(0_c, 5_c), x(t + u)));
}

// Two products in one expression, a product under a mask, and one of functions of its rows.
TEST(rules, of_products_beside_others) {
  constexpr auto a = tensor<"a", double, 2>;
  constexpr auto b = tensor<"b", double, 2>;
  constexpr auto c = tensor<"c", double, 2>;
  constexpr auto give = [](trial& to) { to.random("a", {40, 34}).random("b", {34, 66}).random("c", {34, 66}); };
  constexpr auto gated = define<"gated">(t, i) = tanh(sum(s, a(t, s) * b(s, i))) * sum(s, a(t, s) * c(s, i));
  constexpr auto masked = define<"masked">(t, i) = sum(s, select(a(t, s) > 0_c, a(t, s), 0_c) * (b(s, i) + c(s, i)));
  constexpr auto factors = define<"factors">(t, i) = sum(s, exp(a(t, s)) * b(s, i)) + c(t % 34_c, i);
  expect_without_rules("products", detail::build_graph<decltype(gated)>(), give);
  expect_without_rules("masked product", detail::build_graph<decltype(masked)>(), give);
  expect_without_rules("factors of products", detail::build_graph<decltype(factors)>(), give);
}

TEST(rules, of_few_terms) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto sums = define<"sums">(t) = exp(-sum(s.in(0_c, 3_c), m(t, s) * m(ids(t), s)));
  expect_without_rules("few terms", detail::build_graph<decltype(sums)>(), [](trial& to) {
    to.random("m", {200, 3}).below("ids", {200}, 200);
  });
}

TEST(rules, of_images) {
  constexpr auto images = tensor<"images", double, 3>;
  constexpr auto mixed = define<"mixed">(t, i, u) = sum(s, m(t, s) * images(s, i, u));
  expect_without_rules("collapsed results", detail::build_graph<decltype(mixed)>(), [](trial& to) {
    to.random("m", {20, 9}).random("images", {9, 7, 5});
  });
}

TEST(rules, of_ranges_that_move_with_lanes) {
  constexpr auto taps = tensor<"taps", double, 1>;
  constexpr auto row = tensor<"row", double, 1>;
  constexpr auto filtered =
      define<"filtered">(i.in(0_c, extent(row, dim<0>))) = sum(s, taps(s) * row.padded(0_c)(i + s - 9_c));
  expect_without_rules("filters of many taps", detail::build_graph<decltype(filtered)>(), [](trial& to) {
    to.random("taps", {19}).random("row", {200});
  });
}

TEST(rules, of_products_of_halves) {
  constexpr auto a = tensor<"a", bfloat16, 2>;
  constexpr auto b = tensor<"b", bfloat16, 2>;
  constexpr auto product = define<"product">(t, i) = sum(s, a(t, s) * b(s, i));
  expect_without_rules("products of halves", detail::build_graph<decltype(product)>(), [](trial& to) {
    to.random("a", {40, 34}).random("b", {34, 66});
  });
}

// A table of each row's own, by data.
TEST(rules, of_rows_that_data_chooses) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto tables = tensor<"tables", double, 3>;
  constexpr auto chosen = define<"chosen">(t, i) = sum(s, m(t, s) * tables(ids(t), s, i));
  expect_without_rules("row order", detail::build_graph<decltype(chosen)>(), [](trial& to) {
    to.random("m", {200, 11}).random("tables", {5, 11, 40}).below("ids", {200}, 5);
  });
}

TEST(rules, of_running_results) {
  constexpr auto places = extent(large, dim<0>);
  constexpr auto after = define<"after">(t.in(0_c, places)) = sum(s.in(t + 1_c, places), large(s));
  constexpr auto cut = define<"cut">(t) = y(t) * sum(s.in(0_c, t - 5_c), x(s));
  constexpr auto padded = define<"padded">(t.in(0_c, count)) = max(u.in(0_c, 30_c), x.padded(0_c)(t + u - 15_c) * y(t));
  expect_same("what follows", after);
  expect_same("cut", cut);
  expect_same("subscripts that cancel", grad(define<"loss">() = sum(t.in(0_c, count), padded(t)), x));
}

TEST(rules, of_whole_tensors) {
  constexpr auto total = define<"total">() = sum(t, large(t) * large(t));
  constexpr auto by_column = define<"by_column">(i) = logsumexp(t, m(t, i));
  constexpr auto rows = reshape<3, 50000>(large);
  constexpr auto scaled = define<"scaled">(t, i) = rows(t, i) / sqrt(sum(u, rows(t, u) * rows(t, u)));
  expect_same("split", total);
  expect_same("few rows", scaled);
  expect_same("columns", by_column);
}

TEST(rules, of_integers) {
  constexpr auto whole = define<"whole">(t, i) = cast<std::int64_t>(cast<std::int8_t>(99_c * m(t, i)));
  constexpr auto dots = define<"dots">(t) = sum(i, whole(t, i) * whole(t, i));
  expect_same("narrow integers", dots);
}

TEST(rules, of_rows) {
  constexpr auto soft = softmax(m, dim<1>);
  constexpr auto total = define<"total">() = sum(over(t, i), soft(t, i) * soft(t, i));
  expect_same("short rows", total);
  expect_same("dense rows", reshape<100, 44>(m));
}

TEST(rules, of_slices_of_places) {
  constexpr auto id = tensor<"id", std::int64_t, 1>;
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  constexpr auto v = axis<"v">;
  constexpr auto of = define<"of">(s, i) = sum(t.in(cut(s, 0_c), cut(s, 1_c)), m(id(t), i));
  constexpr auto loss = define<"loss">() = sum(over(s, v), of(s, v) * of(s, v));
  expect_without_rules("slices of places", detail::build_graph<decltype(grad(loss, m))>(), [](trial& to) {
    std::vector<double> cuts;
    for (int k = 0; k < 100; ++k) cuts.insert(cuts.end(), {40.0 * k, 40.0 * k + 900});
    to.random("m", {400, 11}).below("id", {5000}, 400).with("cut", {100, 2}, cuts);
  });
}

TEST(rules, of_cases) {
  constexpr auto pairs = define<"pairs">(t, s.in(0_c, 2_c)) = select(s == 0_c, x(t), y(t));
  constexpr auto loss = define<"loss">() = sum(over(t, s), pairs(t, s) * pairs(t, s));
  expect_same("cases", loss, grad(loss, y));
}

TEST(rules, of_masked_rows) {
  constexpr auto kept = define<"kept">(t) = exp(sum(i.where(m(t, i) < 0_c), m(t, i)));
  expect_same("functions of results", kept);
}

TEST(rules, of_keys_that_ascend) {
  constexpr auto k = axis<"k">;
  constexpr auto all = t.in(0_c, count);
  constexpr auto time = define<"time">(all) = max(s.in(0_c, t + 1_c), x(s));
  constexpr auto chosen = define<"chosen">(k) = sum(t.where(time(t) <= y(k)), x(t));
  expect_same("ordered keys", chosen);
  constexpr auto end = cast<std::int64_t>((y(k) + 1_c) * 2400_c);
  constexpr auto first = define<"first">(k) = sum(t.in(0_c, end), x(t));
  expect_same("data prefix", first, grad(define<"loss">() = sum(k, first(k) * first(k)), x));
  constexpr auto begin = minimum(t - t % 7_c, t + cast<std::int64_t>(abs(y(t))));
  constexpr auto running = define<"running">(all) = max(s.in(begin, t + 1_c), x(s));
  expect_same("runs", running);
}

}  // namespace
}  // namespace sheaf::test
