#include <sheaf/aot/table_rows.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

std::string exact(double x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.17g", x);
  if (x != x) return "(0.0 / 0.0)";
  if (x - x != 0) return x > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  return text;
}

std::string integer_name(shapes::integer_function f) {
  if (f == shapes::truncated_remainder) return "sk_truncated_remainder";
  if (f == shapes::bits_of) return "sk_bit_width";
  for (const op_row& r : op_rows)
    if (r.integer == f) return std::string("sk_") + r.name;
  throw std::runtime_error("a formula has a function without a name");
}

}  // namespace

std::string decimal(std::int64_t n) { return std::to_string(n); }

std::string wide(std::int64_t n) {
  if (n == INT64_MIN) return "INT64_MIN";
  return n >= INT32_MIN && n <= INT32_MAX ? decimal(n) : "INT64_C(" + decimal(n) + ")";
}

int rows::add(const std::string& row) {
  const auto [at, fresh] = known_.try_emplace(row, static_cast<int>(list_.size()));
  if (fresh) list_.push_back(row);
  return at->second;
}

std::string rows::table(const std::string& type, const std::string& name, const std::string& nothing) const {
  std::string text = "static const " + type + " " + name + "[] = {";
  std::size_t column = 121;
  for (const std::string& row : list_) {
    if (column + row.size() > 118) text += "\n   ", column = 3;
    text += " " + row + ",";
    column += row.size() + 2;
  }
  return text + (list_.empty() ? nothing : "\n") + "};\n";
}

int operand_lists::add(const std::vector<int>& list) {
  const auto found = std::search(all_.begin(), all_.end(), list.begin(), list.end());
  const int at = static_cast<int>(found - all_.begin());
  if (found == all_.end()) all_.insert(all_.end(), list.begin(), list.end());
  return at;
}

std::string operand_lists::table(const std::string& name) const {
  std::string text = "static const int32_t " + name + "[] = {";
  for (std::size_t k = 0; k < all_.size(); ++k) text += (k % 16 == 0 ? "\n    " : " ") + decimal(all_[k]) + ",";
  return text + (all_.empty() ? "0" : "\n") + "};\n";
}

int expression_rows::row_of(const std::string& what, std::size_t count, std::int64_t first, std::int64_t attribute) {
  return expressions_.add("{" + what + ", " + decimal(static_cast<int>(count)) + ", " + decimal(first) + ", " +
                          wide(attribute) + "}");
}
int expression_rows::constant(std::int64_t n) { return row_of("sk_constant", 0, 0, n); }
int expression_rows::extent(int slot, int d) { return row_of("sk_extent", 0, slot, d); }
int expression_rows::applied(op what, const std::vector<int>& arguments) {
  return row_of(std::string("sk_") + row(what).name, arguments.size(), operands_.add(arguments), 0);
}

int expression_rows::expression(const graph& g, node_id n) {
  if (n == no_node) return -1;
  std::vector<int> list;
  switch (g.kind(n)) {
    case op::constant: return constant(g[n].attribute);
    case op::index: return row_of("sk_index", 0, 0, g[n].attribute);
    case op::extent: return row_of("sk_extent", 0, g[g.arg(n, 0)].attribute, g[n].attribute);
    case op::load: {
      if (g.kind(g.arg(n, 0)) != op::input) return -1;
      for (int k = 1; k < g[n].count; ++k) list.push_back(expression(g, g.arg(n, k)));
      if (std::ranges::find(list, -1) != list.end()) return -1;
      return row_of("sk_load", list.size(), operands_.add(list), g[g.arg(n, 0)].attribute);
    }
    default: break;
  }
  if (!is_elementwise(g.kind(n)) || row(g.kind(n)).integer == nullptr || is_floating(g.type(n))) return -1;
  if (g.type(g.arg(n, 0)) == element::u64) return -1;  // compares otherwise; only messages would say it
  for (int k = 0; k < g[n].count; ++k) {
    list.push_back(is_floating(g.type(g.arg(n, k))) ? -1 : expression(g, g.arg(n, k)));
    if (list.back() < 0) return -1;
  }
  return applied(g.kind(n), list);
}

int expression_rows::closed(const graph& g, node_id n) {
  const int e = expression(g, n);
  if (e < 0) throw std::runtime_error("kernel " + of_.name + ": an extent depends on data");
  return e;
}

int expression_rows::formula(class_formulas& c, shapes::formula_id f) {
  int& known = c.numbers[static_cast<std::size_t>(f)];
  if (known >= 0) return known;
  static constexpr const char* names[] = {"sk_number", "sk_place", "sk_plus", "sk_minus", "sk_times", "sk_over",
                                          "sk_least",  "sk_most",  "sk_log2", "sk_below", nullptr};
  static_assert(static_cast<int>(shapes::rule::integer) == 10, "names[] are those of the rules");
  const shapes::step& s = c.of.steps()[static_cast<std::size_t>(f)];
  const auto argument = [&](shapes::formula_id a) { return a == shapes::no_formula ? 0 : formula(c, a); };
  std::string text = "{";
  if (s.how == shapes::rule::extent)
    text += "sk_place, " + decimal(static_cast<std::int64_t>(s.number)) + ", 0, 0, 0";
  else if (s.how == shapes::rule::number)
    text += "sk_number, 0, 0, 0, " + exact(s.number);
  else {
    const std::string name = s.how == shapes::rule::integer ? "sk_of_integers + " + integer_name(c.of.function(s))
                                                            : names[static_cast<int>(s.how)];
    const int a = argument(s.a), b = argument(s.b), third = argument(s.c);
    text += name + ", " + decimal(a) + ", " + decimal(b) + ", " + decimal(third) + ", 0";
  }
  return known = formulas_.add(text + "}");
}

int expression_rows::amount(class_formulas& c, const shapes::amount& a) {
  if (a.record() == nullptr) return formulas_.add("{sk_number, 0, 0, 0, " + exact(a.estimate()) + "}");
  return formula(c, a.formula());
}

std::string expression_rows::tables(const std::string& name) const {
  return expressions_.table("sk_expression", "sk_expressions_" + name, "{0, 0, 0, 0}") +
         operands_.table("sk_operands_" + name) +
         formulas_.table("sk_formula", "sk_formulas_" + name, "{0, 0, 0, 0, 0.0}");
}

}  // namespace sheaf::inline v0_1::aot
