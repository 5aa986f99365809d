// Arrays that own their elements: what a compiled program returns. Shown by tests/runtime/array_test.cpp.
#pragma once
#include <sheaf/runtime/view.hpp>

namespace sheaf::inline v0_1 {
namespace runtime {

SHEAF_HIDDEN inline constexpr std::size_t array_alignment = 64;  // a cache line and the widest vector

// Throw code::bad_argument for a negative extent or too many bytes, code::out_of_memory where there is none left.
std::int64_t count_elements(const std::int64_t* extents, int rank, std::size_t element_bytes);
void* allocate(std::size_t bytes, bool zeroed);
// Large blocks are kept for the next array of their size (spare_blocks.hpp) if the caller lets them.
void deallocate(void* block, std::size_t bytes, bool kept = true) noexcept;
void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace runtime

// Asks for elements that are not set: right for outputs that a kernel writes in full.
struct uninitialized_t {};
SHEAF_HIDDEN inline constexpr uninitialized_t uninitialized{};

// Row-major, contiguous, aligned to 64 bytes, zero unless asked otherwise. A rank-0 array holds one element and
// converts to it. A moved-from array is empty: all extents and the size are 0. Element access is unchecked.
//
//   array<float, 2> a(3, 4);
//   a(2, 3) = 1;
template <class T, int Rank>
class array {
  static_assert(is_element<T>, "an array's element is bool, an integer of 8 to 64 bits, or a float");
  static_assert(Rank >= 0);

 public:
  using value_type = T;

  SHEAF_HIDDEN array()
    requires(Rank > 0)
  = default;
  SHEAF_HIDDEN array()
    requires(Rank == 0)
  {
    allocate(true);
  }
  SHEAF_HIDDEN array(T value)
    requires(Rank == 0)
  {
    allocate(false);
    *data_ = value;
  }
  SHEAF_HIDDEN explicit array(uninitialized_t)
    requires(Rank == 0)
  {
    allocate(false);
  }

  template <std::integral... Extent>
    requires(Rank > 0 && sizeof...(Extent) == Rank)
  SHEAF_INLINE explicit array(Extent... extent) : extents_{static_cast<std::int64_t>(extent)...} {
    allocate(true);
  }

  template <std::integral... Extent>
    requires(Rank > 0 && sizeof...(Extent) == Rank)
  SHEAF_INLINE explicit array(uninitialized_t, Extent... extent) : extents_{static_cast<std::int64_t>(extent)...} {
    allocate(false);
  }

  // extents points to Rank sizes.
  SHEAF_HIDDEN array(uninitialized_t, const std::int64_t* extents) {
    for (int axis = 0; axis < Rank; ++axis) extents_[axis] = extents[axis];
    allocate(false);
  }

  SHEAF_HIDDEN array(const array& other) {
    if (!other.data_) return;
    for (int axis = 0; axis < Rank; ++axis) extents_[axis] = other.extents_[axis];
    allocate(false);
    runtime::copy_bytes(data_, other.data_, bytes());
  }
  SHEAF_HIDDEN array(array&& other) noexcept { swap(other); }
  SHEAF_HIDDEN array& operator=(array other) noexcept {
    swap(other);
    return *this;
  }
  SHEAF_HIDDEN ~array() { runtime::deallocate(data_, bytes()); }

  SHEAF_HIDDEN void swap(array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(extents_, other.extents_);
  }

  SHEAF_HIDDEN static constexpr int rank() { return Rank; }
  SHEAF_HIDDEN std::int64_t size() const { return size_; }
  SHEAF_HIDDEN std::int64_t extent(int axis) const { return extents_[axis]; }
  SHEAF_HIDDEN std::int64_t stride(int axis) const {
    std::int64_t stride = 1;
    for (int inner = Rank - 1; inner > axis; --inner) stride *= extents_[inner];
    return stride;
  }

  SHEAF_HIDDEN T* data() { return data_; }
  SHEAF_HIDDEN const T* data() const { return data_; }
  SHEAF_HIDDEN T* data_handle() { return data_; }  // with rank, extent and stride: converts to a view as mdspan does
  SHEAF_HIDDEN const T* data_handle() const { return data_; }
  SHEAF_HIDDEN T* begin() { return data_; }
  SHEAF_HIDDEN T* end() { return data_ + size_; }
  SHEAF_HIDDEN const T* begin() const { return data_; }
  SHEAF_HIDDEN const T* end() const { return data_ + size_; }

  template <std::integral... Index>
    requires(sizeof...(Index) == Rank)
  SHEAF_INLINE T& operator()(Index... index) {
    return data_[offset(index...)];
  }
  template <std::integral... Index>
    requires(sizeof...(Index) == Rank)
  SHEAF_INLINE const T& operator()(Index... index) const {
    return data_[offset(index...)];
  }

  SHEAF_HIDDEN operator T() const
    requires(Rank == 0)
  {
    return *data_;
  }

  SHEAF_HIDDEN void fill(T value) {
    for (T& one : *this) one = value;
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t extents_[Rank > 0 ? Rank : 1] = {};

  SHEAF_HIDDEN std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  SHEAF_HIDDEN void allocate(bool zeroed) {
    size_ = runtime::count_elements(extents_, Rank, sizeof(T));
    data_ = static_cast<T*>(runtime::allocate(bytes(), zeroed));
  }

  template <class... Index>
  SHEAF_INLINE std::int64_t offset(Index... index) const {
    std::int64_t at = 0;
    int axis = 0;
    ((at = at * extents_[axis++] + static_cast<std::int64_t>(index)), ...);
    return at;
  }
};

}  // namespace sheaf::inline v0_1
