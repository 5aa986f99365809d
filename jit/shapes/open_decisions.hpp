// Formulas for the extents of many calls, and decisions left open where extents lie in a box: by interval arithmetic
// most decisions have one outcome over all of a box, so that a call in it is asked only the others.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <sheaf/jit/shapes/decisions.hpp>

namespace sheaf::inline v0_1::shapes {

// Some of the formulas of decisions, without what they don't need.
class formulas {
 public:
  formulas() = default;
  // roots: of `steps`.
  formulas(std::span<const step> steps, std::span<const integer_function> functions, std::span<const formula_id> roots);
  // All of them; valid until the thread's next call.
  const double* values(std::span<const std::int64_t> extents) const;
  // Where a root stands among them.
  formula_id place(std::size_t root) const { return roots_[root]; }
  std::size_t bytes() const { return steps_.size() * sizeof(step); }

 private:
  std::vector<step> steps_;
  std::vector<integer_function> functions_;
  std::vector<formula_id> roots_;
};

// Of calls whose extents lie in a box.
class open_decisions {
 public:
  // Are they decided as recorded?
  bool hold(std::span<const std::int64_t> extents) const;
  std::size_t size() const { return questions_.size(); }
  bool never() const { return never_; }

 private:
  friend class decisions;
  struct asked {
    bool less, answer;
    formula_id a, b;
  };
  void evaluate_by(formulas of);

  formulas formulas_;
  std::vector<asked> questions_;
  bool never_ = false;  // one has the other outcome in all of the box
};

}  // namespace sheaf::inline v0_1::shapes
