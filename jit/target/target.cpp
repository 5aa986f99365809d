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
