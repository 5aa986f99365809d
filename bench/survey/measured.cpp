// See measured.hpp.
#include "measured.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include <sheaf/build_tree.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/error.hpp>
#include <support/cores.hpp>
#include <support/measure.hpp>

namespace sheaf::bench {

namespace {

constexpr int capacity = 65536;
constexpr std::size_t slack = 1 << 20;  // around each tensor: loops read a little beyond what they use

graph parsed(const std::string& text) { return parse(text.data(), static_cast<int>(text.size())); }

struct block {  // of zeros, with slack
  explicit block(std::size_t bytes) : all(bytes + 2 * slack) {}
  void* data() { return all.data() + slack; }
  std::vector<char> all;
};
std::size_t bytes_of(element type, const std::vector<std::int64_t>& extents) {
  std::size_t n = static_cast<std::size_t>(row(type).bytes);
  for (const std::int64_t e : extents) n *= static_cast<std::size_t>(e);
  return n;
}

struct reported {  // what `counts` of the loops' prelude is
  double arithmetic, divisions, functions[64], updates, lines;
  std::vector<std::vector<bool>>* seen;
};

// One program and its arguments; runs in a child.
class experiment {
 public:
  experiment(measured& m, void* library, std::FILE* report, const std::string& keep)
      : m_(m), report_(report), keep_(keep), g_(parsed(m.program.text)) {
    const std::string name = std::to_string(m.seed);
    if (library != nullptr && !m.printed.empty()) {
      fast_ = reinterpret_cast<fast>(dlsym(library, ("fast_" + name).c_str()));
      counted_ = reinterpret_cast<counted>(dlsym(library, ("counted_" + name).c_str()));
    }
  }
  void run();
  void run_on_cores(const core_settings& how);

 private:
  using fast = void (*)(void**, const long*);
  using counted = void (*)(void**, const long*, void*);

  bool make_program();
  void make_inputs();
  void make_outputs();
  void call() { jit::run(jit::prepare(program_, own_.data()), own_.data()); }
  void call_loops() { fast_(theirs_.data(), flat_.data()); }
  void count();
  void compare();
  void write_arrays() const;
  double time_own();
  void time_pairs(int pairs);

  measured& m_;
  std::FILE* report_;
  const std::string keep_;
  graph g_;
  fast fast_ = nullptr;
  counted counted_ = nullptr;
  jit::program* program_ = nullptr;
  std::vector<std::unique_ptr<block>> memory_;
  std::vector<sheaf_tensor> own_;
  std::vector<void*> theirs_;
  std::vector<std::vector<std::int64_t>> extents_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<long> flat_;
};

std::vector<std::int64_t> dense(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(1, extents[d]);
  return strides;
}

void experiment::make_inputs() {
  for (int i = 0; i < g_.inputs.size(); ++i) {
    const text_range n = g_.names[g_.inputs[i].name];
    const std::string name(g_.text.data() + n.first, static_cast<std::size_t>(n.size));
    for (const input_data& in : m_.program.inputs) {
      if (in.name != name) continue;
      memory_.push_back(std::make_unique<block>(bytes_of(in.type, in.extents)));
      fill_input(in, m_.seed, memory_.back()->data());
      extents_.push_back(in.extents);
    }
  }
  for (const auto& e : extents_) {
    strides_.push_back(dense(e));
    for (const std::int64_t n : e) flat_.push_back(static_cast<long>(n));
  }
}

void experiment::make_outputs() {
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    own_.push_back({memory_[i]->data(), extents_[i].data(), strides_[i].data()});
    theirs_.push_back(memory_[i]->data());
  }
  own_.resize(own_.size() + static_cast<std::size_t>(g_.outputs.size()), sheaf_tensor{});
  const jit::kernel* k = jit::prepare(program_, own_.data());
  const std::size_t inputs = extents_.size();
  for (int o = 0; o < g_.outputs.size(); ++o) {
    const std::int64_t* e = jit::output_extents(k, o);
    extents_.emplace_back(e, e + tensor_rank(g_, g_.outputs[o]));
    strides_.push_back(dense(extents_.back()));
  }
  for (int o = 0; o < g_.outputs.size(); ++o) {
    const std::size_t at = inputs + static_cast<std::size_t>(o);
    const std::size_t bytes = bytes_of(g_.type(g_.outputs[o]), extents_[at]);
    memory_.push_back(std::make_unique<block>(bytes));
    own_[at] = {memory_.back()->data(), extents_[at].data(), strides_[at].data()};
    memory_.push_back(std::make_unique<block>(bytes));
    theirs_.push_back(memory_.back()->data());
  }
  for (std::size_t i = 0; i < inputs; ++i) own_[i] = {memory_[i]->data(), extents_[i].data(), strides_[i].data()};
  std::fprintf(report_, "plan\n%s\nend\n", jit::plan_text(jit::prepare(program_, own_.data())));
}

// The worst difference, of the mean size of the loops' results.
void experiment::compare() {
  double worst = 0;
  for (int o = 0; o < g_.outputs.size(); ++o) {
    const std::size_t at = own_.size() - static_cast<std::size_t>(g_.outputs.size()) + static_cast<std::size_t>(o);
    const element type = g_.type(g_.outputs[o]);
    const std::size_t n = bytes_of(type, extents_[at]) / static_cast<std::size_t>(row(type).bytes);
    double sum = 0, off = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = real_at(type, own_[at].data, i), b = real_at(type, theirs_[at], i);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      sum += b * b;
      off = std::max(off, std::abs(a - b) / (1e-3 + std::abs(b)));
      worst = std::max(
          worst, off > 1e-2 ? std::abs(a - b) / (std::sqrt(sum / static_cast<double>(i + 1)) + std::abs(b) + 1e-6) : 0);
    }
  }
  std::fprintf(report_, "error %.9g\n", worst);
}

