#include <sheaf/jit/plan/stages.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/definition_reads.hpp>
#include <sheaf/jit/plan/folded_again.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/same_but_for_names.hpp>
#include <sheaf/jit/plan/slice_values.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

stage stage_of(graph& g, node_id define) {
  stage s;
  s.define = define;
  s.body = g.arg(define, 0);
  s.indices = arguments(g, define, 1);
  return s;
}

// The last definition (in order of making) that stages load and that is no stage itself, and where. Is it read for
// itself, as by a loss, and within a reduction whose condition is data, as for each element of a range by the gradient
// of that loss? Folded for the one it would be folded again for the other.
class last_definition {
 public:
  explicit last_definition(const graph& g) : g_(g) {}
  void find(const std::vector<stage>& stages) {
    define = no_node;
    stored_.clear();
    seen_.clear();
    for (const stage& s : stages) stored_.insert(s.define);
    for (const stage& s : stages) visit(s.body, false);
  }
  node_id define = no_node;
  std::vector<node_id> uses;
  bool for_itself = false, for_elements = false;

 private:
  void visit(node_id n, bool in_elements) {
    if (!seen_.insert(2 * std::int64_t{n} + in_elements).second || g_.kind(n) == op::extent) return;
    const bool inside = in_elements || is_transposed(n);
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) visit(g_.arg(n, k), inside);
    if (g_.kind(n) == op::load && g_.kind(g_.arg(n, 0)) == op::define) note(n, in_elements);
  }
  void note(node_id use, bool in_elements) {
    const node_id d = g_.arg(use, 0);
    if (stored_.contains(d) || d < define) return;
    if (d > define) uses.clear(), for_itself = for_elements = false;
    define = d;
    (in_elements ? for_elements : for_itself) = true;
    if (std::ranges::find(uses, use) == uses.end()) uses.push_back(use);
  }
  bool is_transposed(node_id n) {
    if (g_.kind(n) != op::reduce) return false;
    const auto [known, fresh] = transposed_.try_emplace(n, false);
    if (fresh) known->second = holds(g_, g_.arg(n, 1), op::load);
    return known->second;
  }

  const graph& g_;
  std::unordered_set<node_id> stored_;
  std::unordered_set<std::int64_t> seen_;  // nodes, within elements and not
  std::unordered_map<node_id, bool> transposed_;
};

// Does it fold ranges that data names?
bool folds_ranges(const graph& g, node_id define) {
  const std::vector<node_id> all = reductions_in(g, g.arg(define, 0));
  return std::ranges::any_of(all, [&](node_id n) {
    return std::ranges::any_of(bound_indices(g, n), [&](node_id idx) { return !is_closed(g, idx); });
  });
}

// Places of a definition that a result needs: a sum over the places that are moved to a result's finds several.
std::int64_t places_read(const graph& g, const std::vector<stage>& stages, const std::vector<node_id>& uses) {
  std::int64_t places = std::ssize(uses);
  for (const stage& s : stages)
    for (const node_id r : reductions_in(g, s.body))
      if (holds(g, g.arg(r, 1), op::equal) && !holds(g, g.arg(r, 1), op::load))
        for_each_node(g, g.arg(r, 0), [&](node_id n) { places += std::ranges::count(uses, n) != 0 ? 2 : 0; });
  return places;
}

// Loads and operations that are done again where a definition is computed at each place that reads it.
std::int64_t repeated_work(const graph& g, const std::vector<stage>& stages, node_id define,
                           const std::vector<node_id>& uses) {
  return work_of(g, g.arg(define, 0)) * (places_read(g, stages, uses) - 1);
}

// Is it made of elements of several tensors, each of which data would be followed to, for more reads than there are
// values?
bool read_often_by_data(const graph& g, const facts& known, node_id define, const std::vector<node_id>& uses) {
  const index_set all = set_of(g, arguments(g, define, 1));
  std::vector<node_id> tensors;
  for (const node_id n : loads_in(g, g.arg(define, 0)))
    if (g.free[n] == all && std::ranges::find(tensors, g.arg(n, 0)) == tensors.end()) tensors.push_back(g.arg(n, 0));
  if (all.empty() || tensors.size() < 2 || !read_by_data(g, uses) || known.call().gpu) return false;
  return std::ranges::any_of(uses, [&](node_id n) {
    return known.trips(g.free[n]) >= tuning::stages::reads_by_data * known.trips(all);
  });
}

