// Random programs, parsed, run and compared. Input: --count N --seed S --seconds T --jobs J; --report FILE; --known
// FILE; --shrink SECONDS (of each failure); --program SEED prints one, with --cpp in C++ with its arguments. Output: a
// line now and then, failing programs as text and as C++, a report; exit status 1 where something failed. See
// README.md.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "batch.hpp"
#include "cpp.hpp"
#include "shrink.hpp"

namespace {
using namespace sheaf::fuzz;

struct settings {
  batch_limits limits;
  double shrink = 20;
  int shrunk = 12;  // failures that are shrunk, of each kind two
  const char* report = nullptr;
  const char* known = nullptr;
  const char* program = nullptr;
  const char* surface = nullptr;
  int files = 6;
  bool cpp = false, check = false;
};

settings read(int count, char** words) {
  settings s;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    const char* next = k + 1 < count ? words[k + 1] : "";
    const auto is = [&](const char* name) { return word == name && (++k, true); };
    if (is("--count")) s.limits.count = std::strtoull(next, nullptr, 10);
    else if (is("--seed")) s.limits.first = std::strtoull(next, nullptr, 10);
    else if (is("--seconds")) s.limits.seconds = std::atof(next);
    else if (is("--jobs")) s.limits.jobs = std::atoi(next);
    else if (is("--report")) s.report = next;
    else if (is("--known")) s.known = next;
    else if (is("--shrink")) s.shrink = std::atof(next);
    else if (is("--program")) s.program = next;
    else if (is("--surface")) s.surface = next;
    else if (is("--files")) s.files = std::atoi(next);
    else if (word == "--cpp") s.cpp = true;
    else if (word == "--check") s.check = true;
    else std::fprintf(stderr, "unknown: %s\n", word.c_str()), std::exit(2);
  }
  return s;
}

// What a shrunk program must fail with: a value may differ anywhere, a sentence must stay.
bool same_kind(const std::string& a, const std::string& b) { return a == b; }

std::string argument_text(const std::string& name, const tensor_data& t) {
  std::string line = "# " + name + " = ";
  char number[40];
  const auto count = static_cast<std::size_t>(t.count());
  for (std::size_t k = 0; k < count && k < 40; ++k) {
    if (sheaf::is_floating(t.type)) std::snprintf(number, sizeof number, "%.17g ", t.reals[k]);
    else std::snprintf(number, sizeof number, "%lld ", static_cast<long long>(t.integers[k]));
    line += number;
  }
  line += count > 40 ? "... [" : "[";
  for (const std::int64_t e : t.extents) line += " " + std::to_string(e);
  line += " ], strides [";
  for (const std::int64_t e : place(t.placed, t.extents).strides) line += " " + std::to_string(e);
  return line + " ]\n";
}

struct shown_failure {
  std::string words, text, cpp;
};
shown_failure shown(const finding& f, const settings& s) {
  reproducer r{generate(f.seed), {}};
  r.a = draw_arguments(r.p, f.seed);
  if (s.shrink > 0)
    r = shrink(
        r, [&](const reproducer& smaller) { return same_kind(isolated(smaller.p, smaller.a, 20).kind, f.kind); },
        s.shrink);
  const verdict v = isolated(r.p, r.a, 60);
  shown_failure made{
      "Seed " + std::to_string(f.seed) + ": " + f.kind + "\n\n" + (v.words.empty() ? f.words : v.words) + "\n",
      text_of(r.p), cpp_of(r.p, r.a)};
  for (const symbol& one : needed(r.p).symbols)
    if (one.from == origin::input) made.text += argument_text(one.name, r.a.inputs[one.name]);
  return made;
}

// How often each construct was written, of all programs.
void count_constructs(const term& e, std::map<std::string, int>& seen) {
  if (e->kind == form::load && !e->access.empty()) ++seen["access " + e->access];
  if (e->kind == form::reduce || e->kind == form::fold) ++seen[(e->kind == form::fold ? "fold " : "") + e->name];
  if (e->kind == form::call) ++seen[e->name];
  for (const std::string& p : e->policies) ++seen["policy " + p];
  for (const domain& d : e->domains) {
    if (d.step != nullptr) ++seen["domain with a step"];
    else if (d.high != nullptr && d.high->kind == form::load) ++seen["domain of data"];
    else if (d.high != nullptr) ++seen["domain"];
    if (d.condition != nullptr) ++seen["domain with a condition"];
  }
  each_part(*e, [&](const term& part) { count_constructs(part, seen); });
}
std::map<std::string, int> constructs(const batch_limits& limits) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = limits.first; seed < limits.first + limits.count; ++seed) {
    const program p = generate(seed);
    ++seen[std::string("flavour ") + (p.kind == flavour::exact    ? "exact"
                                      : p.kind == flavour::smooth ? "smooth"
                                      : p.kind == flavour::mixed  ? "mixed"
                                                                  : "wild")];
    for (const symbol& s : p.symbols) {
      if (s.from == origin::input) ++seen[std::string("input ") + sheaf::row(s.type).name];
      if (s.body != nullptr) count_constructs(s.body, seen);
      if (s.from != origin::derivative) continue;
      const symbol* y = p.find(s.y);
      ++seen[s.what];
      if (y != nullptr && (y->from == origin::derivative || y->name.rfind("slope", 0) == 0))
        ++seen["second derivative"];
    }
    for (const symbol& s : p.symbols)
      if (!s.rules.empty()) ++seen["custom gradient"];
  }
  return seen;
}

