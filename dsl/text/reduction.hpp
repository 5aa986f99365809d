// Of the parser: reductions with their policies and domains, and folds with monoids of the program's own.
#pragma once
#include <sheaf/dsl/text/expression.hpp>

namespace sheaf::inline v0_1::detail {

// NAME<policies>(domain, e).
constexpr bool text_parser::reduction_call(built& value) {
  int kind = -1;
  for (int k = 0; k < static_cast<int>(folding::count_); ++k)
    if (at(folding_name(static_cast<folding>(k)))) kind = k;
  if (kind < 0 || !(is(ahead(1), "(") || is(ahead(1), "<"))) return false;
  const int start = at_++;
  policies p;
  int ties_count = 0, empties = 0, sums = 0;
  policies_of(p, ties_count, empties, sums);
  if (const char* misplaced = misplaced_policy(static_cast<folding>(kind), ties_count, empties, sums);
      misplaced != nullptr)
    wrong(start) << folding_name(static_cast<folding>(kind)) << ": " << misplaced;
  expect("(");
  flat<bound_axis> axes;
  sentence over;
  const int outer = scope_.size();
  if (failed()) return true;
  if (!domains(axes, over)) wrong(start) << misplaced_fold(static_cast<folding>(kind)).text;
  if (!failed() && !at(",")) wrong(start) << misplaced_fold(static_cast<folding>(kind)).text;
  expect(",");
  const built body = failed() ? nothing_built : expression();
  expect(")");
  while (scope_.size() > outer) scope_.pop();
  if (failed()) return true;
  folder fold(b_, {axes.data(), axes.size(), over.text});
  value = {fold(static_cast<folding>(kind), body.id, p), false};
  settle(start);
  return true;
}

constexpr void text_parser::policies_of(policies& p, int& ties_count, int& empties, int& sums) {
  if (!accept("<")) return;
  do one_policy(p, ties_count, empties, sums);
  while (!failed() && accept(","));
  expect(">");
}

constexpr void text_parser::one_policy(policies& p, int& ties_count, int& empties, int& sums) {
  const int start = at_;
  if (accept("ties")) {
    expect("::");
    ++ties_count;
    if (accept("first")) return p.add(ties::first);
    if (accept("last")) return p.add(ties::last);
    if (accept("even")) return p.add(ties::even);
  } else if (accept("empty")) {
    expect("::");
    ++empties;
    if (accept("nan")) return p.add(empty_nan{});
    if (accept("error")) return p.add(empty_error{});
    if (accept("identity")) return p.add(empty_identity{});
    if (accept("zero")) return p.add(empty_value<0>{});
    if (accept("value")) {
      expect("<");
      const bool minus = accept("-");
      const built number = number_literal();
      p.has_value = true;
      p.value = (minus ? -1 : 1) * real_value(b_.g, number.id);
      return expect(">");
    }
  } else if (accept("compensated")) {
    ++sums;
    return p.add(compensation{});
  } else if (accept("accumulate")) {
    expect("<");
    ++sums;
    p.accumulates = true;
    if (!element_name(p.accumulated))
      wrong(at_) << "accumulate<T>: T is not an element type of Sheaf (see docs/language.md)";
    return expect(">");
  }
  wrong(start)
      << "expected a policy such as ties::first, empty::nan, empty::value<2>, accumulate<f64> or compensated, found "
      << spelled(now()).text;
}

// One index, or over(...) of several; they are in scope from here on. False where no index stands here.
constexpr bool text_parser::domains(flat<bound_axis>& axes, sentence& over) {
  if (!at("over")) {
    if (now().kind != token_kind::name || !(is(ahead(1), ",") || is(ahead(1), ".") || is(ahead(1), ")"))) return false;
    if (row_of(known_name(now())) != nullptr && now().primes == 0 && !is(ahead(1), ".")) return false;
    axes.push(domain(over));
    return true;
  }
  ++at_;
  expect("(");
  do {
    if (axes.size() > 0) over << ", ";
    axes.push(domain(over));
  } while (!failed() && accept(","));
  expect(")");
  if (!failed() && at("."))
    wrong(at_) << "over: ranges and conditions stand behind its indices, as in over(m, t.where(c)), found "
               << spelled(ahead(1)).text << " behind all of them";
  return true;
}

// t, t.in(lo, hi), t.in(lo, hi, step), with .where(c) behind any of them.
constexpr bound_axis text_parser::domain(sentence& over) {
  bound_axis a;
  const int start = at_;
  const token t = now();
  expect_name("an index");
  if (!failed() && t.primes == 0 && row_of(name_of(t)) != nullptr)
    wrong(start) << "index " << spelled(t).text << ": a tensor has this name; the index is written " << spelled(t).text
                 << "'";
  if (!failed() && t.primes > most_primes) wrong(start) << "index " << spelled(t).text << ": at most 65535 primes";
  if (failed()) return a;
  over << text_of(name_of(t)).text;
  a.axis = axis_of(t);
  scope_.push(a.axis);
  while (!failed() && accept(".")) {
    const bool in = at("in") && a.low == no_node, where = at("where") && a.condition == no_node;
    if (!in && !where) {
      wrong(at_) << "domain of " << text_of(name_of(t)).text
                 << ": expected in(low, high) or where(condition), once each, found " << spelled(now()).text;
      return a;
    }
    ++at_;
    expect("(");
    if (where) {
      a.condition = condition();
    } else {
      a.low = bound_value();
      expect(",");
      a.high = bound_value();
      if (accept(",")) a.step = bound_value();
    }
    expect(")");
  }
  if (!failed()) settle(start);
  return a;
}

constexpr node_id text_parser::bound_value() {
  const int start = at_;
  const node_id n = expression().id;
  if (failed()) return n;
  if (is_floating(b_.g.type(n))) {
    wrong(start) << "domain: a bound is " << row(b_.g.type(n)).name << ", expected an integer";
    return n;
  }
  return cast_to(b_.g, element::i64, n);
}
constexpr node_id text_parser::condition() {
  const node_id n = expression().id;
  return failed() || b_.g.type(n) == element::boolean ? n : make(b_.g, op::not_equal, n, number_like(b_.g, n, 0));
}

constexpr node_id text_parser::axis_of(const token& t) {
  const node_id axis = unbound_axis(b_.g, name_of(t), t.primes);
  for (const axis_row& row : axes_)
    if (row.name == name_of(t) && !declared_.contains(axis)) {
      declared_.push(axis);
      b_.declare(axis, row.size);
    }
  return axis;
}

// Gradients fold wider tuples than a program in C++ may: maps of several values.
inline constexpr int widest_state =
    derivative::running_states::most_together * (derivative::running_states::most_together + 1);

constexpr void text_parser::tuple_values(flat<built>& list) {
  if (accept("tuple")) {
    const int start = at_ - 1;
    expect("(");
    do list.push(failed() ? nothing_built : expression());
    while (!failed() && accept(","));
    expect(")");
    if (!failed() && (list.size() < 2 || list.size() > widest_state))
      wrong(start) << "tuple: expected 2 to " << widest_state << " values, got " << list.size();
  } else {
    list.push(expression());
  }
}

// fold<policy>(monoid, domain, e): value `component` of it.
constexpr built text_parser::fold_call(int component) {
  const int start = at_++;
  policies p;
  int ties_count = 0, empties = 0, sums = 0;
  policies_of(p, ties_count, empties, sums);
  if (ties_count + sums > 0 || empties > 1)
    wrong(start) << "fold: its one policy says what it is over nothing, as in fold<empty::nan>(monoid, t, e)";
  expect("(");
  const int line = at_;
  const name_id called = expect_name("a monoid");
  if (failed()) return nothing_built;
  int which = -1;
  for (int i = 0; i < monoids_.size(); ++i)
    if (monoids_[i].name == called) which = i;
  if (which < 0) {
    wrong(line) << "fold: expected a monoid that a line above declares, found " << text_of(called).text;
    return nothing_built;
  }
  expect(",");
  flat<bound_axis> axes;
  sentence over;
  const int outer = scope_.size();
  if (!failed() && !domains(axes, over)) wrong(at_) << "fold: expected an index, found " << spelled(now()).text;
  expect(",");
  flat<built> parts;
  if (!failed()) tuple_values(parts);
  expect(")");
  while (scope_.size() > outer) scope_.pop();
  if (failed()) return nothing_built;
  const monoid_line m = monoids_[which];
  if (parts.size() != m.width || component >= m.width) {
    wrong(start) << "fold " << text_of(called).text << ": an element has " << parts.size()
                 << (parts.size() == 1 ? " value" : " values") << ", expected " << m.width << " as its identity";
    return nothing_built;
  }
  const flat<node_id> values = b_.adopted(parts.data(), parts.size());
  element types[widest_state] = {};
  for (int k = 0; k < m.width; ++k) types[k] = fold_type(b_.g.type(values[k]));
  const monoid first = monoid_for(which, types);
  if (failed()) return nothing_built;
  folder fold(b_, {axes.data(), axes.size(), over.text});
  const sentence what = sentence{} << "fold " << text_of(called).text;
  const built result{fold.own(first, component, values, p, what.text), false};
  settle(start);
  return result;
}

// get<K>(tuple(...)) or get<K>(fold(...)).
constexpr built text_parser::get_call() {
  const int start = at_++;
  expect("<");
  const std::int64_t k = expect_integer();
  expect(">");
  expect("(");
  if (!failed() && k >= widest_state)
    wrong(start) << "get<" << k << ">: a tuple has at most " << widest_state << " values";
  if (failed()) return nothing_built;
  built value = nothing_built;
  if (at("fold")) {
    value = fold_call(static_cast<int>(k));
  } else {
    flat<built> list;
    tuple_values(list);
    if (!failed() && k >= list.size()) wrong(start) << "get<" << k << ">: the tuple has " << list.size() << " values";
    if (!failed()) value = list[static_cast<int>(k)];
  }
  expect(")");
  return failed() ? nothing_built : value;
}

// The rows of a monoid for values of these types.
constexpr monoid text_parser::monoid_for(int which, const element* types) {
  const monoid_line m = monoids_[which];
  if (m.busy) wrong(at_ - 1) << "fold " << text_of(m.name).text << ": it is made of itself";
  if (failed()) return own_kind(0);
  monoids_[which].busy = true;
  own_monoid_row rows[widest_state];
  const int back = at_;
  at_ = m.identity;
  flat<built> identity;
  tuple_values(identity);
  if (!failed() && identity.size() != m.width)
    wrong(m.identity) << "fold " << text_of(m.name).text << ": its identity has " << identity.size()
                      << " values, expected " << m.width;
  for (int k = 0; k < m.width && !failed(); ++k) {
    rows[k] = {m.name, types[k], cast_to(b_.g, types[k], identity[k].id), no_node, no_node, k, m.width, m.in_order};
    if (!is_constant(b_.g, rows[k].identity))
      wrong(m.identity) << "fold " << text_of(m.name).text << ": its identity is not a number";
  }
  if (!failed()) rule(m, m.combine, 2, m.parameters, rows, types, false);
  if (!failed() && m.adjoint != 0) rule(m, m.adjoint, m.width > 1 ? 3 : 2, m.adjoint_parameters, rows, types, true);
  at_ = back;
  monoids_[which].busy = false;
  if (failed()) return own_kind(0);
  const monoid made = b_.own(rows, m.width);
  settle(m.combine);
  return made;
}

// What stands behind `=` in terms of the parameters, groups of as many names as the state has values.
constexpr void text_parser::rule(const monoid_line& m, int first, int groups, int parameters, own_monoid_row* rows,
                                 const element* types, bool is_adjoint) {
  operands_.clear();
  at_ = parameters;
  expect("(");
  for (int group = 0; group < groups && !failed(); ++group) {
    if (group > 0) expect(",");
    if (m.width > 1) expect("(");
    for (int k = 0; k < m.width && !failed(); ++k) {
      if (k > 0) expect(",");
      operands_.push({expect_word_for("a parameter"), group * m.width + k});
    }
    if (m.width > 1) expect(")");
  }
  expect(")");
  at_ = first;
  flat<built> made;
  if (!failed()) b_.of_operands(types, m.width, groups, [&] { tuple_values(made); });
  operands_.clear();
  if (failed()) return;
  if (made.size() != m.width) {
    wrong(first) << "fold " << text_of(m.name).text << ": its " << (is_adjoint ? "adjoint" : "combination") << " has "
                 << made.size() << (made.size() == 1 ? " value" : " values") << ", expected " << m.width
                 << " as its identity";
    return;
  }
  for (int k = 0; k < m.width; ++k)
    (is_adjoint ? rows[k].adjoint : rows[k].combine) = cast_to(b_.g, types[k], made[k].id);
}

}  // namespace sheaf::inline v0_1::detail
