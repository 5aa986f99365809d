// The text of a definition or of a whole program, in the text language (dsl/text, docs/language.md), with as few
// parentheses as keep the tree: print(parse(print(g))) is print(g).
//   input x: f32[?, 4]
//   axis t: extent(x, 0)
//   y(m, f) = sum(t.in(cut(m, 0), cut(m, 1)).where(x(t, f) > 0), x(t, f)) / v1
//     where v1 = ...
//   output y
// An axis, [0, extent), is printed as its name alone; other ranges stand where the index is bound. A number has the
// type of the operand beside it, else i64, or f64 where it has a point; otherwise the type follows: 0.5f32. Indices
// of one name in one definition are told apart by primes. What is used more than once and holds a reduction (or is
// large) is a where-line; its parameters are the indices that reductions bind.
// Output: text without a final newline. Shown by tests/static/differentiate.cpp, tests/text.
#pragma once
#include <sheaf/dsl/graph/print_definition.hpp>

namespace sheaf::inline v0_1 {

class program_printer : public definition_printer {
 public:
  using definition_printer::definition_printer;

  constexpr flat<char> program() {
    const reached_nodes needed(g_);
    for (const input_row& input : g_.inputs) input_line(input);
    for (const node_id first : bare_.axes())
      for (const node_id idx : g_.indices)
        if (needed[idx] && is_axis(idx) && index_name(g_, idx) == index_name(g_, first)) {
          axis_line(first);
          break;
        }
    for (const constraint& c : g_.constraints) constraint_line(c);
    monoid_lines(needed);
    for (node_id n = 0; n < g_.size(); ++n)
      if (needed[n] && g_.kind(n) == op::define) definition(n);
    for (const demand& d : g_.demands) demand_line(d);
    names_line("output ", g_.outputs, {});
    names_line("check ", g_.differentiated, g_.outputs);
    return out_;
  }

 private:
  constexpr void input_line(const input_row& input) {
    start_line();
    append(out_, "input ");
    name(input.name);
    append(out_, ": ");
    append(out_, row(input.type).name);
    for (int d = 0; d < input.rank; ++d) {
      append(out_, d == 0 ? "[" : ", ");
      const std::int64_t extent = g_.static_extents[input.first_extent + d];
      if (extent == dynamic)
        out_.push('?');
      else
        append_integer(out_, extent);
    }
    if (input.rank > 0) out_.push(']');
  }

  constexpr void axis_line(node_id idx) {
    start_line();
    append(out_, "axis ");
    name(index_name(g_, idx));
    append(out_, ": ");
    expression(g_.arg(idx, 1), 0, no_node);
  }

  // What must agree: expect extent(a, 0) == extent(b, 0) for i
  constexpr void constraint_line(const constraint& c) {
    start_line();
    append(out_, "expect ");
    expression(c.left, 7, no_node);
    append(out_, " == ");
    expression(c.right, 7, no_node);
    if (g_.names[c.axis].size == 0) return;
    append(out_, " for ");
    name(c.axis);
  }

  constexpr void names_line(const char* what, const flat<node_id>& list, const flat<node_id>& without) {
    bool first = true;
    for (const node_id n : list) {
      if (without.contains(n)) continue;
      if (first) start_line();
      append(out_, first ? what : ", ");
      tensor_name(n);
      first = false;
    }
  }

  constexpr void demand_line(const demand& d) {
    start_line();
    prepare(d.wrong);
    append(out_, d.of == demanded::data       ? "demand data "
                 : d.of == demanded::elements ? "demand elements "
                                              : "demand extents ");
    quoted(d.operation);
    out_.push(' ');
    quoted(d.expected);
    append(out_, " wrong ");
    plain(d.wrong, 0);
    if (d.limit != no_node) append(out_, " limit ");
    if (d.limit != no_node) expression(d.limit, 0, no_node);
    if (d.found != no_node) append(out_, " found ");
    if (d.found != no_node) expression(d.found, 0, no_node);
    where_lines(d.wrong);
  }
  constexpr void quoted(name_id id) {
    out_.push('"');
    for (int i = 0; i < g_.names[id].size; ++i) out_.push(g_.text[g_.names[id].first + i]);
    out_.push('"');
  }

  // In the order in which the definitions use them.
  constexpr void monoid_lines(const reached_nodes& needed) {
    flat<int> used;
    flat<bool> seen;
    seen.resize(g_.size(), false);
    for (node_id n = 0; n < g_.size(); ++n)
      if (needed[n] && g_.kind(n) == op::define) find_monoids(n, seen, used);
    for (const demand& d : g_.demands) find_monoids(d.wrong, seen, used);
    for (const int first : used) monoid_line(first);
  }
  constexpr void find_monoids(node_id n, flat<bool>& seen, flat<int>& used) const {
    if (seen[n]) return;
    seen[n] = true;
    for (int k = 0; k < g_[n].count; ++k) find_monoids(g_.arg(n, k), seen, used);
    if (g_.kind(n) != op::reduce || !is_own(monoid_of(g_, n))) return;
    const int first = own_number(monoid_of(g_, n)) - own_row_of(g_, monoid_of(g_, n)).component;
    if (!used.contains(first)) used.push(first);
  }
  // monoid affine((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order
  constexpr void monoid_line(int first) {
    const own_monoid_row& m = g_.monoids[first];
    start_line();
    append(out_, "monoid ");
    name(m.name);
    for (int group = 0; group < 2; ++group) {
      append(out_, group == 0 ? "(" : ", ");
      if (m.width > 1) out_.push('(');
      for (int k = 0; k < m.width; ++k) {
        if (k > 0) append(out_, ", ");
        operand(group * m.width + k, m.width);
      }
      if (m.width > 1) out_.push(')');
    }
    append(out_, ") = ");
    width_ = m.width;
    each_row(first, m.width, [this](const own_monoid_row& r) { expression(r.combine, 0, no_node); });
    append(out_, " identity ");
    each_row(first, m.width, [this](const own_monoid_row& r) {
      append_real(out_, real_value(g_, r.identity), r.type, is_floating(r.type));
    });
    if (m.in_order) append(out_, " in_order");
  }
  template <class Show>
  constexpr void each_row(int first, int width, Show show) {
    if (width > 1) append(out_, "tuple(");
    for (int k = 0; k < width; ++k) {
      if (k > 0) append(out_, ", ");
      show(g_.monoids[first + k]);
    }
    if (width > 1) out_.push(')');
  }
};

// A definition or any expression.
constexpr flat<char> print(const graph& g, node_id n) { return definition_printer(g).one(n); }
// The inputs, axes and definitions that the outputs need, in dependency order; what must hold of a call, and the
// outputs.
constexpr flat<char> print(const graph& g) { return program_printer(g).program(); }

}  // namespace sheaf::inline v0_1
