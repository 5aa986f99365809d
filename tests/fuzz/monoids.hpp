// The folds that generated programs use, in both spellings. Each is associative over the values that it is given;
// those that are not commutative say so.
#pragma once
#include <string>

namespace sheaf::fuzz {

struct own_monoid_text {
  const char* name;
  int width;
  const char* text;  // after "monoid NAME"
  const char* cpp;   // the arguments of own_monoid<NAME>, and what follows
  bool exact;        // keeps small whole numbers exact
};

inline constexpr own_monoid_text own_monoids[] = {
    {"plus", 1, "(a, b) = a + b identity 0", "(0_c, [](auto a, auto b) { return a + b; })", true},
    {"hypotenuse", 1, "(a, b) = sqrt(a * a + b * b) identity 0 adjoint(element, result) = element / result",
     "(0_c, [](auto a, auto b) { return sqrt(a * a + b * b); }).adjoint([](auto element, auto result) { return element "
     "/ result; })",
     false},
    {"either", 1, "(a, b) = a + b - a * b identity 0", "(0_c, [](auto a, auto b) { return a + b - a * b; })", false},
    {"affine", 2, "((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order",
     "(tuple(1_c, 0_c), [](auto p, auto q) { auto [a, b] = p; auto [c, d] = q; return tuple(a * c, c * b + d); "
     "}).in_order()",
     false},
    {"welford", 3,
     "((n, p, v), (k, q, w)) = tuple(n + k, p + (q - p) * (k / maximum(n + k, 1)), "
     "v + w + (q - p) * (q - p) * n * (k / maximum(n + k, 1))) identity tuple(0, 0, 0)",
     "(tuple(0_c, 0_c, 0_c), [](auto s, auto t) { auto [n, p, v] = s; auto [k, q, w] = t; "
     "return tuple(n + k, p + (q - p) * (k / maximum(n + k, 1_c)), "
     "v + w + (q - p) * (q - p) * n * (k / maximum(n + k, 1_c))); })",
     false},
    {"scaled", 2,
     "((m, s), (n, t)) = tuple(maximum(m, n), s * exp(m - maximum(m, n)) + t * exp(n - maximum(m, n))) "
     "identity tuple(-1000, 0)",
     "(tuple(-1000_c, 0_c), [](auto p, auto q) { auto [m, s] = p; auto [n, t] = q; "
     "return tuple(maximum(m, n), s * exp(m - maximum(m, n)) + t * exp(n - maximum(m, n))); })",
     false},
    {"product", 4,
     "((a, b, c, d), (e, f, g, h)) = tuple(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h) "
     "identity tuple(1, 0, 0, 1) in_order",
     "(tuple(1_c, 0_c, 0_c, 1_c), [](auto p, auto q) { auto [a, b, c, d] = p; auto [e, f, g, h] = q; "
     "return tuple(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h); }).in_order()",
     false},
    {"latest", 2, "((a, b), (c, d)) = tuple(maximum(a, c), select(c >= a, d, b)) identity tuple(-1000, 0) in_order",
     "(tuple(-1000_c, 0_c), [](auto p, auto q) { auto [a, b] = p; auto [c, d] = q; "
     "return tuple(maximum(a, c), select(c >= a, d, b)); }).in_order()",
     true},
};
inline constexpr int own_monoid_count = static_cast<int>(sizeof(own_monoids) / sizeof(own_monoids[0]));

}  // namespace sheaf::fuzz
