// GPUs as callers see them: streams, events, graphs, arrays and views of device memory, copies. Nothing here shows
// CUDA: a caller's own stream is a void*. Shown by tests/cuda/device.cpp; docs/gpu.md tells the rest.
//
//   stream s(on(gpu));                                  // of device 0
//   device_array<float, 2> x = to_device(rows, s);      // a copy, in the order of the stream
//   auto [l, dx] = step(x = x, on(s));                  // arrays on the device
//   array<float, 2> back = to_host(dx, s);              // waits for the stream
#pragma once
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/place.hpp>
#include <sheaf/runtime/view.hpp>

namespace sheaf::inline v0_1 {

// How many GPUs there are; 0 also where there is no driver. why_no_gpu says what is missing, and is empty where there
// is one.
int gpu_count();
const char* why_no_gpu();
// "NVIDIA H200, sm_90, driver 13.0, NVRTC 13.0"; throws where there is none.
const char* describe(on_gpu where);

class event;

// A queue of work on a device. Copies name the same stream. Streams made here are ordered with the default stream, as
// those of CUDA are; nothing but synchronise and to_host ever waits.
class stream {
 public:
  // A new one, destroyed with its last copy.
  explicit stream(on_gpu where);
  stream(const stream& other) noexcept;
  stream& operator=(stream other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(device_, other.device_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~stream();
  // The device's default stream.
  static stream main(on_gpu where = {}) { return stream(nullptr, where); }
  // The caller's, that must outlive the copies: a CUDA stream handle as void*.
  static stream borrowed(void* handle, on_gpu where = {}) { return stream(handle, where); }

  void* handle() const { return handle_; }
  int device() const { return device_; }

  // Waits for all that was queued. Throws what the device itself reports, else what programs on it found wrong with
  // their data (the first, once).
  void synchronise() const;
  // The same without waiting: what is known by now.
  void check() const;
  // Work queued from now on begins after the event.
  void wait(const event& e) const;

 private:
  struct owned;
  stream(void* handle, on_gpu where) : handle_(handle), device_(where.ordinal) {}
  void* handle_ = nullptr;
  int device_ = 0;
  owned* owner_ =
      nullptr;  // counts its copies; not std::shared_ptr, whose header takes longer to compile than this one
};

// All streams of a device.
void synchronise(on_gpu where = {});

// Where a call runs, and in which memory: an argument of the call.
struct on_stream {
  const stream* where;
  void* memory = nullptr;
  std::size_t bytes = 0;
  // Workspace of the caller's, on the device, 256-aligned, the call's alone until it is done.
  on_stream workspace(void* given, std::size_t size) const { return {where, given, size}; }
};
inline on_stream on(const stream& s) { return {&s}; }
on_stream on(stream&&) = delete;

// A point in a stream, with its time.
class event {
 public:
  explicit event(on_gpu where = {});
  ~event();
  event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), device_(other.device_) {}
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(device_, other.device_);
    return *this;
  }
  void record(const stream& s);
  void synchronise() const;
  // Between two recorded events; waits for this one.
  double milliseconds_since(const event& earlier) const;
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  int device_ = 0;
};

// Recorded work that is launched as a whole: see capture.
class graph_launch {
 public:
  graph_launch(graph_launch&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), device_(other.device_) {}
  graph_launch& operator=(graph_launch&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~graph_launch();
  void launch(const stream& s) const;

 private:
  friend class capturing;
  graph_launch(void* handle, int device) : handle_(handle), device_(device) {}
  void* handle_;
  int device_;
};

// Between its construction and finish(), what is queued on the stream is recorded and not run.
class capturing {
 public:
  explicit capturing(const stream& s);
  ~capturing();  // forgets what was recorded, where finish() was not called
  capturing(const capturing&) = delete;
  graph_launch finish();

 private:
  stream stream_;
  bool open_ = true;
};
// What body queues on s, as a graph. Programs in it ran, or were reserved, on s before, and live as long as the graph.
template <class Body>
SHEAF_HIDDEN graph_launch capture(const stream& s, Body body) {
  capturing c(s);
  body();
  return c.finish();
}

namespace runtime {

void* device_allocate(std::size_t bytes, bool zeroed, const stream& s);
void device_deallocate(void* at, const stream& s) noexcept;
void device_copy_in(void* to, const void* from, std::size_t bytes, const stream& s);
void device_copy_out(void* to, const void* from, std::size_t bytes, const stream& s);
void device_copy_within(void* to, const void* from, std::size_t bytes, const stream& s);
// Throws code::bad_argument unless the elements lie side by side in row-major order, and code::extent_mismatch unless
// the extents are the same.
void expect_dense(const char* operation, const std::int64_t* extents, const std::int64_t* strides, int rank);
void expect_same_extents(const char* operation, const std::int64_t* to, const std::int64_t* from, int rank);

}  // namespace runtime

template <class T, int Rank>
class device_array;

// Device memory that somebody owns: a view whose pointer the host can't follow.
//
//   device_view<const float, 2> x = device_view_of(pointer, {rows, columns}, on(gpu, 1));
template <class T, int Rank>
struct device_view {
  static_assert(is_element<std::remove_const_t<T>>, "a view's element is bool, an integer of 8 to 64 bits, or a float");
  using value_type = std::remove_const_t<T>;
  using memory_of_a_device = value_type;
  T* data = nullptr;
  std::int64_t extents[Rank > 0 ? Rank : 1] = {};
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};  // in elements
  int device = 0;

