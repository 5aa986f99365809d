#include <sheaf/runtime/spare_blocks.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include <sheaf/runtime/host.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime {
namespace {

struct spare {
  void* block = nullptr;
  std::size_t bytes = 0;
};

// Oldest first. Who finds the lock taken maps memory of its own: nobody waits, a child after fork neither.
class spare_list {
 public:
  explicit spare_list(std::size_t limit) : limit_(limit) {}
  void* take(std::size_t bytes) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return nullptr;
    for (std::size_t k = count_; k-- > 0;)
      if (list_[k].bytes == bytes) return remove(k);
    return nullptr;
  }
  bool keep(spare given) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || given.bytes > limit_) return false;
    while (count_ == list_.size() || total_ + given.bytes > limit_) unmap_oldest();
    list_[count_++] = given;
    total_ += given.bytes;
    return true;
  }
  void clear() {
    const std::lock_guard guard(lock_);
    while (count_ > 0) unmap_oldest();
  }

 private:
  void unmap_oldest() {
    const std::size_t bytes = list_[0].bytes;
    munmap(remove(0), bytes);
  }
  void* remove(std::size_t k) {
    void* const block = list_[k].block;
    total_ -= list_[k].bytes;
    std::move(list_.begin() + static_cast<std::ptrdiff_t>(k) + 1, list_.begin() + static_cast<std::ptrdiff_t>(count_),
              list_.begin() + static_cast<std::ptrdiff_t>(k));
    --count_;
    return block;
  }

  const std::size_t limit_;
  std::mutex lock_;
  std::array<spare, 64> list_;
  std::size_t count_ = 0, total_ = 0;
};

spare_list& spares() {
  // Arrays may outlive what is static.
  static auto* const list = new spare_list(static_cast<std::size_t>(current_settings().array_limit));
  static const bool noted = (at_shutdown([] { spares().clear(); }), true);
  static_cast<void>(noted);
  return *list;
}

}  // namespace

std::size_t mapped_bytes(std::size_t bytes) {
  const std::size_t page = bytes < 2 * huge_page ? small_page : huge_page;
  const std::size_t step = std::max(page, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

void* take_spare(std::size_t mapped) { return spares().take(mapped); }

bool keep_spare(void* block, std::size_t mapped) noexcept { return spares().keep({block, mapped}); }

}  // namespace sheaf::inline v0_1::runtime
