// A program written in C++ against the same program parsed from text: the same printed form, and the same bits in views of the
// caller's that are given by symbol. Input: a seed and the function of that program. Output: what differs. See surface.hpp.
#include <sheaf/runtime/error.hpp>

#include "../check.hpp"
#include "../surface.hpp"

namespace sheaf::fuzz {

std::map<std::uint64_t, surface_run>& surface_programs() {
  static std::map<std::uint64_t, surface_run> programs;
  return programs;
}

namespace {

// Lines of a text, for a comparison that says where.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t k = 0;
  while (k < a.size() && k < b.size() && a[k] == b[k]) ++k;
  const std::size_t line = a.rfind('\n', k == 0 ? 0 : k - 1) + 1;
  return a.substr(line, a.find('\n', k) - line) + "\n" + b.substr(line, b.find('\n', k) - line);
}

}  // namespace

std::string run_surface(std::uint64_t seed, surface_run run) {
  const program p = generate(seed, surface_limits());
  const arguments a = draw_arguments(p, seed);
  const std::string text = text_of(p);
  const graph g = parsed(text);
  if (g.failed()) return "refused: " + said(g.error) + "\n" + text;
  outcome expected;
  std::vector<std::vector<std::int64_t>> shapes;
  try {
    runnable kernels(g, jit::backend::chosen);
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
  if (printed(g) != call.text) return "printed forms differ: C++, then text:\n" + first_difference(call.text, printed(g)) + "\n" + text;
  if (code != (expected.failed ? expected.code : "")) return "errors differ: C++ " + code + ", text " + expected.code + "\n" + text;
  if (expected.failed) return "";
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const tensor_data found = outputs[o].read();
    if (!same_bits(found, expected.outputs[o])) return "values of output " + std::to_string(o) + " differ\n" + text;
    if (!outputs[o].gaps_untouched()) return "elements between those of output " + std::to_string(o) + " were written\n" + text;
  }
  return "";
}

}  // namespace sheaf::fuzz
