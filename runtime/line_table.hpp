// Which line of a source each place of loaded code was made for, as an object's debug information says.
// Shown by tests/runtime/symbols_test.cpp. Private header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::inline v0_1::runtime {

struct code_line {
  std::uint64_t address;
  std::uint32_t line;
  std::string file;
};

// By address in each sequence; of DWARF 2 to 4, which code generators here write: nothing of others. section_addresses:
// by section, 0 for those that are not loaded. Throws code::bad_object where a table ends too soon.
std::vector<code_line> lines_of(const void* object, std::size_t size,
                                const std::vector<std::uint64_t>& section_addresses);

}  // namespace sheaf::inline v0_1::runtime
