#include <sheaf/jit/plan/promised.hpp>

#include <algorithm>

#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

bool is_list(const stage& s) {
  return s.how == way::lists || s.how == way::endpoints || s.how == way::inverse_index || s.how == way::tile_starts;
}

class marking {
 public:
  marking(const graph& g, const facts& known, std::vector<stage>& stages)
      : g_(g), known_(known), stages_(stages), table_(g, stages), banned_(stages.size()) {
    for (std::size_t i = 0; i < stages.size(); ++i) promised_.push_back(of_promised(i));
  }

  void operator()() {
    do mark();
    while (ban());
  }

 private:
  // Consumers stand after producers. What decides an algorithm does so for all that read it, kept or not.
  void mark() {
    for (std::size_t i = stages_.size(); i-- > 0;) {
      stage& s = stages_[i];
      const bool may_stay = s.where == place::workspace && s.how != way::space && s.how != way::order;
      s.promised = !banned_[i] && may_stay && promised_[i] && (is_list(s) || is_promised_only(i));
    }
  }
  // Of a list that is kept the condition is, too; and all ways of storing one thing.
  bool ban() {
    bool more = false;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (!stages_[i].promised) continue;
      bool wrong = false;
      for (const stage& t : stages_)
        wrong = wrong || (!t.promised && (t.define == stages_[i].define || waits_for(stages_[i], t.define)));
      if (wrong) banned_[i] = more = true;
    }
    return more;
  }
  bool of_promised(std::size_t i) const {
    const stage& s = stages_[i];
    bool all = true;
    for_each_root(s, [&](node_id n, root_kind what) {
      all = all && (what != root_kind::read || reads_promised(n));
    });
    if (!all) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (!promised_[j] && table_.reads(s.define, stages_[j].define)) return false;
    return true;
  }
  bool waits_for(const stage& s, node_id define) const { return s.when != no_node && reads(g_, s.when, define); }
  bool reads_promised(node_id root) const {
    return all_nodes(g_, root, [&](node_id n) {
      if (g_.kind(n) != op::load || g_.kind(g_.arg(n, 0)) != op::input) return true;
      const auto input = static_cast<std::size_t>(g_[g_.arg(n, 0)].attribute);
      return input < known_.call().promised.size() && known_.call().promised[input];
    });
  }
  bool is_promised_only(std::size_t i) const {
    const stage& s = stages_[i];
    bool any = false, all = true;
    for (std::size_t j = i + 1; j < stages_.size(); ++j) {
      if (!table_.reads(stages_[j].define, s.define)) continue;
      any = any || stages_[j].promised;
      all = all && stages_[j].promised;
    }
    return any && (all || s.decides);
  }

  const graph& g_;
  const facts& known_;
  std::vector<stage>& stages_;
  const read_table table_;
  std::vector<bool> promised_, banned_;  // by stage
};

}  // namespace

bool is_promised(const graph& g, const facts& known, node_id root) {
  bool all = true;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) != op::load) return;
    const auto input = static_cast<std::size_t>(g[g.arg(n, 0)].attribute);
    all =
        all && g.kind(g.arg(n, 0)) == op::input && input < known.call().promised.size() && known.call().promised[input];
  });
  return all;
}

void mark_promised(const graph& g, const facts& known, std::vector<stage>& stages) {
  const auto& promised = known.call().promised;
  if (std::ranges::find(promised, true) == promised.end()) return;
  marking(g, known, stages)();
  for (stage& s : stages) {
    if (s.promised) s.reasons.push_back("made of promised data: cached for later calls");
    if (sweep_form* const f = std::get_if<sweep_form>(&s.form))
      for (const stage& e : stages) f->promised = f->promised || (e.promised && f->endpoints == e.define);
  }
}

}  // namespace sheaf::inline v0_1::plan
