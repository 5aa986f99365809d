// Outputs that lie where an input lies: stored in place where all other reads come before, else through workspace, with
// the bits of a call whose outputs have memory of their own.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto n = axis<"n">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto m = tensor<"m", float, 2>;

// A call with outputs of their own, and the same with the first input updated, by the kernels and by the evaluator.
// Returns what explain() says of the update.
template <class Next, class In, class... B>
std::string updates_alike(Next next, In in, const array<float, 2>& start, B&&... others) {
  const auto kernels = compile(next);
  const array<float, 2> expected = kernels(in = start, others...);
  array<float, 2> found = start, slow = start;
  kernels(in = found, next = found, others...);
  reference(next)(in = slow, next = slow, others...);
  EXPECT_TRUE(same_bits(found, expected));
  expect_agree(found, slow, 64, "reference");
  return kernels.explain(in = found, next = found, others...);
}

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

TEST(updates, element_by_element_in_place) {
  constexpr auto next = define<"w_next">(i, j) = w(i, j) - 0.5_c * m(i, j);
  for (const std::int64_t columns : {1, 3, 16, 37, 200})
    EXPECT_TRUE(says(updates_alike(next, w, noise_array<float>(-1, 1, 40, columns),
                                   m = noise_array<float>(-1, 1, 40, columns)),
                     columns == 1 ? "output" : "updates w in place"));
}

// The last columns of what rows in lanes store may be computed twice; not where that would read what was stored.
TEST(updates, short_rows_in_place) {
  constexpr auto next = define<"w_next">(i, j) = w(i, j) * 3_c - max(k, w(i, k));
  for (const std::int64_t columns : {5, 7, 9, 30})
    updates_alike(next, w, noise_array<float>(-1, 1, 333, columns));
}

// Where outputs lie is part of a kernel's key: calls that update, that do not, and that update another input have
// kernels of their own, whatever came first, and each comes back to its own.
TEST(updates, are_part_of_the_kernel_key) {
  constexpr auto next = define<"next">(i, j) = w(i, j) - 0.5_c * m(j, i);
  const auto start = noise_array<float>(-1, 1, 24, 24), other = noise_array<float>(-1, 1, 24, 24);
  const auto step = compile(next);
  const array<float, 2> expected = step(w = start, m = other);
  EXPECT_EQ(step.statistics().kernels, 1);
  for (int round = 0; round < 2; ++round) {
    array<float, 2> weights = start, moved = other;
    step(w = weights, m = other, next = weights);
    EXPECT_TRUE(same_bits(weights, expected));
    EXPECT_EQ(step.statistics().kernels, round == 0 ? 2 : 3);
    step(w = start, m = moved, next = moved);
    EXPECT_TRUE(same_bits(moved, expected));
    EXPECT_EQ(step.statistics().kernels, 3);
    EXPECT_TRUE(same_bits(step(w = start, m = other), expected));
    EXPECT_EQ(step.statistics().kernels, 3);
  }
}

// All reads of w by the gradient come first.
TEST(updates, a_training_step) {
  constexpr auto y = define<"y">(n, j) = sum(i, x(n, i) * w(i, j));
  constexpr auto loss = define<"loss">() = sum(over(n, j), y(n, j) * y(n, j) * y(n, j));
  constexpr auto next = define<"w_next">(i, j) = w(i, j) - 0.001_c * grad(loss, w)(i, j);
  for (const std::int64_t rows : {1, 7, 64, 300}) {
    const auto data = noise_array<float>(-1, 1, 50, rows);
    const std::string plan = updates_alike(next, w, noise_array<float>(-1, 1, rows, 24), x = data);
    EXPECT_TRUE(says(plan, "in place") || says(plan, "through workspace")) << plan;
    EXPECT_TRUE(rows != 300 || says(plan, "updates w in place")) << plan;
  }
}

