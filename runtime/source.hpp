// What views are made of: from the caller's object to a first element, extents and strides, by its members alone; no
// other library is included. Each kind says its strides or is known to have none; what only has data() and size() is
// refused, as its elements may lie anywhere. Shown by tests/runtime/view_test.cpp, tests/libraries.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1::runtime {

template <class From, class To>
concept element_pointer_to = std::is_convertible_v<From (*)[], To (*)[]>;  // adds const, never changes the type

// std::mdspan and its ancestors, sheaf::array, and the tensor classes that offer the same names; the handle is
// data_handle() or, as before C++23, data().
template <class Source>
concept mdspan_like = requires(Source& source) {
  { source.rank() } -> std::convertible_to<std::int64_t>;
  { source.extent(source.rank()) } -> std::convertible_to<std::int64_t>;
  { source.stride(source.rank()) } -> std::convertible_to<std::int64_t>;
  requires requires { *source.data_handle(); } || requires {
    *source.data();
  };
};

// Eigen's matrices, arrays, maps, references, and its expressions with direct access: blocks, transposes, diagonals.
template <class Source>
concept matrix_like = requires(Source& source) {
  { source.rows() } -> std::convertible_to<std::int64_t>;
  { source.cols() } -> std::convertible_to<std::int64_t>;
  { source.rowStride() } -> std::convertible_to<std::int64_t>;
  { source.colStride() } -> std::convertible_to<std::int64_t>;
  { source.innerStride() } -> std::convertible_to<std::int64_t>;
  { static_cast<bool>(Source::IsVectorAtCompileTime) } -> std::same_as<bool>;
  *source.data();
};

// xtensor's containers, adaptors, and views of them: the first element is at data() + data_offset(). A class that has
// strides() without data_offset() may count them in bytes, as pybind11's arrays do.
template <class Source>
concept xtensor_like = requires(Source& source) {
  { source.dimension() } -> std::convertible_to<std::int64_t>;
  { source.data_offset() } -> std::convertible_to<std::int64_t>;
  { source.shape()[0] } -> std::convertible_to<std::int64_t>;
  { source.strides()[0] } -> std::convertible_to<std::int64_t>;
  *source.data();
};

// A class with one of these has a layout of its own, even where its iterators are contiguous.
template <class Source>
concept says_a_shape = requires(Source& source) {
  source.rows();
}
|| requires(Source& source) { source.cols(); }
|| requires(Source& source) { source.columns(); }
|| requires(Source& source) { source.shape(); }
|| requires(Source& source) { source.strides(); }
|| requires(Source& source) { source.stride(); };

// std::vector, std::span, std::array and their kin: iterators that promise elements side by side.
template <class Source>
concept contiguous_like = !says_a_shape<Source> && requires(Source & source) {
  { source.size() } -> std::convertible_to<std::size_t>;
  *source.data();
  requires std::contiguous_iterator<decltype(source.begin())>;
};

enum class source_kind : std::uint8_t { none, mdspan, matrix, xtensor, contiguous };

template <class Source>
SHEAF_HIDDEN inline constexpr source_kind kind_of_source = mdspan_like<Source>       ? source_kind::mdspan
                                                           : matrix_like<Source>     ? source_kind::matrix
                                                           : xtensor_like<Source>    ? source_kind::xtensor
                                                           : contiguous_like<Source> ? source_kind::contiguous
                                                                                     : source_kind::none;

// An mdspan whose accessor computes what it reads (scaled, conjugated, atomic) is more than its memory.
template <class Source>
concept reads_memory = kind_of_source<Source>
!= source_kind::mdspan || !requires {
  typename Source::accessor_type;
  typename Source::reference;
}
|| std::is_lvalue_reference_v<typename Source::reference>;

template <class Source>
SHEAF_HIDDEN constexpr auto* memory_of(Source& source) {
  if constexpr (kind_of_source<Source> == source_kind::xtensor)
    return source.data() + static_cast<std::ptrdiff_t>(source.data_offset());
  else if constexpr (requires { *source.data_handle(); } && kind_of_source<Source> == source_kind::mdspan)
    return source.data_handle();
  else
    return source.data();
}

