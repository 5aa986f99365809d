#include "rows.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include <sheaf/jit/lower/sort_kernels.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>

namespace sheaf::test {

namespace {

constexpr std::int64_t shared_per_block = 48 << 10;
constexpr double mebibyte = 1 << 20;

double product(const std::vector<std::int64_t>& extents) {
  double n = 1;
  for (const std::int64_t e : extents) n *= static_cast<double>(e);
  return n;
}

// What a kernel of a sort reads and writes, in numbers: keys, indices and counts. A search for an end takes two keys
// that no cache has.
double numbers_of_sort(const cuda::launch& l) {
  using lower::sort_kernel, lower::sort_number;
  const auto number = [&](sort_number n) { return static_cast<double>(l.numbers[static_cast<std::size_t>(n)]); };
  const double keys = number(sort_number::room), counts = number(sort_number::entries);
  switch (static_cast<sort_kernel>(l.first)) {
    case sort_kernel::count:
      return (keys + counts);
    case sort_kernel::prefix:
      return 2 * counts;
    case sort_kernel::sums:
      return 2 * number(sort_number::groups);
    case sort_kernel::place:
      return 2 * keys * (1 + number(sort_number::planes)) + counts;
    case sort_kernel::ends:
      return 2 * number(sort_number::bounds);
    case sort_kernel::last:
    case sort_kernel::reach:
      return 2 * keys;
    case sort_kernel::farthest:
      return 2 * number(sort_number::tiles);
    case sort_kernel::first:
      return 2 * number(sort_number::bounds);
  }
  return 0;
}

// Multiplications and additions of a kernel's folds, where each result has its own.
double operations_of(const plan::facts& known, const plan::program_plan& plan, const plan::kernel_plan& k) {
  const graph& g = known.g();
  double all = 0;
  for (const int i : k.stages) {
    const plan::stage& s = plan.stages[static_cast<std::size_t>(i)];
    if (s.how != plan::way::map) continue;
    for (const node_id n : plan::reductions_in(g, s.body)) {
      index_set walked = plan::set_of(g, s.indices);
      walked |= plan::set_of(g, plan::bound_indices(g, n));
      walked |= g.free[n];
      all += 2 * known.trips(walked.common(g.free[g.arg(n, 0)])).estimate();
    }
  }
  return all;
}

// What kernels read and write that the last block of a launch does after its own.
double bytes_that_follow(const emitted_row& row, std::size_t n) {
  const auto& kernels = row.planned->program.plan.kernels;
  std::size_t end = kernels.size();
  if (n + 1 < row.source.launches.size()) {
    const cuda::launch& next = row.source.launches[n + 1];
    end = static_cast<std::size_t>(next.of != nullptr ? next.caller : next.first);
  }
  double bytes = 0;
  for (auto k = static_cast<std::size_t>(row.source.launches[n].first) + 1; k < end; ++k)
    if (kernels[k].part == 0) bytes += kernels[k].read.estimate() + kernels[k].written.estimate();
  return bytes;
}

// By launch: what the plan predicts for its kernels. Of scatters in parts it is the third that walks the rows, as if no
// row had many updates; of a sorted list the first counts, and the third writes.
void find_bytes(const emitted_row& row, const plan::facts& known, std::vector<launch_facts>& launches) {
  const auto& plan = row.planned->program.plan;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const cuda::launch& l = row.source.launches[n];
    const auto first = static_cast<std::size_t>(l.first);
    if (l.of != nullptr) launches[n].bytes = numbers_of_sort(l) * (l.name.starts_with("sheaf_sort32") ? 4 : 8);
    if (l.of != nullptr || first >= plan.kernels.size()) continue;
    launches[n].following = bytes_that_follow(row, n);
    launches[n].of_checks = plan.at(plan.kernels[first].stages.front()).asked;
    const plan::kernel_plan& k = plan.kernels[first];
    const plan::stage& s = plan.stages[static_cast<std::size_t>(k.stages.front())];
    if (s.sort.passes > 0 && (k.part == 0 || k.part == 2)) {
      const plan::kernel_plan& whole = plan.kernels[first - static_cast<std::size_t>(k.part)];
      launches[n].bytes = whole.read.estimate() + (k.part == 2 ? whole.written.estimate() : 0);
      continue;
    }
    const std::size_t after = k.part > 0 ? 0 : s.inverse.parts.array != no_node ? s.inverse.parts.kernels() : 0;
    launch_facts& to = launches[std::min(n + after, launches.size() - 1)];
    to.bytes += k.read.estimate() + k.written.estimate();
    if (k.part == 0) to.operations += operations_of(known, plan, k);
  }
}

std::vector<unsigned char> compiled(const std::string& text) {
  static std::mutex lock;
  static auto& known = *new std::map<std::string, std::vector<unsigned char>>;
  {
    const std::lock_guard guard(lock);
    if (const auto found = known.find(text); found != known.end()) return found->second;
  }
  auto cubin = runtime::cuda::compile_source(
      text, "row.cu", "sm_90", {std::begin(cuda::compile_options), std::end(cuda::compile_options)}, 0);
  const std::lock_guard guard(lock);
  return known[text] = std::move(cubin);
}

struct kernel_code {
  kernel_usage usage;
  std::vector<sass_instruction> code;
};
void add_kernels(const std::vector<std::string>& texts, std::map<std::string, kernel_code>& all) {
  for (const std::string& text : texts) {
    const auto cubin = compiled(text);
    for (kernel_usage& u : usage_of(cubin)) {
      auto code = decode(cubin.data() + u.code_at, static_cast<std::size_t>(u.code));
      all[u.kernel] = {u, std::move(code)};
    }
  }
}

}  // namespace