// Two layers: the gradient of the first reads the second's weights, whatever is stored first.
TEST(updates, two_layers) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto h = define<"h">(n, k) = tanh(sum(i, x(n, i) * w(i, k)));
  constexpr auto y = define<"y">(n, j) = sum(k, h(n, k) * v(k, j));
  constexpr auto loss = define<"loss">() = sum(over(n, j), y(n, j) * y(n, j));
  constexpr auto w_next = define<"w_next">(i, k) = w(i, k) - 0.01_c * grad(loss, w)(i, k);
  constexpr auto v_next = define<"v_next">(k, j) = v(k, j) - 0.01_c * grad(loss, v)(k, j);
  const auto step = compile(loss, w_next, v_next);
  for (const std::int64_t width : {3, 20, 150}) {
    const auto data = noise_array<float>(-1, 1, 90, 40);
    auto a = noise_array<float>(-0.3, 0.3, 40, width);
    auto b = noise_array<float>(-0.2, 0.3, width, 30);
    for (int t = 0; t < 3; ++t) {
      const auto [l, next_a, next_b] = step(x = data, w = a, v = b);
      const array<float, 0> again = step(x = data, w = a, v = b, w_next = a, v_next = b);
      EXPECT_TRUE(same_bits(l, again));
      EXPECT_TRUE(same_bits(next_a, a));
      EXPECT_TRUE(same_bits(next_b, b));
    }
  }
}

// What is read elsewhere than at the element goes through workspace.
TEST(updates, neighbours_through_workspace) {
  constexpr auto shifted = define<"shifted">(i, j) = w.clamped(i - 1_c, j) + w(i, j);
  constexpr auto running = define<"running">(i.in(0_c, extent(w, dim<0>)), j) = sum(k.in(0_c, i + 1_c), w(k, j));
  constexpr auto turned = define<"turned">(i, j) = w(j, i);
  constexpr auto centred = define<"centred">(i, j) = w(i, j) - mean(k, w(i, k));
  constexpr auto columns = define<"columns">(i, j) = w(i, j) - mean(k, w(k, j));
  for (const std::int64_t side : {2, 17, 130}) {
    const auto start = noise_array<float>(-1, 1, side, side);
    EXPECT_TRUE(says(updates_alike(shifted, w, start), "through workspace"));
    EXPECT_TRUE(says(updates_alike(running, w, start), "through workspace"));
    EXPECT_TRUE(says(updates_alike(turned, w, start), "through workspace"));
    updates_alike(centred, w, start);
    updates_alike(columns, w, start);
  }
}

// A transposed view, whose dimensions the kernels see in the order of memory: its elements are others than the
// output's.
TEST(updates, a_transposed_view) {
  constexpr auto turned = define<"turned">(i, j) = w(j, i);
  constexpr auto same = define<"same">(i, j) = 2_c * w(i, j);
  for (const std::int64_t side : {2, 3, 17, 130}) {
    const auto start = noise_array<float>(-1, 1, side, side);
    array<float, 2> other = start, doubled = start;
    const auto turn = [&](array<float, 2>& a) { return view_of(a.data(), {side, side}, {1, side}); };
    compile(turned)(w = turn(other), turned = turn(other));
    compile(same)(w = turn(doubled), same = turn(doubled));
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t c = 0; c < side; ++c) {
        ASSERT_EQ(other(r, c), start(c, r)) << side;
        ASSERT_EQ(doubled(r, c), 2 * start(r, c)) << side;
      }
  }
}

// Below a reduction over an index of the output's own name its elements are all of them, not the one at hand.
TEST(updates, an_index_of_its_own_name) {
  constexpr auto limit = tensor<"limit", std::int64_t, 1>;
  constexpr auto mass = define<"mass">(j) = mean(i.where(j <= limit(i)), sum(k.in(0_c, i + 1_c), w(k, j)));
  constexpr auto loss = define<"loss">() = sum(j, mass(j) * mass(j) * mass(j));
  constexpr auto next = define<"next">(i, j) = grad(loss, w)(i, j) * w(i, j) + sum(i, w(i, j));
  for (const auto shapes : {shape_policy::automatic, shape_policy::classes})
    for (const std::int64_t side : {1, 2, 5, 40}) {
      const auto start = noise_array<float>(-1, 1, side, side);
      array<std::int64_t, 1> limits(side);
      for (std::int64_t r = 0; r < side; ++r) limits(r) = r % 3;
      const auto step = compile(options{.shapes = shapes}, next);
      const array<float, 2> expected = step(w = start, limit = limits);
      array<float, 2> found = start;
      step(w = found, limit = limits, next = found);
      EXPECT_TRUE(same_bits(found, expected)) << side;
    }
}

