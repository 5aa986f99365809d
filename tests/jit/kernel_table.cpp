// The table of prepared calls: bounded, read while it changes, and what is pinned stays.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <sheaf/jit/engine/kernel_table.hpp>

namespace sheaf::test {
namespace {

using jit::kernel;
using jit::kernel_table;

std::atomic<int> alive = 0;

class counted final : public jit::runner {
 public:
  counted() { ++alive; }
  ~counted() override { --alive; }
  void run(const sheaf_tensor*) const override {}
  const std::string& plan() const override { return text_; }
  const std::string& ir() const override { return text_; }

 private:
  std::string text_;
};

std::unique_ptr<kernel> made(std::int64_t n) {
  const std::int64_t key[] = {n, n + 1};
  auto k = std::make_unique<kernel>(key);
  k->code = std::make_unique<counted>();
  return k;
}
const kernel* find(const kernel_table& t, std::int64_t n) {
  const std::int64_t key[] = {n, n + 1};
  return t.find(key);
}

TEST(kernel_table, finds_what_was_added) {
  kernel_table t(8);
  EXPECT_EQ(nullptr, find(t, 1));
  const kernel* k = t.add(made(1));
  EXPECT_EQ(k, find(t, 1));
  EXPECT_EQ(nullptr, find(t, 2));
}

TEST(kernel_table, what_was_not_used_for_longest_goes) {
  {
    kernel_table t(8);
    for (int n = 0; n < 8; ++n) t.add(made(n));
    EXPECT_NE(nullptr, find(t, 0));
    t.add(made(8));
    EXPECT_NE(nullptr, find(t, 0));
    EXPECT_EQ(nullptr, find(t, 1));
    EXPECT_EQ(nullptr, find(t, 2));
    EXPECT_NE(nullptr, find(t, 3));
    for (int n = 9; n < 1000; ++n) t.add(made(n));
    EXPECT_LE(t.size(), 8u);
    EXPECT_LE(alive, 16);
  }
  EXPECT_EQ(0, alive);
}

TEST(kernel_table, what_is_pinned_stays) {
  kernel_table t(4);
  t.add(made(0))->pin();
  for (int n = 1; n < 100; ++n) t.add(made(n));
  EXPECT_NE(nullptr, find(t, 0));
}

TEST(kernel_table, nothing_goes_while_somebody_may_hold_it) {
  kernel_table t(4);
  t.add(made(0));
  const int place = t.enter();
  const kernel* held = find(t, 0);
  for (int n = 1; n < 100; ++n) t.add(made(n));
  EXPECT_EQ(nullptr, find(t, 0));
  EXPECT_EQ((std::vector<std::int64_t>{0, 1}), held->key);
  EXPECT_GE(t.held(), 90u);
  t.leave(place);
  for (int n = 100; n < 110; ++n) t.add(made(n));
  EXPECT_LE(t.held(), 12u);
}

// Its reader found it before it left the table, and has pinned it since.
TEST(kernel_table, what_is_pinned_as_it_leaves_stays) {
  {
    kernel_table t(4);
    t.add(made(0));
    const int place = t.enter();
    const kernel* held = find(t, 0);
    for (int n = 1; n < 20; ++n) t.add(made(n));
    held->pin();
    t.leave(place);
    for (int n = 20; n < 200; ++n) t.add(made(n));
    EXPECT_EQ((std::vector<std::int64_t>{0, 1}), held->key);
    EXPECT_NE(nullptr, held->code);
    EXPECT_LE(alive, 12);
  }
  EXPECT_EQ(0, alive);
}

TEST(kernel_table, readers_and_a_writer) {
  kernel_table t(16);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&, r] {
      for (std::int64_t n = r; !stop; n = (n + 7) % 200) {
        const int place = t.enter();
        if (const kernel* k = find(t, n); k != nullptr && (k->key[0] != n || k->code == nullptr)) ++wrong;
        t.leave(place);
      }
    });
  for (int round = 0; round < 20; ++round)
    for (int n = 0; n < 200; ++n)
      if (find(t, n) == nullptr) t.add(made(n));
  stop = true;
  for (std::thread& r : readers) r.join();
  EXPECT_EQ(0, wrong);
  EXPECT_LE(t.size(), 16u);
}

}  // namespace
}  // namespace sheaf::test
