// What is left open of a class's decisions, by where extents lie: a call near another one is asked what was left open
// for that. Shown by tests/jit/shapes.cpp.
#pragma once
#include <array>
#include <memory>

#include <sheaf/jit/shapes/open_decisions.hpp>

namespace sheaf::inline v0_1::shapes {

// Not for several threads at a time.
class shape_cells {
 public:
  // The same without regard to what is near: what told other calls apart is asked first.
  bool hold_elsewhere(const decisions& decided, std::span<const std::int64_t> extents);
  // Are calls of these extents decided as recorded? first: extents of the call that was; the same number of all
  // calls. Those that are equal to it are a cell of their own, others share one from a power of two to the next.
  bool hold(const decisions& decided, std::span<const std::int64_t> first, std::span<const std::int64_t> extents);

 private:
  struct cell {
    std::vector<std::int64_t> key;
    open_decisions open;
  };
  static constexpr std::size_t most = 64, most_extents = 32, most_telling = 8;
  std::vector<std::size_t> telling_;  // decisions that were others for some calls
  open_decisions first_asked_;        // these
  std::array<std::unique_ptr<cell>, most> cells_;  // by hash; a new one takes the place of an old one
};

}  // namespace sheaf::inline v0_1::shapes
