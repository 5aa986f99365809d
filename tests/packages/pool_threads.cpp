#include "../../examples/pools/threads.hpp"

#include "pools.hpp"

sheaf::parallel_hook hook_of_pool() {
  static thread_team team(4);
  return team.hook();
}
