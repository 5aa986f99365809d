#include <sheaf/aot/tables.hpp>

#include <algorithm>
#include <stdexcept>

#include <sheaf/aot/table_rows.hpp>
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/engine/words.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

using jit::name_text;
using jit::slot_text;
using jit::text_of;

constexpr auto& number = decimal;

class table_writer {
 public:
  table_writer(const planned_program& p, const std::vector<std::vector<std::string>>& entries,
               const std::vector<gpu_code>* gpu)
      : p_(p), g_(p.of->g), entries_(entries), gpu_(gpu), name_(p.of->name + (p.gpu ? "_gpu" : "")), rows_(*p.of) {}

  program_tables write() {
    std::string classes, described = arguments() + constraints() + demands();
    std::string list = "static const sk_class sk_classes_" + name_ + "[] = {\n";
    int place = 0;
    for (std::size_t k = 0; k < p_.slots.size(); ++k) classes += slots_of_code(k);
    for (const planned_class& c : p_.classes) list += class_row(c, number(place++), classes);
    program_tables made;
    const std::string launches = p_.gpu ? gpu_tables(p_, *gpu_, name_, rows_, sizes_) : entry_table();
    made.text = rows_.tables(name_) + described + classes + list + "};\n" + launches + program_row();
    sizes_.slots += g_.inputs.size() + g_.outputs.size();
    sizes_.places = std::max(1, first_place(g_, g_.inputs.size()));
    sizes_.formulas = std::max(1, rows_.formulas());
    made.sizes = sizes_;
    return made;
  }

 private:
  using class_formulas = expression_rows::class_formulas;
  int expression(const graph& g, node_id n) { return rows_.expression(g, n); }
  int closed(const graph& g, node_id n) { return rows_.closed(g, n); }

  // ---- what is said of a program
  static std::string type_name(element type) { return std::string("sk_") + row(type).name; }

