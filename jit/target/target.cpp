#include <sheaf/jit/target/target.hpp>

#include <cpuid.h>

#include <cstdint>
#include <initializer_list>

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

namespace {

constexpr std::uint32_t bits(std::initializer_list<int> list) {
  std::uint32_t all = 0;
  for (const int b : list) all |= std::uint32_t{1} << b;
  return all;
}

// Bits of cpuid that instructions depend on (Intel's manual, volume 2A, CPUID; AMD's, volume 3, appendix E). The others
// tell of the hypervisor, the firmware and the neighbours of a core.
constexpr std::uint32_t basic_c_counts = bits({0, 1, 9, 12, 13, 19, 20, 22, 23, 25, 26, 27, 28, 29, 30});
constexpr std::uint32_t basic_d_counts = bits({8, 15, 23, 24, 25, 26});
constexpr std::uint32_t more_b_counts =
    bits({0, 3, 5, 8, 9, 16, 17, 18, 19, 21, 23, 24, 26, 27, 28, 29, 30, 31});
constexpr std::uint32_t more_c_counts = bits({0, 1, 6, 8, 9, 10, 11, 12, 14, 22, 27, 28});
constexpr std::uint32_t more_d_counts = bits({2, 3, 4, 8, 14, 22, 23, 24, 25});
constexpr std::uint32_t newer_a_counts = bits({0, 1, 2, 4, 5, 10, 11, 12, 21, 23});
constexpr std::uint32_t newer_d_counts = bits({4, 5, 8, 10, 15, 19, 21});
constexpr std::uint32_t amd_c_counts = bits({5, 6, 8, 11, 16, 21});
constexpr std::uint32_t state_counts = bits({1, 2, 5, 6, 7});  // of vector registers
constexpr std::uint32_t stepping = 15;

identification this_one() {
  identification id;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &id.vendor[0], &id.vendor[1], &id.vendor[2]);
  __get_cpuid(1, &id.signature, &b, &id.basic_c, &id.basic_d);
  __get_cpuid_count(7, 0, &a, &id.more_b, &id.more_c, &id.more_d);
  __get_cpuid_count(7, 1, &id.newer_a, &b, &c, &id.newer_d);
  __get_cpuid(0x80000001, &a, &b, &id.amd_c, &d);
  // Which registers the system saves: readable where bit 27 says so.
  if ((id.basic_c >> 27 & 1) != 0) __asm__("xgetbv" : "=a"(id.state), "=d"(d) : "c"(0));
  return id;
}

}  // namespace

std::string key_of(const identification& id) {
  std::string key = "cpu";
  const auto put = [&](std::uint32_t word) { key += " " + std::to_string(word); };
  for (const std::uint32_t word : id.vendor) put(word);
  put(id.signature & ~stepping);
  put(id.basic_c & basic_c_counts);
  put(id.basic_d & basic_d_counts);
  put(id.more_b & more_b_counts);
  put(id.more_c & more_c_counts);
  put(id.more_d & more_d_counts);
  put(id.newer_a & newer_a_counts);
  put(id.newer_d & newer_d_counts);
  put(id.amd_c & amd_c_counts);
  put(id.state & state_counts);
  return key;
}

std::string key_of_this() { return key_of(this_one()); }

}  // namespace sheaf::inline v0_1::target
