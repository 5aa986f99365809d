// Folds of values that are sums of a pair each: distances, scores, and their gradients. Values against the evaluator,
// and what is never stored: the product of two extents.
#include "plan_harness.hpp"

namespace sheaf::test::pair_tiles_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto d = axis<"d">;
constexpr auto e = axis<"e">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto v = tensor<"v", float, 2>;
constexpr auto w = tensor<"w", float, 1>;

bool says(trial& t, const char* words) { return t.plan_text().find(words) != std::string::npos; }

// No workspace holds a number for each pair.
void expect_small(trial& t) {
  EXPECT_TRUE(says(t, "pair tiles")) << t.plan_text();
  for (const auto& w : t.p->workspaces) EXPECT_LT(w.extents.size(), 2u) << t.plan_text();
}

// Rows, walked places, terms of a sum: whole tiles, rest of each, sums longer than what is packed at a time, nothing.
constexpr std::int64_t shapes[][3] = {{96, 64, 12}, {97, 70, 17}, {7, 70, 130}, {13, 3, 20}, {5, 0, 4}, {3, 5, 0}};

constexpr auto apart = sum(d, (x(i, d) - y(j, d)) * (x(i, d) - y(j, d)));
constexpr auto score = 0.5_c * sum(d, x(i, d) * y(j, d));
constexpr auto scores = define<"scores">(i, j) = score;

TEST(pair_tiles, one_result_of_a_row) {
  constexpr auto near = define<"near">(i) = 2_c * sum(j, exp(-apart) * w(j)) + w(0_c);
  constexpr auto least = define<"least">(i) = min(j, apart + w(j));
  for (const auto& [rows, walked, terms] : shapes) {
    if (walked == 0) continue;
    trial sum = trial_of(near), nearest = trial_of(least);
    for (trial* t : {&sum, &nearest}) {
      t->force_for_tests = true;
      t->random("x", {rows, terms}).random("y", {walked, terms}).random("w", {walked});
      if (rows > 50 && terms > 8) expect_small(*t);
      t->expect_right(1e-4);
    }
  }
}

// Where the nearest is: of equal values the first, NaN is beyond all, and of infinities, too, there is a first.
TEST(pair_tiles, positions) {
  constexpr auto p = tensor<"p", double, 2>;
  constexpr auto q = tensor<"q", double, 2>;
  constexpr auto nearest = define<"nearest">(i) = argmin(j, apart + w(j));
  constexpr auto best = define<"best">(i) = argmax(j, sum(d, p(i, d) * q(j, d)));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto& [rows, walked, terms] : shapes)
    for (const int kind : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << walked << " x " << terms << ", " << kind);
      std::vector<double> added(static_cast<std::size_t>(walked));
      for (std::size_t k = 0; k < added.size(); ++k)
        added[k] = kind == 0 ? 0.25 * static_cast<double>(k % 9) : kind == 1 ? 0 : kind == 2 || k % 31 == 9 ? inf : nan;
      trial least = trial_of(nearest), most = trial_of(best);
      const auto equal = [&](std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n * terms), 1.5); };
      if (kind == 1)
        least.with("x", {rows, terms}, equal(rows)).with("y", {walked, terms}, equal(walked));
      else
        least.random("x", {rows, terms}).random("y", {walked, terms});
      least.with("w", {walked}, added);
      most.random("p", {rows, terms}).random("q", {walked, terms});
      for (trial* t : {&least, &most}) {
        t->force_for_tests = true;
        if (rows > 50) expect_small(*t);
        t->expect_right(0);
      }
    }
}

TEST(pair_tiles, attention) {
  constexpr auto l = define<"l">(i) = logsumexp(j, score);
  constexpr auto o = define<"o">(i, e) = sum(j, exp(score - l(i)) * v(j, e));
  for (const auto& [rows, walked, terms] : shapes) {
    const std::int64_t columns = rows == 7 ? 130 : rows == 97 ? 9 : 20;
    trial t = trial_of(o);
    t.force_for_tests = true;
    t.random("x", {rows, terms}).random("y", {walked, terms}).random("v", {walked, columns});
    if (rows > 50) expect_small(t);
    t.expect_right(1e-4);
  }
}

