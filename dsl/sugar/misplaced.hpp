// Functions of the familiar layer with arguments that none of their forms takes, and an expression in a stream: a
// sentence instead of a list of all functions of that name. Shown by tests/reject/familiar_number_for_a_dimension.cpp
// and its neighbours.
#pragma once
#include <sheaf/dsl/sugar/losses.hpp>
#include <sheaf/dsl/sugar/positions.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// What an argument is.
template <class A>
constexpr sentence spelled_argument() {
  sentence s;
  if constexpr (Tensor<A>)
    return s << (A::rank == 0 ? "scalar " : "tensor ") << A::label.text;
  else if constexpr (is_axis<A>)
    return s << "index " << A::label.text;
  else if constexpr (is_dimension<A>)
    return s << "dim<" << A::value << ">";
  else
    return s << (Expression<A> ? "an expression" : Number<A> ? "a number" : "something else");
}

template <class... A>
concept OfSheaf = ((Expression<A> || is_dimension<A>) || ...);

template <fixed_string What, fixed_string Form, class... A>
SHEAF_INLINE constexpr auto refuse_form() {
  expect<(is_refused<A> || ...), [] {
    sentence s;
    s << What.text << ": expected " << Form.text << ", got " << What.text << "(";
    int k = 0;
    ((s << (k++ > 0 ? ", " : "") << spelled_argument<A>()), ...);
    s << ")";
    if ((Number<A> || ...)) return s << "; a dimension is dim<1>, a number of the program 2_c";
    if (((Expression<A> && !Tensor<A>) || ...))
      s << "; a tensor stands there without subscripts, an expression is defined first: define<\"name\">(i) = ...";
    return s;
  }>();
  return refused{};
}

template <class S>
concept Stream = requires(S& s) {
  s.rdbuf();
  s.flush();
};

}  // namespace detail

#define SHEAF_FORM(name, form)                       \
  template <auto... O, class... A>                   \
    requires detail::OfSheaf<A...>                   \
  SHEAF_INLINE constexpr auto name(const A&...) {    \
    return detail::refuse_form<#name, form, A...>(); \
  }
