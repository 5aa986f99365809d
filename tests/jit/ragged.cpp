// Slices whose bounds are data: sorted or not, overlapping, empty, of one row, of all; each program also in small
// tasks, with the passes that are meant for much data.
#include <sheaf/runtime/thread_pool.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::ragged_tests {
namespace {

constexpr auto m = axis<"m">;
constexpr auto k = axis<"k">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", double, 2>;
constexpr auto n = tensor<"n", std::int64_t, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto rows_of = t.in(cut(m, 0_c), cut(m, 1_c));
constexpr auto holding = m.in(0_c, extent(cut, dim<0>)).where(cut(m, 0_c) <= t && t < cut(m, 1_c));

enum class form { apart, sorted, anywhere, same, backwards, single, none };
constexpr form forms[] = {form::apart,     form::sorted, form::anywhere, form::same,
                          form::backwards, form::single, form::none};

std::vector<double> slices(form how, std::int64_t count, std::int64_t rows, unsigned seed) {
  std::mt19937 bits(seed);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(bits() % static_cast<unsigned>(std::max<std::int64_t>(limit, 1)));
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    std::int64_t low = below(rows + 1), high = low + below(rows - low + 1);
    if (how == form::apart)
      low = std::min(rows, at + below(2)), high = at = std::min(rows, low + below(2 * rows / count + 2));
    if (how == form::same) low = rows / 3, high = rows - rows / 4;
    if (how == form::backwards && s % 2 == 0) std::swap(low, high);
    if (how == form::single) high = std::min(rows, low + 1);
    if (how == form::none) low = high = 1000000 - s;
    list.emplace_back(low, high);
  }
  if (how == form::sorted) std::sort(list.begin(), list.end());
  std::vector<double> values;
  for (const auto& [low, high] : list)
    values.insert(values.end(), {static_cast<double>(low), static_cast<double>(high)});
  return values;
}

