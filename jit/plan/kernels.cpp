#include <sheaf/jit/plan/kernels.hpp>

#include <algorithm>
#include <map>

#include <sheaf/jit/plan/check_stages.hpp>
#include <sheaf/jit/plan/group_tile.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/register_tile.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/powers.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>
#include <sheaf/jit/plan/updates.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/plan/leader_names.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::schedule;

// Range scatters over the same slices and rows, none of which reads another.
bool share_slices(const graph& g, const program_plan& plan, const kernel_plan& k, const stage& s) {
  for (const int i : k.stages) {
    const stage& other = plan.at(i);
    const bool same = s.slices.array != no_node && other.slices.array == s.slices.array && other.indices == s.indices &&
                      other.vector == s.vector && other.base == s.base && g.arg(other.body, 1) == g.arg(s.body, 1);
    if (!same || plan.reads.reads(s.define, other.define)) return false;
  }
  return true;
}

bool is_nest(const stage& s) { return s.how == way::map && s.loops.size() == 2 && s.vector == s.loops.back(); }

// Do all stages walk the same two loops, and read of each other what their own lane has?
bool share_lanes(const graph& g, const program_plan& plan, const kernel_plan& k, const stage& s) {
  if (!is_nest(s)) return false;
  return std::ranges::all_of(k.stages, [&](int i) {
    const stage& writer = plan.at(i);
    if (!is_nest(writer) || !same_range(g, writer.vector, s.vector)) return false;
    return all_nodes(g, s.body, [&](node_id n) {
      if (g.kind(n) != op::load || g.arg(n, 0) != writer.define) return true;
      for (std::size_t d = 0; d < writer.indices.size(); ++d)
        if (writer.indices[d] == writer.vector && g.arg(n, 1 + static_cast<int>(d)) != s.vector) return false;
      return true;
    });
  });
}

// On a GPU the loops below a stage's tasks are tasks too, down to its vectors, or to the folds in them; of several
// stages in one kernel only what they share is.
bool starves_together(graph& g, const facts& known, const kernel_plan& k, const stage& leader, const stage& s) {
  if (!known.for_groups()) return false;  // before sizes are compared: each comparison may split a class
  const auto warps_of = [](int lanes) { return static_cast<double>(std::max(1, lanes / tuning::grid::warp)); };
  const auto shared = k.task.chunk > 0 ? known.trips(k.parallel) / static_cast<double>(k.task.chunk)
                                  : known.trips(k.parallel) * warps_of(std::min(leader.lanes, s.lanes));
  const auto apart = [&](const stage& one) {
    const bool walks = one.how == way::map || one.how == way::stencil;
    if (!walks || one.loops.size() < 2) return amount(0);
    const amount tasks = known.trips(set_of(g, one.loops));
    if (one.vector == one.loops.back()) return tasks / static_cast<double>(one.lanes);
    const bool folds = one.vector == no_node && holds(g, one.body, op::reduce);
    return folds ? tasks : amount(0);
  };
  const auto elements = [&](const stage& one) {
    amount most = one.operations;
    for (const node_id n : reductions_in(g, one.body)) {
      index_set all = set_of(g, bound_indices(g, n));
      all |= g.free[n];
      most = max(most, known.trips(all));
    }
    return most;
  };
  return known.starves(shared, max(apart(leader), apart(s)), max(elements(leader), elements(s)));
}

// Scatters of the same updates to the same rows, none of which reads another: one walk updates all.
bool share_updates(graph& g, const program_plan& plan, const kernel_plan& k, const stage& s) {
  for (const int i : k.stages) {
    const stage& other = plan.at(i);
    const auto is_alone = [](const stage& one) { return one.inverse.array != no_node || one.atomic; };
    const bool alone = is_alone(s) || is_alone(other);
    const bool same = !alone && other.rows.block == s.rows.block && other.rows.part == s.rows.part &&
                      other.parallel == s.parallel && other.task == s.task && other.indices == s.indices &&
                      other.vector == s.vector && other.lanes == s.lanes &&
                      bound_indices(g, other.body) == bound_indices(g, s.body) && same_places(g, other, s);
    if (!same || plan.reads.reads(s.define, other.define)) return false;
  }
  return true;
}

