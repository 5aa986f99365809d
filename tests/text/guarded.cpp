// What is not evaluated is no error and adds nothing: empty loops, conditions that never hold, derivatives of either.
// By kernels as by the reference. And programs that planning once took apart wrongly.
#include "answers.hpp"

namespace sheaf::test::guarded_tests {
namespace {

TEST(guarded, an_empty_loop_reads_nothing) {
  const auto none = filled<double>(0, 0), two = filled<double>(2, 1);
  const auto nothing = filled<std::int64_t>(0, 0, 0), far = filled<std::int64_t>(2, 2, 9);
  const auto sevens = filled<std::int64_t>(3, 7);
  expect("input cut: i64[?, ?]\ny(u) = sum(q.in(0, cut(u, 1)), 1.0)", {{"cut", nothing}}, "");
  const char* factor = "input w: f64[?]\ninput v: f64[?]\ny = sum(i.in(0, extent(v, 0)), maximum(v(i), w(3)))";
  expect(factor, {{"w", two}, {"v", none}}, "0 ");
  expect_outside(factor, {{"w", two}, {"v", two}});
  const char* columns =
      "input x: f64[?, ?]\ninput cut: i64[?, ?]\n"
      "y(m, f) = sum(t.in(cut(m, 0), cut(m, 0) + 5), x(t, f))";
  expect(columns, {{"x", filled<double>(5, 0, 1)}, {"cut", far}}, "");
  expect_outside(columns, {{"x", filled<double>(5, 3, 1)}, {"cut", far}});
  // A condition is asked before the loops that it does not wait for; what is read in empty loops alone is not computed.
  expect_outside("input p: i64[?]\ninput v: f64[?]\ny = sum(i.where(p(9) > 0), v(i))", {{"p", sevens}, {"v", none}});
  expect(
      "input p: i64[?]\ninput v: f64[?]\ninput w: f64[?]\nd(i) = sum(j.in(0, 2), w(p(i)))\n"
      "y = sum(over(k, i.in(0, 2)), v(k) * d(i) * d(i + 1))",
      {{"p", sevens}, {"v", none}, {"w", two}}, "0 ");
}

// A sum that a comparison's both sides have is stored for its bits; what is outside in it is no error where the
// comparison is not made.
TEST(guarded, a_sum_that_a_comparison_stores) {
  array<std::int64_t, 1> off(2);
  off(0) = 0, off(1) = 9;
  const char* ties =
      "input x: f64[8]\ninput off: i64[?]\n"
      "d(k.in(0, extent(off, 0) - 1)) = max<empty::zero>(r.in(0, k), sum(u.in(0, off(1)), x(u)))\n"
      "loss = sum(i, d(i))\noutput grad(loss, x)";
  expect(ties, {{"x", filled<double>(8, 1)}, {"off", off}}, "0 0 0 0 0 0 0 0 ");
}

// Whether a clamped subscript is inside depends on no loop; whether it is read does.
TEST(guarded, a_clamped_subscript_in_empty_loops) {
  const char* text = "input w: f64[?]\nd(u.in(0, N)) = min(k.in(0, u), w.clamped(k))\noutput d";
  const auto of = [&](const char* n) { return std::string(text).replace(std::string(text).find('N'), 1, n); };
  const auto none = filled<double>(0, 0);
  expect(of("1").c_str(), {{"w", none}}, "inf ");
  expect_outside(of("2").c_str(), {{"w", none}});
}

// The condition guards the ranges of the loops that it does not wait for, those of a joined sum too.
TEST(guarded, a_condition_guards_the_ranges_behind_it) {
  const auto x = filled<double>(1, 2);
  const auto cut = filled<std::int64_t>(2, 1);
  auto p = filled<std::int64_t>(1, 3);
  const char* joined =
      "input cut: i64[?]\ninput p: i64[?]\ninput x: f64[?]\n"
      "y = sum(over(k, m.where(k != 0)), sum(j.in(0, cut(p(m))), x(k) + j))";
  expect(joined, {{"cut", cut}, {"p", p}, {"x", x}}, "0 ");
  p(0) = 1;
  expect(joined, {{"cut", cut}, {"p", p}, {"x", filled<double>(2, 2)}}, "2 ");
}

TEST(guarded, numbers_outside_are_errors_where_they_are_read) {
  const auto two = filled<double>(2, 1);
  const auto x = filled<double>(5, 3, 1);
  auto cut = filled<std::int64_t>(3, 2, 0);
  auto keys = filled<std::int64_t>(1, 4);
  const char* slices =
      "input w: f64[?]\ninput x: f64[?, ?]\ninput cut: i64[?, ?]\ny(m) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, 0) * "
      "w(3))";
  expect(slices, {{"w", two}, {"x", x}, {"cut", cut}}, "0 0 0 ");
  cut(1, 1) = 2;
  expect_outside(slices, {{"w", two}, {"x", x}, {"cut", cut}});
  const char* keyed =
      "input w: f64[?]\ninput k: i64[?]\ny(c.in(0, 3)) = sum(r.where(k(r) == c), w(2))\nloss = sum(c, y(c))\noutput "
      "grad(loss, w)";
  expect(keyed, {{"w", two}, {"k", keys}}, "0 0 ");
  keys(0) = 1;
  expect_outside(keyed, {{"w", two}, {"k", keys}});
  const char* late =
      "input w: f64[?]\ninput x: f64[?]\nd = w(2)\ny(m.in(0, 3)) = select(m > extent(x, 0), d, 1.0)\noutput jvp(y, x, "
      "x)";
  expect(late, {{"w", two}, {"x", filled<double>(2, 1)}}, "0 0 0 ");
  expect_outside(late, {{"w", two}, {"x", filled<double>(1, 1)}});
  const char* chosen = "input w: f64[?]\ny = select(extent(w, 0) > 2, w(2), 5.0)";
  expect(chosen, {{"w", two}}, "5 ");
}

// The mean over nothing would divide by 0, and what reads it has no terms.
TEST(guarded, a_sum_without_terms_is_not_divided) {
  expect(
      "input x: f64[?, ?]\ninput w: f64[?]\ninput p: i64[?]\ninput v: f64[?]\n"
      "d(i) = logsumexp<empty::zero>(s.where(p(s) == i), mean(j.in(0, extent(x, 0)), cast<f64>(p(s) == j) * w(i)))\n"
      "loss = sum(i, d(i) * d(i))\noutput grad(loss, w), jvp(d, w, v)",
      {{"x", filled<double>(0, 1, 1)},
       {"w", filled<double>(2, 1)},
       {"p", filled<std::int64_t>(3, 1)},
       {"v", filled<double>(2, 1)}},
      "0 0 0 0 ");
}

// A logsumexp walks its index within a walk of the same index; what it demands is asked in one of them.
TEST(guarded, demands_within_two_loops_over_one_index) {
  const char* text =
      "input cut: i64[?, ?]\ny = logsumexp(u, sum<empty::error>(k.in(cut(u, 0), cut(u, 1)), cast<f64>(k)))";
  auto cut = filled<std::int64_t>(1, 2, 2);
  cut(0, 0) = 1;
  expect(text, {{"cut", cut}}, "1 ");
  cut(0, 0) = 2;
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen})
    EXPECT_NE(worth(text, {{"cut", cut}}, runs_on).find("at least one element"), std::string::npos);
}