// Powers are relative to the maximum of the tiles so far. Scores that are infinite or NaN, places that are masked, rows
// that walk nothing, and softmax as it is spelled elsewhere: all come out as of two passes.
TEST(pair_tiles, running_maximum) {
  constexpr auto p = tensor<"p", double, 2>;
  constexpr auto q = tensor<"q", double, 2>;
  constexpr auto shift = tensor<"shift", double, 1>;
  constexpr auto masked = sum(d, p(i, d) * q(j, d)) + shift(j);
  constexpr auto window = j.in(maximum(0_c, i - 70_c), i - 2_c);
  constexpr auto top = define<"top">(i) = logsumexp(window, masked);
  constexpr auto far = define<"far">(i, e) = sum(window, exp(masked - top(i)) * q(j, e));
  constexpr auto most = max(j, masked);
  constexpr auto weight = exp(masked - most);
  constexpr auto few = define<"few">(i, e.in(0_c, 3_c)) = sum(j, weight * q(j, e)) / sum(j, weight);
  constexpr auto named = define<"named">(i, e) = sum(j, weight / sum(j, weight) * q(j, e));
  const double inf = std::numeric_limits<double>::infinity();
  for (const int kind : {0, 1, 2, 3}) {
    SCOPED_TRACE(kind);
    std::vector<double> list;
    for (int k = 0; k < 140; ++k)
      list.push_back(kind == 1 ? -inf : kind == 2 ? (k < 130 ? -inf : 0.1 * k) : kind == 3 && k == 90 ? inf : 3 * k);
    trial first = trial_of(far, top), second = trial_of(few), third = trial_of(named);
    for (trial* t : {&first, &second, &third}) {
      t->force_for_tests = true;
      t->random("p", {140, 9}).random("q", {140, 9}).with("shift", {140}, list);
      EXPECT_TRUE(says(*t, "running maximum")) << t->plan_text();
      t->expect_right(1e-10);
    }
  }
}

// A named distance that ties are looked for in is that of which the least was taken, bit for bit.
TEST(pair_tiles, ties_of_named_distances) {
  constexpr auto far = define<"far">(i, j) = apart;
  constexpr auto least = define<"least">(i) = min(j, far(i, j));
  constexpr auto loss = define<"loss">() = sum(i, least(i) * (1_c + least(i)));
  for (const auto& [rows, walked, terms] : shapes) {
    if (walked == 0 || terms == 0) continue;
    trial t = trial_of(least, grad(loss, x), grad(loss, y));
    t.force_for_tests = true;
    t.random("x", {rows, terms}).random("y", {walked, terms});
    t.expect_right(1e-4);
  }
}

// The same where the extremum is met more than once, by what is computed in place and under a mask of labels.
TEST(pair_tiles, gradients_of_the_farthest_of_a_label) {
  constexpr auto label = tensor<"label", std::int64_t, 1>;
  constexpr auto far = define<"far">(i, j) = sum(d, (x(i, d) - x(j, d)) * (x(i, d) - x(j, d)));
  constexpr auto alike = define<"alike">(i) = max(j.where(label(i) == label(j)), far(i, j));
  constexpr auto all = define<"all">(i) = max(j, far(i, j));
  constexpr auto loss = define<"loss">() = sum(i, relu(alike(i) - 1_c));
  constexpr auto loss_of_all = define<"loss_of_all">() = sum(i, relu(all(i)));
  for (const std::int64_t rows : {8, 70})
    for (const bool forced : {false, true}) {
      trial labels = trial_of(loss, grad(loss, x)), whole = trial_of(grad(loss_of_all, x));
      labels.force_for_tests = whole.force_for_tests = forced;
      labels.random("x", {rows, 16}).below("label", {rows}, 5).expect_right(1e-4);
      whole.random("x", {rows, 16}).expect_right(1e-4);
    }
}