void experiment::count() {
  std::vector<std::vector<bool>> seen;
  for (std::size_t i = 0; i < static_cast<std::size_t>(g_.inputs.size()); ++i)
    seen.emplace_back(bytes_of(g_.inputs[static_cast<int>(i)].type, extents_[i]) / 64 + 1, false);
  reported n{};
  n.seen = &seen;
  counted_(theirs_.data(), flat_.data(), &n);
  std::fprintf(report_, "counts %.9g %.9g %.9g %.9g", n.arithmetic, n.divisions, n.updates, n.lines);
  for (const double f : n.functions) std::fprintf(report_, " %.9g", f);
  std::fprintf(report_, "\n");
}

// For other libraries, in a folder of the program's name: raw elements; `arrays` says what they are, `outputs` which.
void experiment::write_arrays() const {
  const std::filesystem::path folder = std::filesystem::path(keep_) / m_.program.family;
  std::filesystem::create_directories(folder);
  std::ofstream arrays(folder / "arrays"), outputs(folder / "outputs");
  const auto inputs = static_cast<std::size_t>(g_.inputs.size());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const bool is_input = i < inputs;
    const int at = static_cast<int>(is_input ? i : i - inputs);
    const element type = is_input ? g_.inputs[at].type : g_.type(g_.outputs[at]);
    const text_range n = is_input ? g_.names[g_.inputs[at].name] : text_range{};
    const std::string name = is_input ? std::string(g_.text.data() + n.first, static_cast<std::size_t>(n.size))
                                      : "result" + std::to_string(at);
    arrays << name << ' ' << row(type).name;
    for (const std::int64_t e : extents_[i]) arrays << ' ' << e;
    arrays << '\n';
    if (!is_input) outputs << name << '\n';
    std::ofstream(folder / name, std::ios::binary)
        .write(static_cast<const char*>(own_[i].data), static_cast<std::streamsize>(bytes_of(type, extents_[i])));
  }
}

// Once, as pairs with the loops follow; where the times of other libraries do, often.
double experiment::time_own() {
  std::vector<double> list;
  const double begin = now();
  const std::size_t least = keep_.empty() ? 1 : 3, most = keep_.empty() ? 1 : 15;
  while (list.size() < least || (list.size() < most && now() - begin < 0.5)) {
    const double start = own_seconds();
    call();
    list.push_back(own_seconds() - start);
  }
  return median(list);
}

// Short calls are timed in a row. OpenMP's threads keep a core for milliseconds after their last loop: they are given
// time to sleep, and one call that is not timed wakes those that it needs.
template <class Call>
double seconds_of(Call&& call, double about) {
  constexpr double row = 2e-3;
  if (!is_one_thread()) std::this_thread::sleep_for(std::chrono::milliseconds(8));
  const int calls = about < row ? std::min(100, static_cast<int>(row / about) + 1) : 1;
  if (about < 5 * row) call();
  const double start = own_seconds();
  for (int k = 0; k < calls; ++k) call();
  return (own_seconds() - start) / calls;
}

void experiment::time_pairs(int pairs) {
  const auto ours = [&] { call(); };
  const auto loops = [&] { call_loops(); };
  std::vector<double> own{seconds_of(ours, 1)}, theirs{seconds_of(loops, 1)}, ratios;  // the first says about how long
  const double begin = now();
  for (int k = 0; k < pairs && (k < 3 || now() - begin < 0.4); ++k) {
    own.push_back(seconds_of(ours, own.back()));
    theirs.push_back(seconds_of(loops, theirs.back()));
    ratios.push_back(own.back() / theirs.back());
  }
  own.erase(own.begin());
  theirs.erase(theirs.begin());
  std::fprintf(report_, "own %.9g\nloops %.9g\nagainst %.9g\n", median(own), median(theirs), median(ratios));
}

