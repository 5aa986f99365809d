// The extents that stand for all extents of a class, when a plan for it is made.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::shapes {

// Dimensions that the program ties to each other are one size. Few sizes have more than one class: that along which
// elements lie (short, a row, long) and that of what is repeated (few, many), so that a program has at most six.
class usual_extents {
 public:
  explicit usual_extents(const graph& g);

  // By place among the extents of all inputs, for those of a call; what the program states is itself.
  std::vector<std::int64_t> of(std::span<const std::int64_t> extents) const;
  // The same as usual == of(extents), without memory.
  bool stand_for(std::span<const std::int64_t> usual, std::span<const std::int64_t> extents) const;

 private:
  // By role.
  struct sizes {
    std::int64_t along = 0, repeated = 0, other = 0;
  };
  sizes sizes_of(std::span<const std::int64_t> extents) const;
  std::int64_t at(std::size_t place, const sizes& u) const;

  enum class role : std::uint8_t { list, along, repeated, other, unread };

  std::vector<role> roles_;           // by place
  std::vector<std::int64_t> stated_;  // by place; dynamic: a call's
};

}  // namespace sheaf::inline v0_1::shapes
