// Machine code on disk. Settings are read once, so tests/gpu/cache.sh runs this several times, in one folder.
#include <gtest/gtest.h>

#include <support/both.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;

TEST(cache, code_is_compiled_as_often_as_expected) {
  const char* expected = std::getenv("FAKE_EXPECTED_COMPILES");
  if (expected == nullptr) GTEST_SKIP() << "tests/gpu/cache.sh runs this";
  SHEAF_FAKE_ONLY();
  constexpr auto i = axis<"i">;
  constexpr auto x = tensor<"x", float, 1>;
  constexpr auto y = define<"y">(i) = x(i) * 3_c;
  const auto program = compile(y, on(gpu));
  const auto values = test::list<float>({1, 2, 3});
  EXPECT_EQ(to_host(program(x = to_device(values, on(gpu)))).data()[2], 9);
  EXPECT_EQ(fake::compiles(), std::atol(expected));
}

}  // namespace
