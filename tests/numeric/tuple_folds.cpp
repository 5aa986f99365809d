// Folds whose state is a tuple, in every place where a reduction may stand, with their derivatives.
#include <functional>

#include <sheaf/runtime/thread_pool.hpp>
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto s = axis<"s">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto y = tensor<"y", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto w = tensor<"w", double, 2>;
constexpr auto f = tensor<"f", float, 1>;
constexpr auto g = tensor<"g", float, 2>;
constexpr auto at = tensor<"at", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

// T. Chan, G. Golub, R. LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
constexpr auto welford = own_monoid<"welford">(tuple(0_c, 0_c, 0_c), [](auto a, auto b) {
  auto [n, mean_a, m_a] = a;
  auto [k, mean_b, m_b] = b;
  const auto part = k / maximum(n + k, 1_c);
  const auto gap = mean_b - mean_a;
  return tuple(n + k, mean_a + gap * part, m_a + m_b + gap * gap * n * part);
});
constexpr auto told_welford = welford.adjoint([](auto element, auto result, auto d) {
  auto [n, mean_of, m2] = result;
  return tuple(0_c * m2, get<1>(d) / n + get<2>(d) * 2_c * (get<1>(element) - mean_of), 0_c * n);
});
constexpr auto exponentials = own_monoid<"exponentials">(tuple(constant<-1e300>, 0_c), [](auto a, auto b) {
  const auto top = maximum(get<0>(a), get<0>(b));
  return tuple(top, get<1>(a) * exp(get<0>(a) - top) + get<1>(b) * exp(get<0>(b) - top));
});
// The largest and its place; of equal ones the last.
constexpr auto last_largest = own_monoid<"last_largest">(tuple(constant<-1e300>, constant<-1>), [](auto a, auto b) {
  const auto later = get<0>(a) < get<0>(b) || (get<0>(a) == get<0>(b) && get<1>(a) < get<1>(b));
  return tuple(select(later, get<0>(b), get<0>(a)), select(later, get<1>(b), get<1>(a)));
});
constexpr auto complex_product = own_monoid<"complex_product">(tuple(1_c, 0_c), [](auto a, auto b) {
  auto [u, v] = a;
  auto [p, q] = b;
  return tuple(u * p - v * q, u * q + v * p);
});
// h -> a h + b, one after the other.
constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto first, auto then) {
                          auto [a, b] = first;
                          auto [c, d] = then;
                          return tuple(a * c, c * b + d);
                        }).in_order();

constexpr auto state_of(auto over, auto e) { return fold(welford, over, tuple(1_c, e, 0_c)); }
constexpr auto variance_of(auto over, auto e) { return get<2>(state_of(over, e)) / get<0>(state_of(over, e)); }
constexpr auto told_variance_of(auto over, auto e) {
  const auto state = fold(told_welford, over, tuple(1_c, e, 0_c));
  return get<2>(state) / get<0>(state);
}
constexpr auto logsumexp_of(auto over, auto e) {
  const auto state = fold(exponentials, over, tuple(e, 1_c));
  return get<0>(state) + log(get<1>(state));
}

struct moments {
  double mean = 0, variance = 0;
};
moments moments_of(std::int64_t count, auto value) {
  moments r;
  for (std::int64_t k = 0; k < count; ++k) r.mean += value(k) / static_cast<double>(count);
  for (std::int64_t k = 0; k < count; ++k)
    r.variance += (value(k) - r.mean) * (value(k) - r.mean) / static_cast<double>(count);
  return r;
}

// Central differences of `value` by each element of `values`.
void expect_slopes(const array<double, 1>& found, array<double, 1> values, auto value) {
  for (std::int64_t k = 0; k < values.size(); ++k) {
    const double kept = values(k), step = 1e-5;
    values(k) = kept + step;
    const double above = value(values);
    values(k) = kept - step;
    const double below = value(values);
    values(k) = kept;
    const double slope = (above - below) / (2 * step);
    EXPECT_NEAR(found(k), slope, 1e-6 * std::max(1.0, std::abs(slope))) << k;
  }
}

