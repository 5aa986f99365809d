// Emitted modules as host code: many in a file, for a compiler takes longer to start than to compile one.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>

namespace sheaf::test {

struct emulated_module {
  ir::module code;
  cuda::source source;
  std::vector<void (*)(const long long*)> kernels;  // one thread of each, given the words
};

class batch {
 public:
  // The module's name becomes one of its own. Stays where it is.
  emulated_module& add(ir::module m, const cuda::target& to, cuda::call_extents extents);
  // Compiles what was added since the last time. Throws what the compiler said.
  void build();
  std::size_t size() const { return all_.size(); }
  const emulated_module& operator[](std::size_t n) const { return all_[n]; }

 private:
  std::deque<emulated_module> all_;
  std::size_t built_ = 0;
};

}  // namespace sheaf::test
