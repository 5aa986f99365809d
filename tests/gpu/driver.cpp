// What is said of a driver or a compiler that is missing, too old, or lacks a call; and every call's failure, by name.
#include <gtest/gtest.h>

#include <sheaf/runtime/cuda/context.hpp>
#include <sheaf/runtime/cuda/driver.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <support/both.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::runtime::cuda;
using fake::with;
using test::sentence_of;

TEST(driver, a_missing_library_is_named_with_the_loaders_words) {
  EXPECT_EQ(
      sentence_of([] { open_driver("/nowhere/libcuda.so.1"); }),
      "device_failed: compile for a GPU: expected the driver, /nowhere/libcuda.so.1 (the setting SHEAF_CUDA names "
      "another path), found /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory");
}

TEST(driver, a_call_that_it_lacks_is_named) {
  SHEAF_FAKE_ONLY();
  EXPECT_EQ(sentence_of([] { open_driver(SHEAF_FAKE_CUDA_PARTIAL); }),
            "device_failed: compile for a GPU: expected cuLaunchKernel in " SHEAF_FAKE_CUDA_PARTIAL ", found none");
}

TEST(driver, one_that_is_too_old_says_so) {
  SHEAF_FAKE_ONLY();
  const with old("FAKE_VERSION", "11040");
  EXPECT_EQ(sentence_of([] { open_driver(SHEAF_FAKE_CUDA); }),
            "device_failed: compile for a GPU: expected a driver of CUDA 12.0 or newer, found one of CUDA 11.4");
}

TEST(driver, what_it_says_at_the_start_is_passed_on) {
  SHEAF_FAKE_ONLY();
  {
    const with none("FAKE_DEVICES", "0");
    EXPECT_EQ(sentence_of([] { open_driver(SHEAF_FAKE_CUDA); }),
              "device_failed: compile for a GPU: expected success of cuInit, found CUDA_ERROR_NO_DEVICE (100): no "
              "CUDA-capable device is detected");
  }
  const with failing("FAKE_FAIL", "cuInit:3");
  EXPECT_EQ(sentence_of([] { open_driver(SHEAF_FAKE_CUDA); }),
            "device_failed: compile for a GPU: expected success of cuInit, found CUDA_ERROR_NOT_INITIALIZED (3): "
            "initialization error");
}

TEST(driver, the_sentence_of_a_failed_call_has_its_name_and_the_drivers_words) {
  SHEAF_FAKE_ONLY();
  const with failing("FAKE_FAIL", "cuDeviceGetCount:700");
  EXPECT_EQ(sentence_of([] { device_context::count(); }),
            "device_failed: cuDeviceGetCount: expected success, found CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal "
            "memory access was encountered");
  const with other("FAKE_FAIL", "cuDeviceGetCount:4711");
  EXPECT_EQ(sentence_of([] { device_context::count(); }),
            "device_failed: cuDeviceGetCount: expected success, found status (4711)");
}

TEST(driver, a_device_that_is_not_there_is_an_error) {
  SHEAF_FAKE_ONLY();
  EXPECT_EQ(sentence_of([] { device_context::of(7); }),
            "device_failed: gpu 7: expected one of the devices of this machine, found gpu 0 to gpu 1");
  const with more("FAKE_DEVICES", "9");
  const with poor("FAKE_POOLS", "0");
  EXPECT_EQ(sentence_of([] { device_context::of(8); }),
            "device_failed: compile for gpu 8, Fake 8: expected memory pools, found none");
}

TEST(driver, the_compiler_must_not_be_newer_than_the_driver) {
  SHEAF_FAKE_ONLY();
  EXPECT_EQ(sentence_of([] { compiler_version(12040); }),
            "device_failed: compile for a GPU: expected a driver of CUDA 13.0 or newer, as " SHEAF_FAKE_NVRTC
            ", found one of CUDA 12.4");
  EXPECT_EQ(compiler_version(13000), "13.0 " SHEAF_FAKE_NVRTC);
}

TEST(driver, an_architecture_that_the_compiler_does_not_know_is_an_error) {
  SHEAF_FAKE_ONLY();
  EXPECT_EQ(
      sentence_of([] { compile_source("", "k.cu", "sm_52", {}, 13000); }),
      "unsupported: compile for a GPU: expected an architecture that NVRTC 13.0 knows (sm_75 to sm_100), found sm_52");
}

TEST(driver, the_compilers_log_is_part_of_the_error) {
  SHEAF_FAKE_ONLY();
  const std::string said =
      sentence_of([] { compile_source("int f() {\n  return wrong;\n}\n", "k.cu", "sm_90", {}, 13000); });
  EXPECT_EQ(
      said.find(
          "codegen_failed: nvrtcCompileProgram of k.cu for sm_90: expected code, found NVRTC_ERROR_COMPILATION (6)"),
      0u);
  EXPECT_NE(said.find("wrong"), std::string::npos) << said;
}

TEST(driver, descriptions) {
  SHEAF_FAKE_ONLY();
  EXPECT_STREQ(describe(on(gpu, 1)), "Fake 1, sm_90, driver 13.0, NVRTC 13.0 " SHEAF_FAKE_NVRTC);
  EXPECT_EQ(gpu_count(), 2);
  EXPECT_STREQ(why_no_gpu(), "");
}

}  // namespace
