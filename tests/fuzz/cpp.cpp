// A program in C++: its symbols, and a whole program with its arguments that can be pasted. See cpp.hpp.
#include "cpp.hpp"

#include <cmath>
#include <set>

#include "monoids.hpp"
#include "writer.hpp"

namespace sheaf::fuzz {

namespace {

void list_indices(const term& e, std::set<std::string>& names) {
  if (e->kind == form::index) names.insert(e->name);
  for (const domain& d : e->domains) names.insert(d.index);
  each_part(*e, [&](const term& part) { list_indices(part, names); });
}
std::set<std::string> indices_of(const program& p) {
  std::set<std::string> names;
  for (const symbol& s : p.symbols) {
    for (const domain& d : s.indices) names.insert(d.index);
    if (s.body != nullptr) list_indices(s.body, names);
    for (const rule& r : s.rules) {
      names.insert(r.indices.begin(), r.indices.end());
      list_indices(r.body, names);
    }
  }
  for (const output& o : p.outputs)
    if (o.scalar != nullptr) list_indices(o.scalar, names);
  return names;
}

std::string input_line(const program& p, const writer& w, const symbol& s) {
  if (!s.of.empty()) return "constexpr auto " + s.name + " = " + s.what + "(" + s.of + ");\n";
  std::string line = "constexpr auto " + s.name + " = tensor<\"" + s.name + "\", " + w.type(s.type) + ", " +
                     std::to_string(s.dims.size());
  for (const int d : s.dims)
    if (s.fixed) line += ", " + std::to_string(p.sizes[static_cast<std::size_t>(d)]);
  return line + ">;\n";
}

std::string definition_line(const writer& w, const symbol& s) {
  const std::string called = s.rules.empty() ? s.name : s.name + "_plain";
  std::string line = "constexpr auto " + called + " = define<\"" + s.name + "\">(";
  for (std::size_t d = 0; d < s.indices.size(); ++d) line += (d == 0 ? "" : ", ") + w.domain_of(s.indices[d]);
  line += ") = " + w.expression(s.body) + ";\n";
  if (s.rules.empty()) return line;
  line += "constexpr auto " + s.name + " = custom_gradient(" + called;
  for (const rule& r : s.rules) {
    line += ", [](auto, auto cotangent_here) { return by(" + r.by + ")(";
    for (std::size_t d = 0; d < r.indices.size(); ++d) line += (d == 0 ? "" : ", ") + r.indices[d];
    line += ") = " + w.expression(r.body) + "; }";
  }
  return line + ");\n";
}

std::string derivative_line(const symbol& s) {
  return "constexpr auto " + s.name + " = " + s.what + "(" + s.y + ", " + s.x +
         (s.along.empty() ? "" : ", " + s.along) + ");\n";
}

std::string literal_of(const tensor_data& t, std::size_t k) {
  if (!is_floating(t.type))
    return t.type == element::boolean
               ? t.integers[k] != 0 ? "true" : "false"
               : std::to_string(t.integers[k]) + (t.integers[k] > INT32_MAX || t.integers[k] < INT32_MIN ? "ll" : "");
  const double x = t.reals[k];
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x < 0 ? "-INFINITY" : "INFINITY";
  char s[40];
  std::snprintf(s, sizeof s, "%.17g", x);
  return s;
}

std::string number_list(const std::vector<std::int64_t>& list) {
  std::string s;
  for (const std::int64_t v : list) s += std::to_string(v) + ", ";
  return "{" + s + "0}";
}

std::string argument_lines(const writer& w, const symbol& s, const tensor_data& t) {
  const placement at = place(t.placed, t.extents);
  std::string values;
  for (std::size_t k = 0; k < static_cast<std::size_t>(t.count()); ++k)
    values += (k == 0 ? "" : ", ") + literal_of(t, k);
  return "  const std::int64_t extents_" + s.name + "[] = " + number_list(t.extents) + ", strides_" + s.name +
         "[] = " + number_list(at.strides) + ";\n  memory<" + w.type(t.type) + ", " + std::to_string(t.extents.size()) +
         "> memory_" + s.name + "(" + std::to_string(at.span) + ", " + std::to_string(at.first) + ", extents_" +
         s.name + ", strides_" + s.name + ", {" + values + "});\n";
}

constexpr const char* head = R"(#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>
#include <sheaf/api/reference.hpp>
#include <sheaf/dsl/graph/half.hpp>
#include <sheaf/sheaf.hpp>

using namespace sheaf;

)";
constexpr const char* tools = R"(
template <class T>
double shown(T v) {
  if constexpr (std::is_same_v<T, sheaf::float16> || std::is_same_v<T, sheaf::bfloat16>) return to_double(v);
  else return static_cast<double>(v);
}
template <class T, int Rank>
struct memory {  // a view whose elements are these, row-major
  std::vector<std::array<char, sizeof(T)>> bytes;
  sheaf::view<const T, Rank> view;
  memory(std::size_t span, long first, const std::int64_t* extents, const std::int64_t* strides,
         std::vector<long double> values)
      : bytes(span + 1), view(reinterpret_cast<const T*>(bytes.data()) + first, extents, strides) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      long rest = static_cast<long>(k), at = first;
      for (int d = Rank; d-- > 0; rest /= extents[d]) at += rest % extents[d] * strides[d];
      T& to = reinterpret_cast<T*>(bytes.data())[at];
      if constexpr (std::is_same_v<T, sheaf::float16>) to = to_float16(static_cast<double>(values[k]));
      else if constexpr (std::is_same_v<T, sheaf::bfloat16>) to = to_bfloat16(static_cast<double>(values[k]));
      else to = static_cast<T>(values[k]);
    }
  }
};
template <class A>
void show(const char* what, const A& a) {
  std::printf("%s:", what);
  for (std::int64_t k = 0; k < a.size(); ++k) std::printf(" %.9g", shown(a.data()[k]));
  std::puts("");
}
template <class... A>
void show(const char* what, const std::tuple<A...>& all) {
  std::apply([&](const auto&... a) { (show(what, a), ...); }, all);
}

)";

