#include <sheaf/aot/library.hpp>
#include <sheaf/aot/runtime_text.hpp>
#include <sheaf/aot/signature.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// In a comment of C.
std::string commented(const std::string& text) {
  std::string made = " * ";
  for (std::size_t k = 0; k < text.size(); ++k) {
    made += text[k];
    if (text[k] == '\n' && k + 1 < text.size()) made += " *   ";
    if (text[k] == '*' && k + 1 < text.size() && text[k + 1] == '/') made += ' ';
  }
  return made + (made.back() == '\n' ? "" : "\n");
}

std::string argument_words(const program& p) {
  const graph& g = p.g;
  std::string text;
  const auto list = arguments_of(g);
  for (std::size_t s = 0; s < list.size(); ++s) {
    const argument& a = list[s];
    text += (a.is_input ? "input " : "output ") + a.name;
    if (a.name != a.as_known) text += " (" + a.as_known + ")";
    text += std::string(": ") + row(a.type).name;
    if (is_half(a.type)) text += ", as its bits";
    if (a.rank == 0) text += ", one number";
    for (int d = 0; d < a.rank; ++d) {
      text += d == 0 ? " [" : ", ";
      if (a.is_input) {
        const std::int64_t n = g.static_extents[g.inputs[static_cast<int>(s)].first_extent + d];
        text += n == dynamic ? "any" : std::to_string(n);
      } else {
        const node_id idx = g.arg(g.outputs[static_cast<int>(s) - g.inputs.size()], 1 + d);
        graph scratch = g;
        const node_id size = make(scratch, op::sub, g.arg(idx, 1), g.arg(idx, 0));
        text += jit::text_of(print(scratch, size));
      }
    }
    text += a.rank > 0 ? "]" : "";
    for (const plan::update& u : p.updates)
      if (static_cast<int>(s) == g.inputs.size() + u.output)
        text += ", may lie where " + list[static_cast<std::size_t>(u.input)].name + " lies";
    text += "\n";
  }
  return text;
}

std::string declarations(const library& l, const planned_program& p) {
  const graph& g = p.of->g;
  const std::string name = l.name + "_" + p.of->name;
  std::string text = "/*\n" + commented(jit::text_of(print(g))) + " *\n" + commented(argument_words(*p.of)) + " */\n";
  const auto function = [&](const std::string& suffix, parameters which, const std::string& last) {
    const std::string start = upper(l.name) + "_API int " + name + suffix + "(";
    const std::string between = ",\n" + std::string(start.size(), ' ');
    const std::string list = declared_parameters(g, which, between);
    text += start + list + (list.empty() ? "" : between) + last + ");\n";
  };
  if (!l.targets.empty()) {
    function("", parameters::call, "const " + l.name + "_run *run");
    function("_workspace", parameters::extents, "size_t *bytes");
  }
  if (!l.gpu_targets.empty()) {
    const std::string on = "void *stream, const " + l.name + "_gpu_run *run";
    function("_gpu", parameters::call, on);
    function("_gpu_result", parameters::call, on);
    function("_gpu_workspace", parameters::extents, "size_t *bytes");
  }
  std::string extents;
  for (const argument& a : arguments_of(g))
    if (!a.is_input && a.rank > 0)
      extents += (extents.empty() ? "" : ", ") + ("int64_t " + a.name + "_extents[" + std::to_string(a.rank) + "]");
  if (!extents.empty()) function("_extents", parameters::extents, extents);
  return text + "\n";
}

}  // namespace

std::string header_of(const library& l) {
  std::string text = runtime_text("header.h");
  const auto replace = [&](const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  };
  std::string targets, kernels;
  for (const std::string& t : l.target_names()) targets += (targets.empty() ? "" : ", ") + t;
  for (const planned_program& p : l.kernels()) kernels += declarations(l, p);
  std::string devices = l.targets.empty() ? "" : runtime_text("header_processor.h");
  if (!l.gpu_targets.empty()) devices += runtime_text("header_gpu.h");
  replace("@devices@\n", devices);
  replace("@driver@", l.gpu_targets.empty() ? ", and nothing else" : "; for GPUs the driver, which it opens");
  replace("@NAME@", upper(l.name));
  replace("@name@", l.name);
  replace("@targets@", targets);
  replace("@kernels@\n", kernels);
  return text;
}

}  // namespace sheaf::inline v0_1::aot
