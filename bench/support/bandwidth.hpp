// What the memory of this machine gives a plain vector loop on all cores: the bound of what only moves data.
#pragma once
#include <cstdint>

namespace sheaf::bench {

// Seconds of one pass over `count` floats, on as many threads as the default pool has; whole cache lines at 64-byte
// addresses.
double read_pass(const float* from, std::int64_t count);
double write_pass(float* to, std::int64_t count);  // by non-temporal stores
double copy_pass(const float* from, float* to, std::int64_t count);
const char* vector_width();

}  // namespace sheaf::bench
