// From the language to its gradient at compile time: what the user writes, the gradient as text, and its numbers.
#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/sheaf.hpp>

#if defined SHEAF_ENUMERATOR || defined SHEAF_FUNCTIONS || defined SHEAF_MONOIDS
#error a list of names stays defined in the code of users
#endif

namespace {

using namespace sheaf;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f));

template <class E>
constexpr graph graph_of(E) {
  return detail::build_graph<E>();
}

constexpr bool prints(const graph& g, const char* expected) {
  const flat<char> text = print(g, g.outputs[0]);
  for (int i = 0; i < text.size(); ++i, ++expected)
    if (*expected != text[i]) return false;
  return *expected == 0;
}

static_assert(prints(graph_of(grad(loss, x)),
                     "dloss_dx(t, f) = sum(m.where(cut(m, 0) <= t && t < cut(m, 1)), "
                     "1 / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0)))"));

// x is [10, 4]; the slices are (3,5), (1,8), (4,8), (6,9). Row 4 lies in three of them, rows 0 and 9 in none.
constexpr tensor_value gradient() {
  const graph g = graph_of(grad(loss, x));
  flat<tensor_value> inputs;
  for (const input_row& input : g.inputs) {
    tensor_value value;
    value.type = input.type;
    const bool rows = input.type == element::f32;
    value.extents.push(rows ? 10 : 4);
    value.extents.push(rows ? 4 : 2);
    for (int i = 0; rows && i < 40; ++i) value.reals.push(i);
    for (const int end : {3, 5, 1, 8, 4, 8, 6, 9})
      if (!rows) value.integers.push(end);
    inputs.push(value);
  }
  return evaluate(g, g.outputs[0], inputs).get();
}
constexpr bool near(double a, double b) { return a - b < 1e-7 && b - a < 1e-7; }

static_assert(near(gradient().reals[4 * 4], 1 / 2. + 1 / 7. + 1 / 4.));
static_assert(gradient().reals[0] == 0 && gradient().reals[9 * 4 + 3] == 0);

// A literal is the nearest number, as the compiler's own: the powers of 10 beyond 10^22 are none of f64.
static_assert(std::is_same_v<decltype(1e30_c), literal_<1e30>>);
static_assert(std::is_same_v<decltype(9.3e-25_c), literal_<9.3e-25>>);
static_assert(std::is_same_v<decltype(3.141'592'653'589'793'238'462'643_c), literal_<3.141592653589793238462643>>);
static_assert(std::is_same_v<decltype(1'000_c), literal_<std::int64_t{1000}>>);

}  // namespace
