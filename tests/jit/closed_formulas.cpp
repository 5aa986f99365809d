// Closed expressions as one list of operations: values of plan::facts::exact, for any extents.
#include <gtest/gtest.h>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/closed_formulas.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::test::closed_formulas_tests {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;

template <class... Outputs>
graph graph_of(Outputs...) {
  constexpr auto words = detail::call_signature<Outputs...>::program::words;
  return unpack(words.words);
}

TEST(closed_formulas, have_the_values_of_facts) {
  constexpr auto y = define<"y">(i, j) = sum(k.in(0_c, extent(w, dim<0>)), x(i, j) * w(k)) +
                                          cast<float>(extent(x, dim<0>) - 3_c * extent(w, dim<0>));
  constexpr auto loss = define<"loss">() = sum(over(i, j), y(i, j));
  const graph g = graph_of(y, grad(loss, x));
  jit::closed_formulas formulas(g, {{{0, 1}, {1, 1}}, {{2, 3}}});
  std::vector<int> places;
  for (node_id n = 0; n < g.size(); ++n) places.push_back(formulas.add(n));
  formulas.close();
  int closed = 0;
  for (const std::int64_t rows : {0, 1, 7, 1000})
    for (const std::int64_t columns : {0, 5, 64}) {
      const std::vector<std::int64_t> extents{rows, columns, 2};
      const plan::facts known(
          g, {.inputs = {{plan::amounts({rows, columns})}, {plan::amounts({6})}}, .unit_outputs = {}});
      const auto values = formulas.values(extents);
      for (node_id n = 0; n < g.size(); ++n) {
        const auto expected = known.exact(n);
        const int at = places[static_cast<std::size_t>(n)];
        ASSERT_EQ(expected.has_value(), at >= 0) << n;
        EXPECT_EQ(expected.value_or(0), at >= 0 ? values[static_cast<std::size_t>(at)] : 0) << n;
        closed += expected.has_value();
      }
    }
  EXPECT_GT(closed, 60);
}

}  // namespace
}  // namespace sheaf::test::closed_formulas_tests