template <class Source>
using element_of_source = std::remove_pointer_t<decltype(memory_of(std::declval<Source&>()))>;

// -1: known at run time only. A matrix is no vector, whatever its extents, unless its type says so; such a vector may
// also serve as a matrix.
template <class Source>
SHEAF_HIDDEN constexpr int static_rank() {
  using own = std::remove_const_t<Source>;
  if constexpr (kind_of_source<Source> == source_kind::mdspan) {
    if constexpr (requires { std::integral_constant<int, static_cast<int>(own::rank())>{}; })
      return static_cast<int>(own::rank());
    else
      return -1;
  } else if constexpr (kind_of_source<Source> == source_kind::matrix) {
    return own::IsVectorAtCompileTime ? 1 : 2;
  } else if constexpr (kind_of_source<Source> == source_kind::xtensor) {
    using shape = std::remove_cvref_t<decltype(std::declval<Source&>().shape())>;
    if constexpr (requires { std::tuple_size<shape>::value; })
      return static_cast<int>(std::tuple_size<shape>::value);
    else if constexpr (requires { std::integral_constant<int, static_cast<int>(shape::size())>{}; })
      return static_cast<int>(shape::size());
    else
      return -1;
  } else {
    return 1;
  }
}

template <class Source, class T, int Rank>
concept source_of = kind_of_source<Source>
!= source_kind::none&& reads_memory<Source> &&
    (static_rank<Source>() == Rank || static_rank<Source>() == -1 ||
     (kind_of_source<Source> == source_kind::matrix && Rank == 2)) &&
    element_pointer_to<element_of_source<Source>, T>;

template <class Source, class T, int Rank>
concept c_array_of = std::is_array_v<Source> && std::extent_v<Source> >
0 && int(std::rank_v<Source>) == Rank&& element_pointer_to<std::remove_all_extents_t<Source>, T>;

[[noreturn]] void fail_rank(std::int64_t expected, std::int64_t found);
[[noreturn]] void fail_layout();

// Throws code::rank_mismatch where the rank is known at run time only and is not Rank, code::bad_argument where an
// mdspan's layout has no strides.
template <int Rank, class Source>
SHEAF_HIDDEN constexpr void expect_strided(Source& source) {
  if constexpr (static_rank<Source>() < 0) {
    const auto rank = [&] {
      if constexpr (kind_of_source<Source> == source_kind::mdspan)
        return static_cast<std::int64_t>(source.rank());
      else
        return static_cast<std::int64_t>(source.dimension());
    }();
    if (rank != Rank) fail_rank(Rank, rank);
  }
  if constexpr (requires { source.is_strided(); })
    if (!source.is_strided()) fail_layout();
}

template <int Rank, class Source>
SHEAF_HIDDEN constexpr void layout_of(Source& source, std::int64_t* extents, std::int64_t* strides) {
  const auto put = [&](int axis, auto extent, auto stride) {
    extents[axis] = static_cast<std::int64_t>(extent);
    strides[axis] = static_cast<std::int64_t>(stride);
  };
  if constexpr (kind_of_source<Source> == source_kind::contiguous) {
    put(0, source.size(), 1);
  } else if constexpr (kind_of_source<Source> == source_kind::matrix && Rank == 1) {
    put(0, source.size(), source.innerStride());
  } else if constexpr (kind_of_source<Source> == source_kind::matrix) {
    put(0, source.rows(), source.rowStride());
    put(1, source.cols(), source.colStride());
  } else {
    for (int axis = 0; axis < Rank; ++axis) {
      if constexpr (kind_of_source<Source> == source_kind::mdspan) {
        const auto theirs = static_cast<std::remove_cvref_t<decltype(source.rank())>>(axis);
        put(axis, source.extent(theirs), source.stride(theirs));
      } else {
        const auto place = static_cast<std::size_t>(axis);
        put(axis, source.shape()[place], source.strides()[place]);
      }
    }
  }
}

}  // namespace sheaf::inline v0_1::runtime
