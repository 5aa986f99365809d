// Draws a program: what stands in scope, which tensors there are, and terms of each kind. The same seed draws the same.
// Input: a seed. Output: a program that the language accepts. See generate.cpp; shown by tests/fuzz/main.cpp.
#pragma once
#include <random>

#include "program.hpp"

namespace sheaf::fuzz {

// Numbers that are the same on every platform: the distributions of the standard library are not.
class dice {
 public:
  explicit dice(std::uint64_t seed) : bits_(seed * 0x9E3779B97F4A7C15u + 1) {}
  int below(int n) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(n < 1 ? 1 : n)); }
  bool chance(int percent) { return below(100) < percent; }
  double real() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::uint64_t word() { return bits_(); }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  std::string of(std::initializer_list<const char*> list) {
    return *(list.begin() + below(static_cast<int>(list.size())));
  }

 private:
  std::mt19937_64 bits_;
};

struct author_limits {
  int definitions = 3;
  int depth = 3;
  double work = 20000;  // elements that one nest of loops may have
  int derivatives = -1;  // percent of programs that have some; -1: as their flavour asks
  bool scalars = true;   // outputs that are expressions without a name
};
// Small programs for the compiler of C++, whose outputs can all be given by symbol.
inline author_limits surface_limits() { return {2, 3, 5000, 60, false}; }

class author {
 public:
  author(std::uint64_t seed, author_limits limits);
  program write();

 private:
  struct variable {
    std::string name;
    int size = -1;        // its values lie in [0, sizes[size]); -1: anywhere near 0
    double iterations = 1;
    std::string offsets{};  // the input of offsets whose slices it counts
  };

  // generate.cpp: the program's parts
  void choose_sizes();
  void choose_inputs();
  symbol& add_input(const std::string& stem, element type, std::vector<int> dims, role means = role::values,
                    int target = -1);
  void add_definition();
  void add_joined();
  void add_reshaped();
  void add_loss();
  void add_derivatives();
  void add_derivative(const std::string& what, const std::string& y, const std::string& x, const std::string& along);
  void add_second_order(const std::string& loss, const std::string& x);
  std::string weighted_sum(const std::string& tensor, const std::string& stem);
  std::string direction_like(const std::string& name, const char* what);
  void maybe_customise(symbol& s);
  void choose_outputs();
  element float_type();
  element int_type(std::int64_t highest);

  // subscripts.cpp: what stands in scope
  std::string fresh_index();
  double work() const;
  int size_above(int least);
  const symbol* tensor_with(int size, bool written);
  term size_of_class(int size);
  const symbol& positions(int size, int target);
  const symbol& ranges(int size, int target);
  const symbol& offsets(int target);
  term position(int size, int depth);
  term wild_position(int depth);
  term any_load(const std::vector<const symbol*>& list, int depth);
  std::vector<const symbol*> tensors(bool floating) const;
  variable bind(domain& d, int depth);
  variable bind_range(domain& d, int depth);
  variable bind_slice(domain& d, const variable& m);
  variable bind_near(domain& d);
  variable bind_offsets(domain& d);
  void close(domain& d, int size, const std::vector<term>& users);
  bool on_scope(const term& e) const;

  // expressions.cpp: terms
  term floating(int depth);
  term floating_leaf(int depth);
  term arithmetic(int depth);
  term function(int depth);
  term whole(int depth);
  term condition(int depth);
  term reduction(int depth);
  term whole_reduction(int depth);
  term own_fold(int depth);
  term ragged();
  term strong(term e, element type);
  std::vector<std::string> policies(const std::string& name, element type);
  term literal();
  bool only_exact() const { return p_.kind == flavour::exact; }

  dice dice_;
  author_limits limits_;
  program p_;
  std::vector<variable> scope_;
  int names_ = 0;
  bool ragged_ = false;   // is a slice of data normalised somewhere?
  std::size_t head_ = 0;  // how many in scope are indices of the definition
};

program generate(std::uint64_t seed, author_limits limits = {});

}  // namespace sheaf::fuzz
