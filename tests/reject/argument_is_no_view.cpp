// expect: call: argument a: expected f32 of rank 1, got something that is no view of one
#include <string>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(std::string* values) { compile(define<"y">(i) = a(i))(a = values); }
