// Programs of the catalogue as kernels ahead of time: forward, backward and both. expected.cpp writes the C program
// that compares them with the reference evaluator.
#include <sheaf/kernels.hpp>

namespace {

using namespace sheaf;

constexpr auto b = axis<"b">;
constexpr auto f = axis<"f">;
constexpr auto i = axis<"i">;
constexpr auto k = axis<"k">;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int32_t, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto picks = tensor<"picks", std::int32_t, 2>;
constexpr auto label = tensor<"label", std::int64_t, 1>;
constexpr auto image = tensor<"image", float, 4>;

constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
constexpr auto gathered = define<"gathered">(b, f) = mean(k, x(picks(b, k), f));
constexpr auto gathered_loss = define<"gathered_loss">() = sum(over(b, f), gathered(b, f) * gathered(b, f));
constexpr auto smooth = define<"smooth">(i) = mean(u.in(0_c, 3_c), w.clamped(i + u)) + 0_c * w(i);
constexpr auto soft = softmax(x, dim<1>);
constexpr auto soft_loss = define<"soft_loss">() = sum(over(i, f), soft(i, f) * soft(i, f));

}  // namespace

SHEAF_KERNEL(slices, loss, grad(loss, x), serving(x = like(20, 6), cut = like(7, 2)))
SHEAF_KERNEL(gather, gathered, serving(x = like(20, 6), picks = like(5, 4)))
SHEAF_KERNEL(gather_step, gathered_loss, grad(gathered_loss, x), serving(x = like(20, 6), picks = like(5, 4)))
SHEAF_KERNEL(soft_rows, soft, serving(x = like(9, 33)))
SHEAF_KERNEL(soft_backward, grad(soft_loss, x), serving(x = like(9, 33)))
SHEAF_KERNEL(normed, layer_norm(x), serving(x = like(9, 40)))
SHEAF_KERNEL(entropy, cross_entropy(x, label), serving(x = like(9, 12), label = like(9)))
SHEAF_KERNEL(columns, sum(x, dim<0>), mean(x, dim<0>), max(x, dim<0>), serving(x = like(31, 5)))
SHEAF_KERNEL(running, cumsum(x, dim<1>), serving(x = like(4, 70)))
SHEAF_KERNEL(positions, argmax(x, dim<1>), var(x, dim<1>), serving(x = like(9, 17)))
SHEAF_KERNEL(moving, smooth, serving(w = like(50)))
SHEAF_KERNEL(pooling, avg_pool2d<pool{.kernel = {2, 2}}>(image), max_pool2d<pool{.kernel = {3, 3}}>(image),
             serving(image = like(2, 3, 12, 10)))
SHEAF_KERNEL(segments, segment_sum(x, offsets(off)), serving(x = like(20, 6), off = like(5)))
SHEAF_KERNEL(bins, segment_mean<8>(x, ids), serving(x = like(20, 6), ids = like(20)))
