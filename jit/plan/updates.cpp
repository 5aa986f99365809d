#include <sheaf/jit/plan/updates.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// visit(load), of each element of an input that a stage reads.
template <class Visit>
void each_read(const graph& g, const stage& s, int input, Visit visit) {
  for_each_root(s, [&](node_id root, root_kind what) {
    if (what == root_kind::index || what == root_kind::made) return;
    for_each_node(g, root, [&](node_id n) {
      if (g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::input && g[g.arg(n, 0)].attribute == input) visit(n);
    });
  });
}

bool reads_input(const graph& g, const stage& s, int input) {
  bool any = false;
  each_read(g, s, input, [&](node_id) { any = true; });
  return any;
}
// Below a reduction over one of these indices: there it is another one.
bool reads_where_bound(const graph& g, const stage& s, int input, const std::vector<node_id>& indices) {
  const auto is_read = [&](node_id root) {
    return any_node(g, root, [&](node_id n) {
      return g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::input && g[g.arg(n, 0)].attribute == input;
    });
  };
  const index_set outer = set_of(g, indices);
  bool any = false;
  for_each_root(s, [&](node_id root, root_kind what) {
    if (what == root_kind::index || what == root_kind::made) return;
    for_each_node(g, root, [&](node_id n) {
      if (g.kind(n) == op::reduce && set_of(g, bound_indices(g, n)).meets(outer)) any = any || is_read(n);
    });
  });
  return any;
}

bool has(const std::vector<node_id>& list, node_id idx) { return std::ranges::find(list, idx) != list.end(); }

// Does a stage that stands before the writer in its iteration, or is the writer, read of the input that element alone
// which the iteration stores over?
bool reads_own_element(const graph& g, const stage& s, const stage& writer, const update& u) {
  if (u.moved) return false;
  const auto is_plain = [](const stage& t) { return t.how == way::map && t.rows.whole == no_node; };
  if (!is_plain(s) || !is_plain(writer) || reads_where_bound(g, s, u.input, writer.indices)) return false;
  bool own = std::ranges::all_of(writer.indices, [&](node_id idx) { return has(s.indices, idx); });
  each_read(g, s, u.input, [&](node_id n) {
    own = own && g[n].count == 1 + static_cast<int>(writer.indices.size());
    for (std::size_t d = 0; own && d < writer.indices.size(); ++d)
      own = g.arg(n, 1 + static_cast<int>(d)) == writer.indices[d];
  });
  return own;
}

// A kernel's place in time; of two that are interleaved the later one's.
int time_of(const program_plan& plan, std::size_t k) {
  return plan.kernels[k].interleaved.with < 0 ? static_cast<int>(k) : plan.kernels[k].interleaved.with;
}

class proof {
 public:
  proof(const graph& g, const facts& known, const program_plan& plan) : g_(g), known_(known), plan_(plan) {}

  bool holds(const update& u) const {
    const node_id stored = g_.outputs[u.output];
    int writers = 0;
    for (const stage& s : plan_.stages) writers += s.define == stored;
    for (const stage& s : plan_.stages) {
      if (!reads_input(g_, s, u.input)) continue;
      for (const stage& writer : plan_.stages)
        if (writer.define == stored && !(writers == 1 && reads_first(s, writer, u)) && !runs_before(s, writer))
          return false;
    }
    return true;
  }

