#include "rows.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include <sheaf/runtime/cuda/nvrtc.hpp>

namespace sheaf::test {

namespace {

constexpr std::int64_t shared_per_block = 48 << 10;
constexpr double mebibyte = 1 << 20;
constexpr double sorted_key = 16;  // bytes of a key and its position, read or written

double product(const std::vector<std::int64_t>& extents) {
  double n = 1;
  for (const std::int64_t e : extents) n *= static_cast<double>(e);
  return n;
}

// A pass of a sort reads or writes its keys: tiles of them, or as many searches as there are bounds.
double bytes_of_sort(const cuda::launch& l) {
  if (l.count < 0) return 0;
  const double keys = l.name.find("ends") == std::string::npos ? tuning::sort::tile_places : 1;
  return static_cast<double>(l.count) * keys * sorted_key;
}

// By launch: what the plan predicts for its kernels. Of segmented tiles it is the second part that walks the rows.
void find_bytes(const emitted_row& row, std::vector<launch_facts>& launches) {
  const auto& plan = row.planned->program.plan;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const cuda::launch& l = row.source.launches[n];
    const auto first = static_cast<std::size_t>(l.first);
    if (l.of != nullptr) launches[n].bytes = bytes_of_sort(l);
    if (l.of != nullptr || first >= plan.kernels.size()) continue;
    const plan::kernel_plan& k = plan.kernels[first];
    const bool tiles = plan.stages[static_cast<std::size_t>(k.stages.front())].how == plan::way::tiles;
    launch_facts& to = launches[tiles && k.part == 0 && n + 1 < launches.size() ? n + 1 : n];
    to.bytes += k.read.estimate() + k.written.estimate();
    to.operations += k.operations.estimate();
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

emitted_row::emitted_row(const bench::job& one) : id(one.id) {
  const graph g = unpack(one.words.data());
  const jit::call_class arguments = bench::arguments_of(one, g);
  planned = std::make_shared<const jit::arranged_program>(
      g, arguments, plan::call_facts{.inputs = {}, .unit_outputs = {}, .gpu = true}, jit::amounts_of(arguments));
  const jit::arranged_call call(planned, arguments, 256);
  const auto extents = call.slot_extents(arguments);
  std::vector<const std::int64_t*> places;
  for (const auto& e : extents) places.push_back(e.data());
  source = cuda::emit(call.program.code, {.compute = 90, .shared_bytes = shared_per_block}, places);
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
    else if (l.count >= 0) launches.back().blocks = (l.count + l.tiles - 1) / l.tiles;
    scratch.push_back(l.scratch_bytes);
  }
  find_bytes(*this, launches);
}

const kernel_estimate& counted_row::slowest() const {
  return *std::max_element(kernels.begin(), kernels.end(),
                           [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
}

counted_row counted(const emitted_row& row) {
  counted_row made{.id = row.id, .bound = row.bound, .workspace = row.workspace, .allowed = row.allowed};
  std::map<std::string, kernel_code> own, shared;
  add_kernels(row.source.texts, own);
  double scratch = 0;
  for (std::size_t n = 0; n < row.launches.size(); ++n) {
    const cuda::launch& l = row.source.launches[n];
    if (l.of != nullptr) add_kernels(l.of->texts, shared);
    const kernel_code& k = (l.of == nullptr ? own : shared).at(l.name);
    made.kernels.push_back(estimate(row.launches[n], k.usage, k.code));
    made.seconds += made.kernels.back().seconds;
    made.bytes += made.kernels.back().bytes;
    made.shared_launches += l.of != nullptr;
    scratch = std::max(scratch, made.kernels.back().blocks * static_cast<double>(row.scratch[n]));
  }
  made.workspace += scratch;
  return made;
}

}  // namespace sheaf::test
