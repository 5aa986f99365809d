// What the tests of this folder run on.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "fake/control.hpp"

namespace sheaf::test {

inline bool on_real_gpu() {
  const char* wanted = std::getenv("SHEAF_TEST_GPU");
  return wanted != nullptr && std::strcmp(wanted, "1") == 0;
}

}  // namespace sheaf::test

// For tests that ask the fake driver to fail, or count its calls.
#define SHEAF_FAKE_ONLY() \
  if (sheaf::test::on_real_gpu()) GTEST_SKIP() << "on a real GPU: what only the fake driver does is not tested"
