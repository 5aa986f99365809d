// Run-time errors: their sentences, that both backends find them, and that a call that fails leaves its outputs alone.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto rows = define<"rows">(i, j) = x(pick(i), j);
constexpr auto other = define<"other">(j) = sum(t, x(t, j));

// The sentence of a call into a view full of -77, on one backend; the view must keep its numbers.
template <class Program, class Output, class T, int Rank, class... B>
std::string failing(const Program& program, Output output, array<T, Rank> into, B&&... arguments) {
  into.fill(-77);
  const std::string said = sentence_of([&] { program(output = into, arguments...); });
  const bool kept = std::all_of(into.begin(), into.end(), [](T v) { return v == -77; });
  EXPECT_TRUE(said.empty() || kept) << "an output was written by a call that failed: " << said;
  return said;
}

array<float, 2> table(int n, int width) {
  array<float, 2> out(n, width);
  for (int k = 0; k < n * width; ++k) out.data()[k] = static_cast<float>(k);
  return out;
}
using ids = std::vector<std::int64_t>;

TEST(extent_errors, tensors_that_disagree) {
  constexpr auto y = tensor<"y", float, 2>;
  constexpr auto dot = define<"dot">(i) = sum(j, x(i, j) * y(i, j));
  const auto expected =
      "extent_mismatch: index j: expected one extent: dimension 1 of x gives 4, found dimension 1 of y gives 5";
  EXPECT_EQ(failing(compile(dot), dot, array<float, 1>(3), x = table(3, 4), y = table(3, 5)), expected);
  EXPECT_EQ(failing(reference(dot), dot, array<float, 1>(3), x = table(3, 4), y = table(3, 5)), expected);
}

TEST(extent_errors, fixed_extents) {
  constexpr auto w = tensor<"w", float, 2, 3, 4>;
  constexpr auto total = define<"total">() = sum(over(i, j), w(i, j));
  const auto expected = "extent_mismatch: argument w, dimension 1: expected extent 4, found 5";
  EXPECT_EQ(failing(compile(total), total, array<float, 0>(), w = table(3, 5)), expected);
  EXPECT_EQ(failing(reference(total), total, array<float, 0>(), w = table(3, 5)), expected);
}

TEST(extent_errors, wrong_outputs) {
  const auto expected = "extent_mismatch: output other, dimension 0: expected extent 4, found 5";
  EXPECT_EQ(failing(compile(other), other, array<float, 1>(5), x = table(3, 4)), expected);
  EXPECT_EQ(failing(reference(other), other, array<float, 1>(5), x = table(3, 4)), expected);
}

TEST(subscript_errors, in_a_gather) {
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const ids picks = {0, 2, bad, 1, 7};
    const std::string found = std::to_string(bad);
    EXPECT_EQ(failing(compile(rows), rows, array<float, 2>(5, 4), x = table(3, 4), pick = picks),
              "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found " + found +
                  " for pick(i) at i = 2");
    EXPECT_EQ(failing(reference(rows), rows, array<float, 2>(5, 4), x = table(3, 4), pick = picks),
              "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found " + found);
  }
}

