// B: reductions, scans.
#include <coverage/rows.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::rows;

SHEAF_ROW(sum, x, sum(x, dim<0>))
SHEAF_ROW(sum_of_all, x, sum(x))
SHEAF_ROW(sum_of_several, v3, sum(v3, dim<0>, dim<-1>))
SHEAF_ROW(mean, x, mean(x, dim<-1>))
SHEAF_ROW(mean_of_several, v3, mean<keepdim>(v3, dim<1>, dim<2>))
SHEAF_ROW(prod, x, prod(x, dim<1>))
SHEAF_ROW(prod_of_several, v3, prod(v3, dim<0>, dim<1>))
SHEAF_ROW(max, x, max<keepdim>(x, dim<1>))
SHEAF_ROW(max_first, x, max<ties::first>(x, dim<0>))
SHEAF_ROW(max_of_all, v3, max(v3))
SHEAF_ROW(min, x, min(x, dim<0>))
SHEAF_ROW(min_last, v3, min<ties::last>(v3, dim<0>, dim<2>))
SHEAF_ROW(policies, x, mean<empty::zero, keepdim>(x, dim<0>))
SHEAF_ROW(accumulate, x, sum<accumulate<double>>(x, dim<1>))
SHEAF_ROW(logsumexp, x, logsumexp(x, dim<1>))
SHEAF_ROW(logsumexp_of_all, x, logsumexp(x))
SHEAF_ROW(var, x, var(x, dim<1>))
SHEAF_ROW(var_corrected, x, var<correction<0>, keepdim>(x, dim<0>))
SHEAF_ROW(stddev, x, stddev(x, dim<1>))
SHEAF_ROW(stddev_of_all, v3, stddev(v3))
SHEAF_ROW(norm_1, x, norm<1>(x, dim<1>))
SHEAF_ROW(norm_2, x, norm<2>(x, dim<0>))
SHEAF_ROW(norm_2_of_all, v3, norm<2>(v3))
SHEAF_ROW(norm_3, x, norm<3>(x, dim<1>))
SHEAF_ROW(norm_fraction, x, norm<1.5>(x, dim<0>))
SHEAF_ROW(norm_infinity, x, norm<infinity>(x, dim<1>))
SHEAF_ROW(norm_minus_infinity, x, norm<-infinity>(x, dim<1>))
SHEAF_ROW(own_monoid, x,
          define<"y">(t) = fold(own_monoid<"hypotenuse">(0_c, [](auto b, auto c) { return sqrt(b * b + c * c); })
                                    .adjoint([](auto element, auto result) { return element / result; }),
                                f, x(t, f)))
SHEAF_ROW(own_monoid_of_a_tuple, x,
          define<"y">(t) = get<2>(fold(own_monoid<"welford">(tuple(0_c, 0_c, 0_c),
                                                             [](auto b, auto c) {
                                                               const auto n = get<0>(b) + get<0>(c);
                                                               const auto part = get<0>(c) / maximum(n, 1_c);
                                                               const auto gap = get<1>(c) - get<1>(b);
                                                               const auto between = gap * gap * get<0>(b) * part;
                                                               return tuple(n, get<1>(b) + gap * part,
                                                                            get<2>(b) + get<2>(c) + between);
                                                             }),
                                       f, tuple(1_c, x(t, f), 0_c))))
SHEAF_ROW(own_monoid_in_order, x,
          define<"y">(t, f) = get<1>(fold(own_monoid<"affine">(tuple(1_c, 0_c),
                                                               [](auto b, auto c) {
                                                                 return tuple(get<0>(b) * get<0>(c),
                                                                              get<0>(c) * get<1>(b) + get<1>(c));
                                                               })
                                              .in_order(),
                                          i.in(0_c, t + 1_c), tuple(0.5_c * x(i, f), x(i, f)))) +
                              0_c * x(t, f))

SHEAF_ROW(cumsum, x, cumsum(x, dim<0>))
SHEAF_ROW(cumsum_reversed, x, cumsum<reversed>(x, dim<1>))
SHEAF_ROW(cumsum_exclusive, x, cumsum<exclusive>(x, dim<0>))
SHEAF_ROW(cumsum_both, v3, cumsum<reversed, exclusive>(v3, dim<1>))
SHEAF_ROW(cumprod, x, cumprod(x, dim<0>))
SHEAF_ROW(cumprod_reversed, x, cumprod<reversed>(x, dim<0>))
SHEAF_ROW(cumprod_exclusive, x, cumprod<exclusive>(x, dim<1>))
SHEAF_ROW(cummax, x, cummax(x, dim<0>))
SHEAF_ROW(cummax_reversed, x, cummax<reversed>(x, dim<1>))
SHEAF_ROW(cummin, x, cummin(x, dim<1>))
SHEAF_ROW(cummin_reversed, x, cummin<reversed>(x, dim<0>))
SHEAF_ROW(logcumsumexp, x, logcumsumexp(x, dim<0>))
SHEAF_ROW(logcumsumexp_reversed, x, logcumsumexp<reversed>(x, dim<1>))
// Of the exclusive ones the first is infinite: through a function that is finite there.
SHEAF_ROW(cummax_exclusive, x, elementwise([](auto e) { return tanh(e); }, cummax<exclusive>(x, dim<0>)))
SHEAF_ROW(cummin_exclusive, x, elementwise([](auto e) { return tanh(e); }, cummin<exclusive, reversed>(x, dim<0>)))
SHEAF_ROW(logcumsumexp_exclusive, x, elementwise([](auto e) { return exp(e); }, logcumsumexp<exclusive>(x, dim<0>)))

}  // namespace
