// std::mdspan as a view, with its strides. Built with a standard library that has it, and with the two sources of Sheaf
// that views need.
#include <mdspan>

#include <array>
#include <cstdio>
#include <numeric>

#include <sheaf/runtime/view.hpp>

using namespace sheaf;

template <class T, int Rank>
bool is(const view<T, Rank>& v, const void* data, std::array<std::int64_t, Rank> extents,
        std::array<std::int64_t, Rank> strides) {
  bool same = v.data == data;
  for (int d = 0; d < Rank; ++d) same = same && v.extents[d] == extents[d] && v.strides[d] == strides[d];
  return same;
}

int main() {
  std::array<float, 24> data;
  std::iota(data.begin(), data.end(), 0.0f);
  const std::mdspan<float, std::dextents<std::size_t, 2>> rows(data.data(), 3, 4);
  const std::mdspan<float, std::extents<int, 3, std::dynamic_extent>, std::layout_left> columns(data.data(), 4);
  const std::layout_stride::mapping apart(std::dextents<int, 2>(3, 2), std::array<int, 2>{8, 3});
  const std::mdspan<const float, std::dextents<int, 2>, std::layout_stride> some(data.data(), apart);
  const bool right = is(view<float, 2>(rows), data.data(), {3, 4}, {4, 1}) &&
                     is(view<float, 2>(columns), data.data(), {3, 4}, {1, 3}) &&
                     is(view<const float, 2>(some), data.data(), {3, 2}, {8, 3}) &&
                     view<const float, 2>(some)(2, 1) == 19;
  std::puts(right ? "mdspan: as expected" : "mdspan: another view");
  return right ? 0 : 1;
}
