// See programs.hpp: accesses that are moved at the edges, transposes, reshapes, and tensors made of others.
#include "drawing.hpp"

namespace sheaf::bench {

// Differences to neighbours that may lie beyond the edge; their energy.
void drawing::moved() {
  family("moved");
  shape();
  const bool flat = chance(30), roll = chance(25);
  const std::string how = of({"clamped", "wrapped", "reflected", "padded(0)"}), x = "x." + how;
  const std::string d = text_of(roll ? between(1, static_cast<double>(rows_ - 1)) : between(1, 2));
  if (flat) {
    rows_ = std::max<size>(8, rows_ * columns_);
    input("x", {rows_});
    line("a(i.in(0, extent(x, 0))) = " + x + "(i + " + d + ")" + of({" - x(i)", " * 2", " + " + x + "(i - 1)"}));
  } else {
    const std::string i = "i.in(0, extent(x, 0))", j = "j.in(0, extent(x, 1))";
    input("x", {rows_, columns_});
    const std::string four = x + "(i - 1, j) + " + x + "(i + 1, j) + " + x + "(i, j - 1) + " + x + "(i, j + 1)";
    line("a(" + i + ", " + j + ") = " +
         of({x + "(i + " + d + ", j)", x + "(i, j + 1) - x(i, j)", four + " - 4 * x(i, j)",
             x + "(i, j + 1) + " + x + "(i + 1, j)"}));
  }
  const std::string axes = flat ? "i" : "i, j";
  if (chance(50)) return result("a", axes, "x");
  line("y = sum(over(" + axes + "), a(" + axes + ") * a(" + axes + "))");
  result("y", "", "x");
}

// Dimensions in another order, and rows that are cut elsewhere.
void drawing::layouts() {
  family("layouts");
  shape();
  const size batch = between(2, 16), rows = std::max<size>(2, rows_ / batch), again = between(2, 64);
  const auto place = [](const char* p) {
    return "x(quotient(" + std::string(p) + ", extent(x, 1)), " + p + " % extent(x, 1))";
  };
  const std::string all = "p.in(0, extent(x, 0) * extent(x, 1))", scale = chance(30) ? "2.5 * " : "";
  switch (below(7)) {
    case 0:
      input("x", {rows_, columns_});
      line("y(f, t) = " + scale + "x(t, f)");
      return result("y", "f, t", "x");
    case 1:
      input("x", {batch, rows, columns_});
      line("y(t, b, f) = " + scale + "x(b, t, f)");
      return result("y", "t, b, f", "x");
    case 2:
      input("x", {batch, rows, columns_});
      line(of({"y(b, f, t) = ", "y(f, b, t) = ", "y(f, t, b) = "}) + scale + "x(b, t, f)");
      return line("output y");
    case 3:  // flatten
      input("x", {rows_, columns_});
      line("y(" + all + ") = " + scale + place("p"));
      return result("y", "p", "x");
    case 4:  // the same of a transposed matrix
      input("x", {rows_, columns_});
      line("y(" + all + ") = " + scale + "x(p % extent(x, 0), quotient(p, extent(x, 0)))");
      return result("y", "p", "x");
    case 5:  // a row becomes a matrix
      input("x", {rows_ * again});
      line("y(i.in(0, quotient(extent(x, 0), " + text_of(again) + ")), j.in(0, " + text_of(again) + ")) = " + scale +
           "x(i * " + text_of(again) + " + j)");
      return result("y", "i, j", "x");
    default:  // rows of another length
      input("x", {rows_ * again, columns_});
      line("y(i.in(0, quotient(extent(x, 0), " + text_of(again) + ")), j.in(0, " + text_of(again) +
           " * extent(x, 1))) = " + scale + "x(i * " + text_of(again) +
           " + quotient(j, extent(x, 1)), j % extent(x, 1))");
      return result("y", "i, j", "x");
  }
}

// concat, stack, an interleaving.
void drawing::joined() {
  family("joined");
  shape();
  input("x", {rows_, columns_});
  const std::string also = chance(30) ? "2 * " : "", by = of({"x", "z"});
  switch (below(5)) {
    case 0:
      input("z", {std::max<size>(1, rows_ / between(1, 3)), columns_});
      line("y(t.in(0, extent(x, 0) + extent(z, 0)), f) = " + also +
           "select(t < extent(x, 0), x(t, f), z(t - extent(x, 0), f))");
      return result("y", "t, f", by);
    case 1:
      input("z", {rows_, std::max<size>(1, columns_ / between(1, 3))});
      line("y(t, f.in(0, extent(x, 1) + extent(z, 1))) = " + also +
           "select(f < extent(x, 1), x(t, f), z(t, f - extent(x, 1)))");
      return result("y", "t, f", by);
    case 2:
      input("z", {rows_, columns_});
      line("y(t, k.in(0, 2), f) = " + also + "select(k == 0, x(t, f), z(t, f))");
      return result("y", "t, k, f", by);
    case 3:
      input("z", {rows_, columns_});
      line("y(t, f, k.in(0, 2)) = " + also + "select(k == 0, x(t, f), z(t, f))");
      return result("y", "t, f, k", by);
    default:
      input("z", {rows_, columns_});
      line("y(t, p.in(0, 2 * extent(x, 1))) = " + also +
           "select(p % 2 == 0, x(t, quotient(p, 2)), z(t, quotient(p, 2)))");
      return result("y", "t, p", by);
  }
}

}  // namespace sheaf::bench
