// A program in C++. Input: a program and arguments. Output: text. Shown by tests/fuzz/surface.cpp.
#pragma once
#include "data.hpp"

namespace sheaf::fuzz {

// The declarations of its symbols, what compile(...) is given, and a whole file with arguments and main.
std::string cpp_symbols(const program& p);
std::string cpp_outputs(const program& p);
std::string cpp_of(const program& p, const arguments& a);

}  // namespace sheaf::fuzz
