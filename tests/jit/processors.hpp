// Tests that run once for each of three processors: this one, one with AVX2, one with neither AVX2 nor FMA.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "harness.hpp"

namespace sheaf::test {

class on_processors : public testing::TestWithParam<const char*> {
 protected:
  sheaf_llvm_options options() const {
    sheaf_llvm_options o = default_options();
    o.cpu = GetParam();
    return o;
  }
};
inline std::string processor_name(const testing::TestParamInfo<const char*>& processor) {
  std::string name = processor.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

#define SHEAF_ON_PROCESSORS(suite)       \
  class suite : public on_processors {}; \
  INSTANTIATE_TEST_SUITE_P(processors, suite, testing::Values("native", "x86-64-v3", "x86-64"), processor_name)

inline std::vector<float> numbers(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = std::uniform_real_distribution<float>(-2, 2)(random);
  return x;
}

}  // namespace sheaf::test
