#include <sheaf/jit/plan/error_bound.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>

#include <sheaf/jit/numerics/accuracy.hpp>
#include <sheaf/jit/plan/algorithms/scan/scan_results.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/most_trips.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using numerics::half_ulp;
constexpr double unknown = std::numeric_limits<double>::infinity();

// What an operation rounds to: f16 and bf16 are computed in f32 until they are stored.
double rounding(element type) { return half_ulp(numerics::accumulated(type)); }

error_bound exact() { return {}; }

error_bound larger(const error_bound& a, const error_bound& b) {
  error_bound most = a.relative < b.relative ? b : a;
  most.compares = a.compares || b.compares;
  return most;
}
error_bound both(const error_bound& a, const error_bound& b) {
  error_bound sum = a.of_sum < b.of_sum ? b : a;
  sum.relative = a.relative + b.relative;
  sum.compares = a.compares || b.compares;
  return sum;
}
error_bound plus_rounding(error_bound e, double more) {
  e.relative += more;
  return e;
}

class bounding {
 public:
  bounding(graph& g, const facts& known, const program_plan& plan)
      : g_(g), known_(known), plan_(plan), most_(g, known) {}

  // Of the values that a definition's stage stores.
  error_bound stored(node_id define) {
    if (const auto found = stored_.find(define); found != stored_.end()) return found->second;
    stored_[define] = {unknown};  // one that waits for itself
    error_bound result{unknown};
    for (const stage& s : plan_.stages)
      if (s.define == define && s.how != way::space) result = of_stage(s);
    return stored_[define] = result;
  }

 private:
  struct place {
    const stage& s;
    index_set lanes;  // what is in lanes around a node: the stage's, and those of reductions that it is in
    std::unordered_map<node_id, error_bound> done{};
    std::unordered_map<node_id, error_bound> operands{};
  };

  error_bound of_stage(const stage& s) {
    place at{s, {}};
    if (s.vector != no_node) at.lanes.insert(g_.ordinal(s.vector));
    error_bound e = of(s.how == way::scan ? s.scan().value : s.body, at);
    if (s.how == way::scan) e = of_scan(s, e, at);
    if (s.base != no_node) e = larger(e, of(s.base, at));
    if (s.how == way::partial && s.moving.moved != no_node) e = of_moving(s, e, at);
    const element type = g_.type(s.define);
    const bool rounded =
        g_.type(s.body) == type && (g_.kind(s.body) == op::cast || numerics::accumulated(type) == type);
    return rounded ? e : plus_rounding(e, half_ulp(type));
  }

  // Terms are those of the index along which results run; what blocks begin with is another stage's.
  error_bound of_scan(const stage& s, error_bound value, place& at) {
    const scan_form& f = s.scan();
    const double terms = most_(f.walk);
    if (f.factor == no_node) {
      const double own = terms * half_ulp(carried(s)) + in_registers(g_.type(f.value));
      const error_bound folded = folded_by(s.body, f.fold, value, terms, own);
      const error_bound carried_in = f.carry == no_node ? exact() : of(f.carry, at);
      const error_bound whole = plus_rounding(both(folded, carried_in), half_ulp(folded_type(g_, s)));
      if (f.result == no_node) return whole;
      at.done[f.folded] = whole;
      return of(f.result, at);
    }
    error_bound step = of(f.factor, at);
    step.relative = terms * (step.relative + 2 * half_ulp(numerics::recurred(g_.type(s.define))));
    const error_bound before = f.carry == no_node ? exact() : of(f.carry, at);
    return plus_rounding(both(both(value, step), before), half_ulp(g_.type(s.define)));
  }
  // Where results are the lanes, those of a register are first folded in the type of the values, by halves.
  static double in_registers(element type) {
    return std::log2(numerics::scan_lanes(numerics::accumulated(type))) * rounding(type);
  }
  element carried(const stage& s) const { return numerics::carried(s.scan().fold, folded_type(g_, s)); }

  // Each few rows what there is of a sum moves to another centre.
  error_bound of_moving(const stage& s, const error_bound& e, place& at) {
    error_bound moved = of(s.moving.moved, at);
    const double rows = most_(s.rows.part);
    moved.relative += rows * 4 * rounding(g_.type(s.body));
    return both(e, moved);
  }

