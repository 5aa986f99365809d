// expect: call: argument v: expected f32 of rank 1, got f32 of rank 2
#include <Eigen/Dense>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto v = tensor<"v", float, 1>;
void run(Eigen::MatrixXf& m) { compile(define<"y">(i) = v(i))(v = m.block(0, 0, 2, 2)); }
