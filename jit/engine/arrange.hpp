// Pass `arrange`: programs and views of a call are brought into the form in which the planner sees runs of memory,
// which it looks for along last dimensions. Shown by tests/numeric/layouts.cpp. Private header.
//   order    the dimension of an input along which its elements lie closest becomes its last: a transposed view is
//            read in the order of memory;
//   columns  the last two dimensions of a dense input of few columns become one, so that rows lie along lanes: sums
//            over its columns are windows then, a row apart, and a column is every so many elements. Only where a
//            reduction or result goes over its columns, or these are numbers, its rows are read as a whole, and nothing
//            new can be out of range;
//   known    extents of few elements are numbers, which loops over them and what is unrolled ask for: of a row, and of
//            the dimensions before it, as far as they are few.
#pragma once
#include <string>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/engine/closed_formulas.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::jit {

// Of the dimensions with more than one element the one with the least stride, the last of equals; rank - 1 where there
// is none.
int closest_dimension(const sheaf_tensor& t, int rank);

using extent_amounts = std::vector<std::vector<shapes::amount>>;  // by input

class arrangement {
 public:
  // extents: of the inputs as they are given. A form follows from them.
  arrangement(const graph& g, const call_class& a, const extent_amounts& extents);

  graph of(const graph& g) const;
  plan::call_facts facts(const call_class& a, const extent_amounts& extents) const;
  // Inputs that are not as given, a line each.
  std::string note(const graph& g) const;
  // Points arranged inputs to extents and strides in so many `numbers`.
  std::size_t numbers() const { return numbers_; }
  void views(sheaf_tensor* inputs, std::int64_t* numbers) const;
  bool as_given() const { return numbers_ == 0; }
  // By input and dimension, as they are arranged: where the extent stands among those given.
  std::vector<std::vector<extent_place>> places() const;

  // For messages: inputs in the order in which they were given, joined ones left as they are; and the dimension that a
  // subscript of theirs was written for.
  graph named(const graph& g) const;
  // Of a named graph, for its text alone: columns of joined inputs as they were written.
  graph written(const graph& named) const;
  void named_views(sheaf_tensor* inputs, std::int64_t* numbers) const;
  int named_dimension(int input, int d) const {
    return forms_[static_cast<std::size_t>(input)].order[static_cast<std::size_t>(d)];
  }
  // Of an input as it is given: position d takes dimension order[d].
  const std::vector<int>& order(int input) const { return forms_[static_cast<std::size_t>(input)].order; }
  bool is_joined(int input) const { return columns(input) > 0; }
  // How many are one dimension with their rows; 0: they are as given.
  std::int64_t columns(int input) const { return forms_[static_cast<std::size_t>(input)].columns; }
  std::vector<std::vector<int>> orders() const;

 private:
  struct form {
    std::vector<int> order;    // position d takes dimension order[d]
    std::int64_t columns = 0;  // 0: not joined. Else the order is as given.
    std::vector<std::int64_t> known;  // of an input that is not joined: the last extents, from the last one on
    bool moved = false;
  };
  graph reordered(const graph& g, bool back) const;
  graph joined(const graph& g) const;
  std::int64_t* join(sheaf_tensor& t, const form& f, std::int64_t* numbers) const;
  std::int64_t* join_all(sheaf_tensor* inputs, std::int64_t* numbers) const;

  std::vector<form> forms_;
  std::size_t numbers_ = 0;
};

}  // namespace sheaf::inline v0_1::jit
