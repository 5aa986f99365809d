// Pass `tangent`: forward mode in one sweep of ascending ids. The tangent of a node is an expression in the same
// indices:
//   elementwise  the sum over arguments of the row's adjoint with the argument's tangent in the place of the cotangent
//                (the
//                Jacobian of an elementwise op is diagonal, so it is its own transpose);
//   reduction    the sum of the body's tangents, weighted by the monoid's derivative;
//   load         the same load of the tensor's tangent: no deltas arise, unlike in two reverse sweeps.
// Input: a define node, what to differentiate by, and a tensor shaped like that, the direction. Output: a define node
// shaped like the first, or no_node where a definition on the way has a gradient of the user's only. Shown by
// tests/gradient/directional.cpp.
#pragma once
#include <sheaf/dsl/passes/monoid_derivative.hpp>

namespace sheaf::inline v0_1 {

class forward_mode {
 public:
  constexpr forward_mode(graph& g, node_id x, node_id direction, int size) : g_(g), x_(x), direction_(direction) {
    tangent_.resize(size, no_node);
    known_.resize(size, false);
    note_numbers_read(g);
  }

  constexpr node_id operator()(node_id y, name_id name) {
    node_id body = no_node;
    if (y == x_) {
      flat<node_id> indices;
      for (int d = 0; d < tensor_rank(g_, y); ++d) indices.push(g_.arg(y, 1 + d));
      body = load(g_, direction_, indices.data(), indices.size());
    } else {
      refuse_rules(y);
      body = of(g_.arg(y, 0));
    }
    if (body == no_node) body = number_like(g_, y, 0);
    return defined(y, body, name);
  }
  constexpr bool failed() const { return opaque_ != no_node; }
  constexpr node_id opaque() const { return opaque_; }  // a definition whose rule has no forward mode

 private:
  // no_node where it is zero everywhere.
  constexpr node_id of(node_id n) {
    if (n >= known_.size() || n < x_ || !is_floating(g_.type(n))) return no_node;
    if (known_[n]) return tangent_[n];
    const node_id result = computed(n);
    known_[n] = true;
    return tangent_[n] = result;
  }
  constexpr node_id computed(node_id n) {
    const op kind = g_.kind(n);
    if (kind == op::load) return loaded(n);
    if (kind == op::reduce) return reduced(n);
    if (kind == op::log && g_.kind(g_.arg(n, 0)) == op::reduce && monoid_of(g_, g_.arg(n, 0)) == monoid::sum)
      return log_of_sum(n);
    if (kind == op::stop_gradient) return g_[n].count >= 2 ? of(g_.arg(n, 1)) : no_node;
    if (kind == op::cast) {
      const node_id t = of(g_.arg(n, 0));
      return t == no_node ? t : cast_to(g_, g_.type(n), t);
    }
    return is_elementwise(kind) ? elementwise(n) : no_node;
  }

  constexpr node_id elementwise(node_id n) {
    node_id total = no_node;
    const int count = g_[n].count;
    for (int k = 0; k < count; ++k) {
      const node_id t = of(g_.arg(n, k));
      node_id part = t == no_node ? t : applied(n, t, k);
      if (part != no_node && g_.kind(g_.arg(n, k)) == op::reduce && may_be_infinite(g_.kind(n)))
        part = guards::guarded(g_, guards::has_terms(g_, t, g_.kind(n) == op::div), part);
      if (part != no_node) total = total == no_node ? part : make(g_, op::add, total, part);
    }
    return total;
  }

  // By the derivative of n in its argument k: not asked for where the tangent t is zero by its form.
  constexpr node_id applied(node_id n, node_id t, int k) {
    return g_.kind(t) == op::select ? guards::through(g_, n, t, k) : row(g_.kind(n)).adjoint(g_, n, t, k);
  }

  // Of a number that a fold over nothing is worth. There the derivative is 0, as in reverse mode.
  static constexpr bool may_be_infinite(op kind) {
    return kind == op::mul || kind == op::div || kind == op::log || kind == op::sqrt || kind == op::pow;
  }

