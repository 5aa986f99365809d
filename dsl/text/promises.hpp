// Of the parser: lines that say what gradients are (custom), and what must hold of a call (check, expect, demand),
// which the printer writes.
#pragma once
#include <sheaf/dsl/text/statements.hpp>

namespace sheaf::inline v0_1::detail {

// custom y by x(i, j) = e: the part of x's gradient that comes through y; `cotangent(y)` in e is y's cotangent.
constexpr bool text_parser::has_custom(name_id definition) const { return next_custom(0, definition) >= 0; }
constexpr int text_parser::next_custom(int from, name_id definition) const {
  const text_range name = b_.g.names[definition];
  for (const int t : customs_) {
    bool same = t >= from && name.size == tokens_[t + 1].size;
    for (int i = 0; same && i < name.size; ++i) same = b_.g.text[name.first + i] == text_[tokens_[t + 1].first + i];
    if (same) return t;
  }
  return -1;
}
// Definitions ask for their rules: the lines are listed once.
constexpr void text_parser::list_customs() {
  for (int t = 0; t + 1 < tokens_.size(); ++t) {
    const bool first = t == 0 || tokens_[t - 1].kind == token_kind::line_end;
    if (first && is(tokens_[t], "custom")) customs_.push(t);
  }
}
// What rules differentiate by comes before what they are rules of.
constexpr void text_parser::custom_inputs(name_id definition) {
  const int back = at_;
  for (int t = next_custom(0, definition); t >= 0 && !failed(); t = next_custom(t + 1, definition)) {
    at_ = t + 2;
    expect("by");
    if (!failed()) tensor_here();
  }
  at_ = back;
}
constexpr void text_parser::custom_rules(name_id definition, node_id made) {
  const int back = at_;
  if (b_.starts_rules(made))
    for (int t = next_custom(0, definition); t >= 0 && !failed(); t = next_custom(t + 1, definition)) {
      at_ = t + 3;
      custom_line(made);
    }
  at_ = back;
}
constexpr void text_parser::custom_line(node_id made) {
  const int start = at_;
  const node_id by = tensor_here().node;
  flat<bound_axis> axes = head_indices();
  if (failed()) return;
  const sentence by_name = text_of(label_of(by)), own = text_of(label_of(made));
  if (axes.size() != tensor_rank(b_.g, by)) {
    wrong(start) << "custom gradient by " << by_name.text << ": its rank is " << tensor_rank(b_.g, by) << ", got "
                 << axes.size() << " indices";
    return;
  }
  sentence label = sentence{} << "cotangent_" << own.text;
  custom_ = made;
  custom_cotangent_ = b_.placeholder(made, b_.name(label.text, label.size));
  const node_id body = expression().id;
  finish_line();
  custom_ = no_node;
  scope_.clear();
  if (failed()) return;
  label = sentence{} << "gradient_of_" << own.text << "_by_" << by_name.text;
  const int rank = axes.size();
  axes.push({});  // never empty
  const node_id contribution =
      b_.definition(b_.name(label.text, label.size), cast_to(b_.g, b_.g.type(by), body), axes.data(), rank, true);
  b_.add_rule(made, by, custom_cotangent_, contribution);
  settle(start);
}

// Each such line is one of a definition.
constexpr void text_parser::expect_customs() {
  for (const int t : customs_) {
    const tensor_row* row = row_of(known_name(tokens_[t + 1]));
    if (failed() || (row != nullptr && row->defined)) continue;
    complaint said = wrong(t + 1);
    said << "custom: expected a definition of this text, found " << spelled(tokens_[t + 1]).text;
    int named = 0;
    for (const tensor_row& r : tensors_)
      if (r.defined && named++ < most_named) said << (named == 1 ? "; it has " : ", ") << text_of(r.name).text;
    if (named > most_named) said << ", ...";
  }
}

// check loss: what it subscripts is checked, though it is not computed.
constexpr void text_parser::check_line() {
  ++at_;
  do {
    const node_id y = tensor_here().node;
    if (failed()) return;
    if (b_.g.kind(y) != op::define)
      wrong(at_ - 1) << "check: expected a definition, found the input " << text_of(label_of(y)).text;
    else if (!b_.g.differentiated.contains(y))
      b_.g.differentiated.push(y);
  } while (!failed() && accept(","));
}

// Is it made of numbers and extents?
constexpr bool text_parser::is_fixed(node_id n) const {
  bool fixed = b_.g.kind(n) == op::extent || b_.g.kind(n) == op::constant || is_elementwise(b_.g.kind(n));
  for (int k = 0; k < b_.g[n].count && fixed && b_.g.kind(n) != op::extent; ++k) fixed = is_fixed(b_.g.arg(n, k));
  return fixed;
}

// expect extent(a, 0) == extent(b, 0) for i
constexpr void text_parser::expect_line() {
  const int start = ++at_;
  const built left = expression(6), right = (expect("=="), expression(6));
  if (!failed() && !(is_fixed(left.id) && is_fixed(right.id)))
    wrong(start) << "expect: two sides of numbers and extents, found data";
  name_id called = b_.name("", 0);
  if (accept("for")) called = expect_name("an index");
  if (!failed()) b_.constrain(left.id, right.id, called);
}

// demand elements "mean over t" "at least one element" wrong c limit e found e
constexpr void text_parser::demand_line() {
  ++at_;
  collect_lets(line_end());
  demand d;
  if (accept("data"))
    d.of = demanded::data;
  else if (accept("elements"))
    d.of = demanded::elements;
  else
    expect("extents");
  d.operation = quoted_text();
  d.expected = quoted_text();
  expect("wrong");
  if (failed()) return;
  const int any = at_;
  d.wrong = expression().id;
  if (failed()) return;
  // The indices of an `any` are those of what is found.
  if (is(tokens_[any], "any") && b_.g.kind(d.wrong) == op::reduce) {
    const int back = at_;
    at_ = any + 2;
    flat<bound_axis> axes;
    sentence over;
    domains(axes, over);
    at_ = back;
  }
  if (accept("limit")) d.limit = positioned(expression().id, d.wrong);
  if (!failed() && accept("found")) d.found = positioned(expression().id, d.wrong);
  expect_parts_used();
  scope_.clear();
  lets_.clear();
  if (failed()) return;
  for (const demand& other : b_.g.demands)
    if (other.wrong == d.wrong) return;
  b_.g.demands.push(d);
}
constexpr name_id text_parser::quoted_text() {
  const token t = now();
  if (t.kind != token_kind::string) wrong(at_) << "expected a text in double quotes, found " << spelled(t).text;
  ++at_;
  return name_of(t);
}
// An expression whose indices are those that a reduction binds.
constexpr node_id text_parser::positioned(node_id e, node_id any) {
  if (failed() || b_.g.kind(any) != op::reduce) return e;
  for (int k = 2; k < b_.g[any].count; ++k) {
    const node_id idx = b_.g.arg(any, k);
    e = substitute(b_.g, e, unbound_axis(b_.g, index_name(b_.g, idx), index_serial(b_.g, idx)), idx);
  }
  return e;
}

}  // namespace sheaf::inline v0_1::detail
