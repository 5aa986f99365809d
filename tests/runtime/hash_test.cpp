#include <sheaf/runtime/hash.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace {

using namespace sheaf::runtime;

hash128 of(const std::string& text) { return hash_bytes(text.data(), text.size()); }

// These name files on users' disks: a change of the function must raise the version of the cache.
TEST(hash, known_values_stay) {
  EXPECT_EQ(hex_of(of("")), "ab2a7177690a74d7d729f60c1ca6d101");
  EXPECT_EQ(hex_of(of("sheaf")), "40650c9786ad10c8314ad910270acf27");
  EXPECT_EQ(hex_of(of(std::string(1000, 'a'))), "f6658795c7fcac949e9cc7abd20235fa");
}

TEST(hash, one_flipped_bit_flips_about_half) {
  const std::string text(100, 'q');
  const hash128 before = of(text);
  for (std::size_t bit = 0; bit < 800; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    const hash128 after = of(changed);
    const int high = std::popcount(before.high ^ after.high);
    const int low = std::popcount(before.low ^ after.low);
    EXPECT_TRUE(high > 10 && high < 54) << bit;  // six standard deviations of 64 fair bits is 24 from 32
    EXPECT_TRUE(low > 10 && low < 54) << bit;
  }
}

TEST(hash, halves_do_not_collide_on_close_texts) {
  std::set<std::uint64_t> high;
  std::set<std::uint64_t> low;
  constexpr int texts = 50'000;
  for (int i = 0; i < texts; ++i) {
    const hash128 hash = of("kernel f32[" + std::to_string(i) + "]");
    high.insert(hash.high);
    low.insert(hash.low);
  }
  EXPECT_EQ(high.size(), texts);
  EXPECT_EQ(low.size(), texts);
}

TEST(hash, zeros_of_every_length_differ) {
  std::set<std::string> seen;
  for (std::size_t size = 0; size < 200; ++size) seen.insert(hex_of(of(std::string(size, '\0'))));
  EXPECT_EQ(seen.size(), 200u);
}

}  // namespace
