#include <sheaf/jit/plan/split.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/moments/shifted_moments.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/cuts.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
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

// How much a term of n reduces by itself: the most that a reduction inside runs over.
amount nested_trips(const graph& g, const facts& known, node_id n) {
  amount most = 1;
  for_each_node(g, g.arg(n, 0), [&](node_id q) {
    if (g.kind(q) != op::reduce) return;
    index_set bound = set_of(g, bound_indices(g, q));
    bool meets = false;
    for (const node_id idx : bound_indices(g, n)) meets = meets || g.free[q].has(g.ordinal(idx));
    if (meets) most = max(most, known.trips(bound));
  });
  return most;
}

// The same of rows that a stage before has folded for it: blocks of rows that a cache holds are walked by both.
amount folded_before(const context& c, node_id n) {
  amount most = 1;
  for (const stage& s : c.before) {
    if (s.made != origin::for_lanes || c.g.kind(s.body) != op::reduce) continue;
    const auto bound = bound_indices(c.g, s.body);
    const bool whole = std::ranges::all_of(bound, [&](node_id idx) { return is_closed(c.g, idx); });
    bool reads = false;
    for_each_node(c.g, c.g.arg(n, 0),
                  [&](node_id q) { reads = reads || (c.g.kind(q) == op::load && c.g.arg(q, 0) == s.define); });
    if (whole && reads) most = max(most, c.known.trips(set_of(c.g, bound)));
  }
  return most;
}

class splitting {
 public:
  splitting(const context& c, node_id n, const stage& s)
      : c_(c), g_(c.g), known_(c.known), n_(n), s_(s), bound_(bound_indices(c.g, n)) {}

  node_id operator()() {
    if (!choose()) return no_node;
    if (inner_ >= blocks::row_elements && results_ == 1) return by_row();
    if (row(monoid_of(g_, n_)).position) return position();
    if (const node_id whole = centred(); whole != no_node) return whole;
    const row_blocks rows = blocks_of(g_, n_, cut_, block_);
    if (folds_tuple(g_, n_))
      return by_value(
          [&](monoid kind, element type) { return parts_of(rows, kind, type, g_.arg(n_, 0), g_.arg(n_, 1)); },
          rows.block);
    const element type = numerics::accumulated(g_.type(n_));
    const node_id parts = parts_of(rows, monoid_of(g_, n_), type, g_.arg(n_, 0), g_.arg(n_, 1));
    return cast_to(g_, g_.type(n_), total(parts, type, rows.block));
  }

 private:
  node_id total(node_id parts, element type, node_id over) {
    const monoid fold = monoid_of(g_, n_);
    const element wider = numerics::joined(fold, type);
    return cast_to(g_, type, intern_reduce(g_, fold, wider, cast_to(g_, wider, parts), truth(g_, true), {over}));
  }

  // The outermost index with a closed range and enough iterations, and how many of them make a block.
  bool choose() {
    index_set all = set_of(g_, bound_);
    const amount nested = nested_trips(g_, known_, n_), line = known_.for_groups() ? 1 : lines_of_term(g_, n_);
    const amount within = max(nested * folded_before(c_, n_), line);
    elements_ = known_.trips(all);
    results_ = known_.trips(g_.free[n_]);
    if (!all_of({{elements_ * within * results_, known_.elements(blocks::from)},
                 {elements_, blocks::fewest_elements}}))
      return false;
    for (const node_id idx : bound_) {
      if (!may_be_cut(c_, n_, idx)) continue;
      const amount tasks = cut_ == no_node ? amount(0) : known_.trips(cut_);
      if (tasks < known_.tasks(blocks::enough_tasks) && known_.trips(idx) > 8 * tasks) cut_ = idx;
    }
    if (cut_ == no_node || known_.trips(cut_) < 2) return false;
    inner_ = elements_ * nested / known_.trips(cut_);
    const amount row_cost = elements_ * within / known_.trips(cut_) * max(1, min(results_, blocks::most_results));
    const double wanted = known_.tasks(blocks::enough_tasks);
    while (block_ * row_cost < known_.elements(blocks::block_elements) ||
           (known_.for_groups() &&
            known_.trips(cut_) * max(1, results_ / blocks::many_results) > block_ * wanted))
      block_ *= 2;
    // Within outer loops a block is a piece of each of their rows.
    while (cut_ != bound_.front() && block_ < blocks::piece &&
           known_.trips(cut_) >= numerics::enough_tasks * 2 * block_)
      block_ *= 2;
    if (results_ > blocks::many_results)
      block_ =
          std::max<std::int64_t>(block_, blocks::rows_of_many);  // partial results cost as much to move as the data
    while (!known_.for_groups() && parts_bytes() > (blocks::most_bytes + output_bytes()) / 2 &&
           known_.trips(cut_) >= 2 * blocks::fewest_blocks * block_)
      block_ *= 2, larger_ = true;
    return known_.trips(cut_) >= 2 * block_;
  }

