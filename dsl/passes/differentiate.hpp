// Pass `differentiate`: reverse mode over the whole graph in one sweep of descending ids, which the gradients of one
// value share (sweep.hpp).
// The adjoint of a node n is an expression in the indices n depends on: the derivative of the scalar y with respect to
// n as a function of them. Three rules give all of it:
//   elementwise  a parent's adjoint times the derivative, summed over the indices the parent has and the argument
//                lacks;
//   reduction    the adjoint as it is (times a mask or the monoid's derivative), now also in the bound indices;
//   load         dx[j...] += sum over the load's indices of adjoint * delta(j, subscript) ..., left to pass `reduce`,
//                which resolves the deltas.
// Input: a define node of rank 0 (or a cotangent for it), and what to differentiate by. Output: a define node shaped
// like that. Shown by tests/static/differentiate.cpp and tests/gradient.
#pragma once
#include <sheaf/dsl/passes/keyed_adjoint.hpp>
#include <sheaf/dsl/passes/monoid_derivative.hpp>
#include <sheaf/dsl/passes/rule_of_gradient.hpp>
#include <sheaf/dsl/passes/running_states.hpp>
#include <sheaf/dsl/passes/sum_of_terms.hpp>
#include <sheaf/dsl/passes/sweep.hpp>
#include <sheaf/dsl/passes/unique_names.hpp>

namespace sheaf::inline v0_1 {

class differentiation {
 public:
  // x may be newer than y, which does not depend on it then
  constexpr differentiation(graph& g, reverse_sweep& shared, node_id x)
      : g_(g), shared_(shared), y_(shared.y), x_(x), marks_(g, shared, x) {
    output_indices();
  }

  constexpr node_id operator()(name_id name) {
    if (y_ == x_) {
      own_ = renamed_output(shared_.seed);
    } else {
      if (g_.rule_of(y_) >= 0) apply_rules(y_, shared_.seed);
      else accumulate(g_.arg(y_, 0), shared_.seed, {});
      for (node_id n = y_ - 1; n > x_; --n) {
        if (!marks_.is_giving(n)) continue;
        if (shared_.adjoint[n] != no_node) visit(n, shared_.adjoint[n]);
        if (n >= at_place_.size() || at_place_[n].part == no_node) continue;
        place_ = at_place_[n].place;
        visit(n, at_place_[n].part);
        place_ = no_node;
      }
      for (node_id n = x_ + 1; n < y_ && !shared_.alone; ++n)
        if (marks_.is_waiting(n)) shared_.settled[n] = true;
    }
    const node_id body = own_ == no_node ? number_like(g_, x_, 0) : own_;
    return define(g_, name, body, outputs_.data(), outputs_.size());
  }

 private:
  // The gradient's own indices: those x is defined by or mostly subscripted with, else ones named after x.
  constexpr void output_indices() {
    for (int d = 0; d < tensor_rank(g_, x_); ++d) {
      node_id idx = g_.kind(x_) == op::define ? g_.arg(x_, 1 + d) : no_node;
      for (node_id n = x_; n <= y_ && idx == no_node; ++n) {
        if (g_.kind(n) != op::load || g_.arg(n, 0) != x_) continue;
        const node_id e = g_.arg(n, 1 + d);
        const bool whole = g_.kind(e) == op::index && !is_unbound(g_, e) && is_number(g_, g_.arg(e, 0), 0) &&
                           known_equal(g_, g_.arg(e, 1), extent(g_, x_, d));
        if (whole && !outputs_.contains(e)) idx = e;
      }
      if (idx == no_node) idx = named_output(d);
      outputs_.push(idx);
    }
  }
  // After an index that subscripts x there, over a part or whatever; else a letter.
  constexpr node_id named_output(int d) {
    name_id name = no_node;
    for (node_id n = x_; n <= y_ && name == no_node; ++n) {
      if (g_.kind(n) != op::load || g_.arg(n, 0) != x_ || g_.kind(g_.arg(n, 1 + d)) != op::index) continue;
      name = index_name(g_, g_.arg(n, 1 + d));
    }
    if (name == no_node) name = unused_letter(g_);
    for (int serial = 0;; ++serial) {
      const node_id idx = index(g_, name, serial, integer(g_, 0), extent(g_, x_, d));
      bool taken = false;
      for (const node_id other : outputs_) taken = taken || g_[other].attribute == g_[idx].attribute;
      if (!taken) return idx;
    }
  }
  constexpr node_id renamed_output(node_id seed) {
    for (int d = 0; d < outputs_.size(); ++d) seed = substitute(g_, seed, g_.arg(y_, 1 + d), outputs_[d]);
    return seed;
  }