class threads_for_a_while {
 public:
  explicit threads_for_a_while(int threads) : before_(current_parallel_hook()), pool_(threads) {
    set_parallel_hook(pool_.hook());
  }
  ~threads_for_a_while() { set_parallel_hook(before_); }

 private:
  parallel_hook before_;
  runtime::thread_pool pool_;
};

TEST(tuple_fold, welford_over_rows_columns_and_both) {
  const array<float, 2> grid = noise_array<float>(-2, 2, 61, 1003);
  constexpr auto rows = define<"rows">(i) = variance_of(j, g(i, j));
  constexpr auto means = define<"means">(i) = get<1>(state_of(j, g(i, j)));
  constexpr auto columns = define<"columns">(j) = variance_of(i, g(i, j));
  const auto [r, a, c, all] = both(rows, means, columns, variance_of(over(i, j), g(i, j))).rounds(64)(g = grid);
  for (std::int64_t k = 0; k < 61; ++k) {
    const moments expected = moments_of(1003, [&](auto t) { return double{grid(k, t)}; });
    ASSERT_NEAR(r(k), expected.variance, 1e-6 * expected.variance);
    ASSERT_NEAR(a(k), expected.mean, 1e-6);
  }
  for (std::int64_t k = 0; k < 1003; ++k) {
    const moments expected = moments_of(61, [&](auto t) { return double{grid(t, k)}; });
    ASSERT_NEAR(c(k), expected.variance, 1e-6 * expected.variance);
  }
  const moments whole = moments_of(61 * 1003, [&](auto t) { return double{grid(t / 1003, t % 1003)}; });
  EXPECT_NEAR(all(), whole.variance, 1e-6 * whole.variance);
}
TEST(tuple_fold, the_state_is_folded_once) {
  const auto p = compile(variance_of(i, f(i)));
  const array<float, 1> values = noise_array<float>(-1, 1, 100);
  (void)p(f = values);
  EXPECT_NE(std::string(p.text()).find("get<2>(fold(welford, i, tuple(1.0f32, f(i), 0.0f32)))"), std::string::npos)
      << p.text();
}
// Long enough for tasks of several threads, which give the same bits however many there are.
TEST(tuple_fold, of_many_elements) {
  for (const std::int64_t size : {1, 7, 64, 1001, 300001}) {
    const array<float, 1> values = noise_array<float>(-1, 3, size);
    const moments expected = moments_of(size, [&](auto k) { return double{values(k)}; });
    const auto p = compile(get<1>(state_of(i, f(i))), variance_of(i, f(i)),
                           define<"recurrence">() = get<1>(fold(affine, i, tuple(0.5_c + 0.1_c * f(i), f(i)))));
    double h = 0;
    for (const float v : values) h = double{0.5f + 0.1f * v} * h + v;
    const auto [mean_of, variance, last] = p(f = values);
    EXPECT_NEAR(mean_of(), expected.mean, 1e-6) << size;
    EXPECT_NEAR(variance(), expected.variance, 1e-6 * std::max(1.0, expected.variance)) << size;
    EXPECT_NEAR(last(), h, 1e-5) << size;
    for (const int threads : {1, 2, 3, 7}) {
      const threads_for_a_while these(threads);
      const auto [a, b, c] = p(f = values);
      EXPECT_TRUE(same_bits(a, mean_of) && same_bits(b, variance) && same_bits(c, last)) << threads;
    }
  }
}
TEST(tuple_fold, values_of_several_types) {
  constexpr auto count = get<0>(fold(welford, i, tuple(cast<std::int64_t>(1_c), f(i), 0_c)));
  const auto n = both(count)(f = noise_array<float>(0, 1, 1000));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(n)>, array<std::int64_t, 0>>);
  EXPECT_EQ(n, 1000);
  constexpr auto h = tensor<"h", float16, 1>;
  const auto mean_of = both(get<1>(state_of(i, h(i))))(h = list<float16>({1, 2, 6}));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(mean_of)>, array<float16, 0>>);
  EXPECT_EQ(to_double(mean_of()), 3);
}
TEST(tuple_fold, logsumexp_as_a_pair) {
  const array<double, 2> grid = noise_array<double>(-700, 700, 9, 130);
  constexpr auto pair = define<"pair">(i) = logsumexp_of(j, m(i, j));
  constexpr auto known = define<"known">(i) = logsumexp(j, m(i, j));
  const auto [a, b] = both(pair, known).rounds(4096)(m = grid);
  for (std::int64_t k = 0; k < 9; ++k) EXPECT_NEAR(a(k), b(k), 1e-12 * std::abs(b(k)));
}
TEST(tuple_fold, largest_with_its_place) {
  const array<double, 1> values = list<double>({3, 9, 1, 9, 9, 2, 8});
  constexpr auto best = fold(last_largest, i, tuple(x(i), i));
  const auto [top, place] = both(get<0>(best), get<1>(best))(x = values);
  EXPECT_EQ(top, 9);
  EXPECT_EQ(place, 4);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(place)>, array<std::int64_t, 0>>);
  const auto [t, p] = both(get<0>(best), get<1>(best))(x = noise_array<double>(-1, 1, 100000));
  EXPECT_GT(t(), 0.999);
  EXPECT_GE(p(), 0);
}
TEST(tuple_fold, complex_products) {
  constexpr auto product = fold(complex_product, i, tuple(x(i), y(i)));
  const auto [re, im] =
      both(get<0>(product), get<1>(product))(x = list<double>({1, 0, 2}), y = list<double>({1, 1, -1}));
  EXPECT_EQ(re, -1);  // (1 + i) i (2 - i) = -1 + 3i
  EXPECT_EQ(im, 3);
}
TEST(tuple_fold, in_domains) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(4, 2), {0, 40, 7, 7, 11, 12, 3, 64});
  const array<double, 1> values = noise_array<double>(-1, 1, 64);
  const array<std::int64_t, 1> order = list<std::int64_t>({5, 5, 63, 0, 17, 3, 2, 9});
  constexpr auto ragged = define<"ragged">(j) = get<2>(state_of(i.in(cut(j, 0_c), cut(j, 1_c)), x(i)));
  constexpr auto masked = define<"masked">(j) =
      get<1>(state_of(i.in(cut(j, 0_c), cut(j, 1_c)).where(x(i) > 0_c), x(i)));
  constexpr auto window = define<"window">(i) = variance_of(s.in(maximum(i - 20_c, 0_c), i + 1_c), x(s)) + 0_c * x(i);
  constexpr auto gathered = get<1>(fold(affine, i, tuple(x(at(i)), 1_c)));
  const auto [r, k, v, h] = both(ragged, masked, window, gathered).rounds(1024)(x = values, cut = bounds, at = order);
  EXPECT_EQ(r(1), 0);
  EXPECT_NEAR(r(0) / 40, moments_of(40, [&](auto t) { return values(t); }).variance, 1e-14);
  EXPECT_NEAR(v(30), moments_of(21, [&](auto t) { return values(10 + t); }).variance, 1e-13);
  double expected = 0;
  for (const std::int64_t t : order) expected = values(t) * expected + 1;
  EXPECT_NEAR(h(), expected, 1e-14);
  const auto p = compile(gathered);
  EXPECT_THROW((void)p(x = values, at = list<std::int64_t>({5, 64})), error);
}
// h(t) = a(t) h(t - 1) + b(t), forward and backward, up to each place and before it, in short rows and along a long
// axis.
TEST(tuple_fold, running) {
  constexpr auto forward = define<"forward">(i, j) =
      get<1>(fold(affine, s.in(0_c, j + 1_c), tuple(w(i, s), m(i, s)))) + 0_c * m(i, j);
  constexpr auto before = define<"before">(i, j) =
      get<1>(fold(affine, s.in(0_c, j), tuple(w(i, s), m(i, s)))) + 0_c * m(i, j);
  constexpr auto rest = define<"rest">(i, j) =
      get<1>(fold(affine, s.in(j, extent(m, dim<1>)), tuple(w(i, s), m(i, s)))) + 0_c * m(i, j);
  constexpr auto down = define<"down">(i, j) =
      get<1>(fold(affine, s.in(0_c, i + 1_c), tuple(w(s, j), m(s, j)))) + 0_c * m(i, j);
  const array<double, 2> a = noise_array<double>(-0.9, 0.9, 19, 75), b = noise_array<double>(-1, 1, 19, 75);
  const auto [h, e, r, d] = both(forward, before, rest, down).rounds(256)(w = a, m = b);
  for (std::int64_t p = 0; p < 19; ++p) {
    double state = 0;
    for (std::int64_t q = 0; q < 75; ++q) {
      ASSERT_NEAR(e(p, q), state, 1e-13);
      state = a(p, q) * state + b(p, q);
      ASSERT_NEAR(h(p, q), state, 1e-13);
    }
    ASSERT_NEAR(r(p, 0), state, 1e-13);
  }
  (void)d;
}
TEST(tuple_fold, running_along_a_long_axis) {
  constexpr auto h = define<"h">(i) = get<1>(fold(affine, s.in(0_c, i + 1_c), tuple(x(s), y(s)))) + 0_c * x(i);
  constexpr auto back = define<"back">(i) =
      get<1>(fold(affine, s.in(i, extent(x, dim<0>)), tuple(x(s), y(s)))) + 0_c * x(i);
  const std::int64_t size = 200003;
  const array<double, 1> a = noise_array<double>(-0.9, 0.9, size);
  array<double, 1> b = noise_array<double>(-1, 1, size);
  std::reverse(b.begin(), b.end());
  const auto p = compile(h, back);
  const auto [found, rest] = p(x = a, y = b);
  double state = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    state = a(k) * state + b(k);
    ASSERT_NEAR(found(k), state, 1e-12) << k;
  }
  // From place k on, as the composition of all maps there: the last values only are needed.
  for (const std::int64_t from : {size - 1, size - 2, size - 1000, size - 70000, std::int64_t{0}}) {
    double first = 0;
    for (std::int64_t k = std::max(from, size - 2000); k < size; ++k) first = a(k) * first + b(k);
    ASSERT_NEAR(rest(from), first, 1e-12) << from;
  }
  for (const int threads : {1, 2, 3, 7}) {
    const threads_for_a_while these(threads);
    const auto [again, rest_again] = p(x = a, y = b);
    EXPECT_TRUE(same_bits(again, found) && same_bits(rest_again, rest)) << threads;
  }
}
TEST(tuple_fold, over_nothing) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(2, 2), {0, 3, 2, 2});
  const array<double, 1> values = list<double>({1, 2, 6});
  constexpr auto part = i.in(cut(j, 0_c), cut(j, 1_c));
  constexpr auto element = tuple(1_c, x(i), 0_c);
  constexpr auto same = define<"same">(j) = get<1>(fold<empty::identity>(welford, part, element));
  constexpr auto none = define<"none">(j) = get<1>(fold<empty::nan>(welford, part, element));
  constexpr auto seven = define<"seven">(j) = get<1>(fold<empty::value<7>>(welford, part, element));
  const auto [a, b, c] = both(same, none, seven)(x = values, cut = bounds);
  EXPECT_EQ(a(1), 0);
  EXPECT_TRUE(std::isnan(b(1)));
  EXPECT_EQ(c(1), 7);
  EXPECT_EQ(c(0), 3);
  constexpr auto loss = define<"loss">() = sum(j, get<1>(fold<empty::value<7>>(welford, part, element)));
  const auto dx = both(grad(loss, x))(x = values, cut = bounds);
  for (const double v : dx) EXPECT_DOUBLE_EQ(v, 1.0 / 3);
  constexpr auto some = define<"some">(j) = get<1>(fold<empty::error>(welford, part, element));
  const auto p = compile(some);
  EXPECT_THROW((void)p(x = values, cut = bounds), std::exception);
}