// The first by position, whatever the number of threads and of bad ones.
TEST(subscript_errors, name_the_first_of_many) {
  ids picks(100000, 1);
  for (std::size_t k = 4321; k < picks.size(); k += 100) picks[k] = 9;
  const auto said = sentence_of([&] { compile(rows)(x = table(3, 4), pick = picks); });
  EXPECT_EQ(
      said,
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 9 for pick(i) at i = 4321");
}

// Checks of much data are asked together first, in 32 bits: whatever is outside is found, where it is and as it is.
TEST(subscript_errors, of_numbers_that_are_cast) {
  constexpr auto u = tensor<"u", float, 1>;
  constexpr auto at = define<"at">(t) = cast<std::int64_t>(floor(u(t) * 2_c));
  constexpr auto slope = define<"slope">(t) = x(at(t), 1_c) + x(at(t) + 1_c, 2_c);
  constexpr auto bounded = define<"bounded">(t) = x(minimum(maximum(at(t), 0_c), 7_c), 1_c);
  const auto sloped = compile(slope);
  const auto kept = compile(bounded);
  const auto message = [](const std::string& e, int last = 7) {
    return "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to " + std::to_string(last) +
           ", found one outside for " + e + " at t = 54321";
  };
  std::vector<float> places(100000, 1.5F);
  places[7] = NAN;  // 0
  EXPECT_EQ(sentence_of([&] { sloped(x = table(8, 4), u = places); }), "");
  const std::string cast = "cast<i64>(floor(u(t) * 2))";
  const auto said = [&](const auto& program, float bad, int rows) {
    places[54321] = bad;
    places[60000] = bad;
    return sentence_of([&] { program(x = table(rows, 4), u = places); });
  };
  EXPECT_EQ(said(sloped, -0.5F, 8), message(cast));
  for (const float bad : {3.5F, 0x1p31F, -0x1p40F, 0x1p90F}) EXPECT_EQ(said(sloped, bad, 8), message(cast + " + 1"));
  EXPECT_EQ(said(kept, 0x1p90F, 8), "");
  EXPECT_EQ(said(kept, 3, 7), "");
  EXPECT_EQ(said(kept, 0x1p90F, 7), message("minimum(maximum(" + cast + ", 0), 7)", 6));
}

TEST(subscript_errors, leave_every_output_alone) {
  // `other` reads nothing bad, but belongs to the call that fails.
  const auto program = compile(rows, other);
  array<float, 2> first(2, 4);
  array<float, 1> second(4);
  first.fill(-1), second.fill(-1);
  EXPECT_NE(sentence_of([&] { program(x = table(3, 4), pick = ids{0, 3}, rows = first, other = second); }), "");
  for (const float v : first) EXPECT_EQ(v, -1);
  for (const float v : second) EXPECT_EQ(v, -1);
  program(x = table(3, 4), pick = ids{0, 2}, rows = first, other = second);
  EXPECT_EQ(second(0), 0 + 4 + 8);
}

TEST(subscript_errors, in_the_gradient_of_a_gather) {
  constexpr auto loss = define<"loss">() = sum(over(i, j), rows(i, j) * rows(i, j));
  const auto dx = grad(loss, x);
  const auto program = compile(loss, dx);
  array<float, 2> into(3, 4);
  into.fill(-77);
  const auto said = sentence_of([&] { program(x = table(3, 4), pick = ids{0, 5}, dx = into); });
  EXPECT_EQ(
      said,
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 5 for pick(i) at i = 1");
  for (const float v : into) EXPECT_EQ(v, -77);
}

// The gradient alone reads less than what it is the gradient of; a bad subscript of that is a mistake all the same.
TEST(subscript_errors, in_what_a_gradient_alone_is_taken_of) {
  constexpr auto loss = define<"loss">() = sum(over(i, j), rows(i, j));
  const auto dx = grad(loss, x);
  array<float, 2> into(3, 4);
  into.fill(-77);
  const auto bad = [&](const auto& program) {
    return sentence_of([&] { program(x = table(3, 4), pick = ids{0, 5}, dx = into); });
  };
  const std::string said = "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 5";
  EXPECT_EQ(bad(compile(dx)).substr(0, said.size()), said);
  EXPECT_EQ(bad(reference(dx)).substr(0, said.size()), said);
  for (const float v : into) EXPECT_EQ(v, -77);
}

// Of short slices all is walked before; what no slice reads is no mistake, and the first that one reads is named.
TEST(subscript_errors, in_short_slices) {
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto sums = define<"sums">(i.in(0_c, extent(off, dim<0>) - 1_c)) =
      sum(t.in(off(i), off(i + 1_c)), v(pick(t)));
  const std::vector<float> values = {1, 2, 4};
  ids picks(3003, 1), begins;
  for (std::int64_t n = 0; n <= 1000; ++n) begins.push_back(3 * n);
  const auto program = compile(sums);
  const auto said = [&] { return sentence_of([&] { program(v = values, pick = picks, off = begins); }); };
  EXPECT_EQ(said(), "");
  picks[3001] = 7, picks[3002] = -1;
  EXPECT_EQ(said(), "");
  picks[2000] = 8, picks[1502] = 5;
  const std::string found = "index_out_of_range: tensor v, dimension 0: expected a subscript from 0 to 2, found 5";
  EXPECT_EQ(said(), found + " for pick(t) at i = 500, t = 1502");
  EXPECT_EQ(sentence_of([&] { reference(sums)(v = values, pick = picks, off = begins); }), found);
}

// An empty bag has 0 by a select; that is no condition on what a bag with elements reads.
TEST(subscript_errors, in_the_largest_of_a_bag) {
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto most = embedding_bag<bag{.mode = bag_mode::max}>(pick, x, offsets(off));
  constexpr auto total = define<"total">() = sum(over(i, j), most(i, j));
  const auto dx = grad(total, x);
  const std::string said = "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 3";
  const auto begin = [&](const std::string& sentence) { return sentence.substr(0, said.size()); };
  const ids bad{0, 1, 3}, good{0, 1, 2}, offs{0, 0, 2, 2, 3};
  EXPECT_EQ(begin(failing(compile(most), most, array<float, 2>(4, 4), x = table(3, 4), pick = bad, off = offs)), said);
  EXPECT_EQ(begin(failing(reference(most), most, array<float, 2>(4, 4), x = table(3, 4), pick = bad, off = offs)),
            said);
  EXPECT_EQ(begin(failing(compile(dx), dx, array<float, 2>(3, 4), x = table(3, 4), pick = bad, off = offs)), said);
  EXPECT_EQ(failing(compile(most), most, array<float, 2>(4, 4), x = table(3, 4), pick = good, off = offs), "");
}

TEST(subscript_errors, slice_ends) {
  constexpr auto pooled = define<"pooled">(i, j) = mean(t.in(cut(i, 0_c), cut(i, 1_c)), x(t, j));
  const auto ends = [](std::int64_t begin, std::int64_t end) {
    return filled(array<std::int64_t, 2>(2, 2), {0, 1, double(begin), double(end)});
  };
  const auto said = [&](std::int64_t begin, std::int64_t end) {
    const auto slow =
        failing(reference(pooled), pooled, array<float, 2>(2, 4), x = table(3, 4), cut = ends(begin, end));
    const auto fast = failing(compile(pooled), pooled, array<float, 2>(2, 4), x = table(3, 4), cut = ends(begin, end));
    EXPECT_EQ(slow.empty(), fast.empty()) << begin << ", " << end << ": " << slow << " / " << fast;
    EXPECT_EQ(slow.substr(0, 70), fast.substr(0, 70));
    return fast;
  };
  const std::string outside = "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found ";
  EXPECT_EQ(said(1, 4).substr(0, outside.size() + 2), outside + "3 ");
  EXPECT_EQ(said(-1, 2).substr(0, outside.size() + 3), outside + "-1 ");
  EXPECT_EQ(said(0, 3), "");
  EXPECT_EQ(said(7, 7), "");  // an empty slice reads nothing, wherever it stands
  EXPECT_EQ(said(2, 0), "");  // nor does one that ends before it begins: its length counts as 0
  EXPECT_EQ(said(-9, -20), "");
}

TEST(subscript_errors, slices_that_end_before_they_begin_are_empty) {
  constexpr auto pooled = define<"pooled">(i) = mean(t.in(cut(i, 0_c), cut(i, 1_c)), x(t, 0_c));
  constexpr auto total = define<"total">(i) = sum(t.in(cut(i, 0_c), cut(i, 1_c)), x(t, 0_c));
  const std::int64_t ends[3][2] = {{2, 0}, {1, 1}, {0, 2}};
  const auto [m, s] = both(pooled, total)(x = table(3, 4), cut = ends);
  EXPECT_TRUE(std::isnan(m(0)));
  EXPECT_TRUE(std::isnan(m(1)));
  EXPECT_EQ(m(2), 2);
  EXPECT_EQ(s(0), 0);
}

// The distance between such ends wraps around to a positive number.
TEST(subscript_errors, nor_do_ends_that_are_farther_apart_than_integers_reach) {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto total = define<"total">(i) = sum(t.in(cut(i, 0_c), cut(i, 1_c)), v(t));
  constexpr auto next = define<"next">(i) = sum(t.in(cut(i, 0_c), cut(i, 1_c)), v(t + 1_c));
  constexpr auto loss = define<"loss">() = sum(i, total(i) * total(i));
  const std::int64_t ends[2][2] = {{INT64_MAX, INT64_MIN}, {INT64_MAX - 2, INT64_MIN + 8}};
  const auto [s, n, d] = both(total, next, grad(loss, v))(v = std::vector<float>(20, 1.0f), cut = ends);
  const auto all_zero = [](const auto& a) { return std::all_of(a.begin(), a.end(), [](float e) { return e == 0; }); };
  EXPECT_TRUE(all_zero(s));
  EXPECT_TRUE(all_zero(n));
  EXPECT_TRUE(all_zero(d));
}

TEST(subscript_errors, affine_and_fixed_subscripts) {
  constexpr auto shifted = define<"shifted">(i, j) = x(i + 1_c, j) + x(i, j);
  const auto said = sentence_of([&] { compile(shifted)(x = table(3, 4)); });
  const std::string outside = "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found ";
  EXPECT_EQ(said.substr(0, outside.size()), outside);
  const char* const hint =
      "; i has the extent of x itself: of fewer write, for example, i.in(0_c, extent(x, dim<0>) - 1_c)";
  EXPECT_NE(said.find(hint), std::string::npos) << said;
  EXPECT_EQ(sentence_of([&] { reference(shifted)(x = table(3, 4)); }), outside + "3" + hint);
  constexpr auto seventh = define<"seventh">() = x(7_c, 0_c);
  EXPECT_EQ(sentence_of([&] { compile(seventh)(x = table(3, 4)); }).substr(0, 84),
            "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 7");
  EXPECT_EQ(sentence_of([&] { reference(seventh)(x = table(3, 4)); }).substr(0, 84),
            "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 2, found 7");
}

// A loop that runs zero times reads nothing.
TEST(subscript_errors, not_where_nothing_runs) {
  EXPECT_EQ(sentence_of([&] { both(rows)(x = table(0, 4), pick = ids{}); }), "");
  EXPECT_EQ(sentence_of([&] { both(rows)(x = table(3, 0), pick = ids{}); }), "");
}

TEST(user_errors, outputs_have_memory_of_their_own) {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto twice = define<"twice">(i) = v(i) + v(i);
  constexpr auto thrice = define<"thrice">(i) = 3_c * v(i);
  const auto program = compile(twice, thrice);
  std::vector<float> data(16, 1), other(16, -1);
  const auto lower = view_of(data.data(), 8), upper = view_of(data.data() + 4, 8), rest = view_of(data.data() + 8, 8);
  EXPECT_EQ(sentence_of([&] { program(v = lower, twice = upper); }),
            "bad_argument: output twice: expected memory of its own, found memory of v");
  EXPECT_EQ(sentence_of([&] { program(v = view_of(other.data(), 8), twice = lower, thrice = upper); }),
            "bad_argument: output thrice: expected memory of its own, found memory of twice");
  EXPECT_EQ(sentence_of([&] { program(v = lower, twice = view_of(other.data(), {8}, {0})); }),
            "bad_argument: output twice: expected a place for each element, found stride 0 in dimension 0");
  for (const float e : other) EXPECT_EQ(e, -1);
  program(v = lower, twice = rest, thrice = view_of(other.data(), 8));  // side by side is no overlap
  EXPECT_EQ(data[8], 2);
  EXPECT_EQ(other[7], 3);
}

TEST(user_errors, are_the_users_fault) {
  try {
    compile(rows)(x = table(3, 4), pick = ids{3});
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.fault(), fault::user);
    EXPECT_EQ(e.code(), code::index_out_of_range);
  }
}

}  // namespace
