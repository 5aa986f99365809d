// The CUDA driver, opened at run time: own declarations of the few calls that are used, so that nothing needs CUDA's
// headers to build or its libraries to start. Shown by tests/cuda/driver.cpp. Private header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::inline v0_1::runtime::cuda {

using status = int;  // 0: success
using address = std::uint64_t;
using context = struct context_handle*;
using stream = struct stream_handle*;
using event = struct event_handle*;
using module = struct module_handle*;
using function = struct function_handle*;
using graph = struct graph_handle*;
using executable_graph = struct executable_graph_handle*;
using memory_pool = struct memory_pool_handle*;

// cuda.h's numbers of what is used.
inline constexpr status out_of_memory = 2;
enum class attribute : int {
  threads_per_block = 1,
  shared_per_block = 8,
  multiprocessors = 16,
  cache_bytes = 38,
  threads_per_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_per_multiprocessor = 81,
  shared_per_block_optin = 97,
  memory_pools = 115,
};
enum class function_attribute : int { local_bytes = 3, registers = 4, dynamic_shared = 8 };
inline constexpr int pool_release_threshold = 4;
inline constexpr unsigned host_memory_portable_mapped = 3;
inline constexpr int capture_thread_local = 1, capture_relaxed = 2;
inline constexpr unsigned event_without_timing = 2;
inline constexpr int capture_active = 1;

// CUmemPoolProps.
struct pool_properties {
  int allocation_type = 1;  // pinned
  int handle_types = 0;
  int location_type = 1;  // a device
  int location = 0;
  void* security = nullptr;
  std::size_t most = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(pool_properties) == 88);

// A call that throws where it fails, naming itself and CUDA's own words; `raw` is the status.
template <class... A>
struct checked_call {
  const char* name = nullptr;
  status (*raw)(A...) = nullptr;
  void operator()(A... arguments) const;
};

