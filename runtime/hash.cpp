#include <sheaf/runtime/hash.hpp>

#include <cstring>

namespace sheaf::inline v0_1::runtime {
namespace {

// Odd, with about half of the bits set: the leading fractional digits of the square roots of 2, 3, 5, 7, 11 and 13.
constexpr std::uint64_t root2 = 0x6a09e667f3bcc909, root3 = 0xbb67ae8584caa73b, root5 = 0x3c6ef372fe94f82b;
constexpr std::uint64_t root7 = 0xa54ff53a5f1d36f1, root11 = 0x510e527fade682d1, root13 = 0x9b05688c2b3e6c1f;

// Both halves of the product matter: the low one alone would never carry a high bit downwards.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t little_endian(const unsigned char* bytes) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= std::uint64_t{bytes[i]} << (8 * i);  // one load where the machine agrees
  return word;
}

struct chains {
  std::uint64_t first;
  std::uint64_t second;

  // The word that meets the constant is rotated in by the chain itself, so a zero word doesn't stop it.
  void take(const unsigned char* sixteen) {
    const std::uint64_t a = little_endian(sixteen);
    const std::uint64_t b = little_endian(sixteen + 8);
    first = fold(a ^ root2 ^ first, b ^ root3) + (first << 23 | first >> 41);
    second = fold(b ^ root5 ^ second, a ^ root7) + (second << 29 | second >> 35);
  }
};

}  // namespace

hash128 hash_bytes(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  chains state{size ^ root11, size * root13};
  std::size_t left = size;
  for (; left >= 16; left -= 16, at += 16) state.take(at);
  unsigned char tail[16] = {};  // the length is in the seed, so the filling zeros are no collision
  if (left) std::memcpy(tail, at, left);
  state.take(tail);
  return {fold(state.first ^ root7, state.second ^ root2), fold(state.second ^ root3, state.first ^ root13)};
}

std::string hex_of(const hash128& hash) {
  std::string text(32, '0');
  for (int digit = 0; digit < 32; ++digit) {
    const std::uint64_t half = digit < 16 ? hash.high : hash.low;
    text[static_cast<std::size_t>(digit)] = "0123456789abcdef"[half >> (60 - 4 * (digit % 16)) & 15];
  }
  return text;
}

}  // namespace sheaf::inline v0_1::runtime