  SHEAF_HIDDEN constexpr device_view() = default;
  SHEAF_HIDDEN constexpr device_view(T* first, const std::int64_t* sizes, const std::int64_t* steps, int ordinal)
      : data(first), device(ordinal) {
    for (int axis = 0; axis < Rank; ++axis) extents[axis] = sizes[axis], strides[axis] = steps[axis];
  }
  template <class From>
    requires(!std::same_as<From, T> && runtime::element_pointer_to<From, T>)
  SHEAF_INLINE constexpr device_view(const device_view<From, Rank>& from)
      : device_view(from.data, from.extents, from.strides, from.device) {}

  SHEAF_HIDDEN static constexpr int rank() { return Rank; }
  SHEAF_HIDDEN constexpr std::int64_t extent(int axis) const { return extents[axis]; }
  SHEAF_HIDDEN constexpr std::int64_t stride(int axis) const { return strides[axis]; }
  SHEAF_HIDDEN constexpr std::int64_t size() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < Rank; ++axis) count *= extents[axis];
    return count;
  }
};

// Row-major over [first, first + product of the extents), or with strides.
template <class T, int Rank>
SHEAF_HIDDEN constexpr device_view<T, Rank> device_view_of(T* first, const std::int64_t (&extents)[Rank],
                                                           on_gpu where = {}) {
  std::int64_t strides[Rank] = {};
  runtime::row_major(extents, strides, Rank);
  return {first, extents, strides, where.ordinal};
}
template <class T, int Rank>
SHEAF_HIDDEN constexpr device_view<T, Rank> device_view_of(T* first, const std::int64_t (&extents)[Rank],
                                              const std::int64_t (&strides)[Rank], on_gpu where = {}) {
  return {first, extents, strides, where.ordinal};
}
// One element.
template <class T>
SHEAF_HIDDEN constexpr device_view<T, 0> device_view_of(T* first, on_gpu where = {}) {
  return {first, nullptr, nullptr, where.ordinal};
}

// Where an array is made: a stream, or the default stream of a device.
struct place_of_array {
  stream queue;
  SHEAF_HIDDEN place_of_array(on_gpu where) : queue(stream::main(where)) {}
  SHEAF_HIDDEN place_of_array(const stream& s) : queue(s) {}
};

// Owns its elements: row-major, 256-aligned, zero unless asked otherwise. Its memory comes from the device's pool in
// the order of a stream and goes back to it in that order: whoever uses it on another stream orders the two by an
// event.
//
//   device_array<float, 2> x(on(gpu), 1024, 64);
template <class T, int Rank>
class device_array {
  static_assert(is_element<T>, "an array's element is bool, an integer of 8 to 64 bits, or a float");

 public:
  using value_type = T;
  using memory_of_a_device = T;

  template <std::integral... Extent>
    requires(sizeof...(Extent) == Rank)
  SHEAF_INLINE explicit device_array(const place_of_array& where, Extent... extent)
      : extents_{static_cast<std::int64_t>(extent)...}, stream_(where.queue) {
    allocate(true);
  }
  template <std::integral... Extent>
    requires(sizeof...(Extent) == Rank)
  SHEAF_INLINE explicit device_array(uninitialized_t, const place_of_array& where, Extent... extent)
      : extents_{static_cast<std::int64_t>(extent)...}, stream_(where.queue) {
    allocate(false);
  }
  // extents points to Rank sizes.
  SHEAF_HIDDEN device_array(uninitialized_t, const place_of_array& where, const std::int64_t* extents)
      : stream_(where.queue) {
    for (int axis = 0; axis < Rank; ++axis) extents_[axis] = extents[axis];
    allocate(false);
  }
  SHEAF_HIDDEN device_array(device_array&& other) noexcept : stream_(other.stream_) { swap(other); }
  SHEAF_HIDDEN device_array& operator=(device_array&& other) noexcept {
    swap(other);
    return *this;
  }
  SHEAF_HIDDEN ~device_array() { runtime::device_deallocate(data_, stream_); }

  SHEAF_HIDDEN void swap(device_array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(extents_, other.extents_);
    std::swap(stream_, other.stream_);
  }