// A reduction that depends on nothing, in a scatter whose rows threads share: it is no part of their loop.
TEST(guarded, shared_scatters_read_what_stands_before_their_loop) {
  const char* text =
      "input x: f64[?, ?]\ninput v: f64[?]\ninput p: i64[?, ?]\n"
      "y(c, j.in(0, 2)) = sum(i.where(p(i, c) == j), x(i, c) * sum(t, v(t)))";
  options shared;
  shared.sharing = sharing::always;
  const auto x = filled<double>(0, 20, 3);
  const auto v = filled<double>(2, 1);
  const auto p = filled<std::int64_t>(0, 20, 1);
  const arguments with{{"x", x}, {"v", v}, {"p", p}};
  EXPECT_EQ(worth(text, with, jit::backend::chosen, shared), worth(text, with, jit::backend::reference));
}

// Nor is a sum that leaves another sum's product for it, the same for all rows that threads share.
TEST(guarded, shared_rows_wait_for_no_sum_before_their_loop) {
  const char* text =
      "input x: f32[?, ?]\ninput w: f32[?]\n"
      "y(s) = cast<f64>(sum(m.in(1, extent(w, 0)), w(m) * exp(sum(m.in(1, extent(w, 0)), x(s, m)))))";
  options shared;
  shared.sharing = sharing::always;
  const auto x = filled<float>(2, 3, 0);
  const auto w = filled<float>(3, 1);
  EXPECT_EQ(worth(text, {{"x", x}, {"w", w}}, jit::backend::chosen, shared), "2 2 ");
}

