// What the reductions of the language are made of, on values: mean, count and logsumexp are built from sums and
// maxima, policies around all of them. The templates of reduction.hpp and fold.hpp and the text language (dsl/text)
// build through these. Input: a builder, bound axes, a body. Output: a node. Shown by tests/numeric/reductions.cpp,
// policies.cpp, folds.cpp.
#pragma once
#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/dsl/surface/build.hpp>
#include <sheaf/dsl/surface/policy.hpp>

namespace sheaf::inline v0_1 {

// The monoids, by their numbers, then what is built of them.
#define SHEAF_FOLDING(name) name,
enum class folding : std::uint8_t { SHEAF_MONOIDS(SHEAF_FOLDING) mean, count, logsumexp, count_ };
#undef SHEAF_FOLDING

namespace detail {

constexpr const char* folding_name(folding kind) {
  switch (kind) {
    case folding::mean: return "mean";
    case folding::count: return "count";
    case folding::logsumexp: return "logsumexp";
    default: return row(static_cast<monoid>(kind)).name;
  }
}
constexpr bool is_extremum(folding kind) { return kind == folding::max || kind == folding::min; }
constexpr bool is_position(folding kind) { return kind == folding::argmax || kind == folding::argmin; }
constexpr bool accumulates(folding kind) {
  return kind == folding::sum || kind == folding::prod || kind == folding::mean || kind == folding::logsumexp;
}

// What is wrong with so many policies of each kind, after "sum: "; null: nothing.
constexpr const char* misplaced_policy(folding kind, int ties, int empties, int sums) {
  if (ties > 0 && !is_extremum(kind) && !is_position(kind)) return "ties are a policy of max, min, argmax and argmin";
  if (sums > 0 && !accumulates(kind)) return "accumulate and compensated are policies of sum, prod, mean and logsumexp";
  return ties > 1 || empties > 1 || sums > 1 ? "two policies for one thing" : nullptr;
}
// For what is no index and a value.
constexpr sentence misplaced_fold(folding kind) {
  const char* const name = folding_name(kind);
  sentence s;
  s << name << ": expected an index, then what to fold, as in " << name << "(t, x(t)), " << name
    << "(t.in(lo, hi), x(t)) or " << name << "(over(m, t), y(m, t))";
  if (is_extremum(kind)) s << "; of two values, " << name << "imum(a, b)";
  return s;
}

// For dimensions of what has none.
constexpr sentence misplaced_dimension(folding kind) {
  const char* const name = folding_name(kind);
  return sentence{} << name << ": a dimension is one of a tensor without subscripts, as in " << name
                    << "(x, dim<1>); of an expression, " << name << "(t, x(t) * x(t))";
}

// What is bound, outermost first, and how it is spelled in sentences: "m, t".
struct bound_axes {
  const bound_axis* axes = nullptr;
  int count = 0;
  const char* over = "";
};

// f16 and bf16 are summed in f32 and rounded once at the end.
constexpr node_id widened(graph& g, node_id e) { return is_half(g.type(e)) ? cast_to(g, element::f32, e) : e; }
// Integers are folded in i64 and halves in f32, as sums are; halves are rounded once at the end.
constexpr element fold_type(element type) {
  return !is_floating(type) ? element::i64 : is_half(type) ? element::f32 : type;
}

class folder {
 public:
  constexpr folder(builder& b, bound_axes bound) : b_(b), bound_(bound) {}

  // A reduction of the language with its policies.
  constexpr node_id operator()(folding kind, node_id body, const policies& p) {
    const char* const name = folding_name(kind);
    node_id wide = body;
    if (p.accumulates || p.compensated) {
      const element type = p.accumulates ? p.accumulated : element::f64;
      if (!is_floating(b_.g.type(body)) || !is_floating(type))
        b_.fail() << name << ": accumulate and compensated are for floating types; the values are "
                  << row(b_.g.type(body)).name << ", the accumulator " << row(type).name;
      if (p.compensated && b_.g.type(body) == element::f64)
        b_.fail() << name << ": the values are f64 already; compensated sums f32 and narrower in f64";
      wide = cast_to(b_.g, type, body);
    }
    // accumulate<f16> of halves says what needs no saying; so the printer writes sums that no rounding surrounds.
    const bool narrow = p.accumulates && is_half(p.accumulated) && (kind == folding::sum || kind == folding::prod);
    if (is_position(kind)) {
      const bool last = p.chosen == ties::last;
      const node_id place = b_.position(static_cast<monoid>(kind), last, bound_.axes, bound_.count, body);
      return over_nothing(body, place, p, name);
    }
    node_id result =
        narrow ? b_.reduction(static_cast<monoid>(kind), bound_.axes, bound_.count, wide).id : plain(kind, wide);
    if (p.chosen != ties::even)
      result = b_.graft(
          result, b_.at_extremum(static_cast<monoid>(kind), p.chosen == ties::last, bound_.axes, bound_.count, wide));
    result = over_nothing(wide, result, p, name);
    return wide == body ? result : cast_to(b_.g, b_.g.type(body), result);
  }