void write_report(const settings& s, const totals& t, const std::vector<shown_failure>& failures,
                  const std::map<std::string, int>& kinds) {
  std::ofstream out(s.report);
  out << "# Random programs\n\nSeeds " << s.limits.first << " to " << s.limits.first + s.limits.count - 1 << ": "
      << t.programs << " programs, of which the language refused " << t.refused << " and " << t.errors
      << " were errors as they should be; the printed form of " << t.rewritten
      << " was simplified further where it was parsed; " << t.compared << " elements, " << t.known
      << " of them with a finite bound, " << t.exact << " bit for bit; " << t.slopes
      << " derivatives against differences.\n\n";
  out << "| failure | programs |\n|---|---|\n";
  for (const auto& [kind, n] : kinds) out << "| " << kind << " | " << n << " |\n";
  out << "\n";
  for (const shown_failure& f : failures)
    out << "## " << f.words << "\n```text\n" << f.text << "```\n\n```cpp\n" << f.cpp << "```\n\n";
  out << "\n## What was written\n\n| construct | times |\n|---|---|\n";
  for (const auto& [name, n] : constructs(s.limits)) {
    std::string cell;
    for (const char c : name) cell += c == '|' ? "&#124;" : std::string(1, c);
    out << "| `" << cell << "` | " << n << " |\n";
  }
}

// Translation units of programs through the surface, for surface/main.cpp: --surface FOLDER --files N --count K.
int write_surface(const settings& s) {
  std::vector<std::string> files;
  for (int k = 0; k < s.files; ++k) {
    files.push_back(
        "// Written by the generator of tests/fuzz.\n#include \"surface.hpp\"\n\n#include <limits>\n\nnamespace {\n\n");
  }
  std::uint64_t written = 0;
  for (std::uint64_t seed = s.limits.first; written < s.limits.count; ++seed) {
    const program p = generate(seed, surface_limits());
    if (parsed(text_of(p)).failed()) continue;
    files[written++ % files.size()] += cpp_surface(p);
  }
  for (int k = 0; k < s.files; ++k) {
    const std::string path = std::string(s.surface) + "/surface_" + std::to_string(k) + ".cpp";
    const std::string text = files[static_cast<std::size_t>(k)] + "}  // namespace\n";
    std::stringstream before;
    before << std::ifstream(path).rdbuf();
    if (before.str() != text) std::ofstream(path) << text;  // what is the same is not compiled again
  }
  return 0;
}

// Failures that wait for a mend: lines "SEED KIND" of a file.
std::map<std::uint64_t, std::string> read_known(const settings& s) {
  std::map<std::uint64_t, std::string> list;
  if (s.known == nullptr) return list;
  std::ifstream in(s.known);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    if (!(words >> seed)) continue;
    std::getline(words >> std::ws, list[seed]);
  }
  return list;
}

int print_one(const settings& s) {
  const std::uint64_t seed = std::strtoull(s.program, nullptr, 10);
  const program p = generate(seed);
  const arguments a = draw_arguments(p, seed);
  std::puts((s.cpp ? cpp_of(p, a) : text_of(p)).c_str());
  if (!s.check) return 0;
  const verdict v = isolated(p, a, 120);
  std::printf("%s %s\n", v.kind.c_str(), v.words.c_str());
  return v.ok() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  setenv("SHEAF_CACHE", "off", 0);
  const settings s = read(count, words);
  if (s.surface != nullptr) return write_surface(s);
  if (s.program != nullptr) return print_one(s);
  std::vector<finding> findings;
  std::map<std::string, int> kinds;
  std::map<std::uint64_t, std::string> waiting = read_known(s);
  std::erase_if(waiting,
                [&](const auto& k) { return k.first < s.limits.first || k.first >= s.limits.first + s.limits.count; });
  const std::size_t listed = waiting.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const totals t = run_batch(
      s.limits,
      [&](const finding& f) {
        const auto known = waiting.find(f.seed);
        if (known != waiting.end() && known->second == f.kind) return void(waiting.erase(known));
        if (++kinds[f.kind] <= 2) findings.push_back(f);
        std::printf("seed %llu: %s: %.300s\n", static_cast<unsigned long long>(f.seed), f.kind.c_str(),
                    f.words.c_str());
        std::fflush(stdout);
      },
      [&](const totals& now) {
        std::printf("%lld programs, %.0f s, %lld elements\n", static_cast<long long>(now.programs), seconds(),
                    static_cast<long long>(now.compared));
        std::fflush(stdout);
      });
  std::printf(
      "seeds %llu to %llu: %lld programs in %.0f s (%lld refused, %lld errors, %lld simplified further when parsed), "
      "%lld elements (%lld bounded, %lld exact), %lld slopes; %zu kinds of failures\n",
      static_cast<unsigned long long>(s.limits.first),
      static_cast<unsigned long long>(s.limits.first + s.limits.count - 1), static_cast<long long>(t.programs),
      seconds(), static_cast<long long>(t.refused), static_cast<long long>(t.errors),
      static_cast<long long>(t.rewritten), static_cast<long long>(t.compared), static_cast<long long>(t.known),
      static_cast<long long>(t.exact), static_cast<long long>(t.slopes), kinds.size());
  if (listed > 0)
    std::printf("%zu known failures; %zu of those listed did not fail so\n", listed - waiting.size(), waiting.size());
  for (const auto& [seed, kind] : waiting)
    std::printf("seed %llu no longer fails with: %s\n", static_cast<unsigned long long>(seed), kind.c_str());
  std::vector<shown_failure> failures;
  for (std::size_t k = 0; k < findings.size() && static_cast<int>(k) < s.shrunk; ++k) {
    failures.push_back(shown(findings[k], s));
    std::printf("\n%s\n%s", failures.back().words.c_str(), failures.back().text.c_str());
    if (s.cpp) std::puts(failures.back().cpp.c_str());
  }
  if (s.report != nullptr) write_report(s, t, failures, kinds);
  return kinds.empty() ? 0 : 1;
}
