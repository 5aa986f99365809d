#include "../../examples/pools/openmp.hpp"

#include "pools.hpp"

sheaf::parallel_hook hook_of_pool() {
  return on_openmp();
}