  constexpr void visit(node_id n, node_id dy) {
    switch (g_.kind(n)) {
      case op::define:
        if (g_.rule_of(n) >= 0) apply_rules(n, dy);
        else if (marks_.is_waiting(g_.arg(n, 0)))
          accumulate(g_.arg(n, 0), named(n, dy), own_indices(n));
        break;
      case op::load: visit_load(n, dy); break;
      case op::reduce: visit_reduce(n, dy); break;
      case op::stop_gradient:
        if (g_[n].count >= 2) accumulate(g_.arg(n, 1), dy, g_.free.items[n]);
        break;
      case op::input: break;
      default:
        for (int k = 0; k < g_[n].count; ++k) {
          if (!marks_.is_waiting(g_.arg(n, k))) continue;
          const node_id part = guards::through(g_, n, dy, k);
          accumulate(g_.arg(n, k), part, g_.free.items[n]);  // after the graph has grown
        }
    }
  }

  // Its cotangent reaches the body once for each of its elements, also where neither of them depends on an index.
  constexpr index_set own_indices(node_id definition) const {
    index_set set;
    for (int k = 1; k < g_[definition].count; ++k) set.insert(g_.ordinal(g_.arg(definition, k)));
    return set;
  }
  // An adjoint that holds a reduction becomes a definition of its own, so that it is computed once.
  constexpr node_id named(node_id definition, node_id dy) {
    if (!holds_reduction(g_, dy)) return dy;
    const node_id d = cotangent_of(definition, dy);
    flat<node_id> idx;
    for (int k = 0; k < tensor_rank(g_, definition); ++k) idx.push(g_.arg(definition, 1 + k));
    return load(g_, d, idx.data(), idx.size());
  }
  constexpr node_id cotangent_of(node_id definition, node_id dy) {
    const text_range own = g_.names[static_cast<int>(g_[definition].attribute)];
    flat<char> text;
    text.push('d');
    text.push('_');
    for (int i = 0; i < own.size; ++i) text.push(g_.text[own.first + i]);
    const int rank = tensor_rank(g_, definition);
    flat<node_id> idx;
    for (int d = 0; d < rank; ++d) idx.push(g_.arg(definition, 1 + d));
    return define(g_, g_.name(text.data(), text.size()), dy, idx.data(), rank);
  }
  // What the user's rules make of a definition's cotangent.
  constexpr void apply_rules(node_id definition, node_id dy) {
    shared_.alone = true;
    const node_id cotangent = cotangent_of(definition, dy);
    const int count = g_.rules.size();
    for (int k = 0; k < count; ++k) {
      const gradient_rule r = g_.rules[k];
      if (r.definition != definition || !marks_.is_waiting(r.by)) continue;
      flat<node_id> own;
      for (int d = 0; d < tensor_rank(g_, r.by); ++d) own.push(r.by == x_ ? outputs_[d] : g_.arg(r.by, 1 + d));
      const node_id part = inlined(g_, rule_application(g_, r, cotangent, dy)(r.contribution), own.data());
      add(r.by, part);
    }
  }