  amount parts_bytes() const {
    return results_ * row(g_.type(n_)).bytes * known_.trips(cut_) / block_;
  }
  amount output_bytes() const {
    amount all = 0;
    for (const node_id define : g_.outputs) {
      index_set own;
      for (int d = 0; d < tensor_rank(g_, define); ++d) own.insert(g_.ordinal(g_.arg(define, 1 + d)));
      all += known_.trips(own) * row(g_.type(define)).bytes;
    }
    return all;
  }

  // A row is block enough, and other stages over the same rows can share the pass.
  node_id by_row() {
    std::vector<node_id> rest = bound_;
    std::erase(rest, cut_);
    const auto part = [&](monoid kind, element type) {
      const node_id per_row = intern_reduce(g_, kind, type, g_.arg(n_, 0), g_.arg(n_, 1), rest);
      const std::string reason = "one part a row: " + count_text(elements_) + " elements for one result";
      return stored(c_, per_row, {"partial", s_, reason, origin::partial});
    };
    if (folds_tuple(g_, n_)) return by_value(part, cut_);
    const node_id parts = part(monoid_of(g_, n_), g_.type(n_));
    return total(parts, g_.type(n_), cut_);
  }

  // Of a tuple each value has partial results of its own; what folds them reads those of all.
  template <class Part>
  node_id by_value(Part part, node_id over) {
    const monoid kind = monoid_of(g_, n_);
    flat<node_id> parts;
    for (int k = 0; k < own_row_of(g_, kind).width; ++k) {
      const monoid own = sibling(g_, kind, k);
      parts.push(part(own, own_row_of(g_, own).type));
    }
    return intern_reduce(g_, kind, g_.type(n_), tuple(g_, parts), truth(g_, true), {over});
  }

  // A stage of partial results, as the load of one of them.
  node_id parts_of(const row_blocks& rows, monoid fold, element type, node_id body, node_id condition,
                   bool narrow = false) {
    replacement put(g_, proofs::kept);
    put.add(cut_, rows.part);
    body = put(body);
    if (g_.kind(body) != op::tuple && type != g_.type(body)) body = cast_to(g_, type, body);
    condition = put(condition);
    std::vector<node_id> bound = bound_;
    for (node_id& idx : bound) idx = put(idx);
    const bool in_sums = larger_ && bound.size() == 1 && blocks::sums_sums(fold, type, rows.size);
    const node_id flat =
        narrow ? narrow_sum(body, condition, bound) : intern_reduce(g_, fold, type, body, condition, bound);
    const node_id folded = in_sums && !narrow ? sum_of_sums(rows, type, body, condition) : flat;
    const std::string reason = "blocks of " + std::to_string(rows.size) + ": " + count_text(elements_) +
                               " elements for each of " + count_text(results_) + " results";
    const node_id parts = stored(c_, folded, {"partial", s_, reason, origin::partial});
    stage& made = stage_behind(c_, parts);
    made.rows = rows;
    if (folded != flat) made.sum_of_sums = folded, made.flat = flat;
    return parts;
  }

  // Kept in f64, and summed in f32 while in lanes.
  node_id narrow_sum(node_id body, node_id condition, const std::vector<node_id>& bound) {
    std::vector<node_id> list{cast_to(g_, element::f64, body), condition};
    list.insert(list.end(), bound.begin(), bound.end());
    return g_.intern(op::reduce, element::f64, static_cast<std::int64_t>(monoid::sum) | numerics::narrow_lanes,
                     list.data(), static_cast<int>(list.size()));
  }

