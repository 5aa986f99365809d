// The derivative of a fold of the program's own: from the cotangents of its values those of an element's values.
// Where the monoid has an adjoint, it says so. Else R = P * e * S, with P the fold of what comes before an element and
// S of what comes after, and the chain rule through the combination does: two running folds more, which the planner
// takes as scans where the range allows (in ranges made of data each element walks its slice again). Shown by
// tests/numeric/folds.cpp.
#pragma once
#include <sheaf/dsl/passes/fold_extremum.hpp>
#include <sheaf/dsl/passes/guards.hpp>

namespace sheaf::inline v0_1 {

namespace derivative {

// A combination backward, in its operands: those of both states, then the cotangents of what they become. Of all of its
// values, or of one.
class combination_adjoint {
 public:
  constexpr combination_adjoint(graph& g, monoid first, int only = -1)
      : g_(g), first_(first), width_(own_row_of(g, first).width) {
    flat<node_id> values, adjoint;
    one_sided of(g, width_);
    for (int k = 0; k < width_; ++k) values.push(of(own_row_of(g, sibling(g, first, k)).combine));
    const int size = g.size();
    adjoint.resize(size, no_node);
    for (int k = 0; k < width_; ++k) {
      if (only >= 0 && k != only) continue;
      const element type = own_row_of(g, sibling(g, first, k)).type;
      if (is_floating(type)) add(adjoint[values[k]], g.intern(op::operand, type, 2 * width_ + k, nullptr, 0));
    }
    for (node_id n = size - 1; n >= 0; --n) {
      if (adjoint[n] == no_node) continue;
      if (g.kind(n) == op::operand) {
        while (of_.size() <= g[n].attribute) of_.push(no_node);
        of_[static_cast<int>(g[n].attribute)] = adjoint[n];
        continue;
      }
      if (g.kind(n) == op::stop_gradient) {
        add(adjoint[g.arg(n, 1)], adjoint[n]);
        continue;
      }
      for (int k = 0; k < g[n].count; ++k) {
        const node_id a = g.arg(n, k);
        if (is_floating(g.type(a)) && !is_constant(g, a)) add(adjoint[a], guards::through(g, n, adjoint[n], k));
      }
    }
  }

  // The cotangents of the left state (0) or the right one (1); no_node where a value has none.
  constexpr flat<node_id> operator()(int side, const flat<node_id>& left, const flat<node_id>& right,
                                     const flat<node_id>& cotangents) {
    flat<node_id> operands = left, result;
    for (const node_id v : right) operands.push(v);
    for (int k = 0; k < width_; ++k)
      operands.push(cotangents[k] != no_node ? cotangents[k]
                                             : number(g_, own_row_of(g_, sibling(g_, first_, k)).type, 0));
    const std::int32_t epoch = g_.new_epoch();
    for (int k = side * width_; k < (side + 1) * width_; ++k)
      result.push(k < of_.size() && of_[k] != no_node ? applied_once(g_, of_[k], operands.data(), epoch) : no_node);
    return result;
  }

 private:
  constexpr void add(node_id& to, node_id part) {
    if (part != no_node) to = to == no_node ? part : guards::joined(g_, to, part);
  }

