#include <sheaf/jit/plan/split.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/moments/shifted_moments.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/partial_results.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/rows.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace blocks = numerics::split;

bool is_partial(const std::vector<stage>& before, node_id tensor) {
  return std::ranges::any_of(before, [&](const stage& s) { return s.define == tensor && s.made == origin::partial; });
}

// Of a tuple each value has partial results of its own; what folds them reads those of all.
template <class Part>
node_id by_value(graph& g, node_id n, const Part& part, node_id over) {
  const monoid kind = monoid_of(g, n);
  flat<node_id> parts;
  for (int k = 0; k < own_row_of(g, kind).width; ++k) {
    const monoid own = sibling(g, kind, k);
    parts.push(part(own, own_row_of(g, own).type));
  }
  return intern_reduce(g, kind, g.type(n), tuple(g, parts), truth(g, true), {over});
}

class splitting : partial_results {
 public:
  splitting(const context& c, node_id n, const stage& s) : partial_results(c, n, s) {}

  node_id operator()() {
    if (!choose()) return no_node;
    if (inner_ >= blocks::row_elements && results_ == 1) return by_row();
    if (row(monoid_of(g_, n_)).position)
      return walks_wide_rows(g_, known_, n_, g_.arg(n_, 0), s_) ? position() : position_of_positions();
    if (const node_id whole = centred(); whole != no_node) return whole;
    const row_blocks rows = blocks_of(g_, n_, cut_, block_);
    if (folds_tuple(g_, n_))
      return by_value(
          g_, n_, [&](monoid kind, element type) { return parts_of(rows, kind, type, g_.arg(n_, 0), g_.arg(n_, 1)); },
          rows.block);
    const element type = numerics::accumulated(g_.type(n_));
    const node_id parts = parts_of(rows, monoid_of(g_, n_), type, g_.arg(n_, 0), g_.arg(n_, 1));
    return cast_to(g_, g_.type(n_), total(parts, type, rows.block));
  }

 private:
  // A row is block enough, and other stages over the same rows can share the pass.
  node_id by_row() {
    std::vector<node_id> rest = bound_;
    std::erase(rest, cut_);
    const auto part = [&](monoid kind, element type) {
      const node_id per_row = intern_reduce(g_, kind, type, g_.arg(n_, 0), g_.arg(n_, 1), rest);
      const std::string reason = "one part a row: " + count_text(elements_) + " elements for one result";
      return stored(c_, per_row, {"partial", s_, reason, origin::partial});
    };
    if (folds_tuple(g_, n_)) return by_value(g_, n_, part, cut_);
    const node_id parts = part(monoid_of(g_, n_), g_.type(n_));
    return total(parts, g_.type(n_), cut_);
  }

  // sum(i, e(i, C)) where C comes of partial results over the same rows: with c[p], what C is of block p alone,
  //   sum(i, exp(x - C))  = sum(p, exp(c[p] - C) sum(i in p, exp(x - c[p])))
  //   sum(i, (x - C)^2)   = sum(p, sum(i in p, (x - c[p])^2) + n[p] (c[p] - C)^2),  C = sum(i, x) / n
  // (T. Chan, G. Golub, R. LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979),
  // where C is the mean, or the maximum, of the very x.
  node_id centred() {
    if (monoid_of(g_, n_) != monoid::sum || bound_.size() != 1 || !is_true(g_, g_.arg(n_, 1)) ||
        numerics::accumulated(g_.type(n_)) != g_.type(n_))
      return no_node;
    const node_id body = g_.arg(n_, 0);
    const bool square = squared_difference(g_, body) != no_node;
    if (!square && power_of(g_, body).value == no_node) return no_node;
    const node_id difference = g_.arg(body, 0), centre = g_.arg(difference, 1);
    if (g_.free[centre].has(g_.ordinal(cut_))) return no_node;
    row_blocks rows;
    node_id use = no_node;
    const node_id own = centre_of_block(seen(centre), g_.arg(difference, 0), square, rows, use);
    if (own == no_node) return no_node;
    const auto about = [&](node_id c) {
      return with(g_, body, difference, make(g_, op::sub, g_.arg(difference, 0), c));
    };
    const element type = g_.type(n_);
    const bool wide_rows = walks_wide_rows(g_, known_, n_, about(own), s_);
    // Moved from rows to rows, squares would be rounded more often than in one sum.
    const bool narrow = square && wide_rows && type == element::f32;
    const node_id part = parts_of(rows, monoid::sum, type, about(own), truth(g_, true), narrow);
    if (wide_rows) shift_centre(part, rows, use, own, square, about);
    const node_id nothing = make(g_, op::sub, centre, centre);  // 0, or NaN where all are -inf
    const node_id by = make(g_, op::sub, own, centre);
    const node_id term =
        square ? moved_squares(g_, part, by, size_of(rows, type)) : moved_powers(g_, part, by, nothing);
    return total(term, type, rows.block);
  }