// What is stored apart for an update stays stored where blocks of rows could find it in the row at hand.
TEST(updates, apart_beside_partial_results) {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto c = tensor<"c", std::uint32_t, 1>;
  constexpr auto y = define<"y">(i, k.in(0_c, extent(c, dim<0>))) = cast<float>(k != 0_c) * v(i);
  constexpr auto total = define<"total">() = sum(over(i, k.in(0_c, extent(c, dim<0>))), y(i, k) + v(i));
  constexpr auto next = define<"v_next">(i) = v(i) + sum(k.in(0_c, extent(c, dim<0>)), v(i) * cast<float>(k));
  for (const std::int64_t count : {0, 1, 5})
    for (const std::int64_t rows : {1, 100, 5000}) {
      const auto start = noise_array<float>(-1, 1, rows);
      const array<std::uint32_t, 1> counts(count);
      const auto step = compile(options{.shapes = shape_policy::classes}, total, next);
      const auto [before, expected] = step(v = start, c = counts);
      array<float, 1> found = start;
      const array<float, 0> again = step(v = found, c = counts, next = found);
      EXPECT_TRUE(same_bits(before, again));
      EXPECT_TRUE(same_bits(found, expected)) << count << ", " << rows;
    }
}

// Two updates that read each other: one of them waits.
TEST(updates, a_swap) {
  constexpr auto a_next = define<"a_next">(i, j) = m(i, j) + 0_c * w(i, j);
  constexpr auto b_next = define<"b_next">(i, j) = w(i, j) + 0_c * m(i, j);
  const auto swap = compile(a_next, b_next);
  const auto first = noise_array<float>(-1, 1, 30, 33), second = noise_array<float>(2, 3, 30, 33);
  array<float, 2> a = first, b = second;
  swap(w = a, m = b, a_next = a, b_next = b);
  EXPECT_TRUE(same_bits(a, second));
  EXPECT_TRUE(same_bits(b, first));
}

// Adam's moments and weights, in one pass.
TEST(updates, moments_and_weights) {
  constexpr auto d = tensor<"d", float, 2>;
  constexpr auto m_next = define<"m_next">(i, j) = 0.9_c * m(i, j) + 0.1_c * d(i, j);
  constexpr auto w_next = define<"w_next">(i, j) = w(i, j) - 0.01_c * m_next(i, j);
  const auto step = compile(m_next, w_next);
  auto weights = noise_array<float>(-1, 1, 60, 70), moments = noise_array<float>(-0.1, 0.2, 60, 70);
  const auto slope = noise_array<float>(-1, 3, 60, 70);
  for (int t = 0; t < 3; ++t) {
    const auto [next_m, next_w] = step(m = moments, w = weights, d = slope);
    step(m = moments, w = weights, d = slope, m_next = moments, w_next = weights);
    EXPECT_TRUE(same_bits(next_m, moments));
    EXPECT_TRUE(same_bits(next_w, weights));
  }
  const std::string plan = step.explain(m = moments, w = weights, d = slope, m_next = moments, w_next = weights);
  EXPECT_TRUE(says(plan, "updates w in place")) << plan;
  EXPECT_TRUE(says(plan, "updates m in place")) << plan;
}

