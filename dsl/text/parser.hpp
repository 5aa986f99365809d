// The parser of the text language: one pass over the lines, building through the same functions as the surface. Its
// parts: statements.hpp (lines), expression.hpp (operators, numbers, functions), reduction.hpp (reductions, domains,
// folds), tensor.hpp (names, subscripts, gradients). docs/language.md has the grammar. Shown by
// tests/static/text.cpp, tests/text.
#pragma once
#include <sheaf/dsl/surface/composites.hpp>
#include <sheaf/dsl/surface/folding.hpp>
#include <sheaf/dsl/surface/outside.hpp>
#include <sheaf/dsl/graph/number.hpp>
#include <sheaf/dsl/text/token.hpp>

namespace sheaf::inline v0_1 {

// What is known of a tensor that the text does not declare, from the arguments of a call.
struct text_argument {
  const char* name = nullptr;
  int size = 0;
  element type = element::f32;
  int rank = 0;
};

namespace detail {

SHEAF_HIDDEN inline constexpr const char* derivatives[] = {"grad", "vjp", "jvp"};
SHEAF_HIDDEN inline constexpr int most_named = 8;  // of the names that a mistake lists
SHEAF_HIDDEN inline constexpr int most_depth = 30000;  // of operations, through definitions

// Addresses that stand for inputs with automatic names, as types do in C++.
SHEAF_HIDDEN inline constexpr char text_symbols[256] = {};

class text_parser {
 public:
  constexpr text_parser(const char* text, int size, const text_argument* arguments, int count, int levels)
      : text_(text), arguments_(arguments), argument_count_(count), levels_(levels), tokens_(tokens_of(text, size)) {
    b_.speaks_of_text();
  }

  // A graph whose `error` is "line 2, column 14: SENTENCE" where the text is wrong.
  constexpr graph run();

 private:
  struct tensor_row {
    name_id name = 0;
    node_id node = no_node;
    bool defined = false;
    bool used = false;  // by a later line
  };
  struct axis_row {
    name_id name = 0;  // with any primes
    node_id size = no_node;
  };
  struct let_row {
    int name = 0;  // a token
    int body = 0;  // its first token
    built value{};
    bool built_already = false, busy = false;
  };
  struct operand_row {
    int name = 0;  // a token
    int place = 0;
  };
  struct monoid_line {
    name_id name = 0;
    int parameters = 0, combine = 0, identity = 0, adjoint_parameters = 0, adjoint = 0;  // first tokens; 0: none
    int width = 1;
    bool in_order = false, busy = false;
  };
  struct tensor_part {  // what can be subscripted, or whose value is meant
    node_id node = no_node;
    bool found = false;
  };
  struct written_derivative {  // one without a name of its own: the same again is the same tensor
    node_id y = no_node, x = no_node, along = no_node;
    bool forward = false;
    node_id made = no_node;
  };

  // ---- tokens
  constexpr const token& now() const { return tokens_[at_]; }
  constexpr const token& ahead(int k) const { return tokens_[at_ + k < tokens_.size() ? at_ + k : tokens_.size() - 1]; }
  constexpr bool is(const token& t, const char* word) const {
    if (t.quoted || t.kind == token_kind::string) return false;
    int i = 0;
    for (; i < t.size && word[i] != 0; ++i)
      if (text_[t.first + i] != word[i]) return false;
    return i == t.size && word[i] == 0 && t.size > 0;
  }
  constexpr bool at(const char* word) const { return is(now(), word); }
  constexpr bool at_derivative() const {
    bool here = false;
    for (const char* word : derivatives) here = here || at(word);
    return here && is(ahead(1), "(");
  }
  constexpr bool accept(const char* word) {
    const bool here = at(word);
    at_ += here;
    return here;
  }
  constexpr void expect(const char* word) {
    if (!accept(word)) wrong(at_) << "expected " << word << ", found " << spelled(now()).text;
  }
  constexpr sentence spelled(const token& t) const {
    if (t.kind == token_kind::end || t.kind == token_kind::line_end) return sentence{} << "the end of the line";
    sentence s;
    for (int i = 0; i < t.size && i < 60; ++i) s.text[s.size++] = text_[t.first + i];
    return s;
  }
  // Names of the program. One that is only looked for stays out of it: -1 where nothing has it.
  constexpr name_id name_of(const token& t) { return b_.name(text_ + t.first, t.size); }
  constexpr name_id known_name(const token& t) const { return b_.g.known_name(text_ + t.first, t.size); }
  constexpr bool same(const token& a, const token& b) const {
    bool equal = a.size == b.size && a.primes == b.primes;
    for (int i = 0; equal && i < a.size; ++i) equal = text_[a.first + i] == text_[b.first + i];
    return equal;
  }
  constexpr name_id expect_name(const char* what);
  constexpr int expect_word_for(const char* what);  // a name that is no name of the program: its token
  constexpr std::int64_t expect_integer();
  constexpr bool is_word(const token& t) const;  // of the language
  constexpr bool skip_line();                    // false at the end of the text