  error_bound of(node_id n, place& at) {
    if (const auto found = at.done.find(n); found != at.done.end()) return found->second;
    const error_bound e = computed(n, at);
    return at.done[n] = e;
  }

  error_bound computed(node_id n, place& at) {
    switch (g_.kind(n)) {
      case op::constant:
      case op::index:
      case op::extent: return exact();
      case op::operand: return at.operands[no_node];
      case op::load: return g_.kind(g_.arg(n, 0)) == op::define ? stored(g_.arg(n, 0)) : exact();
      case op::reduce: return reduced(n, at);
      case op::stop_gradient: return of(g_.arg(n, 0), at);
      default: return elementwise(n, at);
    }
  }

  error_bound elementwise(node_id n, place& at) {
    const op kind = g_.kind(n);
    error_bound all, largest;
    bool rounded = false;
    for (int k = kind == op::select ? 1 : 0; k < g_[n].count; ++k) {
      const error_bound e = of(g_.arg(n, k), at);
      rounded = rounded || (is_floating(g_.type(g_.arg(n, k))) && e.relative > 0);
      all = both(all, e);
      largest = larger(largest, e);
    }
    if (kind == op::select) largest.compares = largest.compares || of(g_.arg(n, 0), at).compares;
    const bool steps = kind == op::floor || kind == op::ceil || kind == op::round || kind == op::sign ||
                       kind == op::quotient || kind == op::remainder || !is_floating(g_.type(n));
    if (steps) all = {.relative = kind == op::remainder ? all.relative : 0, .compares = all.compares || rounded};
    if (!is_floating(g_.type(n))) return all;
    if (kind == op::cast) return plus_rounding(all, cast_error(g_.type(g_.arg(n, 0)), g_.type(n)));
    const bool chooses = kind == op::add || kind == op::sub || kind == op::select || kind == op::minimum ||
                         kind == op::maximum;
    const double most = known_.call().gpu ? numerics::largest_error_on_gpu(kind) : numerics::largest_error(kind);
    return plus_rounding(chooses ? largest : all, 2 * most * rounding(g_.type(n)));
  }
  static double cast_error(element from, element to) {
    if (is_floating(from)) return half_ulp(from) < half_ulp(to) ? half_ulp(to) : 0;
    return from == element::boolean || row(from).bytes == 1 ? 0 : half_ulp(to);
  }

  // ---- reductions

  error_bound reduced(node_id q, place& at) {
    const node_id lane = in_lanes_outside(q, at) ? no_node : lane_of(g_, known_, q);
    const index_set around = at.lanes;
    if (lane != no_node) at.lanes.insert(g_.ordinal(lane));
    error_bound term, condition = of(g_.arg(q, 1), at);
    const node_id body = g_.arg(q, 0);
    std::vector<node_id> parts = chain_of(g_, q);
    if (g_.kind(body) == op::tuple)
      for (int k = 0; k < g_[body].count; ++k) parts.push_back(g_.arg(body, k));
    if (parts.empty()) parts.push_back(body);
    for (const node_id part : parts) term = larger(term, of(part, at));
    at.lanes = around;
    term.compares = term.compares || condition.compares;
    const monoid fold = monoid_of(g_, q);
    if (row(fold).position || row(fold).boolean) return {.compares = term.compares || term.relative > 0};
    const double terms = terms_of(q, at);
    if (is_own(fold)) return of_own(q, term, terms, at);
    return folded_by(q, fold, term, terms, numerics::adds_errors(fold) ? additions(q, lane, terms, at) : 0);
  }

  error_bound folded_by(node_id q, monoid fold, error_bound term, double terms, double additions) {
    if (fold != monoid::sum && fold != monoid::prod) return term;
    if (!is_floating(g_.type(q))) return {.compares = term.compares};
    const double own = additions + (fold == monoid::prod ? (terms - 1) * term.relative : 0);
    term.relative = terms <= 0 ? 0 : term.relative + own;
    if (own > term.of_sum) term.of_sum = own, term.sum = q, term.terms = terms;
    return term;
  }

