// The text of a definition or of a whole program, in the language's own notation, with as few parentheses as keep the tree:
//   input x: f32[?, 4]
//   axis t: extent(x, 0)
//   y(m, f) = sum(t.in(cut(m, 0), cut(m, 1)).where(x(t, f) > 0), x(t, f)) / v1
//     where v1 = ...
// An axis, [0, extent), is printed as its name alone; other ranges stand where the index is bound. A number without a type
// has the type of the operand beside it, else i64, or f32 where it has a point; otherwise the type follows: 0.5f64. Indices
// of one name in one definition are told apart by primes. What is used more than once and holds a reduction (or is
// large) is a where-line; its parameters are the indices that reductions bind.
// Output: text without a final newline. Shown by tests/static/differentiate.cpp.
#pragma once
#include <sheaf/dsl/graph/decimal.hpp>
#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1 {

class printer {
 public:
  constexpr explicit printer(const graph& g) : g_(g) {
    reached_.resize(g.size(), 0);
    uses_.resize(g.size(), 0);
    weight_.resize(g.size(), 0);
    named_.resize(g.size(), 0);
    bound_.resize(g.indices.size(), false);
    primes_.resize(g.indices.size(), -1);
    find_axes();
  }

  constexpr flat<char> program() {
    flat<bool> needed;
    needed.resize(g_.size(), false);
    for (const node_id output : g_.outputs) need(output, needed);
    for (node_id n = 0; n < g_.size(); ++n)
      if (needed[n] && g_.kind(n) == op::input) input_line(n);
    for (const node_id idx : g_.indices)
      if (needed[idx] && is_axis(idx)) axis_line(idx);
    for (node_id n = 0; n < g_.size(); ++n)
      if (needed[n] && g_.kind(n) == op::define) definition(n);
    return out_;
  }

  constexpr flat<char> one(node_id n) {
    if (g_.kind(n) == op::define) {
      definition(n);
    } else {
      prepare(n);
      expression(n, 0, no_node);
      where_lines(n);
    }
    return out_;
  }

 private:
  // ---- names

  // An index that is printed by its name alone: from 0 to the extent of what it subscripts, or an index of a definition,
  // and the first of its name.
  constexpr void find_axes() {
    flat<bool> direct;
    direct.resize(g_.size(), false);
    for (node_id n = 0; n < g_.size(); ++n) {
      if (g_.kind(n) == op::define)
        for (int k = 1; k < g_[n].count; ++k) direct[g_.arg(n, k)] = true;
      if (g_.kind(n) != op::load || g_.kind(g_.arg(n, 0)) != op::input) continue;
      const input_row& input = g_.inputs[static_cast<int>(g_[g_.arg(n, 0)].attribute)];
      for (int k = 1; k < g_[n].count; ++k) {
        const node_id e = g_.arg(n, k);
        if (g_.kind(e) != op::index || is_unbound(g_, e)) continue;
        direct[e] = direct[e] || is_number(g_, g_.arg(e, 1), static_cast<double>(g_.static_extents[input.first_extent + k - 1]));
      }
    }
    for (const node_id idx : g_.indices) {
      if (is_unbound(g_, idx) || !is_number(g_, g_.arg(idx, 0), 0)) continue;
      const node_id high = g_.arg(idx, 1);
      bool axis = g_.kind(high) == op::extent || (is_constant(g_, high) && direct[idx]);
      for (const node_id other : axes_) axis = axis && g_[other].attribute != g_[idx].attribute;
      if (axis) axes_.push(idx);
    }
  }
  constexpr bool is_axis(node_id idx) const { return axes_.contains(idx); }

  constexpr void name(name_id id) {
    for (int i = 0; i < g_.names[id].size; ++i) out_.push(g_.text[g_.names[id].first + i]);
  }

