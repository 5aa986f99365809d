#include <sheaf/jit/plan/compared.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <sheaf/jit/plan/algorithms/pair_tiles/pairs.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Does the order in which terms are combined round the result?
bool is_rounded_by_order(const graph& g, node_id reduce) {
  const monoid fold = monoid_of(g, reduce);
  return is_floating(g.type(reduce)) && fold != monoid::max && fold != monoid::min;
}

// Is a reduction another one, at other places? `at` then says which, by its free indices.
class same_elsewhere {
 public:
  same_elsewhere(const graph& g, node_id reduce) : g_(g), reduce_(reduce), free_(g.free[reduce]), named_(free_) {}

  bool operator()(node_id other) {
    if (!same(reduce_, other)) return false;
    const auto is_placed = [&](node_id idx) {  // or where a range is that another has
      const auto begins = [&](const auto& pair) { return g_.free[pair.first].has(g_.ordinal(idx)); };
      return at.contains(idx) || std::ranges::any_of(at, begins);
    };
    return std::ranges::all_of(indices_of(g_, free_), is_placed);
  }
  std::map<node_id, node_id> at;

 private:
  bool same(node_id a, node_id b) {
    const op kind = g_.kind(a);
    if (kind == op::index && free_.has(g_.ordinal(a)) && !bound_.contains(a))
      return at.try_emplace(a, b).first->second == b;
    if (kind == op::index && bound_.contains(a)) return bound_.at(a) == b;
    if (!g_.free[a].meets(named_) && a == b) return true;
    if (!met_.insert({a, b}).second) return true;  // one that is not ends it all
    const std::int64_t proof = kind == op::load ? proven_inside : 0;
    if (kind != g_.kind(b) || g_.type(a) != g_.type(b) || g_[a].count != g_[b].count ||
        (g_[a].attribute & ~proof) != (g_[b].attribute & ~proof) || kind == op::index)
      return false;
    if (kind == op::extent || kind == op::define) return a == b;
    for (int k = 2; kind == op::reduce && k < g_[a].count; ++k)
      if (!bind(g_.arg(a, k), g_.arg(b, k))) return false;
    for (int k = 0; k < (kind == op::reduce ? 2 : g_[a].count); ++k)
      if (!same(g_.arg(a, k), g_.arg(b, k))) return false;
    return true;
  }
  bool bind(node_id a, node_id b) {
    if (!same(g_.arg(a, 0), g_.arg(b, 0)) || !same(g_.arg(a, 1), g_.arg(b, 1))) return false;
    named_.insert(g_.ordinal(a));
    bound_[a] = b;
    return true;
  }

  const graph& g_;
  const node_id reduce_;
  const index_set free_;
  index_set named_;  // free or bound
  std::map<node_id, node_id> bound_;
  std::set<std::pair<node_id, node_id>> met_;
};

class comparisons {
 public:
  comparisons(graph& g, const facts& known, std::vector<stage>& stages) : g_(g), known_(known), stages_(stages) {}

  void operator()() {
    for (std::size_t k = 0; k < stages_.size(); ++k)
      while (const auto found = compared_in(k)) {
        if (!found->closed || may_fold_pairs(g_, known_, found->sum))
          fold_term_by_term(found->sum);
        else
          store(k, *found);
      }
    for (std::size_t k = 0; k < stages_.size(); ++k) define_anew(stages_[k]);
  }

 private:
  struct compared {
    node_id sum;        // on one side
    std::size_t other;  // the stage that has it on the other
    bool closed;        // or in slices of data, whose places are no stage's
  };