// test(trial) adds what the program takes beside the bounds. Few and many rows, of one column to more than a task's.
template <class Make, class Test>
void over_all(Make make, Test test) {
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},  {1, 16},  {37, 1},  {37, 3},
                                                              {37, 130}, {300, 1}, {300, 16}, {300, 130}};
  unsigned seed = 1;
  for (const form how : forms)
    for (const auto& [rows, columns] : shapes)
      for (const bool force_for_tests : {false, true}) {
        trial one = make();
        one.force_for_tests = force_for_tests;
        one.with("cut", {23, 2}, slices(how, 23, rows, ++seed));
        SCOPED_TRACE("form " + std::to_string(static_cast<int>(how)) + ", rows " + std::to_string(rows) + ", columns " +
                     std::to_string(columns) + (force_for_tests ? ", force_for_tests" : ""));
        test(one, rows, columns);
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(ragged, means_and_their_gradient) {
  constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(rows_of, x(t, f));
  over_all([&] { return trial_of(pooled, vjp(pooled, x)); },
           [](trial& one, std::int64_t rows, std::int64_t columns) {
             one.random("x", {rows, columns}).random("cotangent_pooled", {23, columns}).expect_right(2e-5);
             if (rows == 1 || !one.force_for_tests) return;
             const bool wide = columns >= 8;
             for (const char* pass : {", slice lists", wide ? ", sweep" : "block tree"})
               EXPECT_NE(one.plan_text().find(pass), std::string::npos) << pass;
           });
}
TEST(ragged, sums_in_f64_and_integers) {
  constexpr auto real = define<"real">(m, f) = sum(rows_of, z(t, f) * z(t, f));
  constexpr auto whole = define<"whole">(m, f) = sum(rows_of, n(t, f));
  constexpr auto top = define<"top">(m, f) = max(rows_of, z(t, f));
  over_all([&] { return trial_of(real, whole, top, vjp(real, z)); },
           [](trial& one, std::int64_t rows, std::int64_t columns) {
             one.random("z", {rows, columns})
                 .below("n", {rows, columns}, 1000)
                 .random("cotangent_real", {23, columns})
                 .expect_right(1e-13);
           });
}
TEST(ragged, other_folds_of_what_holds_a_row) {
  constexpr auto most = define<"most">(t, f) = max(holding, n(m, f));
  constexpr auto held = define<"held">(t.in(0_c, extent(n, dim<0>))) = any(holding, cut(m, 0_c) < 20_c);
  constexpr auto some = define<"some">(t, f) =
      sum(m.in(0_c, extent(cut, dim<0>)).where(cut(m, 0_c) <= t && t < cut(m, 1_c) && z(t, f) < 0_c), z(m, f));
  over_all([&] { return trial_of(some); },
           [](trial& one, std::int64_t rows, std::int64_t columns) {
             one.random("z", {std::max<std::int64_t>(rows, 23), columns}).expect_right(1e-13);
           });
  static_cast<void>(most), static_cast<void>(held);
}
// Blocks of 64 rows in tables of several levels, and columns in several tasks: what much data is planned as.
TEST(ragged, sweeps_of_many_rows) {
  constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(rows_of, x(t, f));
  constexpr auto top = define<"top">(m, f) = max(rows_of, x(t, f));
  for (const form how : forms) {
    const std::int64_t rows = how == form::apart ? 4100 : 4500, columns = 80, count = 1200;
    trial one = trial_of(pooled, top, vjp(pooled, x));
    one.with("cut", {count, 2}, slices(how, count, rows, 11)).random("x", {rows, columns});
    one.random("cotangent_pooled", {count, columns});
    SCOPED_TRACE("form " + std::to_string(static_cast<int>(how)));
    EXPECT_NE(one.plan_text().find("in blocks of 64"), std::string::npos) << one.plan_text();
    ASSERT_EQ(one.run(), 0);
    const memory &cuts = one.inputs[one.slot("cut")], &y = one.inputs[one.slot("x")];
    memory bounds = cuts, values = y, cotangent = one.inputs[one.slot("cotangent_pooled")];
    std::vector<double> change(static_cast<std::size_t>((rows + 1) * columns));
    for (std::int64_t s = 0; s < count; ++s) {
      const auto low = static_cast<std::int64_t>(bounds.real(2 * s)),
                 high = static_cast<std::int64_t>(bounds.real(2 * s + 1));
      for (std::int64_t v = 0; v < columns; v += 13) {
        double sum = 0, most = -INFINITY;
        for (std::int64_t r = low; r < high; ++r) {
          sum += values.real(r * columns + v);
          most = std::max(most, values.real(r * columns + v));
        }
        const double size = static_cast<double>(high - low), want = low < high ? sum / size : 0;
        ASSERT_NEAR(one.outputs[0].real(s * columns + v), want, 1e-6) << "slice " << s;
        ASSERT_EQ(one.outputs[1].real(s * columns + v), most) << "slice " << s;
        if (low >= high) continue;
        change[static_cast<std::size_t>(low * columns + v)] += cotangent.real(s * columns + v) / size;
        change[static_cast<std::size_t>(high * columns + v)] -= cotangent.real(s * columns + v) / size;
      }
    }
    for (std::int64_t v = 0; v < columns; v += 13) {
      double at = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        ASSERT_NEAR(one.outputs[2].real(r * columns + v), at += change[static_cast<std::size_t>(r * columns + v)], 1e-4)
            << "row " << r;
    }
  }
}
// The part of a slice before its last block waits in f64: only the result is rounded.
TEST(ragged, means_of_overlapping_slices_are_rounded_once) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(rows_of, x(t, f));
  const std::int64_t rows = 4500, columns = 80, count = 1200;
  std::mt19937 bits(5);
  std::vector<double> bounds;
  for (std::int64_t s = 0; s < count; ++s) {
    const auto size = static_cast<std::int64_t>(65 + bits() % 300u);
    const auto low = static_cast<std::int64_t>(bits() % static_cast<unsigned>(rows - size + 1));
    bounds.insert(bounds.end(), {static_cast<double>(low), static_cast<double>(low + size)});
  }
  trial one = trial_of(pooled);
  one.with("cut", {count, 2}, bounds).random("x", {rows, columns});
  EXPECT_NE(one.plan_text().find("in blocks of 64"), std::string::npos) << one.plan_text();
  ASSERT_EQ(one.run(), 0);
  memory& x_data = one.inputs[one.slot("x")];
  for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s)
    for (std::int64_t v = 0; v < columns; v += 7) {
      const auto low = static_cast<std::int64_t>(bounds[2 * s]), high = static_cast<std::int64_t>(bounds[2 * s + 1]);
      double sum = 0;
      for (std::int64_t r = low; r < high; ++r) sum += x_data.real(r * columns + v);
      const double want = sum / static_cast<double>(high - low), half_unit = std::ldexp(1.0, std::ilogb(want) - 24);
      ASSERT_NEAR(one.outputs[0].real(static_cast<std::int64_t>(s) * columns + v), want, half_unit * 1.0001)
          << "slice " << s;
    }
}
// Rows that no slice has get 0 and not what is left of a difference.
TEST(ragged, nothing_outside_of_slices) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(rows_of, x(t, f));
  trial one = trial_of(vjp(pooled, x));
  one.force_for_tests = true;
  std::vector<double> bounds;
  for (int s = 0; s < 40; ++s) bounds.insert(bounds.end(), {10.0 + s % 7, 60.0 + s % 5});
  one.with("cut", {40, 2}, bounds).random("x", {200, 16}).random("cotangent_pooled", {40, 16});
  ASSERT_EQ(one.run(), 0);
  EXPECT_NE(one.plan_text().find(", sweep"), std::string::npos);
  for (std::int64_t r = 0; r < 200; ++r)
    for (std::int64_t v = 0; v < 16; ++v)
      if (r < 10 || r >= 64) {
        EXPECT_EQ(one.outputs[0].get<std::uint32_t>(r * 16 + v), 0u) << r;
      }
}
TEST(ragged, same_bits_for_any_number_of_threads) {
  constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(rows_of, x(t, f));
  for (const std::int64_t columns : {1, 3, 16, 300})
    for (const form how : {form::apart, form::anywhere}) {
      trial one = trial_of(pooled, vjp(pooled, x));
      one.force_for_tests = true;
      one.with("cut", {50, 2}, slices(how, 50, 400, 3)).random("x", {400, columns});
      one.random("cotangent_pooled", {50, columns});
      std::vector<std::vector<unsigned char>> first;
      for (const int threads : {1, 2, 3, 7, 16}) {
        runtime::thread_pool pool(threads);
        if (!one.code) one.make();
        one.code->call.parallel_for = pool.hook().run;
        one.code->call.pool = pool.hook().pool;
        ASSERT_EQ(one.run(), 0);
        for (std::size_t k = 0; k < one.outputs.size(); ++k) {
          if (first.size() <= k) first.push_back(one.outputs[k].bytes);
          EXPECT_TRUE(first[k] == one.outputs[k].bytes)
              << columns << " columns, " << threads << " threads, output " << k;
          std::fill(one.outputs[k].bytes.begin(), one.outputs[k].bytes.end(), 0xCD);
        }
        for (memory& w : one.rest) std::fill(w.bytes.begin(), w.bytes.end(), 0xAB);
      }
    }
}
TEST(ragged, softmax_of_segments) {
  constexpr auto here = m.in(0_c, extent(off, dim<0>) - 1_c).where(off(m) <= t && t < off(m + 1_c));
  constexpr auto top = define<"top">(m.in(0_c, extent(off, dim<0>) - 1_c)) = max(k.in(off(m), off(m + 1_c)), v(k));
  constexpr auto total = define<"total">(m.in(0_c, extent(off, dim<0>) - 1_c)) =
      sum(k.in(off(m), off(m + 1_c)), exp(v(k) - top(m)));
  constexpr auto soft = define<"soft">(t) = sum(here, exp(v(t) - stop_gradient(top(m))) / total(m));
  for (const int longest : {1, 40, 400})
    for (const bool force_for_tests : {false, true}) {
      std::mt19937 bits(static_cast<unsigned>(longest));
      std::vector<double> ends = {2};
      const double last = longest == 1 ? 300 : 900;  // of so many slices the reference asks each
      while (ends.back() < last)
        ends.push_back(std::min(last, ends.back() + static_cast<double>(bits() % static_cast<unsigned>(longest + 1))));
      trial one = trial_of(soft, vjp(soft, v));
      one.force_for_tests = force_for_tests;
      one.random("v", {1000})
          .with("off", {static_cast<std::int64_t>(ends.size())}, ends)
          .random("cotangent_soft", {1000})
          .expect_right(1e-5);
    }
}
// Normalised by a logsumexp, with slices of more rows than scratch rows hold and than are computed in place, and with
// rows that only some of the tensors have.
constexpr auto normalised = define<"normalised">(m.in(0_c, extent(off, dim<0>) - 1_c)) =
    logsumexp(k.in(off(m), off(m + 1_c)), v(k));
