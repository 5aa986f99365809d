// Text of a module: every field that an emitter reads, in a form that is the same for the same module. It is the
// cache's key and the golden tests' subject. Values are renumbered in order of appearance, so equal programs print
// equally. Shown by tests/jit/print.cpp.
#pragma once
#include <string>
#include <unordered_map>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

std::string print(const module& m);

// The text, and in which of its lines, from 1 on, each kernel and each statement stands: debuggers step through it.
struct listing {
  std::string text;
  std::string folder, file;  // where it can be read
  std::unordered_map<const void*, int> lines;  // by address
};
listing print_with_lines(const module& m);

const char* name_of(opcode code);
const char* name_of(access how);
const char* name_of(loop_kind kind);
const char* name_of(role where);
const char* name_of(monoid fold);
const char* name_of(op what);

}  // namespace sheaf::inline v0_1::ir
