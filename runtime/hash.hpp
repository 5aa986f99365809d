// A fast 128-bit hash for naming cache entries and finding damage. Private header.
// Shown by tests/runtime/hash_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::inline v0_1::runtime {

struct hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const hash128&, const hash128&) = default;
};

// Two independent chains of folded 64x64-bit products, 16 bytes a step. The same on every machine and in every release:
// it names files. Not cryptographic: somebody who wants a collision can make one, so whoever relies on a match must
// compare the text as well.
hash128 hash_bytes(const void* bytes, std::size_t size);

// 32 lower-case hexadecimal digits, high half first.
std::string hex_of(const hash128& hash);

}  // namespace sheaf::inline v0_1::runtime
