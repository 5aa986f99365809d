// Of the parser: the lines of a program, and the whole.
#pragma once
#include <sheaf/dsl/graph/words.hpp>
#include <sheaf/dsl/text/tensor.hpp>

namespace sheaf::inline v0_1::detail {

constexpr bool text_parser::is_word(const token& t) const { return !t.quoted && is_text_word(text_ + t.first, t.size); }

constexpr name_id text_parser::expect_name(const char* what) {
  const int t = expect_word_for(what);
  return failed() ? 0 : name_of(tokens_[t]);
}
constexpr int text_parser::expect_word_for(const char* what) {
  const token t = now();
  if (t.kind != token_kind::name) {
    wrong(at_) << "expected " << what << ", found " << spelled(t).text;
    return 0;
  }
  if (is_word(t)) {
    wrong(at_) << "expected " << what << ", found " << spelled(t).text
               << ", a word of the language; as a name it stands in backquotes";
    return 0;
  }
  return at_++;
}
constexpr std::int64_t text_parser::expect_integer() {
  const token t = now();
  std::int64_t value = 0;
  bool whole = t.kind == token_kind::number && t.size < 19;
  for (int i = 0; i < t.size && whole; ++i) {
    whole = text_[t.first + i] >= '0' && text_[t.first + i] <= '9';
    value = 10 * value + (text_[t.first + i] - '0');
  }
  if (!whole) wrong(at_) << "expected a whole number, found " << spelled(t).text;
  ++at_;
  return value;
}

constexpr void text_parser::finish_line() {
  if (!failed() && now().kind != token_kind::line_end && now().kind != token_kind::end)
    wrong(at_) << "expected the end of the line, found " << spelled(now()).text;
}
constexpr bool text_parser::skip_line() {
  while (now().kind != token_kind::line_end && now().kind != token_kind::end) ++at_;
  if (now().kind == token_kind::end) return false;
  ++at_;
  return now().kind != token_kind::end;
}

constexpr graph text_parser::run() {
  list_customs();
  while (!failed() && now().kind != token_kind::end) {
    if (now().kind == token_kind::line_end) {
      ++at_;
      continue;
    }
    statement();
    finish_line();
    if (!failed()) skip_line();
  }
  expect_customs();
  if (!failed() && !any_output_) default_outputs();
  if (!failed() && b_.g.outputs.empty()) wrong(at_) << "compile: expected at least one output";
  if (!failed()) expect_whole_tensors();
  if (!failed()) b_.finish();
  settle(tokens_.size() - 1);
  if (failed()) return placed_error();
  return static_cast<graph&&>(b_.g);
}

constexpr void text_parser::statement() {
  if (at("input")) return input_line();
  if (at("axis")) return axis_line();
  if (at("monoid")) return monoid_line_();
  if (at("custom")) return skip_to_end();  // read with its definition
  if (at("where")) {
    if (!takes_parts_) wrong(at_) << "where: expected below a definition or a demand, whose part it is";
    return skip_to_end();
  }
  takes_parts_ = at("demand") || !is_word(now());
  if (at("output")) return output_line();
  if (at("check")) return check_line();
  if (at("expect")) return expect_line();
  if (at("demand")) return demand_line();
  definition_line();
}
constexpr void text_parser::skip_to_end() {
  while (now().kind != token_kind::line_end && now().kind != token_kind::end) ++at_;
}

// input x: f32[?, 4]
constexpr void text_parser::input_line() {
  const int start = ++at_;
  const name_id called = expect_name("the name of an input");
  expect(":");
  element type{};
  if (!failed() && !element_name(type))
    wrong(at_) << "tensor: this is not an element type of Sheaf (see docs/language.md)";
  flat<std::int64_t> extents;
  if (!failed() && accept("[")) {
    do {
      const bool open = accept("?");
      extents.push(open ? dynamic : expect_integer());
    } while (!failed() && accept(","));
    expect("]");
  }
  if (failed()) return;
  if (extents.size() > max_rank) wrong(start) << "tensor: its rank is from 0 to 8";
  const int rank = extents.size();
  extents.push(0);  // never empty
  const node_id made = b_.tensor(called, type, rank, extents.data()).id;
  settle(start);
  if (row_of(called) == nullptr) tensors_.push({called, made, false, false});
}

// axis t: extent(x, 0)
constexpr void text_parser::axis_line() {
  ++at_;
  const token t = now();
  const int start = at_;
  expect_name("the name of an axis");
  expect(":");
  for (const axis_row& row : axes_)
    if (!failed() && row.name == name_of(t)) wrong(start) << "axis " << text_of(row.name).text << ": declared twice";
  if (failed()) return;
  const node_id size = bound_value();
  if (failed()) return;
  if (!b_.g.free[size].empty())
    wrong(start) << "axis " << text_of(name_of(t)).text << ": its extent is made of numbers and extents";
  axes_.push({name_of(t), size});
  index(b_.g, name_of(t), t.primes, integer(b_.g, 0), size);  // the first of its name, as the printer asks
}

// monoid affine((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order adjoint(...) = ...
constexpr void text_parser::monoid_line_() {
  monoid_line m;
  ++at_;
  m.name = expect_name("the name of a monoid");
  for (const monoid_line& other : monoids_)
    if (!failed() && other.name == m.name) wrong(at_ - 1) << "monoid " << text_of(m.name).text << ": declared twice";
  m.parameters = at_;
  expect("(");
  if (accept("("))
    for (m.width = 0; !failed() && !accept(")"); ++m.width) {
      expect_word_for("a parameter");
      accept(",");
    }
  int open = 1 - (m.width == 0);
  for (; !failed() && now().kind != token_kind::line_end && now().kind != token_kind::end; ++at_) {
    open += at("(");
    open -= at(")");
    if (open == 0 && at("=") && m.combine == 0) m.combine = at_ + 1;
    if (open == 0 && at("identity")) m.identity = at_ + 1;
    if (open == 0 && at("in_order")) m.in_order = true;
    if (open != 0 || !at("adjoint") || m.adjoint != 0) continue;
    m.adjoint_parameters = at_ + 1;
    const int last = is(ahead(1), "(") ? closing(at_ + 1) : -1;
    if (last < 0 || !is(tokens_[last + 1], "="))
      wrong(at_) << "monoid " << text_of(m.name).text << ": expected adjoint(element, result) = expression";
    else
      m.adjoint = (at_ = last + 1) + 1;
  }
  if (!failed() && (m.combine == 0 || m.identity == 0))
    wrong(m.parameters) << "monoid " << text_of(m.name).text << ": expected (a, b) = combination identity number";
  if (!failed()) monoids_.push(m);
}

constexpr int text_parser::line_end() const {
  int end = at_;
  while (tokens_[end].kind != token_kind::line_end && tokens_[end].kind != token_kind::end) ++end;
  return end;
}

// The lines `where` that follow the line that ends here.
constexpr void text_parser::collect_lets(int line_end) {
  lets_.clear();
  const int back = at_;
  at_ = line_end;
  while (now().kind == token_kind::line_end && is(ahead(1), "where") && !failed()) {
    at_ += 2;
    let_row let;
    let.name = expect_word_for("the name of a part");
    while (!failed() && !at("=") && now().kind != token_kind::line_end && now().kind != token_kind::end) ++at_;
    expect("=");
    let.body = at_;
    lets_.push(let);
    skip_to_end();
  }
  at_ = back;
}

// (i, j.in(0, n)) = of a definition or a rule; nothing in parentheses where its rank is 0.
constexpr flat<bound_axis> text_parser::head_indices() {
  flat<bound_axis> axes;
  sentence over;
  if (!failed() && accept("("))
    while (!failed() && !accept(")")) {
      if (axes.size() > 0) expect(",");
      if (!failed()) axes.push(domain(over));
    }
  expect("=");
  return axes;
}

// y(i, j.in(0, n)) = e, with what `where` and `custom` say of it; y = grad(loss, x) names a gradient.
constexpr void text_parser::definition_line() {
  const int start = at_;
  const name_id called = expect_name("a definition");
  if (failed()) return;
  const sentence name = text_of(called);
  if (row_of(called) != nullptr && row_of(called)->defined)
    wrong(start) << "definition " << name.text << ": two different definitions have this name";
  flat<bound_axis> axes = head_indices();
  if (failed()) return;
  const int end = line_end();
  collect_lets(end);
  defining_ = called;
  const node_id made = defined_as(called, axes, start, end);
  defining_ = -1;
  expect_parts_used();
  scope_.clear();
  lets_.clear();
  if (!failed()) tensors_.push({called, made, true, false});
  if (!failed() && has_custom(called)) custom_rules(called, made);
}

constexpr void text_parser::expect_parts_used() {
  for (const let_row& let : lets_)
    if (!failed() && !let.built_already)
      wrong(let.name) << "where " << spelled(tokens_[let.name]).text << ": nothing above uses it";
}

constexpr node_id text_parser::defined_as(name_id called, const flat<bound_axis>& axes, int start, int end) {
  const sentence name = text_of(called);
  if (axes.size() > max_rank) wrong(start) << "define: at most 8 indices";
  for (int i = 0; i < axes.size(); ++i) {
    if (axes[i].condition != no_node || axes[i].step != no_node)
      wrong(start) << "define: its indices are axes, or axes with a size such as t.in(0, n); other domains stand in a "
                      "reduction";
    for (int j = 0; j < i; ++j)
      if (axes[i].axis == axes[j].axis)
        wrong(start) << "definition " << name.text << ": index " << text_of(index_name(b_.g, axes[i].axis)).text
                     << " stands twice among its indices";
  }
  if (failed()) return no_node;
  if (axes.empty() && at_derivative() && closing(at_ + 1) + 1 == end) {
    const node_id made = derivative_call(called).node;
    if (!failed()) b_.give_name(made);
    return made;
  }
  if (has_custom(called)) custom_inputs(called);
  built body = expression();
  finish_line();
  if (failed()) return no_node;
  if (has_custom(called)) body.id = b_.graft(body.id, number_like(b_.g, body.id, 0));
  flat<bound_axis> list = axes;
  list.push({});  // never empty
  const node_id made = b_.definition(called, body.id, list.data(), axes.size());
  settle(start);
  expect_shallow(made, start);
  return made;
}

// Definitions of definitions are one expression to passes, which walk it by recursion.
constexpr void text_parser::expect_shallow(node_id definition, int start) {
  const graph& g = b_.g;
  while (depths_.size() < g.size()) {
    const node_id n = depths_.size();
    int deepest = 0;
    for (int k = 0; k < g[n].count; ++k) deepest = depths_[g.arg(n, k)] > deepest ? depths_[g.arg(n, k)] : deepest;
    depths_.push(deepest + 1);
  }
  if (!failed() && depths_[definition] > most_depth)
    wrong(start) << "definition " << text_of(label_of(definition)).text << ": more than " << most_depth
                 << " operations one within another, those of the definitions that it reads counted";
}

// Where the parenthesis that opens at `token` closes.
constexpr int text_parser::closing(int token) const {
  for (int open = 0, t = token; t < tokens_.size(); ++t) {
    open += is(tokens_[t], "(");
    open -= is(tokens_[t], ")");
    if (open == 0) return t;
  }
  return -1;
}

// output loss, grad(loss, x)
constexpr void text_parser::output_line() {
  any_output_ = true;
  ++at_;
  do {
    const int start = at_;
    const bool name = now().kind == token_kind::name && (is(ahead(1), ",") || ahead(1).kind != token_kind::symbol);
    const node_id made = one_output();
    if (failed()) return;
    if (name && b_.g.outputs.contains(made))
      wrong(start) << "compile: output " << text_of(label_of(made)).text << " is asked for twice";
    b_.g.outputs.push(b_.another(made));  // two gradients may be the same zero
  } while (!failed() && accept(","));
}
constexpr node_id text_parser::one_output() {
  const int start = at_;
  const bool called = now().kind == token_kind::name && row_of(known_name(now())) != nullptr;
  bool whole = called && (is(ahead(1), ",") || ahead(1).kind != token_kind::symbol);
  if (at_derivative()) {
    const int last = closing(at_ + 1);
    whole = last >= 0 && (is(tokens_[last + 1], ",") || tokens_[last + 1].kind != token_kind::symbol);
  }
  if (whole) {
    const tensor_part t = tensor_here();
    if (failed()) return no_node;
    const sentence label = text_of(label_of(t.node));
    return b_.output_of(t.node, label.text, label.size);
  }
  const built e = expression();
  if (failed()) return no_node;
  const node_id made = b_.scalar_output(e.id, "y", 1, true);
  settle(start);
  return made;
}

// Definitions that no later line names, in order.
constexpr void text_parser::default_outputs() {
  for (const tensor_row& row : tensors_)
    if (row.defined && !row.used) b_.g.outputs.push(row.node);
}

// A definition may have the elements from -1 on, say; an array, of an output or a derivative, has them from 0 on.
constexpr void text_parser::expect_whole_tensors() {
  const graph& g = b_.g;
  for (const auto* list : {&g.outputs, &g.differentiated})
    for (const node_id y : *list)
      for (int d = 0; d < tensor_rank(g, y); ++d)
        if (g.kind(y) == op::define && !is_number(g, g.arg(g.arg(y, 1 + d), 0), 0) && !failed())
          wrong(at_) << "definition " << text_of(label_of(y)).text << ": the range of index "
                     << text_of(index_name(g, g.arg(y, 1 + d))).text
                     << " starts elsewhere than at 0, expected a range from 0 of what is an output or is derived";
}

constexpr graph text_parser::placed_error() {
  const token& t = tokens_[place_ < tokens_.size() ? place_ : tokens_.size() - 1];
  const flat<char> said = b_.g.error;
  graph out;
  complaint{&out} << "line " << t.line << ", column " << t.column << ": ";
  for (const char c : said) out.error.push(c);
  return out;
}

}  // namespace sheaf::inline v0_1::detail
