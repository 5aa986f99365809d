// Scatters to few rows by tables of warps: sums in the order of lanes, extrema, rows that most updates go to, and rows
// that none goes to; which programs are planned so. Folds of a batch norm's shape: what is joined before, and sums that
// wait for no other.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <cuda/plan_text.hpp>

namespace sheaf::test::group_tables_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto d = tensor<"d", double, 1>;
constexpr auto id = tensor<"id", std::int64_t, 1>;
constexpr auto x2 = tensor<"x2", float, 2>;
constexpr auto id2 = tensor<"id2", std::int32_t, 2>;

// Every so many updates go to row 3; ids may be outside of the rows.
values ids_of(std::int64_t n, std::int64_t rows, std::int64_t hot) {
  values ids = integers({n}, {});
  for (std::int64_t k = 0; k < n; ++k)
    ids.numbers.push_back(static_cast<double>(k % hot == 0 ? (k * 7919) % (rows + 2) - 1 : 3));
  return ids;
}

template <int Rows>
void check(std::int64_t n, std::int64_t hot) {
  constexpr auto r = axis<"r", Rows>;
  values wide = floats(2, {n}, -2, 3);
  wide.type = element::f64;
  const table data = {{"x", floats(1, {n}, -2, 3)}, {"d", wide}, {"id", ids_of(n, Rows, hot)}};
  constexpr auto updates = t.where(id(t) == r);
  check_backends(value_of("y", define<"y">(r) = sum(updates, x(t))), data);
  check_backends(value_of("y", define<"y">(r) = mean(updates, d(t) * x(t))), data);
  check_backends(value_of("y", define<"y">(r) = max(updates, x(t))), data);
  check_backends(value_of("y", define<"y">(r) = min(updates, d(t))), data);
  check_backends(value_of("y", define<"y">(r) = max(updates, id(t) * t)), data);
}
TEST(group_tables, few_rows) {
  check<5>(3001, 1);
  check<5>(700, 9);
}
TEST(group_tables, many_rows) {
  check<700>(3001, 1);
  check<1500>(3001, 2);
}
TEST(group_tables, of_two_indices_and_some) {
  constexpr auto r = axis<"r", 6>;
  values ids{element::i32, {70, 43}, {}};
  for (int k = 0; k < 70 * 43; ++k) ids.numbers.push_back((k * 7919) % 9 - 1);
  const table data = {{"x2", floats(1, {70, 43}, -2, 3)}, {"id2", ids}};
  constexpr auto updates = over(t, u.where(id2(t, u) == r && x2(t, u) < 2_c));
  check_backends(value_of("y", define<"y">(r) = sum(updates, x2(t, u))), data);
  check_backends(value_of("y", define<"y">(r) = min(updates, x2(t, u))), data);
}

bool has(const std::string& plan, const char* words) { return plan.find(words) != std::string::npos; }

TEST(group_tables, are_planned) {
  constexpr auto r = axis<"r", 4096>;
  constexpr auto many = axis<"r", 5000>;
  const std::vector<std::vector<std::int64_t>> extents = {{1 << 26}, {1 << 26}};
  EXPECT_TRUE(has(plan_of(extents, define<"y">(r) = sum(t.where(id(t) == r), x(t))), "in shared memory"));
  EXPECT_TRUE(has(plan_of(extents, define<"y">(r) = max(t.where(id(t) == r), x(t))), "in shared memory"));
  EXPECT_FALSE(has(plan_of(extents, define<"y">(r) = max(t.where(id(t) == r), d(t))), "in shared memory"));
  EXPECT_FALSE(has(plan_of(extents, define<"y">(many) = sum(t.where(id(t) == many), x(t))), "in shared memory"));
}

constexpr auto b = axis<"b">;
constexpr auto c = axis<"c">;
constexpr auto image = tensor<"image", float, 3>;
constexpr auto gain = tensor<"gain", float, 1>;
constexpr auto g = tensor<"g", float, 3>;
constexpr auto all = over(b, u);
constexpr auto middle = define<"middle">(c) = mean(all, image(b, c, u));
constexpr auto off = image(b, c, u) - middle(c);
constexpr auto spread = define<"spread">(c) = mean(all, off * off);
constexpr auto normed = define<"normed">(b, c, u) = off * rsqrt(spread(c) + 0.001_c) * gain(c);
constexpr auto loss = define<"loss">() = sum(over(b, c, u), normed(b, c, u) * g(b, c, u));

TEST(group_tables, batch_norm) {
  for (const std::int64_t batch : {1, 40}) {
    const std::vector<std::int64_t> extents = {batch, 5, 70};
    const table data = {
        {"image", floats(1, extents, 2, 3)}, {"gain", floats(2, {5}, 1, 2)}, {"g", floats(3, extents, -1, 1)}};
    check_backends({"norm", words_of(normed, grad(loss, image), grad(loss, gain)), {}, {}, ""}, data);
  }
  const std::vector<std::int64_t> extents = {64, 256, 3136};
  const std::string plan = plan_of({extents, {256}, extents}, normed, grad(loss, image), grad(loss, gain));
  EXPECT_TRUE(has(plan, "multiples of sums that wait for no other fold")) << plan;
  EXPECT_TRUE(has(plan, "partial results, of fewer rows than there are tasks")) << plan;
  EXPECT_TRUE(has(plan, "about it in one walk")) << plan;
}

}  // namespace
}  // namespace sheaf::test::group_tables_tests
