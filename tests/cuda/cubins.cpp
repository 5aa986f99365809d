// Emitted modules through NVRTC: to machine code for one architecture after the other, the first ones for all of them.
// Every eighth module, and every 24th of the long ones, which take half of the time; three of four of these with little
// optimisation, which tests their text alone. SHEAF_TEST_NVRTC=all: all as programs are compiled, which takes minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <span>
#include <string>

#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/error.hpp>

#include "cubin.hpp"
#include "machine.hpp"

namespace sheaf::test {

namespace {

constexpr int most_registers = 255, few_registers = 128;
constexpr std::int64_t most_frame = 1024;  // 512 bytes of a thread's own, and what is spilled
constexpr std::size_t for_all = 4;         // of those compiled
constexpr std::size_t slowest = 12;        // that are shown
constexpr const char* little_optimisation = "--Ofast-compile=max";
constexpr std::size_t long_text = 72000;   // bytes, of which what all programs share is 31000

bool all_are_wanted() {
  const char* const wanted = std::getenv("SHEAF_TEST_NVRTC");
  return wanted != nullptr && std::string(wanted) == "all";
}

// Which modules are compiled.
std::vector<const emulated_module*> chosen(const batch& all) {
  const std::size_t apart = all_are_wanted() ? 1 : 8, long_apart = all_are_wanted() ? 1 : 3;
  std::vector<const emulated_module*> list;
  for (std::size_t n = 0, of_long = 0; n < all.size(); n += apart) {
    std::size_t bytes = 0;
    for (const std::string& text : all[n].source.texts) bytes = std::max(bytes, text.size());
    if (bytes < long_text || of_long++ % long_apart == 0) list.push_back(&all[n]);
  }
  return list;
}

struct architecture {
  std::string name;
  int compute;
  int modules = 0, kernels = 0, registers = 0, frames = 0, many = 0;
  std::int64_t frame = 0, shared = 0;
  double seconds = 0;
};

// What one module became for one architecture.
struct result {
  std::string name;
  const cuda::source* source;
  architecture* to;
  bool quick;  // with little optimisation
  std::vector<kernel_usage> usage;
  std::string trouble;
  double seconds = 0;
};

void compile(result& r) try {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const char*> options(std::begin(cuda::compile_options), std::end(cuda::compile_options));
  if (r.quick) options.push_back(little_optimisation);
  for (const std::string& text : r.source->texts)
    for (kernel_usage& k : usage_of(runtime::cuda::compile_source(text, r.name, r.to->name, options, 0)))
      r.usage.push_back(std::move(k));
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
} catch (const std::exception& e) {
  r.trouble = e.what();
}

void compile_all(std::span<result> results) {
  constexpr std::size_t compilers = 2;
  std::vector<std::future<void>> workers;
  for (std::size_t w = 0; w < compilers; ++w)
    workers.push_back(std::async(std::launch::async, [&, w] {
      for (std::size_t n = w; n < results.size(); n += compilers) compile(results[n]);
    }));
  for (auto& w : workers) w.get();
}

void look_at(const result& r) {
  SCOPED_TRACE(r.name + " for " + r.to->name);
  ASSERT_EQ(r.trouble, "");
  architecture& to = *r.to;
  to.seconds += r.seconds;
  ++to.modules;
  if (r.quick) return;
  const auto& launches = r.source->launches;
  const auto own = std::count_if(launches.begin(), launches.end(), [](const auto& l) { return l.of == nullptr; });
  EXPECT_EQ(r.usage.size(), static_cast<std::size_t>(own));
  for (const kernel_usage& k : r.usage) {
    ++to.kernels;
    to.registers = std::max(to.registers, k.registers);
    to.frame = std::max(to.frame, k.frame);
    to.shared = std::max(to.shared, k.shared);
    to.frames += k.frame > 0;
    to.many += k.registers > few_registers;
    EXPECT_GT(k.registers, 0) << k.kernel;
    EXPECT_LE(k.registers, most_registers) << k.kernel;
    EXPECT_LE(k.frame, most_frame) << k.kernel;
    EXPECT_LE(k.shared, 48 << 10) << k.kernel;
  }
}

}  // namespace

TEST(nvrtc, compiles_kernels) {
  if (!emulated_machine::only().built()) return;
  std::vector<std::string> known;
  try {
    known = runtime::cuda::known_architectures();
  } catch (const error& e) {
    GTEST_SKIP() << "NVRTC is not installed, so no kernel was compiled for a GPU: " << e.what();
  }
  std::vector<architecture> list;
  for (const int compute : {75, 80, 90, 100, 120}) {
    const std::string name = "sm_" + std::to_string(compute);
    if (std::find(known.begin(), known.end(), name) != known.end())
      list.push_back({.name = name + (compute == 90 ? "a" : ""), .compute = compute});
    else
      std::printf("this NVRTC does not know %s\n", name.c_str());
  }
  ASSERT_FALSE(list.empty());
  const batch& all = emulated_machine::only().modules();
  std::vector<result> results;
  // NVRTC 12 may not know the option.
  const bool may_be_quick = !all_are_wanted() && runtime::cuda::compiler_version(0).starts_with("13.");
  const std::vector<const emulated_module*> modules = chosen(all);
  for (std::size_t n = 0; n < modules.size(); ++n)
    for (std::size_t a = 0; a < list.size(); ++a)
      if (n < for_all || n % list.size() == a)
        results.push_back({modules[n]->code.name, &modules[n]->source, &list[a], n % 4 != 0 && may_be_quick, {}, {}});
  const auto shared = all.shared();
  for (std::size_t n = 0; n < shared.size(); ++n)  // two of the architectures each
    for (std::size_t a = 0; a < list.size(); ++a)
      if (all_are_wanted() || a == n % list.size() || a == (n + 2) % list.size())
        results.push_back({"shared", shared[n].get(), &list[a], false, {}, {}});
  // NVRTC 13.0 optimises less in all compilations of a process that follow one with that option.
  std::ranges::stable_partition(results, [](const result& r) { return !r.quick; });
  const auto end_of_whole = std::ranges::find(results, true, &result::quick);
  compile_all({results.begin(), end_of_whole});
  compile_all({end_of_whole, results.end()});
  for (const result& r : results) look_at(r);
  std::ranges::sort(results, std::ranges::greater(), &result::seconds);
  for (std::size_t n = 0; n < std::min(slowest, results.size()); ++n)
    std::printf("%.0f ms: %s for %s\n", 1e3 * results[n].seconds, results[n].source->launches.back().name.c_str(),
                results[n].to->name.c_str());
  for (const architecture& a : list)
    std::printf(
        "%s: %d modules, %d kernels, at most %d registers (%d kernels above %d), %d kernels with local memory (at most "
        "%lld bytes), "
        "at most %lld bytes of shared memory, %.0f ms a module\n",
        a.name.c_str(), a.modules, a.kernels, a.registers, a.many, few_registers, a.frames,
        static_cast<long long>(a.frame), static_cast<long long>(a.shared), 1e3 * a.seconds / std::max(1, a.modules));
}

}  // namespace sheaf::test