// What the scatter of the derivative reads is stored as d already, for more indices than it names.
TEST(guarded, what_is_stored_for_more_indices_than_it_depends_on) {
  const char* text =
      "input w: f64[?]\n"
      "d(c.in(0, 8), j.in(0, 9), h.in(0, 9)) = prod(i.in((-1), 2), w.reflected(j))\n"
      "loss = sum(over(i, j, k), d(i, j, k) * d(i, j, k))\nslope = sum(i, grad(loss, w)(i))\n"
      "output loss, grad(slope, w)";
  const std::string each = "34560 ";
  expect(text, {{"w", filled<double>(9, 2)}}, "41472 " + each + each + each + each + each + each + each + each + each);
}

// Demands are asked in fewer or in more steps than subscripts, so before or after them; each fails with its own words.
TEST(guarded, checks_fail_with_their_own_words) {
  const char* text =
      "input cut: i64[?, ?]\ninput p: i64[?]\ninput w: f64[?]\n"
      "least(f) = min<empty::error>(m.in(cut(f, 0), cut(f, 1)), m)\npicked(h) = w(p(h))\noutput least, picked";
  const auto w = filled<double>(2, 1);
  auto p = filled<std::int64_t>(1, 1);
  auto cut = filled<std::int64_t>(40, 2, 0);
  const std::string words = worth(text, {{"cut", cut}, {"p", p}, {"w", w}}, jit::backend::reference);
  EXPECT_NE(words.find("at least one element"), std::string::npos) << words;
  EXPECT_EQ(worth(text, {{"cut", cut}, {"p", p}, {"w", w}}, jit::backend::chosen), words);
  for (int f = 0; f < 40; ++f) cut(f, 1) = 1;
  p(0) = 2;
  expect_outside(text, {{"cut", cut}, {"p", p}, {"w", w}});
}

// How many elements there are is a sum, of extents alone.
TEST(guarded, demands_that_count_without_data) {
  const char* text =
      "input w: f64[?]\nd(i) = w(i)\n"
      "output mean<empty::error>(over(q.in(0, 1), c.in(0, 1)), d.skipping(q - c))";
  expect(text, {{"w", filled<double>(1, 2)}}, "2 ");
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen})
    EXPECT_NE(worth(text, {{"w", filled<double>(0, 2)}}, runs_on).find("at least one element"), std::string::npos);
}

// What d sums over has the name of the slices that d is computed in.
TEST(guarded, a_definition_computed_in_a_slice_keeps_its_own_indices) {
  const char* text =
      "input cut: i64[?, 2]\ninput x: f64[?, ?]\nd(k) = sum(m.in(0, extent(cut, 0)), x(k, m))\nz = sum(k, d(k))\n"
      "y(j.in(0, 4)) = sum(m.in(0, extent(cut, 0)).where(cut(m, 0) <= j && j < cut(m, 1)), "
      "d(m) * 2 + sum(t.in(cut(m, 0), cut(m, 1)), cast<f64>(t)))\noutput z, y";
  auto x = filled<double>(2, 2, 1);
  auto cut = filled<std::int64_t>(2, 2, 1);
  x(0, 1) = 5;
  x(1, 1) = 7;
  cut(0, 1) = 3;
  cut(1, 0) = 2;
  cut(1, 1) = 4;
  expect(text, {{"cut", cut}, {"x", x}}, "14 0 15 36 21 ");
}

// Each of them may run in lanes of its own: they are not tried together.
TEST(guarded, reductions_within_reductions_are_planned_one_by_one) {
  std::string nested = "1.0";
  for (int depth = 0; depth < 40; ++depth) {
    const std::string i = "i" + std::to_string(depth);
    nested = "sum(" + i + ", w(" + i + ") + " + nested + ")";
  }
  expect(("input w: f64[?]\ny(j) = w(j) * " + nested).c_str(), {{"w", filled<double>(1, 2)}}, "162 ");
}

