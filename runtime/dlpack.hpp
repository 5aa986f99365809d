// DLPack, the way tensors are handed from library to library: own declarations of its structures, version 0.8 and the
// managed tensor of PyTorch, JAX, CuPy and NumPy. A view of an imported tensor is good until its deleter is called.
// Shown by tests/gpu/dlpack.cpp and tests/runtime/dlpack_test.cpp.
//
//   auto x = dlpack::view_from<const float, 2>(*managed);         // on the host
//   auto y = dlpack::device_view_from<const float, 2>(*managed);  // on a GPU
#pragma once
#include <cstdint>

#include <sheaf/runtime/array.hpp>
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

namespace detail {

template <class Owner, int Rank>
struct exported {
  managed_tensor tensor;
  Owner owner;
  std::int64_t extents[Rank > 0 ? Rank : 1], strides[Rank > 0 ? Rank : 1];
};

template <class T>
SHEAF_HIDDEN constexpr data_type type_of() {
  constexpr element type = element_of<std::remove_const_t<T>>;
  const std::uint8_t code = type == element::boolean ? code_bool
                            : type == element::bf16  ? code_bfloat
                            : is_floating(type)      ? code_float
                            : is_unsigned(type)     ? code_uint
                                                     : code_int;
  return {code, static_cast<std::uint8_t>(8 * row(type).bytes), 1};
}

template <class T, int Rank, class Owner>
SHEAF_HIDDEN managed_tensor* exported_from(const view<T, Rank>& of, Owner&& owner) {
  using made_of = exported<std::remove_cvref_t<Owner>, Rank>;
  auto* const made = new made_of{{}, std::forward<Owner>(owner), {}, {}};
  for (int axis = 0; axis < Rank; ++axis) {
    made->extents[axis] = of.extents[axis];
    made->strides[axis] = of.strides[axis];
  }
  made->tensor.of = {const_cast<std::remove_const_t<T>*>(of.data), {on_cpu, 0}, Rank, type_of<T>(), made->extents,
                     made->strides, 0};
  made->tensor.owner = made;
  made->tensor.release = [](managed_tensor* self) { delete static_cast<made_of*>(self->owner); };
  return &made->tensor;
}

}  // namespace detail

// What others take over and release: an array, which is moved there, or memory that outlives what they do with it.
//
//   dlpack::managed_tensor* out = dlpack::to_managed(std::move(gradient));
template <class T, int Rank>
SHEAF_HIDDEN managed_tensor* to_managed(array<T, Rank>&& from) {
  const view<T, Rank> of(from);  // its elements stay where they are
  return detail::exported_from(of, std::move(from));
}
template <class T, int Rank>
SHEAF_HIDDEN managed_tensor* to_managed(const view<T, Rank>& of) {
  return detail::exported_from(of, 0);
}

}  // namespace sheaf::inline v0_1::dlpack
