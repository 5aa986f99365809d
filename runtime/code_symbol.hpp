// A function of code that was loaded. Private header.
#pragma once
#include <cstdint>
#include <string>

namespace sheaf::inline v0_1::runtime {

struct code_symbol {
  std::string name;
  std::uint64_t address;
  std::uint64_t size;
};

}  // namespace sheaf::inline v0_1::runtime
