// libcuda.so.1 of the tests: the calls of the driver that Sheaf uses, on memory of the host. It is as strict as the
// real one where that is: a current context, handles of that context, ranges that are allocated, nothing in a capture
// that can't be captured. Streams, graphs and events stand in streams.cpp. Kernels are emulated: see image.hpp and
// tests/cuda/emulator.hpp.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cuda/emulator.hpp>

#include "calls.hpp"
#include "image.hpp"

using namespace sheaf::fake;

namespace {

using address = std::uint64_t;

bool is_device(int device) { return device >= 0 && device < here().devices(); }

char* pointer(address a) { return reinterpret_cast<char*>(a); }

struct status_row {
  int number;
  const char *name, *text;
};
constexpr status_row statuses[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialised, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {no_binary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};

int copy(const char* name, address to, address from, std::size_t bytes, void* on, bool to_device, bool from_device) {
  stream& s = here().stream_of(on);
  if (s.owner != current()) return invalid_handle;
  if ((to_device && !here().inside(to, bytes)) || (from_device && !here().inside(from, bytes))) {
    std::fprintf(stderr, "fake driver: %s outside of what is allocated\n", name);
    return invalid_value;
  }
  // The host's memory is read at once, as pageable memory is; in a capture when the graph runs.
  if (!from_device && s.capturing == nullptr) {
    auto staged = std::make_shared<std::string>(pointer(from), bytes);
    return here().put(s, [=] { return std::memcpy(pointer(to), staged->data(), bytes), success; });
  }
  return here().put(s, [=] { return std::memmove(pointer(to), pointer(from), bytes), success; });
}

}  // namespace

extern "C" {

long fake_calls(const char* name) { return here().calls[name]; }
long long fake_allocated(int device) { return here().allocated[device]; }
void fake_recover() { here().crashed = 0; }

int cuInit(unsigned) {
  const std::lock_guard guard(here().lock);
  if (const int wanted = enter("cuInit"); wanted != success) return wanted;
  if (here().devices() == 0) return no_device;
  here().initialised = true;
  // Kernels call the emulator, which is in this library.
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&cuInit), &info) != 0)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return success;
}
int cuDriverGetVersion(int* version) {
  if (const int wanted = enter("cuDriverGetVersion"); wanted != success) return wanted;
  *version = static_cast<int>(number_of("FAKE_VERSION", 13000));
  return success;
}
int cuGetErrorName(int status, const char** name) {
  for (const status_row& row : statuses)
    if (row.number == status) return *name = row.name, success;
  return *name = nullptr, invalid_value;
}
int cuGetErrorString(int status, const char** text) {
  for (const status_row& row : statuses)
    if (row.number == status) return *text = row.text, success;
  return *text = nullptr, invalid_value;
}

int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = here().devices();
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (!is_device(ordinal)) return invalid_device;
  *device = ordinal;
  return success;
}
int cuDeviceGetName(char* name, int size, int device) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(size), "Fake %d", device);
  return success;
}
int cuDeviceGetAttribute(int* value, int what, int device) {
  ENTER("cuDeviceGetAttribute");
  if (!is_device(device)) return invalid_device;
  const long capability = number_of("FAKE_CAPABILITY", 90);
  const std::map<int, long> values = {{1, 1024},
                                      {8, 48 << 10},
                                      {16, 3},
                                      {38, 1 << 20},
                                      {39, 2048},
                                      {81, 228 << 10},
                                      {97, 227 << 10},
                                      {75, capability / 10},
                                      {76, capability % 10},
                                      {115, number_of("FAKE_POOLS", 1)}};
  const auto found = values.find(what);
  if (found == values.end()) return invalid_value;
  *value = static_cast<int>(found->second);
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  ENTER("cuDeviceTotalMem_v2");
  *bytes = static_cast<std::size_t>(number_of("FAKE_MEMORY", 1L << 40));
  return success;
}

int cuDevicePrimaryCtxRetain(void** made, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (!is_device(device)) return invalid_device;
  *made = &here().contexts.try_emplace(device, context{device}).first->second;
  return success;
}
int cuCtxGetCurrent(void** now) {
  ENTER("cuCtxGetCurrent");
  *now = current();
  return success;
}
int cuCtxSetCurrent(void* next) {
  ENTER("cuCtxSetCurrent");
  current() = static_cast<context*>(next);
  return success;
}
int cuCtxGetDevice(int* device) {
  ENTER_CONTEXT("cuCtxGetDevice");
  *device = current()->device;
  return success;
}
static thread_local std::vector<context*> pushed;
int cuCtxPushCurrent_v2(void* next) {
  ENTER("cuCtxPushCurrent_v2");
  pushed.push_back(current());
  current() = static_cast<context*>(next);
  return success;
}
int cuCtxPopCurrent_v2(void** was) {
  ENTER("cuCtxPopCurrent_v2");
  *was = current();
  if (pushed.empty()) return invalid_context;
  current() = pushed.back();
  pushed.pop_back();
  return success;
}
int cuCtxSynchronize() {
  ENTER_CONTEXT("cuCtxSynchronize");
  return here().run();
}

