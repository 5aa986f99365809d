// C: segments, bags, gathers, scatters, counts, masks.
#include <coverage/rows.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::rows;

SHEAF_ROW(segment_sum_by_offsets, x, segment_sum(x, offsets(off)))
SHEAF_ROW(segment_mean_by_offsets, x, segment_mean(x, offsets(off)))
SHEAF_ROW(segment_max_by_offsets, x, segment_max(x, offsets(off)))
SHEAF_ROW(segment_min_by_offsets, x, segment_min(x, offsets(off)))
SHEAF_ROW(segment_prod_by_offsets, x, segment_prod(x, offsets(off)))
SHEAF_ROW(segment_logsumexp_by_offsets, x, segment_logsumexp(x, offsets(off)))
SHEAF_ROW(segment_sum_by_bounds, x, segment_sum(x, bounds(cut)))
SHEAF_ROW(segment_mean_by_bounds, x, segment_mean(x, bounds(cut)))
SHEAF_ROW(segment_max_by_bounds, x, segment_max(x, bounds(cut)))
SHEAF_ROW(segment_min_by_bounds, x, segment_min(x, bounds(cut)))
SHEAF_ROW(segment_prod_by_bounds, x, segment_prod(x, bounds(cut)))
SHEAF_ROW(segment_logsumexp_by_bounds, x, segment_logsumexp(x, bounds(cut)))
SHEAF_ROW(segment_sum_by_ids, x, segment_sum<4>(x, ids))
SHEAF_ROW(segment_mean_by_ids, x, segment_mean(x, ids, cut.extent(dim<0>)))
SHEAF_ROW(segment_max_by_ids, x, segment_max<4>(x, ids))
SHEAF_ROW(segment_min_by_ids, x, segment_min<4>(x, ids))
SHEAF_ROW(segment_prod_by_ids, x, segment_prod<4>(x, ids))
SHEAF_ROW(segment_logsumexp_by_ids, x, segment_logsumexp<4>(x, ids))
SHEAF_ROW(segment_softmax, x, define<"y">(t, f) = exp(x(t, f) - segment_logsumexp<4>(x, ids)(ids(t), f)))

SHEAF_ROW(embedding_bag_mean, x, embedding_bag(picks, x))
SHEAF_ROW(embedding_bag_sum, x, embedding_bag<bag{.mode = bag_mode::sum, .padding = 3}>(picks, x))
SHEAF_ROW(embedding_bag_max, x, embedding_bag<bag{.mode = bag_mode::max, .padding = 0}>(picks, x))
SHEAF_ROW(embedding_bag_weighted, x, embedding_bag<bag{.mode = bag_mode::sum}>(picks, x, share))
SHEAF_ROW(embedding_bag_by_weights, share, embedding_bag<bag{.mode = bag_mode::sum}>(picks, x, share))
SHEAF_ROW(embedding_bag_list_mean, x, embedding_bag<bag{.padding = 2}>(order, x, offsets(off)))
SHEAF_ROW(embedding_bag_list_max, x, embedding_bag<bag{.mode = bag_mode::max}>(order, x, offsets(off)))
SHEAF_ROW(embedding_bag_list_weighted, x,
          embedding_bag<bag{.mode = bag_mode::sum, .padding = 1}>(order, x, offsets(off), weight))
SHEAF_ROW(embedding_bag_list_by_weights, weight,
          embedding_bag<bag{.mode = bag_mode::sum}>(order, x, offsets(off), weight))

SHEAF_ROW(take_along_axis, x, take_along_axis(x, places, dim<0>))
SHEAF_ROW(index_select, x, index_select(x, order, dim<0>))
SHEAF_ROW(index_select_columns, x, index_select(x, small, dim<1>))
SHEAF_ROW(scatter_add, w, scatter_add(w, places, x, dim<0>))
SHEAF_ROW(scatter_add_by_source, x, scatter_add(w, places, x, dim<0>))
SHEAF_ROW(index_add, w, index_add(w, order, x, dim<0>))
SHEAF_ROW(index_add_by_source, x, index_add(w, order, x, dim<0>))
SHEAF_ROW(bincount_by_weights, weight, bincount<4>(ids, weight))

SHEAF_ROW(gather_mean, x, define<"y">(m, f) = mean(k, x(picks(m, k), f)))
SHEAF_ROW(mask, x, define<"y">(f) = sum(t.where(keep(t)), x(t, f) * x(t, f)))
SHEAF_ROW(mask_of_indices, x, define<"y">(m, f) = mean(t.where(any(k, picks(m, k) == t)), exp(x(t, f))))
SHEAF_ROW(slice_mean, x, define<"y">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f) * x(t, f)))

}  // namespace
