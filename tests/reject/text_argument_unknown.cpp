// expect: call: n is neither an input nor an output of this program
#include <sheaf/text.hpp>

using namespace sheaf;

void run(view<float, 1> v) { compile(program<"y(i) = x(i)">)(arg<"x"> = v, arg<"n"> = v); }
