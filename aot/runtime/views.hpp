// The kernels of @name@.h with named arguments and views; they throw nothing and allocate nothing. C++20.
// Made by sheaf-aot.
#pragma once
#include "@name@.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifndef SHEAF_KERNELS_VIEWS
#define SHEAF_KERNELS_VIEWS
namespace sheaf_kernels {

// What a call answers; the words are valid until the thread's next call that fails.
class [[nodiscard]] status {
 public:
  constexpr status(int code, const char *name, const char *words) noexcept : code_(code), name_(name), words_(words) {}
  explicit operator bool() const noexcept { return code_ == 0; }
  int code() const noexcept { return code_; }
  const char *name() const noexcept { return name_; }
  const char *message() const noexcept { return code_ == 0 ? "" : words_; }

 private:
  int code_;
  const char *name_, *words_;
};

// Somebody's array: of a pointer, extents and (without: no gaps) strides; of what has data() and size(); of what has
// data_handle(), extent(d) and stride(d), like std::mdspan.
template <class T, std::size_t Rank>
struct view {
  T *data = nullptr;
  std::int64_t extents[Rank] = {}, strides[Rank] = {};

  view() = default;
  view(T *first, const std::int64_t (&n)[Rank]) noexcept : data(first) {
    std::int64_t count = 1;
    for (std::size_t d = Rank; d-- > 0;) {
      extents[d] = n[d], strides[d] = count;
      count *= n[d] > 0 ? n[d] : 1;
    }
  }
  view(T *first, const std::int64_t (&n)[Rank], const std::int64_t (&s)[Rank]) noexcept : data(first) {
    for (std::size_t d = 0; d < Rank; ++d) extents[d] = n[d], strides[d] = s[d];
  }
  template <class List>
    requires(Rank == 1 && requires(List &list) { static_cast<T *>(list.data()), list.size(); })
  view(List &&list) noexcept : view(list.data(), {static_cast<std::int64_t>(list.size())}) {}
  template <class Span>
    requires requires(Span &s) { static_cast<T *>(s.data_handle()), s.extent(0), s.stride(0); }
  view(Span &&s) noexcept : data(s.data_handle()) {
    static_assert(std::remove_cvref_t<Span>::rank() == Rank, "a view has the rank of its array");
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = static_cast<std::int64_t>(s.extent(d));
      strides[d] = static_cast<std::int64_t>(s.stride(d));
    }
  }
  bool has(const std::array<std::int64_t, Rank> &n) const noexcept {
    for (std::size_t d = 0; d < Rank; ++d)
      if (extents[d] != n[d]) return false;
    return true;
  }
};

}  // namespace sheaf_kernels
#endif

namespace @name@ {

using run = @name@_run;

@kernels@
}  // namespace @name@
