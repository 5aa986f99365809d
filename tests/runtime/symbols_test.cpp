// Names of loaded code, as profilers and debuggers find them.
#include <sheaf/runtime/symbols.hpp>

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include <sheaf/runtime/object_loader.hpp>
#include <sheaf/runtime/settings.hpp>

#include "temporary_folder.hpp"

extern "C" {
struct jit_code_entry {
  jit_code_entry *next, *before;
  const char* file;
  std::uint64_t size;
};
struct jit_descriptor {
  std::uint32_t version, action;
  jit_code_entry *relevant, *first;
};
extern jit_descriptor __jit_debug_descriptor __attribute__((visibility("hidden")));
}

namespace {

using namespace sheaf::runtime;

std::vector<unsigned char> object_of(const std::string& folder) {
  std::ofstream(folder + "/code.c") << "static __attribute__((noinline)) int inner_kernel(int x) { return x * x; }\n"
                                       "int outer_kernel(int x) { return inner_kernel(x) + 1; }\n";
  const std::string command = "cd '" + folder + "' && gcc -O1 -g -gdwarf-4 -fno-ipa-cp -fPIC -c code.c -o code.o";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream in(folder + "/code.o", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The address that a map says a function has.
std::uint64_t mapped_address(const std::string& name) {
  std::ifstream in("/tmp/perf-" + std::to_string(getpid()) + ".map");
  std::string address, size, known;
  while (in >> address >> size >> known)
    if (known == name) return std::stoull(address, nullptr, 16);
  return 0;
}

// What the dump for perf has of a function: its code, and lines of code.c by their distance from its start.
struct dumped_function {
  std::string code;
  std::map<std::uint64_t, std::uint32_t> lines;
};
dumped_function dumped(const std::string& name) {
  std::ifstream in("/tmp/jit-" + std::to_string(getpid()) + ".dump", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto number = [&]<class T>(std::size_t at, T n) {
    if (at + sizeof n <= bytes.size()) std::memcpy(&n, bytes.data() + at, sizeof n);
    return n;
  };
  const auto small = [&](std::size_t at) { return number(at, std::uint32_t{0}); };
  const auto large = [&](std::size_t at) { return number(at, std::uint64_t{0}); };
  if (bytes.empty()) return {};
  EXPECT_EQ(small(0), 0x4A695444u);
  EXPECT_EQ(small(20), static_cast<std::uint32_t>(getpid()));
  dumped_function made;
  std::uint64_t address = 0;
  for (std::size_t at = small(8); at < bytes.size() && small(at + 4) > 32; at += small(at + 4)) {
    EXPECT_TRUE(small(at) == 0 || small(at) == 2) << "code that was loaded, or its lines";
    if (small(at) == 2) {
      made = {};
      address = large(at + 16);
      std::size_t entry = at + 32;
      for (std::uint64_t k = 0; k < large(at + 24); ++k, entry += 16 + std::strlen(bytes.c_str() + entry + 16) + 1) {
        EXPECT_TRUE(std::string(bytes.c_str() + entry + 16).ends_with("code.c"));
        made.lines[large(entry) - address] = small(entry + 8);
      }
      EXPECT_EQ(entry, at + small(at + 4));
    } else if (bytes.c_str() + at + 56 == name) {
      EXPECT_EQ(large(at + 32), address) << "lines stand before their code";
      made.code = bytes.substr(at + 56 + name.size() + 1, large(at + 40));
      return made;
    }
  }
  return {};
}

// The loaded section of code in the copy that debuggers read.
std::uint64_t address_of_code(const jit_code_entry& e) {
  Elf64_Ehdr head;
  std::memcpy(&head, e.file, sizeof head);
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, e.file + head.e_shoff + static_cast<std::size_t>(i) * sizeof section, sizeof section);
    if ((section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_size > 0) return section.sh_addr;
  }
  return 0;
}

// Where the setting stands; in a process of its own, for it is read once.
TEST(symbols, are_told_as_the_setting_says) {
  const symbol_use setting = current_settings().symbols;
  const bool perf = setting == symbol_use::perf || setting == symbol_use::on;
  const bool gdb = setting == symbol_use::gdb || setting == symbol_use::on;
  const temporary_folder folder;
  const auto object = object_of(folder.path());
  ASSERT_FALSE(object.empty());
  {
    const loaded_object loaded = load_object(object.data(), object.size());
    const auto outer = reinterpret_cast<std::uint64_t>(loaded.find("outer_kernel"));
    EXPECT_EQ(mapped_address("sheaf::outer_kernel"), perf ? outer : 0);
    EXPECT_EQ(mapped_address("sheaf::inner_kernel") != 0, perf);
    const auto [code, lines] = dumped("sheaf::outer_kernel");
    EXPECT_EQ(code.empty(), setting != symbol_use::jitdump);
    EXPECT_EQ(std::memcmp(code.data(), loaded.find("outer_kernel"), code.size()), 0);
    EXPECT_EQ(lines.empty(), setting != symbol_use::jitdump);
    for (const auto& [at, line] : lines) EXPECT_EQ(line, 2u) << at;
    const jit_code_entry* told = __jit_debug_descriptor.first;
    ASSERT_EQ(told != nullptr, gdb);
    if (gdb) {
      EXPECT_LE(address_of_code(*told), outer);
      EXPECT_LT(outer - address_of_code(*told), 64u);
    }
  }
  EXPECT_EQ(__jit_debug_descriptor.first, nullptr);
  unlink(("/tmp/perf-" + std::to_string(getpid()) + ".map").c_str());
  unlink(("/tmp/jit-" + std::to_string(getpid()) + ".dump").c_str());
}

TEST(symbols, every_setting) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string setting : {"off", "perf", "jitdump", "gdb", "on"}) {
    const std::string call = "SHEAF_SYMBOLS=" + setting + " '" + self + "' --gtest_brief=1 --gtest_filter=";
    EXPECT_EQ(std::system((call + "symbols.are_told_as_the_setting_says >&2").c_str()), 0) << setting;
  }
}

}  // namespace
