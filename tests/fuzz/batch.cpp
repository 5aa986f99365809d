// See batch.hpp.
#include "batch.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string_view>

namespace sheaf::fuzz {

namespace {

struct record {
  std::uint64_t seed;
  std::int64_t refused, error, rewritten, compared, known, exact, slopes;
  std::int64_t kind_size, words_size;
};

void put(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n <= 0) _exit(3);
    at += n, size -= static_cast<std::size_t>(n);
  }
}
void put(int fd, std::uint64_t seed, const verdict& v) {
  const record r{seed,
                 v.refused,
                 v.error,
                 v.rewritten,
                 v.compared,
                 v.known,
                 v.exact,
                 v.slopes,
                 static_cast<std::int64_t>(v.kind.size()),
                 static_cast<std::int64_t>(v.words.size())};
  std::string all(reinterpret_cast<const char*>(&r), sizeof r);
  all += v.kind + v.words;
  put(fd, all.data(), all.size());
}

verdict guarded_check(const program& p, const arguments& a) {
  try {
    return check(p, a);
  } catch (const std::exception& e) {
    verdict v;
    v.refused = std::string_view(e.what()).find("256 indices") != std::string_view::npos;  // too large, as documented
    if (v.refused) return v;
    v.kind = "exception";
    v.words = e.what();
    return v;
  }
}

// The child's end of a pipe, read as far as it has come.
struct worker {
  pid_t process = -1;
  int fd = -1;
  std::uint64_t next = 0, end = 0;  // the seed that is being checked
  std::string unread;

  bool take(record& r, verdict& v) {
    if (unread.size() < sizeof r) return false;
    std::memcpy(&r, unread.data(), sizeof r);
    const std::size_t kind = static_cast<std::size_t>(r.kind_size), words = static_cast<std::size_t>(r.words_size);
    if (unread.size() < sizeof r + kind + words) return false;
    v.kind = unread.substr(sizeof r, kind);
    v.words = unread.substr(sizeof r + kind, words);
    unread.erase(0, sizeof r + kind + words);
    return true;
  }
  // False at the end.
  bool read_some() {
    char buffer[65536];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return false;
    unread.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
};

template <class Work>
worker start(Work work) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  worker w;
  w.process = fork();
  if (w.process == 0) {
    close(ends[0]);
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  w.fd = ends[0];
  return w;
}

std::string death(worker& w) {
  int status = 0;
  waitpid(w.process, &status, 0);
  close(w.fd);
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "hang" : "crash: " + std::string(strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? "" : "exit " + std::to_string(WEXITSTATUS(status));
}

constexpr std::uint64_t chunk = 40;

}  // namespace

verdict isolated(const program& p, const arguments& a, int seconds) {
  worker w = start([&](int fd) {
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(4);
    alarm(static_cast<unsigned>(seconds));
    put(fd, 0, guarded_check(p, a));
  });
  while (w.read_some()) {
  }
  record r{};
  verdict v;
  const bool whole = w.take(r, v);
  const std::string how = death(w);
  v.refused = r.refused != 0;
  if (!whole) v.kind = how.empty() ? "no answer" : how;
  return v;
}

totals run_batch(const batch_limits& limits, const std::function<void(const finding&)>& found,
                 const std::function<void(const totals&)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  totals t;
  std::uint64_t unstarted = limits.first;
  const std::uint64_t last = limits.first + limits.count;
  std::vector<worker> workers;
  const auto launch = [&](std::uint64_t first, std::uint64_t end) {
    worker w = start([&, first, end](int fd) {
      for (std::uint64_t seed = first; seed < end; ++seed) {
        alarm(static_cast<unsigned>(limits.seconds_each));
        const program p = generate(seed);
        put(fd, seed, guarded_check(p, draw_arguments(p, seed)));
      }
    });
    w.next = first, w.end = end;
    workers.push_back(w);
  };
  const auto late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limits.seconds;
  };
  for (;;) {
    while (static_cast<int>(workers.size()) < limits.jobs && unstarted < last && !late()) {
      launch(unstarted, std::min(unstarted + chunk, last));
      unstarted = std::min(unstarted + chunk, last);
    }
    if (workers.empty()) return t;
    std::vector<pollfd> list;
    for (const worker& w : workers) list.push_back({w.fd, POLLIN, 0});
    poll(list.data(), list.size(), 1000);
    for (std::size_t k = workers.size(); k-- > 0;) {
      if (list[k].revents == 0) continue;
      worker& w = workers[k];
      const bool open = w.read_some();
      record r{};
      for (verdict v; w.take(r, v); v = {}) {
        w.next = r.seed + 1;
        ++t.programs;
        t.refused += r.refused, t.errors += r.error, t.rewritten += r.rewritten, t.compared += r.compared,
            t.known += r.known, t.exact += r.exact, t.slopes += r.slopes;
        if (!v.ok()) found({r.seed, v.kind, v.words});
        if (t.programs % 200 == 0) progress(t);
      }
      if (open) continue;
      worker ended = w;
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(k));
      const std::string how = death(ended);
      if (ended.next >= ended.end) continue;
      ++t.programs;
      found({ended.next, how.empty() ? "no answer" : how, ""});
      if (ended.next + 1 < ended.end) launch(ended.next + 1, ended.end);
    }
  }
}

}  // namespace sheaf::fuzz