  // Value k of a fold with a monoid of the program's own, whose first row for values of `fold_types` is given.
  constexpr node_id own(monoid first, int k, const flat<node_id>& values, const policies& p, const char* name) {
    const element type = b_.g.type(values[k]);
    flat<node_id> wide;
    for (const node_id v : values) wide.push(cast_to(b_.g, fold_type(b_.g.type(v)), v));
    const node_id body = wide.size() > 1 ? tuple(b_.g, wide) : wide[0];
    node_id result = b_.reduction(sibling(b_.g, first, k), bound_.axes, bound_.count, body).id;
    if (result == body) result = wide[k];  // after a mistake
    result = over_nothing(body, result, p, name);
    return is_half(type) ? cast_to(b_.g, type, result) : result;
  }

 private:
  constexpr node_id plain(folding kind, node_id body) {
    if (kind == folding::mean) return mean(body);
    if (kind == folding::logsumexp) return logsumexp(body);
    if (kind != folding::count) return plain(static_cast<monoid>(kind), body);
    if (b_.g.type(body) != element::boolean) body = make(b_.g, op::not_equal, body, number_like(b_.g, body, 0));
    return plain(monoid::sum, cast_to(b_.g, element::i64, body));
  }
  constexpr node_id plain(monoid kind, node_id body) {
    const bool sums = kind == monoid::sum || kind == monoid::prod;
    const node_id result = b_.reduction(kind, bound_.axes, bound_.count, sums ? widened(b_.g, body) : body).id;
    return sums && is_half(b_.g.type(body)) ? cast_to(b_.g, b_.g.type(body), result) : result;
  }
  constexpr node_id mean(node_id body) {
    if (!is_floating(b_.g.type(body)))
      b_.fail() << "mean over " << bound_.over << ": the values are " << row(b_.g.type(body)).name
                << ", expected a floating type; cast them: mean(" << bound_.over << ", cast<float>(...))";
    // The body takes part in the count, so that both find the same ranges; it counts as one each.
    const node_id wide = widened(b_.g, body);
    const node_id n = b_.counted(bound_.axes, bound_.count, wide);
    const node_id total = b_.reduction(monoid::sum, bound_.axes, bound_.count, wide).id;
    return cast_to(b_.g, b_.g.type(body), make(b_.g, op::div, total, cast_to(b_.g, b_.g.type(wide), n)));
  }
  // The maximum is taken out first, as PyTorch does, and 0 instead of it where it is infinite.
  constexpr node_id logsumexp(node_id body) {
    graph& g = b_.g;
    body = is_floating(g.type(body)) ? body : cast_to(g, element::f32, body);
    const node_id wide = widened(g, body);
    const node_id top = b_.reduction(monoid::max, bound_.axes, bound_.count, wide).id;
    const node_id fixed = b_.stop_gradient({centre_about(g, top), false}).id;
    const node_id terms = make(g, op::exp, make(g, op::sub, wide, fixed));
    const node_id total = b_.reduction(monoid::sum, bound_.axes, bound_.count, terms).id;
    return cast_to(g, g.type(body), make(g, op::add, make(g, op::log, total), fixed));
  }

  // What a reduction is worth over nothing, or that it must not be over nothing.
  constexpr node_id over_nothing(node_id body, node_id result, const policies& p, const char* name) {
    const element type = b_.g.type(result);
    if (p.has_value || p.has_nan) {
      if (!is_floating(type) && (p.has_nan || p.value != static_cast<double>(static_cast<std::int64_t>(p.value))))
        b_.fail() << name << ": empty::" << (p.has_nan ? "nan" : "value is a fraction, which") << " has no place in "
                  << row(type).name;
      const node_id instead = number(b_.g, type, p.has_nan ? math::nan : p.value);
      return make(b_.g, op::select, nothing(body), instead, result);
    }
    return p.has_error ? b_.required(result, nothing(body), sentence{} << name << " over " << bound_.over) : result;
  }
  constexpr node_id nothing(node_id body) {
    return make(b_.g, op::equal, b_.counted(bound_.axes, bound_.count, body), integer(b_.g, 0));
  }

  builder& b_;
  bound_axes bound_;
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
