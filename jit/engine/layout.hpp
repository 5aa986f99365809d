// What a planned program needs beside its arguments, for one class of them: workspace arrays and check results in one piece of
// memory. Private header.
#pragma once
#include <vector>

#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/lower/lower.hpp>

namespace sheaf::jit {

plan::call_facts facts_of(const call_class& a);

// Checks that need no data. Throws what fail_check throws.
void check_uniform(const planned& p, const plan::facts& known, const call_class& arguments);

struct call_layout {
  struct own_array {
    std::size_t offset = 0;
    std::vector<std::int64_t> extents, strides;
  };
  std::vector<own_array> arrays;  // by slot after the arguments: the workspaces, then the checks that are not uniform
  std::size_t bytes = 0;

  // Throws code::out_of_memory where they can't be addressed.
  call_layout() = default;
  call_layout(const planned& p, const plan::facts& known, std::size_t alignment);

 private:
  void place(element type, const std::vector<std::int64_t>& extents, std::size_t alignment);
};

}  // namespace sheaf::jit
