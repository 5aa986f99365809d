// A class by what planning it decided: it serves the calls for which that comes out the same, or those of its extents
// alone. Shown by tests/numeric/classes.cpp and tests/gpu/classes.cpp. Private header.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/shapes/shape_cells.hpp>

namespace sheaf::inline v0_1::jit {

// Numbers that follow from the extents of a call, for the calls of a class.
struct numbers_of_calls {
  std::vector<shapes::amount> list;
  shapes::formulas formulas;

  void close(const shapes::decisions& of) { formulas = of.formulas_of(list); }
  void evaluate(std::span<const std::int64_t> extents, std::vector<double>& numbers) const {
    const double* const values = formulas.values(extents);
    numbers.clear();
    std::size_t root = 0;
    for (const shapes::amount& a : list)
      numbers.push_back(a.record() == nullptr ? a.estimate() : values[formulas.place(root++)]);
  }
};

class decided_class : public shape_class {
 public:
  decided_class(shape_policy policy, const call_class& first)
      : decided_(policy != shape_policy::classes),
        is_exact_(policy == shape_policy::exact),
        first_extents_(all_extents(first)) {}

  bool serves(std::span<const std::int64_t> extents) const final {
    if (is_exact_) return std::ranges::equal(extents, first_extents_);
    return cells_.hold_elsewhere(decided_, extents);
  }
  bool serves_again(std::span<const std::int64_t> extents) const final {
    return is_exact_ ? serves(extents) : cells_.hold(decided_, first_extents_, extents);
  }
  std::string difference(std::span<const std::int64_t> extents, std::span<const std::string> names) const final {
    return is_exact_ ? "other extents" : decided_.difference(extents, names);
  }

 protected:
  shapes::decisions decided_;

 private:
  const bool is_exact_;
  const std::vector<std::int64_t> first_extents_;
  mutable shapes::shape_cells cells_;
};

}  // namespace sheaf::inline v0_1::jit
