// Of pass `build`: the rows of the program's own monoids, and the types of values that stand beside each other.
// Shown by tests/numeric/folds.cpp and the fold_* programs of tests/reject.
#pragma once
#include <sheaf/dsl/surface/resolve.hpp>

namespace sheaf::inline v0_1 {

class rows_of_monoids : public resolver {
 public:
  // A monoid of the program, by the rows of its values.
  constexpr monoid own(const own_monoid_row* rows, int width) {
    for (int k = 0; k < width; ++k)
      for (const node_id e : {rows[k].combine, rows[k].adjoint})
        if (e != no_node && !is_combination(e))
          fail() << "fold " << text(rows[k].name)
                 << ": its expressions take their two arguments and numbers, nothing else";
    for (int first = 0; first + width <= g.monoids.size(); ++first) {
      bool same = true;
      for (int k = 0; same && k < width; ++k) {
        const own_monoid_row &m = rows[k], &other = g.monoids[first + k];
        same = other.combine == m.combine && other.identity == m.identity && other.adjoint == m.adjoint &&
               other.component == k && other.width == width && other.in_order == m.in_order;
      }
      if (same) return own_kind(first);
    }
    const int first = g.monoids.size();
    for (int k = 0; k < width; ++k) g.monoids.push(rows[k]);
    return own_kind(first);
  }
  // Values beside each other: literals take the type of the others.
  constexpr flat<node_id> adopted(const built* parts, int count) {
    bool any_strong = false;
    element strong = element::boolean;
    for (int k = 0; k < count; ++k)
      if (!parts[k].weak) {
        strong = any_strong ? promote(strong, g.type(parts[k].id)) : g.type(parts[k].id);
        any_strong = true;
      }
    flat<node_id> list;
    for (int k = 0; k < count; ++k) list.push(parts[k].weak && any_strong ? adopt(parts[k].id, strong) : parts[k].id);
    return list;
  }

 protected:
  constexpr node_id adopt(node_id literal, element type) {
    const bool fraction = is_floating(g.type(literal));
    if (fraction && !is_floating(type)) return cast_to(g, element::f32, literal);
    if (type == element::boolean) return literal;
    return cast_to(g, type, literal);
  }

 private:
  constexpr bool is_combination(node_id e) const {
    bool good = g.kind(e) == op::operand || is_constant(g, e) || is_elementwise(g.kind(e));
    for (int k = 0; k < g[e].count; ++k) good = good && is_combination(g.arg(e, k));
    return good;
  }
};

}  // namespace sheaf::inline v0_1
