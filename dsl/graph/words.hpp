// The words of the text language (dsl/text): a tensor or an index of such a name stands in backquotes. Shown by
// tests/static/text.cpp.
#pragma once
#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1 {

namespace words {

SHEAF_HIDDEN inline constexpr const char* statements[] = {"input",  "axis",  "monoid", "where", "custom",
                                             "output", "check", "expect", "demand"};
SHEAF_HIDDEN inline constexpr const char* functions[] = {
    "true",   "false", "inf", "nan", "over",      "tuple",   "get",           "fold",  "cast",
    "extent", "grad",  "vjp", "jvp", "cotangent", "tangent", "stop_gradient", "graft"};
SHEAF_HIDDEN inline constexpr const char* compound_reductions[] = {"mean", "count", "logsumexp"};

constexpr bool same(const char* word, const char* text, int size) {
  int i = 0;
  for (; i < size && word[i] != 0; ++i)
    if (text[i] != word[i]) return false;
  return i == size && word[i] == 0;
}

}  // namespace words

constexpr bool is_text_word(const char* text, int size) {
  for (const char* word : words::statements)
    if (words::same(word, text, size)) return true;
  for (const char* word : words::functions)
    if (words::same(word, text, size)) return true;
  for (const char* word : composite_names)
    if (words::same(word, text, size)) return true;
  for (const char* word : words::compound_reductions)
    if (words::same(word, text, size)) return true;
  for (const monoid_row& r : monoid_rows)
    if (words::same(r.name, text, size)) return true;
  for (const op_row& r : op_rows)
    if (r.infix == nullptr && words::same(r.name, text, size)) return true;
  return false;
}

// Letters, digits and `_`, not beginning with a digit, and no word of the language.
constexpr bool is_plain_name(const char* text, int size) {
  for (int i = 0; i < size; ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return size > 0 && !is_text_word(text, size);
}

}  // namespace sheaf::inline v0_1