// Each side of a comparison computes the distances anew, in the same bits: whatever ties gets its share, and no number
// is stored for each pair. A row skips the places before and after those that tie.
TEST(pair_tiles, gradients_of_the_nearest) {
  constexpr auto p = tensor<"p", double, 2>;
  constexpr auto q = tensor<"q", double, 2>;
  constexpr auto named = define<"named">(i, j) = sqrt(1_c + apart);
  constexpr auto loss = define<"loss">() = sum(i, min(j, apart) * w(i));
  constexpr auto by_name = define<"by_name">() = sum(i, min(j, named(i, j)));
  constexpr auto wide = define<"wide">() = sum(i, max(j, sum(d, p(i, d) * q(j, d))));
  constexpr std::int64_t small[][3] = {{11, 66, 3}, {14, 9, 10}, {5, 4, 0}};  // the evaluator folds each pair anew
  for (const auto& [rows, walked, terms] : small)
    for (const bool ties : {false, true}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << walked << " x " << terms << ", ties " << ties);
      trial first = trial_of(loss, grad(loss, x), grad(loss, y)), second = trial_of(grad(by_name, x), grad(by_name, y)),
            third = trial_of(grad(wide, p), grad(wide, q));
      const auto few = [&](std::int64_t n, int step) {
        std::vector<double> list;
        for (std::int64_t k = 0; k < n * terms; ++k) list.push_back(static_cast<double>(k * step / 7 % 2));
        return list;
      };
      for (trial* t : {&first, &second, &third}) {
        t->force_for_tests = true;
        const char *a = t == &third ? "p" : "x", *b = t == &third ? "q" : "y";
        if (ties)
          t->with(a, {rows, terms}, few(rows, 3)).with(b, {walked, terms}, few(walked, 5));
        else
          t->random(a, {rows, terms}).random(b, {walked, terms});
        if (t == &first) t->random("w", {rows});
        if (terms > 0) expect_small(*t);
        t->expect_right(1e-4);
        const auto once = t->outputs.back().bytes;
        t->code->call.parallel_for = in_odd_tasks;
        ASSERT_EQ(t->run(), 0);
        EXPECT_TRUE(once == t->outputs.back().bytes);
      }
    }
}

TEST(pair_tiles, gradients_of_attention) {
  constexpr auto l = define<"l">(i) = logsumexp(j, score);
  constexpr auto o = define<"o">(i, e) = sum(j, exp(score - l(i)) * v(j, e));
  constexpr auto loss = define<"loss">() = sum(over(i, e), o(i, e) * o(i, e));
  trial t = trial_of(grad(loss, x), grad(loss, y), grad(loss, v));
  t.force_for_tests = true;
  t.random("x", {14, 10}).random("y", {15, 10}).random("v", {15, 9});
  EXPECT_TRUE(says(t, "stage dloss_dy(j, d) -> output 1, pair tiles")) << t.plan_text();
  t.expect_right(1e-4);
}

// With the result stored, what a softmax's gradient takes off is a sum over its row, and gradients of places fold the
// same tiles. A gradient that is 0 outside of a range walks the range.
TEST(pair_tiles, gradients_beside_the_result) {
  constexpr auto g = tensor<"g", float, 2>;
  constexpr auto expect = [](trial t, const char* line) {
    t.force_for_tests = true;
    t.random("x", {20, 10}).random("y", {20, 10}).random("v", {20, 9}).random("g", {20, 9});
    EXPECT_TRUE(says(t, line)) << t.plan_text();
    expect_small(t);
    t.expect_right(1e-4);
  };
  {
    constexpr auto l = define<"l">(i) = logsumexp(j, score);
    constexpr auto o = define<"o">(i, e) = sum(j, exp(score - l(i)) * v(j, e));
    constexpr auto loss = define<"loss">() = sum(over(i, e), o(i, e) * g(i, e));
    expect(trial_of(o, grad(loss, x), grad(loss, y), grad(loss, v)), "materialised(i) -> workspace 2, map");
    expect(trial_of(o, grad(loss, x), grad(loss, y), grad(loss, v)), "it folds the tiles of dloss_dy");
  }
  constexpr auto l = define<"l">(i) = logsumexp(j.in(0_c, i + 1_c), scores(i, j));
  constexpr auto o = define<"o">(i, e) = sum(j.in(0_c, i + 1_c), exp(scores(i, j) - l(i)) * v(j, e));
  constexpr auto loss = define<"loss">() = sum(over(i, e), o(i, e) * g(i, e));
  expect(trial_of(o, grad(loss, x), grad(loss, y), grad(loss, v)), "dloss_dx(i, d) -> output 1, pair tiles");
}