TEST(tuple_fold, gradients_through_neighbours) {
  const array<double, 1> values = noise_array<double>(-1, 1, 23), along = noise_array<double>(0.5, 1, 23);
  constexpr auto loss = define<"loss">() = variance_of(i, x(i));
  constexpr auto told = define<"told">() = told_variance_of(i, x(i));
  const auto [l, dx, dt, dl, ddx, ddt] =
      both(loss, grad(loss, x), grad(told, x), jvp(loss, x), jvp(grad(loss, x), x), jvp(grad(told, x), x))
          .rounds(1024)(x = values, tangent(x) = along);
  const moments expected = moments_of(23, [&](auto k) { return values(k); });
  const moments direction = moments_of(23, [&](auto k) { return along(k); });
  double slope = 0;
  for (std::int64_t k = 0; k < 23; ++k) {
    EXPECT_NEAR(dx(k), 2 * (values(k) - expected.mean) / 23, 1e-14);
    EXPECT_NEAR(dt(k), dx(k), 1e-14);
    EXPECT_NEAR(ddx(k), 2 * (along(k) - direction.mean) / 23, 1e-13);
    EXPECT_NEAR(ddt(k), ddx(k), 1e-13);
    slope += dx(k) * along(k);
  }
  EXPECT_NEAR(dl(), slope, 1e-14);
  const auto forward = compile(loss);
  expect_slopes(dx, values, [&](const array<double, 1>& v) { return forward(x = v)(); });
}
TEST(tuple_fold, gradients_of_pairs) {
  const array<double, 1> a = noise_array<double>(0.4, 1.4, 17), b = noise_array<double>(-1, 1, 17);
  constexpr auto soft = define<"soft">() = logsumexp_of(i, x(i));
  constexpr auto product = define<"product">() = get<0>(fold(complex_product, i, tuple(x(i), y(i))));
  constexpr auto last = define<"last">() = get<1>(fold(affine, i, tuple(x(i), y(i))));
  const auto [ds, dp, dq, da, db] =
      both(grad(soft, x), grad(product, x), grad(product, y), grad(last, x), grad(last, y)).rounds(1024)(x = a, y = b);
  const auto f_soft = compile(soft);
  const auto f_product = compile(product);
  const auto f_last = compile(last);
  expect_slopes(ds, a, [&](const array<double, 1>& v) { return f_soft(x = v)(); });
  expect_slopes(dp, a, [&](const array<double, 1>& v) { return f_product(x = v, y = b)(); });
  expect_slopes(dq, b, [&](const array<double, 1>& v) { return f_product(x = a, y = v)(); });
  expect_slopes(da, a, [&](const array<double, 1>& v) { return f_last(x = v, y = b)(); });
  expect_slopes(db, b, [&](const array<double, 1>& v) { return f_last(x = a, y = v)(); });
}
TEST(tuple_fold, second_derivatives_in_order) {
  const array<double, 1> a = noise_array<double>(0.4, 1.4, 7), b = noise_array<double>(-1, 1, 7);
  constexpr auto last = define<"last">() = get<1>(fold(affine, i, tuple(x(i), y(i))));
  constexpr auto slope = define<"slope">() = jvp(last, x)();
  const array<double, 1> along = noise_array<double>(-1, 1, 7);
  const auto forward = compile(jvp(last, x));
  const auto [dd, h] = both(grad(slope, x), jvp(grad(last, x), x)).rounds(1024)(x = a, y = b, tangent(x) = along);
  expect_slopes(h, a, [&](const array<double, 1>& v) { return forward(x = v, y = b, tangent(x) = along)(); });
  for (std::int64_t k = 0; k < 7; ++k) EXPECT_NEAR(dd(k), h(k), 1e-12);
}
TEST(tuple_fold, gradients_in_domains) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(3, 2), {0, 6, 3, 3, 2, 9});
  const array<double, 1> values = noise_array<double>(-1, 1, 9), scale = noise_array<double>(0.5, 1, 9);
  constexpr auto part = i.in(cut(j, 0_c), cut(j, 1_c));
  constexpr auto ragged = define<"ragged">() = sum(j, get<2>(state_of(part, x(i) * y(i))));
  constexpr auto masked = define<"masked">() = sum(j, get<1>(fold(affine, part.where(x(i) > 0_c), tuple(y(i), x(i)))));
  constexpr auto windows = define<"windows">() =
      sum(i, y(i) * get<1>(fold(affine, s.in(maximum(i - 2_c, 0_c), i + 1_c), tuple(x(s), y(s)))));
  constexpr auto gathered = define<"gathered">() = get<1>(fold(affine, i, tuple(x(at(i)), y(i))));
  const array<std::int64_t, 1> order = list<std::int64_t>({5, 5, 8, 0, 7, 3, 2, 5, 1});
  const auto dg = both(grad(gathered, x)).rounds(1024)(x = values, y = scale, at = order);
  const auto f_gathered = compile(gathered);
  expect_slopes(dg, values, [&](const array<double, 1>& v) { return f_gathered(x = v, y = scale, at = order)(); });
  const auto [dr, dm, dw, tr] = both(grad(ragged, x), grad(masked, y), grad(windows, x), jvp(ragged, x))
                                    .rounds(1024)(x = values, y = scale, cut = bounds, tangent(x) = scale);
  const auto f_ragged = compile(ragged);
  const auto f_masked = compile(masked);
  const auto f_windows = compile(windows);
  expect_slopes(dr, values, [&](const array<double, 1>& v) { return f_ragged(x = v, y = scale, cut = bounds)(); });
  expect_slopes(dm, scale, [&](const array<double, 1>& v) { return f_masked(x = values, y = v, cut = bounds)(); });
  expect_slopes(dw, values, [&](const array<double, 1>& v) { return f_windows(x = v, y = scale)(); });
  double slope = 0;
  for (std::int64_t k = 0; k < 9; ++k) slope += dr(k) * scale(k);
  EXPECT_NEAR(tr(), slope, 1e-13);
}
// Rows one after the other, in order.
TEST(tuple_fold, gradients_over_two_indices) {
  const array<double, 2> a = noise_array<double>(0.4, 1.4, 4, 5), b = noise_array<double>(-1, 1, 4, 5);
  constexpr auto last = define<"last">() = get<1>(fold(affine, over(i, j), tuple(w(i, j), m(i, j))));
  const auto [l, da, db] = both(last, grad(last, w), grad(last, m)).rounds(1024)(w = a, m = b);
  double state = 0;
  for (std::int64_t k = 0; k < 20; ++k) state = a.data()[k] * state + b.data()[k];
  EXPECT_NEAR(l(), state, 1e-14);
  const auto forward = compile(last);
  array<double, 1> flat_a(20), flat_da(20);
  std::copy(a.begin(), a.end(), flat_a.begin());
  std::copy(da.begin(), da.end(), flat_da.begin());
  expect_slopes(flat_da, flat_a, [&](const array<double, 1>& v) {
    array<double, 2> grid(4, 5);
    std::copy(v.begin(), v.end(), grid.begin());
    return forward(w = grid, m = b)();
  });
}
// A running fold has a gradient too.
TEST(tuple_fold, gradients_of_running_folds) {
  const array<double, 1> a = noise_array<double>(-0.9, 0.9, 12), b = noise_array<double>(-1, 1, 12);
  constexpr auto h = define<"h">(i) = get<1>(fold(affine, s.in(0_c, i + 1_c), tuple(x(s), y(s)))) + 0_c * x(i);
  constexpr auto loss = define<"loss">() = sum(i, h(i) * h(i));
  const auto [da, db] = both(grad(loss, x), grad(loss, y)).rounds(4096)(x = a, y = b);
  const auto forward = compile(loss);
  expect_slopes(da, a, [&](const array<double, 1>& v) { return forward(x = v, y = b)(); });
  expect_slopes(db, b, [&](const array<double, 1>& v) { return forward(x = a, y = v)(); });
}
// A monoid of one value needs no adjoint either.
TEST(tuple_fold, gradients_of_one_value_through_neighbours) {
  constexpr auto either = own_monoid<"either">(0_c, [](auto a, auto b) { return a + b - a * b; });
  const array<double, 1> values = noise_array<double>(0, 0.5, 9);
  constexpr auto any_of = define<"any_of">() = fold(either, i, x(i));
  const auto dx = both(grad(any_of, x)).rounds(256)(x = values);
  for (std::int64_t k = 0; k < 9; ++k) {
    double others = 1;
    for (std::int64_t q = 0; q < 9; ++q) others *= q == k ? 1 : 1 - values(q);
    EXPECT_NEAR(dx(k), others, 1e-13);
  }
}

}  // namespace
