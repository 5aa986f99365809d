// See shrink.hpp.
#include "shrink.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace sheaf::fuzz {

namespace {

using clock = std::chrono::steady_clock;

class shrinker {
 public:
  shrinker(reproducer r, const fails& still_fails, double seconds)
      : best_(std::move(r)),
        still_fails_(still_fails),
        end_(clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds))) {}

  reproducer run() {
    ask_for_derivatives();
    for (bool progress = true; progress && !late();) {
      progress = false;
      progress |= outputs();
      progress |= layouts();
      progress |= sizes();
      progress |= bodies();
      progress |= dimensions();
      progress |= values();
    }
    best_.p = needed(best_.p);
    return best_;
  }

 private:
  bool late() const { return clock::now() > end_; }
  // Derivatives are checked whether or not they are outputs: as outputs they are needed.
  void ask_for_derivatives() {
    reproducer r = best_;
    for (const symbol& s : r.p.symbols) {
      const bool asked = std::any_of(r.p.outputs.begin(), r.p.outputs.end(), [&](const output& o) {
        return o.scalar == nullptr && o.name == s.name;
      });
      if (s.from == origin::derivative && !asked) r.p.outputs.push_back({s.name, nullptr});
    }
    take(std::move(r));
  }
  bool take(reproducer r) {
    reproducer shown = r;
    shown.p = needed(r.p);
    if (late() || !still_fails_(shown)) return false;
    best_ = std::move(r);
    return true;
  }
  // Tries make(copy, 0), make(copy, 1), ... until make says that there are no more; stays where one was taken.
  template <class Make>
  bool each(Make make) {
    bool progress = false;
    for (int k = 0; !late();) {
      reproducer r = best_;
      const int said = make(r, k);
      if (said < 0) return progress;
      if (said > 0 && take(std::move(r))) progress = true;
      else ++k;
    }
    return progress;
  }

  bool outputs() {
    return each([](reproducer& r, int k) {
      if (k >= static_cast<int>(r.p.outputs.size())) return -1;
      if (r.p.outputs.size() == 1) return 0;
      r.p.outputs.erase(r.p.outputs.begin() + k);
      if (k < static_cast<int>(r.a.outputs.size())) r.a.outputs.erase(r.a.outputs.begin() + k);
      return 1;
    });
  }

  bool layouts() {
    bool progress = false;
    const auto plain = [](const layout& l) {
      return l.order.empty() && l.gaps.empty() && l.backwards.empty() && l.repeated.empty();
    };
    std::vector<std::string> names;
    for (const auto& [name, t] : best_.a.inputs)
      if (!plain(t.placed)) names.push_back(name);
    if (!names.empty()) {
      reproducer r = best_;
      r.a = dense(r.a);
      if (take(std::move(r))) return true;
    }
    for (const std::string& name : names) {
      reproducer r = best_;
      r.a.inputs[name].placed = {};
      progress |= take(std::move(r));
    }
    return progress;
  }

  // ---- sizes

  static tensor_data cut(const tensor_data& t, std::size_t dimension, std::int64_t from, std::int64_t count,
                         bool drop) {
    tensor_data c;
    c.type = t.type;
    c.extents = t.extents;
    c.extents[dimension] = count;
    std::int64_t inner = 1;
    for (std::size_t d = dimension + 1; d < t.extents.size(); ++d) inner *= t.extents[d];
    for (std::int64_t k = 0; k < t.count(); ++k) {
      const std::int64_t at = t.extents[dimension] > 0 ? k / inner % t.extents[dimension] : 0;
      if (at < from || at >= from + count) continue;
      if (is_floating(t.type)) c.reals.push_back(t.reals[static_cast<std::size_t>(k)]);
      else c.integers.push_back(t.integers[static_cast<std::size_t>(k)]);
    }
    if (drop) c.extents.erase(c.extents.begin() + static_cast<std::ptrdiff_t>(dimension));
    else c.placed = t.placed;
    return c;
  }

  static void resize(reproducer& r, int size, std::int64_t n) {
    r.p.sizes[static_cast<std::size_t>(size)] = n;
    for (const symbol& s : r.p.symbols) {
      const auto found = r.a.inputs.find(s.name);
      if (s.from != origin::input || found == r.a.inputs.end()) continue;
      for (std::size_t d = 0; d < s.dims.size(); ++d)
        if (s.dims[d] == size) found->second = cut(found->second, d, 0, n, false);
      if (s.target != size) continue;
      for (std::int64_t& v : found->second.integers)
        v = std::min(v, s.means == role::positions ? std::max<std::int64_t>(n - 1, 0) : n);
    }
  }
  bool sizes() {
    bool progress = false;
    for (int size = 0; size < static_cast<int>(best_.p.sizes.size()); ++size)
      for (const double part : {0.0, 0.1, 0.25, 0.5, 0.75, 1.0}) {
        const std::int64_t now = best_.p.sizes[static_cast<std::size_t>(size)];
        const std::int64_t n = part == 1.0 ? now - 1
                                           : static_cast<std::int64_t>(static_cast<double>(now) * part) +
                                                 (part > 0 && now > 4 ? 0 : part > 0);
        if (n < 0 || n >= now) continue;
        reproducer r = best_;
        resize(r, size, n);
        progress |= take(std::move(r));
      }
    return progress;
  }

  // ---- terms

  static bool alike(element a, element b) {
    return is_floating(a) == is_floating(b) && (a == element::boolean) == (b == element::boolean);
  }

  static std::vector<term> simpler(const term& e) {
    std::vector<term> list;
    const bool floats = is_floating(e->type), flag = e->type == element::boolean;
    if (e->kind == form::truth || e->kind == form::number) return list;
    if (e->kind != form::cast || e->args[0]->kind != form::number) {
      if (flag) list = {truth(true), truth(false)};
      else if (floats) list = {cast(e->type, number(0)), cast(e->type, number(1))};
      else if (e->kind != form::index) list = {number(0), number(1)};
    }
    for (const term& a : e->args)
      if (alike(a->type, e->type) && !(a->weak && !e->weak)) list.push_back(a);
    for (std::size_t d = 0; d < e->domains.size(); ++d) {
      expression copy = *e;
      if (e->domains.size() > 1 && std::none_of(e->args.begin(), e->args.end(),
                                                [&](const term& a) { return names_index(a, e->domains[d].index); })) {
        copy.domains.erase(copy.domains.begin() + static_cast<std::ptrdiff_t>(d));
        list.push_back(std::make_shared<const expression>(copy));
        copy = *e;
      }
      if (e->domains[d].condition != nullptr) {
        copy.domains[d].condition = nullptr;
        list.push_back(std::make_shared<const expression>(copy));
      }
    }
    if (!e->policies.empty()) {
      expression copy = *e;
      copy.policies.pop_back();
      list.push_back(std::make_shared<const expression>(copy));
    }
    if (e->domains.size() == 1 && e->domains[0].low != nullptr)
      for (const term& a : e->args)
        if (alike(a->type, e->type)) list.push_back(substituted(a, e->domains[0].index, e->domains[0].low));
    if (e->kind == form::load && !e->access.empty() && e->access != "inside") {
      expression copy = *e;
      copy.access.clear();
      copy.extra = nullptr;
      list.push_back(std::make_shared<const expression>(copy));
    }
    return list;
  }

  // The term with its part number `part`, counted from the front, replaced by its simpler form number `which`.
  static term replaced(const term& e, int& part, int which, bool& done, bool& there) {
    if (part-- == 0) {
      there = true;
      const std::vector<term> list = simpler(e);
      if (which < static_cast<int>(list.size())) done = true;
      return done ? list[static_cast<std::size_t>(which)] : e;
    }
    return with_parts(*e, [&](const term& a) { return part >= 0 ? replaced(a, part, which, done, there) : a; });
  }

  bool bodies() {
    bool progress = false;
    for (std::size_t s = best_.p.symbols.size(); s-- > 0;) {
      if (s >= best_.p.symbols.size() || best_.p.symbols[s].body == nullptr) continue;
      if (!best_.p.symbols[s].rules.empty()) {
        reproducer r = best_;
        r.p.symbols[s].rules.clear();
        progress |= take(std::move(r));
      }
      progress |= terms([s](program& p) -> term& { return p.symbols[s].body; });
    }
    for (std::size_t o = 0; o < best_.p.outputs.size(); ++o)
      if (best_.p.outputs[o].scalar != nullptr)
        progress |= terms([o](program& p) -> term& { return p.outputs[o].scalar; });
    return progress;
  }
  template <class Place>
  bool terms(Place place) {
    bool progress = false;
    for (int part = 0; !late(); ++part)
      for (int which = 0; !late(); ++which) {
        reproducer r = best_;
        int left = part;
        bool done = false, there = false;
        const term made = replaced(place(r.p), left, which, done, there);
        if (!there) return progress;
        if (!done) break;
        place(r.p) = made;
        if (take(std::move(r))) progress = true, which = -1;
      }
    return progress;
  }

  // ---- dimensions

  static term without(const term& e, const std::set<std::string>& names, std::size_t dimension, std::int64_t size) {
    if (e->kind == form::extent && names.count(e->name) > 0) {
      const auto d = static_cast<std::size_t>(e->value);
      if (d == dimension) return number(static_cast<double>(size));
      if (d > dimension) {
        expression copy = *e;
        copy.value -= 1;
        return std::make_shared<const expression>(copy);
      }
      return e;
    }
    const term inner = with_parts(*e, [&](const term& a) { return without(a, names, dimension, size); });
    if (inner->kind != form::load || names.count(inner->name) == 0) return inner;
    expression copy = *inner;
    copy.args.erase(copy.args.begin() + static_cast<std::ptrdiff_t>(dimension));
    return std::make_shared<const expression>(copy);
  }
  static bool drop_dimension(reproducer& r, std::size_t which, std::size_t dimension) {
    const symbol s = r.p.symbols[which];
    if (s.from == origin::derivative || !s.of.empty() || s.means != role::values || !s.rules.empty()) return false;
    std::set<std::string> names = {s.name};
    for (const symbol& o : r.p.symbols)
      if (names.count(o.of) > 0 || (o.from == origin::derivative && names.count(o.what == "jvp" ? o.y : o.x) > 0))
        names.insert(o.name);
    const std::int64_t size = r.p.sizes[static_cast<std::size_t>(s.dims[dimension])];
    if (size == 0 && s.from == origin::input) return false;
    for (symbol& o : r.p.symbols) {
      if (o.body != nullptr) o.body = without(o.body, names, dimension, size);
      for (domain& d : o.indices)
        if (d.high != nullptr) d.high = without(d.high, names, dimension, size);
      if (names.count(o.name) == 0) continue;
      o.dims.erase(o.dims.begin() + static_cast<std::ptrdiff_t>(dimension));
      if (const auto t = r.a.inputs.find(o.name); o.from == origin::input && t != r.a.inputs.end())
        t->second = cut(t->second, dimension, 0, 1, true);
      if (o.from != origin::definition) continue;
      o.body = substituted(o.body, o.indices[dimension].index, number(0));
      o.indices.erase(o.indices.begin() + static_cast<std::ptrdiff_t>(dimension));
    }
    for (output& o : r.p.outputs)
      if (o.scalar != nullptr) o.scalar = without(o.scalar, names, dimension, size);
    r.a = dense(r.a);
    return true;
  }
  bool dimensions() {
    bool progress = false;
    for (std::size_t s = 0; s < best_.p.symbols.size(); ++s)
      for (std::size_t d = 0; d < best_.p.symbols[s].dims.size();) {
        reproducer r = best_;
        if (drop_dimension(r, s, d) && take(std::move(r))) progress = true;
        else ++d;
      }
    return progress;
  }

  // ---- values

  bool values() {
    bool progress = false;
    std::vector<std::string> names;
    for (const auto& [name, t] : best_.a.inputs)
      if (best_.p.find(name) != nullptr) names.push_back(name);
    for (const std::string& name : names) {
      for (const double all : {0.0, 1.0}) {
        reproducer r = best_;
        tensor_data& t = r.a.inputs[name];
        const tensor_data before = t;
        for (double& x : t.reals) x = all;
        for (std::int64_t& x : t.integers) x = static_cast<std::int64_t>(all);
        if (t.reals != before.reals || t.integers != before.integers) progress |= take(std::move(r));
      }
      const std::int64_t count = best_.a.inputs[name].count();
      for (std::size_t k = 0; k < static_cast<std::size_t>(count) && count <= 24; ++k) progress |= value(name, k);
    }
    return progress;
  }
  bool value(const std::string& name, std::size_t k) {
    const tensor_data& t = best_.a.inputs[name];
    const bool floats = is_floating(t.type);
    const double now = floats ? t.reals[k] : static_cast<double>(t.integers[k]);
    for (const double simple : {0.0, 1.0, std::round(now), std::round(now * 4) / 4}) {
      if (now == simple || std::isnan(simple) || now == 0 || (now == 1 && simple != 0)) continue;
      reproducer r = best_;
      if (floats) r.a.inputs[name].reals[k] = simple;
      else r.a.inputs[name].integers[k] = static_cast<std::int64_t>(simple);
      if (take(std::move(r))) return true;
    }
    return false;
  }

  reproducer best_;
  const fails& still_fails_;
  clock::time_point end_;
};

}  // namespace

reproducer shrink(reproducer r, const fails& still_fails, double seconds) {
  return shrinker(std::move(r), still_fails, seconds).run();
}

}  // namespace sheaf::fuzz
