// See stages.hpp. Works on one stage at a time until no rule applies to it; what a rule takes out of it becomes a stage
// and is worked on in turn.
#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/rules.hpp>
#include <sheaf/jit/plan/schedule.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Stages that are made whole, by the rule that needs them.
bool is_ready(const stage& s) {
  return s.how == way::lists || s.how == way::inverse_index || s.how == way::endpoints || s.how == way::sweep ||
         s.how == way::space;
}

class materialising {
 public:
  materialising(graph& g, const facts& known) : g_(g), known_(known) {}

  void add(stage s) {
    if (is_ready(s)) return done_.push_back(std::move(s));
    s.body = narrowed(g_, s.body);
    while (applied_rule(s))
      ;
    if (s.how != way::tiles && s.how != way::pair_tiles)
      add_scheduled(std::move(s));
    else
      done_.push_back(std::move(s));
  }

  // What was computed anew where it is needed is no longer stored.
  std::vector<stage> result() {
    for (std::size_t k = 0; k < done_.size(); ++k) read_stored(k);
    const read_table table(g_, done_);
    for (auto s = done_.end(); s != done_.begin();) {
      --s;
      const bool read =
          std::any_of(s, done_.end(), [&](const stage& other) { return table.reads(other.define, s->define); });
      if (s->where == place::workspace && !read) s = done_.erase(s);
    }
    return std::move(done_);
  }

 private:
  // n as a load of what a stage stores, where it is its value, perhaps at another index within the range of its own.
  node_id read_of(node_id n, const stage& stored) {
    const node_id value = g_.arg(stored.define, 0);
    if (n == value) return result_of(g_, stored);
    if (g_.kind(n) != op::reduce || g_.type(n) != g_.type(value)) return no_node;
    const auto own = indices_of(g_, g_.free[value].without(g_.free[n])),
               there = indices_of(g_, g_.free[n].without(g_.free[value]));
    if (own.size() != 1) return no_node;
    for (const node_id to : there) {
      const bool inside = known_less_equal(g_, g_.arg(own[0], 0), g_.arg(to, 0)) &&
                          known_less_equal(g_, g_.arg(to, 1), g_.arg(own[0], 1));
      replacement put(g_, proofs::kept);
      put.add(own[0], to);
      if (inside && is_same(g_, put(value), n)) return proven(g_, put(result_of(g_, stored)));
    }
    return no_node;
  }

  // Other stages that compute what this one stores read it, where it waits for none of them.
  void read_stored(std::size_t from) {
    const stage& made = done_[from];
    if (made.where != place::workspace || made.how != way::map || g_.kind(g_.arg(made.define, 0)) != op::reduce) return;
    const auto reads_of = [&](const stage& s) {
      replacement put(g_, proofs::kept);
      bool found = false;
      if (s.how == way::map && s.define != done_[from].define)
        for (const node_id n : reductions_in(g_, s.body))
          if (const node_id load = read_of(n, done_[from]); load != no_node) put.rename(n, load), found = true;
      return found ? put(s.body) : s.body;
    };
    const read_table table(g_, done_);
    std::vector<std::pair<node_id, node_id>> changed;  // stages, and their bodies
    std::size_t first = from;
    for (std::size_t k = 0; k < done_.size(); ++k) {
      if (k == from || table.waits(made.define, done_[k].define)) continue;
      const node_id body = reads_of(done_[k]);
      if (body == done_[k].body) continue;
      changed.push_back({done_[k].define, body});
      first = std::min(first, k);
    }
    const node_id define = made.define;
    std::stable_partition(done_.begin() + static_cast<std::ptrdiff_t>(first),
                          done_.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                          [&](const stage& s) { return s.define == define || table.waits(define, s.define); });
    for (const auto& [reader, body] : changed) {
      stage& s = *std::ranges::find(done_, reader, &stage::define);
      s.body = body;
      schedule(g_, known_, s);
    }
  }

  bool applied_rule(stage& s) {
    schedule(g_, known_, s);
    if (s.how == way::tiles || s.how == way::pair_tiles) return false;
    const std::size_t count = done_.size();
    context c = around();
    const rule* fired = apply_rules(c, s);
    if (fired == nullptr) return false;
    s.rules.push_back(fired->name);
    std::vector<stage> fresh(std::make_move_iterator(done_.begin() + static_cast<std::ptrdiff_t>(count)),
                             std::make_move_iterator(done_.end()));
    done_.resize(count);
    for (stage& made : fresh)
      if (!is_done(made)) add(std::move(made));
    return true;
  }
  bool is_done(const stage& s) const {
    return std::ranges::any_of(done_, [&](const stage& t) { return t.define == s.define && t.how == s.how; });
  }
  void add_scheduled(stage s) {
    if (s.how != way::map) schedule(g_, known_, s);
    for (const rule& each : last_rules()) {
      if (!applies(each, around(), s)) continue;
      s.rules.push_back(each.name);
      schedule(g_, known_, s);
    }
    done_.push_back(std::move(s));
  }

  context around() { return {g_, known_, done_}; }

  graph& g_;
  const facts& known_;
  std::vector<stage> done_;
};

}  // namespace

void materialise(graph& g, const facts& known, std::vector<stage>& stages) {
  materialising all(g, known);
  for (stage& s : stages) all.add(std::move(s));
  stages = all.result();
}

}  // namespace sheaf::inline v0_1::plan
