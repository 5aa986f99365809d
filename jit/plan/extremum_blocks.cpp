// Blocks of a range's size: what ties at the extremum of a block so far, and of what is left of it; or where that
// extremum is, the first or the last of equals.
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/extremum_ranges.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Elements of a range: fewer are as fast as four passes over memory.
constexpr std::int64_t blocks_from = 16;
constexpr std::int64_t positions_from = 48;

enum class wanted { sum, first, last };  // of what is at the extremum: its values, or where one is

class extremum_blocks {
 public:
  extremum_blocks(graph& g, const facts& known, const tied& t, stage& s, std::vector<stage>& before,
                  wanted what = wanted::sum, node_id ends = no_node)
      : g(g), known(known), t(t), s(s), before(before), what(what), ends(ends) {}

  bool operator()() {
    const sliding& r = t.keys;
    size = width_of(g, r);
    const std::int64_t step = bound_of(g, r.low, r.over).slope;
    const std::int64_t least = (what == wanted::sum ? blocks_from : positions_from) * step;
    if (size < least || step < 1 || known.trips(r.over) < static_cast<double>(least) || !cuts_only(g, r)) return false;
    if (what == wanted::sum && holds(g, t.mine, op::reduce)) return false;
    const walked keys = value_along(g, r);
    if (holds(g, keys.value, op::reduce) || !is_true(g, t.condition)) return false;
    if (what == wanted::sum && holds(g, t.value, op::reduce)) return false;
    walked values{keys.walk, what == wanted::sum ? t.value : keys.walk};
    if (what == wanted::sum && (uses(t.value, r.bound) || uses(t.value, r.over))) {
      const node_id whole = intern_reduce(g, monoid::sum, g.type(t.value), t.value, truth(g, true), {r.bound});
      const sliding also = sliding_along(g, whole, r.over, r.bound);
      if (also.over == no_node || also.stride != r.stride) return false;
      const walked w = value_along(g, also);
      values.value = with(g, w.value, w.walk, keys.walk, proofs::kept);
    }
    cut_into_blocks(keys, values.value);
    const part begun = run(false), rest = run(true);
    replacement put(g);
    put.add(t.reduce, at_range(begun, rest));
    s.body = put(s.body);
    return true;
  }

 private:
  struct part {
    node_id key, sum;
  };
  bool uses(node_id e, node_id idx) const { return g.free[e].has(g.ordinal(idx)); }
  node_id plus(node_id e, std::int64_t n) { return make(g, op::add, e, integer(g, n)); }

  // Place o of block p, and there the key and the value; beyond the last place there is nothing, and loads mask
  // themselves.
  void cut_into_blocks(const walked& keys, node_id along) {
    first = g.arg(keys.walk, 0);
    const node_id last = g.arg(keys.walk, 1), length = make(g, op::sub, last, first);
    const node_id count = make(g, op::quotient, plus(length, size - 1), integer(g, size));
    p = fresh_index(g, keys.walk, integer(g, 0), count);
    o = fresh_index(g, keys.walk, integer(g, 0), integer(g, size));
    const node_id place = make(g, op::add, first, make(g, op::add, make(g, op::mul, p, integer(g, size)), o));
    const node_id inside = make(g, op::less, place, last);
    const element type = g.type(t.reduce);
    sums = is_floating(type) || what != wanted::sum ? element::f64 : type;  // places are exact in it
    replacement put(g);
    put.add(keys.walk, place);
    const node_id k = put(keys.value);
    const bool has_nan = what == wanted::sum && is_floating(g.type(k));  // which ties with nothing
    const node_id counts = has_nan ? conjunction(g, inside, make(g, op::equal, k, k)) : inside;
    key = make(g, op::select, counts, k, identity_of(g, t.extremum, g.type(k)));
    const node_id x = cast_to(g, sums, put(along));
    value = make(g, op::select, counts, x, number_like(g, x, 0));
  }

  // For each place the extremum of its block up to there, or from there on, and the sum of what equals it: where the
  // extremum changes, that begins anew.
  part run(bool backward) {
    const node_id q = backward ? fresh_index(g, o, o, integer(g, size)) : fresh_index(g, o, integer(g, 0), plus(o, 1));
    replacement put(g);
    put.add(o, q);
    const node_id whole = intern_reduce(g, t.extremum, g.type(key), put(key), truth(g, true), {q});
    const stage like = layout_of(g, known, key, s);
    const std::string reason = "ties of ranges of " + std::to_string(size) + ": blocks of their size";
    const node_id top = proven(g, stored(g, whole, backward ? "rest_of_block" : "begun_block", like, before, reason));
    node_id same = equal(with(g, top, o, plus(o, backward ? 1 : -1)), top), counts = equal(key, top);
    if (what != wanted::sum) {  // one place: where the extremum changes, or the latest that reaches it
      const bool latest = (what == wanted::first) == backward;
      if (latest) {
        same = make(g, op::logical_not, counts);
      } else {
        const node_id begins = make(g, op::equal, o, integer(g, backward ? size - 1 : 0));
        counts = make(g, op::logical_or, begins, make(g, op::logical_not, same));
        same = make(g, op::logical_not, counts);
      }
    }
    const node_id x = make(g, op::select, counts, value, number_like(g, value, 0));
    const node_id body = make(g, op::select, same, x, number_like(g, x, 0));
    const node_id sum = proven(g, stored(g, body, backward ? "rest_of_ties" : "begun_ties", like, before, reason));
    stage& made = before.back();
    made.how = way::scan;
    made.owned = o;
    made.scan.value = x;
    made.scan.factor = same;
    made.scan.walk = o;
    made.scan.backward = backward;
    made.scan.shift = backward ? 0 : 1;
    made.reasons.push_back(std::string("scan: a recurrence, one step from place to place") +
                           (backward ? ", backward" : ""));
    return {top, sum};
  }

