#include <sheaf/aot/signature.hpp>

#include <algorithm>
#include <vector>

namespace sheaf::inline v0_1::aot {

std::string identifier(const std::string& name, const std::vector<argument>& others) {
  static constexpr const char* taken[] = {
      "auto",     "break",  "case",     "char",   "const",    "continue", "default",  "do",     "double", "else",
      "enum",     "extern", "float",    "for",    "goto",     "if",       "inline",   "int",    "long",   "register",
      "restrict", "return", "short",    "signed", "sizeof",   "static",   "struct",   "switch", "typedef", "union",
      "unsigned", "void",   "volatile", "while",  "run",      "bytes",    "class",    "new",    "delete",  "this",
      "template", "operator", "private", "public", "protected", "friend", "virtual", "namespace", "using", "try",
      "catch", "throw", "bool", "true", "false", "and", "or", "not", "xor", "typename", "explicit", "export"};
  std::string text;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_', digit = c >= '0' && c <= '9';
    if (digit && text.empty()) text = "n";
    text += letter || digit ? c : '_';
  }
  if (std::ranges::find(taken, text) != std::end(taken)) text += '_';
  const std::string first = text;
  for (int k = 2; std::ranges::any_of(others, [&](const argument& a) { return a.name == text; }); ++k)
    text = first + "_" + std::to_string(k);
  return text;
}

std::vector<argument> arguments_of(const graph& g) {
  std::vector<argument> list;
  for (int s = 0; s < g.inputs.size() + g.outputs.size(); ++s) {
    const bool in = s < g.inputs.size();
    const node_id o = in ? no_node : g.outputs[s - g.inputs.size()];
    const std::string known = jit::slot_text(g, s);
    list.push_back({identifier(known, list), known, in ? g.inputs[s].type : g.type(o),
                    in ? g.inputs[s].rank : tensor_rank(g, o), in});
  }
  return list;
}

const char* c_type(element type) {
  switch (type) {
    case element::boolean:
    case element::u8: return "uint8_t";
    case element::i8: return "int8_t";
    case element::i16: return "int16_t";
    case element::u16: return "uint16_t";
    case element::i32: return "int32_t";
    case element::u32: return "uint32_t";
    case element::i64: return "int64_t";
    case element::u64: return "uint64_t";
    case element::f16:
    case element::bf16: return "uint16_t";
    case element::f32: return "float";
    case element::f64: break;
  }
  return "double";
}

std::string declared_parameters(const graph& g, parameters which, const std::string& between) {
  std::string text;
  const auto put = [&](const std::string& one) { text += (text.empty() ? "" : between) + one; };
  for (const argument& a : arguments_of(g)) {
    const std::string rank = "[" + std::to_string(a.rank) + "]";
    std::string one;
    const auto part = [&](const std::string& p) { one += (one.empty() ? "" : ", ") + p; };
    if (which == parameters::call) part((a.is_input ? "const " : "") + std::string(c_type(a.type)) + " *" + a.name);
    if (a.is_input && a.rank > 0) part("const int64_t " + a.name + "_extents" + rank);
    if (which == parameters::call && a.rank > 0) part("const int64_t " + a.name + "_strides" + rank);
    if (!one.empty()) put(one);
  }
  return text;
}

}  // namespace sheaf::inline v0_1::aot
