// See programs.hpp: normalisations, products, kernels of points, sparse data, mixtures.
#include "drawing.hpp"

namespace sheaf::bench {

void drawing::normal() {
  family("normal");
  shape();
  input("x", {rows_, columns_});
  const bool along = chance(70);
  const std::string o = along ? "f" : "t", e = along ? "x(t, o)" : "x(o, f)", kept = along ? "(t)" : "(f)";
  const std::string axis = along ? "t" : "f";
  switch (below(4)) {
    case 0:
      line("y(t, f) = exp(x(t, f) - logsumexp(o, " + e + "))");
      break;
    case 1:
      line("y(t, f) = x(t, f) - logsumexp(o, " + e + ")");
      break;
    case 2:
      line("y(t, f) = x(t, f) * rsqrt(mean(o, " + e + " * " + e + ") + 1e-6)");
      break;
    default:
      line("centre(" + axis + ") = mean(o, " + e + ")");
      line("spread(" + axis + ") = mean(o, (" + e + " - centre" + kept + ") * (" + e + " - centre" + kept + "))");
      line("y(t, f) = (x(t, f) - centre" + kept + ") * rsqrt(spread" + kept + " + 1e-5)");
  }
  if (!derived_) return line("output y");
  input("g", {rows_, columns_});
  line("loss = sum(over(t, f), y(t, f) * g(t, f))\noutput loss, grad(loss, x)");
}

void drawing::normal_of_slices() {
  family("normal_of_slices");
  rows_ = between(limits_.least, limits_.most / 2);
  const size many = between(2, static_cast<double>(rows_) / 2);
  input("x", {rows_});
  if (chance(50)) {
    input("ids", {rows_}, chance(60) ? data_kind::sorted_places : data_kind::places, many);
    line("l(m.in(0, " + text_of(many) + ")) = logsumexp(t.where(ids(t) == m), x(t))");
    line("y(t) = exp(x(t) - l(ids(t)))");
  } else {
    input("ids", {rows_}, data_kind::sorted_places, many);
    input("off", {many + 1}, data_kind::offsets, rows_);
    line("l(m.in(0, extent(off, 0) - 1)) = logsumexp(t.in(off(m), off(m + 1)), x(t))");
    line("y(t) = exp(x(t) - l(ids(t)))");
  }
  result("y", "t", "x");
}

void drawing::losses() {
  family("losses");
  shape();
  input("x", {rows_, columns_});
  switch (below(3)) {
    case 0:
      input("target", {rows_}, data_kind::places, columns_);
      line("y = mean(t, logsumexp(f, x(t, f)) - x(t, target(t)))");
      break;
    case 1:
      input("z", {rows_, columns_});
      line("y = mean(over(t, f), (x(t, f) - z(t, f)) * (x(t, f) - z(t, f)))");
      break;
    default:
      input("z", {rows_, columns_});
      line("y(t) = sum(f, x(t, f) * z(t, f)) * rsqrt(sum(f, x(t, f) * x(t, f)) + 1e-6)");
      return result("y", "t", "x");
  }
  result("y", "", "x");
}

void drawing::product() {
  family("product");
  const double work = std::min(limits_.work, std::pow(between(1e5, limits_.work), 1.0));
  size i = between(2, 4096), k = between(2, 2048);
  size j = std::clamp<size>(std::llround(work / static_cast<double>(i * k)), 1, 4096);
  if (chance(30)) i = between(1e4, 1e5), k = between(4, 64), j = between(4, 64);
  const bool a_turned = chance(25), b_turned = chance(25), batch = chance(20);
  const size batches = batch ? between(2, 256) : 1;
  if (batch) i = std::max<size>(2, i / batches), j = std::min<size>(j, 256);
  const auto shaped = [&](size rows, size columns, bool turned) {
    std::vector<size> e = turned ? std::vector<size>{columns, rows} : std::vector<size>{rows, columns};
    if (batch) e.insert(e.begin(), batches);
    return e;
  };
  input("a", shaped(i, k, a_turned));
  input("b", shaped(k, j, b_turned));
  const std::string n = batch ? "n, " : "";
  const std::string a = "a(" + n + (a_turned ? "k, i)" : "i, k)"), b = "b(" + n + (b_turned ? "j, k)" : "k, j)");
  line("y(" + n + "i, j) = " + after("sum(k, " + a + " * " + b + ")"));
  result("y", n + "i, j", chance(50) ? "a" : "b");
}

void drawing::pairwise() {
  family("pairwise");
  const size d = between(1, 64), n = between(256, 8192);
  const size m = std::clamp<size>(std::llround(limits_.work / 4 / static_cast<double>(d * n)), 64, 8192);
  input("x", {n, d});
  input("z", {m, d});
  const std::string distance = "sum(d, (x(i, d) - z(j, d)) * (x(i, d) - z(j, d)))";
  switch (below(4)) {
    case 0:
      input("w", {m});
      line("y(i) = sum(j, exp(-" + distance + ") * w(j))");
      break;
    case 1:
      line("y(i) = min(j, " + distance + ")");
      break;
    case 2:
      line("y(i) = logsumexp(j, -" + distance + ")");
      break;
    default:
      line("y(i) = argmin(j, " + distance + ")\noutput y");
      return;
  }
  result("y", "i", "x");
}

void drawing::attention() {
  family("attention");
  const size n = between(64, 1024), d = between(8, 128), heads = between(1, 8);
  for (const char* name : {"q", "k", "v"}) input(name, {heads, n, d});
  const std::string range = chance(50) ? "s" : "s.in(0, t + 1)";
  line("p(h, t, s) = sum(d, q(h, t, d) * k(h, s, d)) * 0.125");
  line("top(h, t) = logsumexp(" + range + ", p(h, t, s))");
  line("y(h, t, e) = sum(" + range + ", exp(p(h, t, s) - top(h, t)) * v(h, s, e))");
  result("y", "h, t, e", of({"q", "k", "v"}));
}

void drawing::convolution() {
  family("convolution");
  const size c = between(1, 32), o = between(1, 32), k = between(2, 5);
  const double work = limits_.work / 4 / static_cast<double>(c * o * k * k);
  const size side = std::clamp<size>(std::llround(std::sqrt(work)), k + 4, 512);
  if (chance(40)) {
    input("x", {c, side * 8});
    input("w", {o, c, k});
    line("y(o, t.in(0, extent(x, 1) - " + text_of(k - 1) + ")) = sum(over(c, u), x(c, t + u) * w(o, c, u))");
    return result("y", "o, t", chance(50) ? "x" : "w");
  }
  input("x", {c, side, side});
  input("w", {o, c, k, k});
  const auto range = [&](const char* axis, const char* d) {
    return std::string(axis) + ".in(0, extent(x, " + d + ") - " + text_of(k - 1) + ")";
  };
  line("y(o, " + range("i", "1") + ", " + range("j", "2") +
       ") = sum(over(c, u, v), x(c, i + u, j + v) * w(o, c, u, v))");
  result("y", "o, i, j", chance(50) ? "x" : "w");
}

void drawing::stencil() {
  family("stencil");
  shape();
  input("x", {rows_ + 2, columns_ + 2});
  const std::string i = "i.in(1, extent(x, 0) - 1)", j = "j.in(1, extent(x, 1) - 1)";
  const std::string cross = "x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4 * x(i, j)";
  switch (below(3)) {
    case 0:
      line("y(" + i + ", " + j + ") = " + cross + "\noutput y");
      return;
    case 1:
      line("y = sum(over(" + i + ", " + j +
           "), (x(i + 1, j) - x(i, j)) * (x(i + 1, j) - x(i, j)) + "
           "(x(i, j + 1) - x(i, j)) * (x(i, j + 1) - x(i, j)))");
      break;
    default:
      line("y = sum(over(" + i + ", " + j + "), (" + cross + ") * (" + cross + "))");
  }
  result("y", "", "x");
}

void drawing::histogram() {
  family("histogram");
  rows_ = between(limits_.least, limits_.most);
  const size bins = between(2, 1e5);
  input("key", {rows_}, data_kind::places, bins);
  const std::string range = "m.in(0, " + text_of(bins) + ")";
  switch (below(4)) {
    case 0:
      line("y(" + range + ") = count(t, key(t) == m)\noutput y");
      return;
    case 1:
      input("x", {rows_}, data_kind::positive);
      line("y(m.in(0, 64)) = count(t, cast<i64>(floor(x(t) * 64)) == m)\noutput y");
      return;
    case 2:
      input("other", {rows_}, data_kind::places, 16);
      line("y(" + range + ", n.in(0, 16)) = count(t, key(t) == m && other(t) == n)\noutput y");
      return;
    default:
      input("x", {rows_});
      line("a(" + range + ") = sum(t.where(key(t) == m), x(t))\nb(" + range + ") = max(t.where(key(t) == m), x(t))");
      line("output a, b");
  }
}

void drawing::sparse() {
  family("sparse");
  const size entries = between(limits_.least, limits_.most / 2), few = between(2, 8);
  const size rows = chance(50) ? entries / few : between(16, static_cast<double>(entries) / 2);
  const size columns = between(16, 1e6);
  input("a", {entries});
  input("column", {entries}, data_kind::places, columns);
  input("x", {columns});
  if (chance(50)) {
    input("off", {rows + 1}, data_kind::offsets, entries);
    line("y(m.in(0, extent(off, 0) - 1)) = sum(e.in(off(m), off(m + 1)), a(e) * x(column(e)))");
  } else {
    input("row", {entries}, chance(60) ? data_kind::sorted_places : data_kind::places, rows);
    line("y(m.in(0, " + text_of(rows) + ")) = sum(e.where(row(e) == m), a(e) * x(column(e)))");
  }
  result("y", "m", chance(50) ? "x" : "a");
}

void drawing::regression() {
  family("regression");
  shape();
  input("x", {rows_, columns_});
  input("w", {columns_});
  input("b", {rows_}, data_kind::mask);
  line("z(t) = sum(f, x(t, f) * w(f))");
  line("y = mean(t, log1p(exp(-abs(z(t)))) + maximum(z(t), 0) - select(b(t), z(t), 0))");
  result("y", "", "w");
}

void drawing::mapped() {
  family("mapped");
  shape();
  input("x", {rows_, columns_});
  input("w", {columns_});
  const std::string e = after(term("x(t, f)") + " * w(f)");
  switch (below(3)) {
    case 0:
      line("y(t, f) = " + e + "\noutput y");
      return;
    case 1:
      line("y(f, t) = " + e + "\noutput y");
      return;
    default:
      input("n", {rows_}, data_kind::places, rows_);
      line("y(t, f) = x(n(t), f) * w(f)");
      return result("y", "t, f", "x");
  }
}

// Two families in a row: the second reads the first's result.
void drawing::chain() {
  family("chain");
  shape();
  rows_ = std::max<size>(64, rows_);
  input("x", {rows_, columns_});
  const std::string e = term("x(t, f)");
  switch (below(4)) {
    case 0:
      line("a(t, f) = x(t, f) - mean(o, x(t, o))");
      break;
    case 1:
      line("a(t, f) = " + e + " * rsqrt(1 + mean(o, x(o, f) * x(o, f)))");
      break;
    case 2:
      line("a(t.in(0, extent(x, 0)), f) = sum(s.in(0, t + 1), x(s, f))");
      break;
    default:
      input("n", {rows_}, data_kind::places, rows_);
      line("a(t, f) = " + e + " * x(n(t), f)");
  }
  const size groups = between(2, static_cast<double>(rows_) / 2);
  switch (below(4)) {
    case 0:
      input("off", {groups + 1}, data_kind::offsets, rows_);
      line("y(m.in(0, extent(off, 0) - 1), f) = " + fold() + "(t.in(off(m), off(m + 1)), a(t, f))");
      return result("y", "m, f", "x");
    case 1:
      input("key", {rows_}, data_kind::places, groups);
      line("y(m.in(0, " + text_of(groups) + "), f) = sum(t.where(key(t) == m), a(t, f))");
      return result("y", "m, f", "x");
    case 2:
      line("y(t.in(0, extent(x, 0) - 7), f) = " + fold() + "(u.in(0, 8), a(t + u, f))");
      return result("y", "t, f", "x");
    default:
      line("y(f) = " + fold() + "(t, a(t, f))");
      return result("y", "f", "x");
  }
}

drawn_program drawing::draw() {
  static constexpr element types[] = {element::f64, element::f64, element::f16, element::bf16};
  if (chance(25)) value_type_ = types[below(4)];
  if (chance(25)) place_type_ = element::i32;
  derived_ = chance(50);
  if (chance(8)) {  // of integers, where nothing else is needed
    static constexpr void (drawing::*of_integers[])() = {&drawing::dense,   &drawing::slices,  &drawing::keyed,
                                                         &drawing::running, &drawing::windows, &drawing::masked};
    value_type_ = chance(50) ? element::i32 : element::i64;
    derived_ = false;
    (this->*of_integers[below(6)])();
    return p_;
  }
  static constexpr struct {
    void (drawing::*draw)();
    int weight;
  } families[] = {{&drawing::dense, 10},
                  {&drawing::dense3, 6},
                  {&drawing::slices, 10},
                  {&drawing::keyed, 8},
                  {&drawing::running, 6},
                  {&drawing::windows, 7},
                  {&drawing::pooling, 4},
                  {&drawing::bags, 6},
                  {&drawing::masked, 5},
                  {&drawing::normal, 8},
                  {&drawing::normal_of_slices, 4},
                  {&drawing::losses, 5},
                  {&drawing::product, 6},
                  {&drawing::pairwise, 3},
                  {&drawing::attention, 3},
                  {&drawing::convolution, 3},
                  {&drawing::stencil, 4},
                  {&drawing::histogram, 4},
                  {&drawing::sparse, 5},
                  {&drawing::regression, 3},
                  {&drawing::mapped, 4},
                  {&drawing::chain, 10},
                  {&drawing::moved, 8},
                  {&drawing::layouts, 6},
                  {&drawing::joined, 5}};
  int all = 0;
  for (const auto& f : families) all += f.weight;
  size at = below(all);
  for (const auto& f : families) {
    at -= f.weight;
    if (at >= 0) continue;
    (this->*f.draw)();
    break;
  }
  return p_;
}

drawn_program draw_program(std::uint64_t seed, const drawing_limits& limits) { return drawing(seed, limits).draw(); }

}  // namespace sheaf::bench
