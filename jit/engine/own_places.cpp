#include <sheaf/jit/engine/own_places.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>


// The folder of libraries below a prefix.
#ifndef SHEAF_LIBDIR
#define SHEAF_LIBDIR "lib"
#endif

namespace sheaf::inline v0_1::jit {

namespace {

constexpr const char* header = "/sheaf/api/compile.hpp";

struct noted {
  std::mutex lock;
  std::vector<std::string> includes;
};
noted& the_noted() {
  static noted& once = *new noted;
  return once;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos || file.front() != '/' ? "" : slash == 0 ? "/" : file.substr(0, slash);
}

// The file of this code, absolute and without links: dladdr has the name under which the program or library was
// opened, which may be relative to a folder that the process has left.
std::string mapped_file() {
  std::string found;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return found;
  const auto here = reinterpret_cast<std::uintptr_t>(&own_places);
  char line[4608];
  while (found.empty() && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t first = 0, last = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &last) != 2 || here < first || here >= last) continue;
    if (const char* path = std::strchr(line, '/'); path != nullptr) found.assign(path, std::strcspn(path, "\n"));
  }
  std::fclose(maps);
  return found;
}

// The name under which it was opened: a link may stand beside what its target does not.
std::string opened_file() {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(&own_places), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : "";
}

}  // namespace

void add_headers(std::string include) {
  if (!include.starts_with('/') || !include.ends_with(header)) return;
  include.resize(include.size() - std::strlen(header));
  noted& n = the_noted();
  const std::lock_guard guard(n.lock);
  if (std::ranges::find(n.includes, include) == n.includes.end()) n.includes.push_back(include);
}

std::vector<std::string> own_places() {
  std::vector<std::string> places;
  const auto add = [&](const std::string& place) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  };
  const auto add_prefix = [&](const std::string& inside) {
    add(inside + "/../lib");
    add(inside + "/../" SHEAF_LIBDIR);
  };
  for (const std::string& file : {mapped_file(), opened_file()})
    if (const std::string folder = folder_of(file); !folder.empty()) {
      add(folder);
      add_prefix(folder);
      add(folder + "/..");
    }
  noted& n = the_noted();
  const std::lock_guard guard(n.lock);
  for (const std::string& include : n.includes) add_prefix(include);
  return places;
}

}  // namespace sheaf::inline v0_1::jit