// One array as two inputs, columns and rows in reverse, and a scatter into what it reads.
TEST(updates, other_forms) {
  constexpr auto both_of = define<"both_of">(i, j) = w(i, j) * m(i, j);
  const auto square = compile(both_of);
  auto a = noise_array<float>(-1, 1, 20, 30);
  const array<float, 2> expected = square(w = a, m = a);
  square(w = a, m = a, both_of = a);
  EXPECT_TRUE(same_bits(a, expected));

  auto data = noise_array<float>(-1, 1, 21, 50);
  const auto kept = data;
  const auto part = [](auto& of) { return view_of(of.data() + 20 * 50 + 3, {21, 13}, {-50, 3}); };
  square(w = part(data), m = part(data), both_of = part(data));
  for (std::int64_t r = 0; r < 21; ++r)
    for (std::int64_t c = 0; c < 50; ++c)
      EXPECT_EQ(data(r, c), c % 3 == 0 && c >= 3 && c < 42 ? kept(r, c) * kept(r, c) : kept(r, c));

  constexpr auto at = tensor<"at", std::int64_t, 1>;
  constexpr auto gathered = define<"gathered">(i, j) = w(i, j) + sum(n, select(at(n) == i, w(n, j), 0_c));
  array<std::int64_t, 1> targets(40);
  for (int t = 0; t < 40; ++t) targets.data()[t] = t * 7 % 40;
  updates_alike(gathered, w, noise_array<float>(-1, 1, 40, 19), at = targets);
}

// Columns that lie closest along the other dimension.
TEST(updates, a_transposed_layout) {
  constexpr auto next = define<"w_next">(i, j) = w(i, j) + 1_c;
  auto data = noise_array<float>(-1, 1, 30, 40);
  const auto kept = data;
  const auto turned = [](auto& of) { return view_of(of.data(), {40, 30}, {1, 40}); };
  compile(next)(w = turned(data), next = turned(data));
  for (int t = 0; t < 1200; ++t) EXPECT_EQ(data.data()[t], kept.data()[t] + 1);
}

TEST(updates, other_overlaps_stay_errors) {
  constexpr auto next = define<"w_next">(i, j) = w(i, j) + 1_c;
  const auto step = compile(next);
  const std::string shared = "bad_argument: output w_next: expected memory of its own, found memory of w";
  array<float, 2> data(10, 10);
  const auto from = [&](std::int64_t first, std::int64_t down, std::int64_t across) {
    return sentence_of([&] {
      step(w = view_of<const float>(data.data(), {5, 5}, {10, 1}),
           next = view_of(data.data() + first, {5, 5}, {down, across}));
    });
  };
  EXPECT_EQ(from(0, 10, 1), "");
  EXPECT_EQ(from(1, 10, 1), shared);
  EXPECT_EQ(from(0, 1, 10), shared);
  EXPECT_EQ(from(0, 10, 2), shared);
  constexpr auto rounded = define<"rounded">(i, j) = cast<std::int32_t>(w(i, j));
  EXPECT_EQ(sentence_of([&] {
              compile(rounded)(w = data, rounded = view_of(reinterpret_cast<std::int32_t*>(data.data()), 10, 10));
            }),
            "bad_argument: output rounded: expected memory of its own, found memory of w");
  constexpr auto cut = tensor<"cut", std::int64_t, 1>;
  constexpr auto later = define<"later">(i) = cut(i) + 1_c;
  const auto moved = compile(later);
  array<std::int64_t, 1> bounds(4);
  const auto fixed = moved.keep(cut = bounds);
  EXPECT_EQ(sentence_of([&] { moved(fixed, later = bounds); }),
            "bad_argument: output later: expected memory of its own, found memory of cut, which is kept");
}