  // A combination of k elements is at most so far off by t + (k - 1) c, if one of two that are off by t is by t + c.
  error_bound of_own(node_id q, error_bound term, double terms, place& at) {
    place inside{at.s, at.lanes};
    inside.operands[no_node] = term;
    error_bound step = term;
    const monoid fold = monoid_of(g_, q);
    for (int k = 0; k < own_row_of(g_, fold).width; ++k)
      step = larger(step, of(own_row_of(g_, sibling(g_, fold, k)).combine, inside));
    const double own = terms * (step.relative - term.relative);
    step.relative = term.relative + own;
    if (own > step.of_sum) step.of_sum = own, step.sum = q, step.terms = terms;
    return step;
  }

  double terms_of(node_id q, const place& at) {
    if (at.s.how == way::window && q == at.s.window().reduce) return static_cast<double>(at.s.window().width);
    double terms = std::max(1.0, static_cast<double>(chain_of(g_, q).size()));
    for (const node_id idx : bound_indices(g_, q)) terms *= most_(idx);
    return terms;
  }

  // Does an outer lane decide what is reduced? Then one result is one lane's, in the order of the index.
  bool in_lanes_outside(node_id q, const place& at) const { return g_.free[q].meets(at.lanes); }

  // The most roundings that a term meets on its way into the result, each half a unit of the type that adds.
  double additions(node_id q, node_id lane, double terms, const place& at) {
    const element lanes_hold = in_lanes(g_, q, type_that_adds(q, at));
    const double each = half_ulp(lanes_hold), any_order = (terms - 1) * each;
    if (multiplies_halves(at.s)) return terms * numerics::mma_roundings * each;
    if (terms <= 1) return 0;
    const bool has_list = q == at.s.body && at.s.inverse.array != no_node;
    double chain = any_order;
    switch (at.s.how) {
      case way::map:
      case way::stencil:
        if (lane != no_node && !at.s.reads_block_tree && !known_.for_groups())
          chain = in_own_lanes(q, lane, terms, lanes_hold, at);
        break;
      case way::partial: chain = of_partial(q, lane, terms, lanes_hold, at); break;
      case way::scatter: chain = has_list ? listed(q, terms, lanes_hold, at) : any_order; break;
      case way::sweep: chain = at.s.sweep().scatters ? any_order : swept(terms, at.s.sweep()) * each; break;
      case way::tiles:
        if (q == at.s.tiles().reduce) {
          const auto size = static_cast<double>(at.s.tiles().size);
          chain = (size + terms / size + 2) * each;
        }
        break;
      case way::pair_tiles: {
        constexpr double places = numerics::pair_tiles::places;
        const bool scaled = at.s.pairs().maximum != no_node;  // each tile scales what those before came to
        if (!uses(g_, g_.arg(q, 0), at.s.pairs().walk)) break;
        if (scaled) return (places + terms / places * (3 + 2 * numerics::largest_error(op::exp)) + 1) * each;
        chain = (places + terms / places + 1) * each;
        break;
      }
      default: break;
    }
    return std::min(chain, any_order);
  }
  bool multiplies_halves(const stage& s) const {
    return std::ranges::any_of(plan_.kernels,
                               [&](const kernel_plan& k) { return k.group.mma && &plan_.at(k.stages.front()) == &s; });
  }
  element type_that_adds(node_id q, const place& at) const {
    if (at.s.how == way::sweep) return at.s.sweep().type;
    if (at.s.how == way::tiles && q == at.s.tiles().reduce) return at.s.tiles().type;
    if (at.s.how == way::window && q == at.s.window().reduce) return at.s.window().type;
    return g_.type(q);
  }
  // Of many updates parts are joined, whose error counts as that of the rest after them.
  double listed(node_id q, double terms, element type, const place& at) {
    constexpr double in_a_row = numerics::updates::in_a_row;
    const row_parts_form& f = at.s.inverse.parts;
    const double row = (in_a_row + std::ceil(terms / in_a_row)) * half_ulp(type);
    if (f.array == no_node) return row;
    const double joins = std::ceil(terms / static_cast<double>(f.size));
    const double of_parts = (in_a_row + 2 * static_cast<double>(f.size) / in_a_row + f.kernels()) * half_ulp(type);
    return std::min(row, of_parts + joins * half_ulp(numerics::joined(monoid_of(g_, q), type)));
  }
  // The rows of two blocks, the blocks of a group before and after, and spans, which may be half of all groups.
  double swept(double terms, const sweep_form& f) const {
    const auto block = static_cast<double>(f.block), radix = static_cast<double>(f.radix);
    return 2 * block + 2 * radix + terms / (block * radix) + 4;
  }
  // What a row comes to, and then a row, or a few that were added before, at a time.
  double of_partial(node_id q, node_id lane, double terms, element type, const place& at) {
    if (q != at.s.body || at.s.rows.part == no_node)
      return lane == no_node ? (terms - 1) * half_ulp(type) : in_own_lanes(q, lane, terms, type, at);
    const double rows = most_(at.s.rows.part);
    return (rows + terms / std::max(1.0, rows)) * half_ulp(type);
  }
  double in_own_lanes(node_id q, node_id lane, double terms, element type, const place& at) {
    const double along = most_(lane), across = terms / std::max(1.0, along);
    const int lanes = fewest_lanes(q, lane, at);
    const double chain = across * std::ceil(along / lanes);
    const bool widens = numerics::folds_in_f64(monoid_of(g_, q), type, g_.type(q));
    double folds = 0;
    for (int left = lanes; left > 1; left /= 2)
      folds += half_ulp(widens && left <= numerics::folded_in_f64 ? element::f64 : type);
    return chain * half_ulp(type) + folds;
  }
  // Reductions that share a loop share its lanes.
  int fewest_lanes(node_id q, node_id lane, const place& at) {
    int fewest = lanes_for(g_, known_, q, lane, false);
    for (const kernel_plan& k : plan_.kernels) {
      if (std::ranges::none_of(k.stages, [&](int i) { return &stage_at(i) == &at.s; })) continue;
      for (const int i : k.stages) {
        const stage& s = stage_at(i);
        if (s.vector != no_node && same_range(g_, s.vector, lane)) fewest = std::min(fewest, s.lanes);
        for (const node_id r : reductions_in(g_, s.body))
          if (bound_indices(g_, r) == bound_indices(g_, q))
            fewest = std::min(fewest, lanes_for(g_, known_, r, lane, false));
      }
    }
    return fewest;
  }
  const stage& stage_at(int i) const { return plan_.at(i); }

