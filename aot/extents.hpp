// Extents of a call, found for what is asked of them: those for which a class of plans is not.
// Shown by tests/aot/classes.cpp.
#pragma once
#include <optional>
#include <set>
#include <vector>

#include <sheaf/aot/program.hpp>
#include <sheaf/jit/shapes/decisions.hpp>
#include <sheaf/jit/shapes/interval.hpp>
#include <sheaf/jit/shapes/joined_extents.hpp>

namespace sheaf::inline v0_1::aot {

using extent_list = std::vector<std::int64_t>;

class extent_search {
 public:
  explicit extent_search(const program& p);

  // What is not known (-1) is that of a sibling, or as `wanted` has it; what the program ties to it follows.
  extent_list completed(const extent_list& known, std::int64_t wanted) const;

  // Extents for which the decision at `place` is the first with another outcome: a call that the program takes and its
  // ranges hold. Nothing: there is none, where `proven`; else none was found.
  struct answer {
    std::optional<extent_list> extents;
    bool proven = false;
  };
  answer first_other(const shapes::decisions& of, std::size_t place) const;

  // Is every call of a class refused by what is checked without data? outside: of a graph with the same inputs, not 0
  // where a check fails.
  bool is_always_refused(const shapes::decisions& of, const graph& g, const std::vector<node_id>& outside) const;

  // Has every call of a class an extent of 0, and so no reduction of the program a term?
  bool reduces_nothing(const shapes::decisions& of) const;
  // Does the program take these, and do its ranges hold them?
  bool is_call(const extent_list& extents) const;

 private:
  struct range_of_size {
    std::int64_t low, high;
  };
  using box = std::vector<range_of_size>;  // by size
  shapes::interval enclosed(const graph& g, node_id n, const box& b) const;
  bool solve(node_id n, std::int64_t wanted, extent_list& extents) const;
  bool is_never_positive(const shapes::decisions& of, const std::vector<bool>& sizes) const;
  void set(std::size_t place, std::int64_t n, extent_list& extents) const;
  void repair(extent_list& extents) const;
  bool is_too_large(const box& b) const;
  bool has_too_large_outputs(const box& b) const;
  bool is_refused(const box& b) const;
  void spread(const box& b, extent_list& low, extent_list& high) const;
  std::optional<std::size_t> widest_of(const box& b, const std::vector<std::size_t>& places) const;
  void push_halves(std::vector<box>& open, const box& b, std::size_t size, const std::set<std::int64_t>& at) const;
  std::optional<extent_list> tried(const shapes::decisions& of, std::size_t place, const box& b) const;

  const program& p_;
  const shapes::joined_extents same_;
  std::vector<std::size_t> size_of_;  // by place; sizes are numbered
  box all_;
};

}  // namespace sheaf::inline v0_1::aot
