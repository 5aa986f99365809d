// Emitted modules as host code: many in a file, for a compiler takes longer to start than to compile one.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>

namespace sheaf::test {

// Of a kernel: one thread of it, given the words.
using emulated_kernel = void (*)(const std::int64_t*);

struct emulated_module {
  ir::module code;
  cuda::source source;
  std::vector<emulated_kernel> kernels;  // by launch
};

class batch {
 public:
  // The module's name becomes one of its own. Stays where it is.
  emulated_module& add(ir::module m, const cuda::target& to, cuda::call_extents extents);
  // Compiles what was added since the last time. Throws what the compiler said.
  void build();
  std::size_t size() const { return all_.size(); }
  const emulated_module& operator[](std::size_t n) const { return all_[n]; }
  // Texts of kernels that modules share.
  std::vector<std::shared_ptr<const cuda::source>> shared() const;

 private:
  struct shared_text {
    std::shared_ptr<const cuda::source> source;
    void* library = nullptr;
  };
  void* library_of(const cuda::launch& l) const;

  std::deque<emulated_module> all_;
  std::deque<shared_text> shared_;
  std::size_t built_ = 0;
};

}  // namespace sheaf::test
