#include <sheaf/aot/tables.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <tuple>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/engine/words.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

using jit::name_text;
using jit::slot_text;
using jit::text_of;

std::string number(std::int64_t n) { return std::to_string(n); }

// C has no literal for the least number.
std::string wide(std::int64_t n) {
  if (n == INT64_MIN) return "INT64_MIN";
  return n >= INT32_MIN && n <= INT32_MAX ? number(n) : "INT64_C(" + number(n) + ")";
}

std::string exact(double x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.17g", x);
  if (x != x) return "(0.0 / 0.0)";
  if (x - x != 0) return x > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  return text;
}

// Rows of one table, equal ones once.
class rows {
 public:
  int add(const std::string& row) {
    const auto [at, fresh] = known_.try_emplace(row, static_cast<int>(list_.size()));
    if (fresh) list_.push_back(row);
    return at->second;
  }
  int size() const { return static_cast<int>(list_.size()); }
  // An array has at least one element.
  std::string table(const std::string& type, const std::string& name, const std::string& nothing) const {
    std::string text = "static const " + type + " " + name + "[] = {";
    std::size_t column = 121;
    for (const std::string& row : list_) {
      if (column + row.size() > 118) text += "\n   ", column = 3;
      text += " " + row + ",";
      column += row.size() + 2;
    }
    return text + (list_.empty() ? nothing : "\n") + "};\n";
  }

 private:
  std::vector<std::string> list_;
  std::map<std::string, int> known_;
};

// Lists of numbers, one after the other.
class operand_lists {
 public:
  int add(const std::vector<int>& list) {
    const auto found = std::search(all_.begin(), all_.end(), list.begin(), list.end());
    const int at = static_cast<int>(found - all_.begin());
    if (found == all_.end()) all_.insert(all_.end(), list.begin(), list.end());
    return at;
  }
  std::string table(const std::string& name) const {
    std::string text = "static const int32_t " + name + "[] = {";
    for (std::size_t k = 0; k < all_.size(); ++k) text += (k % 16 == 0 ? "\n    " : " ") + number(all_[k]) + ",";
    return text + (all_.empty() ? "0" : "\n") + "};\n";
  }

 private:
  std::vector<int> all_;
};

class table_writer {
 public:
  table_writer(const planned_program& p, const std::vector<std::vector<std::string>>& entries)
      : p_(p), g_(p.of->g), entries_(entries), name_(p.of->name) {}

  program_tables write() {
    std::string classes, described = arguments() + constraints() + demands();
    std::string list = "static const sk_class sk_classes_" + name_ + "[] = {\n";
    int place = 0;
    for (const planned_class& c : p_.classes) list += class_row(c, number(place++), classes);
    program_tables made;
    made.text += expressions_.table("sk_expression", "sk_expressions_" + name_, "{0, 0, 0, 0}");
    made.text += operands_.table("sk_operands_" + name_);
    made.text += formulas_.table("sk_formula", "sk_formulas_" + name_, "{0, 0, 0, 0, 0.0}");
    made.text += described + classes + list + "};\n" + entry_table() + program_row();
    sizes_.slots += g_.inputs.size() + g_.outputs.size();
    sizes_.places = std::max(1, first_place(g_, g_.inputs.size()));
    sizes_.formulas = std::max(1, formulas_.size());
    made.sizes = sizes_;
    return made;
  }

