#include <sheaf/jit/plan/horizontal_fusion.hpp>

#include <algorithm>

#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::horizontal_fusion;

class pairing {
 public:
  pairing(const facts& known, program_plan& plan)
      : g_(known.g()), known_(known), plan_(plan), free_(plan.kernels.size(), true) {}

  // Sizes are compared last, of kernels that could be a pair: what comes of no pair splits no class of extents.
  void operator()() {
    for (std::size_t a = 0; a < plan_.kernels.size(); ++a)
      for (std::size_t b = a + 1; b < plan_.kernels.size(); ++b) {
        if (!free_[a] || !free_[b] || !may_share(a) || !may_share(b) || !may_wait(a, b)) continue;
        if (!is_much()) return;
        if (!is_shared(known_, plan_, plan_.kernels[a]) || !is_shared(known_, plan_, plan_.kernels[b])) continue;
        if (gains(a, b) && memory_matters(a) && memory_matters(b)) pair(a, b);
      }
  }

 private:
  const stage& at(int i) const { return plan_.at(i); }
  bool is_much() const {
    amount all = 0;
    for (const kernel_plan& k : plan_.kernels) all += k.read + k.written;
    return known_.call().force_for_tests || all >= 2 * known_.call().on.from_memory();
  }
  amount tasks(const kernel_plan& k) const { return tasks_in(known_, k); }

  bool memory_matters(std::size_t a) const {
    const kernel_plan& k = plan_.kernels[a];
    return known_.call().force_for_tests || k.time >= least_share * k.operations * known_.call().on.operation;
  }
  // One loop that threads may share.
  bool may_share(std::size_t a) const {
    const kernel_plan& k = plan_.kernels[a];
    if (k.parallel == no_node || k.promised || k.part != 0) return false;
    return std::ranges::all_of(k.stages, [&](int i) {
      const stage& s = at(i);
      const bool rows = s.how == way::map || s.how == way::partial || s.how == way::stencil;
      return (rows || s.how == way::range_scatter || s.how == way::window || s.how == way::scan) && !s.asked &&
             !is_gathered(s);
    });
  }

  // Rows that data names come one by one, and some from a cache: their time is no matter of bandwidth.
  bool is_gathered(const stage& s) const {
    return any_node(g_, s.body, [&](node_id n) { return g_.kind(n) == op::load && !index_operands(g_, n).empty(); });
  }

  // Nothing up to b needs what a stores.
  bool may_wait(std::size_t a, std::size_t b) const {
    for (std::size_t n = a + 1; n <= b; ++n)
      for (const int reader : plan_.kernels[n].stages)
        for (const int writer : plan_.kernels[a].stages)
          if (at(reader).define == at(writer).define || plan_.reads.waits(at(reader).define, at(writer).define))
            return false;
    return true;
  }

  bool gains(std::size_t a, std::size_t b) const {
    if (known_.call().force_for_tests) return true;
    const kernel_plan &one = plan_.kernels[a], &two = plan_.kernels[b];
    const target::family& on = known_.call().on;
    const amount least = min(one.read + one.written, two.read + two.written);
    return least >= on.from_memory() && min(tasks(one), tasks(two)) >= static_cast<double>(fewest_iterations) &&
           on.time(one.read + two.read, one.written + two.written) < worth_it * (one.time + two.time);
  }

  void pair(std::size_t a, std::size_t b) {
    kernel_plan &one = plan_.kernels[a], &two = plan_.kernels[b];
    const amount most = min(tasks(one), tasks(two));
    const amount wanted = (one.read + one.written + two.read + two.written) / (2 * bytes_of_iteration);
    std::int64_t iterations = known_.call().force_for_tests ? forced_iterations : fewest_iterations;
    while (!known_.call().force_for_tests && 2 * iterations <= min(most, wanted)) iterations *= 2;
    const amount cost = (one.cost * tasks(one) + two.cost * tasks(two)) / (2 * iterations);
    one.interleaved = {static_cast<int>(b), iterations, cost};
    free_[a] = free_[b] = false;
  }

  const graph& g_;
  const facts& known_;
  program_plan& plan_;
  std::vector<bool> free_;  // in no pair yet, by kernel
};

}  // namespace

void fuse_horizontally(const facts& known, program_plan& plan) {
  if (!known.call().gpu && known.call().overrides.fusion == fusion::planned) pairing(known, plan)();
}

}  // namespace sheaf::inline v0_1::plan
