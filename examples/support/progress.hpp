// One line of progress on stderr: rewritten in place in a terminal, a line at each tenth of the way elsewhere.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace support {

// support::progress shown("training", epochs);
// for (...) shown.step("loss " + std::to_string(loss));
class progress {
 public:
  progress(std::string task, std::int64_t total) : task_(std::move(task)), total_(total > 0 ? total : 1) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() {
    if (terminal_ && done_ > 0) std::fputc('\n', stderr);
  }

  void step(const std::string& note = {}) {
    ++done_;
    const std::int64_t tenth = done_ * 10 / total_;
    if (!terminal_ && tenth == shown_) return;
    shown_ = tenth;
    std::fprintf(stderr, "%s%s %3d%%  %s%s", terminal_ ? "\r" : "", task_.c_str(),
                 static_cast<int>(done_ * 100 / total_), note.c_str(),
                 terminal_ ? "\x1b[K" : "\n");  // ESC [K clears what a longer note left
    std::fflush(stderr);
  }

 private:
  std::string task_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t shown_ = 0;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

}  // namespace support
