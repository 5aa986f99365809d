// What code is kept under: nothing in which machines of one model differ, and all that code depends on.
#include <gtest/gtest.h>

#include <sheaf/jit/target/target.hpp>

namespace sheaf::test::target_tests {
namespace {

target::identification some() {
  target::identification id;
  id.vendor[0] = 1;
  id.signature = 0x00A60F12;
  id.basic_c = 0x7ED8320B, id.basic_d = 0x178BFBFF;
  id.more_b = 0xF1BF97A9, id.more_c = 0x00405FCE, id.more_d = 0x10000010;
  id.newer_a = 0x20, id.amd_c = 0x75C237FF, id.state = 0x2E7;
  return id;
}
template <class Change>
bool changes(Change change) {
  target::identification id = some();
  change(id);
  return target::key_of(id) != target::key_of(some());
}

TEST(target, machines_of_one_model_have_one_key) {
  EXPECT_FALSE(changes([](auto& id) { id.signature ^= 1; }));        // the stepping
  EXPECT_FALSE(changes([](auto& id) { id.basic_c ^= 1u << 31; }));   // under a hypervisor
  EXPECT_FALSE(changes([](auto& id) { id.basic_d ^= 1u << 28; }));   // threads of a core
  EXPECT_FALSE(changes([](auto& id) { id.more_d ^= 7u << 26; }));    // mitigations that the firmware brings
  EXPECT_FALSE(changes([](auto& id) { id.state ^= 1u << 9; }));      // protection keys
}

TEST(target, instructions_are_in_the_key) {
  EXPECT_TRUE(changes([](auto& id) { id.vendor[0] = 2; }));
  EXPECT_TRUE(changes([](auto& id) { id.signature ^= 1u << 4; }));   // another model
  EXPECT_TRUE(changes([](auto& id) { id.basic_c ^= 1u << 12; }));    // fused multiply-add
  EXPECT_TRUE(changes([](auto& id) { id.more_b ^= 1u << 5; }));      // AVX2
  EXPECT_TRUE(changes([](auto& id) { id.more_b ^= 1u << 31; }));     // AVX-512 of short vectors
  EXPECT_TRUE(changes([](auto& id) { id.newer_a ^= 1u << 5; }));     // bf16
  EXPECT_TRUE(changes([](auto& id) { id.state ^= 7u << 5; }));       // a system that saves no 512-bit registers
  EXPECT_EQ(target::key_of_this(), target::key_of_this());
}

}  // namespace
}  // namespace sheaf::test::target_tests
