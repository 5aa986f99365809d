// A program of the familiar layer: what it adds to the object file.
#include <sheaf/sheaf.hpp>
using namespace sheaf;
constexpr auto x = tensor<"x", float, 4>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
float program(const array<float, 4>& rows, const array<std::int64_t, 1>& groups) {
  const auto p = compile(mean(softmax(avg_pool2d<pool{.kernel = {2, 2}, .padding = {1, 1}}>(x), dim<1>)) +
                         sum(elementwise([](auto e, auto g) { return e * g; }, x, sum<keepdim>(x))) +
                         sum(slice(x, at<0>, range<-3>, whole)) + sum(pad<1, 1, padding::reflect>(x, dim<2>)) +
                         sum(cosine_similarity(x, x, dim<1>)) + sum(adaptive_avg_pool<2, 2>(x)) +
                         var<correction<0>>(x) + sum(segment_sum<4>(x, ids)) + max<ties::first>(cumsum(x, dim<0>)));
  return p(x = rows, ids = groups)();
}
array<float, 4> positions_and_shares(const array<float, 4>& rows, const array<std::int64_t, 1>& ends) {
  compile(cummax_with_indices<reversed>(x, dim<0>))(x = rows);
  compile(max_with_indices(x, dim<1>))(x = rows);
  compile(max_pool2d_with_indices<pool{.kernel = {2, 2}, .padding = {1, 1}}>(x))(x = rows);
  const auto p = compile(elementwise([](auto e, auto s) { return e * s; }, segment_softmax(x, offsets(off)), x),
                         cross_entropy<loss_options{.smoothing = 0.1}>(x, matmul(x, x)), mean<empty::error>(x));
  return std::get<0>(p(x = rows, off = ends));
}
