// Derivatives to the third order of what slices, masks and intervals restrict: nothing outside of them counts,
// whatever it is, and no slice asks for all rows. The numbers are PyTorch's, in f64.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;
using list_of = std::vector<double>;

const array<double, 1> along = list<double>({1, -2, 0.5, 3});

template <class Found>
void expect_near(const Found& found, const list_of& expected, const char* what) {
  for (int e = 0; e < 4; ++e)
    EXPECT_NEAR(found(e), expected[static_cast<std::size_t>(e)],
                1e-11 * (1 + std::abs(expected[static_cast<std::size_t>(e)])))
        << what << ", element " << e;
}

// The Hessian times `along` by three ways, and the gradient of along * that * along.
template <class Y>
auto derivatives(Y y) {
  constexpr auto dx = grad(Y{}, x);
  constexpr auto slope = define<"slope">() = sum(t, dx(t) * v(t));
  constexpr auto hv = grad(slope, x);
  constexpr auto bend = define<"bend">() = sum(t, hv(t) * v(t));
  (void)y;
  // Of terms as large as the squares, 1e6, the results are thousandths.
  return both(dx, hv, jvp(dx, x, v), grad(jvp(Y{}, x, v), x), grad(bend, x)).rounds(0x1p15);
}
template <class Program, class... More>
void check(const Program& program, const array<double, 1>& at, const list_of& first, const list_of& second,
           const list_of& third, const More&... more) {
  const auto [dx, hv, forward, of_forward, last] = program(x = at, v = along, more...);
  expect_near(dx, first, "gradient");
  expect_near(hv, second, "reverse over reverse");
  expect_near(forward, second, "forward over reverse");
  expect_near(of_forward, second, "reverse over forward");
  expect_near(last, third, "third order");
}

// Squares under the softmax of each slice, one of which is empty; the numbers of two others lie 1000 apart.
TEST(second_order, softmax_of_slices) {
  constexpr auto rows = t.in(cut(m, 0_c), cut(m, 1_c));
  constexpr auto ls = define<"ls">(m) = logsumexp(rows, x(t));
  constexpr auto y = define<"y">() = sum(m, sum(rows, exp(x(t) - ls(m)) * x(t) * x(t)));
  const auto program = derivatives(y);
  check(program, list<double>({0.5, -1, 1000, 1001}), {0.705714637141, -0.25299120856, 144.462364324, 1856.99975283},
        {1.84829193115, 0.399472994642, -1512.51417986, 1518.15253242},
        {1.6416209747, 1.16993555464, 3847.258043, -3843.47846651},
        cut = filled(array<std::int64_t, 2>(3, 2), {0, 2, 1, 1, 2, 4}));
  check(program, list<double>({0.5, -1, 2, 0.25}), {-0.246067884127, -0.362719384789, 7.50884632213, -0.274219125209},
        {0.260610641741, 0.768985470333, 1.36716467771, 0.177829067343},
        {0.607518700461, -0.751921703412, -3.76070385671, 4.50109321577},
        cut = filled(array<std::int64_t, 2>(3, 2), {0, 4, 2, 2, 1, 3}));
  // Each sum over slices keeps its interval: without it there are slices x rows terms.
  const std::string text = program.kernels().text();
  EXPECT_NE(text.find("sum(m.where("), std::string::npos);
  EXPECT_EQ(text.find("sum(m,"), std::string::npos) << text;
  EXPECT_EQ(text.find("sum(t',"), std::string::npos) << text;
}
// The same under a mask of each row, one of which keeps nothing.
TEST(second_order, softmax_of_masked_rows) {
  constexpr auto ls = define<"ls">(m) = logsumexp(t.where(keep(m, t)), x(t));
  constexpr auto y = define<"y">() = sum(m, sum(t.where(keep(m, t)), exp(x(t) - ls(m)) * x(t) * x(t)));
  check(derivatives(y), list<double>({0.5, -1, 2, 1000}), {0.705714637141, -0.483372934108, 3.94582648648, 0},
        {1.84829193115, 0.832692930005, 1.00730059471, 0}, {1.6416209747, 0.874775588168, -0.108857590037, 0},
        keep = filled(array<bool, 2>(3, 4),
                      {true, true, false, false, false, false, false, false, false, true, true, false}));
}
// Pairs of windows that hold a row: the other one's rows are its neighbours, so time grows with the length, not its
// square.
TEST(second_order, windows_walk_their_neighbours) {
  constexpr auto u = axis<"u">;
  constexpr auto places = t.in(0_c, extent(x, dim<0>) - 1_c);
  constexpr auto ls = define<"ls">(places) = logsumexp(u.in(0_c, 2_c), x(t + u));
  constexpr auto y = define<"y">() = sum(places, sum(u.in(0_c, 2_c), exp(x(t + u) - ls(t)) * x(t + u)));
  constexpr auto dx = grad(y, x);
  constexpr auto slope = define<"slope">() = sum(t, dx(t) * dx(t) * 0.5_c);
  const auto program = both(grad(slope, x)).rounds(1024);
  expect_near(program(x = list<double>({0.5, -1, 1000, 1001})),
              {0.169097679313, -0.169097679313, 0.0437399732, -0.0437399732}, "windows");
  const std::string text = program.kernels().text();
  EXPECT_NE(text.find("over(i'.in(maximum(0, i - 1), minimum(extent(x, 0), i + 2))"), std::string::npos) << text;
}
// Logarithms of rows; no slice has the last two, whose logarithms are not finite.
TEST(second_order, rows_of_no_slice) {
  constexpr auto y = define<"y">() = sum(m, sum(t.in(cut(m, 0_c), cut(m, 1_c)), log(x(t)) * log(x(t)) * w(m)));
  check(derivatives(y), list<double>({0.5, 2, 0, -1}), {-2.77258872224, 2.07944154168, 0, 0},
        {13.5451774445, -0.92055845832, 0, 0}, {-70.1807097779, -4.84111691664, 0, 0},
        cut = filled(array<std::int64_t, 2>(2, 2), {0, 2, 1, 2}), w = list<double>({1, 2}));
}
// A slice without rows takes nothing of what stands within, be it infinite: the value, too.
TEST(second_order, nothing_times_infinity) {
  constexpr auto rows = t.in(cut(m, 0_c), cut(m, 1_c));
  constexpr auto y = define<"y">() = sum(m, sum(rows, exp(w(m))));
  constexpr auto z = define<"z">() = sum(m, sum(rows, exp(w(m)) * x(t)));
  const auto [value, dy, dz] = both(y, grad(y, w), grad(z, w))(
      x = list<double>({2, 3}), w = list<double>({0, 1000}), cut = filled(array<std::int64_t, 2>(2, 2), {0, 2, 1, 1}));
  EXPECT_EQ(value(), 2);
  EXPECT_EQ(dy(0), 2);
  EXPECT_EQ(dy(1), 0);
  EXPECT_EQ(dz(0), 5);
  EXPECT_EQ(dz(1), 0);
}

}  // namespace
