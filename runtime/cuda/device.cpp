// The public side of devices, see runtime/device.hpp.
#include <sheaf/runtime/device.hpp>

#include <atomic>

#include <sheaf/runtime/cuda/context.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1 {

namespace {

using runtime::cuda::device_context;
using runtime::cuda::driver;
namespace cuda = runtime::cuda;

cuda::stream stream_of(const stream& s) { return static_cast<cuda::stream>(s.handle()); }
cuda::event event_of(const event& e) { return static_cast<cuda::event>(e.handle()); }
cuda::address address_of(const void* p) { return reinterpret_cast<cuda::address>(p); }

// Kept for the process: what describes a machine does not change.
const std::string& kept(std::string words) { return *new std::string(std::move(words)); }

}  // namespace

int gpu_count() { return why_no_gpu()[0] == '\0' ? device_context::count() : 0; }

const char* why_no_gpu() {
  static const std::string why = [] {
    try {
      if (device_context::count() == 0) return std::string("the driver sees no device");
      return std::string();
    } catch (const error& e) {
      return std::string(e.what());
    }
  }();
  return why.c_str();
}

const char* describe(on_gpu where) {
  const auto& about = device_context::of(where.ordinal).about();
  const int version = driver().version;
  return kept(about.name + ", " + about.architecture() + ", driver " + cuda::version_text(version) + ", NVRTC " +
              cuda::compiler_version(version))
      .c_str();
}

struct stream::owned {
  std::atomic<int> copies = 1;
  cuda::stream handle = nullptr;
  int device = 0;
  owned(const owned&) = delete;
  explicit owned(int ordinal) : device(ordinal) {
    const device_context::current here(device_context::of(ordinal));
    driver().stream_create(&handle, 0);
  }
  ~owned() {
    try {
      device_context& context = device_context::of(device);
      const device_context::current here(context);
      context.forget(handle);
      driver().stream_destroy.raw(handle);
    } catch (const error&) {  // the device is gone
    }
  }
};

stream::stream(on_gpu where) : device_(where.ordinal), owner_(new owned(where.ordinal)) { handle_ = owner_->handle; }
stream::stream(const stream& other) noexcept : handle_(other.handle_), device_(other.device_), owner_(other.owner_) {
  if (owner_ != nullptr) owner_->copies.fetch_add(1, std::memory_order_relaxed);
}
stream::~stream() {
  if (owner_ != nullptr && owner_->copies.fetch_sub(1, std::memory_order_acq_rel) == 1) delete owner_;
}

void stream::synchronise() const {
  device_context& context = device_context::of(device_);
  const device_context::current here(context);
  driver().stream_synchronise(stream_of(*this));
  context.check(context.state_of(stream_of(*this)).get());
}

void stream::check() const {
  device_context& context = device_context::of(device_);
  const device_context::current here(context);
  context.check(context.state_of(stream_of(*this)).get());
}

void stream::wait(const event& e) const {
  const device_context::current here(device_context::of(device_));
  driver().stream_wait(stream_of(*this), event_of(e), 0);
}

void synchronise(on_gpu where) {
  device_context& context = device_context::of(where.ordinal);
  const device_context::current here(context);
  driver().context_synchronise();
  context.check(nullptr);
}

event::event(on_gpu where) : device_(where.ordinal) {
  const device_context::current here(device_context::of(device_));
  cuda::event made = nullptr;
  driver().event_create(&made, 0);
  handle_ = made;
}
event::~event() {
  if (handle_ != nullptr) driver().event_destroy.raw(event_of(*this));
}
void event::record(const stream& s) {
  const device_context::current here(device_context::of(device_));
  driver().event_record(event_of(*this), stream_of(s));
}
void event::synchronise() const {
  const device_context::current here(device_context::of(device_));
  driver().event_synchronise(event_of(*this));
}
double event::milliseconds_since(const event& earlier) const {
  const device_context::current here(device_context::of(device_));
  driver().event_synchronise(event_of(*this));
  float ms = 0;
  driver().event_elapsed(&ms, event_of(earlier), event_of(*this));
  return static_cast<double>(ms);
}

