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

inline std::filesystem::path path_of(const std::string& name) {
  return std::filesystem::path(SHEAF_TEST_DIR) / "golden" / name;
}

// What tests/golden/`name` holds; nothing where it is missing.
inline std::string kept(const std::string& name) {
  std::ifstream file(path_of(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compares `text` with tests/golden/`name`: EXPECT_TRUE(golden::same("softmax.graph", print(graph))).
inline testing::AssertionResult same(const std::string& name, std::string_view text) {
  const auto path = path_of(name);
  if (updating()) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return testing::AssertionSuccess();
  }
  if (!std::filesystem::exists(path))
    return testing::AssertionFailure() << path << " is missing; SHEAF_UPDATE_GOLDEN=1 writes it:\n" << text;
  const std::string expected = kept(name);
  if (expected == text) return testing::AssertionSuccess();
  return testing::AssertionFailure() << path << " expected:\n" << expected << "\nfound:\n" << text;
}

}  // namespace golden
