// SHEAF_TEST_GPU=1: on the GPU of this machine; tests of what only a fake can do then say so and are passed over.
#include <gtest/gtest.h>

#include <cstdlib>

#include "machine.hpp"

int main(int argc, char** argv) {
  if (!sheaf::test::on_real_gpu()) {
    setenv("SHEAF_CUDA", SHEAF_FAKE_CUDA, 1);
    setenv("SHEAF_NVRTC", SHEAF_FAKE_NVRTC, 1);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
