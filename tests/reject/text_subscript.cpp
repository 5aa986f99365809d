// expect: line 1, column 8: subscript: tensor x has rank 1, got 2 subscripts
#include <sheaf/text.hpp>

using namespace sheaf;

void run(view<float, 1> v) { compile(program<"y(i) = x(i, i)">)(arg<"x"> = v); }