// The total of nothing is a selection then, and its division by the count, 0 / 0, is asked for all the same.
TEST(guarded, the_mean_of_nothing_is_nan) {
  const array<std::int64_t, 1> k = filled<std::int64_t>(2, 0);
  const array<double, 1> x = filled<double>(2, 1);
  expect("input k: i64[?]\ninput x: f64[?]\ny(c) = mean(u.in(0, k(c)), x(c))\noutput y", {{"k", k}, {"x", x}},
         "nan nan ");
  expect("input k: i64[?]\ninput x: f64[?]\ny(c) = mean(u.in(0, k(c)).where(x(c) > 5), x(c) + u)\noutput y",
         {{"k", k}, {"x", x}}, "nan nan ");
  expect("input k: i64[?]\ninput x: f64[?]\ny(c) = mean(u.in(0, k(c)), x(c))\nl = sum(c, y(c))\noutput grad(l, x)",
         {{"k", k}, {"x", x}}, "0 0 ");
}

// A reduction under another name takes a name that is there already, where nothing within it has that.
TEST(guarded, names_of_indices_are_used_again) {
  expect(
      "input w: f64[?]\ninput off: i64[0]\n"
      "d(m.in(0, extent(w, 0)), s.in(0, extent(w, 0))) = "
      "prod(j.in(0, 0), (w(0) - logsumexp(h.in(off(j), off(j)), w(h))) * w.clamped(s))\n"
      "loss = sum(over(i, j), d(i, j))\nslope = sum(i, grad(loss, w)(i))\noutput grad(slope, w)",
      {{"w", filled<double>(1, 2)}, {"off", filled<std::int64_t>(0, 0)}}, "0 ");
}

// The loop over t stores d(k, t) as it goes: d(k, k) is there when it is done, though k and t have one range.
TEST(guarded, a_reduction_that_shares_a_loop_reads_what_the_iteration_stores) {
  auto x = filled<double>(3, 2);
  x(2) = 4;
  expect(
      "input x: f64[?]\nd(k.in(0, 3), t.in(0, 3)) = x(k) + t\ny(q.in(0, 3)) = prod(t.in(0, 3), d(q, q))\n"
      "output d, y",
      {{"x", x}}, "2 3 4 2 3 4 4 5 6 8 27 216 ");
}

// Two stages share a loop; a third needs the sum of what the first stores there: a loop around them must not make it
// with the sums of the second, which come before.
TEST(guarded, a_sum_of_what_a_shared_loop_stores_waits_for_its_end) {
  array<double, 3> x(2, 2, 3), w(2, 2, 3), v(2, 2, 3);
  for (int k = 0; k < 12; ++k) x.data()[k] = k % 5 - 2, w.data()[k] = k % 7 * 0.5, v.data()[k] = k % 3 - 1;
  const char* const text =
      "input x: f64[2, 2, 3]\ninput w: f64[2, 2, 3]\ninput v: f64[2, 2, 3]\n"
      "mean_x(i.in(0, 2), j.in(0, 1)) = mean(over(a.in(0, 2), b.in(0, 3)), x(i, a, b))\n"
      "away(i.in(0, 2), j.in(0, 2), k.in(0, 3)) = x(i, j, k) - mean_x(i, 0)\n"
      "square(i.in(0, 2), j.in(0, 1)) = mean(over(a.in(0, 2), b.in(0, 3)), away(i, a, b) * away(i, a, b))\n"
      "y(i.in(0, 2), j.in(0, 2), k.in(0, 3)) = away(i, j, k) * square(i, 0)\n"
      "d = sum(over(a.in(0, 2), b.in(0, 2), c.in(0, 3)), vjp(y, x, w)(a, b, c) * v(a, b, c))\n"
      "output vjp(y, x, w), grad(d, x)";
  const arguments with{{"x", x}, {"w", w}, {"v", v}};
  expect(text, with, worth(text, with, jit::backend::reference));
}

