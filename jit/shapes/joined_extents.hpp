// Dimensions of inputs that a program ties to each other, by place among the extents of all inputs.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::shapes {

// The place of an extent among those of all inputs; -1: it is none of an input's.
int place_of(const graph& g, node_id extent);
// That of the extent that an index ends at.
int end_of(const graph& g, node_id idx);

enum class ties : std::uint8_t {
  equal,   // to dimensions of the same extent
  related  // to those from which their extent follows, too
};

class joined_extents {
 public:
  explicit joined_extents(const graph& g, ties which);

  // The first place that this one is joined with.
  int of(int place) const {
    while (of_[static_cast<std::size_t>(place)] != place) place = of_[static_cast<std::size_t>(place)];
    return place;
  }
  // Does a range or a value follow from it?
  bool is_read(int size) const { return read_[static_cast<std::size_t>(size)]; }
  // What the program states of it; else dynamic.
  std::int64_t stated(int place) const { return stated_[static_cast<std::size_t>(of(place))]; }

 private:
  void join(int a, int b);
  void note(const graph& g, node_id n, std::vector<int>& list) const;

  std::vector<int> of_;
  std::vector<bool> read_;
  std::vector<std::int64_t> stated_;
};

}  // namespace sheaf::inline v0_1::shapes
