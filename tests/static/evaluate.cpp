// The slice mean of PATTERNS A4 and its gradient, evaluated while this file compiles.
#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>

#include "support/reads.hpp"

namespace {
using namespace sheaf;

struct slice_mean {
  graph g;
  node_id x, cut, pooled, loss, dx;
  flat<tensor_value> inputs;

  constexpr slice_mean() {
    const std::int64_t any[2] = {dynamic, dynamic};
    x = input(g, g.name("x", 1), element::f32, 2, any);
    cut = input(g, g.name("cut", 3), element::i64, 2, any);
    const node_id m = index(g, g.name("m", 1), 0, integer(g, 0), extent(g, cut, 0));
    const node_id f = index(g, g.name("f", 1), 0, integer(g, 0), extent(g, x, 1));
    const node_id low[2] = {m, integer(g, 0)}, high[2] = {m, integer(g, 1)};
    const node_id begin = load(g, cut, low, 2), end = load(g, cut, high, 2);
    const node_id t = index(g, g.name("t", 1), 0, begin, end);
    const node_id at[2] = {t, f}, row[2] = {m, f};
    const node_id sum = reduce(g, monoid::sum, load(g, x, at, 2), truth(g, true), &t, 1);
    const node_id mean = make(g, op::div, sum, cast_to(g, element::f32, make(g, op::sub, end, begin)));
    pooled = define(g, g.name("pooled", 6), mean, row, 2);
    const node_id total = reduce(g, monoid::sum, load(g, pooled, row, 2), truth(g, true), row, 2);
    loss = define(g, g.name("loss", 4), total, nullptr, 0);
    dx = gradient(g, loss, x, number(g, element::f32, 1), g.name("dx", 2));
    fill();
  }
  constexpr void fill() {
    tensor_value rows{element::f32, {}, {}, {}}, bounds{element::i64, {}, {}, {}};
    rows.extents.push(10), rows.extents.push(4);
    for (int i = 0; i < 40; ++i) rows.reals.push(i);
    bounds.extents.push(4), bounds.extents.push(2);
    const int list[8] = {3, 5, 1, 8, 4, 8, 6, 9};
    for (const int b : list) bounds.integers.push(b);
    inputs.push(rows), inputs.push(bounds);
  }
};

constexpr bool forward_is_known() {
  slice_mean p;
  const tensor_value y = evaluate(p.g, p.pooled, p.inputs).get();
  const double first[4] = {14, 16, 22, 28};
  for (int i = 0; i < 16; ++i)
    if (y.reals[i] != first[i / 4] + i % 4) return false;
  return y.extents.size() == 2 && y.reals.size() == 16;
}
static_assert(forward_is_known());

constexpr bool gradient_is_known() {
  slice_mean p;
  const tensor_value dx = evaluate(p.g, p.dx, p.inputs).get();
  for (int f = 0; f < 4; ++f) {
    if (dx.reals[f] != 0 || dx.reals[36 + f] != 0) return false;
    if (math::abs(dx.reals[16 + f] - (1 / 2.0 + 1 / 7.0 + 1 / 4.0)) > 1e-15) return false;
  }
  return dx.reals.size() == 40;
}
static_assert(gradient_is_known());

constexpr bool texts_are_known() {
  slice_mean p;
  return reads(print(p.g, p.pooled),
               "pooled(m, f) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, f)) / cast<f32>(cut(m, 1) - cut(m, 0))") &&
         reads(print(p.g, p.dx),
               "dx(t, f) = sum(m.where(cut(m, 0) <= t && t < cut(m, 1)), 1 / cast<f32>(cut(m, 1) - cut(m, 0)))");
}
static_assert(texts_are_known());

constexpr evaluation_status out_of_range() {
  slice_mean p;
  p.inputs[1].integers[7] = 11;
  return evaluate(p.g, p.pooled, p.inputs).status;
}
static_assert(out_of_range().fault == evaluation_fault::subscript);
static_assert(out_of_range().dimension == 0 && out_of_range().subscript == 10 && out_of_range().extent == 10);

}  // namespace
