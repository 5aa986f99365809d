// Memory that a thread keeps between calls for their workspace. Shown by tests/runtime/workspace_test.cpp.
// Private workspace_header.
#pragma once
#include <cstddef>

namespace sheaf::inline v0_1::runtime {

// A block of the calling thread's, or a new one where that is too small or in use; afterwards the thread keeps it,
// unless it is larger than SHEAF_WORKSPACE_LIMIT. Aligned to 64 bytes, not set. Throws code::out_of_memory.
class workspace_block {
 public:
  // owner: who needs so much, for give_back_workspace.
  workspace_block(std::size_t bytes, const void* owner);
  workspace_block(const workspace_block&) = delete;
  ~workspace_block();
  char* data() const;

 private:
  struct workspace_header* block_;
};

// Frees the blocks of all threads, but those in use, that have the size that this owner needed.
void give_back_workspace(const void* owner) noexcept;

// Bytes that threads keep and do not use.
std::size_t workspace_kept();

}  // namespace sheaf::inline v0_1::runtime