constexpr auto of_segment = m.in(0_c, extent(off, dim<0>) - 1_c).where(off(m) <= t && t < off(m + 1_c));
constexpr auto shares = define<"shares">(t) = sum(of_segment, exp(v(t) - normalised(m)));
template <class Change>
void softmax_by_a_logsumexp(const std::vector<double>& ends, std::int64_t rows, bool force_for_tests, Change change) {
  trial one = trial_of(shares, vjp(shares, v));
  one.force_for_tests = force_for_tests;
  one.random("v", {rows})
      .with("off", {static_cast<std::int64_t>(ends.size())}, ends)
      .random("cotangent_shares", {rows});
  change(one);
  one.expect_right(1e-5);
}
TEST(ragged, softmax_by_a_logsumexp_of_segments) {
  const auto as_is = [](trial&) {};
  for (const bool force_for_tests : {false, true}) {
    softmax_by_a_logsumexp({0, 3, 3, 40, 41, 1000, 1000}, 1000, force_for_tests, as_is);
    softmax_by_a_logsumexp({2, 5, 900, 900, 960}, 1000, force_for_tests, as_is);
  }
}
TEST(ragged, softmax_by_a_logsumexp_of_long_segments) {
  const std::vector<double> ends = {0, 100, 16484, 17000, 33500, 33501, 70000, 72000};
  trial one = trial_of(shares, vjp(shares, v));
  one.random("v", {72000}).with("off", {8}, ends).random("cotangent_shares", {72000});
  ASSERT_EQ(one.run(), 0);
  EXPECT_NE(ir::print(one.p->code).find("load contiguous scratch_row["), std::string::npos) << one.plan_text();
  const auto at = [&](std::size_t input, std::int64_t n) { return one.inputs[input].real(n); };
  const std::size_t values = one.slot("v"), given = one.slot("cotangent_shares");
  for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
    const auto low = static_cast<std::int64_t>(ends[s]), high = static_cast<std::int64_t>(ends[s + 1]);
    double sum = 0, along = 0;
    for (std::int64_t n = low; n < high; ++n)
      sum += std::exp(at(values, n)), along += at(given, n) * std::exp(at(values, n));
    for (std::int64_t n = low; n < high; ++n) {
      const double share = std::exp(at(values, n)) / sum;
      ASSERT_NEAR(one.outputs[0].real(n), share, 1e-6 * share) << n;
      ASSERT_NEAR(one.outputs[1].real(n), share * (at(given, n) - along / sum), 1e-5 * share) << n;
    }
  }
}
TEST(ragged, softmax_by_a_logsumexp_of_what_is_infinite) {
  const double inf = static_cast<double>(INFINITY);
  for (const std::vector<double>& odd :
       {std::vector<double>{std::nan("")}, {inf}, {-inf}, {inf, -inf}, {-inf, -inf, -inf}, {-200, 200}, {inf, 100, 1}})
    for (const bool force_for_tests : {false, true})
      softmax_by_a_logsumexp({0, 3, 40, 70}, 70, force_for_tests, [&](trial& one) {
        for (std::size_t k = 0; k < odd.size(); ++k)
          for (const std::size_t first : {0, 50})
            one.inputs[one.slot("v")].set(static_cast<std::int64_t>(k + first), odd[k], 0);
      });
}
// Shifted by what is not the largest of the terms, their sum may be too small to divide by.
TEST(ragged, softmax_by_a_logarithm_of_small_sums) {
  constexpr auto shifted = define<"shifted">(m.in(0_c, extent(off, dim<0>) - 1_c)) =
      log(sum(k.in(off(m), off(m + 1_c)), exp(v(k) - 0.25_c))) + 0.25_c;
  constexpr auto parts = define<"parts">(t) = sum(of_segment, exp(v(t) - shifted(m)));
  trial one = trial_of(parts);
  one.force_for_tests = true;
  one.with("off", {3}, {0, 1, 2}).with("v", {2}, {-89, -88.9});
  one.expect_right(1e-4);
}
// A value that is not a number concerns the slices that hold it, and no other; neither does a huge one.
TEST(ragged, values_stay_in_their_slices) {
  constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(rows_of, x(t, f));
  for (const double odd : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY), 1e30})
    for (const form how : {form::apart, form::sorted, form::anywhere}) {
      trial one = trial_of(pooled, vjp(pooled, x));
      one.force_for_tests = true;
      one.with("cut", {23, 2}, slices(how, 23, 90, 5)).random("x", {90, 5}).random("cotangent_pooled", {23, 5});
      one.inputs[one.slot("x")].set(5 * 40 + 2, odd, 0);
      one.inputs[one.slot("x")].set(5 * 60 + 2, -odd, 0);
      one.inputs[one.slot("cotangent_pooled")].set(5 * 7 + 1, odd, 0);
      one.expect_right(1e-5);
      memory& y = one.outputs[0];
      for (std::int64_t s = 0; s < 23; ++s) EXPECT_TRUE(std::abs(y.real(5 * s + 1)) <= 1.0) << "slice " << s;
    }
}
// Windows that begin, or end, where data says and end, or begin, at their own place: each row has the windows that meet
// it, and rows of one number have block trees of their own.
TEST(ragged, windows_that_data_begins) {
  constexpr auto back = tensor<"back", std::int64_t, 1>;
  constexpr auto rolling = t.in(maximum(m - back(m), 0_c), m + 1_c);
  constexpr auto since = t.in(m, minimum(m + back(m), extent(v, dim<0>)));
  constexpr auto total = define<"total">(m) = sum(rolling, v(t)) + mean<empty::zero>(since, v(t));
  constexpr auto top = define<"top">(m) = max(rolling, v(t)) * logsumexp(rolling, v(t));
  constexpr auto rows = define<"rows">(m, f) = sum(rolling, x(t, f));
  for (const std::int64_t count : {1, 37, 300})
    for (const bool force_for_tests : {false, true}) {
      trial one = trial_of(total, top, rows, vjp(total, v), vjp(top, v), vjp(rows, x));
      one.force_for_tests = force_for_tests;
      one.random("v", {count}).random("x", {count, 5}).below("back", {count}, 9);
      one.random("cotangent_total", {count}).random("cotangent_top", {count}).random("cotangent_rows", {count, 5});
      one.expect_right(1e-5);
      const bool scatters = one.plan_text().find("range scatter") != std::string::npos;
      EXPECT_TRUE(scatters || count < 300 || force_for_tests) << one.plan_text();
    }
}
TEST(ragged, reasons_are_said) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(rows_of, x(t, f));
  trial one = trial_of(pooled, vjp(pooled, x));
  one.with("cut", {5000, 2}, slices(form::anywhere, 5000, 40000, 3))
      .random("x", {40000, 16})
      .random("cotangent_pooled", {5000, 16});
  const std::string text = one.plan_text();
  for (const char* said : {"the rows of all slices", "folds of 16 rows or more",
                           "folded from a block tree if they have more rows",
                           "a task walks the slices that meet its rows, and writes each row once", "lists"})
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
}
// What tasks ask of slices grows with rows times slices, however few columns there are.
TEST(ragged, many_slices_of_few_rows_are_listed) {
  constexpr auto total = define<"total">(m) = logsumexp(rows_of, v(t));
  for (const std::int64_t count : {8, 150}) {
    trial one = trial_of(total, vjp(total, v));
    one.with("cut", {count, 2}, slices(form::anywhere, count, 4 * count, 3));
    one.random("v", {4 * count}).random("cotangent_total", {count}).expect_right(1e-5);
    EXPECT_EQ(one.plan_text().find(", slice lists") != std::string::npos, count > 8) << one.plan_text();
  }
}
// Slices of numbers, in lanes, are folded from a block tree only where they are longer than those of rows.
TEST(ragged, long_slices_of_numbers) {
  constexpr auto total = define<"total">(m) = sum(rows_of, v(t));
  constexpr auto top = define<"top">(m) = max(rows_of, v(t));
  trial one = trial_of(total, top);
  std::vector<double> cuts;
  for (std::int64_t m = 0; m < 3000; ++m) {
    const std::int64_t low = m * 17 % 21000;
    cuts.push_back(static_cast<double>(low));
    cuts.push_back(static_cast<double>(std::min<std::int64_t>(low + m % 1500, 22000)));
  }
  one.with("cut", {3000, 2}, cuts).random("v", {22000}).expect_right();
}
// Of short slices most of the time would go to folding lanes that hold nothing: what a block tree has for long ones
// stands behind its condition, loops and lanes, and one fold is left for each slice.
TEST(ragged, slices_without_a_block_tree_fold_once) {
  constexpr auto total = define<"total">(m) = sum(rows_of, v(t));
  trial one = trial_of(total);
  one.with("cut", {20000, 2}, slices(form::apart, 20000, 400000, 3)).random("v", {400000});
  EXPECT_NE(one.plan_text().find("twice the data and 512 a slice"), std::string::npos) << one.plan_text();
  const std::string code = ir::print(one.p->code), last = code.substr(code.rfind("\nkernel "));
  std::istringstream lines(last);
  int always = 0, guarded = 0;
  std::size_t guard = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t depth = line.find_first_not_of(' ');
    if (depth == std::string::npos) continue;
    if (depth <= guard) guard = 0;
    if (guard == 0 && line.compare(depth, 6, "guard ") == 0) guard = depth;
    if (line.find("fold_lanes") != std::string::npos) ++(guard > 0 ? guarded : always);
  }
  EXPECT_EQ(always, 0) << last;  // all rows of a slice behind one condition, its edges and entries behind the other
  EXPECT_GE(guarded, 3) << last;
  one.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::ragged_tests
