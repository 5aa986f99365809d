// DLPack, the way tensors are handed from library to library: own declarations of its structures, version 0.8 and the
// managed tensor of PyTorch, JAX, CuPy and NumPy. A view of an imported tensor is good until its deleter is called.
// Shown by tests/gpu/dlpack.cpp.
//
//   auto x = dlpack::view_from<const float, 2>(*managed);         // on the host
//   auto y = dlpack::device_view_from<const float, 2>(*managed);  // on a GPU
#pragma once
#include <cstdint>

#include <sheaf/runtime/device.hpp>
#include <sheaf/runtime/view.hpp>

namespace sheaf::inline v0_1::dlpack {

// dlpack.h's layout and numbers.
enum : std::int32_t { on_cpu = 1, on_cuda = 2, on_cuda_host = 3, on_cuda_managed = 13 };
enum : std::uint8_t { code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4, code_bool = 6 };

struct device {
  std::int32_t type;
  std::int32_t ordinal;
};
struct data_type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t rank;
  data_type type;
  std::int64_t* extents;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct managed_tensor {
  tensor of;
  void* owner;
  void (*release)(managed_tensor* self);
};

// What an import needs, looked at. Throws code::rank_mismatch, and code::bad_argument for another element type, or for
// memory that is not where the view expects it.
void expect(const tensor& t, element type, int rank, bool on_device);

namespace detail {

template <class T, int Rank>
SHEAF_HIDDEN T* unpack(const tensor& t, std::int64_t* strides) {
  if (t.strides == nullptr)
    runtime::row_major(t.extents, strides, Rank);
  else
    for (int axis = 0; axis < Rank; ++axis) strides[axis] = t.strides[axis];
  return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
}

}  // namespace detail

// Memory of the host, or of a GPU that the host sees too.
template <class T, int Rank>
SHEAF_HIDDEN view<T, Rank> view_from(const tensor& t) {
  expect(t, element_of<std::remove_const_t<T>>, Rank, false);
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};
  T* first = detail::unpack<T, Rank>(t, strides);
  return {first, t.extents, strides};
}
// Memory of a GPU.
template <class T, int Rank>
SHEAF_HIDDEN device_view<T, Rank> device_view_from(const tensor& t) {
  expect(t, element_of<std::remove_const_t<T>>, Rank, true);
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};
  T* first = detail::unpack<T, Rank>(t, strides);
  return {first, t.extents, strides, t.device.ordinal};
}
template <class T, int Rank>
SHEAF_HIDDEN view<T, Rank> view_from(const managed_tensor& t) {
  return view_from<T, Rank>(t.of);
}
template <class T, int Rank>
SHEAF_HIDDEN device_view<T, Rank> device_view_from(const managed_tensor& t) {
  return device_view_from<T, Rank>(t.of);
}

}  // namespace sheaf::inline v0_1::dlpack
