#include "session.hpp"

#include <unistd.h>
#include <algorithm>

namespace sheaf::bench {

namespace {
constexpr std::int64_t pass_elements = std::int64_t{1} << 25;  // 128 MB
double gigabytes_per_second(double floats, double seconds) { return floats * 4e-9 / seconds; }
}  // namespace

session::session() : from_(pass_elements), to_(pass_elements) {
  from_.fill(1);  // touches every page
  to_.fill(1);
}

bool session::wants(const std::string& id) const {
  return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), id) != wanted_.end();
}

double session::bound(const traffic& bytes) {
  const double passed = bytes_of(from_);
  const double reading = bytes.read / passed * read_pass(from_.data(), pass_elements);
  const double writing = bytes.written / passed * write_pass(to_.data(), pass_elements);
  const double copying =
      (bytes.read + bytes.written) / (2 * passed) * copy_pass(from_.data(), to_.data(), pass_elements);
  return std::max({reading, writing, copying});
}

timing session::on_cores(const char* id, const char* what, const std::function<void()>& kernel) {
  progress(id, what, "tasks");
  std::string details;
  const many_cores of = on_many_cores(kernel, cores_, 2 * repeats_, 2 * patience_, details_ ? &details : nullptr);
  progress(nullptr, nullptr, nullptr);
  report_cores(id, what, of, details);
  return {of.one * 1e3, 0, 0};
}

void session::note_bandwidth() {
  std::vector<double> read, written, copied;
  for (int k = 0; k < 7; ++k) {
    read.push_back(read_pass(from_.data(), pass_elements));
    written.push_back(write_pass(to_.data(), pass_elements));
    copied.push_back(copy_pass(from_.data(), to_.data(), pass_elements));
  }
  std::printf("note plain %s loops: read %.1f, write %.1f, copy %.1f GB/s (read and written bytes counted)\n",
              vector_width(), gigabytes_per_second(pass_elements, median(read)),
              gigabytes_per_second(pass_elements, median(written)),
              gigabytes_per_second(2 * pass_elements, median(copied)));
}

void session::progress(const char* id, const char* what, const char* doing) {
  static const bool shown = isatty(2) != 0;
  if (!shown) return;
  if (id != nullptr)
    std::fprintf(stderr, "\r\033[K%s %s: %s", id, what, doing);
  else
    std::fprintf(stderr, "\r\033[K");
}

}  // namespace sheaf::bench
