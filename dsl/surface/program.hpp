// A program: the graph of some outputs, packed into a static array of words, so that no symbol of the object file
// carries an expression's type and nothing is built at run time but by unpacking.
// Input: output types. Output: packed_program. Shown by tests/symbols/gradient.cpp.
#pragma once
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/surface/custom_gradient.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// What is compiled, one after the other: what names `several` is as many outputs.
template <class... E>
struct output_list {};
template <class... A, class... B>
constexpr output_list<A..., B...> operator+(output_list<A...>, output_list<B...>) {
  return {};
}
template <class E>
constexpr auto outputs_in(E);
template <class... E>
constexpr auto outputs_in(outputs_<E...>) {
  return (output_list<>{} + ... + outputs_in(E{}));
}
template <class E>
constexpr auto outputs_in(E) {
  if constexpr (has_several<E>)
    return outputs_in(typename E::several{});
  else
    return output_list<E>{};
}
// Where a symbol stands among them, or -1.
template <class Symbol, class... E>
constexpr int place_among(output_list<E...>) {
  int place = -1, k = 0;
  ((place = place < 0 && std::is_same_v<Symbol, E> ? k : place, ++k), ...);
  return place;
}

// Definitions are built before outputs without a name look for a free one. What names `several` is as many outputs.
template <class... E>
constexpr void build_definitions(builder& b, outputs_<E...>);
template <class E>
constexpr void build_definitions(builder& b, E e) {
  if constexpr (has_several<E>)
    build_definitions(b, typename E::several{});
  else if constexpr (!Tensor<E>)
    b(e);
  else if constexpr (!is_gradient<E>)
    E::node(b);
}
template <class... E>
constexpr void build_definitions(builder& b, outputs_<E...>) {
  (build_definitions(b, E{}), ...);
}

// Expressions that are not tensors are outputs named y, y1, y2, ...
template <class... E>
constexpr void add_output(builder& b, outputs_<E...>);
template <class E>
  requires has_several<E>
constexpr void add_output(builder& b, E) {
  add_output(b, typename E::several{});
}
template <class E>
constexpr void add_output(builder& b, E e) {
  static_assert(Expression<E>, "compile: outputs are definitions, gradients, or expressions without free indices");
  constexpr auto label = label_of<E>();
  const node_id made = b.output(e, label.text, label.length(), true);
  if (Tensor<E> && !b.asks_for(&type_tag<E>))
    b.fail() << "compile: output " << b.tensor_name(made) << " is asked for twice";
  b.g.outputs.push(b.another(made));  // two gradients may be the same zero
}
template <class... E>
constexpr void add_output(builder& b, outputs_<E...>) {
  (add_output(b, E{}), ...);
}

template <class E>
inline constexpr bool is_output = Expression<E> || has_several<E>;
template <class... E>
inline constexpr bool is_output<outputs_<E...>> = (is_output<E> && ... && true);
template <class E>
constexpr void refuse_output(builder& b) {
  if constexpr (is_output<E>)
    return;
  else if constexpr (is_refused<E>)
    b.fail() << said_already;
  else if constexpr (requires { E::head; })
    b.fail() << "compile: definition " << E::head.text << " has no expression; write define<\"" << E::head.text
             << "\">(indices...) = expression";
  else
    b.fail() << "compile: outputs are definitions, gradients, or expressions without free indices";
}

template <class... Outputs>
constexpr graph build_graph() {
  builder b;
  if constexpr ((is_output<Outputs> && ... && true)) {
    (build_definitions(b, Outputs{}), ...);
    (add_output(b, Outputs{}), ...);
    b.finish();
  } else {
    (refuse_output<Outputs>(b), ...);
  }
  return static_cast<graph&&>(b.g);
}

// A program of more words than this does not fit; 32768 words are about 6000 nodes.
SHEAF_HIDDEN inline constexpr int word_capacity = 32768;

template <const auto& Wide>
constexpr auto narrowed() {
  packed_words<Wide.size> out;
  for (int i = 0; i < Wide.size; ++i) out.words[i] = Wide.words[i];
  out.size = Wide.size;
  return out;
}