  constexpr void tensor_name(node_id tensor) {
    const bool defined = g_.kind(tensor) == op::define;
    const name_id id = defined ? static_cast<name_id>(g_[tensor].attribute) : g_.inputs[static_cast<int>(g_[tensor].attribute)].name;
    name(id);
    int before = 0;  // tensors of the same name that stand before this one
    for (node_id n = 0; defined && n < tensor; ++n) {
      before += g_.kind(n) == op::define && g_[n].attribute == g_[tensor].attribute;
      before += g_.kind(n) == op::input && g_.inputs[static_cast<int>(g_[n].attribute)].name == id;
    }
    if (before == 0) return;
    out_.push('\'');
    append_integer(out_, before + 1);
  }

  constexpr void index_name_of(node_id idx) {
    const int o = g_.ordinal(idx);
    if (primes_[o] < 0) primes_[o] = free_primes(idx);
    name(index_name(g_, idx));
    if (primes_[o] > 3) {
      out_.push('\'');
      append_integer(out_, primes_[o]);
    } else {
      for (int i = 0; i < primes_[o]; ++i) out_.push('\'');
    }
  }
  constexpr int free_primes(node_id idx) const {
    for (int p = index_serial(g_, idx);; ++p) {
      bool taken = false;
      for (int o = 0; o < g_.indices.size(); ++o)
        taken = taken || (primes_[o] == p && index_name(g_, g_.indices[o]) == index_name(g_, idx));
      if (!taken) return p;
    }
  }

  // ---- lines

  constexpr void need(node_id n, flat<bool>& needed) const {
    if (needed[n]) return;
    needed[n] = true;
    for (int k = 0; k < g_[n].count; ++k) need(g_.arg(n, k), needed);
  }

  constexpr void start_line() {
    if (!out_.empty()) out_.push('\n');
  }

  constexpr void input_line(node_id n) {
    const input_row& input = g_.inputs[static_cast<int>(g_[n].attribute)];
    start_line();
    append(out_, "input ");
    name(input.name);
    append(out_, ": ");
    append(out_, row(input.type).name);
    for (int d = 0; d < input.rank; ++d) {
      append(out_, d == 0 ? "[" : ", ");
      const std::int64_t extent = g_.static_extents[input.first_extent + d];
      if (extent == dynamic) out_.push('?');
      else append_integer(out_, extent);
    }
    if (input.rank > 0) out_.push(']');
  }

  constexpr void axis_line(node_id idx) {
    start_line();
    append(out_, "axis ");
    for (int o = 0; o < primes_.size(); ++o) primes_[o] = -1;
    index_name_of(idx);
    append(out_, ": ");
    expression(g_.arg(idx, 1), 0, no_node);
  }

  constexpr void definition(node_id n) {
    start_line();
    prepare(n);
    tensor_name(n);
    for (int d = 0; d < tensor_rank(g_, n); ++d) {
      append(out_, d == 0 ? "(" : ", ");
      binding(g_.arg(n, 1 + d));
    }
    append(out_, tensor_rank(g_, n) > 0 ? ") = " : " = ");
    expression(g_.arg(n, 0), 0, no_node);
    where_lines(n);
  }

  // Counts uses within one definition and decides which nodes get a name of their own.
  constexpr void prepare(node_id root) {
    for (int o = 0; o < primes_.size(); ++o) {
      primes_[o] = -1;
      bound_[o] = false;
    }
    lets_.clear();
    ++round_;
    uses_[root] = 0;
    count(root);
    if (g_.kind(root) == op::define)
      for (int k = 1; k < g_[root].count; ++k) index_primes_first(g_.arg(root, k));
  }
  constexpr void index_primes_first(node_id idx) { primes_[g_.ordinal(idx)] = free_primes(idx); }

