// Views: a pointer, extents and strides, made from what the caller already has. Shown by tests/runtime/view_test.cpp.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sheaf/dsl/graph/element.hpp>
#include <sheaf/runtime/source.hpp>

namespace sheaf::inline v0_1 {

// A view without its types, for the call path. The extents and strides belong to the view it came from.
struct tensor_ref {
  void* data;
  element type;
  int rank;
  const std::int64_t* extents;
  const std::int64_t* strides;  // in elements
};

namespace runtime {

[[noreturn]] void fail_axis(const char* operation, int axis, int rank);
[[noreturn]] void fail_range(std::int64_t begin, std::int64_t end, std::int64_t extent);
[[noreturn]] void fail_step(std::int64_t step);

SHEAF_HIDDEN constexpr void row_major(const std::int64_t* extents, std::int64_t* strides, int rank) {
  std::int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
}

}  // namespace runtime

// The extents of an array that is dense and need not exist: step.prepare(x = like(4096, 64)).
template <int Rank>
struct extents_alone {
  std::int64_t extents[Rank > 0 ? Rank : 1] = {};
};
template <std::integral... Extent>
SHEAF_INLINE constexpr extents_alone<sizeof...(Extent)> like(Extent... extents) {
  return {{static_cast<std::int64_t>(extents)...}};
}

// Does not own its elements. Strides are in elements and may be zero or negative. Element access is unchecked.
//
//   std::vector<float> v(12);
//   view<float, 2> x = view_of(v.data(), {3, 4});
//   view<const float, 1> flat = v;
template <class T, int Rank>
struct view {
  static_assert(is_element<std::remove_const_t<T>>, "a view's element is bool, an integer of 8 to 64 bits, or a float");
  static_assert(Rank >= 0);

  T* data = nullptr;
  std::int64_t extents[Rank > 0 ? Rank : 1] = {};
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};

  SHEAF_HIDDEN constexpr view() = default;

  SHEAF_HIDDEN constexpr view(T* first, const std::int64_t* sizes, const std::int64_t* steps) : data(first) {
    for (int axis = 0; axis < Rank; ++axis) extents[axis] = sizes[axis], strides[axis] = steps[axis];
  }

  template <class From>
    requires(!std::same_as<From, T> && runtime::element_pointer_to<From, T>)
  SHEAF_INLINE constexpr view(const view<From, Rank>& from) : view(from.data, from.extents, from.strides) {}

  // Everything with strides, and what lies side by side: see source.hpp. Throws code::rank_mismatch when it knows its
  // rank at run time only and it is not Rank.
  template <class Source>
    requires(runtime::source_of<std::remove_reference_t<Source>, T, Rank>)
  SHEAF_INLINE constexpr view(Source&& source) {
    runtime::expect_strided<Rank>(source);
    data = runtime::memory_of(source);
    runtime::layout_of<Rank>(source, extents, strides);
  }

  // Without memory: for what asks about a call and doesn't run it.
  SHEAF_HIDDEN constexpr view(const extents_alone<Rank>& like) {
    for (int axis = 0; axis < Rank; ++axis) extents[axis] = like.extents[axis];
    runtime::row_major(extents, strides, Rank);
  }

  template <class Source>
    requires(runtime::c_array_of<Source, T, Rank>)
  SHEAF_INLINE constexpr view(Source& source) {
    fill_extents<Source>(extents);
    runtime::row_major(extents, strides, Rank);
    data = first_of(source);
  }

  // The type must match exactly: a converted number would be a temporary that the view outlives.
  template <class Scalar>
    requires(Rank == 0 && std::same_as<std::remove_cvref_t<Scalar>, std::remove_const_t<T>> &&
             runtime::element_pointer_to<std::remove_reference_t<Scalar>, T> &&
             (std::is_const_v<T> || std::is_lvalue_reference_v<Scalar>))
  SHEAF_INLINE constexpr view(Scalar&& value) : data(&value) {}

  SHEAF_HIDDEN static constexpr int rank() { return Rank; }
  SHEAF_HIDDEN constexpr std::int64_t extent(int axis) const { return extents[axis]; }
  SHEAF_HIDDEN constexpr std::int64_t stride(int axis) const { return strides[axis]; }
  SHEAF_HIDDEN constexpr T* data_handle() const { return data; }

