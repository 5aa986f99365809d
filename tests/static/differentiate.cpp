// Gradients as numbers and as text: the gather mean of PATTERNS A1 and the one element of A7.
#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>

#include "support/reads.hpp"

namespace {
using namespace sheaf;

struct gather_mean {
  graph g;
  node_id mean, dx;
  flat<tensor_value> inputs;
  constexpr gather_mean() {
    const std::int64_t data[3] = {4, 7, 5}, some[2] = {4, 3};
    const node_id x = input(g, g.name("x", 1), element::f32, 3, data);
    const node_id pick = input(g, g.name("pick", 4), element::i64, 2, some);
    const node_id b = index(g, g.name("b", 1), 0, integer(g, 0), integer(g, 4));
    const node_id k = index(g, g.name("k", 1), 0, integer(g, 0), integer(g, 3));
    const node_id f = index(g, g.name("f", 1), 0, integer(g, 0), integer(g, 5));
    const node_id at[2] = {b, k}, row[2] = {b, f};
    const node_id place[3] = {b, load(g, pick, at, 2), f};
    const node_id sum = reduce(g, monoid::sum, load(g, x, place, 3), truth(g, true), &k, 1);
    mean = define(g, g.name("mean", 4), make(g, op::div, sum, number(g, element::f32, 3)), row, 2);
    const node_id total = reduce(g, monoid::sum, load(g, mean, row, 2), truth(g, true), row, 2);
    const node_id loss = define(g, g.name("loss", 4), total, nullptr, 0);
    dx = gradient(g, loss, x, number(g, element::f32, 1), g.name("dx", 2));
    tensor_value rows{element::f32, {}, {}, {}}, picks{element::i64, {}, {}, {}};
    for (const std::int64_t e : data) rows.extents.push(e);
    for (const std::int64_t e : some) picks.extents.push(e);
    for (int i = 0; i < 140; ++i) rows.reals.push(i);
    const int chosen[12] = {0, 3, 6, 2, 2, 5, 1, 1, 1, 6, 0, 4};
    for (const int c : chosen) picks.integers.push(c);
    inputs.push(rows), inputs.push(picks);
  }
};

constexpr bool a_repeated_index_counts_each_time() {
  gather_mean p;
  const tensor_value y = evaluate(p.g, p.mean, p.inputs).get(), dx = evaluate(p.g, p.dx, p.inputs).get();
  if (y.reals[0] != 15 || y.reals[5] != 35 + 15 || y.reals[10] != 75) return false;
  const auto at = [&](int b, int t) { return dx.reals[(b * 7 + t) * 5]; };
  const auto near = [](double a, double b) { return math::abs(a - b) < 1e-6; };
  return near(at(0, 3), 1 / 3.0) && near(at(1, 2), 2 / 3.0) && near(at(2, 1), 1) && at(0, 1) == 0 && at(3, 5) == 0;
}
static_assert(a_repeated_index_counts_each_time());

constexpr bool gather_reads() {
  gather_mean p;
  return reads(print(p.g, p.mean), "`mean`(b, f) = sum(k, x(b, pick(b, k), f)) / 3") &&
         reads(print(p.g, p.dx), "dx(b, i, f) = sum(k.where(i == pick(b, k)), 0.33333334f32)");
}
static_assert(gather_reads());

// factor * x(2) + sum(x)
constexpr double derivative(double factor, int at) {
  graph g;
  const std::int64_t four[1] = {4};
  const node_id x = input(g, g.name("x", 1), element::f64, 1, four);
  const node_id i = index(g, g.name("i", 1), 0, integer(g, 0), integer(g, 4)), two = integer(g, 2);
  const node_id sum = reduce(g, monoid::sum, load(g, x, &i, 1), truth(g, true), &i, 1);
  const node_id one = make(g, op::mul, number(g, element::f64, factor), load(g, x, &two, 1));
  const node_id y = define(g, g.name("y", 1), make(g, op::add, one, sum), nullptr, 0);
  const node_id dx = gradient(g, y, x, number(g, element::f64, 1), g.name("dx", 2));
  flat<tensor_value> inputs;
  tensor_value v{element::f64, {}, {}, {}};
  v.extents.push(4);
  v.reals.resize(4, 0.5);
  inputs.push(v);
  return evaluate(g, dx, inputs).get().reals[at];
}
static_assert(derivative(2, 0) == 1 && derivative(2, 2) == 3 && derivative(3, 2) == 4 && derivative(3, 3) == 1);
}  // namespace
