// Windows wide enough for lanes along the last index: values and gradients of pooling on rows that are shorter, as
// long and longer than groups of lanes, with ties, by kernels and reference; gradients in f64 against finite
// differences.
#include <support/familiar.hpp>

#include <sheaf/runtime/thread_pool.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto line = tensor<"line", float, 2>;
constexpr auto image = tensor<"image", float, 3>;
constexpr auto solid = tensor<"solid", float, 4>;
constexpr auto fine = tensor<"fine", double, 2>;
constexpr auto coarse = tensor<"coarse", float16, 2>;

// Few different values, so that maxima are often shared.
template <class T, std::integral... Extent>
auto steps_of(Extent... extent) {
  auto a = noise_array<T>(-2, 2, extent...);
  for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = value_of<T>(std::round(number_of(a.data()[i]) * 4) / 4);
  return a;
}

template <class Y, class X, class Values>
void agrees(Y y, X x, const Values& values) {
  const auto found = both(y).rounds(256)(x = values);
  auto d = found;
  const std::vector<double> weights = noise(static_cast<std::size_t>(d.size()), 0.5, 1.5, 7);
  for (std::int64_t i = 0; i < d.size(); ++i)
    d.data()[i] = value_of<std::remove_reference_t<decltype(d.data()[0])>>(weights[static_cast<std::size_t>(i)]);
  both(vjp(y, x)).rounds(256)(x = values, cotangent(y) = d);     // alone
  both(y, vjp(y, x)).rounds(256)(x = values, cotangent(y) = d);  // with the value it shares
}
// Rows that end everywhere in groups of 16 and 32 lanes.
template <class Y>
void agrees_for_rows(Y y) {
  for (const std::int64_t n : {16, 31, 32, 33, 40, 64, 65, 95, 129}) agrees(y, line, steps_of<float>(2, n));
}

TEST(pooling, rows_padded) {
  constexpr pool p{.kernel = {3}, .stride = {2}, .padding = {1}};
  agrees_for_rows(avg_pool1d<p>(line));
  agrees_for_rows(max_pool1d<p>(line));
}
TEST(pooling, rows_without_padding) {
  constexpr pool p{.kernel = {3}, .stride = {2}};
  agrees_for_rows(avg_pool1d<p>(line));
  agrees_for_rows(max_pool1d<p>(line));
}
TEST(pooling, rows_apart) {  // a stride beyond the kernel leaves elements out, one of 3 has no shift for its quotient
  agrees_for_rows(avg_pool1d<pool{.kernel = {2}, .stride = {3}, .padding = {1}}>(line));
  agrees_for_rows(max_pool1d<pool{.kernel = {5}, .stride = {3}, .padding = {2}}>(line));
  agrees_for_rows(avg_pool1d<pool{.kernel = {4}, .stride = {4}}>(line));
}
TEST(pooling, rows_close) {
  agrees_for_rows(avg_pool1d<pool{.kernel = {3}, .stride = {1}, .padding = {1}}>(line));
  agrees_for_rows(max_pool1d<pool{.kernel = {3}, .stride = {1}, .padding = {1}}>(line));
}
TEST(pooling, dilated) {
  agrees_for_rows(max_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}, .dilation = {2}}>(line));
  agrees_for_rows(max_pool1d<pool{.kernel = {2}, .stride = {1}, .padding = {1}, .dilation = {3}}>(line));
}
TEST(pooling, options_of_the_mean) {
  agrees_for_rows(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}, .count_include_pad = false}>(line));
  agrees_for_rows(avg_pool1d<pool{.kernel = {4}, .stride = {3}, .padding = {2}, .ceil_mode = true}>(line));
  agrees_for_rows(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .ceil_mode = true, .divisor_override = 5}>(line));
}
TEST(pooling, images) {
  constexpr pool p{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  for (const std::int64_t n : {33, 36, 70}) {
    agrees(avg_pool2d<p>(image), image, steps_of<float>(2, 9, n));
    agrees(max_pool2d<p>(image), image, steps_of<float>(2, 9, n));
  }
  agrees(avg_pool2d<pool{.kernel = {2, 5}, .stride = {1, 2}, .padding = {1, 2}, .ceil_mode = true}>(image), image,
         steps_of<float>(2, 7, 50));
  agrees(lp_pool2d<2, pool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}>(image), image,
         steps_of<float>(1, 7, 37));
}
TEST(pooling, solids) {
  constexpr pool p{.kernel = {2, 3, 3}, .stride = {2, 1, 2}, .padding = {1, 1, 1}};
  agrees(avg_pool3d<p>(solid), solid, steps_of<float>(2, 4, 5, 39));
  agrees(max_pool3d<p>(solid), solid, steps_of<float>(2, 4, 5, 39));
}
TEST(pooling, halves) {
  agrees(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(coarse), coarse, steps_of<float16>(3, 77));
}

TEST(pooling, finite_differences) {
  const auto values = noise_array<double>(-2, 2, 2, 41);
  checked(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(fine), fine, values);
  checked(max_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(fine), fine, values);
  checked(max_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}, .dilation = {2}}>(fine), fine, values);
  checked(avg_pool1d<pool{.kernel = {4}, .stride = {3}, .padding = {2}, .ceil_mode = true}>(fine), fine, values);
}

// A view of every third column has no unit stride: lanes are gathered.
TEST(pooling, strided_views) {
  const auto values = steps_of<float>(4, 120);
  const std::int64_t extents[] = {4, 40}, strides[] = {120, 3};
  const view<const float, 2> every_third(values.data(), extents, strides);
  constexpr auto y = max_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(line);
  const auto found = both(y)(line = every_third);
  EXPECT_EQ(found.extent(1), 20);
}

TEST(pooling, same_bits_for_any_number_of_threads) {
  constexpr pool p{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  constexpr auto y = max_pool2d<p>(image);
  const auto program = compile(y, vjp(y, image));
  const auto values = steps_of<float>(24, 65, 131);
  const auto d = noise_array<float>(0.5, 1.5, 24, 33, 66);
  const auto run = [&](int threads) {
    const parallel_hook before = current_parallel_hook();
    runtime::thread_pool pool(threads);
    set_parallel_hook(pool.hook());
    auto results = program(image = values, cotangent(y) = d);
    set_parallel_hook(before);
    return results;
  };
  const auto [value, dx] = run(1);
  for (const int threads : {2, 3, 7}) {
    const auto [other, other_dx] = run(threads);
    EXPECT_TRUE(same_bits(value, other) && same_bits(dx, other_dx)) << threads << " threads";
  }
}

}  // namespace
