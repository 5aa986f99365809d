// What stands in scope: indices, their domains, and subscripts that are mostly inside. See author.hpp.
#include <algorithm>

#include "author.hpp"

namespace sheaf::fuzz {

std::string author::fresh_index() {
  static const char* const names[] = {"i", "j", "k", "m", "t", "u", "s", "r", "f", "c", "h", "q"};
  for (int tries = 0;; ++tries) {
    std::string name = names[dice_.below(12)];
    if (tries > 20) name += std::to_string(tries);
    if (std::none_of(scope_.begin(), scope_.end(), [&](const variable& v) { return v.name == name; })) return name;
  }
}

double author::work() const {
  double product = 1;
  for (const variable& v : scope_) product *= v.iterations;
  return product;
}

// A size of at least this, if there is one.
int author::size_above(int least) {
  std::vector<int> fit;
  for (std::size_t k = 0; k < p_.sizes.size() && k < 4; ++k)
    if (p_.sizes[k] >= least) fit.push_back(static_cast<int>(k));
  return fit.empty() ? 0 : dice_.of(fit);
}

// A tensor with a dimension of this size; `written`: an input.
const symbol* author::tensor_with(int size, bool written) {
  std::vector<const symbol*> fit;
  for (const symbol& s : p_.symbols)
    if ((s.from == origin::input || !written) && s.of.empty() && std::count(s.dims.begin(), s.dims.end(), size) > 0)
      fit.push_back(&s);
  return fit.empty() ? nullptr : dice_.of(fit);
}

term author::size_of_class(int size) {
  const symbol* s = tensor_with(size, true);
  if (s == nullptr) return number(static_cast<double>(p_.sizes[static_cast<std::size_t>(size)]));
  const auto d = std::find(s->dims.begin(), s->dims.end(), size) - s->dims.begin();
  return extent(*s, static_cast<int>(d));
}

// The input of this meaning, or a new one.
const symbol& author::positions(int size, int target) {
  for (const symbol& s : p_.symbols)
    if (s.means == role::positions && s.dims == std::vector<int>{size} && s.target == target && dice_.chance(80))
      return s;
  return add_input("pick", int_type(p_.sizes[static_cast<std::size_t>(target)]), {size}, role::positions, target);
}
const symbol& author::ranges(int size, int target) {
  for (const symbol& s : p_.symbols)
    if (s.means == role::ranges && s.dims[0] == size && s.target == target) return s;
  int two = -1;
  for (std::size_t k = 0; k < p_.sizes.size(); ++k)
    if (p_.sizes[k] == 2) two = static_cast<int>(k);
  if (two < 0) p_.sizes.push_back(2), two = static_cast<int>(p_.sizes.size()) - 1;
  return add_input("cut", int_type(p_.sizes[static_cast<std::size_t>(target)]), {size, two}, role::ranges, target);
}
const symbol& author::offsets(int target) {
  for (const symbol& s : p_.symbols)
    if (s.means == role::offsets && s.target == target) return s;
  p_.sizes.push_back(1 + dice_.below(5));
  return add_input("off", element::i64, {static_cast<int>(p_.sizes.size()) - 1}, role::offsets, target);
}

bool author::on_scope(const term& e) const {
  return std::any_of(scope_.begin(), scope_.end(), [&](const variable& v) { return names_index(e, v.name); });
}

// An integer in [0, size), save now and then.
term author::position(int size, int depth) {
  std::vector<std::string> alike, others;
  for (const variable& v : scope_) (v.size == size ? alike : others).push_back(v.name);
  const std::int64_t n = p_.sizes[static_cast<std::size_t>(size)];
  if (dice_.below(400) == 0) return wild_position(depth);
  if (!alike.empty() && !dice_.chance(18)) return index(dice_.of(alike));
  switch (dice_.below(9)) {
    case 0:
    case 1:
    case 2: {
      std::vector<const variable*> fit;
      for (const variable& v : scope_)
        if (v.size >= 0) fit.push_back(&v);
      if (fit.empty() || n == 0) break;
      const variable v = *dice_.of(fit);
      return load(positions(v.size, size), {index(v.name)});
    }
    case 3:
      if (!alike.empty()) return size_of_class(size) - number(1) - index(dice_.of(alike));
      break;
    case 4:
      if (!alike.empty())
        return call(dice_.chance(50) ? "quotient" : "/", {index(dice_.of(alike)), number(1 + dice_.below(3))});
      break;
    case 5:
      if (!alike.empty() && n > 0)
        return call(dice_.chance(50) ? "remainder" : "%",
                    {index(dice_.of(alike)) + number(1 + dice_.below(3)), size_of_class(size)});
      break;
    case 6:
      if (n > 0)
        return call("maximum", {call("minimum", {wild_position(depth), size_of_class(size) - number(1)}), number(0)});
      break;
    default: break;
  }
  if (!alike.empty()) return index(dice_.of(alike));
  if (!others.empty() && n > 0)
    return call("remainder", {index(dice_.of(others)), size_of_class(size)});
  return n == 0 ? number(0) : number(dice_.below(static_cast<int>(std::min<std::int64_t>(n, 4))));
}

// An integer that may lie outside.
term author::wild_position(int depth) {
  if (scope_.empty()) return number(dice_.below(6) - 1);
  const term a = index(dice_.of(scope_).name), b = index(dice_.of(scope_).name);
  switch (dice_.below(depth > 1 ? 8 : 7)) {
    case 0: return a;
    case 1: return a + number(dice_.below(4) + 1);
    case 2: return a - number(dice_.below(3) + 1);
    case 3: return number(2 + dice_.below(2)) * a + b - number(dice_.below(3));
    case 4: return a + b;
    case 5: return a - b;
    case 6: return call("-", {a});
    default: return whole(1);
  }
}

std::vector<const symbol*> author::tensors(bool floats) const {
  std::vector<const symbol*> list;
  for (const symbol& s : p_.symbols)
    if (is_floating(s.type) == floats && s.of.empty() && s.name != "loss") list.push_back(&s);
  return list;
}

// A tensor whose dimensions have indices in scope is likelier.
term author::any_load(const std::vector<const symbol*>& list, int depth) {
  const symbol* best = nullptr;
  int most = -1;
  for (int tries = 0; tries < 3; ++tries) {
    const symbol* s = dice_.of(list);
    int fit = 0;
    for (const int d : s->dims)
      fit += std::any_of(scope_.begin(), scope_.end(), [&](const variable& v) { return v.size == d; }) ? 2 : -2;
    if (fit > most || best == nullptr) best = s, most = fit;
  }
  const symbol s = *best;  // subscripts may add inputs
  std::vector<term> at;
  const bool empty =
      std::any_of(s.dims.begin(), s.dims.end(), [&](int d) { return p_.sizes[static_cast<std::size_t>(d)] == 0; });
  const bool near = std::any_of(scope_.begin(), scope_.end(), [](const variable& v) { return v.size < 0; });
  if (s.dims.empty() || !dice_.chance(near ? 65 : 22)) {
    for (const int d : s.dims) at.push_back(position(d, depth - 1));
    return load(s, at, !s.dims.empty() && dice_.chance(3) ? "checked" : "");
  }
  for (const int d : s.dims) at.push_back(dice_.chance(60) ? wild_position(depth - 1) : position(d, depth - 1));
  const std::string access = dice_.of({"padded", "padded", "clamped", "reflected", "wrapped", "skipping", "guard"});
  const term inside = load(s, at, "inside");
  if (access == "guard") return call("select", {inside, load(s, at), cast(s.type, number(dice_.below(2)))});
  if (access == "padded") return load(s, at, access, number(dice_.below(3) - 1));
  // What is skipped is a term of a reduction over one of the indices.
  bool bound = false;
  for (std::size_t k = head_; k < scope_.size(); ++k)
    bound = bound || std::any_of(at.begin(), at.end(), [&](const term& e) { return names_index(e, scope_[k].name); });
  if (access == "skipping" && bound) return load(s, at, access);
  if (empty || access == "skipping") return load(s, at, "padded", number(0));
  return load(s, at, access);
}

// ---- domains

// Writes the range where nothing that is reduced gives the index its extent.
void author::close(domain& d, int size, const std::vector<term>& users) {
  if (d.high != nullptr) return;
  const bool needed =
      std::none_of(users.begin(), users.end(), [&](const term& e) { return subscripts_alone(e, d.index); });
  if (!needed && dice_.chance(75)) return;
  d.low = number(0);
  d.high = size_of_class(size);
}

author::variable author::bind_slice(domain& d, const variable& m) {
  if (!m.offsets.empty()) {
    const symbol off = *p_.find(m.offsets);
    d.low = load(off, {index(m.name)});
    d.high = load(off, {index(m.name) + number(1)});
    return {d.index, off.target, static_cast<double>(p_.sizes[static_cast<std::size_t>(off.target)]) / 2 + 1};
  }
  const int target = size_above(dice_.chance(90) ? 1 : 0);
  const symbol cut = ranges(m.size, target);
  d.low = load(cut, {index(m.name), number(0)});
  d.high = load(cut, {index(m.name), number(1)});
  return {d.index, target, static_cast<double>(p_.sizes[static_cast<std::size_t>(target)]) / 2 + 1};
}

// Running ranges, from or to an index in scope.
author::variable author::bind_range(domain& d, int) {
  std::vector<variable> fit;
  for (const variable& v : scope_)
    if (v.size >= 0) fit.push_back(v);
  const variable t = dice_.of(fit);
  const term here = index(t.name), end = size_of_class(t.size);
  switch (dice_.below(6)) {
    case 0:
    case 1: d.low = number(0), d.high = here + number(1); break;
    case 2: d.low = here, d.high = end; break;
    case 3: d.low = number(0), d.high = here; break;
    case 4: d.low = here, d.high = number(-1), d.step = number(-1); break;
    default:
      d.low = call("maximum", {here - number(dice_.below(4)), number(0)});
      d.high = call("minimum", {here + number(1 + dice_.below(4)), end});
  }
  return {d.index, t.size, t.iterations};
}

author::variable author::bind_near(domain& d) {
  const int low = dice_.chance(70) ? 0 : -1, width = 1 + dice_.below(4);
  d.low = number(low), d.high = number(low + width);
  return {d.index, -1, static_cast<double>(width)};
}

// An index of slices that offsets say.
author::variable author::bind_offsets(domain& d) {
  const symbol off = offsets(size_above(0));
  d.low = number(0), d.high = extent(off, 0) - number(1);
  return {d.index, off.dims[0], static_cast<double>(p_.sizes[static_cast<std::size_t>(off.dims[0])]), off.name};
}

// A domain of a new index. Its range may be left to be closed once what is reduced is known.
author::variable author::bind(domain& d, int depth) {
  d.index = fresh_index();
  const int size = dice_.below(static_cast<int>(p_.sizes.size()));
  const double n = static_cast<double>(p_.sizes[static_cast<std::size_t>(size)]);
  std::vector<variable> rows;
  for (const variable& v : scope_)
    if (v.size >= 0) rows.push_back(v);
  const int kind = dice_.below(12);
  if (kind < 3 && !rows.empty()) return bind_slice(d, dice_.of(rows));
  if (kind == 3 && !rows.empty()) return bind_range(d, depth);
  if (kind == 4 || kind == 5) return bind_near(d);
  if (kind == 8 && dice_.chance(50)) return bind_offsets(d);
  if (kind == 6) {
    d.low = number(dice_.below(2)), d.high = size_of_class(size), d.step = number(1 + dice_.below(3));
    if (dice_.chance(40))
      d.low = size_of_class(size) - number(1), d.high = number(-1), d.step = number(-1 - dice_.below(2));
    return {d.index, size, n};
  }
  if (kind == 7 && !rows.empty()) {  // the rows with this id
    const variable m = dice_.of(rows);
    if (p_.sizes[static_cast<std::size_t>(m.size)] > 0) {
      const symbol ids = positions(size, m.size);
      d.condition = call("==", {load(ids, {index(d.index)}), index(m.name)});
    }
  }
  return {d.index, size, n};
}

}  // namespace sheaf::fuzz