  // Adds a contribution, summed over every index it has beyond those of n.
  constexpr void accumulate(node_id n, node_id part, index_set context) {
    if (part == no_node || !marks_.is_waiting(n) || is_number(g_, part, 0)) return;
    context |= g_.free.items[part];
    const index_set over = context.without(g_.free.items[n]);
    if (place_ != no_node) {
      if (at_place_.empty()) at_place_.resize(y_ + 1, {});
      const bool stays = over.empty() && (is_elementwise(g_.kind(n)) || g_.kind(n) == op::load);
      if (stays && (at_place_[n].part == no_node || at_place_[n].place == place_)) {
        const node_id known = at_place_[n].part;
        at_place_[n] = {place_, known == no_node ? part : guards::joined(g_, known, part)};
        return;
      }
      part = make(g_, op::select, place_, part, number_like(g_, part, 0));
    }
    part = summed(part, over);
    // n was computed for each term: where there is none it was not, and its derivative may be infinite there.
    const bool multiplied = is_elementwise(g_.kind(n)) || g_.kind(n) == op::reduce;
    add(n, over.empty() || !multiplied ? part : guards::guarded(g_, guards::has_terms(g_, part), part));
  }

  // What only x gets is not multiplied on: its terms stay as they come.
  constexpr void add(node_id n, node_id part) {
    if (n == x_) {
      own_ = own_ == no_node ? part : make(g_, op::add, own_, part);
      return;
    }
    node_id& known = shared_.adjoint[n];
    known = known == no_node ? part : guards::joined(g_, known, part);
  }

  constexpr node_id summed(node_id part, const index_set& over) {
    flat<node_id> indices;
    for (int o = 0; o < g_.indices.size(); ++o)
      if (over.has(o)) indices.push(g_.indices.items[o]);
    if (indices.empty()) return part;
    node_id sum = no_node;
    const flat<guards::term> list = guards::summands(g_, part, over);
    for (guards::term t : list) {
      keyed_adjoint{g_}(t.where, t.value);
      const node_id one = sum_of_terms(g_, t.value, t.where, indices);
      sum = sum == no_node ? one : guards::joined(g_, sum, one);
    }
    return sum;
  }

  constexpr void visit_load(node_id n, node_id dy) {
    const node_id tensor = g_.arg(n, 0);
    if (!marks_.is_waiting(tensor)) return;
    flat<node_id> own;
    if (tensor == x_) {
      own = outputs_;
    } else {
      for (int d = 0; d < tensor_rank(g_, tensor); ++d) own.push(g_.arg(tensor, 1 + d));
    }
    if (place_ != no_node) dy = make(g_, op::select, place_, dy, number_like(g_, dy, 0));
    index_set over = g_.free.items[n];
    over |= g_.free.items[dy];
    for (int d = 0; d < own.size(); ++d)
      if (g_.arg(n, 1 + d) == own[d]) over.erase(g_.ordinal(own[d]));
    const flat<guards::term> list = guards::summands(g_, dy, over);
    for (guards::term t : list) {
      keyed_adjoint{g_}(t.where, t.value);
      const node_id part = delta_sum(n, guards::guarded(g_, t.where, t.value), own);
      if (!is_number(g_, part, 0)) add(tensor, part);
    }
  }