std::vector<bench::job> static_rows() {
  std::vector<bench::job> rows = bench::all_jobs();
  for (bench::job& one : bench::catalogue_jobs()) rows.push_back(std::move(one));
  return rows;
}

emitted_row::emitted_row(const bench::job& one) : id(one.id) {
  const graph g = unpack(one.words.data());
  const jit::call_class arguments = bench::arguments_of(one, g);
  planned = std::make_shared<const jit::arranged_program>(
      g, arguments, plan::call_facts{.inputs = {}, .unit_outputs = {}, .gpu = true}, jit::amounts_of(arguments));
  const jit::arranged_call call(planned, arguments, 256);
  const auto extents = call.slot_extents(arguments);
  source = cuda::emit(call.program.code, {.compute = 90, .shared_bytes = shared_per_block},
                      cuda::amounts_by_slot(extents));
  double inputs = 0, outputs = 0;
  for (int k = 0; k < g.inputs.size(); ++k)
    inputs += product(arguments.input_extents[static_cast<std::size_t>(k)]) * row(g.inputs[k].type).bytes;
  for (int k = 0; k < g.outputs.size(); ++k)
    outputs += product(arguments.output_extents[static_cast<std::size_t>(k)]) * row(g.type(g.outputs[k])).bytes;
  double predicted = 0;
  for (const auto& k : planned->program.plan.kernels) predicted += k.read.estimate() + k.written.estimate();
  bound = std::min(inputs + outputs, std::max(predicted, outputs));
  allowed = outputs + 2 * mebibyte;
  workspace = static_cast<double>(call.bytes);
  for (const cuda::launch& l : source.launches) {
    launches.push_back({.name = l.name, .threads = l.threads, .blocks = -1, .dynamic_shared = l.shared_bytes});
    if (l.single) launches.back().blocks = 1;
    else if (l.count)
      launches.back().blocks = (static_cast<std::int64_t>(l.count->estimate()) + l.tiles - 1) / l.tiles;
    scratch.push_back(l.scratch_bytes);
  }
  plan::call_facts on_gpu{.inputs = {}, .unit_outputs = {}, .gpu = true};
  const graph& arranged = planned->program.g;
  for (int k = 0; k < arranged.inputs.size(); ++k)
    on_gpu.inputs.push_back({plan::amounts(extents[static_cast<std::size_t>(k)])});
  find_bytes(*this, plan::facts(arranged, on_gpu), launches);
  for (const launch_facts& l : launches) operations += l.operations;
}

const kernel_estimate& counted_row::slowest() const {
  return *std::max_element(kernels.begin(), kernels.end(),
                           [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
}

counted_row counted(const emitted_row& row) {
  counted_row made{.id = row.id, .bound = row.bound, .operations = row.operations, .workspace = row.workspace,
                   .allowed = row.allowed};
  std::map<std::string, kernel_code> own, shared;
  add_kernels(row.source.texts, own);
  double scratch = 0;
  for (std::size_t n = 0; n < row.launches.size(); ++n) {
    const cuda::launch& l = row.source.launches[n];
    if (l.of != nullptr) add_kernels(l.of->texts, shared);
    const kernel_code& k = (l.of == nullptr ? own : shared).at(l.name);
    made.kernels.push_back(estimate(row.launches[n], k.usage, k.code));
    made.seconds += made.kernels.back().seconds;
    if (made.kernels.back().by_tensor_cores) made.of_tensor_cores += row.launches[n].operations;
    made.bytes += made.kernels.back().bytes;
    made.shared_launches += l.of != nullptr;
    made.of_checks += row.launches[n].of_checks;
    scratch = std::max(scratch, made.kernels.back().blocks * static_cast<double>(row.scratch[n]));
  }
  made.workspace += scratch;
  return made;
}

}  // namespace sheaf::test
