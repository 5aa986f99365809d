// reference(outputs...): what compile(outputs...) makes, run by the slow evaluator that defines what is correct. For
// tests, and to see whether a surprising number is the expression's or a kernel's.
//
//   auto [l, dx] = reference(loss, grad(loss, x))(x = rows, cut = bounds);
#pragma once
#include <sheaf/api/compile.hpp>

namespace sheaf::inline v0_1 {

template <class... Outputs>
SHEAF_INLINE auto reference(Outputs...) {
  expect<detail::is_fine<detail::wide_program<Outputs...>>, detail::mistake_of<detail::wide_program<Outputs...>>{}>();
  return detail::make_compiled<Outputs...>(jit::backend::reference);
}

}  // namespace sheaf::inline v0_1