  // A range is what is left of the block it begins in, unless it begins with it, and what is begun of the one it ends
  // in, unless that is the same.
  node_id at_range(const part& begun, const part& rest) {
    const sliding& r = t.keys;
    const node_id by = integer(g, size);
    const auto split = [&](node_id place) {
      const node_id from = make(g, op::sub, place, first);
      return std::pair{make(g, op::quotient, from, by), make(g, op::remainder, from, by)};
    };
    const auto [low_block, low_place] = split(r.low);
    const auto [high_block, high_place] = split(plus(r.high, -1));
    const node_id whole = make(g, op::equal, low_place, integer(g, 0));
    const node_id apart = make(g, op::not_equal, low_block, high_block);
    if (what != wanted::sum) return place_at(begun, rest, low_block, low_place, high_block, high_place);
    const node_id left = extremum_terms_at(rest, low_block, low_place, make(g, op::logical_not, whole));
    const node_id right = extremum_terms_at(begun, high_block, high_place, make(g, op::logical_or, whole, apart));
    node_id sum = make(g, op::add, left, right);
    if (!known_less_equal(g, plus(r.low, 1), r.high))
      sum = make(g, op::select, make(g, op::less, r.low, r.high), sum, number_like(g, sum, 0));
    return cast_to(g, g.type(t.reduce), sum);
  }
  // Of the same NaN or number.
  node_id equal(node_id a, node_id b) {
    const node_id same = make(g, op::equal, a, b);
    if (what == wanted::sum || !is_floating(g.type(a))) return same;
    return make(g, op::logical_or, same,
                make(g, op::logical_and, make(g, op::not_equal, a, a), make(g, op::not_equal, b, b)));
  }
  part read(const part& from, node_id block, node_id place) {
    replacement put(g);
    put.add(p, block);
    put.add(o, place);
    return {proven(g, put(from.key)), proven(g, put(from.sum))};
  }
  // Where the whole range has its extremum: in the part that has it, of both the first or the last.
  node_id place_at(const part& begun, const part& rest, node_id low_block, node_id low_place, node_id high_block,
                   node_id high_place) {
    const sliding& r = t.keys;
    const part left = read(rest, low_block, low_place), right = read(begun, high_block, high_place);
    const node_id top = make(g, row(t.extremum).combine, left.key, right.key);
    const node_id both = what == wanted::first ? make(g, op::select, equal(left.key, top), left.sum, right.sum)
                                               : make(g, op::select, equal(right.key, top), right.sum, left.sum);
    const node_id within = make(g, op::equal, low_block, high_block);
    const node_id begins = make(g, op::equal, low_place, integer(g, 0));
    const node_id one = make(g, op::select, begins, right.sum, left.sum);
    const node_id place = cast_to(g, element::i64, make(g, op::select, within, one, both));
    node_id position = make(g, op::sub, place, make(g, op::mul, r.over, integer(g, r.stride)));
    if (ends != no_node) position = make(g, op::sub, ends, position);
    return make(g, op::select, make(g, op::less, r.low, r.high), position, integer(g, -1));
  }
  node_id extremum_terms_at(const part& from, node_id block, node_id place, node_id counts) {
    const part r = read(from, block, place);
    return make(g, op::select, conjunction(g, counts, make(g, op::equal, r.key, t.mine)), r.sum,
                number_like(g, r.sum, 0));
  }

  graph& g;
  const facts& known;
  const tied& t;
  stage& s;
  std::vector<stage>& before;
  std::int64_t size = 0;
  node_id first = no_node, p = no_node, o = no_node, key = no_node, value = no_node;
  element sums = element::f64;
  wanted what;
  node_id ends;  // a position is counted back from here; none: it is the index
};

}  // namespace

bool take_position(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before) {
  const auto list = bound_indices(g, n);
  if (list.size() != 1 || !is_true(g, g.arg(n, 1)) || !has_closed_ranges(g, n)) return false;
  const node_id u = list[0], ends = make(g, op::add, g.arg(u, 0), make(g, op::add, g.arg(u, 1), integer(g, -1)));
  for (const bool mirrored : {false, true}) {
    tied t;
    t.reduce = n;
    t.key = mirrored ? with(g, g.arg(n, 0), u, make(g, op::sub, ends, u)) : g.arg(n, 0);
    t.condition = truth(g, true);
    t.extremum = monoid_of(g, n) == monoid::argmax ? monoid::max : monoid::min;
    for (const node_id over : indices_of(g, g.free[n])) {
      t.keys = sliding_along(g, intern_reduce(g, t.extremum, g.type(t.key), t.key, t.condition, {u}), over, u);
      if (t.keys.over == no_node) continue;
      const wanted what = mirrored ? wanted::last : wanted::first;
      if (extremum_blocks(g, known, t, s, before, what, mirrored ? ends : no_node)()) return true;
    }
  }
  return false;
}

bool take_extremum_blocks(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before) {
  const tied t = extremum_terms_of(g, n);
  return t.reduce != no_node && extremum_blocks(g, known, t, s, before)();
}

}  // namespace sheaf::inline v0_1::plan