// A few results of a row are kept as lanes each.
TEST(pair_tiles, gradients_of_points) {
  constexpr auto near = define<"near">(i) = sum(j, exp(-apart) * w(j));
  constexpr auto loss = define<"loss">() = sum(i, near(i) * near(i));
  for (const std::int64_t terms : {3, 8, 40}) {
    trial t = trial_of(grad(loss, x), grad(loss, y), grad(loss, w));
    t.force_for_tests = true;
    t.random("x", {31, terms}).random("y", {70, terms}).random("w", {70});
    EXPECT_TRUE(says(t, "stage dloss_dx(i, d) -> output 0, pair tiles")) << t.plan_text();
    EXPECT_TRUE(says(t, "stage dloss_dy(j, d) -> output 1, pair tiles")) << t.plan_text();
    t.expect_right(1e-4);
  }
}

TEST(pair_tiles, gradients_of_points_in_f64) {
  constexpr auto p = tensor<"p", double, 2>;
  constexpr auto q = tensor<"q", double, 2>;
  constexpr auto loss = define<"loss">() =
      sum(over(i, j), exp(-sum(d, (p(i, d) - q(j, d)) * (p(i, d) - q(j, d)))) * p(i, 0_c));
  for (const std::int64_t terms : {4, 7, 66}) {
    trial t = trial_of(grad(loss, p), grad(loss, q));
    t.force_for_tests = true;
    t.random("p", {20, terms}).random("q", {70, terms});
    EXPECT_TRUE(says(t, "stage dloss_dq(j, d) -> output 1, pair tiles")) << t.plan_text();
    t.expect_right(1e-10);
  }
}

// Tasks share heads where there are many; values are stored where only a row or a place decides them.
TEST(pair_tiles, batches) {
  constexpr auto q = tensor<"q", double, 3>;
  constexpr auto k = tensor<"k", double, 3>;
  constexpr auto o = define<"o">(b, i, e) = sum(j, exp(-sum(d, abs(q(b, i, d) - k(b, j, d)))) * k(b, j, e));
  constexpr auto length = define<"length">(b, i) =
      max(j, sum(d, q(b, i, d) * k(b, j, d)) / sum(e, k(b, j, e) * k(b, j, e)));
  for (const std::int64_t heads : {2, 40}) {
    trial t = trial_of(o, length);
    t.force_for_tests = true;
    t.random("q", {heads, 20, 17}).random("k", {heads, 70, 17});
    EXPECT_TRUE(says(t, "stage o(b, i, e) -> output 0, pair tiles")) << t.plan_text();
    EXPECT_TRUE(says(t, "stage length(b, i) -> output 1, pair tiles")) << t.plan_text();
    t.expect_right(1e-10);
  }
}

// Prefixes, windows and documents: tiles that no row walks are not computed, and nothing outside is read.
TEST(pair_tiles, ranges_of_rows) {
  constexpr auto doc = tensor<"doc", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto attend = [](auto walked) {
    constexpr auto l = logsumexp(walked, score);
    return sum(walked, exp(score - l) * v(j, e));
  };
  constexpr auto causal = define<"causal">(i, e) = attend(j.where(j <= i));
  constexpr auto sliding = define<"sliding">(i, e) = attend(j.in(maximum(0_c, i - 20_c), i + 1_c));
  constexpr auto later = define<"later">(i, e) = attend(j.in(i, extent(y, dim<0>)));
  constexpr auto documents = define<"documents">(i, e) = attend(j.in(off(doc(i)), off(doc(i) + 1_c)));
  constexpr auto most = define<"most">(i) = max(j.in(off(doc(i)), off(doc(i) + 1_c)), score);
  for (const std::int64_t rows : {100, 200}) {
    trial t = trial_of(causal, sliding, later, documents, most);
    t.force_for_tests = true;
    t.random("x", {rows, 10}).random("y", {rows, 10}).random("v", {rows, 9});
    std::vector<double> of, begins{0, 3, 3, 70, 90, static_cast<double>(rows)};
    for (std::int64_t k = 0; k < rows; ++k) of.push_back(k < 5 ? 0 : k < 60 ? 2 : k < 80 ? 4 : k % 2 == 0 ? 1 : 3);
    t.with("doc", {rows}, of).with("off", {6}, begins);
    for (const char* name : {"causal(i, e)", "sliding(i, e)", "later(i, e)", "documents(i, e)", "most(i)"})
      EXPECT_TRUE(says(t, name)) << t.plan_text();
    expect_small(t);
    t.expect_right(1e-4);
  }
}

