// The arguments of a call: what distinguishes calls, and what can be checked of them without their data.
// Shown by tests/numeric/errors.cpp. Private header.
#pragma once
#include <span>
#include <vector>

#include <sheaf/jit/engine/closed_formulas.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::inline v0_1::jit {

constexpr int key_capacity = 256;

// What distinguishes the calls of a program: extents, along which dimension an input's elements lie closest, and
// whether the stride there, or the last of an output, is 1, and whether its rows have no gaps. -1 stands for an output
// that the caller has yet to allocate. Returns how many numbers that are, at most key_capacity.
int write_key(const graph& g, const sheaf_tensor* tensors, std::int64_t* key);

// An output whose memory is an input's, as a number of a key; behind all others.
constexpr std::int64_t first_update = -16;
constexpr std::int64_t word_of(const plan::update& u) { return first_update - (u.input * key_capacity + u.output); }
constexpr plan::update update_of(std::int64_t word) {
  const auto place = static_cast<int>(first_update - word);
  return {place / key_capacity, place % key_capacity};
}

// The extents of all inputs, one after the other, and what plans and code depend on beside them.
struct key_parts {
  std::int64_t numbers[2 * key_capacity];
  std::span<const std::int64_t> extents, layout;
};

// What keys of a program's calls say. What is promised stands behind what write_key wrote, a number each: -2, or -3 of
// an input that is. Updates stand last.
class key_reader {
 public:
  explicit key_reader(const graph& g);

  void split(std::span<const std::int64_t> key, key_parts& parts) const;
  // The extents of all outputs, one after the other. False where extents contradict the program or each other, or the
  // extents of an output that the caller gave, or where an output is too large for any memory.
  bool outputs(std::span<const std::int64_t> key, std::span<const std::int64_t> extents,
               std::vector<std::int64_t>& made) const;
  // Where those of an output begin among them.
  std::size_t first_of(int output) const { return first_[static_cast<std::size_t>(output)]; }
  // Throws sheaf::error for the same reasons.
  call_class arguments(std::span<const std::int64_t> key) const;

 private:
  struct fixed_extent {
    int place = 0;
    std::int64_t value = 0;
  };
  struct equal_extents {
    int left = 0, right = 0;
  };
  const graph& g_;
  std::vector<int> input_ranks_, output_ranks_;
  std::vector<std::size_t> first_;
  std::vector<std::int64_t> output_bytes_;  // of an element
  closed_formulas formulas_;
  std::vector<fixed_extent> fixed_;
  std::vector<equal_extents> equal_;
  std::vector<int> wrong_, low_, high_;  // demands; by extent of an output its bounds
  bool is_closed_ = true;                // outputs have extents that do not depend on data
};

// The extents of all inputs, one after the other.
std::vector<std::int64_t> all_extents(const call_class& a);

}  // namespace sheaf::inline v0_1::jit