  // ---- mistakes: the first is kept, with its place
  constexpr complaint wrong(int token) {
    const complaint said = b_.fail();
    place(token);
    return said;
  }
  constexpr void place(int token) {
    if (place_ < 0) place_ = token;
  }
  // What the builder has found wrong since is at this token.
  constexpr void settle(int token) {
    if (b_.g.failed()) place(token);
  }
  constexpr bool failed() const { return place_ >= 0; }

  // ---- statements.hpp
  constexpr void statement();
  constexpr void input_line();
  constexpr void axis_line();
  constexpr void monoid_line_();
  constexpr void definition_line();
  constexpr flat<bound_axis> head_indices();
  constexpr node_id defined_as(name_id called, const flat<bound_axis>& axes, int start, int end);
  constexpr void output_line();
  constexpr node_id one_output();
  constexpr void default_outputs();
  constexpr void expect_whole_tensors();
  constexpr void collect_lets(int line_end);
  constexpr void expect_parts_used();
  constexpr int closing(int token) const;
  constexpr int line_end() const;
  constexpr void finish_line();
  constexpr bool deeper();  // false, with a sentence, where it is too deep
  constexpr void expect_shallow(node_id definition, int start);
  constexpr void skip_to_end();
  constexpr graph placed_error();

  // ---- promises.hpp
  constexpr bool has_custom(name_id definition) const;
  constexpr int next_custom(int from, name_id definition) const;
  constexpr void custom_inputs(name_id definition);
  constexpr void custom_rules(name_id definition, node_id made);
  constexpr void custom_line(node_id made);
  constexpr void expect_customs();
  constexpr void list_customs();
  constexpr void check_line();
  constexpr bool is_fixed(node_id n) const;
  constexpr void expect_line();
  constexpr void demand_line();
  constexpr name_id quoted_text();
  constexpr node_id positioned(node_id e, node_id any);

  // ---- expression.hpp
  constexpr built expression(int precedence = 0);
  constexpr built unary();
  constexpr built primary();
  constexpr built number_literal();
  constexpr built named();
  template <class Row>
  constexpr built call(const Row& row);
  constexpr built result_of(const op_row& row, const built* args);
  constexpr built result_of(const composite_row& row, const built* args);
  constexpr built applied(op kind, const built* args, int count);
  constexpr built cast_call();
  constexpr built wrapped_call();  // stop_gradient, graft
  constexpr bool element_name(element& type);
  constexpr bool word_value(built& value);
  constexpr bool let_value(built& value);
  constexpr bool operand_value(built& value);
  constexpr bool index_value(built& value);

  // ---- reduction.hpp
  constexpr bool reduction_call(built& value);
  constexpr void policies_of(policies& p, int& ties_count, int& empties, int& sums);
  constexpr void one_policy(policies& p, int& ties_count, int& empties, int& sums);
  constexpr bool domains(flat<bound_axis>& axes, sentence& over);
  constexpr bound_axis domain(sentence& over);
  constexpr node_id bound_value();
  constexpr node_id condition();
  constexpr node_id axis_of(const token& t);
  constexpr built fold_call(int component);
  constexpr built get_call();
  constexpr void tuple_values(flat<built>& list);
  constexpr monoid monoid_for(int which, const element* types);
  constexpr void rule(const monoid_line& m, int first, int groups, int parameters, own_monoid_row* rows,
                      const element* types, bool is_adjoint);

  // ---- tensor.hpp
  constexpr tensor_part tensor_here();  // a name, or grad(...) and its kin; nothing where none starts here
  constexpr tensor_part named_tensor();
  constexpr tensor_part derivative_call(name_id called);
  constexpr node_id differentiated_part(sentence& label);
  constexpr node_id by_part(const sentence& label);
  constexpr tensor_part companion(const char* stem);  // cotangent(y), tangent(x)
  constexpr node_id companion_of(node_id of, bool forward);
  constexpr built value_of(tensor_part t, int start);
  constexpr built access_of(tensor_part t, int start);
  constexpr void subscripts(flat<built>& list);
  constexpr node_id inside(node_id tensor, const flat<built>& list, int first);
  constexpr name_id label_of(node_id tensor) const;
  constexpr sentence text_of(name_id name) const;
  constexpr tensor_row* row_of(name_id name);

  const char* text_;
  const text_argument* arguments_;
  int argument_count_, levels_;
  flat<token> tokens_;
  int at_ = 0, place_ = -1, depth_ = 0;
  builder b_;
  flat<tensor_row> tensors_;
  flat<axis_row> axes_;
  flat<node_id> declared_;  // axes that have been told their size
  flat<node_id> scope_;     // indices that are bound around here, unbound nodes
  flat<let_row> lets_;
  flat<operand_row> operands_;
  flat<monoid_line> monoids_;
  flat<node_id> companions_;  // what cotangent(y) and tangent(x) were asked of: y, or -2 - x
  flat<written_derivative> derivatives_;
  flat<int> customs_;         // the tokens `custom` that start a line
  flat<int> depths_;          // by node: how many operations are one within another
  name_id defining_ = -1;
  bool any_output_ = false, takes_parts_ = false;  // may a line `where` follow?
  node_id custom_ = no_node, custom_cotangent_ = no_node;  // within a line `custom`
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