SHEAF_FORM(count_nonzero, "count_nonzero(x, dim<1>)")
SHEAF_FORM(var, "var(x, dim<1>)")
SHEAF_FORM(stddev, "stddev(x, dim<1>)")
SHEAF_FORM(norm, "norm<2>(x, dim<1>)")
SHEAF_FORM(max_with_indices, "max_with_indices(x, dim<1>)")
SHEAF_FORM(min_with_indices, "min_with_indices(x, dim<1>)")
SHEAF_FORM(cumsum, "cumsum(x, dim<0>)")
SHEAF_FORM(cumprod, "cumprod(x, dim<0>)")
SHEAF_FORM(cummax, "cummax(x, dim<0>)")
SHEAF_FORM(cummin, "cummin(x, dim<0>)")
SHEAF_FORM(logcumsumexp, "logcumsumexp(x, dim<0>)")
SHEAF_FORM(cummax_with_indices, "cummax_with_indices(x, dim<0>)")
SHEAF_FORM(cummin_with_indices, "cummin_with_indices(x, dim<0>)")
SHEAF_FORM(softmax, "softmax(x, dim<1>)")
SHEAF_FORM(log_softmax, "log_softmax(x, dim<1>)")
SHEAF_FORM(layer_norm, "layer_norm(x), layer_norm(x, w) or layer_norm(x, w, b), over as many last dimensions as w has")
SHEAF_FORM(rms_norm, "rms_norm(x) or rms_norm(x, w), over as many last dimensions as w has")
SHEAF_FORM(batch_norm, "batch_norm(x) or batch_norm(x, w, b)")
SHEAF_FORM(group_norm, "group_norm<groups>(x) or group_norm<groups>(x, w, b)")
SHEAF_FORM(cross_entropy, "cross_entropy(logits, classes)")
SHEAF_FORM(nll_loss, "nll_loss(log_probabilities, classes)")
SHEAF_FORM(mse_loss, "mse_loss(x, y)")
SHEAF_FORM(l1_loss, "l1_loss(x, y)")
SHEAF_FORM(dot, "dot(a, b)")
SHEAF_FORM(matmul, "matmul(a, b)")
SHEAF_FORM(cosine_similarity, "cosine_similarity(a, b, dim<1>)")
SHEAF_FORM(weighted_mean, "weighted_mean(x, w, dim<1>)")
SHEAF_FORM(masked_mean, "masked_mean(x, mask, dim<1>)")
SHEAF_FORM(slice, "slice(x, range<2, 5>, whole, at<-1>)")
SHEAF_FORM(diagonal, "diagonal(x)")
SHEAF_FORM(trace, "trace(x)")
SHEAF_FORM(tril, "tril(x)")
SHEAF_FORM(triu, "triu(x)")
SHEAF_FORM(band, "band<2, 0>(x)")
SHEAF_FORM(flip, "flip(x, dim<0>)")
SHEAF_FORM(roll, "roll<2>(x, dim<0>)")
SHEAF_FORM(pad, "pad<1, 2>(x, dim<0>)")
SHEAF_FORM(concat, "concat(dim<0>, a, b), the dimension first")
SHEAF_FORM(stack, "stack(dim<0>, a, b), the dimension first")
SHEAF_FORM(reshape, "reshape<3, -1>(x), the extents as template arguments")
SHEAF_FORM(flatten, "flatten(x) or flatten(x, dim<0>, dim<1>)")
SHEAF_FORM(unflatten, "unflatten<-1, 2>(x, dim<1>)")
SHEAF_FORM(unfold, "unfold<3>(x, dim<1>)")
SHEAF_FORM(adaptive_avg_pool, "adaptive_avg_pool<4, 4>(x)")
SHEAF_FORM(adaptive_max_pool, "adaptive_max_pool<4, 4>(x)")
SHEAF_FORM(global_avg_pool, "global_avg_pool(x)")
SHEAF_FORM(global_max_pool, "global_max_pool(x)")
SHEAF_FORM(embedding_bag, "embedding_bag(ids, table) or embedding_bag(ids, table, offsets(off))")
SHEAF_FORM(take_along_axis, "take_along_axis(x, index, dim<0>)")
SHEAF_FORM(index_select, "index_select(x, ids, dim<0>)")
SHEAF_FORM(index_add, "index_add(x, ids, source, dim<0>)")
SHEAF_FORM(index_copy, "index_copy(x, ids, source, dim<0>)")
SHEAF_FORM(scatter_add, "scatter_add(x, index, source, dim<0>)")
SHEAF_FORM(put_along_axis, "put_along_axis(x, index, source, dim<0>)")
SHEAF_FORM(bincount, "bincount<5>(ids) or bincount<5>(ids, w)")
SHEAF_FORM(histogram, "histogram<4>(x, 0_c, 1_c)")
SHEAF_FORM(one_hot, "one_hot<4>(ids)")
SHEAF_FORM(offsets, "offsets(off), of a tensor")
SHEAF_FORM(bounds, "bounds(cut), of a tensor")
#define SHEAF_FORM_OF_POOL(name) SHEAF_FORM(name, #name "<pool{.kernel = {2}}>(x)")
SHEAF_FORM_OF_POOL(avg_pool1d)
SHEAF_FORM_OF_POOL(avg_pool2d)
SHEAF_FORM_OF_POOL(avg_pool3d)
SHEAF_FORM_OF_POOL(max_pool1d)
SHEAF_FORM_OF_POOL(max_pool2d)
SHEAF_FORM_OF_POOL(max_pool3d)
SHEAF_FORM_OF_POOL(max_pool1d_with_indices)
SHEAF_FORM_OF_POOL(max_pool2d_with_indices)
SHEAF_FORM_OF_POOL(max_pool3d_with_indices)
#undef SHEAF_FORM_OF_POOL
#define SHEAF_FORM_OF_SEGMENTS(name) \
  SHEAF_FORM(name, #name "(x, offsets(off)), " #name "(x, bounds(cut)) or " #name "<8>(x, ids)")
SHEAF_FORM_OF_SEGMENTS(segment_sum)
SHEAF_FORM_OF_SEGMENTS(segment_mean)
SHEAF_FORM_OF_SEGMENTS(segment_prod)
SHEAF_FORM_OF_SEGMENTS(segment_max)
SHEAF_FORM_OF_SEGMENTS(segment_min)
SHEAF_FORM_OF_SEGMENTS(segment_logsumexp)
SHEAF_FORM_OF_SEGMENTS(segment_softmax)
#undef SHEAF_FORM_OF_SEGMENTS
#undef SHEAF_FORM

// std::cout << y
template <detail::Stream S, class E>
  requires(Expression<E> || Tensor<E>)
S& operator<<(S& stream, E) {
  expect<std::is_void_v<E>, [] {
    return detail::sentence{} << "expression: it has no value before a call; print what compile(...) returns, called, "
                              << "or its text()";
  }>();
  return stream;
}

}  // namespace sheaf::inline v0_1