// What the program names of each pair is read at several places, and computed in each one's tiles.
TEST(pair_tiles, gradients_of_ranges) {
  constexpr auto doc = tensor<"doc", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto loss_of = [](auto walked) {
    constexpr auto l = logsumexp(walked, scores(i, j));
    return sum(over(i, e), sum(walked, exp(scores(i, j) - l) * v(j, e)) * v(i, e));
  };
  constexpr auto causal = define<"causal">() = loss_of(j.in(0_c, i + 1_c));
  constexpr auto documents = define<"documents">() = loss_of(j.in(off(doc(i)), off(doc(i) + 1_c)));
  trial first = trial_of(grad(causal, x), grad(causal, y), grad(causal, v));
  trial second = trial_of(grad(documents, x), grad(documents, y), grad(documents, v));
  for (trial* t : {&first, &second}) {
    t->force_for_tests = true;
    t->random("x", {18, 10}).random("y", {18, 10}).random("v", {18, 9});
    if (t == &second) {
      std::vector<double> of;
      for (std::int64_t k = 0; k < 18; ++k) of.push_back(k < 5 ? 0 : k < 12 ? 2 : 1);
      t->with("doc", {18}, of).with("off", {4}, {0, 7, 7, 18});
    }
    EXPECT_TRUE(says(*t, "pair tiles")) << t->plan_text();
    t->expect_right(1e-4);
  }
  EXPECT_TRUE(says(first, "stage dcausal_dy(j, d) -> output 1, pair tiles")) << first.plan_text();
}

// Data may name anything at places that no row walks: what it says there of a range is not asked.
TEST(pair_tiles, ranges_of_data_at_places_that_no_row_walks) {
  constexpr auto u = axis<"u">;
  constexpr auto doc = tensor<"doc", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto own = sum(u.in(off(doc(j)), off(doc(j) + 1_c)), v(u, 0_c));
  constexpr auto mixed = define<"mixed">(i, e) = sum(j.in(0_c, i), exp(score - own) * v(j, e));
  trial t = trial_of(mixed);
  t.force_for_tests = true;
  std::vector<double> of(18, 1);
  of.back() = 1e12;
  t.random("x", {18, 10}).random("y", {18, 10}).random("v", {18, 9});
  t.with("doc", {18}, of).with("off", {4}, {0, 7, 9, 18});
  t.expect_right(1e-4);
}

// What a row needs of itself, as the sum of its powers, is stored at all places before those who walk a part of them.
TEST(pair_tiles, gradients_of_ranges_of_unnamed_scores) {
  constexpr auto loss_of = [](auto whole, auto walked) {
    return sum(over(i, e), sum(walked, exp(score - whole(i)) * v(j, e)) * x(i, e));
  };
  constexpr auto past = j.where(j <= i);
  constexpr auto near = j.in(maximum(0_c, i - 5_c), i + 1_c);
  constexpr auto prefix = define<"prefix">(i) = logsumexp(past, score);
  constexpr auto window = define<"window">(i) = logsumexp(near, score);
  constexpr auto causal = define<"causal">() = loss_of(prefix, past);
  constexpr auto local = define<"local">() = loss_of(window, near);
  for (const std::int64_t keys : {18, 25}) {
    trial t = trial_of(grad(causal, y), grad(local, y), grad(local, x));
    t.force_for_tests = true;
    t.random("x", {18, 10}).random("y", {keys, 10}).random("v", {keys, 10});
    EXPECT_TRUE(says(t, "stage dcausal_dy(j, d) -> output 0, pair tiles")) << t.plan_text();
    EXPECT_TRUE(says(t, "stage dlocal_dy(j, d) -> output 1, pair tiles")) << t.plan_text();
    t.expect_right(1e-4);
  }
}

// Of few pairs each value is computed where it is needed.
TEST(pair_tiles, not_of_small_programs) {
  constexpr auto near = define<"near">(i) = sum(j, exp(-apart) * w(j));
  trial t = trial_of(near);
  t.random("x", {20, 20}).random("y", {20, 20}).random("w", {20});
  EXPECT_FALSE(says(t, "pair tiles")) << t.plan_text();
  t.expect_right(1e-4);
}

}  // namespace
}  // namespace sheaf::test::pair_tiles_tests
