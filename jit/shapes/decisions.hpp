// What a plan decided by the extents of the call that it was made for: exact, or as one of a class.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sheaf/jit/shapes/interval.hpp>
#include <sheaf/jit/shapes/step.hpp>

namespace sheaf::inline v0_1::shapes {

// A comparison of two formulas.
struct question {
  bool less = false;  // else equal
  formula_id a = no_formula, b = no_formula;
  bool operator==(const question&) const = default;
};

struct decision {
  question asked;
  bool answer;
  std::size_t known;  // formulas that there were
};

// Of the extents in a box.
enum class in_box : std::uint8_t { none, some, all };

class formulas;
class open_decisions;

// Amounts refer to it: it stays where it is.
class decisions {
 public:
  // exact: of a plan for exact extents, else for a class.
  explicit decisions(bool exact) : exact_(exact) {}
  decisions(const decisions&) = delete;
  decisions& operator=(const decisions&) = delete;

  // The extent at `place` of all those of a call.
  amount extent(int place, std::int64_t value) { return extent(place, value, value); }
  // usual: what stands for it, in a plan for a class.
  amount extent(int place, std::int64_t value, std::int64_t usual);
  bool exact() const { return exact_; }
  // Is the class one of irregular calls (usual_extents.hpp), of which a plan asks nothing that it could do without?
  bool irregular() const { return irregular_; }
  void be_irregular() { irregular_ = true; }
  // Of a class whose sizes are few: plans ask nothing more of calls than which class they are of. most: the largest
  // extents that it has, by place.
  void bound_by(std::vector<std::int64_t> most) { most_ = std::move(most); }
  bool is_bounded() const { return !most_.empty(); }
  // Is it one of the classes that together serve all calls, and are made before any?
  bool serves_all() const { return serves_all_; }
  void serve_all() { serves_all_ = true; }
  double most(const amount& a) const {
    return enclosed({&a, 1}, std::vector<std::int64_t>(most_.size()), most_)[0].high;
  }
  amount of_integers(integer_function f, const amount& a, const amount& b, const amount& c);
  amount combined(rule how, double value, double usual, const amount& a, const amount& b);
  void decided(bool less, const amount& a, const amount& b, bool outcome);

  // Would a call of these extents have been decided alike?
  bool hold(std::span<const std::int64_t> extents) const;
  // The first decision that would be another one, in words; empty: none. names: of extents, by place.
  std::string difference(std::span<const std::int64_t> extents, std::span<const std::string> names) const;
  // One, in words.
  std::string words(std::size_t place, std::span<const std::string> names) const;
  // Formulas for the extents of another call; all of them in one walk.
  std::vector<double> values(std::span<const amount> list, std::span<const std::int64_t> extents) const;
  double value(const amount& a, std::span<const std::int64_t> extents) const { return values({&a, 1}, extents)[0]; }
  // All that they may be where extents are in [low, high].
  std::vector<interval> enclosed(std::span<const amount> list, std::span<const std::int64_t> low,
                                 std::span<const std::int64_t> high) const;

  // What is left to be decided where all extents are in [low, high].
  open_decisions open_in(std::span<const std::int64_t> low, std::span<const std::int64_t> high) const;
  // The first that is decided otherwise for these extents, by its place; size(): none.
  std::size_t first_other(std::span<const std::int64_t> extents) const;
  // For which extents in [low, high] is that the one at `place`? Some: it is not known of all, because of the decision
  // `open`.
  in_box first_other_in(std::size_t place, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
                        std::size_t& open) const;
  // The places of the extents that a decision is made of.
  std::vector<std::size_t> extents_of(std::size_t place) const;
  // These alone, by their places.
  open_decisions only(std::span<const std::size_t> places) const;
  // What it takes to evaluate these; of those without a formula nothing.
  formulas formulas_of(std::span<const amount> list) const;

  std::size_t size() const { return decisions_.size(); }
  // For code that evaluates them without this library.
  std::span<const step> steps() const { return steps_; }
  std::span<const decision> list() const { return decisions_; }
  integer_function function(const step& s) const { return functions_[static_cast<std::size_t>(s.function)]; }
  // Nothing will be added.
  void close() {
    known_ = {};
    asked_ = {};
    steps_.shrink_to_fit();
    decisions_.shrink_to_fit();
  }
  std::size_t bytes() const { return steps_.size() * sizeof(step) + decisions_.size() * sizeof(decision); }

 private:
  formula_id add(const step& s);
  formula_id of(const amount& a) { return a.record() == this ? a.formula() : add({.number = a.estimate()}); }
  std::string text(formula_id f, std::span<const std::string> names) const;

  const bool exact_;
  bool irregular_ = false;
  bool serves_all_ = false;
  std::vector<std::int64_t> most_;
  std::vector<integer_function> functions_;
  std::vector<step> steps_;
  std::vector<decision> decisions_;
  struct hashed {
    std::size_t operator()(const step& s) const;
    std::size_t operator()(const question& q) const;
  };
  std::unordered_map<step, formula_id, hashed> known_;
  std::unordered_set<question, hashed> asked_;
};

}  // namespace sheaf::inline v0_1::shapes