// Rows in the same blocks, of which it folds what a stage before has stored for the block.
bool reads_own_block(const graph& g, const kernel_plan& k, const stage& reader, const stage& writer) {
  const node_id row = writer.rows.part;
  if (row == no_node || reader.rows.part != row || reader.parallel != k.parallel || writer.parallel != k.parallel ||
      writer.indices != std::vector<node_id>{row})
    return false;
  return all_nodes(g, reader.sum_of_sums != no_node ? reader.flat : reader.body, [&](node_id n) {
    return g.kind(n) != op::load || g.arg(n, 0) != writer.define || g.arg(n, 1) == row;
  });
}

kernel_plan alone(const graph& g, const stage& s, int i) {
  kernel_plan k;
  k.name = name_of(g, s.define);
  k.stages = {i};
  k.promised = s.promised;
  return k;
}

// The tasks of a stage are those of its kernel.
kernel_plan in_tasks(kernel_plan k, const stage& s) {
  k.parallel = s.parallel;
  k.task = s.task;
  return k;
}

bool may_join(graph& g, const facts& known, program_plan& plan, const kernel_plan& k, int i) {
  stage& s = plan.at(i);
  const stage& leader = plan.at(k.stages.front());
  if (leader.where == place::check || s.where == place::check || leader.asked != s.asked ||
      leader.promised != s.promised || leader.when != s.when)
    return false;
  if (has_cache_tile(g, known, leader) || has_cache_tile(g, known, s)) return false;  // it is of one stage
  if (has_rows_to_jam(g, known, leader) || has_rows_to_jam(g, known, s)) return false;
  if (has_group_tile(g, known, leader) || has_group_tile(g, known, s)) return false;
  if (leader.how == way::range_scatter && s.how == way::range_scatter) return share_slices(g, plan, k, s);
  if (leader.how == way::pair_tiles && s.how == way::pair_tiles) {
    stage renamed = s;
    rename_pairs(g, leader, renamed);
    if (!share_tiles(g, known, plan, k, renamed)) return false;
    s = std::move(renamed);
    return true;
  }
  if (leader.how == way::scan && s.how == way::scan) return known.for_groups() && share_walk(g, plan, k, s);
  if (leader.group_table || s.group_table) return false;  // a table is all that a group's memory is for
  if (leader.how == way::scatter && s.how == way::scatter) {
    stage renamed = s;
    if (!rename_updates(g, leader, renamed) || !share_updates(g, plan, k, renamed)) return false;
    s = std::move(renamed);
    s.owned = leader.owned;  // of several that data names, the one that the walk asks for first
    return true;
  }
  const auto walks_rows = [](const stage& t) { return t.how == way::map || t.how == way::partial; };
  const bool stencil = leader.how == way::stencil && s.how == way::stencil;
  stage renamed = s;
  const bool parts = leader.made == origin::partial && s.made == origin::partial && leader.how == way::map;
  const bool nest = known.for_groups() && (stencil || parts) && share_nest(g, plan, k, renamed);
  if (stencil && !nest && starves_together(g, known, k, leader, s)) return false;
  if (!stencil && (!walks_rows(leader) || !walks_rows(s))) return false;
  if ((k.parallel == no_node) != (s.parallel == no_node) || (k.task.chunk == 0) != (s.task.chunk == 0)) return false;
  if (k.parallel == no_node) return may_share_updates(g, known, plan, k, s);
  if (!nest && !share_lanes(g, plan, k, s) && starves_together(g, known, k, leader, s)) return false;
  if (k.parallel != renamed.parallel) {
    if (!same_range(g, k.parallel, s.parallel) || mentions(g, s, k.parallel)) return false;
    rename_parallel(g, renamed, k.parallel);
  }
  if (known.for_groups() && leader.asked) walk_together(g, leader, renamed);
  for (const int other : k.stages) {
    const stage& writer = plan.at(other);
    const bool in_row = k.row != no_node && k.row == s.rows.part && reads_only_at(g, renamed, writer, k.row);
    if (!in_row && !reads_own_block(g, k, renamed, writer) && !reads_only_at(g, renamed, writer, k.parallel))
      return false;
  }
  if (!may_share_updates(g, known, plan, k, renamed)) return false;
  const auto loses_tile = [&](int own) {
    return loses_register_tile(g, known, plan, in_tasks(alone(g, plan.at(own), own), plan.at(own)));
  };
  if ((k.stages.size() == 1 && loses_tile(k.stages.front())) || loses_tile(i)) return false;
  s = std::move(renamed);
  return true;
}

