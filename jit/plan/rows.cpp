#include <sheaf/jit/plan/rows.hpp>

#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::rows;

// Results along `columns`: so many that rows are better walked as they lie than down tiles of lanes.
bool are_wide_rows(const facts& known, node_id columns) {
  return known.trips(columns) > narrow && known.trips(columns) <= most_columns;
}

// Partial results over the same rows, in the same blocks, and the maps that can be walked with them.
struct cluster {
  row_blocks rows;
  std::vector<int> partials, maps;
};

// Does what is read lie in rows that lanes go along, one for each iteration? Not where all of an iteration is the same
// for all lanes, as the other point of pairs.
bool reads_rows(const graph& g, node_id reduce, node_id lane) {
  const index_set walk = set_of(g, bound_indices(g, reduce));
  bool same = false, rows = false;
  for (const int k : {0, 1})
    for_each_node(g, g.arg(reduce, k), [&](node_id n) {
      if (g.kind(n) == op::load && g.free[n].meets(walk)) (uses(g, n, lane) ? rows : same) = true;
    });
  return rows || !same;
}

class sharing {
 public:
  sharing(graph& g, const facts& known, program_plan& plan)
      : g_(g), known_(known), plan_(plan), reads_(g, plan.stages) {}

  void operator()() {
    for (std::size_t i = 0; i < plan_.stages.size(); ++i)
      if (at(i).rows.whole != no_node && at(i).how == way::map && !at(i).asked) join(static_cast<int>(i));
    // The smallest blocks first, of whose rows most is folded: a cache holds them from one stage to the next.
    std::ranges::sort(clusters_, {}, [](const cluster& c) { return std::pair(c.rows.size, c.partials.front()); });
    for (cluster& c : clusters_) {
      for (std::size_t i = 0; i < plan_.stages.size(); ++i)
        if (is_map_over(at(i), c) && !waits(static_cast<int>(i), c)) c.maps.push_back(static_cast<int>(i));
      if (!c.maps.empty() || walks_wide_rows(c)) share(c);
    }
    std::sort(dropped_.begin(), dropped_.end());
    for (std::size_t k = dropped_.size(); k-- > 0;) plan_.stages.erase(plan_.stages.begin() + dropped_[k]);
  }

 private:
  template <class Place>
  stage& at(Place i) const {
    return plan_.at(i);
  }

  bool waits(int reader, const cluster& c) const {
    return std::ranges::any_of(c.partials, [&](int p) { return reads_.waits(at(reader).define, at(p).define); });
  }

  // Does a partial result read those of the cluster in its own block only? Then both are made while the block is at
  // hand.
  bool reads_own_block(int i, const cluster& c) const {
    const node_id own = at(i).define;
    for (const int p : c.partials) {
      const node_id other = at(p).define;
      for (const stage& between : plan_.stages)
        if (reads_.waits(own, between.define) && reads_.waits(between.define, other)) return false;
      if (reads_.waits(own, other) && !reads_only_at(g_, at(i), at(p), c.rows.block)) return false;
    }
    return true;
  }

  // A partial result that waits for another of the same rows is one pass later.
  void join(int i) {
    stage& s = at(i);
    if (known_.trips(s.rows.whole) * work(s) < worth_sharing) return;
    for (cluster& c : clusters_) {
      if ((waits(i, c) && !reads_own_block(i, c)) || c.rows.size != s.rows.size ||
          !same_range(g_, c.rows.whole, s.rows.whole))
        continue;
      if (c.rows.part != s.rows.part) {
        if (mentions(g_, s, c.rows.part) || mentions(g_, s, c.rows.block)) continue;
        replacement put(g_, proofs::kept);
        put.rename(s.rows.part, c.rows.part);
        put.rename(s.rows.block, c.rows.block);
        replace_in_roots(s, put);
        s.rows = c.rows;
      }
      c.partials.push_back(i);
      return;
    }
    clusters_.push_back({s.rows, {i}, {}});
  }
  // Elements that one row brings.
  amount work(const stage& s) const {
    index_set all = g_.free[s.body];
    for_each_node(g_, s.body, [&](node_id n) {
      if (g_.kind(n) != op::reduce) return;
      all |= set_of(g_, bound_indices(g_, n));
    });
    all.erase(g_.ordinal(s.rows.part));
    all.erase(g_.ordinal(s.rows.block));
    return known_.trips(all);
  }

  bool is_map_over(const stage& s, const cluster& c) const {
    if (s.how != way::map || s.asked || s.rows.whole != no_node || s.loops.empty() || s.short_rows) return false;
    const bool by_rows = s.parallel != no_node && s.task.chunk == 0 && s.loops.front() == s.parallel;
    const bool by_lanes = s.loops.size() == 1 && s.vector == s.loops.front();
    if (multiplies_rows(s)) return false;
    if (s.made == origin::for_lanes && row_elements(s) * static_cast<double>(c.rows.size) > most_of_block) return false;
    return (by_rows || by_lanes) && same_range(g_, s.loops.front(), c.rows.whole) &&
           g_.free[s.loops.front()].within(own(s.loops.front()));
  }
  // Several rows of a product at once are worth more than what is read again.
  bool multiplies_rows(const stage& s) const {
    return std::ranges::any_of(reductions_in(g_, s.body), [&](node_id n) {
      return is_product(g_, known_, n, tuning::products::reused, s.loops.front());
    });
  }
  amount row_elements(const stage& map) const {
    return g_.kind(map.body) == op::reduce ? known_.trips(set_of(g_, bound_indices(g_, map.body))) : amount(1);
  }
  index_set own(node_id idx) const {
    index_set set;
    set.insert(g_.ordinal(idx));
    return set;
  }

