// B: softmax, losses, normalisations, products.
#include <coverage/rows.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::rows;

SHEAF_ROW(softmax, x, softmax(x, dim<1>))
SHEAF_ROW(softmax_of_columns, x, softmax(x, dim<0>))
SHEAF_ROW(log_softmax, x, log_softmax(x, dim<-1>))
SHEAF_ROW(log_softmax_of_the_middle, v3, log_softmax(v3, dim<1>))
SHEAF_ROW(cross_entropy, x, cross_entropy(x, target))
SHEAF_ROW(cross_entropy_options, x,
          cross_entropy<loss_options{.reduction = reduce_losses::sum, .ignore = 1, .smoothing = 0.1}>(x, target,
                                                                                                      features))
SHEAF_ROW(cross_entropy_weighted, x, cross_entropy<loss_options{.smoothing = 0.2}>(x, target, features))
SHEAF_ROW(cross_entropy_by_weights, features, cross_entropy<loss_options{.smoothing = 0.2}>(x, target, features))
SHEAF_ROW(cross_entropy_of_each, v3, cross_entropy<loss_options{.reduction = reduce_losses::none}>(v3, target3))
SHEAF_ROW(nll_loss, x, nll_loss<loss_options{.ignore = 0}>(x, target))
SHEAF_ROW(mse_loss, x, mse_loss(x, w))
SHEAF_ROW(mse_loss_sum, w, mse_loss<reduce_losses::sum>(x, w))
SHEAF_ROW(l1_loss, x, l1_loss<reduce_losses::sum>(x, w))
SHEAF_ROW(l1_loss_of_each, w, l1_loss<reduce_losses::none>(x, w))

SHEAF_ROW(layer_norm, x, layer_norm(x))
SHEAF_ROW(layer_norm_scaled, x, layer_norm<1e-3>(x, features, bias))
SHEAF_ROW(layer_norm_by_scale, features, layer_norm<1e-3>(x, features, bias))
SHEAF_ROW(layer_norm_by_shift, bias, layer_norm<1e-3>(x, features, bias))
SHEAF_ROW(layer_norm_of_two, x, layer_norm(x, w))
SHEAF_ROW(rms_norm, x, rms_norm(x))
SHEAF_ROW(rms_norm_scaled, x, rms_norm<1e-3>(x, features))
SHEAF_ROW(rms_norm_by_scale, features, rms_norm<1e-3>(x, features))
SHEAF_ROW(group_norm, v3, group_norm<3>(v3))
SHEAF_ROW(group_norm_scaled, v3, group_norm<1, 1e-3>(v3, channel, channel_shift))
SHEAF_ROW(group_norm_by_scale, channel, group_norm<1, 1e-3>(v3, channel, channel_shift))
SHEAF_ROW(batch_norm, x, batch_norm(x))
SHEAF_ROW(batch_norm_scaled, v3, batch_norm<1e-3>(v3, channel, channel_shift))
SHEAF_ROW(batch_norm_by_shift, channel_shift, batch_norm<1e-3>(v3, channel, channel_shift))

SHEAF_ROW(dot, weight, dot(weight, column))
SHEAF_ROW(dot_with_itself, column, dot(column, column))
SHEAF_ROW(matmul, x, matmul(x, a))
SHEAF_ROW(matmul_by_the_right, a, matmul(x, a))
SHEAF_ROW(matmul_with_itself, a, matmul(a, a))
SHEAF_ROW(matmul_vector, features, matmul(x, features))
SHEAF_ROW(matmul_of_a_vector, x, matmul(column, x))
SHEAF_ROW(matmul_batches, v3, matmul(v3, batches))
SHEAF_ROW(matmul_batches_by_the_right, batches, matmul(v3, batches))
SHEAF_ROW(cosine_similarity, x, cosine_similarity(x, w, dim<1>))
SHEAF_ROW(weighted_mean, x, weighted_mean(x, w, dim<1>))
SHEAF_ROW(weighted_mean_by_weights, w, weighted_mean(x, w, dim<1>))
SHEAF_ROW(weighted_mean_of_a_line, weight, weighted_mean(x, weight, dim<0>))
SHEAF_ROW(masked_mean, x, masked_mean(x, keep, dim<0>))
SHEAF_ROW(broadcasting, x, elementwise([](auto e, auto top) { return exp(e - top) * e; }, x, max<keepdim>(x, dim<1>)))
SHEAF_ROW(broadcasting_rows, features, elementwise([](auto e, auto b) { return tanh(e * b); }, x, features))

}  // namespace
