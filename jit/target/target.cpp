#include <sheaf/jit/target/target.hpp>

#include <cpuid.h>

namespace sheaf::inline v0_1::target {

const family* named(std::string_view name) {
  for (const family& f : families)
    if (name == f.name) return &f;
  return nullptr;
}

const family& here() {
  static const family& found = __builtin_cpu_is("amd") ? *named("zen") : __builtin_cpu_is("intel") ? *named("core")
                                                                                                     : families[0];
  return found;
}

namespace {

const vectors& vectors_here() {
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return widths[wide ? 0 : __builtin_cpu_supports("avx2") ? 1 : 2];
}

}  // namespace

const vectors& vectors_of(std::string_view processor) {
  if (processor.empty() || processor == "native") return vectors_here();
  constexpr std::string_view wide[] = {"x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "icelake",
                                       "tigerlake", "rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids",
                                       "znver4", "znver5"};
  for (const std::string_view name : wide)
    if (processor.starts_with(name)) return widths[0];
  return processor == "x86-64" || processor == "x86-64-v2" ? widths[2] : widths[1];
}

std::string key_of_this() {
  unsigned r[4] = {}, vendor[4] = {};
  __get_cpuid(0, &vendor[0], &vendor[1], &vendor[2], &vendor[3]);
  std::string key = "cpu";
  const auto put = [&](unsigned word) { key += " " + std::to_string(word); };
  for (int i = 1; i < 4; ++i) put(vendor[i]);
  __get_cpuid(1, &r[0], &r[1], &r[2], &r[3]);
  put(r[0]);
  put(r[2]);
  put(r[3]);
  for (unsigned leaf = 0; leaf < 2; ++leaf)
    if (__get_cpuid_count(7, leaf, &r[0], &r[1], &r[2], &r[3]) != 0)
      for (const unsigned word : r) put(word);
  return key;
}

}  // namespace sheaf::inline v0_1::target
