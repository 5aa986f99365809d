// Mapped memory that arrays gave back, for arrays of about the same size: a kernel fills memory that has its pages in a
// third of the time that it takes with fresh pages. Shown by tests/runtime/array_test.cpp. Private header.
#pragma once
#include <cstddef>

namespace sheaf::inline v0_1::runtime {

inline constexpr std::size_t huge_page = std::size_t{2} << 20, small_page = 4096;
inline constexpr std::size_t least_mapped = std::size_t{128} << 10;  // where malloc begins to map

// Bytes of the mapping for an array of so many: the next of eight sizes between powers of two, in pages, from 4 MB on
// in huge ones, so that arrays whose sizes change a little from call to call share one. Pages that are not touched take
// no memory.
std::size_t mapped_bytes(std::size_t bytes);

// A block of so many bytes, of mapped_bytes, that was kept; null where there is none. Throws what a wrong setting does.
void* take_spare(std::size_t mapped);
// Keeps a block that was mapped after a call of take_spare; up to SHEAF_ARRAY_LIMIT, the oldest go. False: it is not
// kept.
bool keep_spare(void* block, std::size_t mapped) noexcept;

}  // namespace sheaf::inline v0_1::runtime
