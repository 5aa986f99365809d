#include <sheaf/jit/plan/traffic.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/target/vectors.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// What a kernel reads of one tensor. A walk is a pass over the data that has to end before what waits for it begins:
// the reductions that something waits for, one within the other.
struct reading {
  amount touched = 0;  // bytes, at most all of it
  amount part = 0;     // of one iteration of the loops around
  std::set<int> walks;
};

class kernel_reads {
 public:
  kernel_reads(const graph& g, const facts& known, const program_plan& plan, const kernel_plan& k)
      : g_(g), known_(known), plan_(plan) {
    for (const int i : k.stages) own_.insert(at(i).define);
    for (const int i : k.stages) stage_reads(at(i));
  }

  amount bytes() const {
    amount total = 0;
    for (const auto& [tensor, r] : tensors_) {
      const bool stays = r.walks.size() < 2 || r.part <= known_.call().on.second_cache;
      total += r.touched * (stays ? 1 : static_cast<double>(r.walks.size()));
    }
    return total;
  }

 private:
  const stage& at(int i) const { return plan_.at(i); }

  void stage_reads(const stage& s) {
    if (s.how == way::tile_starts) return;  // a search reads little
    loops_ = {};
    for (const node_id idx : s.loops)
      if (idx != s.vector) loops_.insert(g_.ordinal(idx));
    if (s.parallel != no_node) loops_.insert(g_.ordinal(s.parallel));
    one_walk_ = s.how == way::scan || s.how == way::window || s.how == way::stencil;
    seen_.clear();
    for_each_root(s, [&](node_id n, root_kind what) {
      if (what == root_kind::read) visit(n, depth(n) + 1);
    });
    if (s.slices.array != no_node) note(s.slices.array, 1, bytes_of(s.slices.array), 0);
  }

  // How many reductions have to end, one after the other, before n is known.
  int depth(node_id n) {
    if (const auto known = depths_.find(n); known != depths_.end()) return known->second;
    int most = 0;
    if (g_.kind(n) != op::define && g_.kind(n) != op::extent)
      for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) most = std::max(most, depth(g_.arg(n, k)));
    return depths_[n] = most + (g_.kind(n) == op::reduce ? 1 : 0);
  }

  void visit(node_id n, int walk) {
    if (!seen_.insert({n, walk}).second || g_.kind(n) == op::define || g_.kind(n) == op::extent) return;
    if (g_.kind(n) == op::load) {
      const node_id tensor = g_.arg(n, 0);
      const double size = row(g_.type(tensor)).bytes;
      index_set inner;
      for (int o = 0; o < g_.indices.size(); ++o)
        if (g_.free[n].has(o) && !loops_.has(o)) inner.insert(o);
      // Single numbers at places that data names take a line each.
      const bool line = data_names_last(g_, n);
      const double taken = line && !known_.call().gpu ? target::line_bytes : size;
      note(tensor, walk, taken * known_.trips(g_.free[n]), taken * known_.trips(inner));
    }
    const int inside = g_.kind(n) == op::reduce ? depth(n) : walk;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) visit(g_.arg(n, k), inside);
  }

  amount bytes_of(node_id tensor) const {
    if (g_.kind(tensor) != op::define) return known_.bytes(tensor);
    for (const stage& s : plan_.stages)
      if (s.define == tensor) return s.bytes;
    return 0;
  }

  void note(node_id tensor, int walk, const amount& touched, const amount& part) {
    if (own_.contains(tensor)) return;  // written a moment ago
    reading& r = tensors_[tensor];
    r.touched = min(bytes_of(tensor), r.touched + touched);
    r.part = max(r.part, min(part, bytes_of(tensor)));
    r.walks.insert(one_walk_ ? 1 : walk);
  }

  const graph& g_;
  const facts& known_;
  const program_plan& plan_;
  std::set<node_id> own_;
  std::map<node_id, reading> tensors_;
  std::unordered_map<node_id, int> depths_;
  std::set<std::pair<node_id, int>> seen_;
  index_set loops_;
  bool one_walk_ = false;
};

}  // namespace

void predict_traffic(const graph& g, const facts& known, program_plan& plan) {
  for (kernel_plan& k : plan.kernels) {
    if (k.part > 0) continue;  // the first of several stands for all
    k.read = kernel_reads(g, known, plan, k).bytes();
    k.written = k.operations = 0;
    for (const int i : k.stages) {
      const stage& s = plan.at(i);
      if (s.where != place::check) k.written += s.bytes;
      k.operations += s.operations;
    }
    k.time = known.call().on.time(k.read, k.written);
  }
  for (kernel_plan& k : plan.kernels) {
    k.cost = cost_of_task(known, plan, k);
    plan.cost = max(plan.cost, k.cost * max(1.0, tasks_in(known, k)));
  }
}

}  // namespace sheaf::inline v0_1::plan