  // sum over the load's indices of dy * delta(own[0], subscript 0) * ...
  constexpr node_id delta_sum(node_id n, node_id dy, const flat<node_id>& own) {
    index_set bound = g_.free.items[n];
    bound |= g_.free.items[dy];
    flat<node_id> subscripts;
    for (int d = 0; d < own.size(); ++d) {
      node_id e = g_.arg(n, 1 + d);
      if (e == own[d]) bound.erase(g_.ordinal(e));  // delta(i, i): nothing to sum
      subscripts.push(e);
    }
    // An output index that is also summed over needs another name inside.
    for (int d = 0; d < own.size(); ++d) {
      const int o = g_.ordinal(own[d]);
      if (!bound.has(o)) continue;
      const node_id other = fresh_like(own[d], bound);
      dy = substitute(g_, dy, own[d], other);
      for (int k = 0; k < subscripts.size(); ++k)
        if (k == d || subscripts[k] != own[k]) subscripts[k] = substitute(g_, subscripts[k], own[d], other);
      bound = rebound(bound, own[d], other);
    }
    // A subscript or range was computed only where the load was: that is where its adjoint may differ from zero.
    bool fails = false;
    for (const node_id e : subscripts) fails = fails || may_fail(g_, e);
    for (int o = 0; o < g_.indices.size(); ++o)
      fails = fails || (bound.has(o) && deltas::range_may_fail(g_, g_.indices.items[o]));
    node_id condition = fails ? guards::support(g_, dy) : truth(g_, true);
    for (int d = 0; d < own.size(); ++d)
      condition = conjunction(g_, condition, make(g_, op::equal, own[d], subscripts[d]));
    flat<node_id> indices;
    for (int o = 0; o < g_.indices.size(); ++o)
      if (bound.has(o)) indices.push(g_.indices.items[o]);
    if (indices.empty()) return make(g_, op::select, condition, dy, number_like(g_, dy, 0));
    return sum_of_terms(g_, dy, condition, indices);
  }
  constexpr node_id fresh_like(node_id idx, const index_set& taken) {
    for (int serial = index_serial(g_, idx) + 1;; ++serial) {
      const node_id fresh = index(g_, index_name(g_, idx), serial, g_.arg(idx, 0), g_.arg(idx, 1));
      if (!taken.has(g_.ordinal(fresh)) && !outputs_.contains(fresh)) return fresh;
    }
  }
  // Replaces an index in a set, and in the ranges of the others.
  constexpr index_set rebound(const index_set& bound, node_id from, node_id to) {
    index_set changed;
    const int count = g_.indices.size();
    for (int o = 0; o < count; ++o)
      if (bound.has(o)) changed.insert(g_.ordinal(substitute(g_, g_.indices.items[o], from, to)));
    return changed;
  }

  constexpr void visit_reduce(node_id n, node_id dy) {
    const node_id body = g_.arg(n, 0);
    if (!marks_.is_waiting(body)) return;
    if (is_own(monoid_of(g_, n))) return visit_fold(n);
    if (visit_running(n, dy)) return;
    const monoid kind = monoid_of(g_, n);
    if (kind != monoid::sum && kind != monoid::prod && kind != monoid::max && kind != monoid::min) return;
    const node_id part = guards::through_reduction(g_, n, dy, [&](node_id d) {
      return kind == monoid::sum    ? d
             : kind == monoid::prod ? make(g_, op::mul, d, derivative::product_of_others(g_, n))
                                    : derivative::share_of_ties(g_, n, d);
    });
    index_set context = g_.free.items[body];
    for (int k = 2; k < g_[n].count; ++k) context.insert(g_.ordinal(g_.arg(n, k)));
    accumulate(body, part, context);
  }

  // A running fold: what the later results give to an element comes to it where it is met first, so no place asks them
  // all.
  constexpr bool visit_running(node_id n, node_id dy) {
    const monoid kind = monoid_of(g_, n);
    const bool chains = derivative::is_chain(g_, kind), folds = is_own(kind) && own_row_of(g_, kind).width == 1;
    const bool extremum = kind == monoid::max || kind == monoid::min;
    const node_id body = g_.arg(n, 0);
    const power terms = power_of(g_, body);
    const bool may_be_powers = kind == monoid::sum && terms.value != no_node;
    const bool powers = may_be_powers && !marks_.depends(terms.centre);
    if (!chains && !folds && !extremum && !may_be_powers && kind != monoid::prod) return false;
    const node_id keyed = may_be_powers ? terms.value : body;
    const derivative::running r = derivative::running_of(g_, n, keyed, g_.free[dy]);
    if (r.over == no_node) return false;
    shared_.alone = true;  // for by another x a power may be none
    if (may_be_powers && !powers) return false;
    // With their own place, the planner knows the adjoints of extrema and exponentials as recurrences of fewer arrays.
    const bool own_place = r.shift == (r.backward ? 0 : 1);
    if (own_place && (extremum || powers)) return false;
    // Elements are asked for that a later result met, which was computed only where its cotangent says.
    const bool fails = !chains && !derivative::known_inside(g_, substitute(g_, keyed, r.bound, r.place));
    if (fails && !is_true(g_, guards::support(g_, dy))) return false;
    derivative::running_adjoint of(g_, n, r);
    flat<node_id> parts;
    if (chains)
      parts = of.of_chain(dy);
    else
      parts.push(powers     ? of.of_exponentials(dy)
                 : extremum ? of.of_extremum(dy)
                 : folds    ? of.of_fold(dy)
                            : of.of_product(dy));
    give_at(of.meets(), r, keyed, parts);
    return true;
  }
  // The same of a fold of tuples, for the cotangents of all of its values.
  constexpr bool visit_states(node_id n, const flat<node_id>& cotangents, node_id any) {
    const derivative::running r = derivative::running_of_states(g_, n, any);
    if (r.over == no_node) return false;
    const node_id body = g_.arg(n, 0);
    flat<bool> waits;
    for (int k = 0; k < g_[body].count; ++k) waits.push(marks_.is_waiting(g_.arg(body, k)));
    derivative::running_states of(g_, n, r, cotangents, waits);
    if (of.too_many_together()) return false;
    give_at(of.meets(), r, body, of());
    return true;
  }
  constexpr void give_at(node_id place, const derivative::running& r, node_id element, const flat<node_id>& parts) {
    place_ = place;
    for (int k = 0; k < parts.size(); ++k) {
      const node_id value = g_.kind(element) == op::tuple ? g_.arg(element, k) : element;
      index_set context = g_.free.items[value];
      context.insert(g_.ordinal(r.bound));
      accumulate(value, parts[k], context);
    }
    place_ = no_node;
  }

