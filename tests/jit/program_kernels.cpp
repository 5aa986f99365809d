// Classes of programs: limits of one program and of the process, and what was not used for longest goes.
#include <gtest/gtest.h>

#include <sheaf/jit/engine/program_kernels.hpp>

namespace sheaf::test::program_kernels_tests {
namespace {

using jit::kernel;
using jit::program_kernels;

// Serves calls of one extent.
class one_size final : public jit::shape_class {
 public:
  explicit one_size(std::int64_t n, std::size_t bytes) : n_(n), bytes_(bytes) {}
  bool serves(std::span<const std::int64_t> extents) const override { return extents[0] == n_; }
  std::string difference(std::span<const std::int64_t>, std::span<const std::string>) const override { return {}; }
  std::unique_ptr<jit::runner> runner_for(std::span<const std::int64_t>, std::unique_ptr<jit::runner>) const override {
    return nullptr;
  }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::int64_t n_;
  std::size_t bytes_;
};

constexpr std::int64_t layout[] = {7};

// As a program does.
const kernel* call(program_kernels& p, std::int64_t n, std::size_t bytes = 100) {
  const std::int64_t key[] = {n};
  const std::lock_guard guard(p.lock);
  if (const kernel* k = p.table.find(key)) return k;
  auto code = p.serving(layout, key);
  if (code == nullptr) p.add({7}, code = std::make_shared<one_size>(n, bytes));
  auto k = p.table.spare(key);
  k->of = code;
  return p.table.add(std::move(k));
}
bool serves(program_kernels& p, std::int64_t n) {
  const std::int64_t key[] = {n};
  return p.serving(layout, key) != nullptr;
}

TEST(program_kernels, keep_those_used_last) {
  program_kernels p({4, 10000});
  for (int n = 0; n < 4; ++n) call(p, n);
  call(p, 0);
  call(p, 4);
  EXPECT_TRUE(serves(p, 0));
  EXPECT_FALSE(serves(p, 1));
  EXPECT_TRUE(serves(p, 2));
  for (int n = 5; n < 500; ++n) call(p, n);
  EXPECT_EQ(4u, p.classes().size());
  EXPECT_EQ(400, p.bytes());
  EXPECT_EQ(496, p.evicted());
  EXPECT_LE(p.table.size(), 4u);
}

TEST(program_kernels, another_layout_is_another_class) {
  program_kernels p({4, 10000});
  call(p, 1);
  const std::int64_t other[] = {8}, extents[] = {1};
  EXPECT_EQ(nullptr, p.serving(other, extents));
}

TEST(program_kernels, bytes_are_limited) {
  program_kernels p({100, 1000});
  for (int n = 0; n < 50; ++n) call(p, n, 300);
  EXPECT_EQ(3u, p.classes().size());
  call(p, 100, 5000);  // alone it is too large: it serves its call
  EXPECT_EQ(1u, p.classes().size());
  EXPECT_TRUE(serves(p, 100));
}

TEST(program_kernels, what_is_pinned_stays) {
  program_kernels p({4, 10000});
  const kernel* k = call(p, 0);
  k->pin();
  for (int n = 1; n < 50; ++n) call(p, n);
  EXPECT_TRUE(serves(p, 0));
  k->unpin();
  for (int n = 50; n < 60; ++n) call(p, n);
  EXPECT_FALSE(serves(p, 0));
}

TEST(program_kernels, the_process_has_a_limit) {
  program_kernels p({100, 100000}), q({100, 100000});
  for (int n = 0; n < 20; ++n) call(p, n), call(q, n);
  program_kernels::keep_process_within({1000000, 1000000000});
  EXPECT_EQ(20u, p.classes().size());
  for (int n = 0; n < 8; ++n) call(p, n);  // used again, all of q are older
  call(p, 20);
  for (int n = 0; n < 8; ++n) call(p, n);
  program_kernels::keep_process_within({10, 1000000000});
  EXPECT_LE(p.classes().size() + q.classes().size(), 10u);
  EXPECT_GE(p.classes().size(), 8u);
  for (int n = 0; n < 8; ++n) EXPECT_TRUE(serves(p, n)) << n;
}

}  // namespace
}  // namespace sheaf::test::program_kernels_tests
