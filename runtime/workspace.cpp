#include <sheaf/runtime/workspace.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/host.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime {

// At the start of each block; as large as its alignment.
struct alignas(64) workspace_header {
  std::size_t bytes;  // with this
  const void* owner;
};

namespace {

// Of a thread: whoever takes the block out has it to itself. `owner` and `bytes` are those of the one put there last.
struct kept_block {
  std::atomic<workspace_header*> block = nullptr;
  std::atomic<const void*> owner = nullptr;
  std::atomic<std::size_t> bytes = 0;
};

// Never destroyed: a thread may end after them.
struct kept_blocks {
  std::mutex lock;
  std::vector<kept_block*> list;
};
kept_blocks& all() {
  static kept_blocks& once = *new kept_blocks;
  return once;
}

void free_block(workspace_header* h) noexcept {
  if (h != nullptr) deallocate(h, h->bytes, false);
}

struct own_block : kept_block {
  own_block() {
    const std::lock_guard guard(all().lock);
    all().list.push_back(this);
  }
  ~own_block() {
    const std::lock_guard guard(all().lock);
    std::erase(all().list, static_cast<kept_block*>(this));
    free_block(block.exchange(nullptr));
  }
};
void give_back_all() {
  const std::lock_guard guard(all().lock);
  for (kept_block* p : all().list) free_block(p->block.exchange(nullptr, std::memory_order_acquire));
}

kept_block& of_thread() {
  static const bool noted = (at_shutdown(give_back_all), true);
  static_cast<void>(noted);
  static thread_local own_block own;
  return own;
}

}  // namespace

workspace_block::workspace_block(std::size_t bytes, const void* owner) {
  block_ = of_thread().block.exchange(nullptr, std::memory_order_acquire);
  const std::size_t wanted = bytes + sizeof(workspace_header);
  if (block_ != nullptr && block_->bytes >= wanted) return;
  free_block(block_);
  block_ = nullptr;
  void* const memory = allocate(wanted, false);
  block_ = new (memory) workspace_header{wanted, owner};
}

workspace_block::~workspace_block() {
  static const auto most = static_cast<std::size_t>(current_settings().workspace_limit);
  if (block_->bytes > most) {
    free_block(block_);
    return;
  }
  kept_block& own = of_thread();
  own.owner.store(block_->owner, std::memory_order_relaxed);
  own.bytes.store(block_->bytes, std::memory_order_relaxed);
  free_block(own.block.exchange(block_, std::memory_order_release));  // of a call within the call
}

char* workspace_block::data() const { return reinterpret_cast<char*>(block_ + 1); }

// Its thread may take a block, or put another one there, at any time.
void give_back_workspace(const void* owner) noexcept {
  const std::lock_guard guard(all().lock);
  for (kept_block* p : all().list) {
    if (p->owner.load(std::memory_order_relaxed) != owner) continue;
    workspace_header* const found = p->block.exchange(nullptr, std::memory_order_acquire);
    workspace_header* none = nullptr;
    if (found != nullptr && found->owner != owner && p->block.compare_exchange_strong(none, found)) continue;
    free_block(found);
  }
}

std::size_t workspace_kept() {
  const std::lock_guard guard(all().lock);
  std::size_t sum = 0;
  for (const kept_block* p : all().list)
    if (p->block.load(std::memory_order_relaxed) != nullptr) sum += p->bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace sheaf::inline v0_1::runtime
