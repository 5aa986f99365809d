// Names of loaded code, as profilers and debuggers find them.
#include <sheaf/runtime/symbols.hpp>

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include <sheaf/runtime/host.hpp>
#include <sheaf/runtime/object_loader.hpp>

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
  const std::string command = "cd '" + folder + "' && gcc -O1 -fno-ipa-cp -fPIC -c code.c -o code.o";
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

int child(const std::vector<unsigned char>& object, const char* setting) {
  sheaf::set_setting("SHEAF_SYMBOLS", setting);
  const bool perf = std::strcmp(setting, "gdb") != 0 && std::strcmp(setting, "off") != 0;
  const bool gdb = std::strcmp(setting, "perf") != 0 && std::strcmp(setting, "off") != 0;
  {
    const loaded_object loaded = load_object(object.data(), object.size());
    const auto outer = reinterpret_cast<std::uint64_t>(loaded.find("outer_kernel"));
    if ((mapped_address("sheaf::outer_kernel") == outer) != perf) return 1;
    if ((mapped_address("sheaf::inner_kernel") != 0) != perf) return 2;
    const jit_code_entry* told = __jit_debug_descriptor.first;
    if ((told != nullptr) != gdb) return 3;
    if (told != nullptr && (address_of_code(*told) > outer || outer - address_of_code(*told) > 64)) return 4;
  }
  unlink(("/tmp/perf-" + std::to_string(getpid()) + ".map").c_str());
  return __jit_debug_descriptor.first == nullptr ? 0 : 5;
}

TEST(symbols, are_told_to_whom_the_setting_names) {
  const temporary_folder folder;
  const auto object = object_of(folder.path());
  ASSERT_FALSE(object.empty());
  for (const char* setting : {"off", "perf", "gdb", "on"}) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child(object, setting));
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0) << setting;
  }
}

}  // namespace
