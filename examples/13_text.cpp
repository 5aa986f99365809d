// How do I write a program as text, for the C++ compiler or for a user at run time? It is the language without its C++,
// and what a program prints. Tensors take their element types and ranks from the arguments; a mistake says its line and
// column.
#include <sheaf/text.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto pooled = program<"pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))">;

int main() {
  const auto rows = support::counting(array<float, 2>(10, 4));
  const std::int64_t cut[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};
  const array<float, 2> means = compile(pooled)(arg<"x"> = rows, arg<"cut"> = cut);
  support::show("read by the compiler:", means);

  const char* const typed =
      "pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))\n"
      "loss = sum(over(m, f), pooled(m, f) * pooled(m, f))\n"
      "output loss, grad(loss, x)\n";
  const text_program step(typed);
  const std::vector<named_argument> given = {{"x", rows}, {"cut", cut}};
  const std::vector<any_array> results = step(given);
  std::printf("read at run time: %s is %g\n", results[0].name().c_str(),
              static_cast<double>(results[0].as<float, 0>()()));
  std::printf("%s[4][0] is %g\n", results[1].name().c_str(),
              static_cast<double>(results[1].as<const float, 2>()(4, 0)));
  std::puts(step.text(given).c_str());
  try {
    text_program("y(i) = sum(t, x(i, j))")({{"x", rows}});
  } catch (const error& e) {
    std::puts(e.what());
  }
}

/* Output:
read by the compiler:
  14 15 16 17
  16 17 18 19
  22 23 24 25
  28 29 30 31
read at run time: loss is 7896
dloss_dx[4][0] is 29.5714
input cut: i64[?, ?]
input x: f32[?, ?]
axis m: extent(cut, 0)
axis f: extent(x, 1)
axis t: extent(x, 0)
pooled(m, f) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, f)) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0))
loss = sum(over(m, f), pooled(m, f) * pooled(m, f))
dloss_dx(t, f) = sum(m.where(cut(m, 0) <= t && t < cut(m, 1)), (pooled(m, f) + pooled(m, f)) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0)))
output loss, dloss_dx
text: line 1, column 20: j: no index around here has this name, and no tensor
*/