  // The same from rows to rows of a block: a mean is that of the rows so far, a maximum is as the other stage has it.
  template <class About>
  void shift_centre(node_id part, const row_blocks& rows, node_id use, node_id own, bool square, About about) {
    shifted_moments_form m{.centre = use};
    node_id before = no_node, after = own, count = no_node;
    if (square) {
      const element type = g_.type(own);
      const node_id low = g_.arg(rows.part, 0), zero = integer(g_, 0);
      m.last = fresh_index(g_, rows.part, low, g_.arg(rows.part, 1));
      const node_id rows_before = make(g_, op::sub, rows.part, low);
      const node_id rows_after = make(g_, op::add, make(g_, op::sub, m.last, low), integer(g_, 1));
      const auto mean_of = [&](node_id sum, node_id counted) {
        return make(g_, op::div, sum, cast_to(g_, type, counted));
      };
      after = mean_of(use, rows_after);
      before =
          make(g_, op::select, make(g_, op::equal, rows_before, zero), after, mean_of(earlier(g_, use), rows_before));
      count = cast_to(g_, type, rows_before);
    } else {
      replacement put(g_);
      put.add(use, earlier(g_, use));
      before = put(own);
    }
    const node_id body = with(g_, about(after), cut_, rows.part, proofs::kept), always = truth(g_, true);
    m.body = g_.type(part) != g_.type(body) ? narrow_sum(body, always, {rows.part})
                                            : intern_reduce(g_, monoid::sum, g_.type(body), body, always, {rows.part});
    const node_id sum = earlier(g_, part), by = make(g_, op::sub, before, after);
    m.moved = square ? moved_squares(g_, sum, by, count) : moved_powers(g_, sum, by, number_like(g_, part, 0));
    stage_behind(c_, part).moving = m;
  }

  // The first i where e(i) is the extremum C of all e: with c[p], that of block p, the first of those p where c[p] is
  // C, and there the first i where e(i) is c[p]. Rows come after what is there, so of equals the position so far stays.
  node_id position() {
    const monoid kind = monoid_of(g_, n_) == monoid::argmax ? monoid::max : monoid::min;
    const node_id value = g_.arg(n_, 0);
    const row_blocks rows = blocks_of(g_, n_, cut_, block_);
    const node_id use = parts_of(rows, kind, numerics::accumulated(g_.type(value)), value, truth(g_, true));
    const node_id first = g_.arg(rows.part, 0), none = identity_of(g_, monoid::min, element::i32);
    const node_id place = cast_to(g_, element::i32, make(g_, op::sub, rows.part, first));
    const node_id here = same(with(g_, cast_to(g_, g_.type(use), value), cut_, rows.part, proofs::kept), use);
    const node_id part = parts_of(rows, monoid::min, element::i32, place, here);
    shifted_moments_form& moving = stage_behind(c_, part).moving;
    moving.centre = use;
    moving.body = intern_reduce(g_, monoid::min, element::i32, place, here, {rows.part});
    moving.moved = make(g_, op::select, same(earlier(g_, use), use), earlier(g_, part), none);
    const node_id all = intern_reduce(g_, kind, g_.type(use), use, truth(g_, true), {rows.block});
    const node_id known = conjunction(g_, make(g_, op::not_equal, part, none), same(use, all));
    const node_id row_of = make(g_, op::add, first, cast_to(g_, element::i64, part));
    const node_id least = intern_reduce(g_, monoid::min, element::i64, row_of, known, {rows.block});
    const node_id nowhere = make(g_, op::equal, least, identity_of(g_, monoid::min, element::i64));
    return make(g_, op::select, nowhere, integer(g_, -1), least);
  }

