// The survey: random programs beside their bound and beside straightforward loops. scripts/bench --survey runs it.
//   bench_survey COUNT SEED [--threads N] [--most ELEMENTS] [--json FILE] [--worst N] [--scratch DIR]
//   bench_survey --file PROGRAMS [...]: those of a file, as the survey prints them (docs/performance.md)
//   --cores N [--details yes]: as so many cores would run them, and no loops beside
//   --keep FOLDER leaves inputs and results there, for other libraries
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "measured.hpp"

using namespace sheaf;
using namespace sheaf::bench;

namespace {

struct settings {
  int count = 20, threads = 0, worst = 20, batch = 8;
  std::uint64_t seed = 1;
  drawing_limits limits;
  std::string json, scratch = ".", file, keep;
  core_settings cores;
};

settings settings_of(int argc, char** argv) {
  settings s;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    const char* value = k + 1 < argc ? argv[k + 1] : "";
    if (name.rfind("--", 0) == 0) ++k;
    if (name == "--threads")
      s.threads = std::atoi(value);
    else if (name == "--most")
      s.limits.most = std::atof(value);
    else if (name == "--work")
      s.limits.work = std::atof(value);
    else if (name == "--cores")
      s.cores.workers = std::atoi(value);
    else if (name == "--details")
      s.cores.details = true;
    else if (name == "--json")
      s.json = value;
    else if (name == "--worst")
      s.worst = std::atoi(value);
    else if (name == "--file")
      s.file = value;
    else if (name == "--keep")
      s.keep = value;
    else if (name == "--scratch")
      s.scratch = value;
    else if (name.rfind("--", 0) == 0) {
      std::fprintf(stderr, "no option %s; options: --threads --cores --details --most --work --json --worst --file "
                   "--keep --scratch\n",
                   name.c_str());
      std::exit(1);
    } else if (k == 1)
      s.count = std::atoi(argv[k]);
    else
      s.seed = std::strtoull(argv[k], nullptr, 10);
  }
  return s;
}

void* compiled(const settings& s, const std::string& name, const std::string& text) {
  const std::string source = s.scratch + "/" + name + ".cpp", library = s.scratch + "/" + name + ".so";
  std::ofstream(source) << loops_prelude << text;
  const std::string command = "g++ -std=c++20 -O3 -march=native -ffast-math -fopenmp -shared -fPIC -w -o " + library +
                              " " + source + " 2>" + library + ".log";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "%s does not compile: see %s.log\n", source.c_str(), library.c_str());
    return nullptr;
  }
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  return handle;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

void write(std::FILE* to, const measured& m) {
  std::fprintf(
      to, "{\"seed\": %llu, \"family\": %s, \"state\": %s, \"ms\": %.6g, \"loops_ms\": %.6g, \"against_loops\": %.4g, ",
      static_cast<unsigned long long>(m.seed), quoted(m.program.family).c_str(), quoted(m.state).c_str(), m.own * 1e3,
      m.loops * 1e3, m.against);
  std::fprintf(to,
               "\"bound_ms\": %.6g, \"bytes_ms\": %.6g, \"bound_is\": \"%s\", \"of_bound\": %.4g, \"error\": %.3g, "
               "\"text\": %s}\n",
               m.bound.all() * 1e3, m.bound.bytes * 1e3, m.bound.which(), m.own > 0 ? m.bound.all() / m.own : 0,
               m.error, quoted(m.program.text).c_str());
  std::fflush(to);
}

void print_distribution(const char* what, std::vector<double> list) {
  if (list.empty()) return;
  std::sort(list.begin(), list.end());
  std::printf("%-34s", what);
  for (const double p : {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99})
    std::printf("  %2.0f%%: %.3g", p * 100,
                list[static_cast<std::size_t>(p * static_cast<double>(list.size() - 1) + 0.5)]);
  std::printf("   (%zu)\n", list.size());
}

// Or was it too large, or without loops? A program that is refused or ends in an error is a failure.
bool has_run(const measured& m) {
  for (const char* failure : {"not accepted", "error", "ended by"})
    if (m.state.starts_with(failure)) return false;
  return true;
}

