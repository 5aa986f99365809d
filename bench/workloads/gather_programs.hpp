// The programs of W1 (the mean of gathered rows) and W2 (the same as a mean under a mask that is given, under one made
// of the indices, and as a one-hot contraction), for the processor and for a GPU.
#pragma once
#include <sheaf/sheaf.hpp>

namespace sheaf::bench::gathers_of {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto data = tensor<"data", float, 3>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;

constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, picks(b, k), f));
constexpr auto given = define<"given">(b, f) = mean(t.where(keep(b, t)), data(b, t, f));
constexpr auto masked = define<"masked">(b, f) = mean(t.where(any(k, picks(b, k) == t)), data(b, t, f));
constexpr auto hot = cast<float>(any(k, picks(b, k) == t));
constexpr auto contracted = define<"contracted">(b, f) =
    sum(t, hot* data(b, t, f)) / sum(t.in(0_c, data.extent(dim<1>)), hot);
}  // namespace sheaf::bench::gathers_of
