// Which memory is meant, without what a device needs: see runtime/device.hpp.
#pragma once
#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1 {

struct gpu_name {};
SHEAF_HIDDEN inline constexpr gpu_name gpu{};
struct on_gpu {
  int ordinal = 0;
};
// A device, as the driver counts them.
SHEAF_HIDDEN constexpr on_gpu on(gpu_name, int ordinal = 0) { return {ordinal}; }

namespace runtime {

// Views and arrays that the host can't read say so.
template <class T>
concept device_memory = requires { typename T::memory_of_a_device; };

}  // namespace runtime

}  // namespace sheaf::inline v0_1
