#include <sheaf/jit/plan/result_functions.hpp>

#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::result_functions;

// A row of another length for each result, or the same for all?
bool is_ragged(const graph& g, node_id fold) {
  const auto bound = bound_indices(g, fold);
  return std::ranges::any_of(bound, [&](node_id idx) { return !is_closed(g, idx); });
}

using nodes = std::unordered_set<node_id>;  // each shared node is visited once

// The folds that an elementwise expression takes.
void find_folds(const graph& g, node_id n, nodes& seen, std::vector<node_id>& folds) {
  if (!seen.insert(n).second) return;
  if (g.kind(n) == op::reduce) folds.push_back(n);
  if (!is_elementwise(g.kind(n))) return;
  for (int k = 0; k < g[n].count; ++k) find_folds(g, g.arg(n, k), seen, folds);
}

class result_functions {
 public:
  result_functions(graph& g, const facts& known) : g_(g), known_(known) {}

  // Functions of short folds in an expression that runs in these lanes, those in others first. Of ragged or masked rows
  // only: where whole ones are read, memory is waited for, and a block of them may be read once for several folds.
  void operator()(node_id n, const index_set& lanes) {
    if (!seen_.insert(n).second) return;
    if (g_.kind(n) == op::reduce) {
      around_.push_back(n);
      (*this)(g_.arg(n, 0), lanes);
      around_.pop_back();
      return;
    }
    if (!is_elementwise(g_.kind(n))) return;
    for (int k = 0; k < g_[n].count; ++k) (*this)(g_.arg(n, k), lanes);
    if (!is_function(g_, n) || !is_of_short_folds(n) || g_.free[n].meets(lanes)) return;
    if (!runs_in_lanes(n)) found_.push_back(n);
  }
  // Functions of each update of a scatter, which are made one by one: loads outside, behind its condition, are masked.
  void of_updates(node_id n, const index_set& lanes) {
    if (!is_elementwise(g_.kind(n)) || !seen_.insert(n).second) return;
    for (int k = 0; k < g_[n].count; ++k) of_updates(g_.arg(n, k), lanes);
    if (is_function(g_, n) && !g_.free[n].meets(lanes) && is_of_an_update(n)) found_.push_back(n);
  }
  const std::vector<node_id>& found() const { return found_; }

 private:
  bool runs_in_lanes(node_id n) {
    return std::ranges::any_of(around_, [&](node_id outer) {
      const node_id lane = lane_of(g_, known_, outer);
      return lane != no_node && uses(g_, n, lane);
    });
  }
  bool is_of_an_update(node_id function) {
    const std::vector<node_id> of = indices_of(g_, g_.free[function]);
    return of.size() == 1 && is_floating(g_.type(function)) && !holds(g_, function, op::reduce) &&
           is_closed(g_, of[0]) && (known_.call().force_for_tests || known_.trips(of[0]) >= least_results);
  }
  bool is_of_short_folds(node_id function) {
    const index_set of = g_.free[function];
    std::vector<node_id> folds;
    nodes seen;
    find_folds(g_, function, seen, folds);
    if (folds.empty() || of.empty()) return false;
    if (!known_.call().force_for_tests && known_.trips(of) < least_results) return false;
    return std::ranges::all_of(folds, [&](node_id n) {
      const bool interrupts = around_.empty() ? is_ragged(g_, n) || !is_true(g_, g_.arg(n, 1))
                                              : is_ragged(g_, n) || reads_own_elements(n);
      return interrupts && g_.free[n] == of && is_short_fold(n);
    });
  }
  // Has each result elements of its own, so that it is little beside what is read for it? Not so of pairs of rows.
  bool reads_own_elements(node_id fold) {
    index_set all = g_.free[fold];
    all |= set_of(g_, bound_indices(g_, fold));
    return any_node(g_, g_.arg(fold, 0), [&](node_id n) { return g_.kind(n) == op::load && all.within(g_.free[n]); });
  }
  // One number, of few elements: of many, a function more is little.
  bool is_short_fold(node_id n) {
    return is_floating(g_.type(n)) && !keeps_several(g_, n) && !is_term_by_term(g_, n) && has_closed_ranges(g_, n) &&
           known_.trips(set_of(g_, bound_indices(g_, n))) <= (is_ragged(g_, n) ? longest : longest_whole);
  }

  graph& g_;
  const facts& known_;
  std::vector<node_id> around_, found_;  // the folds that an expression is in
  nodes seen_;
};

