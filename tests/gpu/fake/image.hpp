// What the fake compiler makes and the fake driver loads: a header, then a shared library for the host that has for
// each kernel NAME the functions NAME_thread(const void* parameter) and NAME_bytes(), the parameter's size.
#pragma once
#include <cstdint>

namespace sheaf::fake {

struct image_header {
  char magic[8];          // "FAKEGPU"
  char architecture[16];  // "sm_90", "sm_90a", or "compute_80": for that and later ones
  std::uint64_t bytes;    // of the library, which follows
};

}  // namespace sheaf::fake
