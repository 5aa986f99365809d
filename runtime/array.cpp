#include <sheaf/runtime/array.hpp>

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <sheaf/runtime/checked_product.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/host.hpp>
#include <sheaf/runtime/spare_blocks.hpp>

namespace sheaf::inline v0_1::runtime {
namespace {

// Blocks this large are mapped by themselves, so that they can be kept: malloc gives them back, and the next ones have
// fresh pages. The largest have huge ones, which cost 512 times fewer faults.
bool is_mapped(std::size_t bytes) { return bytes >= least_mapped; }

[[noreturn]] void fail_memory(std::size_t bytes) {
  fail(code::out_of_memory, "allocation of an array", std::to_string(bytes) + " bytes", "no memory left");
}

void* map_block(std::size_t size, bool zeroed) {
  const std::size_t bytes = mapped_bytes(size);
  if (void* const spare = take_spare(bytes)) return zeroed ? std::memset(spare, 0, size) : spare;
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) fail_memory(bytes);
#ifdef MADV_HUGEPAGE
  if (bytes >= 2 * huge_page) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}

std::mutex hook_lock;
allocator_hook hook;
// Read by every allocation; written while there are no blocks.
std::atomic<bool> is_hooked = false;
std::atomic<std::int64_t> blocks = 0;

void* own_block(std::size_t bytes, bool zeroed) {
  if (is_mapped(bytes)) return map_block(bytes, zeroed);
  const std::size_t rounded = (bytes + array_alignment - 1) / array_alignment * array_alignment;
  void* block = std::aligned_alloc(array_alignment, rounded ? rounded : array_alignment);
  if (!block) fail_memory(bytes);
  if (zeroed) std::memset(block, 0, rounded);
  return block;
}

void* hooked_block(std::size_t bytes, bool zeroed) {
  void* block = hook.allocate(hook.context, bytes ? bytes : 1);
  if (!block) fail_memory(bytes);
  if (zeroed) std::memset(block, 0, bytes);
  return block;
}

}  // namespace

std::int64_t count_elements(const std::int64_t* extents, int rank, std::size_t element_bytes) {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  checked_product count;
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] < 0)
      fail(code::bad_argument, "shape of an array", "extents of at least 0", std::to_string(extents[axis]));
    count.times(extents[axis]);
  }
  if (!count.fits() || count.value() > limit / static_cast<std::int64_t>(element_bytes))
    fail(code::bad_argument, "shape of an array", "fewer than 2^62 bytes", "more");
  return count.value();
}

void* allocate(std::size_t bytes, bool zeroed) {
  const bool hooked = is_hooked.load(std::memory_order_acquire);
  void* const block = hooked ? hooked_block(bytes, zeroed) : own_block(bytes, zeroed);
  blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void deallocate(void* block, std::size_t bytes, bool kept) noexcept {
  if (!block) return;
  blocks.fetch_sub(1, std::memory_order_relaxed);
  if (is_hooked.load(std::memory_order_acquire))
    hook.release(hook.context, block, bytes ? bytes : 1);
  else if (!is_mapped(bytes))
    std::free(block);
  else if (!kept || !keep_spare(block, mapped_bytes(bytes)))
    munmap(block, mapped_bytes(bytes));
}

void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace sheaf::inline v0_1::runtime

namespace sheaf::inline v0_1 {

void set_allocator(const allocator_hook& wanted) {
  const std::lock_guard guard(runtime::hook_lock);
  if (const std::int64_t alive = runtime::blocks.load(); alive != 0)
    runtime::fail(code::bad_argument, "set_allocator", "a call while no array is alive",
                  std::to_string(alive) + " blocks of memory");
  if ((wanted.allocate == nullptr) != (wanted.release == nullptr))
    runtime::fail(code::bad_argument, "set_allocator", "both functions or none", "one");
  runtime::hook = wanted;
  runtime::is_hooked.store(wanted.allocate != nullptr, std::memory_order_release);
}

}  // namespace sheaf::inline v0_1
