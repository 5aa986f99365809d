// How a kernel is declared in C: its arguments in order. Private header.
#pragma once
#include <string>
#include <vector>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/engine/words.hpp>

namespace sheaf::inline v0_1::aot {

struct argument {
  std::string name;     // a C identifier
  std::string as_known; // in the program
  element type;
  int rank;
  bool is_input;
};

// Inputs, then outputs.
std::vector<argument> arguments_of(const graph& g);

const char* c_type(element type);

// Letters, digits and underscores; no keyword of C or C++, and no other argument's.
std::string identifier(const std::string& name, const std::vector<argument>& others = {});

// The parameters that functions of a kernel have before their own: "const float *x, const int64_t x_extents[2], ...".
enum class parameters { call, extents };
std::string declared_parameters(const graph& g, parameters which, const std::string& between);

}  // namespace sheaf::inline v0_1::aot
