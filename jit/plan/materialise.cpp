// See stages.hpp. Works on one stage at a time until no rule applies to it; what a rule takes out of it becomes a stage
// and is worked on in turn.
#include <algorithm>

#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/rules.hpp>
#include <sheaf/jit/plan/schedule.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Stages that are made whole, by the rule that needs them.
bool is_ready(const stage& s) {
  return s.how == way::lists || s.how == way::inverse_index || s.how == way::endpoints || s.how == way::sweep ||
         s.how == way::space || s.how == way::tile_starts || s.how == way::order;
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
    for (stage& made : fresh) {
      if (made.when == no_node && reads_where(s.when, made)) made.when = s.when;
      if (!is_done(made)) add(std::move(made));
    }
    return true;
  }
  // Does it read what is stored only where `when` holds? Elsewhere that may be anything, ends of a range too.
  bool reads_where(node_id when, const stage& made) const {
    if (when == no_node) return false;
    const auto is_stored_else = [&](node_id define) {
      return std::ranges::any_of(done_, [&](const stage& t) { return t.define == define && t.when != when; });
    };
    bool found = false;
    for_each_root(made, [&](node_id n, root_kind what) {
      if (what == root_kind::index || what == root_kind::made) return;
      found = found || std::ranges::any_of(done_, [&](const stage& t) {
        return t.when == when && reads(g_, n, t.define) && !is_stored_else(t.define);
      });
    });
    return found;
  }
  bool is_done(const stage& s) const {
    return std::ranges::any_of(
        done_, [&](const stage& t) { return t.define == s.define && t.how == s.how && t.when == s.when; });
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
