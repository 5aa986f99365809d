// The table of prepared calls: bounded, read while it changes, and what is pinned stays.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <sheaf/jit/engine/kernel_table.hpp>

namespace sheaf::test::kernel_table_tests {
namespace {

using jit::kernel;
using jit::kernel_table;

std::atomic<int> alive = 0;

class counted final : public jit::runner {
 public:
  counted() { ++alive; }
  ~counted() override { --alive; }
  void run(const sheaf_tensor*) const override {}
  std::string plan(const jit::call_class&) const override { return {}; }
  std::string ir(const jit::call_class&) const override { return {}; }
};

// That serves everything.
class any_call final : public jit::shape_class {
 public:
  bool serves(std::span<const std::int64_t>) const override { return true; }
  std::string difference(std::span<const std::int64_t>, std::span<const std::string>) const override { return {}; }
  std::unique_ptr<jit::runner> runner_for(std::span<const std::int64_t>, std::unique_ptr<jit::runner>) const override {
    return nullptr;
  }
  std::size_t bytes() const override { return 1; }
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
    EXPECT_NE(nullptr, find(t, 2));
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

TEST(kernel_table, what_is_unpinned_goes) {
  kernel_table t(4);
  const kernel* k = t.add(made(0));
  k->pin();
  k->pin();
  k->unpin();
  for (int n = 1; n < 100; ++n) t.add(made(n));
  EXPECT_NE(nullptr, find(t, 0));
  k->unpin();
  for (int n = 1; n < 100; ++n) t.add(made(n));
  EXPECT_EQ(nullptr, find(t, 0));
}

TEST(kernel_table, memory_serves_again) {
  const auto code = std::make_shared<any_call>();
  kernel_table t(4);
  for (std::int64_t n = 0; n < 100; ++n) {
    const std::int64_t key[] = {n, n + 1};
    std::unique_ptr<kernel> k = t.spare(key);
    EXPECT_EQ((std::vector<std::int64_t>{n, n + 1}), k->key);
    EXPECT_EQ(nullptr, k->of);
    k->of = code;
    t.add(std::move(k));
    EXPECT_NE(nullptr, find(t, n));
  }
  EXPECT_LE(code.use_count(), 8);
}

TEST(kernel_table, a_class_goes_with_its_calls) {
  const auto one = std::make_shared<any_call>(), two = std::make_shared<any_call>();
  kernel_table t(16);
  for (int n = 0; n < 8; ++n) {
    auto k = made(n);
    k->of = n % 2 == 0 ? one : two;
    t.add(std::move(k));
  }
  EXPECT_GT(t.last_use(*two), t.last_use(*one));
  const int place = t.enter();
  EXPECT_TRUE(t.drop(*one));
  EXPECT_EQ(nullptr, find(t, 0));
  EXPECT_NE(nullptr, find(t, 1));
  for (int k = 0; k < 3; ++k) t.reclaim();
  EXPECT_EQ(5, one.use_count());  // of a call that runs
  t.leave(place);
  for (int k = 0; k < 3; ++k) t.reclaim();
  EXPECT_EQ(1, one.use_count());
  const kernel* held = find(t, 1);
  held->pin();
  EXPECT_FALSE(t.drop(*two));
  EXPECT_NE(nullptr, find(t, 3));
  held->unpin();
  EXPECT_TRUE(t.drop(*two));
}

TEST(kernel_table, calls_are_counted) {
  kernel_table t(4);
  for (int k = 0; k < 1000; ++k) t.leave(t.enter());
  EXPECT_EQ(1000, t.entered());
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
}  // namespace sheaf::test::kernel_table_tests
