#include "batch.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace sheaf::test {

namespace {

constexpr std::size_t modules_a_file = 24;
constexpr std::size_t compilers = 2;

struct folder {
  std::filesystem::path path;
  folder() {
    std::string name = std::filesystem::temp_directory_path() / "sheaf-cuda-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for emulated kernels");
    path = name;
  }
  ~folder() {
    std::error_code ignored;
    if (std::getenv("SHEAF_KEEP_EMULATED") == nullptr) std::filesystem::remove_all(path, ignored);
  }
};

// What texts begin with alike is compiled once a file: by its text, the name of its namespace.
using common_beginnings = std::map<std::string_view, std::string>;

std::string host_text(const std::string& name, const cuda::source& source, common_beginnings& common) {
  std::ostringstream out;
  for (std::size_t n = 0; n < source.texts.size(); ++n) {
    const std::string_view text = source.texts[n], begin = text.substr(0, source.common_bytes);
    const auto [known, is_new] = common.try_emplace(begin, "common_" + std::to_string(common.size()));
    if (is_new) out << "namespace " << known->second << " {\n" << begin << "}\n";
    out << "namespace " << name << "_" << n << " {\nusing namespace " << known->second << ";\n"
        << text.substr(source.common_bytes);
    for (const cuda::launch& l : source.launches)
      if (l.of == nullptr && l.text == static_cast<int>(n))
        out << "extern \"C\" void " << l.name << "_thread(const i64* w) { " << l.name << "("
            << (source.by_pointer ? "arguments{w}" : "*(const arguments*)w") << "); }\n";
    out << "}\n";
  }
  return out.str();
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void* compiled(const std::filesystem::path& base, const std::string& text) {
  const std::string source = base.string() + ".cpp", library = base.string() + ".so", log = base.string() + ".log";
  std::ofstream(source) << "#include \"" SHEAF_TEST_DIR "/emulate.hpp\"\n" << text;
  const std::string command = std::string(SHEAF_GXX) + " -std=c++17 " + SHEAF_EMULATED_FLAGS +
                              " -w -ffp-contract=off -fno-strict-aliasing -fPIC -shared " + source + " -o " + library +
                              " >" + log + " 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(contents(log).substr(0, 4000));
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  return opened;
}

}  // namespace

emulated_module& batch::add(ir::module m, const cuda::target& to, cuda::call_extents extents) {
  m.name = "m" + std::to_string(all_.size());
  all_.push_back({std::move(m), {}, {}});
  emulated_module& made = all_.back();
  made.source = cuda::emit(made.code, to, extents);
  for (const cuda::launch& l : made.source.launches)
    if (l.of != nullptr &&
        std::none_of(shared_.begin(), shared_.end(), [&](const auto& s) { return s.source == l.of; }))
      shared_.push_back({l.of, nullptr});
  return made;
}

void* batch::library_of(const cuda::launch& l) const {
  return std::find_if(shared_.begin(), shared_.end(), [&](const auto& s) { return s.source == l.of; })->library;
}

std::vector<std::shared_ptr<const cuda::source>> batch::shared() const {
  std::vector<std::shared_ptr<const cuda::source>> list;
  for (const shared_text& each : shared_) list.push_back(each.source);
  return list;
}

void batch::build() {
  static const folder here;
  const std::size_t files = (all_.size() - built_ + modules_a_file - 1) / modules_a_file;
  const auto file = [&](std::size_t n) {
    const std::size_t from = built_ + n * modules_a_file, to = std::min(all_.size(), from + modules_a_file);
    std::string text;
    common_beginnings common;
    for (std::size_t i = from; i < to; ++i) text += host_text(all_[i].code.name, all_[i].source, common);
    void* const library = compiled(here.path / ("file" + std::to_string(from)), text);
    for (std::size_t i = from; i < to; ++i)
      for (const cuda::launch& l : all_[i].source.launches)
        all_[i].kernels.push_back(reinterpret_cast<emulated_kernel>(
            dlsym(l.of == nullptr ? library : library_of(l), (l.name + "_thread").c_str())));
  };
  for (std::size_t n = 0; n < shared_.size(); ++n)
    if (const std::string name = "shared" + std::to_string(n); shared_[n].library == nullptr) {
      common_beginnings common;
      shared_[n].library = compiled(here.path / name, host_text(name, *shared_[n].source, common));
    }
  std::vector<std::future<void>> workers;
  for (std::size_t w = 0; w < compilers; ++w)
    workers.push_back(std::async(std::launch::async, [&, w] {
      for (std::size_t n = w; n < files; n += compilers) file(n);
    }));
  for (auto& w : workers) w.wait();
  for (auto& w : workers) w.get();
  built_ = all_.size();
}

}  // namespace sheaf::test
