// The code generator, opened at first need and promised. Private header.
#pragma once
#include <string>
#include <vector>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::jit {

// The object file of a module for a processor ("" for this one). Throws sheaf::error.
std::vector<unsigned char> generate_object(const ir::module& module, const std::string& target, bool strict);

// See set_code_generator in program.hpp.
void choose_plugin(const std::string& path);

}  // namespace sheaf::inline v0_1::jit
