// A program in C++. Input: a program and arguments. Output: text. Shown by tests/fuzz/surface.cpp.
#pragma once
#include "data.hpp"

namespace sheaf::fuzz {

// The declarations of its symbols, what compile(...) is given, and a whole file with arguments and main.
std::string cpp_symbols(const program& p);
std::string cpp_outputs(const program& p);
// Of a translation unit of tests/fuzz/surface.hpp: a namespace with its symbols and a function that compiles and calls
// it, each argument given by its symbol.
std::string cpp_surface(const program& p);
std::string cpp_of(const program& p, const arguments& a);

}  // namespace sheaf::fuzz