bool experiment::make_program() {
  jit::note_headers(SHEAF_HEADERS);
  const auto words = std::make_unique<packed_words<capacity>>(pack<capacity>(g_));
  if (words->failed) return std::fprintf(report_, "state too large\n"), false;
  program_ = jit::make_program(words->words, jit::backend::chosen, {});
  make_inputs();
  make_outputs();
  std::fflush(report_);
  return true;
}

void experiment::run_on_cores(const core_settings& how) {
  if (!make_program()) return;
  std::string details;
  const many_cores of = on_many_cores([&] { call(); }, how.workers, 22, 6, how.details ? &details : nullptr);
  std::string name = m_.program.family == "file" ? std::to_string(m_.seed) : m_.program.family;
  std::replace(name.begin(), name.end(), ' ', '_');
  report_cores(name.c_str(), "program", of, details);
  std::fprintf(report_, "own %.9g\nstate measured\n", of.one);
}

void experiment::run() {
  if (!make_program()) return;
  call();
  if (!keep_.empty()) write_arrays();
  std::fprintf(report_, "own %.9g\nstate loops take too long\n", time_own());
  std::fflush(report_);
  if (fast_ == nullptr) return void(std::fprintf(report_, "state no loops\n"));
  call_loops();
  compare();
  time_pairs(15);
  std::fprintf(report_, "state measured\n");
  std::fflush(report_);
  count();
}

}  // namespace

measured with_loops(std::uint64_t seed, drawn_program program) {
  measured m;
  m.seed = seed;
  m.program = std::move(program);
  const graph g = parsed(m.program.text);
  if (g.failed())
    m.state = "not accepted: " + std::string(g.error.data(), static_cast<std::size_t>(g.error.size()));
  else
    m.printed = loop_printer(g).function(std::to_string(seed));
  return m;
}

namespace {
void read_report(measured& m, const std::string& file) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "own") words >> m.own;
    if (key == "loops") words >> m.loops;
    if (key == "against") words >> m.against;
    if (key == "error") words >> m.error;
    if (key == "state") m.state = line.substr(6);
    if (key == "counts") {
      words >> m.counts.arithmetic >> m.counts.divisions >> m.counts.updates >> m.counts.lines;
      for (double& f : m.counts.functions) words >> f;
    }
    if (key == "plan")
      while (std::getline(in, line) && line != "end") m.plan += line + "\n";
  }
}
// Runs work in a child for so many seconds at most; its exit.
template <class Work>
int in_child(unsigned seconds, Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
// Work in a child, with a report that it writes.
template <class Work>
void report_of(measured& m, const std::string& scratch, unsigned seconds, Work work) {
  if (m.state != "not measured") return;
  const std::string file = scratch + "/report";
  std::remove(file.c_str());
  const int status = in_child(seconds, [&] {
    std::FILE* report = std::fopen(file.c_str(), "w");
    try {
      work(report);
    } catch (const error& e) {
      std::fprintf(report, "state error: %s\n", e.what());
    }
    std::fclose(report);
  });
  read_report(m, file);
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
    m.state = "ended by signal " + std::to_string(WTERMSIG(status));
}
}  // namespace

void measure(measured& m, void* library, const machine& here, const std::string& scratch, const std::string& keep) {
  report_of(m, scratch, 20, [&](std::FILE* report) { experiment(m, library, report, keep).run(); });
  double tables = 4096;
  for (const input_data& in : m.program.inputs)
    if (in.kind == data_kind::places || in.kind == data_kind::sorted_places)
      tables = std::max(tables, 4.0 * static_cast<double>(in.below));
  m.bound = here.of(m.counts, tables);
}

void simulate_cores(measured& m, const core_settings& how, const std::string& scratch) {
  report_of(m, scratch, 60, [&](std::FILE* report) {
    std::optional<kernel_names> names;
    if (how.details) names.emplace();
    experiment(m, nullptr, report, "").run_on_cores(how);
  });
}

machine measured_machine(void* library, const std::string& scratch) {
  const std::string file = scratch + "/machine";
  in_child(60, [&] {
    const machine m(library);
    std::FILE* to = std::fopen(file.c_str(), "wb");
    m.write(to);
    std::fclose(to);
  });
  return machine::read(file);
}

}  // namespace sheaf::bench
