// Gradients of one value in one sweep: the nodes that a sweep for each makes, whichever comes first.
#include <sheaf/dsl/passes/differentiate.hpp>

namespace {
using namespace sheaf;

// h = x w, a definition; y = sum over rows of f(h) c: paths that part and meet again.
struct layers {
  graph g;
  node_id x, w, c, h, y, one;
  constexpr explicit layers(bool running) {
    const std::int64_t any[2] = {dynamic, dynamic};
    x = input(g, name("x"), element::f64, 2, any);
    w = input(g, name("w"), element::f64, 2, any);
    c = input(g, name("c"), element::f64, 1, any);
    const node_id b = index(g, name("b"), 0, integer(g, 0), extent(g, x, 0));
    const node_id k = index(g, name("k"), 0, integer(g, 0), extent(g, x, 1));
    const node_id j = index(g, name("j"), 0, integer(g, 0), extent(g, w, 1));
    const node_id s = index(g, name("s"), 0, integer(g, 0), make(g, op::add, j, integer(g, 1)));
    const node_id bk[2] = {b, k}, kj[2] = {k, j}, bj[2] = {b, j}, bs[2] = {b, s};
    const node_id product = make(g, op::mul, load(g, x, bk, 2), load(g, w, kj, 2));
    const node_id sum = reduce(g, monoid::sum, product, truth(g, true), &k, 1);
    h = define(g, name("h"), make(g, op::maximum, make(g, op::add, sum, load(g, c, &j, 1)), number(g, element::f64, 0)),
               bj, 2);
    node_id value = make(g, op::exp, make(g, op::mul, load(g, h, bj, 2), load(g, c, &j, 1)));
    if (running) {
      const node_id power = make(g, op::exp, make(g, op::sub, load(g, h, bs, 2), load(g, c, &j, 1)));
      value = make(g, op::add, value, reduce(g, monoid::sum, power, truth(g, true), &s, 1));
    }
    const node_id all = make(g, op::mul, value, load(g, h, bj, 2));
    y = define(g, name("y"), reduce(g, monoid::sum, all, truth(g, true), bj, 2), nullptr, 0);
    one = number(g, element::f64, 1);
  }
  constexpr name_id name(const char* text) {
    int length = 0;
    while (text[length] != 0) ++length;
    return g.name(text, length);
  }
};

// In every order, a definition among them, and again.
constexpr bool one_sweep_is_many(bool running) {
  const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
  for (const auto& order : orders) {
    layers p(running);
    const node_id by[4] = {p.x, p.w, p.c, p.h};
    reverse_sweeps sweeps;
    for (const int k : order) {
      const char letter = static_cast<char>('p' + k);
      const name_id called = p.g.name(&letter, 1);
      const node_id shared = gradient(p.g, sweeps, p.y, by[k], p.one, called);
      if (shared != gradient(p.g, p.y, by[k], p.one, called)) return false;
      if (shared != gradient(p.g, sweeps, p.y, by[k], p.one, called)) return false;
    }
  }
  return true;
}
static_assert(one_sweep_is_many(false));
static_assert(one_sweep_is_many(true));

// The second gradient makes a few nodes only: those of its own.
constexpr bool the_way_is_walked_once() {
  layers p(false);
  reverse_sweeps sweeps;
  gradient(p.g, sweeps, p.y, p.x, p.one, p.name("p"));
  const reverse_sweep& shared = sweeps.of(p.y, p.one);
  int settled = 0;
  for (const bool one : shared.settled) settled += one;
  gradient(p.g, sweeps, p.y, p.w, p.one, p.name("q"));
  int later = 0;
  for (const bool one : shared.settled) later += one;
  return settled > 5 && later == settled + 1;  // the load of w
}
static_assert(the_way_is_walked_once());
}  // namespace