  // Results of many columns: down a tile of lanes each row is another page, one row after the other is a stream.
  bool walks_wide_rows(const cluster& c) const {
    if (known_.for_groups()) return false;
    return std::ranges::all_of(c.partials, [&](int p) {
      const stage& s = at(p);
      const bool of_columns =
          s.indices.size() == 2 && s.indices.front() == c.rows.block && s.vector == s.indices.back();
      const node_id body = s.sum_of_sums != no_node ? s.flat : s.body;
      if (!of_columns || g_.kind(body) != op::reduce || bound_indices(g_, body).size() != 1 || !may_follow(p, c))
        return false;
      return are_wide_rows(known_, s.vector) && !holds(g_, g_.arg(body, 0), op::reduce) &&
             reads_rows(g_, body, s.vector);
    });
  }

  // Does it wait for none of the cluster but the one that shifts it?
  bool may_follow(int i, const cluster& c) const {
    const stage& s = at(i);
    return std::ranges::all_of(c.partials, [&](int p) {
      const bool centre = s.moving.centre != no_node && g_.arg(s.moving.centre, 0) == at(p).define;
      return centre || !reads_.waits(s.define, at(p).define);
    });
  }

  // The centre moves as rows come, where the two are walked together: then both are updated while a row is at hand.
  void move(int i, const cluster& c) {
    stage& s = at(i);
    if (s.moving.centre == no_node) return;
    const bool together = c.maps.empty() && std::ranges::any_of(c.partials, [&](int p) {
                            const stage& o = at(p);
                            const node_id own = result_of(g_, o);
                            return o.how == way::partial && o.vector == s.vector &&
                                   proven(g_, s.moving.centre) == proven(g_, own);
                          });
    if (!together) {
      s.moving = {};
      return;
    }
    s.body = s.moving.body;
    s.reasons.push_back(row(monoid_of(g_, s.body)).idempotent
                            ? "the extremum is that of the rows so far: where it moves, so does the position"
                            : "centred by the rows so far: where the centre moves, so does what was summed");
  }

  // What the index of the results beside the blocks is called by a map with lanes along the same range.
  node_id lane_beside(const stage& s, const cluster& c, int& lanes) {
    if (const stage& first = at(c.partials.front()); c.maps.empty() && same_range(g_, first.vector, s.indices.back())) {
      lanes = first.lanes;
      return first.vector;
    }
    for (const int m : c.maps) {
      const stage& map = at(m);
      if (map.vector == no_node || map.loops.size() != 2 || map.vector == map.loops.front()) continue;
      if (same_range(g_, map.vector, s.indices.back()) &&
          (map.vector == s.indices.back() || !mentions(g_, s, map.vector))) {
        lanes = map.lanes;
        return map.vector;
      }
    }
    return no_node;
  }

  void share(cluster& c) {
    std::vector<int> updated;
    for (const int i : c.partials)
      if (block_by_rows(at(i), c)) updated.push_back(i), move(i, c);
    const bool rows_are_folded = std::ranges::any_of(c.maps, [&](int m) { return at(m).made == origin::for_lanes; });
    if (updated.empty() && !rows_are_folded) return;
    const std::string rows =
        "its rows are walked in blocks of " + std::to_string(c.rows.size) + ", with the partial results over them";
    for (const int i : c.maps) {
      stage& s = at(i);
      if (mentions(g_, s, c.rows.part)) continue;
      const node_id row = s.loops.front();
      replacement put(g_, proofs::kept);
      put.rename(row, c.rows.part);
      replace_in_roots(s, put);
      s.loops.insert(s.loops.begin(), c.rows.block);
      s.rows = c.rows;
      share_blocks(s, c.rows);
      s.reasons.push_back(rows);
    }
    for (const int i : c.maps)
      if (!updated.empty() || reads_in_rows(i, c)) inline_row_result(i, c);
  }

