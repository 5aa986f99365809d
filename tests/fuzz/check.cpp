// See check.hpp.
#include "check.hpp"

#include <cmath>
#include <cstring>
#include <deque>
#include <optional>

#include <sheaf/runtime/error.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::fuzz {

namespace {

// What a program cannot know when it is drawn: constants folded until an index subscripts nothing, or a fixed extent
// of 0.
bool may_refuse(const std::string& sentence) {
  for (const char* part :
       {"has no extent", ": subscript ", "expected at least one element, there is none", "has extent", "the step is 0",
        "is too large", "is asked for twice", "skipping stands in no", "which says its vjp only"})
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

std::string show(double x) {
  char s[40];
  std::snprintf(s, sizeof s, "%.17g", x);
  return s;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_outputs(const outcome& a, const outcome& b, std::string& words) {
  if (a.failed != b.failed || a.code != b.code) {
    words = "error " + (a.failed ? a.code + ": " + a.sentence : "none") + ", then " +
            (b.failed ? b.code + ": " + b.sentence : "none");
    return false;
  }
  for (std::size_t o = 0; o < a.outputs.size() && !a.failed; ++o)
    if (!same_bits(a.outputs[o], b.outputs[o])) {
      words = "output " + std::to_string(o);
      return false;
    }
  return true;
}

void fail(verdict& v, const std::string& kind, const std::string& words) {
  if (v.ok()) v.kind = kind, v.words = words;
}

// Splits every loop to single iterations, last first: as unlike one thread as the contract of a hook allows.
void backwards(void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double) {
  for (std::int64_t at = count; at-- > 0;) body(call, at, at + 1);
}
class hook_for_a_while {
 public:
  explicit hook_for_a_while(const parallel_hook& hook) : before_(current_parallel_hook()) { set_parallel_hook(hook); }
  ~hook_for_a_while() { set_parallel_hook(before_); }

 private:
  parallel_hook before_;
};

using shape_list = std::vector<std::vector<std::int64_t>>;

// Programs of one graph live until all of its checks are done: what code they have in common is compiled once.
using compiled_programs = std::deque<runnable>;

outcome run_with(const graph& g, const arguments& a, const shape_list& shapes, const options& wanted,
                 const parallel_hook& hook, compiled_programs& alive) {
  const hook_for_a_while here(hook);
  try {
    return alive.emplace_back(g, jit::backend::chosen, wanted)(a, shapes);
  } catch (const error& e) {
    return {true, name_of(e.code()), e.what(), {}, ""};
  }
}

// print and parse are inverse, and what is parsed again is worth the same.
void check_text(const graph& g, const arguments& a, const shape_list& shapes, const bounded_outputs& bounds,
                const outcome& expected, verdict& v) {
  const std::string once = printed(g);
  const graph again = parsed(once);
  if (again.failed()) {
    return fail(v, "text: what is printed is refused", said(again.error) + "\n" + once);
  }
  const std::string twice = printed(again);
  // What is parsed is simplified again, which may find more in what a gradient left; the second time there is nothing
  // to find.
  if (once != twice && printed(parsed(twice)) != twice)
    return fail(v, "text: print of parse of print", once + "\n--- is printed as\n" + twice);
  v.rewritten = once != twice;
  if (again.outputs.size() != g.outputs.size()) return fail(v, "text: outputs of what is printed", once);
  for (int i = 0; i < again.inputs.size(); ++i)
    if (a.inputs.count(name_of_input(again, i)) == 0) return fail(v, "text: inputs of what is printed", once);
  std::string words;
  runnable slow(again, jit::backend::reference);
  outcome second;
  try {
    second = slow(a, shapes);
  } catch (const error& e) {
    second = {true, name_of(e.code()), e.what(), {}, ""};
  }
  // Simplified further, additions may be in another order.
  if (v.rewritten && expected.failed == second.failed && !second.failed) {
    verdict further;
    check_values(g, a, bounds, second, expected, further);
    if (!further.ok()) fail(v, "text: values of what is printed", further.words + "\n" + once);
    return;
  }
  if (!same_outputs(expected, second, words)) fail(v, "text: values of what is printed", words + "\n" + once);
}

// Outputs that lie where inputs lie.
void check_updates(const graph& g, const arguments& a, const shape_list& shapes, const bounded_outputs& bounds,
                   const outcome& expected, verdict& v) {
  runnable kernels(g, jit::backend::chosen);
  if (expected.failed || !kernels.may_update(a, shapes)) return;
  verdict updated;
  const outcome found = kernels(a, shapes, true);
  if (!found.damage.empty()) fail(updated, "memory", found.damage);
  check_values(g, a, bounds, found, expected, updated);
  if (!updated.ok()) fail(v, "updates, " + updated.kind, updated.words);
}

void check_kernels(const graph& g, const arguments& a, const shape_list& shapes, const bounded_outputs& bounds,
                   const outcome& expected, std::uint64_t seed, compiled_programs& alive, verdict& v) {
  dice d(seed * 31 + 7);
  const parallel_hook alone{nullptr, nullptr, 1};
  const outcome found = run_with(g, a, shapes, {}, alone, alive);
  if (!found.damage.empty()) fail(v, "memory", found.damage);
  if (is_too_large(found)) return void(v.refused = true);
  check_values(g, a, bounds, found, expected, v);
  if (!v.ok()) return;
  std::string words;
  if (d.chance(60)) check_updates(g, a, shapes, bounds, expected, v);
  if (v.ok() && d.chance(60)) check_much_data(g, a, shapes, bounds, expected, v);
  if (v.ok() && d.chance(30)) check_adding(g, a, shapes, bounds, expected, v);
  if (!v.ok()) return;
  if (d.chance(40)) {
    options shared;
    shared.sharing = sharing::always;
    const outcome split = run_with(g, a, shapes, shared, {backwards, nullptr, 5}, alive);
    if (!split.damage.empty()) fail(v, "memory, threads", split.damage);
    if (!same_outputs(found, split, words)) fail(v, "threads", words);
  }
  if (!v.ok() || !d.chance(40)) return;
  options other;
  const int kind = d.below(6);
  if (kind == 0) other.fusion = fusion::off;
  if (kind == 1) other.determinism = determinism::strict;
  if (kind == 2) other.algorithm = algorithm::inverse_index;
  if (kind == 3) other.algorithm = algorithm::block_tree;
  if (kind == 4) other.algorithm = algorithm::direct;
  if (kind == 5) other.lanes = 4 << d.below(3);
  const outcome chosen = run_with(g, a, shapes, other, alone, alive);
  if (chosen.failed && chosen.code == "unsupported") return;
  verdict another;
  if (!chosen.damage.empty()) fail(another, "memory", chosen.damage);
  check_values(g, a, bounds, chosen, expected, another);
  if (!another.ok()) fail(v, "options " + std::to_string(kind) + ", " + another.kind, another.words);
}

}  // namespace

// Bit for bit, save that a NaN is a NaN.
bool same_bits(const tensor_data& a, const tensor_data& b) {
  if (a.extents != b.extents || a.integers.size() != b.integers.size()) return false;
  for (std::size_t k = 0; k < a.integers.size(); ++k)
    if (a.integers[k] != b.integers[k]) return false;
  for (std::size_t k = 0; k < a.reals.size(); ++k)
    if (!(std::isnan(a.reals[k]) && std::isnan(b.reals[k])) &&
        std::memcmp(&a.reals[k], &b.reals[k], sizeof(double)) != 0)
      return false;
  return true;
}

// Which mistake is found first, of those in several outputs and of what the program demands, is open: is it one of
// them?
bool one_mistake_is(const graph& g, const arguments& a, const std::string& code) {
  const auto said = [&](const graph& part) {
    runnable slow(part, jit::backend::reference);
    const outcome found = slow(a, slow.extents(a));
    return found.failed ? found.code : "";
  };
  graph part = g;
  for (const demand& d : g.demands) {
    part.demands.clear();
    part.demands.push(d);
    const std::string own = said(part);
    // What a demand reads outside is 0 to kernels, which may then be a mistake by itself.
    if (own == code || (own == "index_out_of_range" && code == "empty_reduction")) return true;
  }
  part.demands.clear();
  for (const node_id output : g.outputs) {
    part.outputs.clear();
    part.outputs.push(output);
    if (said(part) == code) return true;
  }
  return false;
}

// Is a condition or a subscript asked that folds?
bool asks_folds(const graph& g) {
  std::vector<bool> folds(static_cast<std::size_t>(g.size()), false);  // arguments stand before what has them
  const auto of = [&](node_id n, int k) { return folds[static_cast<std::size_t>(g.arg(n, k))]; };
  for (node_id n = 0; n < g.size(); ++n) {
    const op kind = g.kind(n);
    const bool first = kind == op::select || kind == op::logical_and || kind == op::logical_or;
    if ((first && of(n, 0)) || (kind == op::reduce && of(n, 1))) return true;
    bool any = kind == op::reduce;
    for (int k = 0; k < g[n].count && kind != op::extent; ++k) {
      if (kind == op::load && k > 0 && of(n, k)) return true;
      any = any || of(n, k);
    }
    folds[static_cast<std::size_t>(n)] = any;
  }
  return false;
}

// A subscript outside that the evaluator alone finds may stand behind a condition that folds; one that kernels alone
// find, in a window that indices cut to nothing, or in a definition, which is computed for all of its indices
// (semantics.md).
bool may_differ(const graph& g, const arguments& a, const outcome& found) {
  if (!found.failed) return asks_folds(g);
  if (found.code != "index_out_of_range") return false;
  approximation by(g, bounded_outputs::inputs_of(g, a), true);
  for (const node_id y : g.outputs) by.of(y);
  for (const node_id y : g.differentiated) by.of(y);
  for (node_id n = 0; n < g.size(); ++n)
    if (g.kind(n) == op::define) by.of(n);
  return by.unsure_subscript() && !by.tired();
}

// Every element within its bound; the same error, or none.
void check_values(const graph& g, const arguments& a, const bounded_outputs& bounds, const outcome& found,
                  const outcome& expected, verdict& v) {
  if (found.failed || expected.failed) {
    v.error = true;
    if (found.failed == expected.failed && (found.code == expected.code || one_mistake_is(g, a, found.code))) return;
    if (found.failed != expected.failed && (bounds.by.unsure_subscript() || may_differ(g, a, found))) return;
    const std::string kernels = found.failed ? found.code + ": " + found.sentence : "none";
    return fail(v, "error",
                "kernels: " + kernels +
                    "\nreference: " + (expected.failed ? expected.code + ": " + expected.sentence : "none"));
  }
  if (bounds.by.tired()) return;
  for (std::size_t o = 0; o < found.outputs.size(); ++o) {
    const tensor_data &x = found.outputs[o], &y = expected.outputs[o];
    if (x.extents != y.extents) return fail(v, "extents", "output " + std::to_string(o));
    for (std::size_t k = 0; k < static_cast<std::size_t>(x.count()); ++k) {
      const approximate b = bounds.of[o]->values[k];
      ++v.compared;
      if (std::isinf(b.error)) continue;
      ++v.known;
      v.exact += b.sure();
      const bool floats = is_floating(x.type);
      const double f = floats ? x.reals[k] : static_cast<double>(x.integers[k]),
                   e = floats ? y.reals[k] : static_cast<double>(y.integers[k]);
      const double allowed = b.sure() ? 0 : 4 * b.error + 2 * unit_of(x.type) * std::abs(e) + smallest_of(x.type);
      if (same(f, e) || std::abs(f - e) <= allowed) continue;
      if (!b.sure() && floats && std::abs(e) + allowed >= largest_of(x.type)) continue;
      return fail(v, "value",
                  "output " + std::to_string(o) + ", element " + std::to_string(k) + ": kernels " + show(f) +
                      ", reference " + show(e) + ", allowed difference " + show(allowed));
    }
  }
}

verdict check(const program& p, const arguments& a) {
  verdict v;
  const std::string text = text_of(p);
  const graph g = parsed(text);
  if (g.failed()) {
    const std::string sentence = said(g.error);
    v.refused = true;
    if (!may_refuse(sentence)) fail(v, "refused: " + sentence.substr(sentence.find(": ") + 2), sentence);
    return v;
  }
  if (!fits(g)) {
    v.refused = true;
    return v;
  }
  for (int i = 0; i < g.inputs.size(); ++i)
    if (a.inputs.count(name_of_input(g, i)) == 0) return fail(v, "input", "no argument for " + name_of_input(g, i)), v;
  shape_list shapes;
  outcome expected;
  std::optional<bounded_outputs> bounds;
  try {
    runnable slow(g, jit::backend::reference);
    shapes = slow.extents(a);
    bounds.emplace(g, a);
    if (bounds->by.tired()) {  // the evaluator takes as many steps
      v.refused = true;
      return v;
    }
    expected = slow(a, shapes);
  } catch (const error& e) {
    expected = {true, name_of(e.code()), e.what(), {}, ""};
    shapes.clear();
  }
  if (expected.failed && expected.code == "broken_invariant") return fail(v, "reference", expected.sentence), v;
  if (shapes.empty()) {  // refused before anything ran: by the kernels too?
    std::string code;
    try {
      runnable(g, jit::backend::chosen).extents(a);
    } catch (const error& e) {
      code = name_of(e.code());
    }
    v.error = true;
    if (code != expected.code)
      fail(v, "error", "kernels: " + code + "\nreference: " + expected.code + ": " + expected.sentence);
    return v;
  }
  compiled_programs alive;
  check_kernels(g, a, shapes, *bounds, expected, p.seed, alive, v);
  if (v.ok() && !v.refused && p.seed % 4 == 0) check_other_sizes(p, g, a, v);
  if (v.ok() && p.kind == flavour::smooth && !expected.failed) check_differences(p, a, v);
  if (v.ok()) check_text(g, a, shapes, *bounds, expected, v);
  return v;
}

}  // namespace sheaf::fuzz
