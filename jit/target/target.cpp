#include <sheaf/jit/target/target.hpp>

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

}  // namespace sheaf::inline v0_1::target