  SHEAF_HIDDEN constexpr std::int64_t size() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < Rank; ++axis) count *= extents[axis];
    return count;
  }

  template <std::integral... Index>
    requires(sizeof...(Index) == Rank)
  SHEAF_INLINE constexpr T& operator()(Index... index) const {
    std::int64_t at = 0;
    int axis = 0;
    ((at += static_cast<std::int64_t>(index) * strides[axis++]), ...);
    return data[at];
  }

  // The axes in reverse order.
  SHEAF_HIDDEN constexpr view transposed() const {
    view result = *this;
    for (int axis = 0; axis < Rank; ++axis) {
      result.extents[axis] = extents[Rank - 1 - axis];
      result.strides[axis] = strides[Rank - 1 - axis];
    }
    return result;
  }

  // Positions [begin, end) of one axis. Throws code::bad_argument outside the axis.
  SHEAF_HIDDEN constexpr view sliced(int axis, std::int64_t begin, std::int64_t end) const {
    check_axis("slice of a view", axis);
    if (begin < 0 || end < begin || end > extents[axis]) runtime::fail_range(begin, end, extents[axis]);
    view result = *this;
    if (end > begin) result.data += begin * strides[axis];
    result.extents[axis] = end - begin;
    return result;
  }

  // Every step-th position of one axis, from its first; from its last where step is negative. Step is not zero.
  SHEAF_HIDDEN constexpr view strided(int axis, std::int64_t step) const {
    check_axis("stride of a view", axis);
    if (step == 0 || step == INT64_MIN) runtime::fail_step(step);
    view result = *this;
    const std::int64_t extent = extents[axis];
    if (step < 0 && extent > 0) result.data += (extent - 1) * strides[axis];
    const std::int64_t distance = step < 0 ? -step : step;
    result.extents[axis] = extent > 0 ? (extent - 1) / distance + 1 : 0;
    result.strides[axis] = strides[axis] * step;
    return result;
  }

  // Valid as long as this view is; const elements are handed on as data that only inputs may use.
  SHEAF_HIDDEN tensor_ref erased() const& {
    return {const_cast<std::remove_const_t<T>*>(data), element_of<std::remove_const_t<T>>, Rank, extents, strides};
  }
  SHEAF_HIDDEN tensor_ref erased() const&& = delete;

 private:
  SHEAF_HIDDEN constexpr void check_axis(const char* operation, int axis) const {
    if (axis < 0 || axis >= Rank) runtime::fail_axis(operation, axis, Rank);
  }

  template <class Array>
  SHEAF_INLINE static constexpr void fill_extents(std::int64_t* out) {
    *out = static_cast<std::int64_t>(std::extent_v<Array>);
    if constexpr (std::rank_v<Array> > 1) fill_extents<std::remove_extent_t<Array>>(out + 1);
  }

  template <class Array>
  SHEAF_INLINE static constexpr T* first_of(Array& array) {
    if constexpr (std::is_array_v<Array>)
      return first_of(array[0]);
    else
      return &array;
  }
};

// Row-major over [first, first + product of the extents).
template <class T, int Rank>
SHEAF_HIDDEN constexpr view<T, Rank> view_of(T* first, const std::int64_t (&extents)[Rank]) {
  std::int64_t strides[Rank] = {};
  runtime::row_major(extents, strides, Rank);
  return view<T, Rank>(first, extents, strides);
}

template <class T, int Rank>
SHEAF_HIDDEN constexpr view<T, Rank> view_of(T* first, const std::int64_t (&extents)[Rank],
                                             const std::int64_t (&strides)[Rank]) {
  return view<T, Rank>(first, extents, strides);
}

// The same for sizes of any integer type: view_of(v.data(), rows.size(), 3).
template <class T, std::integral... Extent>
SHEAF_HIDDEN constexpr view<T, int(sizeof...(Extent))> view_of(T* first, Extent... extent) {
  if constexpr (sizeof...(Extent) == 0)
    return view<T, 0>(*first);
  else
    return view_of(first, {static_cast<std::int64_t>(extent)...});
}

}  // namespace sheaf::inline v0_1
