#include <sheaf/runtime/symbols.hpp>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <sheaf/runtime/jitdump.hpp>
#include <sheaf/runtime/settings.hpp>

// GDB's JIT interface: a breakpoint in the function, and a list, which it reads. Each library of a process has its own,
// unless what it is linked with brings one along.
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
__attribute__((weak, visibility("hidden"))) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
__attribute__((weak, visibility("hidden"), noinline)) void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
}

namespace sheaf::inline v0_1::runtime {

struct told_object {
  std::vector<unsigned char> copy;
  jit_code_entry entry{};
};

namespace {

std::mutex telling;

// perf reads the file when it reports. Nobody's link is followed.
void tell_perf(const std::vector<code_symbol>& symbols) {
  static int file = -1;
  static pid_t of = 0;
  if (const pid_t me = getpid(); of != me) {
    of = me;
    const std::string path = "/tmp/perf-" + std::to_string(me) + ".map";
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) debug_line(1, path + ": cannot be written; profilers see addresses");
  }
  if (file < 0) return;
  std::string lines;
  char line[64];
  for (const code_symbol& s : symbols) {
    std::snprintf(line, sizeof line, "%llx %llx sheaf::", static_cast<unsigned long long>(s.address),
                  static_cast<unsigned long long>(s.size));
    lines += line + s.name + "\n";
  }
  if (write(file, lines.data(), lines.size()) < 0) debug_line(1, "the map for perf: cannot be written");
}

void place_sections(std::vector<unsigned char>& object, const std::vector<std::uint64_t>& addresses) {
  Elf64_Ehdr head;
  std::memcpy(&head, object.data(), sizeof head);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    unsigned char* const at = object.data() + head.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr);
    std::memcpy(at, &addresses[i], sizeof addresses[i]);
  }
}

enum : std::uint32_t { do_nothing, do_register, do_unregister };

void notify(std::uint32_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action = action;
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action = do_nothing;
}

}  // namespace

told_object* tell_symbols(const void* bytes, std::size_t size, const std::vector<std::uint64_t>& section_addresses,
                          const std::vector<code_symbol>& symbols) {
  const symbol_use wanted = current_settings().symbols;
  const std::lock_guard guard(telling);
  if (wanted == symbol_use::perf || wanted == symbol_use::on) tell_perf(symbols);
  if (wanted == symbol_use::jitdump) dump_code(symbols, lines_of(bytes, size, section_addresses));
  if (wanted != symbol_use::gdb && wanted != symbol_use::on) return nullptr;
  const auto* first = static_cast<const unsigned char*>(bytes);
  auto* const told = new told_object;
  told->copy.assign(first, first + size);
  place_sections(told->copy, section_addresses);
  told->entry.file = reinterpret_cast<const char*>(told->copy.data());
  told->entry.size = size;
  told->entry.next = __jit_debug_descriptor.first;
  if (told->entry.next != nullptr) told->entry.next->before = &told->entry;
  __jit_debug_descriptor.first = &told->entry;
  notify(do_register, &told->entry);
  return told;
}

void untell_symbols(told_object* told) noexcept {
  if (told == nullptr) return;
  const std::lock_guard guard(telling);
  jit_code_entry& e = told->entry;
  (e.before != nullptr ? e.before->next : __jit_debug_descriptor.first) = e.next;
  if (e.next != nullptr) e.next->before = e.before;
  notify(do_unregister, &e);
  delete told;
}

}  // namespace sheaf::inline v0_1::runtime