void print_summary(std::vector<measured>& all, const settings& s) {
  std::vector<double> against, bound;
  std::map<std::string, std::vector<double>> families;
  std::map<std::string, int> states;
  for (const measured& m : all) {
    ++states[m.state];
    if (m.own <= 0) continue;
    if (m.against > 0) against.push_back(m.against), families[m.program.family].push_back(m.against);
    if (m.bound.all() > bounds::start_up) bound.push_back(m.bound.all() / m.own);
  }
  for (const auto& [state, n] : states) std::printf("%5d  %s\n", n, state.c_str());
  print_distribution("time over the loops' time", against);
  print_distribution("bound over time", bound);
  const auto slower = std::count_if(against.begin(), against.end(), [](double r) { return r > 1.1; });
  std::printf("above 1.1 times the loops: %ld of %zu\n", static_cast<long>(slower), against.size());
  for (auto& [name, list] : families) print_distribution(("  " + name).c_str(), list);
  std::sort(all.begin(), all.end(), [](const measured& a, const measured& b) { return a.against > b.against; });
  for (int k = 0; k < std::min<int>(s.worst, static_cast<int>(all.size())); ++k) {
    const measured& m = all[static_cast<std::size_t>(k)];
    if (!has_run(m)) continue;
    std::printf("\n---- seed %llu: %s, %.2f times the loops' %.3f ms; bound %.3f ms (%s)\n",
                static_cast<unsigned long long>(m.seed), m.program.family.c_str(), m.against, m.loops * 1e3,
                m.bound.all() * 1e3, m.bound.which());
    for (const input_data& in : m.program.inputs) std::printf("%s\n", described(in).c_str());
    std::printf("%s%s\n", m.program.text.c_str(), m.plan.c_str());
  }
}

int simulate_all(const settings& s, const std::vector<drawn_program>& named) {
  int failed = 0;
  for (int k = 0; k < s.count; ++k) {
    const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(k);
    if (isatty(2) != 0) std::fprintf(stderr, "\r\033[K%d of %d programs", k + 1, s.count);
    measured m;
    m.seed = seed;
    m.program = named.empty() ? draw_program(seed, s.limits) : named[std::size_t(k)];
    simulate_cores(m, s.cores, s.scratch);
    if (isatty(2) != 0) std::fprintf(stderr, "\r\033[K");
    if (m.state == "measured") continue;
    failed = 1;
    std::printf("note %s of seed %llu: %s\n", m.program.family.c_str(), static_cast<unsigned long long>(seed),
                m.state.c_str());
    std::fflush(stdout);  // or a child has it, too
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  settings s = settings_of(argc, argv);
  std::vector<drawn_program> named;
  try {
    for (const std::string& folder : {s.scratch, s.keep})
      if (!folder.empty()) std::filesystem::create_directories(folder);
    if (!s.file.empty()) named = programs_of(s.file);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  if (!s.file.empty()) s.count = s.worst = static_cast<int>(named.size());
  if (s.threads > 0) {
    setenv("SHEAF_THREADS", std::to_string(s.threads).c_str(), 1);
    setenv("OMP_NUM_THREADS", std::to_string(s.threads).c_str(), 1);
  }
  setenv("SHEAF_CACHE", "off", 1);
  if (s.cores.workers > 0) return simulate_all(s, named);
  use_threads(s.threads);
  void* peaks = compiled(s, "peaks", machine::text());
  if (peaks == nullptr) return 1;
  const machine here = measured_machine(peaks, s.scratch);
  std::printf("%s\n", here.described().c_str());
  std::FILE* json = s.json.empty() ? nullptr : std::fopen(s.json.c_str(), "w");
  std::vector<measured> all;
  for (int first = 0; first < s.count; first += s.batch) {
    std::vector<measured> batch;
    std::string text;
    for (int k = first; k < std::min(s.count, first + s.batch); ++k) {
      const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(k);
      batch.push_back(with_loops(seed, named.empty() ? draw_program(seed, s.limits) : named[std::size_t(k)]));
      text += batch.back().printed;
    }
    void* library = compiled(s, "batch", text);
    for (measured& m : batch) {
      measure(m, library, here, s.scratch, s.keep);
      if (json != nullptr) write(json, m);
      all.push_back(m);
    }
    if (library != nullptr) dlclose(library);
    std::fprintf(stderr, "\r%zu of %d programs", all.size(), s.count);
  }
  std::fprintf(stderr, "\n");
  print_summary(all, s);
  if (json != nullptr) std::fclose(json);
  int failed = 0;
  for (const measured& m : all)
    if (!has_run(m)) failed = 1, std::printf("%s: %s\n", m.program.family.c_str(), m.state.c_str());
  return failed;
}
