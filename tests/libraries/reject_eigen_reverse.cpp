// expect: call: argument v: expected f32 of rank 1, got an expression that has no memory with strides; evaluate it first
#include <Eigen/Dense>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto v = tensor<"v", float, 1>;
void run(Eigen::VectorXf& m) { compile(define<"y">(i) = v(i))(v = m.reverse()); }
