#include <sheaf/jit/plan/algorithms/pair_tiles/powers.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/pair_tiles/parts.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The factors of a term that are powers of a pair, relative to what is the same for all places.
void find_powers(const graph& g, node_id e, const pair_tile_form& f, std::vector<node_id>& list) {
  const power p = power_of(g, e);
  if (p.value != no_node && is_of_pair(g, p.value, f.rows, f.walk) && !uses(g, p.centre, f.walk)) list.push_back(e);
  const op kind = g.kind(e);
  if (kind != op::mul && kind != op::div && kind != op::neg) return;
  for (int k = 0; k < (kind == op::mul ? 2 : 1); ++k) find_powers(g, g.arg(e, k), f, list);
}

// Does the stage store the maximum of a value over the places that a reduction walks?
bool is_maximum_of(graph& g, const stage& s, node_id value, node_id reduce) {
  if (s.how != way::pair_tiles || g.kind(s.body) != op::reduce || monoid_of(g, s.body) != monoid::max) return false;
  return g.arg(s.body, 2) == g.arg(reduce, 2) && is_same(g, g.arg(s.body, 1), g.arg(reduce, 1)) &&
         is_same(g, g.arg(s.body, 0), value);
}

// An expression with what maps of results store in the place of their loads: a logsumexp, stored for others too.
node_id with_maps(const context& c, node_id e) {
  graph& g = c.g;
  replacement put(g, proofs::kept);
  for_each_node(g, e, [&](node_id n) {
    for (const stage& s : c.before)
      if (g.kind(n) == op::load && s.define == g.arg(n, 0) && s.how == way::map && is_same(g, n, result_of(g, s)) &&
          !holds(g, s.body, op::reduce))
        put.add(n, s.body);
  });
  return put(e);
}

// The power with that maximum as its centre in a stage's terms; none: they are no such powers.
node_id relative_power(graph& g, const stage& s, const stage& maximum) {
  const node_id n = parts_of_pairs(g, s).reduce;
  if (monoid_of(g, n) != monoid::sum) return no_node;
  std::vector<node_id> powers;
  find_powers(g, g.arg(n, 0), s.pairs(), powers);
  for (const node_id e : powers) {
    const power p = power_of(g, e);
    if (!is_maximum_of(g, maximum, p.value, n) || !is_same(g, p.centre, centre_about(g, result_of(g, maximum))))
      continue;
    replacement put(g, proofs::kept);
    put.add(e, number_like(g, e, 1));
    if (!reads(g, put(g.arg(n, 0)), maximum.define)) return e;
  }
  return no_node;
}

// Of a stage before in the same kernel, a row reads its own results, once all places are folded.
bool reads_own_row(graph& g, const stage& s, const stage& writer) {
  return !reads(g, parts_of_pairs(g, s).reduce, writer.define) && all_nodes(g, s.body, [&](node_id n) {
    return g.kind(n) != op::load || g.arg(n, 0) != writer.define || is_same(g, n, result_of(g, writer));
  });
}

bool has_one_panel(const facts& known, const stage& s) {
  return s.pairs().lane == no_node || known.trips(s.pairs().lane).is_at_most(tuning::pair_tiles::columns);
}

bool have_one_tile(graph& g, const stage& a, const stage& b) {
  const pair_tile_form &f = a.pairs(), &h = b.pairs();
  if (f.rows != h.rows || f.walk != h.walk || a.loops != b.loops || a.parallel != b.parallel || a.task != b.task)
    return false;
  const pair_parts own = parts_of_pairs(g, a), other = parts_of_pairs(g, b);
  const auto same = [](const row_range& r, const row_range& q) {
    return r.low == q.low && r.high == q.high && r.where == q.where && (r.where == no_node || r.by_index);
  };
  return same(own.range, other.range) && g.type(own.reduce) == g.type(other.reduce) &&
         std::ranges::any_of(own.sums, [&](const auto& sum) {
           return std::ranges::any_of(other.sums, [&](const auto& o) { return o.reduce == sum.reduce; });
         });
}

}  // namespace

node_id relative_to_maximum(const context& c, node_id sum, const pair_tile_form& f, const row_range& range) {
  graph& g = c.g;
  if (monoid_of(g, sum) != monoid::sum || range.where != no_node) return sum;
  std::vector<node_id> powers;
  find_powers(g, g.arg(sum, 0), f, powers);
  for (const node_id e : powers)
    for (const stage& s : c.before) {
      const power p = power_of(g, e);
      if (!is_maximum_of(g, s, p.value, sum)) continue;
      const node_id centre = centre_about(g, result_of(g, s)), from = with_maps(c, p.centre);
      if (is_same(g, centre, from)) return sum;
      replacement put(g, proofs::kept);
      put.add(e, make(g, op::exp, make(g, op::sub, p.value, centre)));
      const node_id moved = make(g, op::mul, put(sum), make(g, op::exp, make(g, op::sub, centre, from)));
      // Of no places a sum is 0, however far the centres are apart.
      const node_id low = range.low == no_node ? g.arg(f.walk, 0) : range.low,
                    high = range.low == no_node ? g.arg(f.walk, 1) : range.high;
      return make(g, op::select, make(g, op::less, low, high), moved, number_like(g, moved, 0));
    }
  return sum;
}

bool share_tiles(graph& g, const facts& known, const program_plan& plan, const kernel_plan& k, stage& s) {
  node_id maximum = no_node;
  for (const int i : k.stages) {
    const stage& other = plan.at(i);
    if (!has_one_panel(known, s) || !has_one_panel(known, other) || !have_one_tile(g, other, s)) return false;
    if (other.pairs().maximum != no_node && maximum == no_node) maximum = other.pairs().maximum;
  }
  node_id relative = no_node;
  for (const int i : k.stages) {
    const stage& other = plan.at(i);
    if (!plan.reads.reads(s.define, other.define) || reads_own_row(g, s, other)) continue;
    const node_id own = result_of(g, other);
    if ((maximum != no_node && maximum != own) || relative_power(g, s, other) == no_node) return false;
    relative = maximum = own;
  }
  s.pairs().maximum = relative;
  const stage& leader = plan.at(k.stages.front());
  s.reasons.push_back("it folds the tiles of " + name_of(g, leader.define));
  if (relative != no_node)
    s.reasons.push_back("its powers are relative to the running maximum " + name_of(g, g.arg(relative, 0)));
  return true;
}

}  // namespace sheaf::inline v0_1::plan