// Producers first, and of what is ready checks, then lists, then what is cheap: a pass over much data finds all that it
// can wait for done. On a GPU partial results come before scans: those of several share a kernel, and so may what
// follows them.
void order_by_cost(const facts& known, const read_table& table, std::vector<stage>& stages) {
  std::vector<stage> sorted;
  std::vector<bool> done(stages.size());
  const auto ready = [&](std::size_t i) {
    for (std::size_t j = 0; j < i; ++j)
      if (!done[j] && table.reads(stages[i].define, stages[j].define)) return false;
    return !done[i];
  };
  const auto before = [&](std::size_t a, std::size_t b) {
    const bool list = stages[a].how == way::lists, other = stages[b].how == way::lists;
    if (stages[a].asked != stages[b].asked) return stages[a].asked;
    const auto goes_first = [&](std::size_t part, std::size_t scan) {
      return known.for_groups() && stages[part].made == origin::partial && stages[scan].how == way::scan;
    };
    if (goes_first(a, b) || goes_first(b, a)) return goes_first(a, b);
    return list != other ? list : stages[a].operations * cheap_by < stages[b].operations;
  };
  while (sorted.size() < stages.size()) {
    std::size_t best = stages.size();
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (ready(i) && (best == stages.size() || before(i, best))) best = i;
    done[best] = true;
    sorted.push_back(stages[best]);
  }
  stages = std::move(sorted);
}

// The kernels of a stage that takes several; none: it is one, or shares one.
std::vector<const char*> parts_by_name(const stage& s) {
  if (s.atomic) return {"fill", "add"};
  if (s.how == way::tile_starts) return {"find"};
  if (s.how == way::order) return {"collect", "sort", "merge"};
  if (s.how == way::tiles && s.tiles().reduce == no_node) return {"rows"};
  if (s.how == way::tiles) return {"fold", "join"};
  if (s.inverse.parts.groups != no_node) return {"parts", "groups", "join", "rows"};
  if (s.inverse.parts.array != no_node) return {"parts", "join", "rows"};
  if (s.how == way::inverse_index && s.inverse.blocks > 0) return {"count", "positions", "place"};
  std::vector<const char*> names;
  if (s.sort.passes > 0)
    for (const sort_part& part : parts_of(s)) names.push_back(part_name(part.step));
  return names;
}

// Its lanes hold running results.
bool folds_in_lanes(const graph& g, const stage& s) {
  return any_node(g, s.body, [&](node_id n) { return g.kind(n) == op::reduce && g.free[n].has(g.ordinal(s.vector)); });
}
bool is_light(const graph& g, const stage& s) {
  return !folds_in_lanes(g, s) && all_nodes(g, s.body, [&](node_id n) {
    return g.kind(n) != op::reduce && !(g.kind(n) >= op::exp && g.kind(n) <= op::cos) && g.kind(n) != op::pow;
  });
}

// Of two stages in one loop: rows that data names are walked once in wide lanes, whatever a light stage would take.
int lanes_together(const graph& g, const stage& a, const stage& b) {
  if (a.how != way::map || b.how != way::map) return std::min(a.lanes, b.lanes);
  if (folds_in_lanes(g, a) && is_light(g, b)) return a.lanes;
  if (folds_in_lanes(g, b) && is_light(g, a)) return b.lanes;
  return std::min(a.lanes, b.lanes);
}

// Bytes of one lane's running results.
int folded_bytes(const graph& g, const stage& s) {
  int bytes = 0;
  for_each_node(g, s.body, [&](node_id n) {
    if (g.kind(n) != op::reduce || !g.free[n].has(g.ordinal(s.vector))) return;
    bytes = std::max(bytes, row(lane_type(g, n)).bytes);
  });
  return bytes;
}

// Stages whose lanes hold running results in one loop have half of the registers together, as one has alone: with all
// of them taken each iteration moves every one, in eight times the code.
void share_registers(const graph& g, program_plan& plan, const kernel_plan& k) {
  std::map<node_id, std::vector<stage*>> by_vector;
  for (const int i : k.stages)
    if (stage& s = plan.at(i); s.vector != no_node) by_vector[s.vector].push_back(&s);
  for (const auto& [vector, interleaved] : by_vector) {
    int bytes = 0, folding = 0, lanes = interleaved.front()->lanes;
    for (const stage* s : interleaved) {
      const int own = s->how == way::map ? folded_bytes(g, *s) : 0;
      bytes += own;
      folding += own > 0;
      lanes = std::min(lanes, s->lanes);
    }
    while (folding > 1 && lanes > 8 && lanes * bytes > half_of_registers) lanes /= 2;
    for (stage* s : interleaved) s->lanes = lanes;
  }
}

}  // namespace

