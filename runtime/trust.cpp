#include <sheaf/runtime/trust.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace sheaf::inline v0_1::runtime {
namespace {

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? "" : real.get();
}

std::string cannot_look(const std::string& path) { return "cannot look at " + path + ": " + std::strerror(errno); }

// Without the last part; "/" of what stands in the root.
std::string above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string others_of(const std::string& path, const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return path + " belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others can write " + path;
  return "";
}

std::string others_of_folder(const std::string& path) {
  const std::string real = real_path(path);
  struct stat status;
  if (real.empty() || stat(real.c_str(), &status) != 0) return cannot_look(path);
  if (!S_ISDIR(status.st_mode)) return path + " is no folder";
  if (std::string others = others_of(real, status); !others.empty()) return others;
  for (std::string folder = real; folder != "/";) {
    folder = above(folder);
    if (stat(folder.c_str(), &status) != 0) return cannot_look(folder);
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) return "others can write " + folder;
  }
  return "";
}

std::string others_of_file(const std::string& path) {
  const std::string real = real_path(path);
  struct stat status;
  if (real.empty() || stat(real.c_str(), &status) != 0) return cannot_look(path);
  if (!S_ISREG(status.st_mode)) return path + " is no file";
  if (std::string others = others_of(real, status); !others.empty()) return others;
  return others_of_folder(above(real));
}

}  // namespace sheaf::inline v0_1::runtime
