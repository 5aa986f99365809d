// parse(text): a program from its text. Definitions, gradients, outputs: docs/language.md has the grammar. It is what
// the printer writes, and the other way round: print(parse(print(g))) is print(g).
// Input: text, and what the arguments of a call say of tensors that the text does not declare. Output: a graph, whose
// `error` is a sentence with its place, "line 2, column 14: ...", where the text is wrong. Shown by
// tests/static/text.cpp, tests/text.
#pragma once
#include <sheaf/dsl/text/promises.hpp>

namespace sheaf::inline v0_1 {

// levels: how deep an expression may be nested, and how many operators may stand in a row; each takes some KB of stack.
constexpr graph parse(const char* text, int size, const text_argument* arguments = nullptr, int count = 0,
                      int levels = 1000) {
  return detail::text_parser(text, size, arguments, count, levels).run();
}

}  // namespace sheaf::inline v0_1
