// The tests of tests/coverage on emulated kernels. They run twice: once to see which kernels they need, which are then
// emitted and compiled together, and once with those, for what they check.
//
//   test_cuda [--gtest_filter=...]
#include <gtest/gtest.h>

#include <coverage/instead.hpp>

#include "machine.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& machine = sheaf::test::emulated_machine::only();
  sheaf::test::run_instead = [&](const auto& words, const sheaf_tensor* tensors) {
    return machine.run(words, tensors);
  };
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  testing::TestEventListener* const printer = listeners.Release(listeners.default_result_printer());
  if (RUN_ALL_TESTS() != 0) {
    std::printf("the reference alone fails\n");
    return 1;
  }
  machine.build();
  listeners.Append(printer);
  return RUN_ALL_TESTS();
}
