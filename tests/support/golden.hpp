// Text that must stay as it is. tests/golden/NAME holds it; a missing file fails; SHEAF_UPDATE_GOLDEN=1 writes them
// all.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace golden {

inline bool updating() {
  const char* value = std::getenv("SHEAF_UPDATE_GOLDEN");
  return value != nullptr && std::string_view(value) == "1";
}

// Compares `text` with tests/golden/`name`: EXPECT_TRUE(golden::same("softmax.graph", print(graph))).
inline testing::AssertionResult same(const std::string& name, std::string_view text) {
  const auto path = std::filesystem::path(SHEAF_TEST_DIR) / "golden" / name;
  if (updating()) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return testing::AssertionSuccess();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return testing::AssertionFailure() << path << " is missing; SHEAF_UPDATE_GOLDEN=1 writes it:\n" << text;
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() == text) return testing::AssertionSuccess();
  return testing::AssertionFailure() << path << " expected:\n" << expected.str() << "\nfound:\n" << text;
}

}  // namespace golden