graph_launch::~graph_launch() {
  if (handle_ != nullptr) driver().executable_destroy.raw(static_cast<cuda::executable_graph>(handle_));
}
void graph_launch::launch(const stream& s) const {
  const device_context::current here(device_context::of(device_));
  driver().graph_launch(static_cast<cuda::executable_graph>(handle_), stream_of(s));
}

capturing::capturing(const stream& s) : stream_(s) {
  const device_context::current here(device_context::of(s.device()));
  driver().capture_begin(stream_of(s), cuda::capture_thread_local);
}
capturing::~capturing() {
  if (!open_) return;
  try {
    const device_context::current here(device_context::of(stream_.device()));
    cuda::graph made = nullptr;
    if (driver().capture_end.raw(stream_of(stream_), &made) == 0 && made != nullptr) driver().graph_destroy.raw(made);
  } catch (const error&) {  // the device is gone, and what was captured with it
  }
}
graph_launch capturing::finish() {
  const device_context::current here(device_context::of(stream_.device()));
  cuda::graph made = nullptr;
  driver().capture_end(stream_of(stream_), &made);
  open_ = false;
  cuda::executable_graph ready = nullptr;
  const cuda::status found = driver().graph_instantiate.raw(&ready, made, 0);
  driver().graph_destroy.raw(made);
  if (found != 0) cuda::fail_status(driver().graph_instantiate.name, found);
  return graph_launch(ready, stream_.device());
}

namespace runtime {

void* device_allocate(std::size_t bytes, bool zeroed, const stream& s) {
  device_context& context = device_context::of(s.device());
  const device_context::current here(context);
  if (context.captures(stream_of(s)))
    fail(code::unsupported, "allocation in a capture", "arrays that are made before it and given as views",
         "a new one");
  const cuda::address at = context.allocate(bytes, stream_of(s));
  if (zeroed && bytes > 0) {
    const cuda::status found = driver().fill_bytes.raw(at, 0, bytes, stream_of(s));
    if (found != 0) {
      context.release(at, stream_of(s));
      cuda::fail_status(driver().fill_bytes.name, found);
    }
  }
  return reinterpret_cast<void*>(at);
}
void device_deallocate(void* at, const stream& s) noexcept {
  if (at == nullptr) return;
  try {
    device_context::of(s.device()).release(address_of(at), stream_of(s));
  } catch (const error&) {  // the device is gone
  }
}
void device_copy_in(void* to, const void* from, std::size_t bytes, const stream& s) {
  const device_context::current here(device_context::of(s.device()));
  if (bytes > 0) driver().copy_in(address_of(to), from, bytes, stream_of(s));
}
void device_copy_out(void* to, const void* from, std::size_t bytes, const stream& s) {
  const device_context::current here(device_context::of(s.device()));
  if (bytes > 0) driver().copy_out(to, address_of(from), bytes, stream_of(s));
}
void device_copy_within(void* to, const void* from, std::size_t bytes, const stream& s) {
  const device_context::current here(device_context::of(s.device()));
  if (bytes > 0) driver().copy_within(address_of(to), address_of(from), bytes, stream_of(s));
}

void expect_dense(const char* operation, const std::int64_t* extents, const std::int64_t* strides, int rank) {
  std::int64_t dense = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (extents[axis] > 1 && strides[axis] != dense)
      fail(code::bad_argument, operation, "stride " + std::to_string(dense) + " in dimension " + std::to_string(axis),
           std::to_string(strides[axis]));
    dense *= extents[axis];
  }
}
void expect_same_extents(const char* operation, const std::int64_t* to, const std::int64_t* from, int rank) {
  for (int axis = 0; axis < rank; ++axis)
    if (to[axis] != from[axis])
      fail(code::extent_mismatch, std::string(operation) + ", dimension " + std::to_string(axis),
           "extent " + std::to_string(to[axis]), std::to_string(from[axis]));
}

}  // namespace runtime

}  // namespace sheaf::inline v0_1
