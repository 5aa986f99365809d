// A program: the graph of some outputs, packed into a static array of words, so that no symbol of the object file
// carries an expression's type and nothing is built at run time but by unpacking.
// Input: output types. Output: packed_program. Shown by tests/symbols/gradient.cpp.
#pragma once
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/surface/custom_gradient.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// Definitions are built before outputs without a name look for a free one. What names `several` is as many outputs.
template <class... E>
constexpr void build_definitions(builder& b, outputs_<E...>);
template <class E>
constexpr void build_definitions(builder& b, E e) {
  if constexpr (requires { typename E::several; })
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
  requires(requires { typename E::several; })
constexpr void add_output(builder& b, E) {
  add_output(b, typename E::several{});
}
template <class E>
constexpr void add_output(builder& b, E e) {
  static_assert(Expression<E>, "compile: outputs are definitions, gradients, or expressions without free indices");
  constexpr auto label = label_of<E>();
  const node_id made = b.output(e, label.text, label.length(), true);
  if (b.g.outputs.contains(made)) b.fail() << "compile: output " << b.tensor_name(made) << " is asked for twice";
  b.g.outputs.push(made);
}
template <class... E>
constexpr void add_output(builder& b, outputs_<E...>) {
  (add_output(b, E{}), ...);
}

template <class... Outputs>
constexpr graph build_graph() {
  builder b;
  (build_definitions(b, Outputs{}), ...);
  (add_output(b, Outputs{}), ...);
  b.finish();
  return static_cast<graph&&>(b.g);
}

// A program of more words than this does not fit; 32768 words are about 6000 nodes.
SHEAF_HIDDEN inline constexpr int word_capacity = 32768;

template <const auto& Wide>
constexpr auto text_of() {
  fixed_string<static_cast<std::size_t>(Wide.size) + 1> s;
  for (int i = 0; i < Wide.size; ++i) s.text[i] = static_cast<char>(Wide.words[i]);
  return s;
}
template <const auto& Wide>
constexpr auto narrowed() {
  packed_words<Wide.size> out;
  for (int i = 0; i < Wide.size; ++i) out.words[i] = Wide.words[i];
  out.size = Wide.size;
  return out;
}

template <class... Outputs>
struct packed {
  static constexpr auto wide = pack<word_capacity>(build_graph<Outputs...>());
  // A program with a mistake in it has no inputs and outputs, so that the compiler says nothing beyond the sentence.
  static constexpr bool whole = [] {
    if constexpr (wide.failed)
      mistake<text_of<wide>()>();
    else
      static_assert(wide.size <= word_capacity, "compile: the program is too large; split it");
    return !wide.failed && wide.size <= word_capacity;
  }();
  static constexpr auto words = [] {
    if constexpr (whole)
      return narrowed<wide>();
    else
      return packed_words<5>{};
  }();
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