  // All values of one state at once, at the first of their nodes: what reads any of them has been visited by then.
  constexpr void visit_fold(node_id n) {
    shared_.alone = true;
    const flat<node_id> list = derivative::siblings(g_, n);
    flat<node_id> cotangents;
    node_id any = no_node;
    for (const node_id s : list) {
      if (s < n) {
        if (shared_.adjoint[s] == no_node) shared_.adjoint[s] = number_like(g_, s, 0);
        return;
      }
      const node_id dy = s <= y_ && is_floating(g_.type(s)) ? shared_.adjoint[s] : no_node;
      cotangents.push(dy);
      if (dy != no_node) any = any == no_node ? dy : guards::joined(g_, any, dy);
    }
    if (any == no_node) return;
    const bool one = cotangents.size() == 1 || (derivative::is_chain(g_, monoid_of(g_, n)) && cotangents[0] == no_node);
    if (one && visit_running(list[list.size() - 1], cotangents[cotangents.size() - 1])) return;
    if (visit_states(n, cotangents, any)) return;
    const flat<node_id> parts = derivative::of_element(g_, n, cotangents);
    const node_id where = guards::anywhere(g_, any);
    index_set bound;
    for (int k = 2; k < g_[n].count; ++k) bound.insert(g_.ordinal(g_.arg(n, k)));
    for (int k = 0; k < parts.size(); ++k) {
      const node_id value = parts.size() == 1 ? g_.arg(n, 0) : g_.arg(g_.arg(n, 0), k);
      if (parts[k] == no_node || !is_floating(g_.type(value))) continue;
      const node_id part = guards::of_element(g_, n, where, any, parts[k]);
      index_set context = g_.free.items[value];
      context |= bound;
      accumulate(value, part, context);
    }
  }

  graph& g_;
  reverse_sweep& shared_;
  node_id y_, x_;
  sweep_marks marks_;
  node_id own_ = no_node;  // the adjoint of x
  // What a node gets where a condition holds that fixes one of its indices: it is multiplied on without being asked,
  // so that the sum over that index is never made.
  struct placed {
    node_id place = no_node, part = no_node;
  };
  flat<placed> at_place_;
  node_id place_ = no_node;  // of the part that is visited
  flat<node_id> outputs_;
};

// seed: the cotangent of y's body, in y's indices. Gradients of one value are cheaper with the same `sweeps`.
constexpr node_id gradient(graph& g, reverse_sweeps& sweeps, node_id y, node_id x, node_id seed, name_id name) {
  note_numbers_read(g);
  return differentiation(g, sweeps.of(y, seed), x)(name);
}
constexpr node_id gradient(graph& g, node_id y, node_id x, node_id seed, name_id name) {
  reverse_sweeps sweeps;
  return gradient(g, sweeps, y, x, seed, name);
}

}  // namespace sheaf::inline v0_1