  std::string arguments() {
    std::string text = "static const sk_argument_row sk_inputs_" + name_ + "[] = {\n";
    for (const input_row& i : g_.inputs) {
      text += "    {" + quoted(name_text(g_, i.name)) + ", " + type_name(i.type) + ", " + number(row(i.type).bytes) +
              ", " + number(i.rank) + ", {";
      for (int d = 0; d < i.rank; ++d) text += wide(g_.static_extents[i.first_extent + d]) + ", ";
      text += "0}, -1},\n";
    }
    text += (g_.inputs.size() == 0 ? "    {NULL, 0, 0, 0, {0}, -1}\n" : "");
    text += "};\nstatic const sk_argument_row sk_outputs_" + name_ + "[] = {\n";
    for (int k = 0; k < g_.outputs.size(); ++k) {
      const node_id o = g_.outputs[k];
      const int rank = tensor_rank(g_, o);
      text += "    {" + quoted(jit::tensor_text(g_, o)) + ", " + type_name(g_.type(o)) + ", " +
              number(row(g_.type(o)).bytes) + ", " + number(rank) + ", {";
      for (int d = 0; d < rank; ++d) {
        graph scratch = g_;
        const node_id idx = g_.arg(o, 1 + d);
        text += number(closed(scratch, make(scratch, op::sub, g_.arg(idx, 1), g_.arg(idx, 0)))) + ", ";
      }
      int updated = -1;
      for (const plan::update& u : p_.of->updates)
        if (u.output == k) updated = u.input;
      text += "0}, " + number(updated) + "},\n";
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

  std::string slots_name(std::size_t code) const { return "sk_slots_" + name_ + "_" + std::to_string(code); }
  std::string slots_of_code(std::size_t code) {
    std::string list;
    call_sizes sizes;
    for (const int slot : p_.slots[code]) {
      list += number(slot) + ", ";
      sizes.slots = std::max(sizes.slots, slot + 1);
    }
    sizes_.include(sizes);
    return "static const int32_t " + slots_name(code) + "[] = {" + list + "0};\n";
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
      const int a = rows_.formula(f, d.asked.a), b = rows_.formula(f, d.asked.b);
      comparisons += "{" + number(2 * a + d.asked.less) + ", " + number(2 * b + d.answer) + "}, ";
    }
    for (const shapes::amount& a : c.costs) costs += number(rows_.amount(f, a)) + ", ";
    call_sizes sizes;
    const std::string column_text = columns(c, "sk_columns" + suffix);
    const std::string workspace_text = workspaces(c, "sk_workspaces" + suffix, sizes);
    const std::string check_text = checks(c, "sk_checks" + suffix, sizes);
    sizes.costs = std::max(1, static_cast<int>(c.costs.size()));
    sizes_.include(sizes);
    tables += "static const sk_comparison sk_comparisons" + suffix + "[] = {" + comparisons + "{0, 0}};\n";
    tables += "static const int32_t sk_costs" + suffix + "[] = {" + costs + "0};\n";
    const std::string told = told_of(c, f, "sk_told" + suffix);
    tables += column_text + workspace_text + check_text + told;
    const planned& made = c.made->program;
    return "    {" + std::string(layouts[static_cast<int>(c.layout)]) + ", " + number(c.code) + ", " +
           number(static_cast<int>(c.decided->size())) + ", " + number(static_cast<int>(made.workspaces.size())) +
           ", " + number(static_cast<int>(made.checks.size())) + ", " + number(static_cast<int>(c.costs.size())) +
           ", sk_comparisons" + suffix + ", " + (column_text.empty() ? "NULL" : "sk_columns" + suffix) + ", " +
           (workspace_text.empty() ? "NULL" : "sk_workspaces" + suffix) + ", " +
           (check_text.empty() ? "NULL" : "sk_checks" + suffix) + ", sk_costs" + suffix + ", " +
           (told.empty() ? "NULL" : "sk_told" + suffix) + ", " +
           (c.code < 0 || p_.slots.empty() ? "NULL" : slots_name(static_cast<std::size_t>(c.code))) + "},\n";
  }
  // What kernels that programs share are told of the extents, call by call.
  std::string told_of(const planned_class& c, class_formulas& f, const std::string& name) {
    std::string list;
    if (c.code < 0) return list;
    for (const auto& call : c.calls)
      for (const shapes::amount& a : call->formulas) list += number(rows_.amount(f, a)) + ", ";
    return list.empty() ? list : "static const int32_t " + name + "[] = {" + list + "0};\n";
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
    std::string text = "static const sk_program sk_program_" + name_ + " = {" + quoted(p_.of->name);
    for (const int n : {g_.inputs.size(), g_.outputs.size(), g_.constraints.size(), g_.demands.size(),
                        static_cast<int>(p_.classes.size()), static_cast<int>(p_.codes.size()), rows_.formulas()})
      text += ", " + number(n);
    for (const char* table : {"inputs", "outputs", "constraints", "demands", "expressions", "operands", "formulas",
                              "classes"})
      text += std::string(", sk_") + table + "_" + name_;
    return text + (p_.gpu ? ", NULL, sk_codes_" + name_ : ", sk_entries_" + name_ + ", NULL") + "};\n";
  }

  const planned_program& p_;
  const graph& g_;
  const std::vector<std::vector<std::string>>& entries_;
  const std::vector<gpu_code>* const gpu_;
  const std::string name_;
  expression_rows rows_;
  call_sizes sizes_;
};

}  // namespace

void call_sizes::include(const call_sizes& other) {
  slots = std::max(slots, other.slots);
  numbers = std::max(numbers, other.numbers);
  places = std::max(places, other.places);
  formulas = std::max(formulas, other.formulas);
  costs = std::max(costs, other.costs);
  words = std::max(words, other.words);
  launches = std::max(launches, other.launches);
  told = std::max(told, other.told);
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
  return table_writer(p, entries, nullptr).write();
}
program_tables tables_of(const planned_program& p, const std::vector<gpu_code>& codes) {
  return table_writer(p, {}, &codes).write();
}

}  // namespace sheaf::inline v0_1::aot
