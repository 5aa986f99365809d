// expect: call: argument v: expected f32 of rank 1, got an expression that has no memory with strides; evaluate it first
#include <xtensor/xtensor.hpp>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto v = tensor<"v", float, 1>;
void run(xt::xtensor<float, 1>& t) { compile(define<"y">(i) = v(i))(v = t + t); }
