// A program in the text language. See program.hpp and docs/language.md.
#include "monoids.hpp"
#include "writer.hpp"

namespace sheaf::fuzz {

namespace {

std::string input_line(const program& p, const symbol& s) {
  std::string line = "input " + s.name + ": " + row(s.type).name;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    line += d == 0 ? "[" : ", ";
    line += s.fixed ? std::to_string(p.sizes[static_cast<std::size_t>(s.dims[d])]) : "?";
  }
  return line + (s.dims.empty() ? "\n" : "]\n");
}

std::string definition_lines(writer& w, const symbol& s) {
  std::string line = s.name;
  for (std::size_t d = 0; d < s.indices.size(); ++d) line += (d == 0 ? "(" : ", ") + w.domain_of(s.indices[d]);
  line += (s.indices.empty() ? " = " : ") = ") + w.expression(s.body) + "\n";
  w.enter_rule(s.name);
  for (const rule& r : s.rules) {
    line += "custom " + s.name + " by " + r.by;
    for (std::size_t d = 0; d < r.indices.size(); ++d) line += (d == 0 ? "(" : ", ") + r.indices[d];
    line += (r.indices.empty() ? " = " : ") = ") + w.expression(r.body) + "\n";
  }
  return line;
}

}  // namespace

std::string text_of(const program& p, const term& e) { return writer(p, dialect::text).expression(e); }

std::string text_of(const program& whole) {
  const program p = needed(whole);
  writer w(p, dialect::text);
  std::string text;
  for (const symbol& s : p.symbols)
    if (s.from == origin::input && s.of.empty()) text += input_line(p, s);
  for (const int m : p.monoids) text += std::string("monoid ") + own_monoids[m].name + own_monoids[m].text + "\n";
  for (const symbol& s : p.symbols)
    if (s.from == origin::definition) text += definition_lines(w, s);
  text += "output ";
  for (std::size_t k = 0; k < p.outputs.size(); ++k)
    text += (k == 0 ? "" : ", ") +
            (p.outputs[k].scalar != nullptr ? w.expression(p.outputs[k].scalar) : w.tensor(p.outputs[k].name));
  return text + "\n";
}

}  // namespace sheaf::fuzz