  // The divisor stays with the terms: where there are none the derivative is 0, as in reverse mode, and not 0 / 0.
  constexpr node_id log_of_sum(node_id n) {
    const node_id sum = g_.arg(n, 0), t = of(g_.arg(sum, 0));
    if (t == no_node) return t;
    return derivative::like(g_, sum, monoid::sum, applied(n, t, 0), truth(g_, true));
  }

  constexpr node_id loaded(node_id n) {
    const node_id tensor = g_.arg(n, 0);
    flat<node_id> subscripts;
    for (int k = 1; k < g_[n].count; ++k) subscripts.push(g_.arg(n, k));
    const node_id to = tensor == x_                    ? direction_
                       : g_.kind(tensor) == op::define ? tangent_of_definition(tensor)
                                                       : no_node;
    return to == no_node ? no_node : load(g_, to, subscripts.data(), subscripts.size());
  }
  constexpr node_id tangent_of_definition(node_id definition) {
    if (definition >= known_.size() || definition < x_) return no_node;
    if (known_[definition]) return tangent_[definition];
    const node_id body = of(g_.arg(definition, 0));
    refuse_rules(definition);
    const text_range own = g_.names[static_cast<int>(g_[definition].attribute)];
    flat<char> text;
    text.push('t');
    text.push('_');
    for (int i = 0; i < own.size; ++i) text.push(g_.text[own.first + i]);
    known_[definition] = true;
    return tangent_[definition] =
               body == no_node ? no_node : defined(definition, body, g_.name(text.data(), text.size()));
  }
  // A definition whose gradient the user gives for something that x reaches.
  constexpr void refuse_rules(node_id definition) {
    const int count = g_.rules.size();
    for (int k = 0; k < count; ++k) {
      const gradient_rule r = g_.rules[k];
      if (r.definition != definition) continue;
      if (r.by == x_ || (g_.kind(r.by) == op::define && tangent_of_definition(r.by) != no_node)) opaque_ = definition;
    }
  }
  constexpr node_id defined(node_id like, node_id body, name_id name) {
    flat<node_id> indices;
    for (int d = 0; d < tensor_rank(g_, like); ++d) indices.push(g_.arg(like, 1 + d));
    return define(g_, name, body, indices.data(), indices.size());
  }

  // The sum over an element's values of their tangents times what a unit of this value's cotangent makes of them.
  constexpr node_id folded(node_id n) {
    const own_monoid_row m = own_row_of(g_, monoid_of(g_, n));
    flat<node_id> cotangents, tangents;
    bool any = false;
    for (int k = 0; k < m.width; ++k) {
      const node_id t = of(folds_tuple(g_, n) ? g_.arg(g_.arg(n, 0), k) : g_.arg(n, 0));
      tangents.push(t);
      cotangents.push(k == m.component ? number_like(g_, n, 1) : no_node);
      any = any || t != no_node;
    }
    if (!any) return no_node;
    const flat<node_id> parts = derivative::of_element(g_, n, cotangents);
    node_id total = no_node;
    for (int k = 0; k < m.width; ++k) {
      if (parts[k] == no_node || tangents[k] == no_node || is_number(g_, parts[k], 0)) continue;  // no part of it
      const node_id part = make(g_, op::mul, tangents[k], parts[k]);
      total = total == no_node ? part : make(g_, op::add, total, part);
    }
    return total == no_node ? total
                            : derivative::like(g_, n, monoid::sum, cast_to(g_, g_.type(n), total), truth(g_, true));
  }

  constexpr node_id reduced(node_id n) {
    if (is_own(monoid_of(g_, n))) return folded(n);
    const node_id t = of(g_.arg(n, 0));
    if (t == no_node) return t;
    node_id part = t;
    switch (monoid_of(g_, n)) {
      case monoid::sum:
        break;
      case monoid::prod:
        part = make(g_, op::mul, t, derivative::product_of_others(g_, n));
        break;
      case monoid::max:
      case monoid::min:
        part = derivative::share_of_ties(g_, n, t);
        break;
      default:
        return no_node;
    }
    return derivative::like(g_, n, monoid::sum, part, truth(g_, true));
  }

  graph& g_;
  node_id x_, direction_, opaque_ = no_node;
  flat<node_id> tangent_;
  flat<bool> known_;
};

}  // namespace sheaf::inline v0_1
