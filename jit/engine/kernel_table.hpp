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

class kernel {
 public:
  explicit kernel(std::span<const std::int64_t> of) : key(of.begin(), of.end()) {}

  const std::vector<std::int64_t> key;
  call_class arguments;
  std::unique_ptr<runner> code;
  // Somebody holds it longer than a call.
  void pin() const { pinned_.store(true, std::memory_order_relaxed); }

 private:
  friend class kernel_table;
  std::size_t hash_ = 0;
  std::atomic<kernel*> next_ = nullptr;
  mutable std::atomic<bool> pinned_ = false;
  mutable std::atomic<std::uint64_t> used_ = 0;  // how many there were when it was found last
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

  const kernel* find(std::span<const std::int64_t> key) const;
  // One writer at a time; those not used for longest go.
  const kernel* add(std::unique_ptr<kernel> made);
  std::size_t size() const { return count_; }
  // With those that wait for their last reader.
  std::size_t held() const { return count_ + left_.size() + leaving_.size(); }

 private:
  static constexpr std::size_t buckets = 256, stripes = 8;
  struct alignas(64) readers {
    std::atomic<std::int64_t> count[2] = {0, 0};  // who entered in an even phase, in an odd one
  };
  std::atomic<kernel*>& bucket(std::size_t hash) { return first_[hash % buckets]; }
  void evict();
  void unlink(kernel* k);
  void reclaim();

  std::array<std::atomic<kernel*>, buckets> first_{};
  mutable std::array<readers, stripes> readers_{};
  std::atomic<std::uint64_t> phase_ = 0, added_ = 0;
  std::size_t most_, count_ = 0;
  // Out of the table: in this phase, and in the one before, whose readers may hold them still.
  std::vector<std::unique_ptr<kernel>> left_, leaving_;
  std::vector<std::unique_ptr<kernel>> pinned_;  // by a reader that found them as they left
};

}  // namespace sheaf::inline v0_1::jit
