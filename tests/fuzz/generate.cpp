// The parts of a random program: sizes, inputs, definitions, a loss, derivatives, outputs. See author.hpp.
#include <algorithm>
#include <set>

#include "author.hpp"

namespace sheaf::fuzz {

namespace {

// What a symbol depends on.
std::set<std::string> reached(const program& p, const std::string& from) {
  std::set<std::string> seen;
  std::vector<std::string> open = {from};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const symbol* s = p.find(name);
    if (s != nullptr && seen.insert(name).second) list_names(*s, open);
  }
  return seen;
}

}  // namespace

author::author(std::uint64_t seed, author_limits limits) : dice_(seed), limits_(limits) {
  p_.seed = seed;
  const int kind = dice_.below(100);
  p_.kind = kind < 25 ? flavour::exact : kind < 55 ? flavour::smooth : kind < 82 ? flavour::mixed : flavour::wild;
  p_.main = p_.kind == flavour::smooth ? element::f64 : float_type();
}

element author::float_type() {
  const int kind = dice_.below(10);
  return kind < 5 ? element::f32 : kind < 8 ? element::f64 : kind == 8 ? element::f16 : element::bf16;
}
element author::int_type(std::int64_t highest) {
  const element types[] = {element::i64, element::i64, element::i32, element::u8,  element::i8,
                           element::i16, element::u16, element::u32, element::u64, element::i64};
  const element type = types[dice_.below(10)];
  return highest > 100 && (type == element::u8 || type == element::i8) ? element::i32 : type;
}

// Few sizes, so that dimensions agree; 0, 1 and one that fills lanes among them.
void author::choose_sizes() {
  const int count = 3 + dice_.below(2);
  bool long_one = false;
  for (int k = 0; k < count; ++k) {
    const int kind = dice_.below(100);
    std::int64_t n = 2 + dice_.below(7);
    if (kind < 5) n = 0;
    else if (kind < 14) n = 1;
    else if (kind < 34 && !long_one) n = 9 + dice_.below(60), long_one = true;
    else if (kind < 38 && !long_one) n = 100 + dice_.below(300), long_one = true;
    p_.sizes.push_back(n);
  }
}

symbol& author::add_input(const std::string& stem, element type, std::vector<int> dims, role means, int target) {
  symbol s;
  s.name = stem + std::to_string(names_++);
  s.type = type;
  s.dims = std::move(dims);
  s.means = means;
  s.target = target;
  s.fixed = dice_.chance(8);
  return p_.symbols.emplace_back(s);
}

void author::choose_inputs() {
  const auto size = [&] { return dice_.below(static_cast<int>(p_.sizes.size())); };
  const bool several = p_.kind == flavour::mixed || p_.kind == flavour::wild;
  const auto type = [&] { return several && dice_.chance(25) ? float_type() : p_.main; };
  add_input("x", p_.main, {size(), size()});
  add_input("w", type(), {size()});
  if (dice_.chance(50)) add_input("y", type(), {size(), size()});
  if (dice_.chance(20)) add_input("z", type(), {size(), size(), size()});
  if (dice_.chance(25)) add_input("rate", type(), {});
  if (dice_.chance(40)) add_input("mask", element::boolean, {size()});
  if (dice_.chance(40)) add_input("n", int_type(0), {size()});
}

void author::add_definition() {
  scope_.clear();
  symbol s;
  s.from = origin::definition;
  s.name = "d" + std::to_string(names_++);
  const int rank = dice_.below(8) == 0 ? 0 : dice_.chance(10) ? 3 : 1 + dice_.below(2);
  std::vector<int> sizes;
  for (int d = 0; d < rank; ++d) {
    domain own;
    own.index = fresh_index();
    variable v{own.index, dice_.below(static_cast<int>(p_.sizes.size()))};
    v.iterations = static_cast<double>(p_.sizes[static_cast<std::size_t>(v.size)]);
    if (dice_.chance(8)) {
      v = bind_offsets(own);
      p_.sizes.push_back(p_.sizes[static_cast<std::size_t>(v.size)] - 1);
      v.size = static_cast<int>(p_.sizes.size()) - 1;
      v.iterations = static_cast<double>(p_.sizes.back());
    }
    if (work() * v.iterations > limits_.work) continue;
    scope_.push_back(v);
    s.indices.push_back(own);
    sizes.push_back(v.size);
  }
  head_ = scope_.size();
  const int kind = dice_.below(10);
  term body = kind == 0                    ? whole(limits_.depth)
              : kind == 1 && !only_exact() ? condition(limits_.depth)
                                           : floating(limits_.depth);
  s.body = strong(body, p_.main);
  for (std::size_t d = 0; d < s.indices.size(); ++d)
    if (s.indices[d].high == nullptr) close(s.indices[d], sizes[d], {s.body});
  s.type = s.body->type;
  s.dims = sizes;
  maybe_customise(s);
  p_.symbols.push_back(s);
}

