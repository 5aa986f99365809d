// reference(outputs...): what compile(outputs...) makes, run by the slow evaluator that defines what is correct. For tests,
// and to see whether a surprising number is the expression's or a kernel's.
//
//   auto [l, dx] = reference(loss, grad(loss, x))(x = rows, cut = bounds);
#pragma once
#include <sheaf/api/compile.hpp>

namespace sheaf {

template <class... Outputs>
auto reference(Outputs...) {
  return compiled<Outputs...>(detail::call_signature<Outputs...>::program::words.words, jit::backend::reference);
}

}  // namespace sheaf