// Is a value read by two stages, one of which would store it, since its loops run more often than there are values?
bool stored_for_columns(const graph& g, const std::vector<stage>& stages, node_id use) {
  int readers = 0;
  bool stores = false;
  for (const stage& s : stages) {
    if (!any_node(g, s.body, [&](node_id n) { return n == use; })) continue;
    ++readers;
    index_set first;
    for (const node_id idx : s.indices)
      if (!g.free[use].within(first)) first.insert(g.ordinal(idx));
    stores = stores || (g.free[use].within(first) && first != g.free[use]);
  }
  return readers > 1 && stores;
}

void inline_at(graph& g, std::vector<stage>& stages, const std::vector<node_id>& uses) {
  replacement put(g, {}, true);
  for (const node_id n : uses) {
    std::vector<node_id> subscripts = arguments(g, n, 1);
    put.add(n, inlined(g, g.arg(n, 0), subscripts.data()));
  }
  for (stage& s : stages) s.body = put(s.body);
}

// Is it computed where it is read, but for what its slices fold of themselves?
bool inlined_of_slices(graph& g, std::vector<stage>& stages, node_id define, const std::vector<node_id>& uses) {
  if (!holds(g, g.arg(define, 0), op::reduce) || !is_of_slices(g, define)) return false;
  const node_id value = with_folds_stored(g, stages, define);
  const std::vector<node_id> args = arguments(g, define, 1);
  replacement put(g, {}, true);
  for (const node_id n : uses) {
    replacement at(g);
    for (std::size_t d = 0; d < args.size(); ++d) at.add(args[d], g.arg(n, 1 + static_cast<int>(d)));
    put.add(n, at(value));
  }
  for (stage& s : stages) {
    s.body = put(s.body);
    walk_slices(g, s);
  }
  return true;
}

}  // namespace

std::vector<stage> stages_of(graph& g, const facts& known) {
  std::vector<stage> stages;
  for (int k = 0; k < g.outputs.size(); ++k) {
    stage s = stage_of(g, g.outputs[k]);
    s.where = place::output;
    s.ordinal = k;
    s.reasons.push_back("an output");
    stages.push_back(std::move(s));
  }
  for (last_definition last(g);;) {
    last.find(stages);
    const node_id d = last.define;
    if (d == no_node) break;
    const std::vector<node_id>& uses = last.uses;
    if (inlined_of_slices(g, stages, d, uses)) continue;
    const auto store = [&](std::string reason) {
      stages.push_back(stage_of(g, d));
      stages.back().reasons.push_back(std::move(reason));
    };
    const bool folds = holds(g, g.arg(d, 0), op::reduce);
    if (folds && read_in_slices(g, stages, d, uses)) {
      inline_at(g, stages, uses);
      continue;
    }
    const bool by_data = read_by_data(g, uses);
    const bool by_windows = read_by_windows(g, known, d, uses), at_digits = read_at_digits(g, known, d, uses);
    if (folds && (uses.size() > 1 || by_data || by_windows || at_digits)) {
      store(by_data      ? "a reduction read where data says"
            : by_windows ? "a reduction read by windows"
            : at_digits  ? "a reduction read at digits of an index"
                         : "a reduction read at " + std::to_string(uses.size()) + " different places");
      continue;
    }
    if (uses.size() == 1 && folds && stored_for_columns(g, stages, uses.front())) {
      store("a reduction that one stage reads for each of its rows, and another does too");
      continue;
    }
    if (uses.size() == 1 && is_folded_again(g, known, stages, uses.front())) {
      store("a reduction of rows that several others would fold again");
      continue;
    }
    if (last.for_itself && last.for_elements && folds_ranges(g, d)) {
      store("a reduction read for itself, and for each element that it folds");
      stages.back().made = origin::read_apart;  // no slice needs to compute its own
      continue;
    }
    if (const auto repeated = repeated_work(g, stages, d, uses); repeated > tuning::stages::most_repeated) {
      store("computed where it is read, it would take " + std::to_string(repeated) + " operations more for each");
      continue;
    }
    if (read_often_by_data(g, known, d, uses)) {
      store("elements of several tensors, read by data more often than there are values");
      continue;
    }
    inline_at(g, stages, uses);
  }
  store_compared(g, known, stages);
  order_stages(g, stages);
  return stages;
}