  constexpr void count(node_id n) {
    if (reached_[n] == round_) {
      ++uses_[n];
      return;
    }
    reached_[n] = round_;
    uses_[n] = 1;
    named_[n] = 0;
    weight_[n] = g_.kind(n) == op::reduce ? heavy : 1;
    if (g_.kind(n) == op::input || (g_.kind(n) == op::index && is_axis(n))) return;
    for (int k = g_.kind(n) == op::load || g_.kind(n) == op::extent ? 1 : 0; k < g_[n].count; ++k) {
      const node_id a = g_.arg(n, k);
      count(a);
      weight_[n] += weight_[a] < heavy ? weight_[a] : heavy;
      if (g_.kind(n) == op::reduce && k >= 2) bound_[g_.ordinal(a)] = true;
    }
  }

  constexpr bool has_line(node_id n) const {
    const op kind = g_.kind(n);
    return uses_[n] > 1 && weight_[n] >= heavy && (is_elementwise(kind) || kind == op::reduce || kind == op::stop_gradient);
  }

  constexpr void where_lines(node_id root) {
    for (int i = 0; i < lets_.size(); ++i) {  // printing a line may add more
      append(out_, "\n  where ");
      local(lets_[i]);
      append(out_, " = ");
      const node_id n = lets_[i];
      if (n != root) plain(n, 0);
    }
  }

  constexpr void local(node_id n) {
    if (named_[n] == 0) named_[n] = lets_.push(n) + 1;
    out_.push('v');
    append_integer(out_, named_[n]);
    bool first = true;
    for (int o = 0; o < g_.indices.size(); ++o) {
      if (!bound_[o] || !g_.free[n].has(o)) continue;
      append(out_, first ? "(" : ", ");
      index_name_of(g_.indices[o]);
      first = false;
    }
    if (!first) out_.push(')');
  }

  // ---- expressions

  // beside: another operand that gives a number its type.
  constexpr void expression(node_id n, int precedence, node_id beside) {
    if (is_constant(g_, n)) return constant(n, beside);
    if (reached_[n] == round_ && has_line(n)) return local(n);
    plain(n, precedence);
  }

  constexpr void plain(node_id n, int precedence) {
    switch (g_.kind(n)) {
      case op::index: return index_name_of(n);
      case op::input:
      case op::define: return tensor_name(n);
      case op::extent: return extent_of(n);
      case op::load: return load(n);
      case op::reduce: return reduction(n);
      case op::stop_gradient:
        if (g_[n].count == 3) return plain(g_.arg(n, 0), precedence);  // its demand is no part of the value
        return call(g_[n].count == 2 ? "graft" : "stop_gradient", n);
      case op::constant: return constant(n, no_node);
      case op::cast:
        append(out_, "cast<");
        append(out_, row(g_.type(n)).name);
        return call(">", n);
      default: break;
    }
    const op_row& w = row(g_.kind(n));
    if (w.infix == nullptr) return call(w.name, n);
    const bool parentheses = w.precedence < precedence;
    if (parentheses) out_.push('(');
    if (w.arity == 1) prefix(n, w);
    else infix(n, w);
    if (parentheses) out_.push(')');
  }

  constexpr void constant(node_id n, node_id beside) {
    const element type = g_.type(n);
    if (type == element::boolean) return append(out_, is_true(g_, n) ? "true" : "false");
    const bool typed = beside != no_node && !is_constant(g_, beside) && g_.type(beside) == type;
    if (is_floating(type)) append_real(out_, real_value(g_, n), type, !typed);
    else append_integer(out_, g_[n].attribute);
    if (!typed && type != element::f32 && type != element::i64) append(out_, row(type).name);
  }

  constexpr void extent_of(node_id n) {
    append(out_, "extent(");
    tensor_name(g_.arg(n, 0));
    append(out_, ", ");
    append_integer(out_, g_[n].attribute);
    out_.push(')');
  }

  constexpr void load(node_id n) {
    tensor_name(g_.arg(n, 0));
    for (int k = 1; k < g_[n].count; ++k) {
      append(out_, k == 1 ? "(" : ", ");
      expression(g_.arg(n, k), 0, no_node);
    }
    if (g_[n].count > 1) out_.push(')');
  }

