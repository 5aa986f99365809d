// Private shorthand for throwing sheaf::error from sources that build their words with std::string.
#pragma once
#include <string>

#include <sheaf/runtime/error.hpp>

namespace sheaf::inline v0_1::runtime {

[[noreturn]] inline void fail(code kind, const std::string& operation, const std::string& expected,
                              const std::string& found = "") {
  throw error(kind, operation.c_str(), expected.c_str(), found.c_str());
}

}  // namespace sheaf::inline v0_1::runtime
