#include "../../examples/pools/onetbb.hpp"

#include "pools.hpp"

sheaf::parallel_hook hook_of_pool() {
  static tbb::task_arena arena(4);
  return on_onetbb(arena);
}