  // Of what an update stores in workspace first.
  bool is_copy(const stage& s) const {
    return s.where == place::output && std::ranges::count(known_.call().apart, s.ordinal) > 0;
  }
  // Does a map that walks rows, each in lanes of its own, read it? Then the row is at hand, and so is what it folds to.
  bool reads_in_rows(int i, const cluster& c) const {
    return std::ranges::any_of(
        c.maps, [&](int m) { return at(m).loops.size() > 2 && reads_.reads(at(m).define, at(i).define); });
  }
  // Partial results that a block is walked for, row by row: what is computed of a row alone is one number at a time.
  bool has_lanes_of_results(const stage& s, const cluster& c) const {
    return s.how == way::map && s.vector != no_node && s.loops == std::vector<node_id>{c.rows.block, s.vector};
  }
  // Conditions choose which of several stages stores what a reader finds.
  bool is_one_of_several(const stage& s) const {
    return std::ranges::count(plan_.stages, s.define, &stage::define) > 1;
  }
  // A result of a row that was stored for the partial results, which now find it in the same row.
  void inline_row_result(int i, const cluster& c) {
    const stage& materialised = at(i);
    if (materialised.where != place::workspace || (materialised.made == origin::for_lanes && !reads_in_rows(i, c)) ||
        materialised.loops != std::vector<node_id>{c.rows.block, c.rows.part} || is_one_of_several(materialised))
      return;
    const node_id use = result_of(g_, materialised);
    std::vector<stage> rewritten = plan_.stages;
    for (stage& s : rewritten) {
      if (s.define == materialised.define) continue;
      if (is_copy(s) && reads_.reads(s.define, materialised.define)) return;
      replacement put(g_);
      for (const node_id n : {use, proven(g_, use)}) put.add(n, materialised.body);
      s.body = put(s.body);
      const bool left = any_node(
          g_, s.body, [&](node_id n) { return g_.kind(n) == op::load && g_.arg(n, 0) == materialised.define; });
      if (reads_.reads(s.define, materialised.define) && has_lanes_of_results(s, c)) return;
      // Nor where rows are lanes, each of which would have a range of its own.
      if (left || (s.vector == c.rows.part && !may_vectorise(g_, s.body, s.vector))) return;
    }
    plan_.stages = std::move(rewritten);
    dropped_.push_back(i);
  }

  // A GPU's blocks of rows would be too few for all that the rows have.
  bool starves(const stage& s, const cluster& c) const {
    amount work = s.operations;
    for (const int m : c.maps) work = max(work, at(m).operations);
    const double warps = std::max(1, std::min(s.lanes, numerics::lanes::most) / tuning::grid::warp);
    return known_.starves(known_.trips(c.rows.block) * warps, work / tuning::grid::warp, work);
  }

  // Are its rows elements beside each other, each with elements of its own far apart? They are folded in lanes.
  bool are_columns(const stage& s, const cluster& c) const {
    return s.indices.size() == 1 && bound_indices(g_, s.body).size() > 1 && lane_of(g_, known_, s.body) == c.rows.part;
  }

  // Loops over block, row, and what the results have beside the block. What is reduced within a row is reduced first.
  bool block_by_rows(stage& s, const cluster& c) {
    if (s.sum_of_sums != no_node && s.body != s.sum_of_sums) return false;
    if (s.sum_of_sums != no_node) {
      stage one = s;
      one.body = s.flat;
      one.sum_of_sums = one.flat = no_node;
      if (!block_by_rows(one, c)) return false;
      s = std::move(one);
      return true;
    }
    if (g_.kind(s.body) != op::reduce || row(monoid_of(g_, s.body)).position || is_own(monoid_of(g_, s.body)) ||
        s.indices.size() > 2 || starves(s, c) || are_columns(s, c))
      return false;
    if (s.indices.size() == 2) {
      int lanes = 0;
      const node_id lane = lane_beside(s, c, lanes);
      if (lane == no_node) return false;
      if (s.indices.front() != c.rows.block) return false;
      if (lane != s.indices.back()) {
        replacement put(g_, proofs::kept);
        put.rename(s.indices.back(), lane);
        replace_in_roots(s, put);
      }
      s.vector = lane;
      s.lanes = lanes;
    } else {
      const bool lone = bound_indices(g_, s.body).size() == 1 && std::ranges::any_of(c.maps, [&](int m) {
                          const bool in_lanes = at(m).vector != no_node && at(m).vector == at(m).loops.front();
                          return in_lanes || (at(m).made == origin::for_lanes && reads_.reads(s.define, at(m).define));
                        });
      share_blocks(s, c.rows);
      s.vector = no_node;
      s.loops = {c.rows.block};
      if (lone) return true;  // its loop over the row index is that of the maps
    }
    s.how = way::partial;
    s.loops = {c.rows.block, c.rows.part};
    if (s.vector != no_node) s.loops.push_back(s.vector);
    share_blocks(s, c.rows);
    s.reasons.push_back("updated row by row, beside what else walks the same rows");
    return true;
  }

  graph& g_;
  const facts& known_;
  program_plan& plan_;
  const read_table reads_;
  std::vector<cluster> clusters_;
  std::vector<int> dropped_;  // by stage: its results are found where they are used
};

}  // namespace

bool walks_wide_rows(const graph& g, const facts& known, node_id n, node_id body, const stage& s) {
  const bool planned = !known.for_groups() && known.call().overrides.fusion == fusion::planned;
  if (!planned || s.vector == no_node || holds(g, body, op::reduce)) return false;
  return g.free[n] == set_of(g, {s.vector}) && are_wide_rows(known, s.vector) && reads_rows(g, n, s.vector);
}

void share_rows(graph& g, const facts& known, program_plan& plan) { sharing(g, known.bits(), plan)(); }

}  // namespace sheaf::inline v0_1::plan
