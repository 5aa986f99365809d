// A program as the loops that a person would write in C++: each definition stored once, what does not depend on a loop
// before it, keyed folds as scatters, prefixes as runs. Nothing of the planner is used, so the planner is compared with
// what anybody can have. Input: a graph. Output: a function of C++. Shown by the survey itself, which compares results.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/dsl/passes/reduce.hpp>

namespace sheaf::bench {

// What runs before all functions: includes, counters, helpers.
extern const char* const loops_prelude;

// What one evaluation does at least; the fields are those of `counts` in the prelude.
struct work_counts {
  double arithmetic = 0;  // operations on f32, of f64 twice; a product that is added is one
  double divisions = 0;
  double functions[64] = {};  // by op - op::neg
  double updates = 0;         // of tables at places that data names, single numbers
  double lines = 0;           // of 64 bytes, of inputs that are read at all
};

struct place_in_loops;

class loop_printer {
 public:
  explicit loop_printer(const graph& g);
  ~loop_printer();
  // void fast_NAME(void** data, const long* extents) and void counted_NAME(..., counts*); data: inputs, then outputs,
  // dense; extents: of the inputs, one dimension after the other. Empty where the program has what cannot be printed.
  std::string function(const std::string& name);

 private:
  using scope = place_in_loops;
  struct range {
    std::string low, high;
  };

  // loops.cpp: definitions, expressions
  bool printable() const;
  void list_definitions();
  bool is_inlined(node_id definition) const;
  void definition(node_id d);
  std::string value(node_id n);
  std::string leaf(node_id n);
  std::string computed(node_id n);
  void choice(node_id n, const std::string& name);
  std::string element(node_id load);
  std::string place(const std::string& tensor, const std::vector<std::string>& subscripts,
                    const std::vector<std::string>& lows, const std::vector<std::string>& extents) const;
  std::string tensor_name(node_id tensor) const;
  void count(node_id n);
  std::string loop_of(node_id index, const range& r);
  range range_of(node_id index);

  // loops.cpp: scopes
  void open(const std::string& header, bool conditional = false);
  void close();
  void say(const std::string& statement);
  std::size_t outermost_for(node_id n) const;
  template <class Work>
  void outside(std::size_t depth, Work work);

  // folds.cpp
  void fold(node_id reduce);
  node_id with_own_names(node_id reduce);
  void fold_loops(node_id reduce, const std::vector<node_id>& order, const std::string& into);
  std::vector<node_id> conjuncts_of(node_id condition) const;
  void guard(std::vector<node_id>& conjuncts, bool all);
  void combine(node_id reduce, const std::string& into);
  std::string identity(node_id reduce) const;
  void tables_in(node_id body, node_id target);
  std::vector<node_id> free_of(node_id reduce, node_id target) const;
  void storage(const std::string& name, sheaf::element type, const std::string& size);
  bool table(node_id reduce, node_id target);
  node_id along_of(node_id reduce, const std::vector<node_id>& free_ones);
  void along_loop(node_id reduce, node_id along, node_id column, const std::string& cell);
  bool run(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name);
  std::string table_place(const std::string& name, const std::vector<node_id>& free_ones);
  bool closed(node_id index) const;
  bool last_in_loads(node_id body, node_id index) const;

  // scatters.cpp
  struct scatter_form;
  scatter_form form_of(node_id reduce, const std::vector<node_id>& free_ones) const;
  bool can_scatter(node_id reduce, const std::vector<node_id>& free_ones, const scatter_form& f) const;
  std::string size_of(const std::vector<node_id>& indices);
  void enter(node_id index, const range& r, std::vector<node_id>& conditions, bool shared);
  std::size_t enter_places(scatter_form& f);
  bool scatter(node_id reduce, const std::vector<node_id>& free_ones, const std::string& name);

  graph g_;
  std::vector<node_id> definitions_;  // in the order of evaluation
  std::vector<std::unique_ptr<scope>> scopes_;
  std::map<node_id, std::pair<std::string, std::vector<node_id>>> tables_;  // by reduction
  int names_ = 0;
  bool failed_ = false;
};

}  // namespace sheaf::bench