void order_stages(const graph& g, std::vector<stage>& stages) {
  std::vector<stage> sorted;
  std::vector<bool> done(stages.size());
  const auto visit = [&](auto&& self, std::size_t i) -> void {
    if (done[i]) return;
    done[i] = true;
    for_each_node(g, stages[i].body, [&](node_id n) {
      if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::define) return;
      for (std::size_t j = 0; j < stages.size(); ++j)
        if (stages[j].define == g.arg(n, 0)) self(self, j);
    });
    sorted.push_back(stages[i]);
  };
  for (std::size_t i = 0; i < stages.size(); ++i) visit(visit, i);
  stages = std::move(sorted);
}

void define_stage(graph& g, stage& s, std::string_view name) {
  const name_id id = g.name(name.data(), static_cast<int>(name.size()));
  s.define = define(g, id, s.body, s.indices.data(), static_cast<int>(s.indices.size()));
}

namespace {

// Lies as what it is made of, where no lane reads it along another index.
void lay_as_read(const graph& g, node_id body, const stage& like, std::vector<node_id>& indices) {
  if (indices.size() < 2 || like.vector == no_node || uses(g, body, like.vector)) return;
  std::vector<node_id> along;
  for (const node_id n : loads_in(g, body))
    if (g[n].count > 2) along.push_back(g.arg(n, g[n].count - 1));
  const auto reads = [&](node_id idx) { return std::ranges::find(along, idx) != along.end(); };
  if (reads(indices.back())) return;
  const auto decides_range = [&](node_id idx) {
    return any_node(g, body, [&](node_id n) { return g.kind(n) == op::index && n != idx && uses(g, n, idx); });
  };
  const auto other = std::ranges::find_if(indices, [&](node_id idx) { return reads(idx) && !decides_range(idx); });
  if (other != indices.end()) std::rotate(other, other + 1, indices.end());
}

// As the program has it: with the values that rules stored of it, and those of pairs that tiles compute anew.
node_id without_stored(const context& c, node_id e) {
  const node_id whole = with_inlined(c.g, e, [&](node_id define) {
    const auto stored = std::ranges::find(c.before, define, &stage::define);
    if (stored == c.before.end() || stored->when != no_node) return false;
    const bool made = stored->made != origin::program && names_all(c.g, c.g.arg(define, 0), stored->indices);
    return made || is_named_pair(c.g, *stored);
  });
  return without_proofs()(c.g, whole);
}

// What a rule stored already that is this value, whatever its indices are called and in which order they are: the load
// of it; no_node: there is none.
node_id stored_already(const context& c, node_id value) {
  graph& g = c.g;
  const index_set of = g.free[value];  // nodes are made below
  node_id whole = no_node;
  for (const stage& s : c.before) {
    const node_id body = g.arg(s.define, 0);
    const node a = g[body], b = g[value];
    const bool made = (s.made == origin::rule || s.made == origin::for_lanes) && s.where == place::workspace &&
                      s.when == no_node && (s.how == way::map || s.how == way::pair_tiles);
    if (!made || a.kind != b.kind || a.type != b.type || a.attribute != b.attribute || a.count != b.count ||
        s.indices.size() != indices_of(g, of).size() || !names_all(g, body, s.indices))
      continue;
    if (whole == no_node) whole = without_stored(c, value);
    // Of a stored value that an index names alone nothing may be left that does.
    const node_id other = without_stored(c, body);
    same_but_for_names same(g);
    if (!names_all(g, other, s.indices) || !same(other, whole)) continue;
    std::vector<node_id> places = s.indices;
    for (node_id& idx : places) idx = same.named(idx);
    if (set_of(g, places) == of) return load_at(g, s.define, places);
  }
  return no_node;
}

}  // namespace

bool is_named_pair(const graph& g, const stage& s) {
  return s.where == place::workspace && s.made == origin::program && s.how == way::map && s.indices.size() > 1 &&
         holds(g, g.arg(s.define, 0), op::reduce);
}