int cuMemPoolCreate(void** made, const void* properties) {
  ENTER("cuMemPoolCreate");
  int device = 0;  // CUmemPoolProps::location.id
  std::memcpy(&device, static_cast<const char*>(properties) + 12, sizeof device);
  if (!is_device(device)) return invalid_device;
  *made = new pool{device};
  return success;
}
int cuMemPoolSetAttribute(void*, int, void*) {
  ENTER("cuMemPoolSetAttribute");
  return success;
}
static int allocate(address* at, std::size_t bytes, int device, stream& s) {
  NO_CAPTURE(s);
  if (bytes == 0) return invalid_value;
  if (here().allocated[device] + static_cast<long long>(bytes) > number_of("FAKE_MEMORY", 1L << 40)) here().run();
  if (here().allocated[device] + static_cast<long long>(bytes) > number_of("FAKE_MEMORY", 1L << 40))
    return out_of_memory;
  auto memory = std::make_unique<char[]>(bytes + 512);
  std::memset(memory.get(), 0x5a, bytes + 512);  // contents are nothing to count on
  *at = (reinterpret_cast<address>(memory.get()) + 255) / 256 * 256;
  here().memory[*at] = {bytes, device, std::move(memory)};
  here().allocated[device] += static_cast<long long>(bytes);
  return success;
}
int cuMemAllocFromPoolAsync(address* at, std::size_t bytes, void* from, void* on) {
  ENTER_CONTEXT("cuMemAllocFromPoolAsync");
  return allocate(at, bytes, static_cast<pool*>(from)->device, here().stream_of(on));
}
int cuMemAllocAsync(address* at, std::size_t bytes, void* on) {
  ENTER_CONTEXT("cuMemAllocAsync");
  return allocate(at, bytes, current()->device, here().stream_of(on));
}
int cuMemFreeAsync(address at, void* on) {
  ENTER_CONTEXT("cuMemFreeAsync");
  stream& s = here().stream_of(on);
  NO_CAPTURE(s);
  const auto found = here().memory.find(at);
  if (found == here().memory.end() || found->second.freed) return invalid_value;
  return here().put(s, [at] {
    allocation& block = here().memory[at];
    here().allocated[block.device] -= static_cast<long long>(block.bytes);
    block.freed = true;
    std::memset(pointer(at), 0xa5, block.bytes);  // who reads it later sees rubbish
    return success;
  });
}
int cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  ENTER_CONTEXT("cuMemHostAlloc");
  *at = new char[bytes];
  return success;
}
int cuMemFreeHost(void* at) {
  ENTER_CONTEXT("cuMemFreeHost");
  delete[] static_cast<char*>(at);
  return success;
}
int cuMemHostGetDevicePointer_v2(address* seen, void* at, unsigned) {
  ENTER_CONTEXT("cuMemHostGetDevicePointer_v2");
  *seen = reinterpret_cast<address>(at);
  return success;
}
int cuMemcpyHtoDAsync_v2(address to, const void* from, std::size_t bytes, void* on) {
  ENTER_CONTEXT("cuMemcpyHtoDAsync_v2");
  return copy("cuMemcpyHtoDAsync_v2", to, reinterpret_cast<address>(from), bytes, on, true, false);
}
int cuMemcpyDtoHAsync_v2(void* to, address from, std::size_t bytes, void* on) {
  ENTER_CONTEXT("cuMemcpyDtoHAsync_v2");
  return copy("cuMemcpyDtoHAsync_v2", reinterpret_cast<address>(to), from, bytes, on, false, true);
}
int cuMemcpyAsync(address to, address from, std::size_t bytes, void* on) {
  ENTER_CONTEXT("cuMemcpyAsync");
  return copy("cuMemcpyAsync", to, from, bytes, on, true, true);
}
int cuMemsetD8Async(address at, unsigned char value, std::size_t bytes, void* on) {
  ENTER_CONTEXT("cuMemsetD8Async");
  if (!here().inside(at, bytes)) return invalid_value;
  return here().put(here().stream_of(on), [=] { return std::memset(pointer(at), value, bytes), success; });
}
int cuMemsetD32Async(address at, unsigned value, std::size_t words, void* on) {
  ENTER_CONTEXT("cuMemsetD32Async");
  if (at % 4 != 0 || !here().inside(at, words * 4)) return invalid_value;
  return here().put(here().stream_of(on), [=] {
    for (std::size_t k = 0; k < words; ++k) std::memcpy(pointer(at + 4 * k), &value, 4);
    return success;
  });
}