void mark_demanded(const graph& g, std::vector<stage>& stages) {
  const read_table table(g, stages);
  for (std::size_t i = stages.size(); i-- > 0;) {
    stages[i].asked = stages[i].where == place::check;
    for (std::size_t j = i + 1; j < stages.size(); ++j)
      stages[i].asked = stages[i].asked || (stages[j].asked && table.reads(stages[j].define, stages[i].define));
  }
}

namespace {

// Rows of slices into the kernel that folds these, if all else that they read is there: it stores those of slices in a
// tile. Returns the kernel that stores the others; none: they stay by themselves.
std::optional<std::size_t> place_rows(graph& g, const facts& known, program_plan& plan, std::size_t i,
                                      const std::vector<std::size_t>& home) {
  const stage& s = plan.stages[i];
  if (s.how != way::tiles || s.tiles().reduce != no_node || known.call().overrides.fusion == fusion::off) return {};
  const auto reads = [&](std::size_t j) { return plan.reads.reads(s.define, plan.stages[j].define); };
  for (std::size_t fold = 0; fold < i; ++fold) {
    if (!reads(fold) || !stores_rows_of(g, plan.stages[fold], s)) continue;
    kernel_plan& k = plan.kernels[home[fold] - 1];
    bool ready = may_share_updates(g, known, plan, k, s);
    for (std::size_t j = 0; j < i; ++j)
      ready = ready && (j == fold || !reads(j) || plan.stages[j].how == way::space || home[j] + 1 < home[fold]);
    if (!ready) continue;
    k.stages.push_back(static_cast<int>(i));
    kernel_plan& rest = plan.kernels.emplace_back(alone(g, s, static_cast<int>(i)));
    rest.name += "_rest";
    rest.part = rows_after_join;
    return plan.kernels.size() - 1;
  }
  return {};
}

// Each stage into the first kernel that it may join, after those whose results it reads.
void place_stages(graph& g, const facts& known, program_plan& plan) {
  std::vector<std::size_t> home(plan.stages.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    stage& s = plan.stages[i];
    if (s.how == way::space) continue;
    if (const auto rows = place_rows(g, known, plan, i, home)) {
      home[i] = *rows;
      continue;
    }
    std::size_t k = 0;
    for (std::size_t j = 0; j < i; ++j)
      if (plan.reads.reads(s.define, plan.stages[j].define)) k = std::max(k, home[j]);
    const auto parts = parts_by_name(s);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      kernel_plan& one = plan.kernels.emplace_back(alone(g, s, static_cast<int>(i)));
      one.name += "_" + std::string(parts[part]);
      one.part = static_cast<int>(part);
    }
    if (s.inverse.parts.array != no_node) plan.kernels.back() = in_tasks(std::move(plan.kernels.back()), s);
    if (!parts.empty()) {
      home[i] = plan.kernels.size() - 1;
      continue;
    }
    // A stage that joins others takes their indices: ranges of these are made anew, and a program has only so many.
    const bool apart = known.call().overrides.fusion == fusion::off ||
                       g.indices_left() < tuning::kernels::indices_left;
    while (k < plan.kernels.size() && (apart || !may_join(g, known, plan, plan.kernels[k], static_cast<int>(i)))) ++k;
    home[i] = k;
    if (k < plan.kernels.size()) {
      plan.kernels[k].stages.push_back(static_cast<int>(i));
      continue;
    }
    kernel_plan& fresh = plan.kernels.emplace_back(in_tasks(alone(g, s, static_cast<int>(i)), s));
    if (s.rows.whole != no_node) fresh.row = s.rows.part;
  }
}

// Loops over one index are shared only where their lanes agree.
void agree_on_lanes(graph& g, const facts& known, program_plan& plan, const kernel_plan& k) {
  for (const int i : k.stages)
    for (const int j : k.stages) {
      stage &a = plan.at(i), &b = plan.at(j);
      if (a.vector != no_node && a.vector == b.vector) a.lanes = b.lanes = lanes_together(g, a, b);
    }
  if (!known.for_groups() && known.call().overrides.lanes == 0) share_registers(g, plan, k);
}

}  // namespace

void group(graph& g, const facts& known, program_plan& plan) {
  plan.reads = read_table(g, plan.stages);
  order_updates(g, known, plan);
  order_by_cost(known, plan.reads, plan.stages);
  place_stages(g, known, plan);
  for (const kernel_plan& k : plan.kernels) agree_on_lanes(g, known, plan, k);
}

}  // namespace sheaf::inline v0_1::plan
