// What is printed reads back as the same program; each program here has what no other has. The coverage tests do so
// with theirs.
#include <support/reparsed.hpp>

namespace sheaf::test::round_trip_tests {
namespace {

graph parsed(const std::string& text) { return parse(text.data(), static_cast<int>(text.size())); }
std::string mistake_of(const std::string& text) {
  const graph g = parsed(text);
  return {g.error.data(), static_cast<std::size_t>(g.error.size())};
}

struct sample {
  const char* name;
  const char* text;
};

const sample samples[] = {
    {"gradients", R"(input x: f32[?, ?]
input cut: i64[?, 2]
pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))
loss = sum(over(m, f), pooled(m, f) * pooled(m, f))
slope = sum(over(t, f), grad(loss, x)(t, f) * tangent(x)(t, f))
output loss, grad(loss, x), grad(slope, x), jvp(pooled, x), vjp(pooled, x))"},
    {"monoids", R"(input x: f32[?, 4]
input n: i64[?]
monoid hyp(a, b) = sqrt(a * a + b * b) identity 0 adjoint(e, r) = e / r
monoid affine((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order
length(i) = fold<empty::nan>(hyp, f.in(0, n(i) % 4), x(i, f))
running(t.in(0, extent(x, 0))) = get<1>(fold(affine, s.in(0, t + 1), tuple(x(s, 0), x(s, 1))))
loss = sum(i, length(i) + running(i))
output grad(loss, x))"},
    {"accesses", R"(input x: f64[?, 4]
y(i.in(0, extent(x, 0) + 2)) = x.padded(0.5)(i - 1, 2) + x.clamped(i - 1, 1) + x.reflected(i - 1, 0) * x.wrapped(i - 3, 3)
z(i.in(0, extent(x, 0))) = mean(u.in(0, 3), x.skipping(i + u - 1, 0)) + select(x.inside(i, 3), x.checked(i, 3), 0)
loss = sum(i.in(0, extent(x, 0)), y(i + 2) * z(i))
output grad(loss, x))"},
    {"guarded", R"(input x: f32[?]
input y: f32[?]
z(i) = y(i) + x.padded(0)(i))"},
    {"policies", R"(input x: f32[?, ?]
y(i) = max<ties::first, empty::value<-1.5>>(f.where(x(i, f) > 0), x(i, f)) + min<ties::last>(f, x(i, f))
e(i) = mean<empty::error>(f.where(x(i, f) > 1), x(i, f)) + sum<accumulate<f64>>(f, x(i, f)) + prod<compensated>(f, x(i, f))
c = count(over(i, f), x(i, f) > 0 && !(x(i, f) >= 2)) + argmax(i, x(i, 0))
loss = sum(i, y(i) * e(i))
output grad(loss, x), c)"},
    {"numbers", R"(input x: f32[?]
input h: f16[?]
input n: i32[?]
a = 0.5 + 1e-3 * x(0) - 3 * (x(1) - -2) / inf + select(x(0) > 0, 0.1, 1)
b(i) = h(i) * 0.1 - 65504f16 + 2i32
c(i) = cast<i8>(x(i)) % 3 + quotient(i, 2) / 3 - 9223372036854775807
d(i) = pow(x(i), 3.25) + rsqrt(x(i)) + minimum(x(i), nan) + maximum(n(i), -1) * -0.0
e = cast<bool>(x(0)) || any(i, x(i) != x(i)) && (all(i, x(i) < 0) && true)
output a, b, c, d, e, grad(sum(i, h(i) * h(i)), h))"},
    {"custom", R"(input x: f32[?]
input w: f32[?]
rounded(i) = round(x(i))
custom rounded by x(i) = cotangent(rounded)(i) * w(i)
loss = sum(i, graft(rounded(i), x(i)) * stop_gradient(rounded(i)) + rounded(i))
dx = grad(loss, x)
output dx)"},
    {"names", R"(input `sum`: f32[?]
input `a name`: f32[?]
`output`(t) = `sum`(t) * `a name`(t)
y = sum(t', sum(t, `sum`(t) * exp(`output`(t'))))
z = sum(`max`, `sum`(`max`)))"},
    {"an index and a tensor", R"(input x: f32[?]
input t: f32
s = x(0) * 2
z(s') = x(s') + s + t
y = sum(t', x(t') * t)
output z, grad(y, t)
)"},
    {"parts", R"(input x: f32[?]
input v1: f32[?]
y(i) = v2 * v2 + sum(j, v3(j) * v3(j))
  where v2 = logsumexp(j, x(j))
  where v3(j) = exp(v1(j) - v2) * x(i)
output grad(sum(i, y(i)), x), y)"},
};

