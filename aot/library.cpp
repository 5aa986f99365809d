#include <sheaf/aot/library.hpp>

#include <sheaf/aot/runtime_text.hpp>
#include <sheaf/aot/signature.hpp>
#include <sheaf/aot/tables.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

std::string number(std::int64_t n) { return std::to_string(n); }

// The functions of a kernel, which the header declares.
std::string functions_of(const library& l, const planned_program& p) {
  const graph& g = p.of->g;
  const std::string name = l.name + "_" + p.of->name, program = "&sk_program_" + p.of->name;
  std::string call, extents, outputs, output_list;
  for (const argument& a : arguments_of(g)) {
    const bool has = a.rank > 0;
    call += "{" + a.name + ", " + (has && a.is_input ? a.name + "_extents" : "NULL") + ", " +
            (has ? a.name + "_strides" : "NULL") + "}, ";
    if (a.is_input) extents += "{NULL, " + (has ? a.name + "_extents" : std::string("NULL")) + ", NULL}, ";
    if (!a.is_input) outputs += (has ? a.name + "_extents" : std::string("NULL")) + ", ";
    if (!a.is_input && has)
      output_list += (output_list.empty() ? "" : ", ") + ("int64_t " + a.name + "_extents[" + number(a.rank) + "]");
  }
  const auto head = [&](const std::string& suffix, parameters which, const std::string& last) {
    const std::string list = declared_parameters(g, which, ", ");
    return "int " + name + suffix + "(" + list + (list.empty() ? "" : ", ") + last + ") {\n";
  };
  const std::string given = "  const sk_argument arguments[] = {" + extents + "{NULL, NULL, NULL}};\n";
  std::string text = head("", parameters::call, "const " + l.name + "_run *run") +
                     "  const sk_argument arguments[] = {" + call + "{NULL, NULL, NULL}};\n" +
                     "  sk_options options;\n  if (run == NULL) return sk_call(" + program + ", arguments, NULL);\n" +
                     "  options.workspace = run->workspace;\n  options.workspace_bytes = run->workspace_bytes;\n" +
                     "  options.parallel_for = run->parallel_for;\n  options.pool = run->pool;\n" +
                     "  options.threads = run->threads;\n  return sk_call(" + program + ", arguments, &options);\n}\n";
  text += head("_workspace", parameters::extents, "size_t *bytes") + given + "  return sk_workspace_bytes(" + program +
          ", arguments, bytes);\n}\n";
  if (!output_list.empty())
    text += head("_extents", parameters::extents, output_list) + given + "  int64_t *const outputs[] = {" + outputs +
            "NULL};\n  return sk_extents_of_outputs(" + program + ", arguments, outputs);\n}\n";
  return text;
}

std::string element_numbers() {
  std::string text = "enum {";
  for (const element_row& r : element_rows) text += std::string(" sk_") + r.name + ",";
  text.back() = ' ';
  return text + "};\n";
}

std::string sized(const char* name, int value) { return std::string("#define ") + name + " " + number(value) + "\n"; }

}  // namespace

std::string entry_name(const library& l, const planned_program& p, std::size_t code, const target::build_target& on) {
  std::string target = on.name;
  for (char& c : target)
    if (c == '-') c = '_';
  return l.name + "_" + p.of->name + "_" + std::to_string(code) + "_" + target;
}

std::string source_of(const library& l) {
  std::string tables, functions, targets;
  call_sizes sizes;
  for (const planned_program& p : l.programs) {
    std::vector<std::vector<std::string>> entries;
    for (const target::build_target* t : l.targets) {
      entries.emplace_back();
      for (std::size_t k = 0; k < p.codes.size(); ++k) entries.back().push_back(entry_name(l, p, k, *t));
    }
    const program_tables made = tables_of(p, entries);
    sizes.include(made.sizes);
    tables += made.text;
    functions += functions_of(l, p);
  }
  for (const target::build_target* t : l.targets)
    targets += "    {\"" + std::string(t->name) + "\", " + number(t->level) + "},\n";
  std::string upper = l.name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text = "#define " + upper + "_BUILDS\n#include \"" + l.name + ".h\"\n\n";
  text += runtime_text("sheaf_call.h") + element_numbers();
  text += sized("SK_SLOTS", sizes.slots + 1) + sized("SK_NUMBERS", sizes.numbers) + sized("SK_PLACES", sizes.places) +
          sized("SK_FORMULAS", sizes.formulas) + sized("SK_COSTS", sizes.costs);
  for (const char* part : {"tables.h", "calls.c", "memory.c", "pool.c"}) text += "\n" + runtime_text(part);
  text += "\nstatic const sk_target sk_targets[] = {\n" + targets + "};\n" + runtime_text("run.c") + "\n" + tables;
  text += "\n" + functions;
  text += "const char *" + l.name + "_status_name(int status) {\n  return status >= 0 && status < (int)(sizeof "
          "sk_status_names / sizeof sk_status_names[0]) ? sk_status_names[status] : \"unknown\";\n}\n";
  text += "const char *" + l.name + "_message(void) { return sk_sentence; }\n";
  text += "int " + l.name + "_use_target(const char *target) { return sk_use_target(target); }\n";
  text += "const char *" + l.name +
          "_target(void) {\n  const int t = sk_target_here();\n  return t < 0 ? \"none\" : sk_targets[t].name;\n}\n";
  return text;
}

}  // namespace sheaf::inline v0_1::aot
