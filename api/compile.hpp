// compile(outputs...): a program that is called with named arguments.
//
//   auto step = compile(loss, grad(loss, x));
//   auto [l, dx] = step(x = rows, cut = bounds);             // arrays
//   step(x = rows, cut = bounds, loss = l, grad(loss, x) = dx);  // into the caller's views
#pragma once
#include <sheaf/api/frame.hpp>

// Where this header is: the prefix above it is the last place in which the code generator is looked for. A build tree
// says it in a header of its own, which is not installed, for its -I may be relative.
#if !defined(SHEAF_HEADERS) && __has_include(<sheaf/build_tree.hpp>)
#include <sheaf/build_tree.hpp>
#elif !defined(SHEAF_HEADERS)
#define SHEAF_HEADERS __FILE__
#endif

namespace sheaf::inline v0_1 {

using jit::set_code_generator;

// A program. Calls from several threads at a time are safe; it can be moved, not copied.
template <class... Outputs>
class compiled : public detail::program_frame<detail::call_signature<Outputs...>> {
  using signature = detail::call_signature<Outputs...>;

 public:
  SHEAF_INLINE explicit compiled(jit::program* program) : detail::program_frame<signature>(program) {}
  // Written out, for what the compiler declares by itself is a function of the object file, named after the expression.
  SHEAF_INLINE compiled(compiled&&) noexcept = default;
  SHEAF_INLINE compiled& operator=(compiled&&) noexcept = default;
  SHEAF_INLINE ~compiled() = default;

  // Arguments are `symbol = value`: every input, and any output that goes into a view of the caller's; what keep(...)
  // made stands for the arguments that it holds. Returns the other outputs: nothing, one array, or a tuple of arrays.
  // Throws sheaf::error; outputs are then untouched.
  template <class... B>
  SHEAF_INLINE auto operator()(B&&... arguments) const {
    return this->call(detail::here{}, arguments...);
  }
};

namespace detail {

// The words are a local constant, not the static member: that would be an object named after the expression. They are
// read before this returns.
template <class... Outputs>
SHEAF_INLINE auto make_compiled(jit::backend runs_on, const options& wanted = {}) {
  constexpr auto words = call_signature<Outputs...>::program::words;
  jit::note_headers(SHEAF_HEADERS);
  return compiled<Outputs...>(jit::make_program(words.words, runs_on, wanted));
}

}  // namespace detail

// One program of several outputs: definitions, gradients, expressions without free indices, value_and_grad(...). What
// they share is computed once. Kernels are made at the first call with arguments of a shape class, and cached.
template <class... Outputs>
  requires(!(std::same_as<Outputs, on_gpu> || ...))
SHEAF_INLINE auto compile(Outputs...) {
  static_assert(sizeof...(Outputs) > 0, "compile: expected at least one output");
  expect<detail::is_fine<detail::wide_program<Outputs...>>, detail::mistake_of<detail::wide_program<Outputs...>>{}>();
  return detail::make_compiled<Outputs...>(jit::backend::chosen);
}

// The same with decisions of the caller's: compile(options{.lanes = 16}, y). Those that no plan of the program can
// follow are an error at the first call, code::unsupported; lanes that are no power of two from 4 to 256 at once,
// code::bad_argument.
template <class... Outputs>
  requires(!(std::same_as<Outputs, on_gpu> || ...))
SHEAF_INLINE auto compile(const options& wanted, Outputs...) {
  static_assert(sizeof...(Outputs) > 0, "compile: expected at least one output");
  expect<detail::is_fine<detail::wide_program<Outputs...>>, detail::mistake_of<detail::wide_program<Outputs...>>{}>();
  return detail::make_compiled<Outputs...>(jit::backend::chosen, wanted);
}
template <class... Outputs>
SHEAF_INLINE auto compile(determinism asked, Outputs... outputs) {
  if constexpr (!(std::same_as<Outputs, on_gpu> || ...))
    expect<detail::is_fine<detail::wide_program<Outputs...>>, detail::mistake_of<detail::wide_program<Outputs...>>{}>();
  return compile(options{.determinism = asked}, outputs...);
}

}  // namespace sheaf::inline v0_1
