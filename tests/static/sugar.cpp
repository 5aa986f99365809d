// Anonymous definitions: equal sugar on equal operands is one type, names and extents follow from the operands.
#include <sheaf/sheaf.hpp>

namespace {
using namespace sheaf;

constexpr auto x = tensor<"x", float, 3>;
constexpr auto s = tensor<"s", float, 2, 5, 7>;

template <class A, class B>
constexpr bool same(A, B) {
  return std::is_same_v<A, B>;
}
static_assert(same(mean(x, dim<1>), mean(x, dim<-2>)));
static_assert(same(sum(x, dim<0>, dim<2>), sum(x, dim<-1>, dim<0>)));
static_assert(same(sum(x), sum(x, dim<0>, dim<1>, dim<2>)));
static_assert(!same(mean(x, dim<1>), mean(x, dim<0>)));

template <class T>
constexpr bool called(T, const char* name) {
  const char* own = T::label.text;
  for (; *own != 0 && *own == *name; ++own) ++name;
  return *own == *name;
}
static_assert(called(mean(x, dim<1>), "mean_x"));
static_assert(called(sum(mean(x, dim<1>)), "sum_mean_x"));

static_assert(mean(x, dim<1>).rank == 2 && mean<keepdim>(x, dim<1>).rank == 3 && mean(x).rank == 0);
static_assert(detail::static_extent(mean<keepdim>(x, dim<1>), 1) == 1);
static_assert(detail::static_extent(slice(s, range<none, none, -2>), 0) == 3);
static_assert(slice(x, at<0>, whole, at<-1>).rank == 1 && diagonal(x).rank == 2 && unfold<3>(x, dim<0>).rank == 4);

// Python's slice.indices.
static_assert(detail::sliced(2, 5, 1, 10).start == 2 && detail::sliced(2, 5, 1, 10).length == 3);
static_assert(detail::sliced(none, none, -1, 4).start == 3 && detail::sliced(none, none, -1, 4).length == 4);
static_assert(detail::sliced(-100, 100, 3, 7).start == 0 && detail::sliced(-100, 100, 3, 7).length == 3);
static_assert(detail::sliced(9, none, 1, 7).length == 0);

// Two definitions of one automatic name in one program are numbered.
static_assert([] {
  const graph g = detail::build_graph<decltype(mean(x, dim<0>)), decltype(mean(x, dim<1>))>();
  return !g.failed() && g[g.outputs[0]].attribute != g[g.outputs[1]].attribute;
}());

}  // namespace