  graph& g_;
  const facts& known_;
  const program_plan& plan_;
  most_trips most_;
  std::unordered_map<node_id, error_bound> stored_;
};

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x < 1e15 ? "%.15g" : "%.3g", x);
  return text;
}
// Units are rounded up: it is a bound.
std::string units_text(double relative, element type) {
  char text[32];
  const double units = relative / (2 * half_ulp(type));
  const double scale = std::pow(10, std::max(0.0, 2 - std::floor(std::log10(std::max(units, 1e-300)))));
  std::snprintf(text, sizeof text, "%.9g", std::ceil(units * scale * (1 - 1e-12)) / scale);
  return text;
}

std::string output_text(const graph& g, node_id output, const error_bound& e) {
  std::string text = "rounding of " + name_of(g, output) + ": ";
  if (std::isinf(e.relative)) return text + "no bound is known\n";
  if (e.relative == 0) return text + (e.compares ? "none, if comparisons of rounded numbers come out as of exact ones\n"
                                                 : "none, the result is exact\n");
  text += "at most " + units_text(e.relative, g.type(output)) + " ulp of its magnitude";
  if (e.of_sum > 0) {
    text += ", of them " + units_text(e.of_sum, g.type(output)) + " by a reduction over ";
    for (int k = 2; k < g[e.sum].count; ++k)
      text += (k > 2 ? ", " : "") + text_of(g, index_name(g, g.arg(e.sum, k)));
    text += " of at most " + number_text(e.terms) + (e.terms == 1 ? " term" : " terms");
  }
  if (e.compares) text += ", if comparisons of rounded numbers come out as of exact ones";
  return text + "\n";
}

}  // namespace

error_bound error_bound_of(graph& g, const facts& known, const program_plan& plan, node_id output) {
  return bounding(g, known, plan).stored(output);
}

std::string error_text(graph& g, const facts& known, const program_plan& plan) {
  bounding all(g, known, plan);
  std::string text;
  for (const node_id output : g.outputs)
    if (is_floating(g.type(output))) text += output_text(g, output, all.stored(output));
  return text;
}

}  // namespace sheaf::inline v0_1::plan