 private:
  int index_of(const stage& s) const { return static_cast<int>(&s - plan_.stages.data()); }
  // In a kernel that is done before the writer's begins?
  bool runs_before(const stage& s, const stage& writer) const {
    int last = -1, first = static_cast<int>(plan_.kernels.size());
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      if (has_stage(k, s)) last = std::max(last, time_of(plan_, k));
      if (has_stage(k, writer)) first = std::min(first, time_of(plan_, k));
    }
    return last < first;
  }
  bool reads_first(const stage& s, const stage& writer, const update& u) const {
    if (known_.call().gpu || !reads_own_element(g_, s, writer, u)) return false;
    int kernels = 0;
    for (const kernel_plan& k : plan_.kernels) {
      const auto reader = std::ranges::find(k.stages, index_of(s));
      const auto stores = std::ranges::find(k.stages, index_of(writer));
      kernels += stores != k.stages.end();
      if (stores != k.stages.end() && (reader > stores || reader == k.stages.end())) return false;
    }
    return kernels == 1;
  }
  bool has_stage(std::size_t k, const stage& s) const {
    return std::ranges::count(plan_.kernels[k].stages, index_of(s)) > 0;
  }

  const graph& g_;
  const facts& known_;
  const program_plan& plan_;
};

}  // namespace

void store_apart(graph& g, const facts& known, std::vector<stage>& stages) {
  const auto& apart = known.call().apart;
  std::vector<stage> copies;
  for (stage& s : stages) {
    if (s.where != place::output || std::ranges::count(apart, s.ordinal) == 0) continue;
    const std::string name = name_of(g, s.define);
    stage copy;
    copy.indices = s.indices;
    copy.body = result_of(g, s);
    define_stage(g, copy, name);
    copy.where = place::output;
    copy.ordinal = s.ordinal;
    copy.reasons.push_back("an output where an input lies that others read: through workspace");
    g.outputs[s.ordinal] = copy.define;
    s.where = place::workspace;
    s.ordinal = 0;
    copies.push_back(std::move(copy));
  }
  stages.insert(stages.end(), std::make_move_iterator(copies.begin()), std::make_move_iterator(copies.end()));
}

void order_updates(const graph& g, const facts& known, program_plan& plan) {
  const auto& updates = known.call().updates;
  if (updates.empty()) return;
  for (const update& u : updates)
    for (const stage& s : plan.stages)
      if (const node_id stored = g.outputs[u.output]; s.define != stored && reads_input(g, s, u.input))
        plan.reads.add(stored, s.define);
  std::vector<stage> sorted;
  std::vector<bool> done(plan.stages.size());
  const auto visit = [&](auto&& self, std::size_t i) -> void {
    if (done[i]) return;
    done[i] = true;
    for (std::size_t j = 0; j < plan.stages.size(); ++j)
      if (plan.reads.reads(plan.stages[i].define, plan.stages[j].define)) self(self, j);
    sorted.push_back(plan.stages[i]);
  };
  for (std::size_t i = 0; i < plan.stages.size(); ++i) visit(visit, i);
  plan.stages = std::move(sorted);
  plan.reads.close(plan.stages);
}

bool may_share_updates(const graph& g, const facts& known, const program_plan& plan, const kernel_plan& k,
                       const stage& s) {
  for (const update& u : known.call().updates) {
    if (g.outputs[u.output] != s.define) continue;
    for (const int i : k.stages) {
      const stage& other = plan.at(i);
      if (!reads_input(g, other, u.input)) continue;
      if (known.call().gpu || !reads_own_element(g, other, s, u)) return false;
    }
  }
  return true;
}

std::vector<int> unproven_updates(const graph& g, const facts& known, program_plan& plan) {
  std::vector<int> unproven;
  const proof whole(g, known, plan);
  for (const update& u : known.call().updates) {
    const auto& apart = known.call().apart;
    if (whole.holds(u)) {
      for (stage& s : plan.stages)
        if (s.define == g.outputs[u.output] && std::ranges::count(apart, u.output) == 0)
          s.reasons.push_back("updates " + text_of(g, g.inputs[u.input].name) + " in place");
    } else if (std::ranges::count(unproven, u.output) == 0) {
      unproven.push_back(u.output);
    }
  }
  return unproven;
}

call_facts with_apart(call_facts call, const std::vector<int>& outputs) {
  for (const int o : outputs) {
    if (std::ranges::count(call.apart, o) > 0) throw std::logic_error("plan: an update apart that reads come after");
    call.apart.push_back(o);
  }
  return call;
}

}  // namespace sheaf::inline v0_1::plan