template <class Program>
SHEAF_HIDDEN inline constexpr bool is_whole = !Program::wide.failed && Program::wide.size <= word_capacity;
// Is there nothing to say of it?
template <class Program>
SHEAF_HIDDEN inline constexpr bool is_fine =
    is_whole<Program> || (Program::wide.failed && Program::wide.size == 1 && Program::wide.words[0] == *said_already);
// What is wrong with a program that is not whole.
template <class Program>
struct mistake_of {
  constexpr sentence operator()() const {
    sentence s;
    if (!Program::wide.failed) return s << "compile: the program is too large; split it";
    for (int i = 0; i < Program::wide.size && s.size < 400; ++i)
      s.text[s.size++] = static_cast<char>(Program::wide.words[i]);
    return s;
  }
};

// The words of Program::wide, or the sentence that says what is wrong with it.
template <class Program>
struct program_words {
  // A program with a mistake in it has no inputs and outputs, so that the compiler says nothing beyond the sentence.
  // compile(...) expects it to be whole before it asks for anything else: then the compiler's way to the mistake is
  // short.
  static constexpr bool whole = is_whole<Program>;
  static constexpr auto words = [] {
    expect<is_fine<Program>, mistake_of<Program>{}>();
    if constexpr (is_whole<Program>)
      return narrowed<Program::wide>();
    else
      return packed_words<header_words>{};
  }();
  // Its arguments: inputs, then outputs.
  static constexpr auto rows = signature_of<words.words[1] + words.words[3]>(words.words);
};

template <class... Outputs>
constexpr auto packed_of() {
  return pack<word_capacity>(build_graph<Outputs...>());
}
// Where a program is no constant, compilers would write out all of its types, so that is asked before. g++ keeps what a
// call without arguments is worth; clang evaluates it twice, if nobody says that its limit has been raised.
#if defined(__clang__) && defined(SHEAF_LIMITS_RAISED)
template <class... Outputs>
concept is_constant_program = true;
#else
template <class... Outputs>
concept is_constant_program = requires { typename std::bool_constant<(packed_of<Outputs...>(), true)>; };
#endif
constexpr auto no_constant() {
  constexpr sentence said = sentence{} << "compile: a large program needs the flag "
#if defined(__clang__)
                                       << "-fconstexpr-steps=268435456"
#else
                                       << "-fconstexpr-ops-limit=1073741824, and with -fsanitize=undefined also "
                                       << "-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute"
#endif
                                       << "; it has at most 256 indices";
  packed_program<said.size> out;
  for (int i = 0; i < said.size; ++i) out.add(said.text[i]);
  out.failed = true;
  return out;
}
template <class... Outputs>
struct wide_program {
  static constexpr auto wide = [] {
    if constexpr (is_constant_program<Outputs...>)
      return packed_of<Outputs...>();
    else
      return no_constant();
  }();
};
template <class... Outputs>
struct packed : program_words<wide_program<Outputs...>> {

  // The input or, after all inputs, the output that a symbol stands for; -1: none. A symbol is its expression:
  // automatic names say nothing of it, and a definition of the same name that is made of something else is another.
  template <class Symbol>
  static constexpr int slot_of() {
    constexpr const auto& wide = wide_program<Outputs...>::wide;
    using known = program_words<wide_program<Outputs...>>;
    constexpr int inputs = known::rows.inputs;
    if constexpr (has_symbol<Symbol>) {
      for (int i = 0; i < inputs && i < wide.symbol_capacity; ++i)
        if (wide.symbols[i] == Symbol::symbol) return i;
    } else if constexpr (has_value_type<Symbol>) {
      for (int i = 0; i < inputs; ++i)
        if (known::rows.rows[i].called(Symbol::label.text, Symbol::label.length()) &&
            (i >= wide.symbol_capacity || wide.symbols[i] == nullptr))
          return i;
    }
    constexpr int place = place_among<Symbol>((output_list<>{} + ... + outputs_in(Outputs{})));
    return place < 0 ? place : inputs + place;
  }
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