TEST(text, round_trip) {
  for (const sample& s : samples) {
    SCOPED_TRACE(s.name);
    const graph g = parsed(s.text);
    ASSERT_FALSE(g.failed()) << std::string(g.error.data(), static_cast<std::size_t>(g.error.size()));
    const std::vector<std::int32_t> words = packed_words_of(g);
    EXPECT_EQ(reparsed(reparsed(words)), reparsed(words));
  }
}

struct wrong {
  const char* text;
  const char* sentence;
};
const wrong mistakes[] = {
    {"y(i) = x(i) + 2",
     "line 1, column 8: tensor x: no function has this name, and its element type and rank are not known; declare it, "
     "as in input x: f32[?, ?], or define it above this line"},
    {"input x: f32[?]\ny = sum(t, x(i))", "line 2, column 14: i: no index around here has this name, and no tensor"},
    {"input x: f32[?]\ny = sum(t, x(t + 1))",
     "line 2, column 5: sum: index t has no extent: no tensor here is subscripted with t alone; give it a domain such "
     "as "
     "t.in(0, n)"},
    {"input n: i64[?]\ny = sum(i, cast<f32>(n(i)))\noutput grad(y, n)",
     "line 3, column 16: gradient of y with respect to n: tensor n is i64; gradients exist for floating tensors only"},
    {"input x: f32[?]\ny = max(x(0), x(1))",
     "line 2, column 5: max: expected an index, then what to fold, as in max(t, x(t)), max(t.in(lo, hi), x(t)) or "
     "max(over(m, t), "
     "y(m, t)); of two values, maximum(a, b)"},
    {"input x: f32[?]\ninput s: f32\ny = max(s, x(1))",
     "line 3, column 5: max: expected an index, then what to fold, as in max(t, x(t)), max(t.in(lo, hi), x(t)) or "
     "max(over(m, t), "
     "y(m, t)); of two values, maximum(a, b)"},
    {"input x: f32[?, ?]\ny = sum(over(s, t).where(s < t), x(s, t))",
     "line 2, column 19: over: ranges and conditions stand behind its indices, as in over(m, t.where(c)), found where "
     "behind all of them"},
    {"input x: f32[?]\nsum(i) = x(i)",
     "line 2, column 1: expected a definition, found sum, a word of the language; as a name it stands in backquotes"},
    {"input x: f32[?]\ny(i) = x(i)\noutput grad(y, x)",
     "line 3, column 8: grad of y: it has rank 1, expected a scalar; vjp takes a cotangent"},
    {"input x: f32[?]\ny(i) = x(i)\ny(j) = x(j) + 1",
     "line 3, column 1: definition y: two different definitions have this name"},
    {"input x: f32[?]\nx(i) = x(i)", "line 2, column 1: definition x: an input has this name"},
    {"input x: f32[?]\ny(i, i) = x(i)", "line 2, column 1: definition y: index i stands twice among its indices"},
    {"input x: f32[?]\ny = sum<ties::first>(i, x(i))",
     "line 2, column 5: sum: ties are a policy of max, min, argmax and argmin"},
    {"input x: f32[?]\ny = x(0.5)", "line 2, column 5: tensor x: subscript 0 is f64, expected an integer"},
    {"input x: f32[?]\ny = fold(m, i, x(i))",
     "line 2, column 10: fold: expected a monoid that a line above declares, found m"},
    {"input x: f32[?]\ny = sum(i, x(i)", "line 2, column 16: expected ), found the end of the line"},
    {"input x: f32[?]\ny = 2k",
     "line 2, column 6: expected an element type after the number, as in 2i32 or 0.5f16, found k"},
    {"input x: f32[?]\ny(i) = x(i) z", "line 2, column 13: expected the end of the line, found z"},
    {"input x: f31[?]", "line 1, column 10: tensor: this is not an element type of Sheaf (see docs/language.md)"},
    {"input x: f32[?]", "line 1, column 16: compile: expected at least one output"},
    {"input x: f32[?]\ny = ?", "line 2, column 5: expected an expression, found ?"},
    {"input x: f32[?]\ny(i) = v1\n  where v1 = v1 + x(i)", "line 3, column 14: v1: it is made of itself"},
    {"input x: f32[?]\ns = x(0)\nz(s) = x(s) + s",
     "line 3, column 3: index s: a tensor has this name; the index is written s'"},
    {"y = 9223372036854775808", "line 1, column 5: number: 9223372036854775808 does not fit i64"},
    {"y = 300i8", "line 1, column 5: number: 300 does not fit i8"},
    {"y = 1.5i32", "line 1, column 5: number: 1.5 is no whole number, as i32 asks"},
    {"custom nothing by x = 2; y = 1; z = 2",
     "line 1, column 8: custom: expected a definition of this text, found nothing; it has y, z"},
    {"input x: f64; custom x by x = 2", "line 1, column 22: custom: expected a definition of this text, found x"},
    {"y = 1\n  where u = 2", "line 2, column 9: where u: nothing above uses it"},
    {"where u = 2", "line 1, column 1: where: expected below a definition or a demand, whose part it is"},
    {"axis t: 3; axis t: 4; y = sum(t, 1)", "line 1, column 17: axis t: declared twice"},
    {"monoid m(a, b) = a + b identity 0 adjoint(e, r)\ny = 1",
     "line 1, column 35: monoid m: expected adjoint(element, result) = expression"},
    {"monoid m(a, b) = a + fold(m, t.in(0, 2), 1) identity 0\ny = fold(m, t.in(0, 2), 1)",
     "line 1, column 43: fold m: it is made of itself"},
    {"input x: f32[?]\ny(i) = exp(x(i), 2)", "line 2, column 8: exp: expected 1 argument, got 2"},
};