bool may_store_folds(const facts& known, const stage& s) {
  const call_facts& call = known.call();
  if (call.gpu || known.for_groups() || call.overrides.lanes != 0 || s.where == place::check) return false;
  if (s.how == way::range_scatter) return !s.slices.sought;
  if (s.how == way::scatter) return s.made != origin::partial && s.when == no_node;
  return s.how == way::map && !s.short_rows && s.rows.whole == no_node && s.order_when == no_node &&
         !s.reads_block_tree && !s.swept;
}

// The largest elementwise expression around a function, of the same indices.
node_id whole_of(const graph& g, node_id n, node_id function, nodes& seen) {
  if (n == function) return n;
  if ((g.kind(n) != op::reduce && !is_elementwise(g.kind(n))) || !seen.insert(n).second) return no_node;
  node_id whole = no_node;
  for (int k = 0; k < (g.kind(n) == op::reduce ? 2 : g[n].count) && whole == no_node; ++k)
    whole = whole_of(g, g.arg(n, k), function, seen);
  return whole == no_node || g.kind(n) == op::reduce || g.free[n] != g.free[function] ? whole : n;
}

// What these folds take of the same rows, too, as a sum of exponentials takes their greatest, and is asked for outside
// of them: folded first, it is not folded twice.
std::vector<node_id> folds_within(const graph& g, node_id root, const std::vector<node_id>& folds) {
  nodes outside;
  const auto visit = [&](auto&& self, node_id n) -> void {
    if (!outside.insert(n).second || std::ranges::count(folds, n) != 0) return;
    for (int k = 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  visit(visit, root);
  std::vector<node_id> list;
  for (const node_id fold : folds)
    for_each_node(g, g.arg(fold, 0), [&](node_id n) {
      const bool of_same_rows = g.kind(n) == op::reduce && g.free[n] == g.free[fold];
      if (of_same_rows && outside.contains(n)) list.push_back(n);
    });
  return list;
}

// Single elements, at places that data names, of rows that these walk: read beside them, they are in the cache.
std::vector<node_id> elements_beside(const graph& g, node_id root, const std::vector<node_id>& folds) {
  std::vector<node_id> list;
  nodes seen;
  const auto of_one_row = [&](node_id a, node_id b) {
    bool same = g.kind(a) == op::load;
    for (int k = 0; same && k + 1 < g[b].count; ++k) same = g.arg(a, k) == g.arg(b, k);
    return same;
  };
  const auto walked = [&](node_id n) {
    return std::ranges::any_of(folds, [&](node_id fold) {
      return g.free[fold] == g.free[n] && any_node(g, g.arg(fold, 0), [&](node_id m) { return of_one_row(m, n); });
    });
  };
  const auto visit = [&](auto&& self, node_id n) -> void {
    if (!seen.insert(n).second) return;
    const bool single = g.kind(n) == op::load && g[n].count > 2 && is_proven(g, n);
    if (single && data_names_last(g, n) && walked(n)) list.push_back(n);
    const bool within = is_elementwise(g.kind(n)) || g.kind(n) == op::reduce;
    const bool stored = std::ranges::count(folds, n) != 0;
    for (int k = 0; within && !stored && k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  visit(visit, root);
  return list;
}

}  // namespace

bool take_result_functions(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (!may_store_folds(known, s)) return false;
  result_functions functions(g, known);
  const index_set lanes = s.vector == no_node ? index_set() : set_of(g, {s.vector});
  if (s.how == way::scatter)
    for (const int part : {0, 1}) functions.of_updates(g.arg(s.body, part), lanes);
  else
    functions(s.body, lanes);
  if (functions.found().empty()) return false;
  const bool whole = s.how != way::map;  // of a slice or an update the value is stored, and its folds in turn
  stage like = s;
  if (whole) like.vector = no_node;
  replacement put(g);
  std::vector<node_id> all;
  nodes folds;
  for (const node_id n : functions.found()) {
    nodes seen;
    if (whole)
      all.push_back(whole_of(g, s.body, n, seen));  // of several functions the same
    else
      find_folds(g, n, folds, all);
  }
  if (!whole) {
    const std::vector<node_id> first = folds_within(g, s.body, all);
    all.insert(all.begin(), first.begin(), first.end());
  }
  nodes once;
  std::erase_if(all, [&](node_id n) { return !once.insert(n).second; });
  const std::vector<node_id> elements = whole ? std::vector<node_id>() : elements_beside(g, s.body, all);
  for (const node_id n : all)
    put.add(n, stored(c, put(n), {whole ? "materialised" : "folded", like, "functions of results run in lanes",
                                  whole ? origin::rule : origin::for_lanes}));
  for (const node_id n : elements)
    put.add(n, stored(c, n, {"element", like, "of a row that is folded: read while it is near", origin::for_lanes}));
  s.body = put(s.body);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
