// expect: compile: expected at least one output
#include <sheaf/sheaf.hpp>

using namespace sheaf;
auto program = compile();
