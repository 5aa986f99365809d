// The real NVRTC, where there is one: it runs without a GPU.
#include <sheaf/runtime/cuda/nvrtc.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <sheaf/runtime/error.hpp>

namespace {

using namespace sheaf;
using namespace sheaf::runtime::cuda;

constexpr const char* kernel =
    "struct words { float* x; };\nextern \"C\" __global__ void k(const words w) { w.x[threadIdx.x] = 1; }\n";

class nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    try {
      compiler_version(0);
    } catch (const error& e) {
      GTEST_SKIP() << "no NVRTC here, so it is not tested: " << e.what();
    }
  }
};

TEST_F(nvrtc, makes_machine_code_for_each_architecture_that_it_knows) {
  for (const std::string& architecture : known_architectures()) {
    const auto cubin = compile_source(kernel, "k.cu", architecture, {"--std=c++17"}, 0);
    ASSERT_GT(cubin.size(), 4u);
    EXPECT_EQ(std::memcmp(cubin.data(), "\177ELF", 4), 0) << architecture;
  }
}

TEST_F(nvrtc, its_log_quotes_the_line) {
  try {
    compile_source("extern \"C\" __global__ void k() {\n  wrong(1);\n}\n", "k.cu", "sm_90", {"--std=c++17"}, 0);
    ADD_FAILURE() << "compiled";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code::codegen_failed);
    const std::string said = e.what();
    EXPECT_EQ(
        said.find(
            "nvrtcCompileProgram of k.cu for sm_90: expected code, found NVRTC_ERROR_COMPILATION (6)\nk.cu(2): error"),
        0u)
        << said;
    EXPECT_NE(said.find("wrong(1);"), std::string::npos) << said;
  }
}

TEST_F(nvrtc, an_architecture_that_it_does_not_know_is_an_error) {
  try {
    compile_source(kernel, "k.cu", "sm_20", {}, 0);
    ADD_FAILURE() << "compiled";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code::unsupported);
    EXPECT_NE(std::string(e.what()).find("found sm_20"), std::string::npos);
  }
}

TEST_F(nvrtc, its_identity_does_not_change) { EXPECT_EQ(compiler_identity(0), compiler_identity(0)); }

}  // namespace
