// Whole numbers of narrow types, as extents may be computed in: what the type doesn't hold is cut off.
// Shown by tests/text/extents.cpp.
#pragma once
#include <sheaf/dsl/graph/half.hpp>
#include <sheaf/dsl/graph/ops.hpp>
#include <sheaf/jit/shapes/amount.hpp>

namespace sheaf::inline v0_1::shapes {

template <element Type>
std::int64_t wrapped(std::int64_t a, std::int64_t, std::int64_t) {
  return wrap_to(Type, a);
}

// What is left of the result of an operation; null: all of it, whatever it is.
inline integer_function wrapping(op kind, element type) {
  if (row(kind).result == result_type::boolean) return nullptr;
  switch (type) {
    case element::boolean: return wrapped<element::boolean>;
    case element::i8: return wrapped<element::i8>;
    case element::u8: return wrapped<element::u8>;
    case element::i16: return wrapped<element::i16>;
    case element::u16: return wrapped<element::u16>;
    case element::i32: return wrapped<element::i32>;
    case element::u32: return wrapped<element::u32>;
    default: return nullptr;
  }
}

}  // namespace sheaf::inline v0_1::shapes
