// sheaf-aot: kernels ahead of time. docs/ahead-of-time.md says what it reads and writes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include <sheaf/aot/library.hpp>
#include <sheaf/runtime/deep_stack.hpp>

namespace {

using namespace sheaf;

constexpr const char* usage = R"(usage: sheaf-aot --name NAME --out FOLDER [options] FILE...
Writes NAME.h, NAME.hpp, NAME.c, NAME.json and NAME-TARGET.o (.obj for Windows) for the programs of the files, and for
GPUs NAME-gpu.c.
  --targets LIST   of x86-64, x86-64-v2, x86-64-v3, x86-64-v4; or aarch64      (x86-64-v2,x86-64-v3,x86-64-v4)
                   and of GPUs: sm_80, sm_90, ...
  --system NAME    linux, windows, mingw or macos: what the objects are linked by (linux)
  --every-class    a plan of its own for each class of extents; else for those of examples, and few for all others
  --debug          debug information: lines of the kernel IR, whose text is NAME-TARGET.ir
  --report         what was planned, a line for each program
)";

struct request {
  std::string name, out, targets = "x86-64-v2,x86-64-v3,x86-64-v4", system = "linux";
  aot::held plans = aot::held::general;
  bool report = false, debug = false;
  std::vector<std::string> files;
};

request read_request(int count, char** words) {
  request r;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    const auto next = [&]() -> std::string {
      if (k + 1 == count) throw std::runtime_error(word + ": expected what follows it");
      return words[++k];
    };
    if (word == "--name") r.name = next();
    else if (word == "--out") r.out = next();
    else if (word == "--targets") r.targets = next();
    else if (word == "--system") r.system = next();
    else if (word == "--every-class") r.plans = aot::held::every_class;
    else if (word == "--report") r.report = true;
    else if (word == "--debug") r.debug = true;
    else if (word.starts_with("-")) throw std::runtime_error(word + ": unknown\n" + usage);
    else r.files.push_back(word);
  }
  if (r.name.empty() || r.out.empty() || r.files.empty()) throw std::runtime_error(usage);
  return r;
}

const target::build_target* target_named(const std::string& name) {
  for (const target::build_target& t : target::build_targets)
    if (name == t.name) return &t;
  throw std::runtime_error("target " + name + ": unknown\n" + usage);
}

// Least first, each once.
void read_targets(const std::string& list, aot::library& l) {
  std::vector<bool> wanted(std::size(target::build_targets));
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    if (name.starts_with("sm_"))
      l.gpu_targets.push_back(aot::gpu_target_named(name));
    else
      wanted[static_cast<std::size_t>(target_named(name) - target::build_targets)] = true;
    at = end + 1;
  }
  std::ranges::sort(l.gpu_targets, {}, &aot::gpu_target::compute);
  const auto again = std::ranges::unique(l.gpu_targets, {}, &aot::gpu_target::compute);
  l.gpu_targets.erase(again.begin(), again.end());
  std::vector<const target::build_target*>& targets = l.targets;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    if (wanted[k]) targets.push_back(&target::build_targets[k]);
  for (const target::build_target* t : targets)
    if (std::strcmp(t->architecture, targets.front()->architecture) != 0)
      throw std::runtime_error("targets: of one architecture, found " + std::string(targets.front()->name) + " and " +
                               t->name);
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

void report(const aot::planned_program& p) {
  std::size_t comparisons = 0;
  for (const aot::planned_class& c : p.classes) comparisons += c.decided->size();
  std::printf("%s%s: %zu classes of %zu kernels, %zu comparisons\n", p.of->name.c_str(), p.gpu ? ", GPUs" : "",
              p.classes.size(), p.codes.size(), comparisons);
}

void plan(const aot::program& p, const request& r, aot::library& l) {
  if (!l.targets.empty()) {
    l.programs.push_back(aot::plan_classes(p, *target::named(l.targets.front()->family), r.plans));
    if (r.report) report(l.programs.back());
  }
  if (l.gpu_targets.empty()) return;
  l.gpu_programs.push_back(aot::plan_classes(p, aot::planned_for::gpus(), r.plans));
  if (r.report) report(l.gpu_programs.back());
  l.gpu_codes.push_back(aot::emit_codes(l.gpu_programs.back(), l.name, l.gpu_targets, l.images));
}

void build(const request& r) {
  aot::library l{.name = r.name, .targets = {}, .programs = {}};
  read_targets(r.targets, l);
  l.system = nullptr;
  for (const target::build_system& s : target::build_systems)
    if (r.system == s.name) l.system = &s;
  if (l.system == nullptr) throw std::runtime_error("system " + r.system + ": unknown\n" + usage);
  std::vector<aot::program> programs;
  for (const std::string& file : r.files)
    for (aot::program& p : aot::read_programs(file)) programs.push_back(std::move(p));
  if (programs.empty()) throw std::runtime_error("no program in these files");
  for (const aot::program& p : programs) plan(p, r, l);
  aot::compile_images(l.images, l.gpu_targets);
  const std::string base = r.out + "/" + r.name;
  write(base + ".h", aot::header_of(l));
  write(base + ".hpp", aot::views_of(l));
  write(base + ".c", aot::source_of(l));
  write(base + ".json", aot::manifest_of(l));
  if (!l.gpu_targets.empty()) write(base + "-gpu.c", aot::images_of(l));
  for (const target::build_target* t : l.targets) {
    std::string listing;
    write(base + "-" + t->name + l.system->suffix, aot::object_of(l, *t, r.debug ? &listing : nullptr));
    if (r.debug) write(r.out + "/" + aot::listing_name(l, *t), listing);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const request r = read_request(count, words);
    runtime::on_deep_stack([&] { build(r); });
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << "sheaf-aot: " << problem.what() << "\n";
    return 1;
  }
}
