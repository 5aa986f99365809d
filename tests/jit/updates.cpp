// Scatters whose iterations update more than one row: few neighbouring places of data along one index and along
// several, beyond both ends of the result, written as sums over the places and as gradients of what reads them; and
// updates that are sums of products.
#include "solved_plans.hpp"

namespace sheaf::test::updates_tests {
namespace {

constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto c = axis<"c">;
constexpr auto e = axis<"e">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto o = axis<"o">;
constexpr auto p = axis<"p">;
constexpr auto row = tensor<"row", std::int64_t, 1>;
constexpr auto column = tensor<"column", std::int64_t, 1>;
constexpr auto f = tensor<"f", float, 1>;
constexpr auto g = tensor<"g", float, 1>;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto image = tensor<"image", float, 3>;
constexpr auto of_two = [](auto at, auto part) { return select(at == 0_c, 1_c - part, part); };

// Of a program with 300 updates of data at random places of `places` rows and columns.
template <class... Y>
std::string plan_of(std::int64_t places, Y...) {
  trial test(detail::build_graph<Y...>());
  const auto has_input = [&](const char* name) {
    for (int k = 0; k < test.g.inputs.size(); ++k) {
      const text_range text = test.g.names[test.g.inputs[k].name];
      if (std::string(test.g.text.data() + text.first, static_cast<std::size_t>(text.size)) == name) return true;
    }
    return false;
  };
  for (const char* name : {"row", "column"})
    if (has_input(name)) test.below(name, {300}, places);
  for (const char* name : {"f", "g"})
    if (has_input(name)) test.random(name, {300});
  if (has_input("x")) test.random("x", {places + 1});
  if (has_input("image")) test.random("image", {3, places + 1, places + 1});
  test.expect_right();
  return test.plan_text();
}

// No row asks every update.
void expect_updates(const std::string& plan) {
  EXPECT_TRUE(has(plan, "scatter") || has(plan, "privatised tables")) << plan;
  EXPECT_FALSE(has(plan, "blocks of 64: 300 elements")) << plan;
}

constexpr auto weight = of_two(a, f(p)) * g(p);

TEST(updates, of_two_neighbours) {
  constexpr auto rows = i.in(0_c, extent(x, dim<0>));
  constexpr auto sums = define<"sums">(rows) = sum(over(p, a.in(0_c, 2_c).where(row(p) + a == i)), weight * x(0_c));
  constexpr auto before = define<"before">(rows) =
      sum(over(p, a.in(0_c, 3_c).where(row(p) - a == i)), f(p)) / 2_c + x(i);
  constexpr auto most = define<"most">(rows) =
      max(over(p, a.in(0_c, 2_c).where(row(p) + a - 1_c == i)), weight + x(0_c));
  for (const std::int64_t places : {1, 5, 40, 400}) {
    SCOPED_TRACE(places);
    const std::string plan = plan_of(places, sums), inside = plan_of(places, before);
    plan_of(places, most);
    if (places == 400) expect_updates(plan), expect_updates(inside);
  }
}

TEST(updates, of_what_is_interpolated) {
  constexpr auto y = define<"y">(p) = sum(a.in(0_c, 2_c), of_two(a, f(p)) * x(row(p) + a));
  constexpr auto loss = define<"loss">() = sum(p, y(p) * g(p));
  for (const std::int64_t places : {1, 5, 40, 400}) {
    const std::string plan = plan_of(places, grad(loss, x), grad(loss, f));
    if (places == 400) expect_updates(plan);
  }
}

constexpr auto corners = over(a.in(0_c, 2_c), b.in(0_c, 2_c));
constexpr auto share = of_two(a, f(p)) * of_two(b, g(p));

TEST(updates, of_corners) {
  constexpr auto y = define<"y">(p, c) = sum(corners, share * image(c, row(p) + a, column(p) + b));
  constexpr auto loss = define<"loss">() = sum(over(p, c), y(p, c) * y(p, c));
  constexpr auto beyond = define<"beyond">(p, c.in(0_c, 3_c)) =
      sum(corners, share * image.padded(0_c)(c, row(p) + a - 1_c, column(p) + b + 1_c));
  constexpr auto cut = define<"cut">() = sum(over(p, c), beyond(p, c) * beyond(p, c));
  for (const std::int64_t places : {1, 5, 70}) {
    const std::string inside = plan_of(places, grad(loss, image)), padded = plan_of(places, grad(cut, image));
    if (places < 70) continue;
    EXPECT_TRUE(has(inside, "fixes an index by data")) << inside;
    EXPECT_TRUE(has(padded, "fixes an index by data")) << padded;
  }
}

// The image's batches are not known to be those of the data: where they are not, nothing is read.
TEST(updates, of_batches_of_another_tensor) {
  constexpr auto n = axis<"n">;
  constexpr auto places = tensor<"places", std::int64_t, 3>;
  constexpr auto shares = tensor<"shares", float, 2>;
  constexpr auto batch = tensor<"batch", float, 3>;
  constexpr auto y = define<"y">(n, p) =
      sum(corners, of_two(a, shares(n, p)) * of_two(b, shares(n, p)) *
                       batch.padded(0_c)(n, places(n, 0_c, p) + a - 1_c, places(n, 1_c, p) + b));
  constexpr auto loss = define<"loss">() = sum(over(n, p), y(n, p) * y(n, p));
  for (const std::int64_t batches : {0, 1, 3, 5}) {
    trial test = trial_of(grad(loss, batch), grad(loss, shares));
    test.below("places", {3, 2, 90}, 70).random("shares", {3, 90}).random("batch", {batches, 71, 70});
    test.expect_right();
    EXPECT_TRUE(batches != 3 || has(test.plan_text(), "fixes an index by data")) << test.plan_text();
  }
}

// Written out, the cases would be sums of their own, each of which looks for its rows.
TEST(updates, of_cells_around) {
  constexpr auto around =
      over(p, a.in(0_c, 2_c), b.in(0_c, 2_c).where((row(p) + a) % 20_c == i && (column(p) + b) % 30_c == j));
  constexpr auto density = define<"density">(i.in(0_c, 20_c), j.in(0_c, 30_c)) = sum(around, share);
  const std::string plan = plan_of(30, density);
  EXPECT_TRUE(has(plan, "fixes an index by data")) << plan;
}

// Messages along edges: what a source gets is a sum of products under a mask of each edge's own.
TEST(updates, of_products) {
  constexpr auto h = tensor<"h", float, 2>;
  constexpr auto w = tensor<"w", float, 2>;
  constexpr auto from = tensor<"from", std::int64_t, 1>;
  constexpr auto to = tensor<"to", std::int64_t, 1>;
  constexpr auto message = define<"message">(e, o) = relu(sum(c, h(from(e), c) * w(c, o)));
  constexpr auto nodes = i.in(0_c, extent(h, dim<0>));
  constexpr auto y = define<"y">(nodes, o) = sum(e.where(to(e) == i), message(e, o));
  constexpr auto loss = define<"loss">() = sum(over(i, o), y(i, o) * y(i, o));
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{3, 5}, {24, 40}, {40, 17}}) {
    trial test = trial_of(y, grad(loss, h), grad(loss, w));
    test.below("from", {500}, 60).below("to", {500}, 60).random("h", {60, in}).random("w", {in, out});
    test.expect_right();
    const std::string plan = test.plan_text();
    EXPECT_TRUE(in != 24 || has(plan, "a scatter would compute it for each of its rows")) << plan;
  }
}

}  // namespace
}  // namespace sheaf::test::updates_tests
