#include <cstdio>

#include <sheaf/aot/library.hpp>
#include <sheaf/aot/signature.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

std::string json(const std::string& words) {
  std::string text = "\"";
  for (const char c : words) {
    char escaped[8];
    if (c == '"' || c == '\\')
      text += '\\', text += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c), text += escaped;
    else
      text += c;
  }
  return text + "\"";
}

std::string argument_rows(const planned_program& p, bool inputs) {
  const graph& g = p.of->g;
  const auto list = arguments_of(g);
  std::string text;
  for (std::size_t s = 0; s < list.size(); ++s) {
    const argument& a = list[s];
    if (a.is_input != inputs) continue;
    text += (text.empty() ? "" : ",") + ("\n        {\"name\": " + json(a.name)) + ", \"type\": " +
            json(row(a.type).name) + ", \"rank\": " + std::to_string(a.rank) + "}";
  }
  return text;
}

}  // namespace

// For readers in other languages: the kernels and their arguments, in the order of the C functions.
std::string manifest_of(const library& l) {
  std::string text = "{\n  \"library\": " + json(l.name) + ",\n  \"targets\": [";
  const std::vector<std::string> targets = l.target_names();
  for (std::size_t k = 0; k < targets.size(); ++k) text += (k == 0 ? "" : ", ") + json(targets[k]);
  text += "],\n  \"kernels\": [";
  for (std::size_t k = 0; k < l.kernels().size(); ++k) {
    const planned_program& p = l.kernels()[k];
    const std::string function = l.name + "_" + p.of->name;
    text += (k == 0 ? "" : ",") + ("\n    {\n      \"name\": " + json(p.of->name)) + ",\n      \"function\": " +
            json(function);
    if (!l.gpu_targets.empty()) text += ",\n      \"gpu\": " + json(function + "_gpu");
    text += ",\n      \"text\": " + json(jit::text_of(print(p.of->g))) +
            ",\n      \"classes\": " + std::to_string(p.classes.size()) + ",\n      \"inputs\": [" +
            argument_rows(p, true) + "],\n      \"outputs\": [" + argument_rows(p, false) + "]\n    }";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace sheaf::inline v0_1::aot