  // The same where a block lies in a row: where each has its own extremum, and of these the first that is the greatest.
  node_id position_of_positions() {
    const monoid own = monoid_of(g_, n_), kind = own == monoid::argmax ? monoid::max : monoid::min;
    const row_blocks rows = blocks_of(g_, n_, cut_, block_);
    const node_id value = g_.arg(n_, 0), always = truth(g_, true);
    const node_id of_block =
        intern_reduce(g_, own, g_.type(n_), with(g_, value, cut_, rows.part, proofs::kept), always, {rows.part});
    const node_id place = stored_part(rows, of_block);
    const node_id there = with(g_, value, cut_, place, proofs::kept);
    const node_id all = intern_reduce(g_, kind, g_.type(value), there, always, {rows.block});
    const node_id least = intern_reduce(g_, monoid::min, element::i64, place, same(there, all), {rows.block});
    const node_id nowhere = make(g_, op::equal, least, identity_of(g_, monoid::min, element::i64));
    return make(g_, op::select, nowhere, integer(g_, -1), least);
  }

  // NaN is one of the values that an extremum may have.
  node_id same(node_id value, node_id extremum) {
    const node_id equal = make(g_, op::equal, value, extremum);
    return is_floating(g_.type(value)) ? make(g_, op::logical_or, equal, make(g_, op::not_equal, value, value)) : equal;
  }

  // What a stage before stores, as it is computed.
  node_id seen(node_id n) {
    replacement put(g_);
    for (const stage& made : c_.before) {
      if (g_.kind(n) != op::load || made.define != g_.arg(n, 0) || made.how != way::map) continue;
      for (std::size_t d = 0; d < made.indices.size(); ++d)
        put.add(made.indices[d], g_.arg(n, 1 + static_cast<int>(d)));
      return put(made.body);
    }
    return n;
  }

  node_id size_of(const row_blocks& rows, element type) {
    return cast_to(g_, type, make(g_, op::sub, g_.arg(rows.part, 1), g_.arg(rows.part, 0)));
  }

  // The centre with one reduction of `value` over partial results of these rows, which `use` loads, taken for a block
  // alone. mean: it is a sum over a count.
  node_id centre_of_block(node_id centre, node_id value, bool mean, row_blocks& rows, node_id& use) {
    node_id over = no_node;
    int count = 0;
    for_each_node(g_, centre, [&](node_id q) {
      if (g_.kind(q) != op::reduce) return;
      ++count;
      const node_id body = without_cast(g_, g_.arg(q, 0));
      if (g_[q].count != 3 || g_.kind(body) != op::load || !is_true(g_, g_.arg(q, 1))) return;
      for (const stage& made : c_.before)
        if (made.define == g_.arg(body, 0) && made.rows.whole == cut_ && g_.arg(q, 2) == made.rows.block &&
            folds(g_, made, cut_, value)) {
          over = q;
          use = body;
          rows = made.rows;
        }
    });
    if (over == no_node || count != 1 || (monoid_of(g_, over) != (mean ? monoid::sum : monoid::max))) return no_node;
    if (mean) {
      if (g_.kind(centre) != op::div || without_cast(g_, g_.arg(centre, 0)) != over ||
          holds(g_, g_.arg(centre, 1), op::load))
        return no_node;
      const node_id divisor = g_.arg(centre, 1), extent = make(g_, op::sub, g_.arg(cut_, 1), g_.arg(cut_, 0));
      if (!known_.value(extent) || g_.kind(divisor) != op::cast || without_cast(g_, divisor) != extent) return no_node;
      return make(g_, op::div, use, size_of(rows, g_.type(centre)));
    }
    replacement put(g_);
    put.add(over, use);
    return finite_shift(g_, put(centre));
  }
};

