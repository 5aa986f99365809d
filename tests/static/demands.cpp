// What nodes demand becomes closed conditions of the program: found by the pass, kept by the packed words, and
// answered by the evaluator with the first position where they fail.
#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/sheaf.hpp>

#include "support/reads.hpp"

namespace {

using namespace sheaf;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto y = define<"y">(m) = max<empty::error>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t));
constexpr auto guarded = define<"guarded">(m) = select(cut(m, 0_c) < 3_c, y(m), 0_c);
constexpr auto inside = define<"inside">(m) =
    select(cut(m, 0_c) < 3_c, max<empty::error>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t)), 0_c);
constexpr auto loss = define<"loss">() = sum(m, y(m) * y(m));

template <class E>
constexpr graph graph_of(E) {
  return unpack(detail::packed<E>::words.words);
}
template <class E>
constexpr bool demands(E e, int count, const char* wrong) {
  const graph g = graph_of(e);
  return g.demands.size() == count && reads(print(g, g.demands[0].wrong), wrong);
}

// A definition is computed as a whole, so a guard around a read of it guards nothing; one around the reduction does.
static_assert(demands(y, 1, "any(m, maximum(cut(m, 1) - cut(m, 0), 0) == 0)"));
static_assert(demands(guarded, 1, "any(m, maximum(cut(m, 1) - cut(m, 0), 0) == 0)"));
static_assert(demands(inside, 1, "any(m.where(cut(m, 0) < 3), maximum(cut(m, 1) - cut(m, 0), 0) == 0)"));
// The gradient's own use of y says nothing more.
static_assert(demands(grad(loss, x), 1, "any(m, maximum(cut(m, 1) - cut(m, 0), 0) == 0)"));
static_assert(demands(segment_sum(x, offsets(off)), 2, "extent(off, 0) - 1 < 0"));
static_assert(graph_of(mean<empty::error>(tensor<"w", float, 1, 4>)).demands.empty());

// Four rows; two slices, of which the second is [4, last).
template <class E>
constexpr evaluation_status status(E e, std::int64_t last) {
  const graph g = graph_of(e);
  flat<tensor_value> inputs;
  for (const input_row& input : g.inputs) {
    tensor_value value;
    value.type = input.type;
    const bool rows = input.type == element::f64;
    value.extents.push(rows ? 8 : 2);
    if (!rows) value.extents.push(2);
    for (int i = 0; rows && i < 8; ++i) value.reals.push(i);
    for (const std::int64_t end : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, last})
      if (!rows) value.integers.push(end);
    inputs.push(value);
  }
  flat<tensor_value> outputs;
  return evaluate(g, inputs, outputs);
}
static_assert(status(y, 6).ok());
static_assert(status(y, 4).fault == evaluation_fault::demand);
static_assert(status(y, 4).at.size() == 1 && status(y, 4).at[0] == 1);
static_assert(status(inside, 4).ok());
static_assert(status(grad(loss, x), 2).fault == evaluation_fault::demand);

}  // namespace
