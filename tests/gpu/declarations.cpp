// Our declarations of the driver's calls against CUDA's own header, where that is installed: as many parameters, of
// the same sizes, pointers where it has pointers.
#include <gtest/gtest.h>

#ifdef SHEAF_HAS_CUDA_H
#define __CUDA_API_VERSION_INTERNAL  // declares what newer versions renamed, too
#include <cuda.h>

#include <type_traits>

#include <sheaf/runtime/cuda/driver.hpp>

namespace {

template <class A, class B>
inline constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                              std::is_floating_point_v<A> == std::is_floating_point_v<B>;
template <class Own, class Cuda>
inline constexpr bool fits = false;
template <class... Own, class Status, class... Cuda>
  requires(sizeof...(Own) == sizeof...(Cuda))
inline constexpr bool fits<int (*)(Own...), Status (*)(Cuda...)> =
    sizeof(Status) == sizeof(int) && (alike<Own, Cuda> && ...);

using namespace sheaf::runtime::cuda;
#define SHEAF_FITS(field, symbol, ...) \
  static_assert(fits<decltype(driver_table::field.raw), decltype(&::symbol)>, #symbol);
SHEAF_DRIVER_CALLS(SHEAF_FITS)

static_assert(sizeof(pool_properties) == sizeof(CUmemPoolProps));
static_assert(offsetof(pool_properties, location) == offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));
static_assert(pool_release_threshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(host_memory_portable_mapped == (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
              capture_active == CU_STREAM_CAPTURE_STATUS_ACTIVE);
#define SHEAF_SAME(own, cuda) static_assert(static_cast<int>(own) == static_cast<int>(cuda))
SHEAF_SAME(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SHEAF_SAME(attribute::threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SHEAF_SAME(attribute::shared_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SHEAF_SAME(attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SHEAF_SAME(attribute::cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SHEAF_SAME(attribute::threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SHEAF_SAME(attribute::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SHEAF_SAME(attribute::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SHEAF_SAME(attribute::shared_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SHEAF_SAME(attribute::shared_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SHEAF_SAME(attribute::memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SHEAF_SAME(function_attribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SHEAF_SAME(function_attribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SHEAF_SAME(function_attribute::dynamic_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

TEST(declarations, are_those_of_cuda_h) { SUCCEED() << "to compile is to pass"; }

}  // namespace
#else
TEST(declarations, are_those_of_cuda_h) { GTEST_SKIP() << "no cuda.h here: our declarations are not held against it"; }
#endif