// Partial results of few results, joined by the tasks that those have, would leave a GPU idle: so many are joined some
// at a time first, which makes one launch more; of one result, which one block joins, as many as are worth blocks.
// no_node: they are not.
node_id joined_in_steps(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (!known.for_groups() || row(monoid_of(g, n)).position || g[n].count != 3 || !is_true(g, g.arg(n, 1)) ||
      !is_closed(g, g.arg(n, 2)) || is_folded_in_order(g, n))
    return no_node;
  const node_id over = g.arg(n, 2);
  const amount parts = known.trips(over), results = known.trips(g.free[n]), warps = results / tuning::grid::warp;
  const bool few = known.starves(warps, warps * parts / blocks::joined_at_once, parts * results);
  const bool of_one_block = results <= 1 && parts >= blocks::from;
  if (parts < blocks::joined_from || (!few && !of_one_block)) return no_node;
  const row_blocks rows = blocks_of(g, n, over, blocks::joined_at_once);
  replacement put(g, proofs::kept);
  put.add(over, rows.part);
  const monoid fold = monoid_of(g, n);
  const node_id body = put(g.arg(n, 0)), always = truth(g, true);
  const auto joined = [&](monoid kind, element type) {
    const node_id some = intern_reduce(g, kind, type, body, always, {rows.part});
    return stored(c, some, {"joined", s, "partial results, some at a time"});
  };
  if (!folds_tuple(g, n)) return intern_reduce(g, fold, g.type(n), joined(fold, g.type(n)), always, {rows.block});
  return by_value(g, n, joined, rows.block);
}

// What joins partial results of each of a few rows stands before the loops over what those have: rows would be all the
// tasks there are. Stored, it leaves the loops below to tasks too.
node_id joined_before(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (!known.for_groups() || s.vector == no_node || !has_closed_ranges(g, n)) return no_node;
  index_set around;
  std::size_t depth = 0;
  while (depth < s.loops.size() && !g.free[n].within(around)) around.insert(g.ordinal(s.loops[depth++]));
  if (depth == 0 || depth == s.loops.size() || around != g.free[n]) return no_node;
  const amount all = known.trips(set_of(g, s.loops));
  const double warps = std::max(1, s.lanes / tuning::grid::warp);
  if (!known.starves(known.trips(around) * warps, all / static_cast<double>(s.lanes) * warps, all)) return no_node;
  return stored(c, n, {"joined", s, "partial results, of fewer rows than there are tasks"});
}

// An extremum and its position: read once where rows are walked as they lie, twice down a tile of columns, and once
// where lanes go along a row. On a GPU both are one fold by now (rule `one walk`).
bool may_split_position(graph& g, const facts& known, node_id n, const stage& s) {
  const node_id body = g.arg(n, 0);
  const bool along_row = !known.for_groups() && s.vector == no_node && !holds(g, body, op::reduce);
  return g[n].count == 3 && is_true(g, g.arg(n, 1)) && g.type(body) != element::boolean &&
         (along_row || walks_wide_rows(g, known, n, body, s));
}

}  // namespace

node_id split(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (row(monoid_of(g, n)).position && !may_split_position(g, known, n, s)) return no_node;
  const node_id first = without_cast(g, folds_tuple(g, n) ? g.arg(g.arg(n, 0), 0) : g.arg(n, 0));
  if (g.kind(first) == op::load && is_partial(before, g.arg(first, 0))) {
    const node_id joined = joined_in_steps(c, n, s);
    return joined != no_node ? joined : joined_before(c, n, s);
  }
  return splitting(c, n, s)();
}

}  // namespace sheaf::inline v0_1::plan
