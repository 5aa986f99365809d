// What NVRTC takes, on this processor, for value and gradient of W1 to W13 as bench/gpu has them; no GPU is needed.
// Every compile is from the text: neither cache is asked. What programs share, which is compiled once, stands by
// itself. bench_nvrtc [ID...]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <set>
#include <string>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>
#include <workloads/jobs.hpp>

namespace {

using namespace sheaf;
using namespace sheaf::bench;

// Emitted for an H200, with what is known of the call.
cuda::source source_of(const job& one) {
  const graph g = unpack(one.words.data());
  const jit::call_class arguments = arguments_of(one, g);
  const auto planned = std::make_shared<const jit::arranged_program>(
      g, arguments, plan::call_facts{.inputs = {}, .unit_outputs = {}, .gpu = true}, jit::amounts_of(arguments));
  const jit::arranged_call call(planned, arguments, 256);
  const auto extents = call.slot_extents(arguments);
  return cuda::emit(call.program.code, {.compute = 90, .texts = runtime::current_settings().threads},
                    cuda::amounts_by_slot(extents));
}

void compile_text(const std::string& text) {
  runtime::cuda::compile_source(text, "program.cu", "sm_90",
                                {std::begin(cuda::compile_options), std::end(cuda::compile_options)}, 0);
}
// At the same time, as jit/cuda/code.cpp does.
double milliseconds_of(const std::vector<std::string>& texts) {
  std::vector<double> times;
  for (int round = 0; round < 5; ++round)
    times.push_back(1e3 * seconds_of([&] {
                      std::vector<std::future<void>> all;
                      for (const std::string& text : texts)
                        all.push_back(std::async(std::launch::async, [&] { compile_text(text); }));
                      for (auto& each : all) each.get();
                    }));
  return median(times);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<job> jobs = all_jobs();
  const std::vector<std::string> empty = {"extern \"C\" __global__ void nothing() {}\n"};
  milliseconds_of(empty);  // the first compile of a process opens the library
  report("nvrtc", "nothing", milliseconds_of(empty), "ms");
  constexpr double wanted = 60;
  std::set<const cuda::source*> shared;
  for (const job& one : jobs) {
    const auto is_this = [&](const char* id) { return one.id.compare(0, std::string(id).size(), id) == 0; };
    if (argc > 1 && std::none_of(argv + 1, argv + argc, is_this)) continue;
    const cuda::source made = source_of(one);
    for (const cuda::launch& l : made.launches)
      if (l.of != nullptr && shared.insert(l.of.get()).second)
        report("nvrtc", "shared", milliseconds_of(l.of->texts), "ms");  // once for all programs
    const double ms = milliseconds_of(made.texts);
    report("nvrtc", one.id.c_str(), ms, "ms", wanted, 100 * wanted / ms);
    const auto own = std::count_if(made.launches.begin(), made.launches.end(), [](const auto& l) { return !l.of; });
    std::printf("note %s: %zu launches, %td of its own in %zu texts\n", one.id.c_str(), made.launches.size(), own,
                made.texts.size());
  }
} catch (const std::exception& e) {
  std::printf("note nvrtc: %s\n", e.what());
  return 1;
}
