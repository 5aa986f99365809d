#include <sheaf/runtime/new_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace sheaf::inline v0_1::runtime {

namespace {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

bool write_new_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool done = true;
  for (const std::string_view part : parts) done = done && write_all(file, part);
  return close(file) == 0 && done;
}

}  // namespace sheaf::inline v0_1::runtime