 private:
  // ---- expressions of a graph
  int expression(const graph& g, node_id n) {
    if (n == no_node) return -1;
    std::vector<int> list;
    const auto row_of = [&](const std::string& op, std::size_t count, std::int64_t first, std::int64_t attribute) {
      return expressions_.add("{" + op + ", " + number(static_cast<int>(count)) + ", " + number(first) + ", " +
                              wide(attribute) + "}");
    };
    switch (g.kind(n)) {
      case op::constant: return row_of("sk_constant", 0, 0, g[n].attribute);
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
    return row_of(std::string("sk_") + row(g.kind(n)).name, list.size(), operands_.add(list), 0);
  }
  int closed(const graph& g, node_id n) {
    const int e = expression(g, n);
    if (e < 0) throw std::runtime_error("kernel " + name_ + ": an extent depends on data");
    return e;
  }

  // ---- formulas of a class
  static std::string integer_name(shapes::integer_function f) {
    if (f == shapes::truncated_remainder) return "sk_truncated_remainder";
    if (f == shapes::bits_of) return "sk_bit_width";
    for (const op_row& r : op_rows)
      if (r.integer == f) return std::string("sk_") + r.name;
    throw std::runtime_error("a formula has a function without a name");
  }
  // By formula of the class its number in the table; -1 before it is needed.
  struct class_formulas {
    const shapes::decisions& of;
    std::vector<int> numbers;
  };
  int formula(class_formulas& c, shapes::formula_id f) {
    int& known = c.numbers[static_cast<std::size_t>(f)];
    if (known >= 0) return known;
    static constexpr const char* names[] = {"sk_number", "sk_place", "sk_plus", "sk_minus", "sk_times", "sk_over",
                                            "sk_least",  "sk_most",  "sk_log2", "sk_below", nullptr};
    const shapes::step& s = c.of.steps()[static_cast<std::size_t>(f)];
    const auto argument = [&](shapes::formula_id a) { return a == shapes::no_formula ? 0 : formula(c, a); };
    std::string text = "{";
    if (s.how == shapes::rule::extent)
      text += "sk_place, " + number(static_cast<std::int64_t>(s.number)) + ", 0, 0, 0";
    else if (s.how == shapes::rule::number)
      text += "sk_number, 0, 0, 0, " + exact(s.number);
    else {
      const std::string name = s.how == shapes::rule::integer ? "sk_of_integers + " + integer_name(c.of.function(s))
                                                              : names[static_cast<int>(s.how)];
      const int a = argument(s.a), b = argument(s.b), third = argument(s.c);
      text += name + ", " + number(a) + ", " + number(b) + ", " + number(third) + ", 0";
    }
    return known = formulas_.add(text + "}");
  }
  static_assert(static_cast<int>(shapes::rule::integer) == 10, "names[] are those of the rules");

  int amount(class_formulas& c, const shapes::amount& a) {
    if (a.record() == nullptr) return formulas_.add("{sk_number, 0, 0, 0, " + exact(a.estimate()) + "}");
    return formula(c, a.formula());
  }

  // ---- what is said of a program
  static std::string type_name(element type) { return std::string("sk_") + row(type).name; }

  std::string arguments() {
    std::string text = "static const sk_argument_row sk_inputs_" + name_ + "[] = {\n";
    for (const input_row& i : g_.inputs) {
      text += "    {" + quoted(name_text(g_, i.name)) + ", " + type_name(i.type) + ", " + number(row(i.type).bytes) +
              ", " + number(i.rank) + ", {";
      for (int d = 0; d < i.rank; ++d) text += wide(g_.static_extents[i.first_extent + d]) + ", ";
      text += "0}},\n";
    }
    text += (g_.inputs.size() == 0 ? "    {NULL, 0, 0, 0, {0}}\n" : "");
    text += "};\nstatic const sk_argument_row sk_outputs_" + name_ + "[] = {\n";
    for (const node_id o : g_.outputs) {
      const int rank = tensor_rank(g_, o);
      text += "    {" + quoted(jit::tensor_text(g_, o)) + ", " + type_name(g_.type(o)) + ", " +
              number(row(g_.type(o)).bytes) + ", " + number(rank) + ", {";
      for (int d = 0; d < rank; ++d) {
        graph scratch = g_;
        const node_id idx = g_.arg(o, 1 + d);
        text += number(closed(scratch, make(scratch, op::sub, g_.arg(idx, 1), g_.arg(idx, 0)))) + ", ";
      }
      text += "0}},\n";
    }
    return text + "};\n";
  }

  std::string source_text(node_id n) const {
    if (g_.kind(n) != op::extent) return text_of(print(g_, n));
    return "dimension " + number(g_[n].attribute) + " of " + jit::tensor_text(g_, g_.arg(n, 0));
  }

  std::string constraints() {
    std::string text = "static const sk_constraint sk_constraints_" + name_ + "[] = {\n";
    for (const constraint& c : g_.constraints)
      text += "    {" + quoted(name_text(g_, c.axis)) + ", " + quoted(source_text(c.left)) + ", " +
              quoted(source_text(c.right)) + ", " + number(expression(g_, c.left)) + ", " +
              number(expression(g_, c.right)) + "},\n";
    return text + "    {NULL, NULL, NULL, -1, -1}};\n";
  }

  std::string demands() {
    static constexpr const char* statuses[] = {"sk_extent_mismatch", "sk_bad_argument", "sk_empty_reduction"};
    std::string text = "static const sk_demand sk_demands_" + name_ + "[] = {\n";
    for (int k = 0; k < g_.demands.size(); ++k) {
      const demand& d = g_.demands[k];
      const bool is_closed = g_.free[d.wrong].empty();
      text += "    {" + std::string(statuses[static_cast<int>(d.of)]) + ", " +
              number(is_closed ? expression(g_, d.wrong) : -1) + ", " + number(expression(g_, d.limit)) + ", " +
              number(expression(g_, d.found)) + ", " + quoted(name_text(g_, d.operation)) + ", " +
              quoted(name_text(g_, d.expected)) + ", " +
              (d.found == no_node ? "NULL" : quoted(text_of(print(g_, d.found)))) + "},\n";
    }
    return text + "    {0, -1, -1, -1, NULL, NULL, NULL}};\n";
  }

  // ---- a class
  std::string columns(const planned_class& c, const std::string& name) const {
    std::string list;
    bool any = false;
    for (int i = 0; i < g_.inputs.size(); ++i) {
      list += number(c.made->form.columns(i)) + ", ";
      any = any || c.made->form.columns(i) > 0;
    }
    return any ? "static const int32_t " + name + "[] = {" + list + "0};\n" : "";
  }

  std::string workspaces(const planned_class& c, const std::string& name, call_sizes& sizes) {
    std::string extents, table;
    const planned& made = c.made->program;
    int at = 0;
    for (const workspace& w : made.workspaces) {
      int folded = 0;
      for (std::size_t d = 0; d < w.folded_storage.size(); ++d) folded |= w.folded_storage[d] ? 1 << d : 0;
      table += " {" + number(row(w.type).bytes) + ", " + number(static_cast<int>(w.extents.size())) + ", " +
               number(folded) + ", " + name + "_extents + " + number(at) + "},";
      for (const node_id e : w.extents) extents += number(closed(made.g, e)) + ", ", ++at;
    }
    sizes.slots = std::max(sizes.slots, static_cast<int>(made.workspaces.size()));
    sizes.numbers = std::max(sizes.numbers, 2 * at + 1);
    if (table.empty()) return "";
    return "static const int32_t " + name + "_extents[] = {" + extents + "0};\nstatic const sk_workspace " + name +
           "[] = {" + table + "};\n";
  }

  std::string check_row(const planned_class& c, const plan::check& k, const std::string& indices) {
    const graph& g = c.made->program.g;
    std::string text = "    {" + number(k.uniform ? -1 : k.ordinal) + ", " + number(k.demand) + ", " +
                       number(k.dimension) + ", " + number(k.uniform ? expression(g, k.outside) : -1);
    for (const node_id n : {k.least, k.most, k.low, k.high}) text += ", " + number(expression(g, n));
    return text + ", " + quoted(k.tensor) + ", " +
           (k.subscript == no_node ? "NULL" : quoted(text_of(print(g, k.subscript)))) + ", " + indices + ", " +
           number(static_cast<int>(k.indices.size())) + "},\n";
  }
  std::string checks(const planned_class& c, const std::string& name, call_sizes& sizes) {
    const planned& made = c.made->program;
    std::string list, indices;
    int with_slots = 0, at = 0;
    for (const plan::check& k : made.checks) {
      if (k.indices.size() > 24) throw std::runtime_error("kernel " + name_ + ": a check of more than 24 indices");
      list += check_row(c, k, name + "_indices + " + number(at));
      for (std::size_t i = 0; i < k.indices.size(); ++i, ++at)
        indices += "    {" + quoted(name_text(made.g, index_name(made.g, k.indices[i]))) + ", " +
                   number(expression(made.g, k.indices[i])) + ", " + number(expression(made.g, k.sizes[i])) + ", " +
                   number(expression(made.g, k.firsts[i])) + "},\n";
      with_slots += !k.uniform;
    }
    sizes.slots += with_slots;
    if (list.empty()) return "";
    return "static const sk_check_index " + name + "_indices[] = {\n" + indices +
           "    {NULL, -1, -1, -1}};\nstatic const sk_check " + name + "[] = {\n" + list + "};\n";
  }

  std::string class_row(const planned_class& c, const std::string& number_of, std::string& tables) {
    static constexpr const char* layouts[] = {"sk_dense", "sk_unit", "sk_any"};
    const std::string suffix = "_" + name_ + "_" + number_of;
    class_formulas f{*c.decided, std::vector<int>(c.decided->steps().size(), -1)};
    std::string comparisons, costs;
    for (const shapes::decision& d : c.decided->list()) {
      // in the order in which a walk over the formulas meets them
      const int a = formula(f, d.asked.a), b = formula(f, d.asked.b);
      comparisons += "{" + number(2 * a + d.asked.less) + ", " + number(2 * b + d.answer) + "}, ";
    }
    for (const shapes::amount& a : c.costs) costs += number(amount(f, a)) + ", ";
    call_sizes sizes;
    const std::string column_text = columns(c, "sk_columns" + suffix);
    const std::string workspace_text = workspaces(c, "sk_workspaces" + suffix, sizes);
    const std::string check_text = checks(c, "sk_checks" + suffix, sizes);
    sizes.costs = std::max(1, static_cast<int>(c.costs.size()));
    sizes_.include(sizes);
    tables += "static const sk_comparison sk_comparisons" + suffix + "[] = {" + comparisons + "{0, 0}};\n";
    tables += "static const int32_t sk_costs" + suffix + "[] = {" + costs + "0};\n";
    tables += column_text + workspace_text + check_text;
    const planned& made = c.made->program;
    return "    {" + std::string(layouts[static_cast<int>(c.layout)]) + ", " + number(c.code) + ", " +
           number(static_cast<int>(c.decided->size())) + ", " + number(static_cast<int>(made.workspaces.size())) +
           ", " + number(static_cast<int>(made.checks.size())) + ", " + number(static_cast<int>(c.costs.size())) +
           ", sk_comparisons" + suffix + ", " + (column_text.empty() ? "NULL" : "sk_columns" + suffix) + ", " +
           (workspace_text.empty() ? "NULL" : "sk_workspaces" + suffix) + ", " +
           (check_text.empty() ? "NULL" : "sk_checks" + suffix) + ", sk_costs" + suffix + "},\n";
  }

  std::string entry_table() const {
    std::string text, list;
    for (const auto& of_target : entries_)
      for (const std::string& entry : of_target) {
        text += "extern int32_t " + entry + "(const sheaf_call *call);\n";
        list += "    " + entry + ",\n";
      }
    return text + "static const sheaf_entry sk_entries_" + name_ + "[] = {\n" + list + "};\n";
  }
  std::string program_row() const {
    std::string text = "static const sk_program sk_program_" + name_ + " = {" + quoted(name_);
    for (const int n : {g_.inputs.size(), g_.outputs.size(), g_.constraints.size(), g_.demands.size(),
                        static_cast<int>(p_.classes.size()), static_cast<int>(p_.codes.size()), formulas_.size()})
      text += ", " + number(n);
    for (const char* table : {"inputs", "outputs", "constraints", "demands", "expressions", "operands", "formulas",
                              "classes", "entries"})
      text += std::string(", sk_") + table + "_" + name_;
    return text + "};\n";
  }

  const planned_program& p_;
  const graph& g_;
  const std::vector<std::vector<std::string>>& entries_;
  const std::string name_;
  rows expressions_, formulas_;
  operand_lists operands_;
  call_sizes sizes_;
};

}  // namespace

void call_sizes::include(const call_sizes& other) {
  slots = std::max(slots, other.slots);
  numbers = std::max(numbers, other.numbers);
  places = std::max(places, other.places);
  formulas = std::max(formulas, other.formulas);
  costs = std::max(costs, other.costs);
}

std::string quoted(const std::string& words) {
  std::string text = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text + "\"";
}

program_tables tables_of(const planned_program& p, const std::vector<std::vector<std::string>>& entries) {
  return table_writer(p, entries).write();
}

}  // namespace sheaf::inline v0_1::aot
