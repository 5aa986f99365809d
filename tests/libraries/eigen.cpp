// Eigen's matrices and expressions as arguments: with direct access they are taken with their strides, the others
// refused.
#include <Eigen/Dense>

#include <libraries/arguments.hpp>

namespace {
using namespace sheaf::test;

using matrix = Eigen::MatrixXf;  // column-major
using rows_first = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using any_strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

template <class Matrix>
Matrix counted() {
  Matrix m(3, 5);
  for (int k = 0; k < 15; ++k) m.data()[k] = static_cast<float>(k);
  return m;
}

TEST(eigen, vectors_with_strides) {
  auto m = counted<rows_first>();
  auto c = counted<matrix>();
  expect_vector(m.col(1), {1, 6, 11});
  expect_vector(m.row(1), {5, 6, 7, 8, 9});
  expect_vector(c.row(1), {1, 4, 7, 10, 13});
  expect_vector(c.col(1), {3, 4, 5});
  expect_vector(c.diagonal(), {0, 4, 8});
  expect_vector(m.diagonal(1), {1, 7, 13});
  expect_vector(c.transpose().row(2), {6, 7, 8});
  expect_vector(c.row(2).transpose(), {2, 5, 8, 11, 14});
  expect_vector(c.row(1).segment(1, 3), {4, 7, 10});
  expect_vector(c.array().row(1), {1, 4, 7, 10, 13});
  expect_vector(Eigen::VectorXf(c.col(2)), {6, 7, 8});
  expect_vector(Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<2>>(c.data(), 3), {0, 2, 4});
  expect_vector(Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<>>(c.data() + 4, 3, Eigen::InnerStride<>(-2)),
                {4, 2, 0});
  expect_vector(Eigen::Ref<Eigen::RowVectorXf, 0, Eigen::InnerStride<>>(c.row(0)), {0, 3, 6, 9, 12});
}

TEST(eigen, matrices_with_strides) {
  auto m = counted<rows_first>();
  auto c = counted<matrix>();
  expect_matrix(m);
  expect_matrix(c);
  expect_matrix(c.transpose());
  expect_matrix(c.block(1, 1, 2, 3));
  expect_matrix(m.block(0, 1, 3, 2).transpose());
  expect_matrix(c.middleCols(1, 2).array());
  expect_matrix(c.reshaped(5, 3));
  expect_matrix(m.col(1));
  expect_matrix(c.row(2));
  expect_matrix(Eigen::VectorXf(c.col(2)));
  expect_matrix(Eigen::Map<matrix, 0, any_strides>(c.data(), 2, 2, any_strides(6, 2)));
  expect_matrix(Eigen::Ref<matrix, 0, Eigen::OuterStride<>>(c.bottomRows(2)));
}

TEST(eigen, vectors_in_place_in_a_matrix) {
  rows_first m = rows_first::Zero(3, 4);
  matrix c = matrix::Zero(3, 4);
  const float a[3] = {1, 2, 3};
  plus_hundred(v = a, y = m.col(1));
  auto row = c.row(2).head(3);
  plus_hundred(v = a, y = row);
  for (int r = 0; r < 3; ++r)
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(m(r, k), k == 1 ? 100 + a[r] : 0) << r << ", " << k;
      EXPECT_EQ(c(r, k), r == 2 && k < 3 ? 100 + a[k] : 0) << r << ", " << k;
    }
}

TEST(eigen, what_is_refused) {
  matrix m;
  const matrix fixed;
  Eigen::VectorXf w;
  static_assert(!is_input<decltype(m.block(0, 0, 2, 2)), 1>, "a matrix is no vector");
  static_assert(!is_input<matrix&, 1> && !is_input<decltype(m.transpose()), 1> && is_input<matrix&, 2>);
  static_assert(!is_input<decltype(w.reverse()), 1> && !is_input<decltype(w + w), 1>, "no direct access");
  static_assert(!is_input<decltype(m * w), 1> && !is_input<decltype(m(Eigen::all, Eigen::seq(0, 4, 2))), 2>);
  static_assert(!is_input<Eigen::VectorXd&, 1>);
  static_assert(is_output<Eigen::VectorXf&, 1> && !is_output<const Eigen::VectorXf&, 1>);
  static_assert(is_output<decltype(m.col(0)), 1> && is_input<decltype(fixed.col(0)), 1>);
  static_assert(!is_output<decltype(fixed.col(0)), 1> && !is_output<Eigen::Map<const Eigen::VectorXf>, 1>);
}

}  // namespace
