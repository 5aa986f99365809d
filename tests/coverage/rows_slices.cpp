// C: slices, padding, windows.
#include <coverage/rows.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::rows;

SHEAF_ROW(slice, x, slice(x, range<2, 5>, at<-1>))
SHEAF_ROW(slice_reversed, x, slice(x, range<none, none, -1>, range<-3>))
SHEAF_ROW(slice_strided, v3, slice(v3, at<1>, range<none, none, -2>, range<1, none, 3>))
SHEAF_ROW(diagonal, x, diagonal<1>(x))
SHEAF_ROW(diagonal_below, v3, diagonal<-1>(v3))
SHEAF_ROW(trace, x, trace(x))
SHEAF_ROW(tril, x, tril(x))
SHEAF_ROW(triu, v3, triu<1>(v3))
SHEAF_ROW(band, x, band<2, 0>(x))
SHEAF_ROW(flip, x, flip(x, dim<0>))
SHEAF_ROW(roll, x, roll<2>(x, dim<0>))
SHEAF_ROW(roll_back, v3, roll<-4>(v3, dim<-1>))
SHEAF_ROW(pad, x, pad<1, 2>(x, dim<0>))
SHEAF_ROW(pad_value, x, pad<1, 2, padding::constant, 0.5>(x, dim<1>))
SHEAF_ROW(pad_reflect, x, pad<3, 2, padding::reflect>(x, dim<0>))
SHEAF_ROW(pad_replicate, x, pad<3, 2, padding::replicate>(x, dim<0>))
SHEAF_ROW(pad_circular, v3, pad<3, 2, padding::circular>(v3, dim<-1>))
SHEAF_ROW(padded, x, define<"y">(t, f) = x(t, f) * x.padded(0.5_c)(t - 1_c, f))
SHEAF_ROW(clamped, x, define<"y">(t, f) = x(t, f) * x.clamped(t + 2_c, f - 1_c))
SHEAF_ROW(reflected, x, define<"y">(t, f) = x(t, f) * x.reflected(t - 3_c, f + 2_c))
SHEAF_ROW(wrapped, x, define<"y">(t, f) = x(t, f) * x.wrapped(t - 3_c, f + 2_c))
SHEAF_ROW(skipping, x, define<"y">(t, f) = x(t, f) * mean(u.in(0_c, 3_c), x.skipping(t + u - 1_c, f)))

SHEAF_ROW(unfold, x, unfold<3, 2>(x, dim<0>))
SHEAF_ROW(unfold_dilated, v3, unfold<3, 1, 2>(v3, dim<2>))
SHEAF_ROW(window, x, define<"y">(t.in(0_c, extent(x, dim<0>) - 2_c), f) = mean(u.in(0_c, 3_c), x(t + u, f)))
SHEAF_ROW(avg_pool1d, v3, avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(v3))
SHEAF_ROW(avg_pool2d, v4,
          avg_pool2d<pool{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .count_include_pad = false}>(v4))
SHEAF_ROW(avg_pool2d_ceil, v4,
          avg_pool2d<pool{.kernel = {3, 4}, .stride = {2, 3}, .padding = {1, 1}, .ceil_mode = true}>(v4))
SHEAF_ROW(avg_pool3d, v4, avg_pool3d<pool{.kernel = {2, 3, 2}, .stride = {1, 2, 2}, .divisor_override = 5}>(v4))
SHEAF_ROW(max_pool1d, v3, max_pool1d<pool{.kernel = {3}, .stride = {1}, .padding = {1}}>(v3))
SHEAF_ROW(max_pool2d, v4,
          max_pool2d<pool{.kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 1}, .dilation = {2, 2}}>(v4))
SHEAF_ROW(max_pool3d, v4, max_pool3d<pool{.kernel = {2, 2, 3}}>(v4))
SHEAF_ROW(lp_pool1d, v3, lp_pool1d<2, pool{.kernel = {3}, .stride = {2}}>(v3))
SHEAF_ROW(lp_pool2d, v4, lp_pool2d<3, pool{.kernel = {2, 2}}>(v4))
SHEAF_ROW(lp_pool3d, v4, lp_pool3d<2, pool{.kernel = {2, 2, 2}}>(v4))
SHEAF_ROW(global_avg_pool, v4, global_avg_pool(v4))
SHEAF_ROW(global_max_pool, v4, global_max_pool<keepdim>(v4))
SHEAF_ROW(adaptive_avg_pool, v4, adaptive_avg_pool<3, 4>(v4))
SHEAF_ROW(adaptive_max_pool, v4, adaptive_max_pool<3, 4>(v4))

}  // namespace
