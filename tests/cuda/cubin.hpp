// What a kernel's machine code takes, read from the cubin (an ELF file with sections of NVIDIA's own).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::test {

struct kernel_usage {
  std::string kernel;
  int registers = 0;
  std::int64_t frame =
      0;  // bytes of local memory a thread: spilled registers and arrays that could not stay in registers
  std::int64_t shared = 0;  // bytes of static shared memory a block
  std::int64_t code = 0;    // bytes
  std::uint64_t code_at = 0;  // where these begin in the cubin
};
std::vector<kernel_usage> usage_of(const std::vector<unsigned char>& cubin);

}  // namespace sheaf::test