int cuModuleLoadDataEx(void** made, const void* image, unsigned, int*, void**) {
  ENTER_CONTEXT("cuModuleLoadDataEx");
  image_header header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.magic, "FAKEGPU", 8) != 0) return invalid_image;
  const std::string architecture = header.architecture;
  const long capability = number_of("FAKE_CAPABILITY", 90);
  const bool is_text = architecture.rfind("compute_", 0) == 0;
  const std::string own = "sm_" + std::to_string(capability);
  if (is_text ? std::stol(architecture.substr(8)) > capability : architecture != own && architecture != own + "a")
    return no_binary;
  const int file = memfd_create("kernels", 0);
  const char* bytes = static_cast<const char*>(image) + sizeof header;
  for (std::size_t put = 0; put < header.bytes;) {
    const ssize_t n = write(file, bytes + put, header.bytes - put);
    if (n <= 0) return invalid_image;
    put += static_cast<std::size_t>(n);
  }
  // A name that the loader has not seen: it knows libraries by their path, and numbers of files come back.
  static int serial = 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const std::string link = "/tmp/sheaf-fake-" + std::to_string(getpid()) + "-" + std::to_string(serial++) + ".so";
  const bool linked = symlink(path.c_str(), link.c_str()) == 0;
  void* library = linked ? dlopen(link.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) std::fprintf(stderr, "fake driver: %s\n", dlerror());
  unlink(link.c_str());
  close(file);
  if (library == nullptr) return invalid_image;
  *made = new module{current(), library};
  return success;
}
int cuModuleUnload(void* m) {
  ENTER_CONTEXT("cuModuleUnload");
  here().run();
  dlclose(static_cast<module*>(m)->library);
  delete static_cast<module*>(m);
  return success;
}
int cuModuleGetFunction(void** made, void* m, const char* name) {
  ENTER_CONTEXT("cuModuleGetFunction");
  void* library = static_cast<module*>(m)->library;
  const std::string base = name;
  const auto thread = reinterpret_cast<void (*)(const void*)>(dlsym(library, (base + "_thread").c_str()));
  const auto bytes = reinterpret_cast<unsigned long (*)()>(dlsym(library, (base + "_bytes").c_str()));
  if (thread == nullptr || bytes == nullptr) return not_found;
  *made = new function{static_cast<module*>(m), base, thread, bytes()};
  return success;
}
int cuFuncGetAttribute(int* value, int what, void*) {
  ENTER_CONTEXT("cuFuncGetAttribute");
  *value = what == 4 ? 32 : 0;
  return success;
}
int cuFuncSetAttribute(void* f, int what, int value) {
  ENTER_CONTEXT("cuFuncSetAttribute");
  if (what != 8 || value > 227 << 10) return invalid_value;
  static_cast<function*>(f)->dynamic_shared = value;
  return success;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, std::size_t) {
  ENTER_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = std::min(2048 / threads, 2);
  return success;
}
int cuLaunchKernel(void* what, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* on, void** parameters, void** extra) {
  ENTER_CONTEXT("cuLaunchKernel");
  auto* f = static_cast<function*>(what);
  stream& s = here().stream_of(on);
  if (s.owner != current() || f->owner->owner != current()) return invalid_handle;
  if (gx == 0 || gy != 1 || gz != 1 || bx == 0 || bx > 1024 || by != 1 || bz != 1) return invalid_value;
  if (static_cast<int>(shared) > f->dynamic_shared || extra != nullptr) return invalid_value;
  // The parameter is read now, as the real driver does.
  const auto words = std::make_shared<std::vector<std::uint64_t>>((f->bytes + 7) / 8);
  std::memcpy(words->data(), parameters[0], f->bytes);
  const int crash = static_cast<int>(number_of("FAKE_CRASH", 0));
  return here().put(s, [=] {
    if (crash != 0) return crash;
    static std::uint64_t seed = 1;
    try {
      sheaf::test::emulate([&] { f->thread(words->data()); }, bx, gx, seed++);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fake driver: kernel %s: %s\n", f->name.c_str(), e.what());
      return static_cast<int>(launch_failed);
    }
    return static_cast<int>(success);
  });
}

}  // extern "C"