// Two tensors one behind the other, as concat writes it: of the other dimensions one that both have.
void author::add_joined() {
  std::vector<const symbol*> list;
  for (const symbol* s : tensors(true))
    if (!s->dims.empty() && s->dims.size() < 3) list.push_back(s);
  if (list.empty()) return;
  const symbol a = *dice_.of(list);
  std::erase_if(list, [&](const symbol* s) {
    return s->type != a.type || s->dims.size() != a.dims.size() ||
           !std::equal(a.dims.begin() + 1, a.dims.end(), s->dims.begin() + 1);
  });
  const symbol b = *dice_.of(list);
  symbol s;
  s.from = origin::definition;
  s.name = "joined" + std::to_string(names_++);
  s.type = a.type;
  s.dims = a.dims;
  const auto size_of = [&](const symbol& t) { return p_.sizes[static_cast<std::size_t>(t.dims[0])]; };
  p_.sizes.push_back(size_of(a) + size_of(b));
  s.dims[0] = static_cast<int>(p_.sizes.size()) - 1;
  std::vector<term> in_a, in_b;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    domain own;
    own.index = d == 0 ? "i" : "j";
    own.low = number(0);
    own.high = d == 0 ? extent(a, 0) + extent(b, 0) : extent(a, static_cast<int>(d));
    in_a.push_back(index(own.index));
    in_b.push_back(d == 0 ? index("i") - extent(a, 0) : index("j"));
    s.indices.push_back(own);
  }
  s.body = call("select", {call("<", {index("i"), extent(a, 0)}), load(a, in_a), load(b, in_b)});
  p_.symbols.push_back(s);
}

// A matrix as a row of its elements, or a vector as rows of two.
void author::add_reshaped() {
  std::vector<const symbol*> list;
  for (const symbol* s : tensors(true))
    if (s->dims.size() == 1 || s->dims.size() == 2) list.push_back(s);
  if (list.empty()) return;
  const symbol x = *dice_.of(list);
  symbol s;
  s.from = origin::definition;
  s.name = "shaped" + std::to_string(names_++);
  s.type = x.type;
  const auto add = [&](const char* name, const term& high, std::int64_t size) {
    p_.sizes.push_back(size);
    s.dims.push_back(static_cast<int>(p_.sizes.size()) - 1);
    s.indices.push_back({name, number(0), high, nullptr, nullptr});
  };
  const auto size_of = [&](std::size_t d) { return p_.sizes[static_cast<std::size_t>(x.dims[d])]; };
  if (x.dims.size() == 2) {
    add("i", extent(x, 0) * extent(x, 1), size_of(0) * size_of(1));
    s.body = load(x, {call("quotient", {index("i"), extent(x, 1)}), call("remainder", {index("i"), extent(x, 1)})});
  } else {
    add("i", call("quotient", {extent(x, 0), number(2)}), size_of(0) / 2);
    add("j", number(2), 2);
    s.body = load(x, {number(2) * index("i") + index("j")});
  }
  p_.symbols.push_back(s);
}

// Another gradient by one of the inputs.
void author::maybe_customise(symbol& s) {
  if (!is_floating(s.type) || s.dims.empty() || !dice_.chance(4) || p_.kind == flavour::smooth) return;
  for (const symbol& x : p_.symbols) {
    if (x.from != origin::input || x.dims != s.dims || !is_floating(x.type)) continue;
    rule r{x.name, {}, nullptr};
    std::vector<term> at;
    for (std::size_t d = 0; d < x.dims.size(); ++d) {
      r.indices.push_back("a" + std::to_string(d));
      at.push_back(index(r.indices.back()));
    }
    symbol cotangent = s;
    cotangent.name = "cotangent";
    r.body = load(cotangent, at) * number(0.5) + load(x, at);
    s.rules.push_back(r);
    return;
  }
}

// A scalar definition: the sum of a tensor, weighted where its kind allows it, so that each element counts.
std::string author::weighted_sum(const std::string& tensor, const std::string& stem) {
  const symbol t = *p_.find(tensor);
  symbol s;
  s.from = origin::definition;
  s.name = stem + std::to_string(names_++);
  std::vector<domain> domains;
  std::vector<term> at;
  term phase = number(1);
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    domain one;
    one.index = std::string(1, static_cast<char>('i' + static_cast<int>(d)));
    domains.push_back(one);
    at.push_back(index(one.index));
    phase = phase + number(static_cast<double>(d) + 1) * at.back();
  }
  const term element = load(t, at);
  term weight = cast(t.type, call("%", {strong(phase, element::i64), number(3)}) - number(1));
  term body = dice_.chance(40) ? element * element : element * weight;
  if (dice_.chance(20)) body = element;
  // a gradient alone would only be renamed
  s.body = domains.empty() ? element + element : reduce("sum", domains, body);
  s.type = s.body->type;
  p_.symbols.push_back(s);
  return s.name;
}

