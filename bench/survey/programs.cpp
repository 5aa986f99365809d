// See programs.hpp: sums of rows, columns, slices and windows.
#include "drawing.hpp"

namespace sheaf::bench {

// Tall, square, wide, short rows: rows_ x columns_ elements.
void drawing::shape() {
  const double n = static_cast<double>(between(limits_.least, limits_.most));
  switch (below(5)) {
    case 0:
      columns_ = between(2, 16);
      break;
    case 1:
      columns_ = between(16, 64);
      break;
    case 2:
      columns_ = std::llround(std::sqrt(n));
      break;
    case 3:
      columns_ = between(64, 1024);
      break;
    default:
      columns_ = std::llround(n / static_cast<double>(between(1, 64)));
      break;
  }
  columns_ = std::max<size>(2, columns_);
  rows_ = std::max<size>(2, std::llround(n / static_cast<double>(columns_)));
}

// A term made of one element.
std::string drawing::term(const std::string& x) {
  if (integers()) return of({x, x, x + " * " + x, "abs(" + x + " - 3)", "maximum(" + x + ", 0)"});
  switch (below(9)) {
    case 0:
      return x + " * " + x;
    case 1:
      return "exp(" + x + ")";
    case 2:
      return "tanh(" + x + ")";
    case 3:
      return "abs(" + x + " - 0.5)";
    case 4:
      return "maximum(" + x + ", 0) * 2.5";
    default:
      return x;
  }
}
std::string drawing::fold() {
  return integers() ? of({"sum", "sum", "max", "min"}) : of({"sum", "sum", "sum", "mean", "max", "min", "logsumexp"});
}
std::string drawing::after(const std::string& e) {
  if (integers()) return chance(20) ? "2 * " + e + " + 1" : e;
  switch (below(6)) {
    case 0:
      return "tanh(" + e + ")";
    case 1:
      return "2 * " + e + " + 1";
    default:
      return e;
  }
}

// What is asked of the definition: its values, or values and gradients.
void drawing::result(const std::string& name, const std::string& axes, const std::string& by) {
  if (by.empty() || !derived_) {
    line("output " + name);
    return;
  }
  const std::string at = axes.empty() ? "" : "(" + axes + ")";
  if (axes.empty()) {
    line("output " + name + ", grad(" + name + ", " + by + ")");
    return;
  }
  line("loss = sum(over(" + axes + "), " + name + at + " * " + name + at + ")");
  line(chance(70) ? "output loss, grad(loss, " + by + ")" : "output " + name + ", grad(loss, " + by + ")");
}

void drawing::dense() {
  family("dense");
  shape();
  input("x", {rows_, columns_});
  const std::string weight = chance(30) ? (chance(50) ? " * w(f)" : " * w(t)") : "";
  if (!weight.empty()) input("w", {weight == " * w(f)" ? columns_ : rows_});
  const std::string e = term("x(t, f)") + weight;
  switch (below(4)) {
    case 0:
      line("y(t) = " + after(fold() + "(f, " + e + ")"));
      return result("y", "t", "x");
    case 1:
      line("y(f) = " + after(fold() + "(t, " + e + ")"));
      return result("y", "f", "x");
    case 2:
      line("y = " + after(fold() + "(over(t, f), " + e + ")"));
      return result("y", "", "x");
    default:
      line("y(f) = " + fold() + "(t, " + e + ")\nz(f) = " + fold() + "(t, " + term("x(t, f)") + ")");
      line("q(f) = y(f) * z(f)");
      return result("q", "f", "x");
  }
}

void drawing::dense3() {
  family("dense3");
  shape();
  const size batch = between(1, 64), steps = std::max<size>(1, rows_ / batch);
  input("x", {batch, steps, columns_});
  const std::string e = term("x(b, t, f)");
  switch (below(4)) {
    case 0:
      line("y(b, f) = " + after(fold() + "(t, " + e + ")"));
      return result("y", "b, f", "x");
    case 1:
      line("y(t) = " + after(fold() + "(over(b, f), " + e + ")"));
      return result("y", "t", "x");
    case 2:
      line("y(f) = " + after(fold() + "(over(b, t), " + e + ")"));
      return result("y", "f", "x");
    default:
      line("y(f, t) = " + after(fold() + "(b, " + e + ")"));
      return result("y", "f, t", "x");
  }
}

// Slices of rows by offsets or by bounds, gathered or not.
void drawing::slices() {
  shape();
  if (chance(50)) columns_ = 1, rows_ = between(limits_.least, limits_.most / 4);
  const bool offsets = chance(60), flat = columns_ == 1;
  const size many = between(2, static_cast<double>(rows_));
  family(offsets ? "offsets" : "ranges");
  input("x", flat ? std::vector<size>{rows_} : std::vector<size>{rows_, columns_});
  const std::string row = chance(25) ? "n(t)" : "t";
  if (row == "n(t)") input("n", {rows_}, data_kind::places, rows_);
  const std::string e = term(flat ? "x(" + row + ")" : "x(" + row + ", f)") + (chance(20) ? " * w(t)" : "");
  if (e.find("w(t)") != std::string::npos) input("w", {rows_});
  const std::string more = flat ? "" : ", f";
  if (offsets) {
    input("off", {many + 1}, data_kind::offsets, rows_);
    line("y(m.in(0, extent(off, 0) - 1)" + more + ") = " + after(fold() + "(t.in(off(m), off(m + 1)), " + e + ")"));
  } else {
    input("cut", {std::min<size>(many, 4096), 2}, data_kind::slices, rows_);
    line("y(m" + more + ") = " + after(fold() + "(t.in(cut(m, 0), cut(m, 1)), " + e + ")"));
  }
  result("y", "m" + more, "x");
}

void drawing::keyed() {
  family("keyed");
  shape();
  if (chance(60)) columns_ = 1, rows_ = between(limits_.least, limits_.most / 2);
  const size groups = between(2, std::min(1e6, static_cast<double>(rows_)));
  const bool flat = columns_ == 1;
  if (static_cast<double>(groups) * static_cast<double>(columns_) > limits_.most) columns_ = 2;
  input("x", flat ? std::vector<size>{rows_} : std::vector<size>{rows_, columns_});
  input("key", {rows_}, chance(40) ? data_kind::sorted_places : data_kind::places, groups);
  const std::string e = flat ? "x(t)" : "x(t, f)", more = flat ? "" : ", f";
  const std::string range = "m.in(0, " + text_of(groups) + ")", where = "t.where(key(t) == m)";
  if (chance(30) && !integers()) {
    line("s(" + range + more + ") = sum(" + where + ", " + e + ")");
    line("c(" + range + ") = count(t, key(t) == m)");
    line("y(" + range + more + ") = s(m" + more + ") / maximum(" + value_cast() + "(c(m)), 1)");
  } else {
    line("y(" + range + more + ") = " + after(fold() + "(" + where + ", " + term(e) + ")"));
  }
  result("y", "m" + more, "x");
}

void drawing::running() {
  family("running");
  shape();
  if (chance(40)) columns_ = 1, rows_ = between(limits_.least, limits_.most / 2);
  const bool flat = columns_ == 1, along = !flat && chance(50);
  input("x", flat ? std::vector<size>{rows_} : std::vector<size>{rows_, columns_});
  const std::string axis = along ? "f" : "t", range = axis + ".in(0, extent(x, " + (along ? "1" : "0") + "))";
  const std::string s =
      chance(70) ? "s.in(0, " + axis + " + 1)" : "s.in(" + axis + ", extent(x, " + (along ? "1" : "0") + "))";
  const std::string at = flat ? "x(s)" : along ? "x(t, s)" : "x(s, f)";
  const std::string head = flat ? range : along ? "t, " + range : range + ", f";
  line("y(" + head + ") = " + (integers() ? fold() : of({"sum", "sum", "max", "min", "mean", "logsumexp"})) + "(" + s +
       ", " + term(at) + ")");
  result("y", flat ? "t" : "t, f", "x");
}

void drawing::windows() {
  family("windows");
  shape();
  if (chance(40)) columns_ = 1, rows_ = between(limits_.least, limits_.most / 2);
  const bool flat = columns_ == 1, along = !flat && columns_ > 8 && chance(50);
  const size extent = along ? columns_ : rows_,
             wide = between(2, std::min<double>(static_cast<double>(extent) / 2, 1000));
  const size step = chance(70) ? 1 : between(1, static_cast<double>(wide));
  input("x", flat ? std::vector<size>{rows_} : std::vector<size>{rows_, columns_});
  const std::string axis = along ? "f" : "t", d = along ? "1" : "0";
  const std::string from = step == 1 ? axis : text_of(step) + " * " + axis;
  const bool padded = chance(25);
  const std::string sub = from + " + u" + (padded ? " - " + text_of(wide / 2) : "");
  const std::string count =
      "quotient(extent(x, " + d + ") - " + text_of(padded ? 1 : wide) + ", " + text_of(step) + ") + 1";
  const std::string range = axis + ".in(0, " + count + ")", x = padded ? "x.padded(0)" : "x";
  const std::string at = flat ? x + "(" + sub + ")" : along ? x + "(t, " + sub + ")" : x + "(" + sub + ", f)";
  const std::string t = padded ? "t.in(0, extent(x, 0))" : "t", f = padded ? "f.in(0, extent(x, 1))" : "f";
  const std::string head = flat ? range : along ? t + ", " + range : range + ", " + f;
  line("y(" + head + ") = " + fold() + "(u.in(0, " + text_of(wide) + "), " + term(at) + ")");
  result("y", flat ? "t" : "t, f", "x");
}

void drawing::pooling() {
  family("pooling");
  const size planes = between(1, 64), n = between(limits_.least, limits_.most), k = between(2, 6), s = between(1, 4);
  const size side = std::max<size>(k + 1, std::llround(std::sqrt(static_cast<double>(n / planes))));
  input("x", {planes, side, side});
  const auto range = [&](const char* axis, const char* d) {
    return std::string(axis) + ".in(0, quotient(extent(x, " + d + ") - " + text_of(k) + ", " + text_of(s) + ") + 1)";
  };
  const std::string window = "over(u.in(0, " + text_of(k) + "), v.in(0, " + text_of(k) + "))", step = text_of(s);
  line("y(c, " + range("i", "1") + ", " + range("j", "2") + ") = " + of({"mean", "max", "sum"}) + "(" + window + ", " +
       term("x(c, " + step + " * i + u, " + step + " * j + v)") + ")");
  result("y", "c, i, j", "x");
}

void drawing::bags() {
  family("bags");
  shape();
  const size many = between(64, limits_.most / 16), k = between(1, 32);
  if (static_cast<double>(many * k * columns_) > limits_.most * 4) columns_ = between(1, 32);
  input("x", {rows_, columns_});
  input("pick", {many, k}, data_kind::places, rows_);
  const std::string weight = chance(30) ? " * w(m, k)" : "";
  if (!weight.empty()) input("w", {many, k});
  line("y(m, f) = " + of({"sum", "mean", "max"}) + "(k, x(pick(m, k), f)" + weight + ")");
  result("y", "m, f", !weight.empty() && chance(30) ? "w" : "x");
}

void drawing::masked() {
  family("masked");
  shape();
  input("x", {rows_, columns_});
  const bool whole = chance(50);
  input("keep", whole ? std::vector<size>{rows_, columns_} : std::vector<size>{rows_}, data_kind::mask);
  const std::string where = whole ? "keep(t, f)" : "keep(t)";
  if (chance(50)) {
    line("y(f) = " + fold() + "(t.where(" + where + "), " + term("x(t, f)") + ")");
    return result("y", "f", "x");
  }
  line("y(t) = " + fold() + "(f.where(" + where + "), " + term("x(t, f)") + ")");
  result("y", "t", "x");
}

}  // namespace sheaf::bench