std::string output_of(const program& p, const writer& w, std::size_t k) {
  return p.outputs[k].scalar != nullptr ? w.expression(p.outputs[k].scalar) : p.outputs[k].name;
}

}  // namespace

std::string cpp_symbols(const program& whole) {
  const program p = needed(whole);
  const writer w(p, dialect::cpp);
  std::string s;
  for (const std::string& name : indices_of(p)) s += "constexpr auto " + name + " = axis<\"" + name + "\">;\n";
  for (const int m : p.monoids)
    s += std::string("constexpr auto ") + own_monoids[m].name + " = own_monoid<\"" + own_monoids[m].name + "\">" +
         own_monoids[m].cpp + ";\n";
  for (const symbol& one : p.symbols) {
    if (one.from == origin::input) s += input_line(p, w, one);
    if (one.from == origin::definition) s += definition_line(w, one);
    if (one.from == origin::derivative) s += derivative_line(one);
  }
  return s;
}

std::string cpp_outputs(const program& whole) {
  const program p = needed(whole);
  const writer w(p, dialect::cpp);
  std::string s;
  for (std::size_t k = 0; k < p.outputs.size(); ++k) s += (k == 0 ? "" : ", ") + output_of(p, w, k);
  return s;
}

std::string cpp_of(const program& whole, const arguments& a) {
  const program p = needed(whole);
  const writer w(p, dialect::cpp);
  std::string s = std::string(head) + "namespace {\n\n" + cpp_symbols(p) + tools, given;
  s += "}  // namespace\n\nint main() {\n";
  for (const symbol& one : p.symbols) {
    const auto t = a.inputs.find(one.name);
    if (one.from != origin::input || t == a.inputs.end()) continue;
    s += argument_lines(w, one, t->second);
    given += (given.empty() ? "" : ", ") + one.name + " = memory_" + one.name + ".view";
  }
  const std::string outputs = cpp_outputs(p);
  s += "  const auto kernels = compile(" + outputs + ");\n  const auto slow = reference(" + outputs +
       ");\n  std::puts(slow.text());\n";
  for (const char* one : {"slow", "kernels"})
    s += std::string("  try {\n    show(\"") + one + "\", " + one + "(" + given +
         "));\n  } catch (const error& e) {\n    std::printf(\"" + one + ": %s\\n\", e.what());\n  }\n";
  return s + "}\n";
}

std::string cpp_surface(const program& whole) {
  const program p = needed(whole);
  const writer w(p, dialect::cpp);
  const std::string seed = std::to_string(p.seed);
  std::string arguments;
  dice d(p.seed);
  const auto argument = [&](const symbol& s, bool in) {
    const std::string type = (in ? "const " : "") + w.type(s.type);
    const std::size_t rank = s.dims.size();
    const std::string slot = rank == 0                   ? "at"
                             : rank <= 2 && d.chance(35) ? "matrix"
                                                         : d.of({"at", "xtensor", "mdspan"});
    arguments += (arguments.empty() ? "" : ", ") + s.name + " = call." + slot + "<" + type + ", " +
                 std::to_string(s.dims.size()) + ">(\"" + s.name + "\")";
  };
  for (const symbol& s : p.symbols)
    if (s.from == origin::input) argument(s, true);
  // Some outputs may be returned instead, so that a view that goes to another symbol's slot is seen.
  const std::size_t kept =
      d.chance(50) ? static_cast<std::size_t>(d.below(static_cast<int>(p.outputs.size()))) : p.outputs.size();
  for (std::size_t o = 0; o < p.outputs.size(); ++o)
    if (kept == p.outputs.size() || o == kept) argument(*p.find(p.outputs[o].name), false);
  return "namespace program_" + seed + " {\nusing namespace sheaf;\n" + cpp_symbols(p) +
         "void run(sheaf::fuzz::surface_call& call) {\n  const auto program = compile(" + cpp_outputs(p) +
         ");\n  call.text = program.text();\n  program(" + arguments +
         ");\n}\nconst bool known = sheaf::fuzz::add_surface(" + seed + "u, run);\n}  // namespace program_" + seed +
         "\n\n";
}

}  // namespace sheaf::fuzz