  constexpr void call(const char* function, node_id n) {
    append(out_, function);
    out_.push('(');
    for (int k = 0; k < g_[n].count; ++k) {
      if (k > 0) append(out_, ", ");
      expression(g_.arg(n, k), 0, partner(n, k));
    }
    out_.push(')');
  }
  // The operand that gives operand k its type if that is a number.
  constexpr node_id partner(node_id n, int k) const {
    if (g_.kind(n) == op::select) return k == 0 ? no_node : g_.arg(n, 3 - k);
    return g_[n].count == 2 && is_elementwise(g_.kind(n)) ? g_.arg(n, 1 - k) : no_node;
  }

  constexpr void prefix(node_id n, const op_row& w) {
    append(out_, w.infix);
    const node_id a = g_.arg(n, 0);
    const bool again = is_constant(g_, a) || g_.kind(a) == g_.kind(n);  // -(-1), not --1
    if (again) out_.push('(');
    expression(a, w.precedence, no_node);
    if (again) out_.push(')');
  }

  constexpr void infix(node_id n, const op_row& w) {
    const node_id a = g_.arg(n, 0), b = g_.arg(n, 1);
    const bool logic = w.kind == op::logical_and || w.kind == op::logical_or;
    const bool compares = w.result == result_type::boolean && !logic;
    expression(a, w.precedence + (compares ? 1 : 0), b);
    out_.push(' ');
    // t + -1 is t - 1 for integers, whose smallest number is its own opposite.
    if (w.kind == op::add && g_.type(b) == element::i64 && is_constant(g_, b) && g_[b].attribute < 0 && g_[b].attribute != INT64_MIN) {
      append(out_, "- ");
      return append_integer(out_, -g_[b].attribute);
    }
    append(out_, w.infix);
    out_.push(' ');
    expression(b, w.precedence + (logic ? 0 : 1), a);
  }

  // ---- reductions

  constexpr void binding(node_id idx) {
    index_name_of(idx);
    if (is_axis(idx) || is_unbound(g_, idx)) return;
    append(out_, ".in(");
    expression(g_.arg(idx, 0), 0, no_node);
    append(out_, ", ");
    expression(g_.arg(idx, 1), 0, no_node);
    out_.push(')');
  }

  constexpr void reduction(node_id n) {
    const monoid kind = monoid_of(g_, n);
    if (folds_tuple(g_, n)) {
      append(out_, "get<");
      append_integer(out_, own_row_of(g_, kind).component);
      append(out_, ">(");
    }
    if (is_own(kind))
      name(own_row_of(g_, kind).name);
    else append(out_, row(kind).name);
    const bool several = g_[n].count > 3;
    append(out_, several ? "(over(" : "(");
    for (int k = 2; k < g_[n].count; ++k) {
      if (k > 2) append(out_, ", ");
      binding(g_.arg(n, k));
    }
    if (several) out_.push(')');
    if (!is_true(g_, g_.arg(n, 1))) {
      append(out_, ".where(");
      expression(g_.arg(n, 1), 0, no_node);
      out_.push(')');
    }
    append(out_, ", ");
    if (folds_tuple(g_, n))
      call("tuple", g_.arg(n, 0));
    else
      expression(g_.arg(n, 0), 0, no_node);
    append(out_, folds_tuple(g_, n) ? "))" : ")");
  }

  static constexpr int heavy = 24;  // nodes in what is written out each time it is used

  const graph& g_;
  flat<char> out_;
  flat<node_id> axes_;
  flat<int> reached_, uses_, weight_, named_;  // by node, for the definition of this round
  flat<bool> bound_;                           // by ordinal: does a reduction of this definition bind it?
  flat<int> primes_;                           // by ordinal; -1: not named yet
  flat<node_id> lets_;
  int round_ = 0;
};

// A definition or any expression.
constexpr flat<char> print(const graph& g, node_id n) { return printer(g).one(n); }
// The inputs, axes and definitions that the outputs need, in dependency order.
constexpr flat<char> print(const graph& g) { return printer(g).program(); }

}  // namespace sheaf::inline v0_1