// The condition makes the range of c one of i, and the sum within is over another i: c stays the outer one's.
TEST(guarded, an_index_whose_range_depends_on_an_index_of_the_same_name) {
  auto cut = filled<std::int64_t>(1, 2, 1);
  cut(0, 1) = 3;
  expect(
      "input w: f64[?]\ninput cut: i64[?, ?]\n"
      "d(c.in(0, 1), m) = mean(i.in(0, cut(m, 1)).where(cut.wrapped(m, i) > c), w.clamped(i))\n"
      "loss = sum(over(i, j), d(i, j))\noutput grad(loss, w)",
      {{"w", filled<double>(3, 2)}, {"cut", cut}}, "0.333333 0.333333 0.333333 ");
}

// The derivative sums over t what holds a product over another t of the same range, which depends on r: no running sum.
TEST(guarded, a_running_sum_of_folds_over_an_index_of_the_same_name) {
  auto cut = filled<std::int64_t>(1, 2, 3);
  auto x = filled<double>(4, 3, 1);
  x(0, 0) = 2;
  x(1, 1) = 3;
  x(2, 2) = 5;
  expect(
      "input x: f64[?, ?]\ninput cut: i64[?, ?]\ninput v: f64[?, ?]\n"
      "d(r.in(0, extent(x, 0))) = sum(j.in(0, cut(0, 1)), prod(t.in(0, r), x(t, j)))\noutput jvp(d, x, v)",
      {{"x", x}, {"cut", cut}, {"v", filled<double>(4, 3, 1)}}, "0 3 9 23 ");
}

// The second of a pair says nothing of the first: no direction of that moves it, be its derivative infinite or NaN.
TEST(guarded, a_fold_derives_by_what_its_component_takes) {
  auto x = filled<double>(2, 2);
  x(0) = -1;
  expect(
      "input x: f64[?]\ninput v: f64[?]\n"
      "monoid latest((a, b), (c, d)) = tuple(maximum(a, c), select(c >= a, d, b)) identity tuple(-9, 0) in_order\n"
      "y = get<1>(fold(latest, m.in(0, 2), tuple(sqrt(x(m)), cast<f64>(m))))\noutput y, grad(y, x), jvp(y, x, v)",
      {{"x", x}, {"v", filled<double>(2, 1)}}, "0 0 0 0 ");
}

// The quotient of the product by its element leaves a sum that may have no term: 0, and not 0 / NaN.
TEST(guarded, a_sum_over_nothing_is_not_divided) {
  expect(
      "input x: f64[?, ?]\ninput v: f64[?, ?]\n"
      "d(f) = prod(u.in(f, 0), graft(mean(k.in(1, 0), cast<f64>(0)), logsumexp(j.in(0, u), x(f, 0))))\n"
      "output jvp(d, x, v)",
      {{"x", filled<double>(1, 0, 0)}, {"v", filled<double>(1, 0, 0)}}, "0 ");
}

// Nor where a condition leaves no term.
TEST(guarded, a_sum_without_a_term_is_not_divided) {
  expect(
      "w = sum(c, y(c))\nd(r.in(0, extent(rows, 0))) = prod(t.in(0, 2).where(mask.skipping(r + t)), w)\n"
      "output jvp(d, y, v)",
      {{"y", filled<double>(1, math::nan)},
       {"v", filled<double>(1, 1)},
       {"mask", filled<std::int64_t>(1, 0)},
       {"rows", filled<std::int64_t>(1, 0)}},
      "0 ");
}

// The elements of padding are factors too: two of them are 0 in the longer slice, one in the other.
TEST(guarded, a_slice_of_padding_is_not_clipped) {
  array<std::int64_t, 2> cut(2, 2);
  cut(0, 0) = cut(1, 0) = 0;
  cut(0, 1) = 1, cut(1, 1) = 15;
  expect("d(r) = prod(s.in(cut(r, 0), cut(r, 1)), x.padded(0)(s))\nloss = sum(r, d(r))\noutput grad(loss, x)",
         {{"x", filled<double>(1, 0)}, {"cut", cut}}, "1 ");
}

