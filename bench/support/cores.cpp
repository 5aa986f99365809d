#include <support/cores.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <queue>
#include <sstream>

#include <support/measure.hpp>

namespace sheaf::bench {

double timed_loop::total() const { return std::accumulate(tasks.begin(), tasks.end(), 0.0); }

double timed_loop::on(int workers) const {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int k = 0; k < workers; ++k) free_at.push(0);
  double last = 0;
  for (const double task : tasks) {
    const double end = free_at.top() + task;
    free_at.pop();
    free_at.push(end);
    last = std::max(last, end);
  }
  return last;
}

void timed_call::take_least(const timed_call& again) {
  const auto alike = [](const timed_loop& a, const timed_loop& b) {
    return a.body == b.body && a.tasks.size() == b.tasks.size();
  };
  if (!std::equal(loops.begin(), loops.end(), again.loops.begin(), again.loops.end(), alike))
    return void(*this = again);  // a first call may do what later ones need not
  const auto least = [](double& mine, double other) { mine = std::min(mine, other); };
  for (std::size_t l = 0; l < loops.size(); ++l) {
    least(loops[l].before, again.loops[l].before);
    for (std::size_t t = 0; t < loops[l].tasks.size(); ++t) least(loops[l].tasks[t], again.loops[l].tasks[t]);
  }
  least(after, again.after);
}

many_cores simulated(const timed_call& call, int workers) {
  many_cores of;
  of.workers = workers;
  of.serial = call.after;
  for (const timed_loop& loop : call.loops) {
    of.serial += loop.before;
    const double total = loop.total();
    if (!loop.is_shared) {
      of.serial += total;
      continue;
    }
    const double taken = loop.on(workers);
    of.work += total;
    of.loops += taken;
    of.waiting += taken - total / workers;
    ++of.shared;
  }
  of.work += of.serial;
  return of;
}

timed_call task_recorder::record(const std::function<void()>& call) {
  seen_ = {};
  last_ = clock_();
  call();
  seen_.after = clock_() - last_;
  return std::move(seen_);
}

void task_recorder::run(sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
  if (count <= 0) return;
  if (inside_) return body(call, 0, count);
  inside_ = true;
  const runtime::loop_chunks chunks(count, cost, workers_);
  timed_loop loop{.body = body, .is_shared = chunks.are_shared(), .before = clock_() - last_, .tasks = {}};
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = loop.is_shared ? chunks.end_of(begin) : count;
    const double start = clock_();
    body(call, begin, end);
    last_ = clock_();
    loop.tasks.push_back(last_ - start);
    begin = end;
  }
  seen_.loops.push_back(std::move(loop));
  inside_ = false;
  last_ = clock_();
}

namespace {

std::string names_file() { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }

// As PROGRAM.NUMBER.KERNEL.task, where kernel_names lives.
std::string name_of(sheaf_body body) {
  std::ifstream map(names_file());
  std::uint64_t from = 0, size = 0;
  const auto wanted = reinterpret_cast<std::uint64_t>(body);
  std::string line, found = "a loop";
  while (std::getline(map, line)) {
    std::istringstream words(line);
    std::string name;
    if (words >> std::hex >> from >> size >> name && from == wanted) found = name;  // the last: memory is used again
  }
  return found;
}

}  // namespace

std::string described(const timed_call& call, int workers) {
  std::string text;
  char line[256];
  for (const timed_loop& loop : call.loops) {
    const double total = loop.total(), taken = loop.is_shared ? loop.on(workers) : total;
    std::snprintf(line, sizeof line, "%.1f us alone, then %s: %s%zu tasks, %.1f us, on %d cores %.1f, longest %.1f\n",
                  loop.before * 1e6, name_of(loop.body).c_str(), loop.is_shared ? "" : "not shared, ",
                  loop.tasks.size(), total * 1e6, workers, taken * 1e6,
                  *std::max_element(loop.tasks.begin(), loop.tasks.end()) * 1e6);
    text += line;
  }
  std::snprintf(line, sizeof line, "%.1f us alone at the end\n", call.after * 1e6);
  return text + line;
}

kernel_names::kernel_names() { setenv("SHEAF_SYMBOLS", "perf", 1); }
kernel_names::~kernel_names() { std::remove(names_file().c_str()); }

many_cores on_many_cores(const std::function<void()>& call, int workers, int repeats, double patience,
                         std::string* details) {
  struct restored_hook {
    parallel_hook before = current_parallel_hook();
    ~restored_hook() { set_parallel_hook(before); }
  };
  task_recorder all(workers, now);
  const restored_hook restored;
  set_parallel_hook({nullptr, nullptr, 1});
  const double start = now();
  call();  // makes the kernels
  double one = seconds_of(call);
  for (int k = 1; k < repeats && now() - start < patience / 2; ++k) one = std::min(one, seconds_of(call));
  set_parallel_hook(all.hook());
  call();
  timed_call least = all.record(call);
  for (int k = 1; k < repeats && now() - start < patience; ++k) least.take_least(all.record(call));
  many_cores of = simulated(least, workers);
  of.one = one;
  if (details != nullptr) *details = described(least, workers);
  return of;
}

void report_cores(const char* id, const char* what, const many_cores& of, const std::string& details) {
  std::printf("cores %s %s %.6g %.6g %.6g %.4g %.4g %.4g %d %s\n", id, what, of.one * 1e3, of.work * 1e3,
              of.simulated() * 1e3, of.serial_percent(), of.serial_percent_of_simulated(), of.waiting_percent(),
              of.shared, of.is_small() ? "small" : "whole");
  std::fputs(details.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace sheaf::bench