// y += view: what is there, and the result.
TEST(updates, outputs_that_add) {
  constexpr auto y = define<"y">(n, j) = sum(i, x(n, i) * w(i, j));
  constexpr auto loss = define<"loss">() = sum(over(n, j), y(n, j) * y(n, j));
  const auto step = compile(loss, grad(loss, x), grad(loss, w));
  const auto slow = reference(loss, grad(loss, x), grad(loss, w));
  const auto data = noise_array<float>(-1, 1, 30, 12), weights = noise_array<float>(-1, 1, 12, 9);
  const auto [l, dx, dw] = step(x = data, w = weights);
  auto sum_x = noise_array<float>(-1, 1, 30, 12), sum_w = noise_array<float>(-1, 1, 12, 9);
  auto slow_x = sum_x, slow_w = sum_w, expected_x = sum_x, expected_w = sum_w;
  for (int t = 0; t < 3; ++t) {
    const auto [l2, dx2] = step(x = data, w = weights, grad(loss, w) += sum_w);
    EXPECT_TRUE(same_bits(l2, l));
    EXPECT_TRUE(same_bits(dx2, dx));
    const array<float, 0> l3 = step(x = data, grad(loss, x) += sum_x, w = weights, grad(loss, w) += sum_w);
    EXPECT_TRUE(same_bits(l3, l));
    slow(x = data, w = weights, grad(loss, w) += slow_w);
    slow(x = data, grad(loss, x) += slow_x, w = weights, grad(loss, w) += slow_w);
    for (int e = 0; e < 360; ++e) expected_x.data()[e] += dx.data()[e];
    for (int e = 0; e < 108; ++e) expected_w.data()[e] = expected_w.data()[e] + dw.data()[e] + dw.data()[e];
  }
  expect_agree(sum_x, slow_x, 64, "dx, reference");
  expect_agree(sum_w, slow_w, 64, "dw, reference");
  expect_agree(sum_x, expected_x, 64, "dx");
  expect_agree(sum_w, expected_w, 64, "dw");
  EXPECT_TRUE(says(step.explain(x = data, w = weights, grad(loss, w) += sum_w), "updates dloss_dw_before in place"));
}

// Scatters, integers, numbers of rank 0, strided memory, what is kept, and another output that reads the same one.
TEST(updates, forms_of_outputs_that_add) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto bag = define<"bag">(n, j) = w(ids(n), j) * w(ids(n), j);
  constexpr auto loss = define<"loss">() = sum(over(n, j), bag(n, j));
  constexpr auto times = define<"times">(i.in(0_c, extent(w, dim<0>))) = count(n, ids(n) == i);
  constexpr auto twice = define<"twice">(i.in(0_c, extent(w, dim<0>))) = 2_c * times(i);
  const auto step = compile(grad(loss, w), loss, times, twice);
  const auto table = noise_array<float>(-1, 1, 50, 7);
  array<std::int64_t, 1> rows(400);
  for (int t = 0; t < 400; ++t) rows.data()[t] = t * t % 50;
  const auto [dw, l, c, c2] = step(w = table, ids = rows);
  auto wide = noise_array<float>(-1, 1, 50, 20);
  const auto before = wide;
  const auto part = [](auto& of) { return view_of(of.data() + 2, {50, 7}, {20, 2}); };
  array<float, 0> total;
  total.data()[0] = 3;
  array<std::int64_t, 1> counts(50);
  for (int t = 0; t < 50; ++t) counts.data()[t] = 1000;
  const auto fixed = step.keep(ids = rows);
  for (int t = 1; t <= 3; ++t) {
    const array<std::int64_t, 1> doubled =
        step(w = table, fixed, times += counts, grad(loss, w) += part(wide), loss += total);
    EXPECT_TRUE(same_bits(doubled, c2));
    EXPECT_NEAR(static_cast<double>(total()), 3 + t * static_cast<double>(l()), 1e-2);
    for (int r = 0; r < 50; ++r) {
      EXPECT_EQ(counts(r), 1000 + t * c(r));
      for (int at = 0; at < 20; ++at) {
        const bool hit = at >= 2 && at < 16 && at % 2 == 0;
        EXPECT_NEAR(wide(r, at), before(r, at) + (hit ? static_cast<float>(t) * dw(r, (at - 2) / 2) : 0), 1e-4);
      }
    }
  }
  EXPECT_EQ(sentence_of([&] {
              array<float, 2> other(50, 6);
              step(w = table, ids = rows, grad(loss, w) += other);
            }),
            "extent_mismatch: output dloss_dw, dimension 1: expected extent 7, found 6");
}

}  // namespace
