// Arguments for a program: values by what they mean, layouts with strides of every kind, memory flush with pages that
// no one may touch. Input: a program. Output: tensors. Shown by tests/fuzz/main.cpp.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <sheaf/runtime/sheaf_call.h>

#include "author.hpp"

namespace sheaf::fuzz {

struct layout {
  std::vector<int> order;          // dimensions from the outermost in memory to the innermost; empty: row-major
  std::vector<std::int64_t> gaps;  // elements left out behind each dimension's last one, by dimension
  std::vector<bool> backwards;     // negative strides
  std::vector<bool> repeated;      // stride 0
  // the last byte is the last before a forbidden page; else the first is the first after one
  bool at_end = true;
};

struct tensor_data {
  element type = element::f64;
  std::vector<std::int64_t> extents;
  std::vector<double> reals;           // row-major, of floating types
  std::vector<std::int64_t> integers;  // of the others
  layout placed;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

struct arguments {
  std::map<std::string, tensor_data> inputs;  // by name, automatic ones too
  std::vector<layout> outputs;                // of each output
};

arguments draw_arguments(const program& p, std::uint64_t seed);
// Row-major layouts: the same values.
arguments dense(arguments a);

// Strides in elements, and where the first element stands among the bytes that the layout spans.
struct placement {
  std::vector<std::int64_t> strides;
  std::int64_t first = 0;  // in elements
  std::int64_t span = 0;   // in elements
};
placement place(const layout& how, const std::vector<std::int64_t>& extents);

// Memory between two pages that end the process where they are touched.
class guarded_memory {
 public:
  guarded_memory(const tensor_data& values, bool filled);
  guarded_memory(guarded_memory&& other) noexcept;
  guarded_memory(const guarded_memory&) = delete;
  ~guarded_memory();

  sheaf_tensor view() const;
  tensor_data read() const;
  // From here on a write ends the process.
  void forbid_writing() const;
  // Is every byte as it was, or every byte that is of no element?
  bool untouched() const;
  bool gaps_untouched() const;

 private:
  unsigned char* element_at(std::int64_t row_major) const;
  void* pages_ = nullptr;
  std::size_t mapped_ = 0, bytes_ = 0;
  unsigned char* start_ = nullptr;
  tensor_data shape_;
  placement place_;
  std::vector<std::int64_t> extents_, strides_;
};

}  // namespace sheaf::fuzz