// One row a call: our name, its symbol, its parameters. tests/gpu/declarations.cpp holds them against cuda.h.
#define SHEAF_DRIVER_CALLS(CALL)                                                                                       \
  CALL(initialise, cuInit, unsigned)                                                                                   \
  CALL(driver_version, cuDriverGetVersion, int*)                                                                       \
  CALL(error_name, cuGetErrorName, status, const char**)                                                               \
  CALL(error_text, cuGetErrorString, status, const char**)                                                             \
  CALL(device_count, cuDeviceGetCount, int*)                                                                           \
  CALL(device_get, cuDeviceGet, int*, int)                                                                             \
  CALL(device_name, cuDeviceGetName, char*, int, int)                                                                  \
  CALL(device_attribute, cuDeviceGetAttribute, int*, attribute, int)                                                   \
  CALL(device_memory, cuDeviceTotalMem_v2, std::size_t*, int)                                                          \
  CALL(context_retain, cuDevicePrimaryCtxRetain, context*, int)                                                        \
  CALL(context_get, cuCtxGetCurrent, context*)                                                                         \
  CALL(context_push, cuCtxPushCurrent_v2, context)                                                                     \
  CALL(context_pop, cuCtxPopCurrent_v2, context*)                                                                      \
  CALL(context_synchronise, cuCtxSynchronize)                                                                          \
  CALL(pool_create, cuMemPoolCreate, memory_pool*, const pool_properties*)                                             \
  CALL(pool_set, cuMemPoolSetAttribute, memory_pool, int, void*)                                                       \
  CALL(allocate, cuMemAllocFromPoolAsync, address*, std::size_t, memory_pool, stream)                                  \
  CALL(release, cuMemFreeAsync, address, stream)                                                                       \
  CALL(host_allocate, cuMemHostAlloc, void**, std::size_t, unsigned)                                                   \
  CALL(host_release, cuMemFreeHost, void*)                                                                             \
  CALL(host_address, cuMemHostGetDevicePointer_v2, address*, void*, unsigned)                                          \
  CALL(copy_in, cuMemcpyHtoDAsync_v2, address, const void*, std::size_t, stream)                                       \
  CALL(copy_out, cuMemcpyDtoHAsync_v2, void*, address, std::size_t, stream)                                            \
  CALL(copy_within, cuMemcpyAsync, address, address, std::size_t, stream)                                              \
  CALL(fill_bytes, cuMemsetD8Async, address, unsigned char, std::size_t, stream)                                       \
  CALL(fill_words, cuMemsetD32Async, address, unsigned, std::size_t, stream)                                           \
  CALL(stream_create, cuStreamCreate, stream*, unsigned)                                                               \
  CALL(stream_destroy, cuStreamDestroy_v2, stream)                                                                     \
  CALL(stream_synchronise, cuStreamSynchronize, stream)                                                                \
  CALL(stream_number, cuStreamGetId, stream, unsigned long long*)                                                      \
  CALL(stream_wait, cuStreamWaitEvent, stream, event, unsigned)                                                        \
  CALL(capture_begin, cuStreamBeginCapture_v2, stream, int)                                                            \
  CALL(capture_end, cuStreamEndCapture, stream, graph*)                                                                \
  CALL(capture_exchange, cuThreadExchangeStreamCaptureMode, int*)                                                      \
  CALL(capture_info, cuStreamGetCaptureInfo_v2, stream, int*, std::uint64_t*, graph*, const void**, std::size_t*)      \
  CALL(graph_instantiate, cuGraphInstantiateWithFlags, executable_graph*, graph, unsigned long long)                   \
  CALL(graph_launch, cuGraphLaunch, executable_graph, stream)                                                          \
  CALL(graph_destroy, cuGraphDestroy, graph)                                                                           \
  CALL(executable_destroy, cuGraphExecDestroy, executable_graph)                                                       \
  CALL(event_create, cuEventCreate, event*, unsigned)                                                                  \
  CALL(event_destroy, cuEventDestroy_v2, event)                                                                        \
  CALL(event_record, cuEventRecord, event, stream)                                                                     \
  CALL(event_query, cuEventQuery, event)                                                                               \
  CALL(event_synchronise, cuEventSynchronize, event)                                                                   \
  CALL(event_elapsed, cuEventElapsedTime, float*, event, event)                                                        \
  CALL(module_load, cuModuleLoadDataEx, module*, const void*, unsigned, int*, void**)                                  \
  CALL(module_unload, cuModuleUnload, module)                                                                          \
  CALL(module_function, cuModuleGetFunction, function*, module, const char*)                                           \
  CALL(function_get, cuFuncGetAttribute, int*, function_attribute, function)                                           \
  CALL(function_set, cuFuncSetAttribute, function, function_attribute, int)                                            \
  CALL(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, function, int, std::size_t)                       \
  CALL(launch, cuLaunchKernel, function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, \
       void**, void**)

struct driver_table {
#define SHEAF_FIELD(field, symbol, ...) checked_call<__VA_ARGS__> field;
  SHEAF_DRIVER_CALLS(SHEAF_FIELD)
#undef SHEAF_FIELD
  std::string path;
  int version = 0;  // 12040 is 12.4
};

// "12.4" of 12040.
std::string version_text(int version);

// Opens a driver and asks it for its version; initialises it. Throws code::device_failed, saying what is missing: the
// library, one of its calls, or a version of at least 12.0; `path` empty: what the setting SHEAF_CUDA names, else
// libcuda.so.1.
driver_table open_driver(const std::string& path);

// The driver of this process, opened at first need. Where that failed it is tried again at the next call.
const driver_table& driver();

// Throws what a status means: code::out_of_memory or code::device_failed, "CALL: expected success, found NAME (2):
// words".
[[noreturn]] void fail_status(const char* call, status found);

template <class... A>
void checked_call<A...>::operator()(A... arguments) const {
  if (const status found = raw(arguments...); found != 0) fail_status(name, found);
}

}  // namespace sheaf::inline v0_1::runtime::cuda
