/* The driver of NVIDIA's GPUs, opened at the first call that needs it. Stands after frame.c. C99. */
#if defined(_WIN32)
#include <windows.h>
static SRWLOCK sk_gpu_mutex = SRWLOCK_INIT;
static void sk_gpu_lock(void) { AcquireSRWLockExclusive(&sk_gpu_mutex); }
static void sk_gpu_unlock(void) { ReleaseSRWLockExclusive(&sk_gpu_mutex); }
static const char sk_driver_library[] = "nvcuda.dll";
static void *sk_open_library(void) { return (void *)LoadLibraryA(sk_driver_library); }
static void sk_find_symbol(void *library, const char *name, void *to) {
  const FARPROC found = GetProcAddress((HMODULE)library, name);
  memcpy(to, &found, sizeof found);
}
#else
#include <dlfcn.h>
#include <pthread.h>
static pthread_mutex_t sk_gpu_mutex = PTHREAD_MUTEX_INITIALIZER;
static void sk_gpu_lock(void) { pthread_mutex_lock(&sk_gpu_mutex); }
static void sk_gpu_unlock(void) { pthread_mutex_unlock(&sk_gpu_mutex); }
static const char sk_driver_library[] = "libcuda.so.1";
static void *sk_open_library(void) { return dlopen(sk_driver_library, RTLD_NOW); }
static void sk_find_symbol(void *library, const char *name, void *to) {
  void *const found = dlsym(library, name);
  memcpy(to, &found, sizeof found);
}
#endif

/* Calls and their parameters: addresses on a device are 64 bits, the rest are handles. */
#define SK_DRIVER_CALLS(CALL) \
  CALL(cuInit, (unsigned)) \
  CALL(cuGetErrorString, (int, const char **)) \
  CALL(cuDeviceGet, (int *, int)) \
  CALL(cuDeviceGetAttribute, (int *, int, int)) \
  CALL(cuDevicePrimaryCtxRetain, (void **, int)) \
  CALL(cuCtxGetCurrent, (void **)) \
  CALL(cuCtxSetCurrent, (void *)) \
  CALL(cuCtxGetDevice, (int *)) \
  CALL(cuMemAllocAsync, (uint64_t *, size_t, void *)) \
  CALL(cuMemFreeAsync, (uint64_t, void *)) \
  CALL(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
  CALL(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
  CALL(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
  CALL(cuStreamSynchronize, (void *)) \
  CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **)) \
  CALL(cuModuleGetFunction, (void **, void *, const char *)) \
  CALL(cuFuncSetAttribute, (void *, int, int)) \
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t)) \
  CALL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
                                void **, void **))

static struct {
  int is_open;
#define SK_FIELD(call, parameters) int(*call) parameters;
  SK_DRIVER_CALLS(SK_FIELD)
#undef SK_FIELD
} sk_driver;

enum { sk_driver_out_of_memory = 2 };

/* status: of a call of the driver. */
static int sk_driver_result(const char *call, int status) {
  const char *words = NULL;
  char found[160];
  if (status == 0) return sk_ok;
  sk_driver.cuGetErrorString(status, &words);
  snprintf(found, sizeof found, "%s (%d)", words != NULL ? words : "an error", status);
  return sk_fail(status == sk_driver_out_of_memory ? sk_out_of_memory : sk_device_failed, call, "success", found);
}
#define SK_DRIVER(call, arguments) sk_driver_result(#call, sk_driver.call arguments)

/* With the lock held. */
static int sk_open_driver(void) {
  if (sk_driver.is_open) return sk_ok;
  void *const library = sk_open_library();
  if (library == NULL) return sk_fail(sk_device_failed, "driver of GPUs", sk_driver_library, "none");
#define SK_FIND(call, parameters) \
  sk_find_symbol(library, #call, &sk_driver.call); \
  if (sk_driver.call == NULL) return sk_fail(sk_device_failed, "driver of GPUs", "one with " #call, "an older one");
  SK_DRIVER_CALLS(SK_FIND)
#undef SK_FIND
  const int status = SK_DRIVER(cuInit, (0));
  sk_driver.is_open = status == sk_ok;
  return status;
}

/* The GPU of this thread. */
typedef struct sk_gpu {
  void *context;
  int device, target; /* target: among sk_gpu_targets */
} sk_gpu;

/* Machine code runs where the major number is its own and the minor one is not less; text on later ones too. */
static int sk_gpu_target_for(int compute) {
  const int count = (int)(sizeof sk_gpu_targets / sizeof sk_gpu_targets[0]);
  int found = -1;
  for (int t = 0; t + 1 < count; ++t)
    if (sk_gpu_targets[t].compute / 10 == compute / 10 && sk_gpu_targets[t].compute <= compute) found = t;
  return found >= 0 ? found : sk_gpu_targets[count - 1].compute <= compute ? count - 1 : -1;
}

/* The current context's GPU; of a thread that has none the first one's primary context becomes that. With the lock
 * held. */
static int sk_find_gpu(sk_gpu *gpu) {
  enum { major_number = 75, minor_number = 76 };
  int major = 0, minor = 0;
  char found[32];
  int status = sk_open_driver();
  if (status == sk_ok) status = SK_DRIVER(cuCtxGetCurrent, (&gpu->context));
  if (status == sk_ok && gpu->context == NULL) {
    status = SK_DRIVER(cuDeviceGet, (&gpu->device, 0));
    if (status == sk_ok) status = SK_DRIVER(cuDevicePrimaryCtxRetain, (&gpu->context, gpu->device));
    if (status == sk_ok) status = SK_DRIVER(cuCtxSetCurrent, (gpu->context));
  }
  if (status == sk_ok) status = SK_DRIVER(cuCtxGetDevice, (&gpu->device));
  if (status == sk_ok) status = SK_DRIVER(cuDeviceGetAttribute, (&major, major_number, gpu->device));
  if (status == sk_ok) status = SK_DRIVER(cuDeviceGetAttribute, (&minor, minor_number, gpu->device));
  if (status != sk_ok) return status;
  gpu->target = sk_gpu_target_for(10 * major + minor);
  snprintf(found, sizeof found, "sm_%d%d", major, minor);
  return gpu->target >= 0 ? sk_ok : sk_fail(sk_unsupported, "target", "a GPU that there is code for", found);
}