  std::optional<compared> compared_in(std::size_t k) {
    std::vector<node_id> equal;
    for_each_node(g_, stages_[k].body, [&](node_id n) {
      if (g_.kind(n) == op::equal && is_floating(g_.type(g_.arg(n, 0)))) equal.push_back(n);
    });
    for (const node_id n : equal) {
      std::vector<node_id> mine, keys;
      collect(n, mine, keys);
      if (auto found = meeting(mine, keys, k)) return found;
      for (std::size_t other = 0; other < stages_.size(); ++other) {
        if (!reads(g_, n, stages_[other].define)) continue;
        std::vector<node_id> ignored, stored_keys;
        collect(stages_[other].body, ignored, stored_keys);
        if (auto found = meeting(mine, stored_keys, other)) return found;
      }
    }
    return std::nullopt;
  }
  // The sums of an expression, those whose extremum it has apart.
  void collect(node_id e, std::vector<node_id>& outside, std::vector<node_id>& inside) const {
    std::unordered_set<node_id> seen;
    const auto walk = [&](auto&& self, node_id n) -> void {
      if (g_.kind(n) == op::extent || !seen.insert(n).second) return;
      if (is_extremum(g_, n)) {
        for (const node_id r : reductions_in(g_, n))
          if (is_open(r)) inside.push_back(r);
        return;
      }
      if (g_.kind(n) == op::reduce && is_open(n)) outside.push_back(n);
      for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) self(self, g_.arg(n, k));
    };
    walk(walk, e);
  }
  bool is_open(node_id reduce) const {
    return is_rounded_by_order(g_, reduce) && !is_folded_in_order(g_, reduce) && !left_.contains(reduce);
  }
  // The one of two that is the other at a place of its own.
  std::optional<compared> meeting(const std::vector<node_id>& mine, const std::vector<node_id>& keys,
                                  std::size_t other) const {
    for (const bool closed : {true, false})
      for (const node_id a : mine)
        for (const node_id b : keys) {
          if (has_closed_ranges(g_, a) == closed && same_elsewhere(g_, a)(b)) return compared{a, other, closed};
          if (has_closed_ranges(g_, b) == closed && same_elsewhere(g_, b)(a)) return compared{b, other, closed};
        }
    return std::nullopt;
  }

  // Of pairs there are more values than anything that they are made of: each stage computes them anew.
  void fold_term_by_term(node_id sum) {
    for (stage& s : stages_) {
      replacement put(g_);
      bool any = false;
      for (const node_id r : reductions_in(g_, s.body)) {
        same_elsewhere same(g_, sum);
        if (!is_open(r) || !same(r)) continue;
        put.add(r, term_by_term(r));
        any = true;
      }
      if (!any) continue;
      rewrite(s, put);
      s.reasons.push_back("compared values of pairs are summed term by term where they are needed");
    }
  }
  node_id term_by_term(node_id r) {
    std::vector<node_id> list = arguments(g_, r, 0);
    return g_.intern(op::reduce, g_.type(r), g_[r].attribute | numerics::term_by_term, list.data(), g_[r].count);
  }

  void store(std::size_t k, const compared& found) {
    stage made;
    made.body = found.sum;
    made.indices = indices_of(g_, g_.free[found.sum]);
    const int rank = static_cast<int>(made.indices.size());
    made.define = define(g_, g_.name("compared", 8), found.sum, made.indices.data(), rank);
    made.made = origin::rule;
    made.reasons.push_back("on both sides of a comparison, which must be the same bits");
    read_instead(stages_[k], made, found.sum);
    if (found.other != k) read_instead(stages_[found.other], made, found.sum);
    // Another comparison may have stored the sum.
    if (std::ranges::none_of(stages_, [&](const stage& s) { return s.define == made.define; }))
      stages_.push_back(std::move(made));
  }
  void read_instead(stage& s, const stage& made, node_id sum) {
    replacement put(g_);
    for (const node_id r : reductions_in(g_, s.body)) {
      same_elsewhere same(g_, sum);
      if (!left_.contains(r) && same(r)) put.add(r, read(made, same, r));
    }
    rewrite(s, put);
  }
  void rewrite(stage& s, replacement& put) {
    const node_id before = std::exchange(s.body, put(s.body));
    if (s.body != before) rewritten_.insert(s.define);
  }
  // Whoever computes a value of it in place, by its definition, compares what the stage does; so do those who read it.
  void define_anew(stage& s) {
    const node_id before = s.define;
    if (rewritten_.erase(before) == 0 || s.where != place::workspace || s.made != origin::program) return;
    const int rank = static_cast<int>(s.indices.size());
    s.define = define(g_, static_cast<name_id>(g_[before].attribute), s.body, s.indices.data(), rank);
    for (stage& reader : stages_) {
      const auto reads_before = [&] { return load_of(reader.body, before); };
      for (node_id n = reads_before(); n != no_node; n = reads_before()) {
        replacement put(g_, proofs::kept);
        put.add(n, load_at(g_, s.define, arguments(g_, n, 1)));
        rewrite(reader, put);
      }
    }
    for (stage& reader : stages_) define_anew(reader);
  }
  node_id load_of(node_id body, node_id define) const {
    for (const node_id n : loads_in(g_, body))
      if (g_.arg(n, 0) == define) return n;
    return no_node;
  }
  // Beyond the places that are stored it is computed.
  node_id read(const stage& made, const same_elsewhere& same, node_id r) {
    std::vector<node_id> subscripts;
    for (const node_id idx : made.indices) subscripts.push_back(same.at.at(idx));
    const node_id use = load_at(g_, made.define, subscripts);
    const node_id inside = inside_condition(g_, use);
    if (is_true(g_, inside)) return use;
    left_.insert(r);
    return make(g_, op::select, inside, use, r);
  }

  graph& g_;
  const facts& known_;
  std::vector<stage>& stages_;
  std::unordered_set<node_id> left_;       // for places beyond those that are stored
  std::unordered_set<node_id> rewritten_;  // definitions of the stages that were
};

}  // namespace

void store_compared(graph& g, const facts& known, std::vector<stage>& stages) { comparisons(g, known, stages)(); }

bool compares_numbers(const graph& g) {
  for (node_id n = 0; n < g.size(); ++n)
    if (g.kind(n) == op::equal && is_floating(g.type(g.arg(n, 0))) && !is_constant(g, g.arg(n, 0)) &&
        !is_constant(g, g.arg(n, 1)))
      return true;
  return false;
}

}  // namespace sheaf::inline v0_1::plan