void author::add_derivative(const std::string& what, const std::string& y, const std::string& x,
                            const std::string& along) {
  symbol s;
  s.from = origin::derivative;
  s.name = "g" + std::to_string(names_++);
  s.what = what, s.y = y, s.x = x, s.along = along;
  const symbol& like = *p_.find(what == "jvp" ? y : x);
  s.type = like.type;
  s.dims = like.dims;
  for (const symbol& other : p_.symbols)
    if (other.what == what && other.y == y && other.x == x && other.along == along) return;
  p_.symbols.push_back(s);
}

// A tensor shaped like this one: an input, what the language makes for it, or nothing.
std::string author::direction_like(const std::string& name, const char* what) {
  const symbol like = *p_.find(name);
  if (dice_.chance(50)) {
    symbol s;
    s.name = std::string(what) + "_" + name;
    if (p_.find(s.name) != nullptr) return s.name;
    s.type = like.type;
    s.dims = like.dims;
    s.of = name;
    s.what = what;
    p_.symbols.push_back(s);
    return s.name;
  }
  for (const symbol& s : p_.symbols)
    if (s.name != name && s.from == origin::input && s.of.empty() && s.dims == like.dims && is_floating(s.type) &&
        dice_.chance(50))
      return s.name;
  return add_input("v", like.type, like.dims).name;
}

void author::add_second_order(const std::string& loss, const std::string& x) {
  const std::string g = "g" + std::to_string(names_);
  add_derivative("grad", loss, x, "");
  if (p_.symbols.back().name != g) return;
  if (dice_.chance(45)) return add_derivative("jvp", g, x, direction_like(x, "tangent"));
  const std::string slope = weighted_sum(g, "slope");
  add_derivative("grad", slope, x, "");
}

void author::add_derivatives() {
  std::vector<std::string> by, many;
  for (const symbol& s : p_.symbols) {
    const bool floats = is_floating(s.type) && s.of.empty();
    if (floats && (s.from == origin::input || dice_.chance(10))) by.push_back(s.name);
    if (floats && s.from == origin::definition && s.rules.empty()) many.push_back(s.name);
  }
  if (many.empty()) return;
  const std::string y = many.back();
  const std::set<std::string> read = reached(p_, y);
  const bool scalar = p_.find(y)->dims.empty();
  const std::string loss = scalar ? y : weighted_sum(y, "loss");
  for (int count = 1 + dice_.below(2); count > 0; --count) {
    std::string x = dice_.of(by);
    for (int tries = 0; tries < 6 && read.count(x) == 0; ++tries) x = dice_.of(by);
    if (x == y || x == loss) continue;
    const int kind = ragged_ && dice_.chance(50) ? 9 : dice_.below(10);
    if (kind < 4) add_derivative("grad", loss, x, "");
    else if (kind < 6)
      add_derivative(
          "vjp", y, x,
          dice_.chance(30) ? direction_like(y, "cotangent") : add_input("c", p_.find(y)->type, p_.find(y)->dims).name);
    else if (kind < 8) add_derivative("jvp", y, x, direction_like(x, "tangent"));
    else add_second_order(loss, x);
    // The same derivative along two tensors: two tensors of one automatic name.
    const symbol last = p_.symbols.back();
    if (kind < 4 || kind > 7 || last.from != origin::derivative || !dice_.chance(30)) continue;
    const symbol like = *p_.find(last.along);
    add_derivative(last.what, last.y, last.x, add_input("e", like.type, like.dims).name);
  }
}

void author::choose_outputs() {
  std::vector<std::string> list;
  for (const symbol& s : p_.symbols)
    if (s.from != origin::input) list.push_back(s.name);
  // What comes last uses most of the others.
  std::vector<std::string> chosen;
  for (auto name = list.rbegin(); name != list.rend(); ++name)
    if (chosen.size() < 4 && (chosen.empty() || dice_.chance(p_.find(*name)->from == origin::derivative ? 85 : 45)))
      chosen.push_back(*name);
  for (const std::string& name : chosen) p_.outputs.push_back({name, nullptr});
  if (limits_.scalars && dice_.chance(12)) {
    scope_.clear();
    head_ = 0;
    p_.outputs.push_back({"", strong(floating(1), p_.main)});
    if (p_.outputs.back().scalar->kind == form::load && p_.outputs.back().scalar->args.empty()) p_.outputs.pop_back();
  }
  std::reverse(p_.outputs.begin(), p_.outputs.end());
}

program author::write() {
  choose_sizes();
  choose_inputs();
  if (dice_.chance(15)) add_joined();
  if (dice_.chance(10)) add_reshaped();
  for (int count = 1 + dice_.below(limits_.definitions); count > 0; --count) add_definition();
  if (dice_.chance(limits_.derivatives >= 0 ? limits_.derivatives : p_.kind == flavour::smooth ? 90 : 45))
    add_derivatives();
  choose_outputs();
  return needed(p_);
}

program generate(std::uint64_t seed, author_limits limits) { return author(seed, limits).write(); }

}  // namespace sheaf::fuzz