node_id stored(const context& c, node_id body, stored_as as) {
  graph& g = c.g;
  const stage& like = as.like;
  std::vector<node_id> indices = indices_of(g, g.free[body]);
  const auto rank = [&](node_id idx) {
    if (idx == like.vector) return like.indices.size() + 1;
    return static_cast<std::size_t>(std::ranges::find(like.indices, idx) - like.indices.begin());
  };
  std::ranges::sort(indices, [&](node_id a, node_id b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : g.ordinal(a) < g.ordinal(b);
  });
  if (as.made == origin::rule) lay_as_read(g, body, like, indices);
  // Partial results that are needed under a condition alone are none of others: their definition names it.
  const node_id value = body;
  const bool conditional = as.made == origin::partial && like.when != no_node && g.kind(body) == op::reduce;
  if (conditional)
    body = intern_reduce(g, monoid_of(g, body), g.type(body), g.arg(body, 0),
                         conjunction(g, like.when, g.arg(body, 1)), bound_indices(g, body));
  for (stage& s : c.before)
    if (g.arg(s.define, 0) == body && s.where == place::workspace && names_all(g, body, s.indices))
      return result_of(g, s);
  if (as.shared)
    if (const node_id same = stored_already(c, body); same != no_node) return same;
  stage s;
  s.body = body;
  s.indices = std::move(indices);
  define_stage(g, s, as.name);
  s.body = value;
  if (conditional) s.when = like.when;
  s.made = as.made;
  s.reasons.push_back(std::move(as.reason));
  c.before.push_back(std::move(s));
  return result_of(g, c.before.back());
}

stage& stage_behind(const context& c, node_id loaded) {
  return *std::ranges::find_if(c.before, [&](const stage& s) { return s.define == c.g.arg(loaded, 0); });
}

node_id known_as(graph& g, node_id value, node_id walk, const std::vector<stage>& before) {
  for (const stage& made : before)
    for (std::size_t d = 0; d < made.indices.size(); ++d) {
      const node_id idx = made.indices[d], body = g.arg(made.define, 0);
      const bool reaches =
          known_less_equal(g, g.arg(idx, 0), g.arg(walk, 0)) && known_less_equal(g, g.arg(walk, 1), g.arg(idx, 1));
      if (!reaches || made.when != no_node || g.type(made.define) != g.type(value)) continue;
      if (!names_all(g, body, made.indices)) continue;
      const node_id here = with(g, body, idx, walk);
      same_but_for_names same(g);
      if (g.free[here] != g.free[value] || !same(here, value) || !same.keeps(g.free[value])) continue;
      std::vector<node_id> subscripts = made.indices;
      subscripts[d] = walk;
      return load_at(g, made.define, subscripts);
    }
  return no_node;
}

node_id result_of(graph& g, const stage& s) { return load_at(g, s.define, s.indices); }

bool names_all(const graph& g, node_id value, const std::vector<node_id>& indices) {
  return std::ranges::all_of(indices, [&](node_id idx) { return g.free[value].has(g.ordinal(idx)); });
}

stage space(graph& g, const std::string& name, node_id body, std::vector<node_id> indices) {
  stage s;
  s.how = way::space;
  s.body = body;
  s.indices = std::move(indices);
  define_stage(g, s, name);
  return s;
}

node_id earlier(graph& g, node_id use) {
  const node_id stored = g.arg(use, 0);
  const std::vector<node_id> indices = arguments(g, stored, 1);
  const int rank = static_cast<int>(indices.size());
  const node_id before = define(g, g.name("earlier", 7), g.arg(stored, 0), indices.data(), rank);
  return load_at(g, before, arguments(g, use, 1));
}

// What is read rounded alone is stored so; the value itself otherwise.
static node_id as_read(const graph& g, node_id body, node_id n) {
  if (is_half(g.type(n)) || !is_floating(g.type(n))) return n;
  std::vector<node_id> readers;
  for_each_node(g, body, [&](node_id e) {
    for (int k = 0; k < g[e].count; ++k)
      if (g.arg(e, k) == n) readers.push_back(e);
  });
  const bool rounds = readers.size() == 1 && g.kind(readers[0]) == op::cast && is_half(g.type(readers[0]));
  return rounds ? readers[0] : n;
}

void store_by_itself(const context& c, stage& s, node_id n, std::string reason, bool in_lanes) {
  n = as_read(c.g, s.body, n);
  stage like = s;
  if (!in_lanes) like.vector = no_node;
  replace_in(c.g, s, n, stored(c, n, {"materialised", like, std::move(reason), origin::rule, true}));
}

void replace_in(graph& g, stage& s, node_id from, node_id to) { s.body = with(g, s.body, from, to); }

}  // namespace sheaf::inline v0_1::plan
