// What a plan knows of a call: the extents and the stride class of each tensor, and from them the sizes of index
// ranges. The facts steer decisions, which the amounts record; a kernel reads extents when it runs. Of extents it
// relies only on being a multiple of lanes where these facts say so.
// Shown by tests/jit/plan.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/options.hpp>
#include <sheaf/jit/shapes/closed_numbers.hpp>
#include <sheaf/jit/target/target.hpp>
#include <sheaf/jit/target/vectors.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

using shapes::all_of;
using shapes::amount;

// Numbers of one call, without what is recorded.
inline std::vector<amount> amounts(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

inline std::vector<std::int64_t> numbers(const std::vector<amount>& amounts) {
  std::vector<std::int64_t> list;
  for (const amount& a : amounts) list.push_back(static_cast<std::int64_t>(a.estimate()));
  return list;
}
inline std::string count_text(const amount& x) { return std::to_string(static_cast<long long>(x.estimate())); }

struct tensor_facts {
  std::vector<amount> extents;
  bool unit_inner = true;  // the last dimension has stride 1
  bool dense = false;      // row after row without gaps in the last two dimensions
};

// An output that is stored where an input lies, element by element, by their numbers in the graph.
struct update {
  int input = 0, output = 0;
  bool moved = false;  // the graph has the input's dimensions in another order than the output's: no element is its own
  bool operator==(const update&) const = default;
};

struct call_facts {
  std::vector<tensor_facts> inputs;  // by the graph's inputs
  std::vector<bool> unit_outputs;    // by the graph's outputs; missing: true
  std::vector<bool> dense_outputs = {};  // by the graph's outputs, as inputs are; missing: true
  std::vector<bool> promised = {};   // by the graph's inputs: the same data in all calls; empty: none
  std::vector<update> updates = {};
  std::vector<int> apart = {};  // outputs of these that are stored in workspace first, see updates.hpp
  bool gpu = false;                  // groups of threads share the tasks: thousands of them, each of less
  options overrides = {};
  target::family on = target::families[0];  // the processor's
  const target::vectors* vectors = &target::widths[1];  // its registers
  bool explains = false;  // the plan is made for its text: what takes time for that alone is done
  bool force_for_tests = false;  // tests: what pays for much ragged data only is done for any, in small tasks
  const char* without = nullptr;  // tests: the name of a rule that is not tried, as if it were deleted
  bool warpgroups = false;  // gpu: it has wgmma, so groups of four warps multiply (compute capability 9.0)
};

class facts {
 public:
  using point = shapes::point;
  facts(const graph& g, call_facts call) : g_(g), call_(std::move(call)) {}

  // An integer expression of constants and extents; nothing where it has free indices or reads data.
  std::optional<amount> value(node_id n) const { return g_.free[n].empty() ? number(n) : std::nullopt; }
  // The same of this call alone, beyond 2^53 too: for what is done anew for each call.
  std::optional<std::int64_t> exact(node_id n) const;
  // How often an index runs: exact where its range is closed, with outer indices at their low ends where it depends on
  // them (where it is empty there, as in a triangle, half of what it is at their high ends), and for ranges made of
  // data the tensor's share: the extent the index walks over, by the number of such ranges.
  amount trips(node_id idx) const;
  // The product over a set of indices.
  amount trips(const index_set& set) const;

  // What keeps the machine busy, from what keeps a few cores busy: so many tasks, each of as many elements.
  double tasks(double of_cores) const { return for_groups() ? tuning::tasks::gpu_tasks * of_cores : of_cores; }
  double elements(double of_cores) const { return for_groups() ? tuning::tasks::gpu_elements * of_cores : of_cores; }
  double enough_tasks() const { return tasks(numerics::enough_tasks); }

  // May the order of additions be one for groups of threads? On a GPU, but strict sums have the processor's order,
  // whoever makes them.
  bool for_groups() const { return call_.gpu && call_.overrides.determinism != determinism::strict; }

  // Does a GPU stand idle with so few tasks of a warp, where it could have `others`? Of few elements a launch costs
  // more.
  bool starves(const amount& tasks, const amount& others, const amount& elements) const {
    if (!for_groups()) return false;
    const bool much = call_.force_for_tests || elements >= tuning::tasks::worth_a_launch;
    return much && tasks < tuning::tasks::warps_of_gpu && others >= 2 * tasks;
  }

  // Of an input's elements.
  amount bytes(node_id input) const;

  // By what decides bits, lanes and blocks, of which the order of additions follows: what stands for the extents of the
  // call's class (shapes/usual_extents.hpp), whoever the plan is for. These themselves of plans for a class, of GPUs,
  // and where the extents of no class are known.
  const facts& bits() const;

  const graph& g() const { return g_; }
  const call_facts& call() const { return call_; }
  // Is the plan for a class of irregular calls (shapes/usual_extents.hpp)? Then extents are not asked for what may be
  // asked when the kernel runs.
  bool irregular() const;

 private:
  std::optional<amount> number(node_id n, point at = point::low) const;
  struct asking {
    node_id idx;
    const asking* because;
  };
  amount trips(const asking& about) const;
  amount walked_extent(const asking& about) const;
  bool has_rows_of(node_id of, node_id idx) const;

  const graph& g_;
  call_facts call_;
  mutable std::unordered_map<node_id, std::optional<amount>> known_;  // of expressions without indices
  struct of_class;
  mutable std::shared_ptr<const of_class> bits_;
};

// An input whose rows lie one after the other without gaps.
inline bool is_dense_input(const facts& known, node_id tensor) {
  const graph& g = known.g();
  if (g.kind(tensor) != op::input) return false;
  const auto input = static_cast<std::size_t>(g[tensor].attribute);
  return input < known.call().inputs.size() && known.call().inputs[input].dense;
}

}  // namespace sheaf::inline v0_1::plan
