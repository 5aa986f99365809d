// What is the difference between a mean and average pooling?
// A mean takes a dimension away; pooling slides a window along it. With a window as long as the dimension they agree.
// (Catalogue: A10)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 3>;
constexpr auto image = tensor<"image", float, 4>;

int main() {
  const auto five = support::filled(array<float, 1>(5), {0.5, 0.8, 0.3, 0.6, 0.9});
  const auto m = compile(mean(v))(v = five);
  support::show("mean of 0.5 0.8 0.3 0.6 0.9:", m);
  support::expect("0.62", std::fabs(m() - 0.62f) < 1e-6f);

  const auto cube = support::counting(array<float, 3>(2, 3, 4));
  const auto [over_1, over_2] = compile(mean(x, dim<1>), mean(x, dim<2>))(x = cube);
  support::show("mean of [2,3,4] over dimension 1:", over_1);
  support::show("over dimension 2:", over_2);
  support::expect("[2,4]", over_1, {4, 5, 6, 7, 16, 17, 18, 19});
  support::expect("[2,3]", over_2, {1.5, 5.5, 9.5, 13.5, 17.5, 21.5});

  const auto pixels = support::counting(array<float, 4>(1, 3, 8, 8));
  constexpr pool by_2{.kernel = {2, 2}, .stride = {2, 2}};
  const auto [p, all, four] =
      compile(avg_pool2d<by_2>(image), global_avg_pool(image), adaptive_avg_pool<4, 4>(image))(image = pixels);
  std::printf("AvgPool2d of [1,3,8,8], kernel 2, stride 2: [%d,%d,%d,%d], first %g\n", static_cast<int>(p.extent(0)),
              static_cast<int>(p.extent(1)), static_cast<int>(p.extent(2)), static_cast<int>(p.extent(3)),
              static_cast<double>(p(0, 0, 0, 0)));
  support::expect("[1,3,4,4]", p.extent(1) == 3 && p.extent(2) == 4 && p.extent(3) == 4 && p(0, 0, 0, 0) == 4.5f);
  support::show("global average pooling is the mean over the image:", all);
  for (std::int64_t i = 0; i < p.size(); ++i) support::expect("adaptive pooling to 4x4", four.data()[i] == p.data()[i]);

  // Padding at the ends: does it count? As torch.nn.AvgPool1d, three options.
  constexpr pool counted{.kernel = {3}, .stride = {2}, .padding = {1}},
      bare{.kernel = {3}, .stride = {2}, .padding = {1}, .count_include_pad = false},
      by_4{.kernel = {3}, .stride = {2}, .divisor_override = 4}, over{.kernel = {2}, .stride = {2}, .ceil_mode = true};
  const auto [a, b, c, d] =
      compile(avg_pool1d<counted>(v), avg_pool1d<bare>(v), avg_pool1d<by_4>(v), avg_pool1d<over>(v))(v = five);
  support::show("kernel 3, stride 2, padding 1:", a, " %.4f");
  support::show("count_include_pad = false:", b, " %.4f");
  support::show("divisor_override = 4, no padding:", c, " %.4f");
  support::show("kernel 2, stride 2, ceil_mode:", d, " %.4f");
  support::expect("padding counts", a, {1.3 / 3, 1.7 / 3, 1.5 / 3});
  support::expect("padding does not", b, {1.3 / 2, 1.7 / 3, 1.5 / 2});
  support::expect("a divisor", c, {1.6 / 4, 1.8 / 4});
  support::expect("a last window hangs over", d, {0.65, 0.45, 0.9});
}

/* Output:
mean of 0.5 0.8 0.3 0.6 0.9:
  0.62
mean of [2,3,4] over dimension 1:
  4 5 6 7
  16 17 18 19
over dimension 2:
  1.5 5.5 9.5
  13.5 17.5 21.5
AvgPool2d of [1,3,8,8], kernel 2, stride 2: [1,3,4,4], first 4.5
global average pooling is the mean over the image:
  31.5 95.5 159.5
kernel 3, stride 2, padding 1:
  0.4333 0.5667 0.5000
count_include_pad = false:
  0.6500 0.5667 0.7500
divisor_override = 4, no padding:
  0.4000 0.4500
kernel 2, stride 2, ceil_mode:
  0.6500 0.4500 0.9000
*/