  graph& g_;
  monoid first_;
  int width_;
  flat<node_id> of_;  // by operand
};

// A fold and its element, taken apart.
struct fold_form {
  monoid first = monoid::count_;
  flat<node_id> element;
  node_id condition = no_node;
  flat<node_id> indices;
};

constexpr node_id body_of(graph& g, const flat<node_id>& element) {
  return element.size() == 1 ? element[0] : tuple(g, element);
}
constexpr flat<node_id> folded(graph& g, const fold_form& f, const flat<node_id>& element, node_id condition,
                               const flat<node_id>& over) {
  flat<node_id> values;
  for (int k = 0; k < element.size(); ++k)
    values.push(reduce(g, sibling(g, f.first, k), body_of(g, element), condition, over.data(), over.size()));
  return values;
}

// The fold of what lies before an element of the one index, or after it.
constexpr flat<node_id> folded_beside(graph& g, const fold_form& f, bool after) {
  const node_id idx = f.indices[0], low = g.arg(idx, 0), high = g.arg(idx, 1);
  const reduction mentioned{f.first, body_of(g, f.element), f.condition, f.indices};
  const node_id other = after ? deltas::distinct(g, mentioned, idx, make(g, op::add, idx, integer(g, 1)), high)
                              : deltas::distinct(g, mentioned, idx, low, idx);
  substitution put(g, &idx, &other, 1);
  flat<node_id> element, over;
  for (const node_id v : f.element) element.push(put(v));
  over.push(other);
  return folded(g, f, element, put(f.condition), over);
}

constexpr flat<node_id> through_neighbours(graph& g, const fold_form& f, const flat<node_id>& cotangents) {
  combination_adjoint backward(g, f.first);
  const flat<node_id> before = folded_beside(g, f, false), after = folded_beside(g, f, true);
  if (!keeps_order(g, f.first))
    return backward(1, combined_smoothly(g, f.first, before, after), f.element, cotangents);
  const flat<node_id> until = combined_smoothly(g, f.first, before, f.element);
  return backward(1, before, f.element, backward(0, until, after, cotangents));
}

// Over several indices a fold over the first, which runs outermost, of folds over the others.
constexpr flat<node_id> through_rows(graph& g, const fold_form& f, const flat<node_id>& cotangents) {
  if (f.indices.size() == 1) return through_neighbours(g, f, cotangents);
  int outer = 0;
  const auto depends = [&](int k) {
    for (int j = 0; j < f.indices.size(); ++j)
      if (j != k && g.free[f.indices[k]].has(g.ordinal(f.indices[j]))) return true;
    return false;
  };
  while (outer + 1 < f.indices.size() && depends(outer)) ++outer;
  fold_form rows = f, row = f;
  rows.indices.clear();
  row.indices.clear();
  for (int k = 0; k < f.indices.size(); ++k) (k == outer ? rows : row).indices.push(f.indices[k]);
  rows.element = folded(g, f, f.element, f.condition, row.indices);
  rows.condition = truth(g, true);
  return through_rows(g, row, through_neighbours(g, rows, cotangents));
}

// n: a reduction that yields any value of the state; cotangents: of all of its values, no_node where there is none.
constexpr flat<node_id> of_element(graph& g, node_id n, const flat<node_id>& cotangents) {
  fold_form f;
  f.first = sibling(g, monoid_of(g, n), 0);
  f.condition = g.arg(n, 1);
  for (int k = 2; k < g[n].count; ++k) f.indices.push(g.arg(n, k));
  if (folds_tuple(g, n))
    f.element = values_of(g, g.arg(n, 0));
  else
    f.element.push(g.arg(n, 0));
  const int width = f.element.size();
  if (own_row_of(g, f.first).adjoint == no_node) return through_rows(g, f, cotangents);
  flat<node_id> operands = f.element, result;
  for (const node_id v : folded(g, f, f.element, f.condition, f.indices)) operands.push(v);
  if (width == 1) {
    const node_id slope = applied(g, own_row_of(g, f.first).adjoint, operands.data());
    result.push(make(g, op::mul, cotangents[0], slope));
    return result;
  }
  for (int k = 0; k < width; ++k)
    operands.push(cotangents[k] != no_node ? cotangents[k] : number(g, own_row_of(g, sibling(g, f.first, k)).type, 0));
  const std::int32_t epoch = g.new_epoch();
  for (int k = 0; k < width; ++k)
    result.push(applied_once(g, own_row_of(g, sibling(g, f.first, k)).adjoint, operands.data(), epoch));
  return result;
}

// The other values of n's state over the same elements, by component.
constexpr flat<node_id> siblings(graph& g, node_id n) {
  flat<node_id> list, args;
  for (int k = 0; k < g[n].count; ++k) args.push(g.arg(n, k));
  const monoid kind = monoid_of(g, n);
  for (int k = 0; k < own_row_of(g, kind).width; ++k) {
    const monoid own = sibling(g, kind, k);
    list.push(g.intern(op::reduce, own_row_of(g, own).type, static_cast<std::int64_t>(own), args.data(), args.size()));
  }
  return list;
}

}  // namespace derivative

}  // namespace sheaf::inline v0_1