  SHEAF_HIDDEN static constexpr int rank() { return Rank; }
  SHEAF_HIDDEN std::int64_t size() const { return size_; }
  SHEAF_HIDDEN std::int64_t extent(int axis) const { return extents_[axis]; }
  SHEAF_HIDDEN int device() const { return stream_.device(); }
  SHEAF_HIDDEN const stream& queue() const { return stream_; }
  // For the device only; not data(), which would make it look like memory of the host.
  SHEAF_HIDDEN T* pointer() { return data_; }
  SHEAF_HIDDEN const T* pointer() const { return data_; }

  SHEAF_HIDDEN device_view<T, Rank> view() { return viewed(data_); }
  SHEAF_HIDDEN device_view<const T, Rank> view() const { return viewed(static_cast<const T*>(data_)); }
  SHEAF_HIDDEN operator device_view<T, Rank>() { return view(); }
  SHEAF_HIDDEN operator device_view<const T, Rank>() const { return view(); }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t extents_[Rank > 0 ? Rank : 1] = {};
  stream stream_;

  template <class U>
  SHEAF_INLINE device_view<U, Rank> viewed(U* at) const {
    std::int64_t strides[Rank > 0 ? Rank : 1] = {};
    runtime::row_major(extents_, strides, Rank);
    return {at, extents_, strides, device()};
  }
  SHEAF_HIDDEN void allocate(bool zeroed) {
    size_ = runtime::count_elements(extents_, Rank, sizeof(T));
    data_ = static_cast<T*>(runtime::device_allocate(static_cast<std::size_t>(size_) * sizeof(T), zeroed, stream_));
  }
};

namespace runtime {

using device_copy = void (*)(void* to, const void* from, std::size_t bytes, const stream& s);
template <class To, class From>
SHEAF_HIDDEN void copy_dense(const char* operation, device_copy how, const To& to, const From& from, const stream& s) {
  expect_dense(operation, to.extents, to.strides, To::rank());
  expect_dense(operation, from.extents, from.strides, To::rank());
  expect_same_extents(operation, to.extents, from.extents, To::rank());
  how(to.data, from.data, static_cast<std::size_t>(to.size()) * sizeof(*to.data), s);
}

}  // namespace runtime

// Copies in the order of the stream. Both sides dense and of equal extents. The host's side must stay as it is until
// the stream has come there: call s.synchronise() before it is read or goes away.
template <class T, class From, int Rank>
  requires(std::same_as<std::remove_const_t<From>, T>)
SHEAF_HIDDEN void copy(const device_view<T, Rank>& to, const view<From, Rank>& from, const stream& s) {
  runtime::copy_dense("copy to a device", runtime::device_copy_in, to, from, s);
}
template <class T, class From, int Rank>
  requires(std::same_as<std::remove_const_t<From>, T>)
SHEAF_HIDDEN void copy(const view<T, Rank>& to, const device_view<From, Rank>& from, const stream& s) {
  runtime::copy_dense("copy from a device", runtime::device_copy_out, to, from, s);
}
template <class T, class From, int Rank>
  requires(std::same_as<std::remove_const_t<From>, T>)
SHEAF_HIDDEN void copy(const device_view<T, Rank>& to, const device_view<From, Rank>& from, const stream& s) {
  runtime::copy_dense("copy on a device", runtime::device_copy_within, to, from, s);
}

// A copy of an array or a dense view on the device of a stream. The host's memory must stay as it is until the stream
// is there.
template <class T, int Rank>
SHEAF_HIDDEN auto to_device(const view<T, Rank>& from, const place_of_array& where) {
  device_array<std::remove_const_t<T>, Rank> made(uninitialized, where, from.extents);
  copy(made.view(), from, where.queue);
  return made;
}
template <class T, int Rank>
SHEAF_HIDDEN auto to_device(const array<T, Rank>& from, const place_of_array& where) {
  if constexpr (Rank == 0)
    return to_device(view<const T, 0>(*from.data()), where);
  else
    return to_device(view<const T, Rank>(from), where);
}
// A copy on the host; waits for the stream, and throws what that throws.
template <class T, int Rank>
SHEAF_HIDDEN auto to_host(const device_view<T, Rank>& from, const stream& s) {
  array<std::remove_const_t<T>, Rank> made(uninitialized, from.extents);
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};
  runtime::row_major(from.extents, strides, Rank);
  copy(view<std::remove_const_t<T>, Rank>(made.data(), from.extents, strides), from, s);
  s.synchronise();
  return made;
}
template <class T, int Rank>
SHEAF_HIDDEN auto to_host(const device_array<T, Rank>& from, const stream& s) {
  return to_host(from.view(), s);
}
template <class T, int Rank>
SHEAF_HIDDEN auto to_host(const device_array<T, Rank>& from) {
  return to_host(from.view(), from.queue());
}

}  // namespace sheaf::inline v0_1
