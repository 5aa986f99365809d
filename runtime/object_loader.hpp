// Loads a relocatable ELF object for x86-64 into this process, without LLVM and without a linker.
// Input: the bytes of a .o (position independent, small code model, no thread-local data). Output: callable symbols.
// Every offset is checked: a truncated or damaged file gives an error. The code in it is trusted.
// Shown by tests/runtime/object_loader_test.cpp. Private header.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::inline v0_1::runtime {

struct told_object;  // symbols.hpp

// The address of a symbol that the object does not define, or null.
using symbol_resolver = void* (*)(void* context, const char* name);

// Looks in the process, then in libm.so.6, which is opened when first needed.
void* resolve_from_process(void* context, const char* name);

// Code is executable and not writable, constants are read-only; unmapped on destruction.
class loaded_object {
 public:
  loaded_object() = default;
  loaded_object(loaded_object&& other) noexcept { swap(other); }
  loaded_object& operator=(loaded_object&& other) noexcept {
    loaded_object taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~loaded_object();

  // A global symbol that the object defines, or null.
  void* find(const char* name) const;

  // Bytes of the mapping, whole pages.
  std::size_t mapped_bytes() const { return size_; }

 private:
  friend class object_image;

  void* base_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::pair<std::string, void*>> symbols_;
  told_object* told_ = nullptr;

  void swap(loaded_object& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    symbols_.swap(other.symbols_);
    std::swap(told_, other.told_);
  }
};

// Throws code::bad_object for a file that is not such an object, code::unsupported for a machine or relocation that is
// not in the tables, code::symbol_not_found, code::out_of_memory. Nothing stays mapped when it throws.
loaded_object load_object(const void* bytes, std::size_t size, symbol_resolver resolve = resolve_from_process,
                          void* context = nullptr);

}  // namespace sheaf::inline v0_1::runtime