  node_id sum_of_sums(const row_blocks& rows, element type, node_id body, node_id condition) {
    const node_id low = g_.arg(rows.part, 0), high = g_.arg(rows.part, 1);
    const node_id some = fresh_index(g_, rows.part, integer(g_, 0), integer(g_, rows.size / blocks::rows_in_a_row));
    const node_id start = make(g_, op::add, low, make(g_, op::mul, some, integer(g_, blocks::rows_in_a_row)));
    const node_id end = make(g_, op::minimum, make(g_, op::add, start, integer(g_, blocks::rows_in_a_row)), high);
    const node_id walk = fresh_index(g_, rows.part, start, end);
    replacement put(g_, proofs::kept);
    put.add(rows.part, walk);
    const node_id sum = intern_reduce(g_, monoid::sum, type, put(body), put(condition), {walk});
    return intern_reduce(g_, monoid::sum, type, sum, truth(g_, true), {some});
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
    const bool square =
        g_.kind(body) == op::mul && g_.arg(body, 0) == g_.arg(body, 1) && g_.kind(g_.arg(body, 0)) == op::sub;
    if (!square && power_of(g_, body).value == no_node) return no_node;
    const node_id difference = g_.arg(body, 0), centre = g_.arg(difference, 1);
    if (g_.free[centre].has(g_.ordinal(cut_))) return no_node;
    row_blocks rows;
    node_id use = no_node;
    const node_id own = centre_of_block(seen(centre), g_.arg(difference, 0), square, rows, use);
    if (own == no_node) return no_node;
    const auto about = [&](node_id c) {
      replacement put(g_);
      put.add(difference, make(g_, op::sub, g_.arg(difference, 0), c));
      return put(body);
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
    replacement put(g_, proofs::kept);
    put.add(cut_, rows.part);
    const node_id body = put(about(after)), always = truth(g_, true);
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
    replacement put(g_, proofs::kept);
    put.add(cut_, rows.part);
    const node_id here = same(put(cast_to(g_, g_.type(use), value)), use);
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

  const context c_;
  graph& g_;
  const facts& known_;
  const node_id n_;
  const stage& s_;
  const std::vector<node_id> bound_;
  node_id cut_ = no_node;
  std::int64_t block_ = 1;
  bool larger_ = false;  // than it would be for speed
  amount elements_ = 0, results_ = 0, inner_ = 0;
};

// Partial results of few results, joined by the tasks that those have, would leave a GPU idle: so many are joined some
// at a time first, which makes one launch more. no_node: they are not.
node_id joined_in_steps(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (!known.for_groups() || row(monoid_of(g, n)).position || g[n].count != 3 || !is_true(g, g.arg(n, 1)) ||
      !is_closed(g, g.arg(n, 2)) || is_folded_in_order(g, n))
    return no_node;
  const node_id over = g.arg(n, 2);
  const amount parts = known.trips(over), results = known.trips(g.free[n]), warps = results / tuning::grid::warp;
  if (parts < blocks::joined_from || !known.starves(warps, warps * parts / blocks::joined_at_once, parts * results))
    return no_node;
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
  flat<node_id> values;
  for (int k = 0; k < own_row_of(g, fold).width; ++k) {
    const monoid own = sibling(g, fold, k);
    values.push(joined(own, own_row_of(g, own).type));
  }
  return intern_reduce(g, fold, g.type(n), tuple(g, values), always, {rows.block});
}

// An extremum and its position: read once where rows are walked as they lie, twice down a tile of columns. On a GPU
// that is less than what tiles of columns alone take, which are too few.
bool may_split_position(graph& g, const facts& known, node_id n, const stage& s) {
  const node_id body = g.arg(n, 0);
  if (!is_true(g, g.arg(n, 1)) || g.type(body) == element::boolean) return false;
  if (walks_wide_rows(g, known, n, body, s)) return true;
  index_set all = set_of(g, bound_indices(g, n));
  all |= g.free[n];
  const amount columns = s.vector == no_node ? amount(0) : known.trips(s.vector) / tuning::grid::warp;
  return s.vector != no_node && g.free[n] == set_of(g, {s.vector}) &&
         known.starves(columns, known.trips(all) / tuning::grid::warp, known.trips(all));
}

}  // namespace

row_blocks blocks_of(graph& g, node_id n, node_id cut, std::int64_t block) {
  const node_id size = integer(g, block), low = g.arg(cut, 0), high = g.arg(cut, 1);
  const node_id room = make(g, op::add, make(g, op::sub, high, low), integer(g, block - 1));
  const text_range own = g.names[static_cast<int>(index_name(g, cut))];
  std::string name(g.text.data() + own.first, static_cast<std::size_t>(own.size));
  name += "_block";
  const node_id p = index(g, g.name(name.data(), static_cast<int>(name.size())), index_serial(g, cut), integer(g, 0),
                          make(g, op::quotient, room, size));
  const node_id start = make(g, op::add, low, make(g, op::mul, p, size));
  const node_id end = make(g, op::minimum, make(g, op::add, start, size), high);
  const node_id part = unused_index(g, cut, start, end, indices_in(g, n));
  return {cut, part, p, block};
}

node_id split(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (row(monoid_of(g, n)).position && !may_split_position(g, known, n, s)) return no_node;
  const node_id first = without_cast(g, folds_tuple(g, n) ? g.arg(g.arg(n, 0), 0) : g.arg(n, 0));
  if (g.kind(first) == op::load && is_partial(before, g.arg(first, 0))) return joined_in_steps(c, n, s);
  return splitting(c, n, s)();
}

}  // namespace sheaf::inline v0_1::plan
