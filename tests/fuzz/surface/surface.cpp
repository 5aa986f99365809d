// A program written in C++ against the same program parsed from text: the same printed form, and the same bits in
// views of the caller's that are given by symbol. Input: a seed and the function of that program. Output: what
// differs. See surface.hpp.
#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <sheaf/runtime/error.hpp>

#include "../check.hpp"
#include "../surface.hpp"

namespace sheaf::fuzz {

std::map<std::uint64_t, surface_run>& surface_programs() {
  static std::map<std::uint64_t, surface_run> programs;
  return programs;
}

namespace {

// An index's name is a letter, with primes; which one is free for a gradient hangs on the order of names. What
// functions make of numbers may differ in the last place between the compiler and run time.
std::string without_indices(const std::string& line) {
  std::string s;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const auto part = [&](std::size_t at) {
      return at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_');
    };
    if (std::islower(static_cast<unsigned char>(line[k])) != 0 && (k == 0 || !part(k - 1)) && !part(k + 1)) {
      s += '@';
      while (k + 1 < line.size() && (line[k + 1] == '\'')) ++k;
    } else if (std::isdigit(static_cast<unsigned char>(line[k])) != 0 && (k == 0 || !part(k - 1))) {
      std::size_t end = k;
      while (end < line.size() && (std::isdigit(static_cast<unsigned char>(line[end])) != 0 || line[end] == '.')) ++end;
      s += line.substr(k, std::min<std::size_t>(end - k, 13));
      k = end - 1;
    } else {
      s += line[k];
    }
  }
  return s;
}

// Which indices are bare hangs on their names, too.
std::string without_extents(std::string line) {
  const std::string range = ".in(0, extent(";
  for (std::size_t at = line.find(range); at != std::string::npos; at = line.find(range, at + 1)) {
    const std::size_t end = line.find("))", at);
    if (end != std::string::npos && line.find('(', at + range.size()) > end) line.erase(at, end + 2 - at);
  }
  return line;
}

// The first line that one text has and the other has not; inputs and axes stand in the order of their first use, which
// is not the same in both spellings. Empty: they say the same.
std::string difference(const std::string& a, const std::string& b) {
  std::multiset<std::string> lines[2];
  for (int k = 0; k < 2; ++k) {
    std::istringstream text(k == 0 ? a : b);
    for (std::string line; std::getline(text, line);)
      if (line.rfind("axis", 0) != 0) lines[k].insert(without_extents(without_indices(line)));
  }
  std::string only[2];
  for (int k = 0; k < 2; ++k)
    for (const std::string& line : lines[k])
      if (only[k].empty() && lines[1 - k].count(line) == 0) only[k] = line;
  return only[0].empty() && only[1].empty() ? "" : only[0] + "\n" + only[1];
}

using shape_list = std::vector<std::vector<std::int64_t>>;

// What a run of the C++ program left in outputs, against that of the program in text, whose printed form is `text`.
std::string compared(const program& p, const arguments& a, const std::string& text, const surface_call& call,
                     const std::vector<guarded_memory>& outputs, outcome expected, const shape_list& shapes) {
  const bool same_text = call.text == text;
  // Functions of numbers are the compiler's: with all of their digits they are in the program's own text.
  const graph g = parsed(same_text ? text_of(p) : call.text);
  if (g.failed()) return "its own text is refused: " + said(g.error) + "\n" + call.text;
  if (!same_text) expected = runnable(g, jit::backend::chosen)(a, shapes);
  outcome found = expected;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (call.given.count(p.outputs[o].name) > 0) found.outputs[o] = outputs[o].read();
  verdict v;
  check_values(g, a, bounded_outputs(g, a), found, expected, v);
  if (!v.ok()) return v.words + "\n" + text_of(p);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (same_text && !same_bits(found.outputs[o], expected.outputs[o]))
      return "values of output " + std::to_string(o) + " differ\n" + text_of(p);
    if (call.given.count(p.outputs[o].name) == 0 && !outputs[o].untouched())
      return "output " + std::to_string(o) + " was written and not given\n" + text_of(p);
    if (!outputs[o].gaps_untouched())
      return "elements between those of output " + std::to_string(o) + " were written\n" + text_of(p);
  }
  return "";
}

}  // namespace

std::string run_surface(std::uint64_t seed, surface_run run) {
  const program p = generate(seed, surface_limits());
  const arguments a = draw_arguments(p, seed);
  const std::string text = text_of(p);
  const graph g = parsed(text);
  if (g.failed()) return "refused: " + said(g.error) + "\n" + text;
  outcome expected;
  std::string parsed_text;
  shape_list shapes;
  try {
    runnable kernels(g, jit::backend::chosen);
    parsed_text = kernels.text();
    shapes = kernels.extents(a);
    expected = kernels(a, shapes);
  } catch (const error& e) {
    expected = {true, name_of(e.code()), e.what(), {}, ""};
  }
  std::vector<guarded_memory> memory;
  surface_call call;
  for (const auto& [name, t] : a.inputs) {
    memory.emplace_back(t, true);
    call.slots[name] = memory.back().view();
  }
  std::vector<guarded_memory> outputs;
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    tensor_data t;
    const symbol& s = *p.find(p.outputs[o].name);
    t.type = s.type;
    t.extents = shapes.empty() ? std::vector<std::int64_t>(s.dims.size(), 0) : shapes[o];
    if (a.outputs[o].order.size() == t.extents.size()) t.placed = a.outputs[o];
    outputs.emplace_back(t, false);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) call.slots[p.outputs[o].name] = outputs[o].view();
  std::string code;
  try {
    run(call);
  } catch (const error& e) {
    code = name_of(e.code());
  }
  if (const std::string words = difference(call.text, parsed_text); !words.empty())
    return "printed forms differ: C++, then text:\n" + words + "\n" + text;
  if (shapes.empty() && !code.empty()) return "";  // refused before the outputs had shapes
  if (code != (expected.failed ? expected.code : ""))
    return "errors differ: C++ " + code + ", text " + expected.code + "\n" + text;
  if (expected.failed) return "";
  return compared(p, a, parsed_text, call, outputs, expected, shapes);
}

}  // namespace sheaf::fuzz
