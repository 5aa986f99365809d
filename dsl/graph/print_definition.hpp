// The text of a definition or of any expression; print.hpp says what it looks like. Private header of print.hpp.
#pragma once
#include <sheaf/dsl/graph/print_names.hpp>

namespace sheaf::inline v0_1 {

class definition_printer : protected name_printer {
 public:
  constexpr explicit definition_printer(const graph& g) : name_printer(g) {
    reached_.resize(g.size(), 0);
    uses_.resize(g.size(), 0);
    weight_.resize(g.size(), 0);
    named_.resize(g.size(), 0);
    bound_.resize(g.indices.size(), false);
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

 protected:
  // ---- lines

  constexpr void start_line() {
    if (!out_.empty()) out_.push('\n');
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
    for (int o = 0; o < bound_.size(); ++o) bound_[o] = false;
    forget_primes();
    lets_.clear();
    last_let_ = 0;
    ++round_;
    uses_[root] = 0;
    count(root);
    if (g_.kind(root) == op::define)
      for (int k = 1; k < g_[root].count; ++k) give_primes(g_.arg(root, k));
  }
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
    return uses_[n] > 1 && weight_[n] >= heavy &&
           (is_elementwise(kind) || kind == op::reduce || kind == op::stop_gradient);
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

  constexpr bool is_name_of_v(int number) const {
    flat<char> text;
    text.push('v');
    append_integer(text, number);
    for (const text_range& name : g_.names) {
      bool same = name.size == text.size();
      for (int i = 0; same && i < name.size; ++i) same = g_.text[name.first + i] == text[i];
      if (same) return true;
    }
    return false;
  }
  constexpr void local(node_id n) {
    if (named_[n] == 0) {
      while (is_name_of_v(++last_let_)) {
      }
      named_[n] = last_let_;
      lets_.push(n);
    }
    out_.push('v');
    append_integer(out_, named_[n]);
    bool first = true;
    const int named = order_.size();
    for (int i = 0; i < named; ++i) {  // in the order in which they came into the text
      const int o = g_.ordinal(order_[i]);
      if (!bound_[o] || !g_.free[n].has(o)) continue;
      append(out_, first ? "(" : ", ");
      index_name_of(order_[i]);
      first = false;
    }
    if (!first) out_.push(')');
  }

  // ---- expressions

  // a, b; of a state of several values a0, a1, b0, b1.
  constexpr void operand(std::int64_t place, int width) {
    out_.push(static_cast<char>('a' + place / width));
    if (width > 1) append_integer(out_, place % width);
  }

  // beside: another operand that gives a number its type.
  constexpr void expression(node_id n, int precedence, node_id beside) {
    if (is_constant(g_, n)) return constant(n, beside);
    if (reached_[n] == round_ && has_line(n)) return local(n);
    plain(n, precedence);
  }

  constexpr void plain(node_id n, int precedence) {
    switch (g_.kind(n)) {
      case op::index:
        return index_name_of(n);
      case op::operand:
        return operand(g_[n].attribute, width_);
      case op::input:
      case op::define:
        return tensor_name(n);
      case op::extent:
        return extent_of(n);
      case op::load:
        return load(n);
      case op::reduce:
        return reduction(n);
      case op::stop_gradient:
        if (g_[n].count == 3) return plain(g_.arg(n, 0), precedence);  // its demand is no part of the value
        return call(g_[n].count == 2 ? "graft" : "stop_gradient", n);
      case op::constant:
        return constant(n, no_node);
      case op::cast:
        append(out_, "cast<");
        append(out_, row(g_.type(n)).name);
        return call(">", n);
      default:
        break;
    }
    const op_row& w = row(g_.kind(n));
    if (w.infix == nullptr) return call(w.name, n);
    const bool parentheses = w.precedence < precedence;
    if (parentheses) out_.push('(');
    if (w.arity == 1)
      prefix(n, w);
    else
      infix(n, w);
    if (parentheses) out_.push(')');
  }

  constexpr void constant(node_id n, node_id beside) {
    const element type = g_.type(n);
    if (type == element::boolean) return append(out_, is_true(g_, n) ? "true" : "false");
    const bool large = type == element::u64 && g_[n].attribute < 0;  // than a number without a type may be
    const bool typed = beside != no_node && !is_constant(g_, beside) && g_.type(beside) == type && !large;
    const bool other = !typed && type != element::f64 && type != element::i64;
    const double value = is_floating(type) ? real_value(g_, n) : 0;
    const bool spelled = value != value || value == math::infinity || value == -math::infinity;  // inf, nan: no suffix
    if (spelled && other) {
      append(out_, "cast<");
      append(out_, row(type).name);
      append(out_, ">(");
    }
    if (is_floating(type))
      append_real(out_, value, type, !typed || std::bit_cast<std::int64_t>(value) == INT64_MIN);  // -0.0
    else if (type == element::u64)
      append_natural(out_, static_cast<std::uint64_t>(g_[n].attribute));
    else
      append_integer(out_, g_[n].attribute);
    if (other) append(out_, spelled ? ")" : row(type).name);
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
    if (needs_guard(n)) append(out_, ".guarded");
    for (int k = 1; k < g_[n].count; ++k) {
      append(out_, k == 1 ? "(" : ", ");
      expression(g_.arg(n, k), 0, no_node);
    }
    if (g_[n].count > 1) out_.push(')');
  }

  // A subscript that gives its index no extent: said only where it would give one. And a number outside, never read.
  constexpr bool needs_guard(node_id n) const {
    bool needs = false;
    for (int k = 1; k < g_[n].count; ++k)
      needs = needs || (g_[n].attribute != 0 && is_axis(g_.arg(n, k))) ||
              is_outside(g_, g_.arg(n, 0), k - 1, g_.arg(n, k));
    return needs;
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
    if (w.kind == op::add && g_.type(b) == element::i64 && is_constant(g_, b) && g_[b].attribute < 0 &&
        g_[b].attribute != INT64_MIN) {
      append(out_, "- ");
      return append_integer(out_, -g_[b].attribute);
    }
    append(out_, w.infix);
    out_.push(' ');
    expression(b, w.precedence + 1, a);
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

  // The indices of a reduction, those that a range depends on before it, where the order of elements is no matter.
  constexpr flat<node_id> bound_in_order(node_id n) const {
    flat<node_id> rest, order;
    for (int k = 2; k < g_[n].count; ++k) rest.push(g_.arg(n, k));
    if (in_order(g_, monoid_of(g_, n))) return rest;
    while (order.size() + 2 < g_[n].count) {
      index_set open;
      for (const node_id idx : rest)
        if (!order.contains(idx)) open.insert(g_.ordinal(idx));
      for (const node_id idx : rest) {
        if (order.contains(idx)) continue;
        index_set range = g_.free[g_.arg(idx, 0)];
        range |= g_.free[g_.arg(idx, 1)];
        if (range.meets(open)) continue;
        order.push(idx);
        break;
      }
    }
    return order;
  }

  constexpr void reduction(node_id n) {
    const monoid kind = monoid_of(g_, n);
    if (folds_tuple(g_, n)) {
      append(out_, "get<");
      append_integer(out_, own_row_of(g_, kind).component);
      append(out_, ">(");
    }
    append(out_, is_own(kind) ? "fold(" : row(kind).name);
    // Within the language these would be rounded once around a sum in f32.
    if ((kind == monoid::sum || kind == monoid::prod) && is_half(g_.type(n))) {
      append(out_, "<accumulate<");
      append(out_, row(g_.type(n)).name);
      append(out_, ">>");
    }
    if (is_own(kind)) name(own_row_of(g_, kind).name);
    const bool several = g_[n].count > 3;
    append(out_, is_own(kind) ? ", " : "(");
    if (several) append(out_, "over(");
    bool first = true;
    for (const node_id idx : bound_in_order(n)) {
      if (!first) append(out_, ", ");
      binding(idx);
      first = false;
    }
    if (!is_true(g_, g_.arg(n, 1))) {
      append(out_, ".where(");
      expression(g_.arg(n, 1), 0, no_node);
      out_.push(')');
    }
    if (several) out_.push(')');
    append(out_, ", ");
    if (folds_tuple(g_, n))
      call("tuple", g_.arg(n, 0));
    else
      expression(g_.arg(n, 0), 0, no_node);
    append(out_, folds_tuple(g_, n) ? "))" : ")");
  }

  static constexpr int heavy = 24;  // nodes in what is written out each time it is used

  flat<int> reached_, uses_, weight_, named_;  // by node, for the definition of this round
  flat<bool> bound_;                           // by ordinal: does a reduction of this definition bind it?
  flat<node_id> lets_;
  int round_ = 0;
  int last_let_ = 0;
  int width_ = 1;  // of the monoid whose line is written
};

}  // namespace sheaf::inline v0_1
