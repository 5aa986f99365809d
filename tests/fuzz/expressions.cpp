// Terms of each kind: floating, whole, conditions, reductions, folds. See author.hpp.
#include <algorithm>

#include "author.hpp"
#include "monoids.hpp"

namespace sheaf::fuzz {

namespace {
bool narrow(element type) { return type == element::f16 || type == element::bf16; }
}  // namespace

// A literal becomes a value of the type.
term author::strong(term e, element type) { return e->weak ? cast(type, std::move(e)) : e; }

term author::literal() {
  if (only_exact()) return number(dice_.below(9) * 0.5 - 2);
  if (p_.kind == flavour::wild && dice_.chance(15)) {
    const double odd[] = {1e30, 1e-30, math::infinity, -math::infinity, 3e4, 1e-7};
    return number(odd[dice_.below(6)]);
  }
  return dice_.chance(50) ? number(dice_.below(5) - 1) : number((dice_.below(400) - 200) / 100.0);
}

term author::floating_leaf(int depth) {
  const std::vector<const symbol*> list = tensors(true);
  const int kind = dice_.below(10);
  if (kind < 7 && !list.empty()) {
    const term e = any_load(list, depth);
    return is_floating(e->type) ? e : cast(p_.main, e);
  }
  if (kind == 7) return cast(p_.main, whole(0));
  if (kind == 8 && !only_exact()) return cast(p_.main, literal());
  return list.empty() ? cast(p_.main, literal()) : any_load(list, depth);
}

term author::arithmetic(int depth) {
  const term a = floating(depth - 1);
  const term b = dice_.chance(25) ? literal() : floating(depth - 1);
  const bool exact = only_exact();
  switch (dice_.below(exact ? 6 : 11)) {
    case 0: return a + b;
    case 1: return dice_.chance(30) ? b - a : a - b;
    case 2: return a * b;
    case 3: return call(dice_.of({"maximum", "minimum"}), {a, b});
    case 4: return call("select", {condition(depth - 1), a, b});
    case 5: return cast(a->type, condition(depth - 1)) * a;
    case 6:
      return p_.kind == flavour::wild ? call("/", {a, b})
                                      : call("/", {a, number(2) + call("sin", {strong(b, p_.main)})});
    case 7: return p_.kind == flavour::wild ? call(dice_.of({"%", "remainder", "quotient"}), {a, b}) : a - b;
    case 8:
      if (p_.kind == flavour::wild) return call("pow", {a, b});
      return dice_.chance(50) ? call("pow", {number(1) + call("abs", {a}), number(0.5)})
                              : call("pow", {a, number(2 + dice_.below(2))});
    case 9: return a * a;
    default: return call("+", {a, number(0.5) * strong(b, p_.main)});
  }
}

term author::function(int depth) {
  const term a = floating(depth - 1);
  if (only_exact()) {
    if (dice_.chance(15)) return call("clamp", {a, number(-1), number(dice_.below(3))});
    return call(dice_.of({"abs", "sign", "floor", "ceil", "-", "round", "trunc", "relu"}), {a});
  }
  if (p_.kind == flavour::wild)
    return call(dice_.of({"exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos",
                          "abs", "sign", "floor", "-", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
                          "atanh", "relu", "gelu", "gelu_tanh", "silu", "softplus", "trunc"}),
                {a});
  switch (dice_.below(14)) {
    case 11: return call(dice_.of({"atan", "asinh", "gelu", "gelu_tanh", "silu", "softplus"}), {a});
    case 12: return call(dice_.of({"asin", "acos", "atanh", "tan"}), {number(0.5) * call("sin", {a})});
    case 13: return call("acosh", {number(1.5) + a * a});
    case 0: return call("exp", {call("sin", {a})});
    case 1: return call("log", {number(1.5) + a * a});
    case 2: return call("log1p", {call("abs", {a})});
    case 3: return call("sqrt", {number(0.5) + a * a});
    case 4: return call("rsqrt", {number(1) + a * a});
    case 5: return call("expm1", {call("tanh", {a})});
    case 6: return call("abs", {a});
    case 7:
      return p_.kind == flavour::smooth ? call("-", {a}) : call(dice_.of({"floor", "ceil", "round", "sign"}), {a});
    case 8:
      return p_.kind == flavour::smooth ? call("cos", {a}) : cast(dice_.chance(50) ? element::f32 : element::f64, a);
    case 9: return call("erf", {a});
    default: return call(dice_.of({"tanh", "sigmoid", "sin", "cos"}), {a});
  }
}

term author::floating(int depth) {
  if (depth <= 0) return floating_leaf(depth);
  const int kind = dice_.below(20);
  if (kind < 6) return arithmetic(depth);
  if (kind < 9) return function(depth);
  if (kind < 16 && work() < limits_.work) return reduction(depth);
  if (kind == 16 && p_.kind != flavour::smooth)
    return dice_.chance(50) ? call("stop_gradient", {floating(depth - 1)})
                            : call("graft", {floating(depth - 1), floating(depth - 1)});
  if (kind == 17 && work() < limits_.work) return own_fold(depth);
  if (kind == 18 && work() < limits_.work && !only_exact()) return ragged();
  return floating_leaf(depth);
}

term author::whole(int depth) {
  std::vector<const symbol*> list = tensors(false);
  std::erase_if(list, [](const symbol* s) { return s->type == element::boolean; });
  const int kind = dice_.below(depth > 0 ? 15 : 4);
  if (kind == 0 && !list.empty()) return any_load(list, depth);
  if (kind <= 2) return scope_.empty() ? cast(element::i64, number(dice_.below(5))) : index(dice_.of(scope_).name);
  if (kind == 3) {
    const symbol& s = p_.symbols[static_cast<std::size_t>(dice_.below(static_cast<int>(p_.symbols.size())))];
    if (!s.dims.empty() && s.of.empty()) return extent(s, dice_.below(static_cast<int>(s.dims.size())));
    return cast(element::i64, number(3));
  }
  const term a = whole(depth - 1);
  switch (kind) {
    case 4: return a + whole(depth - 1);
    case 5: return a - number(dice_.below(4));
    case 6: return a * whole(depth - 1);
    case 7:
      return call(dice_.of({"quotient", "remainder", "/", "%"}),
                  {a, dice_.chance(80) ? number(dice_.below(5) - 1) : whole(depth - 1)});
    case 8: return call(dice_.of({"maximum", "minimum"}), {a, whole(depth - 1)});
    case 9: return call("select", {condition(depth - 1), a, whole(depth - 1)});
    case 10:
      return cast(dice_.of(std::vector<element>{element::i64, element::i32, element::i8, element::u8, element::i16,
                                                element::u16, element::u32, element::u64}),
                  dice_.chance(30) ? floating_leaf(0) : a);
    case 11: return call(dice_.of({"abs", "sign", "-", "bit_not"}), {a});
    case 12: return call(dice_.of({"bit_and", "bit_or", "bit_xor"}), {a, whole(depth - 1)});
    case 13: return call(dice_.of({"shift_left", "shift_right"}), {a, number(dice_.below(12) - 1)});
    default: return work() < limits_.work ? whole_reduction(depth) : a;
  }
}

term author::condition(int depth) {
  std::vector<const symbol*> masks = tensors(false);
  std::erase_if(masks, [](const symbol* s) { return s->type != element::boolean; });
  const std::string compare = dice_.of({"<", "<=", ">", ">=", "==", "!="});
  switch (dice_.below(depth > 0 ? 9 : 5)) {
    case 0:
      if (!masks.empty()) return any_load(masks, depth);
      [[fallthrough]];
    case 1: return call(compare, {whole(0), dice_.chance(50) ? number(dice_.below(4)) : whole(0)});
    case 2:
      if (scope_.size() > 1) return call(compare, {index(scope_.back().name), index(dice_.of(scope_).name)});
      [[fallthrough]];
    case 3: return call(dice_.of({"<", ">"}), {strong(floating_leaf(0), p_.main), literal()});
    case 4: return call("!=", {call("%", {whole(0), number(2 + dice_.below(2))}), number(0)});
    case 5: return call("&&", {condition(depth - 1), condition(depth - 1)});
    case 6: return call("||", {condition(depth - 1), condition(depth - 1)});
    case 7: return call("!", {condition(depth - 1)});
    default: return call(compare, {whole(depth - 1), whole(depth - 1)});
  }
}

std::vector<std::string> author::policies(const std::string& name, element type) {
  std::vector<std::string> list;
  const bool floats = is_floating(type),
             sums = name == "sum" || name == "prod" || name == "mean" || name == "logsumexp";
  if ((name == "max" || name == "min") && dice_.chance(30))
    list.push_back("ties::" + dice_.of({"first", "last", "even"}));
  if (dice_.chance(12) && name != "argmax" && name != "argmin" && name != "any" && name != "all")
    list.push_back("empty::" + (floats ? dice_.of({"nan", "zero", "identity", "value<2>", "zero"})
                                       : dice_.of({"zero", "identity", "value<3>"})));
  else if (dice_.below(60) == 0)
    list.push_back("empty::error");
  if (sums && floats && dice_.chance(12)) {
    if (type == element::f64 || dice_.chance(60))
      list.push_back("accumulate<" + std::string(narrow(type) ? "f32" : "f64") + ">");
    else list.push_back("compensated");
  }
  return list;
}

term author::reduction(int depth) {
  const std::vector<variable> outer = scope_;
  std::vector<domain> domains(dice_.chance(20) ? 2 : 1);
  std::vector<int> sizes;
  for (domain& d : domains) {
    const variable v = bind(d, depth);
    sizes.push_back(v.size);
    scope_.push_back(v);
  }
  domain& last = domains.back();
  if (last.condition == nullptr && dice_.chance(22)) last.condition = condition(1);
  std::string name = dice_.of({"sum", "sum", "sum", "sum", "mean", "mean", "prod", "max", "min", "logsumexp"});
  if (only_exact()) name = dice_.of({"sum", "sum", "sum", "max", "min"});
  const term body = strong(floating(depth - 1), p_.main);
  // A condition of a domain may use a later index of over(...), so all that is reduced counts.
  std::vector<term> users = {body};
  for (const domain& d : domains)
    if (d.condition != nullptr) users.push_back(d.condition);
  for (std::size_t k = 0; k < domains.size(); ++k)
    if (sizes[k] >= 0) close(domains[k], sizes[k], users);
  scope_ = outer;
  const term made = reduce(name, domains, body, policies(name, body->type));
  if (only_exact() && (name == "max" || name == "min"))
    return call(name == "max" ? "maximum" : "minimum", {made, number(name == "max" ? -64 : 64)});
  return made;
}

// A slice of data that is normalised: a logsumexp, or what a softmax weighs, with logits that may lie far apart.
term author::ragged() {
  std::vector<variable> rows;
  for (const variable& v : scope_)
    if (v.size >= 0) rows.push_back(v);
  if (rows.empty()) return floating_leaf(0);
  ragged_ = true;
  domain d;
  d.index = fresh_index();
  scope_.push_back(bind_slice(d, dice_.of(rows)));
  term logit = strong(floating_leaf(0), p_.main);
  if (dice_.chance(40)) logit = logit * number(500);
  const term weight = floating_leaf(0);
  domain inner = d;
  inner.index = fresh_index();
  scope_.pop_back();
  const term norm = reduce("logsumexp", {inner}, substituted(logit, d.index, index(inner.index)));
  if (dice_.chance(40)) return norm;
  return reduce("sum", {d}, call("exp", {logit - norm}) * strong(weight, p_.main));
}

term author::whole_reduction(int depth) {
  const std::vector<variable> outer = scope_;
  std::vector<domain> domains(1);
  const variable v = bind(domains[0], depth);
  scope_.push_back(v);
  const std::string name = dice_.of({"count", "count", "sum", "argmax", "argmin", "any", "all", "max", "min"});
  term body;
  if (name == "count" || name == "any" || name == "all") body = condition(1);
  else if (name == "sum") body = whole(depth - 1);
  else body = dice_.chance(50) && name[0] == 'a' ? floating_leaf(0) : whole(0);
  body = strong(body, element::i64);
  if (v.size >= 0) close(domains[0], v.size, {body});
  scope_ = outer;
  const term made = reduce(name, domains, body, policies(name, body->type));
  return made->type == element::boolean ? cast(element::i64, made) : made;
}

term author::own_fold(int depth) {
  const int which = dice_.below(own_monoid_count);
  const own_monoid_text& m = own_monoids[which];
  if (only_exact() && !m.exact) return floating_leaf(depth);
  const std::vector<variable> outer = scope_;
  std::vector<domain> domains(1);
  const variable v = bind(domains[0], depth);
  scope_.push_back(v);
  std::vector<term> values, tamed;
  for (int k = 0; k < m.width; ++k) {
    term e = strong(floating(k == 0 ? depth - 1 : 0), p_.main);
    if (!only_exact() && p_.kind != flavour::wild) e = call("tanh", {e});
    values.push_back(is_floating(e->type) ? e : cast(p_.main, e));
  }
  const std::string name = m.name;
  if (name == "welford") values[0] = number(1), values[2] = number(0);
  if (name == "scaled") values[1] = number(1);
  if (v.size >= 0) close(domains[0], v.size, values);
  scope_ = outer;
  if (std::count(p_.monoids.begin(), p_.monoids.end(), which) == 0) p_.monoids.push_back(which);
  int component = dice_.below(m.width);
  while (values[static_cast<std::size_t>(component)]->weak) component = (component + 1) % m.width;
  const element type = values[static_cast<std::size_t>(component)]->type;
  return fold(m.name, type, component, domains, values,
              dice_.chance(10) ? std::vector<std::string>{"empty::" + dice_.of({"zero", "nan", "value<2>"})}
                               : std::vector<std::string>{});
}

}  // namespace sheaf::fuzz