TEST(text, mistakes_have_a_place_and_the_surface_s_sentence) {
  for (const wrong& w : mistakes) EXPECT_EQ(mistake_of(w.text), w.sentence);
}

// Texts come from anybody: what is nested without end is a sentence, not the end of the stack.
TEST(text, nested_too_deep) {
  std::string deep = "input x: f32\ny = x", parts = "input x: f32\ny = v0";
  for (int k = 0; k < 5000; ++k) deep = "input x: f32\ny = (" + deep.substr(17) + ")";
  for (int k = 0; k < 5000; ++k) parts += "\n  where v" + std::to_string(k) + " = v" + std::to_string(k + 1) + " + x";
  const std::string words = "expression: nested deeper than 1000 levels; define parts of it";
  EXPECT_EQ(mistake_of(deep), "line 2, column 1005: " + words);
  EXPECT_EQ(mistake_of(parts + "\n  where v5000 = x"), "line 1002, column 16: " + words);
}

// Nothing that is cut off or torn apart may do more than say so.
TEST(text, pieces_of_programs) {
  for (const sample& s : samples) {
    const std::string text = s.text;
    for (std::size_t n = 0; n < text.size(); ++n) {
      parsed(text.substr(0, n));
      parsed(text.substr(n));
      parsed(text.substr(0, n) + text.substr(std::min(n + 3, text.size())));
    }
  }
}

}  // namespace
}  // namespace sheaf::test::round_trip_tests
