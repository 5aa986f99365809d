// See writer.hpp.
#include "writer.hpp"

#include <charconv>
#include <cmath>

#include "monoids.hpp"

namespace sheaf::fuzz {

namespace {

struct infix {
  const char* name;
  int precedence;
};
constexpr infix infixes[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 4}, {"<=", 4}, {">", 4},
                             {">=", 4}, {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}, {"%", 6}};
int precedence_of(const std::string& name) {
  for (const infix& i : infixes)
    if (name == i.name) return i.precedence;
  return 0;
}

}  // namespace

std::string writer::type(element t) const {
  if (!cpp_) return row(t).name;
  constexpr const char* names[] = {"bool",         "std::int8_t",   "std::uint8_t", "std::int16_t", "std::uint16_t",
                                   "std::int32_t", "std::uint32_t", "std::int64_t", "std::uint64_t", "float16",
                                   "bfloat16",     "float",         "double"};
  return (t == element::f16 || t == element::bf16 ? "sheaf::" : "") + std::string(names[static_cast<int>(t)]);
}

std::string writer::number(double value) const {
  if (std::isnan(value)) return cpp_ ? "constant<std::numeric_limits<double>::quiet_NaN()>" : "nan";
  if (std::isinf(value)) {
    const std::string inf = cpp_ ? "constant<std::numeric_limits<double>::infinity()>" : "inf";
    return value < 0 ? "(-" + inf + ")" : inf;
  }
  char digits[40];
  const double size = std::abs(value);
  const auto end = std::to_chars(digits, digits + sizeof digits, size);
  std::string s(digits, end.ptr);
  const bool whole = size == std::floor(size) && size < 1e15;
  if (whole) s = std::to_string(static_cast<std::int64_t>(size));
  if (cpp_) s += "_c";
  return value < 0 ? "(-" + s + ")" : s;
}

std::string writer::tensor(const std::string& name) const {
  if (name == "cotangent") return cpp_ ? "cotangent_here" : "cotangent(" + ruled_ + ")";
  const symbol* s = p_.find(name);
  if (s == nullptr || cpp_) return name;
  if (!s->of.empty()) return s->what + "(" + tensor(s->of) + ")";
  if (s->from != origin::derivative) return name;
  return s->what + "(" + tensor(s->y) + ", " + tensor(s->x) + (s->along.empty() ? "" : ", " + tensor(s->along)) + ")";
}

std::string writer::list(const std::vector<term>& args) const {
  std::string s;
  for (const term& a : args) s += (s.empty() ? "" : ", ") + expression(a);
  return s;
}

std::string writer::load(const fuzz::expression& e) const {
  std::string s = tensor(e.name);
  if (e.access == "padded") s += ".padded(" + expression(e.extra) + ")";
  else if (!e.access.empty()) s += "." + e.access;
  if (e.args.empty() && e.access.empty()) return s;
  return s + "(" + list(e.args) + ")";
}

std::string writer::called(const fuzz::expression& e, int precedence) const {
  const int own = precedence_of(e.name);
  if (e.args.size() == 1 && (e.name == "-" || e.name == "!")) return e.name + "(" + expression(e.args[0]) + ")";
  if (own == 0) return e.name + "(" + list(e.args) + ")";
  const bool compares = own == 3 || own == 4;
  // Mixed && and || have parentheses, as compilers ask for them.
  const int left = compares ? 5 : own == 1 ? 3 : own, right = compares ? 5 : own == 1 ? 3 : own + 1;
  const bool same = own <= 2 && e.args[0]->kind == form::call && e.args[0]->name == e.name;
  std::string s = expression(e.args[0], same ? own : left) + " " + e.name + " " + expression(e.args[1], right);
  return own < precedence ? "(" + s + ")" : s;
}

std::string writer::policies(const std::vector<std::string>& list) const {
  std::string s;
  for (const std::string& p : list) {
    s += s.empty() ? "<" : ", ";
    s += !cpp_ ? p : p == "accumulate<f64>" ? "accumulate<double>" : p == "accumulate<f32>" ? "accumulate<float>" : p;
  }
  return s.empty() ? s : s + ">";
}

std::string writer::domain_of(const domain& d) const {
  std::string s = d.index;
  if (d.high != nullptr) {
    s += ".in(" + (d.low == nullptr ? number(0) : expression(d.low)) + ", " + expression(d.high);
    if (d.step != nullptr) s += ", " + expression(d.step);
    s += ")";
  }
  if (d.condition != nullptr) s += ".where(" + expression(d.condition) + ")";
  return s;
}

std::string writer::folded(const fuzz::expression& e) const {
  std::string domains, s;
  for (const domain& d : e.domains) domains += (domains.empty() ? "" : ", ") + domain_of(d);
  if (e.domains.size() > 1) domains = "over(" + domains + ")";
  if (e.kind == form::reduce) return e.name + policies(e.policies) + "(" + domains + ", " + expression(e.args[0]) + ")";
  const bool several = e.args.size() > 1;
  s = "fold" + policies(e.policies) + "(" + e.name + ", " + domains + ", ";
  s += several ? "tuple(" + list(e.args) + "))" : expression(e.args[0]) + ")";
  return several ? "get<" + std::to_string(static_cast<int>(e.value)) + ">(" + s + ")" : s;
}

std::string writer::expression(const term& t, int precedence) const {
  const fuzz::expression& e = *t;
  switch (e.kind) {
    case form::number: return number(e.value);
    case form::truth:
      return cpp_ ? std::string("(0_c ") + (e.value != 0 ? "==" : "!=") + " 0_c)" : e.value != 0 ? "true" : "false";
    case form::index: return e.name;
    case form::load: return load(e);
    case form::extent: {
      const std::string d = std::to_string(static_cast<int>(e.value));
      return "extent(" + tensor(e.name) + ", " + (cpp_ ? "dim<" + d + ">" : d) + ")";
    }
    case form::call: return called(e, precedence);
    case form::cast: return "cast<" + type(e.type) + ">(" + expression(e.args[0]) + ")";
    default: return folded(e);
  }
}

}  // namespace sheaf::fuzz
