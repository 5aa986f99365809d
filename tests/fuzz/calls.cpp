// Calls beside the plain one: of a plan as if of much data, of other sizes, of outputs that are added to what is there.
// See check.hpp.
#include <cmath>
#include <optional>
#include <set>

#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/error.hpp>

#include "check.hpp"

namespace sheaf::fuzz {

namespace {

// What is planned while this lives is planned as if of much data.
struct much_data {
  much_data() { jit::plan_as_of_much_data(true); }
  ~much_data() { jit::plan_as_of_much_data(false); }
};

void take(verdict& v, const std::string& what, verdict&& found) {
  if (found.ok() || !v.ok()) return;
  v.kind = what + ", " + found.kind;
  v.words = found.words;
}
void compare(const graph& g, const arguments& a, const bounded_outputs& bounds, const outcome& found,
             const outcome& expected, const std::string& what, verdict& v) {
  if (found.failed && is_too_large(found)) return;
  verdict own;
  check_values(g, a, bounds, found, expected, own);
  if (own.ok() && !found.damage.empty()) own.kind = "memory", own.words = found.damage;
  take(v, what, std::move(own));
}

outcome run(runnable& code, const arguments& a, std::vector<std::vector<std::int64_t>>& shapes) {
  try {
    shapes = code.extents(a);
    return code(a, shapes);
  } catch (const error& e) {
    return {true, name_of(e.code()), e.what(), {}, ""};
  }
}

// The program with other sizes, but those of fixed extents and of pairs.
program of_other_sizes(const program& p, dice& d) {
  std::set<int> stay;
  for (const symbol& s : p.symbols) {
    if (s.fixed) stay.insert(s.dims.begin(), s.dims.end());
    if (s.means == role::ranges) stay.insert(s.dims.back());
  }
  program other = p;
  for (std::size_t k = 0; k < other.sizes.size(); ++k) {
    if (stay.contains(static_cast<int>(k)) || !d.chance(60)) continue;
    const int kind = d.below(10);
    other.sizes[k] = kind == 0 ? 0 : kind < 3 ? 1 : kind < 9 ? 2 + d.below(8) : 20 + d.below(80);
  }
  return other;
}

// What is there before, small enough that adding to it rounds no more than the result does.
void fill(tensor_data& t, std::size_t output) {
  const auto count = static_cast<std::size_t>(t.count());
  for (std::size_t k = 0; k < count; ++k) {
    const int x = static_cast<int>((3 * k + output) % 7) - 3;
    if (is_floating(t.type)) t.reals.push_back(x);
    else t.integers.push_back(is_unsigned(t.type) ? x + 3 : x);
  }
}

}  // namespace

bool is_too_large(const outcome& found) {
  return found.failed && found.code == "unsupported" && found.sentence.find("256 indices") != std::string::npos;
}

void check_much_data(const graph& g, const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes,
                     const bounded_outputs& bounds, const outcome& expected, verdict& v) {
  const much_data while_planned;
  runnable code(g, jit::backend::chosen);
  compare(g, a, bounds, code(a, shapes), expected, "much data", v);
}

void check_other_sizes(const program& p, const graph& g, const arguments& a, verdict& v) {
  dice d(p.seed * 17 + 5);
  runnable code(g, jit::backend::chosen);
  std::vector<std::vector<std::int64_t>> shapes;
  run(code, a, shapes);
  for (int call = 0; call < 3 && v.ok(); ++call) {
    const arguments other = draw_arguments(of_other_sizes(p, d), p.seed + static_cast<std::uint64_t>(call) + 1);
    runnable slow(g, jit::backend::reference);
    std::optional<bounded_outputs> bounds;
    bounds.emplace(g, a);
    outcome expected, found = run(code, other, shapes);
    try {
      std::vector<std::vector<std::int64_t>> extents = slow.extents(other);
      bounds.emplace(g, other);
      if (bounds->by.tired()) continue;
      expected = slow(other, extents);
    } catch (const error& e) {
      if (!found.failed || found.code != name_of(e.code()))
        take(v, "other sizes", {.kind = "error", .words = std::string("reference: ") + e.what()});
      continue;
    }
    compare(g, other, *bounds, found, expected, "other sizes, call " + std::to_string(call), v);
  }
}

void check_adding(const graph& g, const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes,
                  const bounded_outputs& bounds, const outcome& expected, verdict& v) {
  if (expected.failed || bounds.by.tired()) return;
  for (const node_id y : g.outputs)
    if (g.type(y) == element::boolean) return;  // only numbers are added to
  runnable code(g, jit::backend::chosen);
  std::vector<tensor_data> before;
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    before.push_back(code.output_of(a, o, shapes[o]));
    fill(before.back(), o);
  }
  const outcome found = code.adding(a, before);
  if (found.failed) return compare(g, a, bounds, found, expected, "adding", v);
  verdict own;
  for (std::size_t o = 0; o < before.size() && own.ok(); ++o)
    for (std::size_t k = 0; k < static_cast<std::size_t>(before[o].count()) && own.ok(); ++k) {
      const approximate b = bounds.of[o]->values[k];
      const element type = before[o].type;
      const bool floats = is_floating(type);
      if (std::isinf(b.error)) continue;
      const tensor_data &y = expected.outputs[o], &x = found.outputs[o];
      const double sum = floats ? round_to(type, before[o].reals[k] + y.reals[k])
                                : static_cast<double>(wrap_to(type, before[o].integers[k] + y.integers[k]));
      const double got = floats ? x.reals[k] : static_cast<double>(x.integers[k]);
      const double allowed = 4 * b.error + 4 * unit_of(type) * (std::abs(sum) + 3) + smallest_of(type);
      if (got == sum || (std::isnan(got) && std::isnan(sum))) continue;
      if (std::abs(got - sum) <= (floats ? allowed : b.error)) continue;
      if (floats && std::abs(sum) + allowed >= largest_of(type)) continue;
      own.kind = "value";
      own.words = "output " + std::to_string(o) + ", element " + std::to_string(k) + ": kernels " +
                  std::to_string(got) + ", expected " + std::to_string(sum);
    }
  if (own.ok() && !found.damage.empty()) own.kind = "memory", own.words = found.damage;
  take(v, "adding", std::move(own));
}

}  // namespace sheaf::fuzz
