// Types of generated terms, and walks over them. See program.hpp.
#include "program.hpp"

#include <algorithm>
#include <set>

#include "monoids.hpp"

namespace sheaf::fuzz {

namespace {

template <class... Rest>
term made(form kind, std::string name, element type, Rest&&... rest) {
  return std::make_shared<const expression>(expression{kind, std::move(name), type, std::forward<Rest>(rest)...});
}

bool among(const std::string& name, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* s) { return name == s; });
}

element arithmetic(element type) { return type == element::boolean ? element::i64 : type; }

// The type that operands meet in, as builder::apply finds it.
element met(const std::vector<term>& args, std::size_t first, bool& weak) {
  element type = element::boolean;
  bool strong = false, fraction = false;
  for (std::size_t k = first; k < args.size(); ++k) {
    if (args[k]->weak) {
      fraction = fraction || is_floating(args[k]->type);
      continue;
    }
    type = strong ? promote(type, args[k]->type) : args[k]->type;
    strong = true;
  }
  weak = !strong;
  if (weak) return fraction ? element::f64 : element::i64;
  return fraction && !is_floating(type) ? element::f32 : type;
}

}  // namespace

term number(double value) {
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value));
  return made(form::number, "", whole ? element::i64 : element::f64, true, value);
}
term truth(bool value) { return made(form::truth, "", element::boolean, false, value ? 1.0 : 0.0); }
term index(const std::string& name) { return made(form::index, name, element::i64); }
term load(const symbol& s, std::vector<term> subscripts, std::string access, term extra) {
  element type = access == "inside" ? element::boolean : s.type;
  if (extra != nullptr && !extra->weak) type = promote(type, extra->type);
  return made(form::load, s.name, type, false, 0.0, std::move(subscripts), std::move(access), std::move(extra));
}
term extent(const symbol& s, int dimension) {
  return made(form::extent, s.name, element::i64, false, static_cast<double>(dimension));
}
term cast(element type, term e) { return made(form::cast, "", type, false, 0.0, std::vector<term>{std::move(e)}); }

term call(const std::string& name, std::vector<term> args) {
  bool weak = false;
  element type = met(args, name == "select" ? 1 : 0, weak);
  if (among(name, {"<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"})) {
    type = element::boolean;
    weak = false;
  } else if (among(name,
                   {"exp",  "log",  "log1p", "expm1", "sqrt",  "rsqrt", "tanh",  "sigmoid", "erf",
                    "sin",  "cos",  "pow",   "tan",   "asin",  "acos",  "atan",  "sinh",    "cosh",
                    "asinh", "acosh", "atanh", "gelu", "gelu_tanh", "silu", "softplus"})) {
    type = is_floating(type) ? type : element::f32;
  } else if (name == "graft" || name == "stop_gradient") {
    type = args[0]->type;
    weak = false;
  } else if (!among(name, {"select", "maximum", "minimum", "relu", "clamp", "trunc"})) {
    type = arithmetic(type);
  }
  return made(form::call, name, type, weak, 0.0, std::move(args));
}

term reduce(const std::string& name, std::vector<domain> domains, term body, std::vector<std::string> policies) {
  element type = body->type;
  if (among(name, {"any", "all"})) type = element::boolean;
  if (among(name, {"argmax", "argmin", "count"})) type = element::i64;
  if (among(name, {"sum", "prod"}) && !is_floating(type)) type = element::i64;
  if (name == "logsumexp" && !is_floating(type)) type = element::f32;
  return made(form::reduce, name, type, false, 0.0, std::vector<term>{std::move(body)}, std::string(), nullptr,
              std::move(domains), std::move(policies));
}
term fold(const std::string& name, element type, int component, std::vector<domain> domains, std::vector<term> values,
          std::vector<std::string> policies) {
  return made(form::fold, name, type, false, static_cast<double>(component), std::move(values), std::string(), nullptr,
              std::move(domains), std::move(policies));
}

void each_part(const expression& e, const std::function<void(const term&)>& visit) {
  for (const term& a : e.args) visit(a);
  if (e.extra != nullptr) visit(e.extra);
  for (const domain& d : e.domains)
    for (const term* t : {&d.low, &d.high, &d.step, &d.condition})
      if (*t != nullptr) visit(*t);
}

term with_parts(const expression& e, const std::function<term(const term&)>& replaced) {
  expression copy = e;
  for (term& a : copy.args) a = replaced(a);
  if (copy.extra != nullptr) copy.extra = replaced(copy.extra);
  for (domain& d : copy.domains)
    for (term* t : {&d.low, &d.high, &d.step, &d.condition})
      if (*t != nullptr) *t = replaced(*t);
  return std::make_shared<const expression>(std::move(copy));
}

int size_of(const term& e) {
  int size = 1;
  each_part(*e, [&](const term& part) { size += size_of(part); });
  return size;
}

namespace {
bool binds(const expression& e, const std::string& index) {
  return std::any_of(e.domains.begin(), e.domains.end(), [&](const domain& d) { return d.index == index; });
}
}  // namespace

bool names_index(const term& e, const std::string& index) {
  if (e->kind == form::index) return e->name == index;
  bool found = false;
  each_part(*e, [&](const term& part) { found = found || names_index(part, index); });
  return found;
}

term substituted(const term& e, const std::string& index, const term& value) {
  if (e->kind == form::index) return e->name == index ? value : e;
  if (!names_index(e, index) || binds(*e, index)) return e;
  return with_parts(*e, [&](const term& part) { return substituted(part, index, value); });
}

bool subscripts_alone(const term& e, const std::string& index) {
  if (binds(*e, index)) return false;
  if (e->kind == form::load && (e->access.empty() || e->access == "checked"))
    for (const term& s : e->args)
      if (s->kind == form::index && s->name == index) return true;
  bool found = false;
  const std::function<void(const term&)> visit = [&](const term& part) {
    found = found || subscripts_alone(part, index);
  };
  each_part(*e, visit);
  return found;
}

void list_names(const term& e, std::vector<std::string>& names) {
  if (e->kind == form::load || e->kind == form::extent || e->kind == form::fold) names.push_back(e->name);
  each_part(*e, [&](const term& part) { list_names(part, names); });
}
void list_names(const symbol& s, std::vector<std::string>& names) {
  for (const std::string& n : {s.y, s.x, s.along, s.of})
    if (!n.empty()) names.push_back(n);
  if (s.body != nullptr) list_names(s.body, names);
  for (const domain& d : s.indices)
    if (d.high != nullptr) list_names(d.high, names);
  for (const rule& r : s.rules) {
    names.push_back(r.by);
    list_names(r.body, names);
  }
}

program needed(const program& p) {
  std::set<std::string> wanted;
  std::vector<std::string> names;
  for (const output& o : p.outputs)
    if (o.scalar != nullptr) list_names(o.scalar, names);
    else names.push_back(o.name);
  while (!names.empty()) {
    const std::string name = names.back();
    names.pop_back();
    if (!wanted.insert(name).second) continue;
    if (const symbol* s = p.find(name)) list_names(*s, names);
  }
  program result = p;
  std::erase_if(result.symbols, [&](const symbol& s) { return wanted.count(s.name) == 0; });
  std::erase_if(result.monoids, [&](int m) { return wanted.count(own_monoids[m].name) == 0; });
  return result;
}

}  // namespace sheaf::fuzz