// A triangle has rows, if not for the first index of its outer loop: what none of them changes is computed before.
TEST(guarded, a_scatter_over_a_triangle_does_not_repeat_a_reduction) {
  const text_program program(
      "y(j.in(0, 2)) = sum(over(k, s.in(0, 24), h.in(0, s).where(p(k) == j)), x(h) * max(t.in(0, 24), w(k) * x(t)))");
  const auto p = filled<std::int64_t>(3, 1);
  const auto w = filled<double>(3, 1), x = filled<double>(30, 1);
  const std::string plan = program.explain({{"p", p}, {"w", w}, {"x", x}});
  EXPECT_NE(plan.find("a scatter would compute it for each of its rows"), std::string::npos) << plan;
}

// A gradient of a gradient reaches one load behind thousands of conditions; those that others imply are not asked.
TEST(guarded, a_subscript_outside_is_looked_for_once_behind_its_weakest_conditions) {
  const text_program program(
      "y(k.in(0, extent(x, 0)), t.in(0, 3)) = prod(over(r, c.in(0, 2)), "
      "sum(u.in(cut(r, 0), cut(r, 1)), x.skipping(k, k + r)))\n"
      "loss = sum(over(k, t), y(k, t))\nslope = sum(over(k, t), grad(loss, x)(k, t) * grad(loss, x)(k, t))\n"
      "output grad(slope, x)");
  const auto x = array<double, 2>(7, 6);
  const auto cut = array<std::int64_t, 2>(5, 1);
  const std::string plan = program.explain({{"x", x}, {"cut", cut}});
  int checks = 0;
  for (std::size_t at = 0; (at = plan.find("check subscript", at)) != std::string::npos; ++at) ++checks;
  EXPECT_GT(checks, 0) << plan;
  EXPECT_LT(checks, 100);
  EXPECT_THROW(program({{"x", x}, {"cut", cut}}), error);
}

// Whether a number is outside is asked when a call has an empty range; the other subscripts of its load are checked all
// the same.
TEST(guarded, subscripts_beside_a_number_that_may_be_outside) {
  const auto x = filled<double>(2, 3, 1);
  const auto none = filled<double>(0, 0), one = filled<double>(1, 1);
  const char* rows = "y(i.in(0, extent(w, 0))) = x(i, 1) * w(i) + sum(j, v(j))";
  for (const shape_policy shapes : {shape_policy::automatic, shape_policy::classes}) {
    const text_program program(rows, options{.shapes = shapes});
    EXPECT_THROW(program({{"x", x}, {"w", filled<double>(5, 1)}, {"v", none}}), error);
    EXPECT_THROW(program({{"x", filled<double>(2, 1, 1)}, {"w", one}, {"v", none}}), error);
    EXPECT_NO_THROW(program({{"x", x}, {"w", filled<double>(2, 1)}, {"v", none}}));
    EXPECT_NO_THROW(program({{"x", filled<double>(2, 1, 1)}, {"w", none}, {"v", none}}));
  }
}

// Whether a clamped subscript of data is inside is asked of a tensor's extent alone, of whoever reads it.
TEST(guarded, a_clamped_subscript_of_data_in_empty_loops) {
  const auto none = filled<double>(0, 0);
  const auto at = filled<std::int64_t>(2, 3), nowhere = filled<std::int64_t>(0, 0);
  for (const shape_policy shapes : {shape_policy::automatic, shape_policy::classes}) {
    const text_program program("y(c.in(0, extent(k, 0))) = sum(u.in(0, 16), exp(x.clamped(u + k(c))))",
                               options{.shapes = shapes});
    EXPECT_NO_THROW(program({{"x", none}, {"k", nowhere}}));
    EXPECT_NO_THROW(program({{"x", filled<double>(2, 1)}, {"k", at}}));
    EXPECT_THROW(program({{"x", none}, {"k", at}}), error);
  }
}

// A number outside is asked for in the loops of each place that reads it: some are empty.
TEST(guarded, a_number_outside_in_an_empty_loop_and_beside_it) {
  expect_outside("y(a) = select(a == 1, max(i.in(0, c(a)), w(2) + x(i)) + w(2), 0)",
                 {{"w", filled<double>(2, 1)}, {"c", filled<std::int64_t>(3, 0)}, {"x", filled<double>(3, 1)}});
}

}  // namespace
}  // namespace sheaf::test::guarded_tests
