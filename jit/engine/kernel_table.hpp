// The calls that a program was prepared for, by what distinguishes them: a hash table that is read without a lock and
// holds a bounded number, those used last. Shown by tests/jit/kernel_table.cpp. Private header.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include <sheaf/jit/engine/runner.hpp>

namespace sheaf::inline v0_1::jit {

class program;

class kernel {
 public:
  explicit kernel(std::span<const std::int64_t> wanted) : key(wanted.begin(), wanted.end()) {}

  std::vector<std::int64_t> key;
  std::vector<std::int64_t> outputs;  // extents of all, one after the other
  std::unique_ptr<runner> code;
  std::shared_ptr<const shape_class> of;  // null: the code is for this call alone
  program* owner = nullptr;
  // Somebody holds it longer than a call; as often as it is pinned it is unpinned.
  void pin() const { pins_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() const { pins_.fetch_sub(1, std::memory_order_release); }
  bool is_pinned() const { return pins_.load(std::memory_order_acquire) != 0; }

 private:
  friend class kernel_table;
  std::size_t hash_ = 0, place_ = 0;
  std::atomic<kernel*> next_ = nullptr;
  mutable std::atomic<int> pins_ = 0;
  mutable std::atomic<std::uint64_t> used_ = 0;  // what the clock said when it was found last
};

class kernel_table {
 public:
  explicit kernel_table(std::size_t most) : most_(most) {}
  kernel_table(const kernel_table&) = delete;
  kernel_table& operator=(const kernel_table&) = delete;
  ~kernel_table();

  // Around what is done with kernels that were found: until then none of them goes.
  int enter() const;
  void leave(int place) const;
  std::int64_t entered() const;  // how often

  const kernel* find(std::span<const std::int64_t> key) const;
  // From here on one writer at a time. One for a call, of those that went or a new one.
  std::unique_ptr<kernel> spare(std::span<const std::int64_t> key);
  // One that was not used for long goes.
  const kernel* add(std::unique_ptr<kernel> made);
  // Takes out the kernels of a class, unless one is pinned. Their memory goes with their last readers, in reclaim().
  bool drop(const shape_class& of);
  void reclaim();
  std::size_t size() const { return ring_.size(); }
  // With those that wait for their last reader.
  std::size_t held() const { return ring_.size() + left_.size() + leaving_.size(); }
  // When a kernel of it was used last, as far as the table knows.
  std::uint64_t last_use(const shape_class& of) const;

  // Of all tables: goes on where a kernel is added.
  static std::uint64_t now() { return clock_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t buckets = 256, stripes = 8, considered = 8, most_spare = 8;
  // Of a phase: how many are in it, and by how often somebody entered.
  static constexpr std::uint64_t one_entry = (std::uint64_t{1} << 16) + 1, inside = 0xFFFF;
  struct alignas(64) readers {
    std::atomic<std::uint64_t> count[2] = {0, 0};  // who entered in an even phase, in an odd one
  };
  std::atomic<kernel*>& bucket(std::size_t hash) { return first_[hash % buckets]; }
  kernel* oldest();
  void unlink(kernel* k);
  void retire(std::unique_ptr<kernel> gone);

  static inline std::atomic<std::uint64_t> clock_ = 0;
  std::array<std::atomic<kernel*>, buckets> first_{};
  mutable std::array<readers, stripes> readers_{};
  std::atomic<std::uint64_t> phase_ = 0;
  std::size_t most_, hand_ = 0;
  std::vector<kernel*> ring_;  // all in the table
  // Out of the table: in this phase, and in the one before, whose readers may hold them still.
  std::vector<std::unique_ptr<kernel>> left_, leaving_;
  std::vector<std::unique_ptr<kernel>> pinned_;  // by a reader that found them as they left
  std::vector<std::unique_ptr<kernel>> spare_;
};

}  // namespace sheaf::inline v0_1::jit
