// The format is that of tools/perf/Documentation/jitdump-specification.txt of Linux, version 1.
#include <sheaf/runtime/jitdump.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime {

namespace {

struct file_header {
  std::uint32_t magic = 0x4A695444, version = 1, size = sizeof(file_header), machine = 0, unused = 0, process = 0;
  std::uint64_t time = 0, flags = 0;
};
struct code_record {
  std::uint32_t kind = 0, size = 0;  // code that was loaded
  std::uint64_t time = 0;
  std::uint32_t process = 0, thread = 0;
  std::uint64_t address = 0, code_address = 0, code_size = 0, index = 0;
};
struct lines_record {
  std::uint32_t kind = 2, size = 0;  // debug information, which stands before the code
  std::uint64_t time = 0, code_address = 0, count = 0;
};
struct line_entry {  // and the name of the file
  std::uint64_t address = 0;
  std::uint32_t line = 0, discriminator = 0;
};
static_assert(sizeof(file_header) == 40 && sizeof(code_record) == 56 && sizeof(lines_record) == 32 &&
              sizeof(line_entry) == 16);

std::uint64_t now() {  // of the clock of `perf record -k mono`
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

bool write_all(int file, const std::vector<unsigned char>& bytes) {
  return write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

template <class T>
void append(std::vector<unsigned char>& bytes, const T& what) {
  const auto* first = reinterpret_cast<const unsigned char*>(&what);
  bytes.insert(bytes.end(), first, first + sizeof what);
}

void append(std::vector<unsigned char>& bytes, const std::string& text) {
  bytes.insert(bytes.end(), text.c_str(), text.c_str() + text.size() + 1);
}

void append_lines(std::vector<unsigned char>& bytes, const code_symbol& of, const std::vector<code_line>& lines) {
  lines_record r;
  r.time = now();
  r.code_address = of.address;
  std::vector<unsigned char> entries;
  for (const code_line& l : lines) {
    if (l.line == 0 || l.address < of.address || l.address >= of.address + of.size) continue;
    append(entries, line_entry{.address = l.address, .line = l.line});
    append(entries, l.file);
    ++r.count;
  }
  if (r.count == 0) return;
  r.size = static_cast<std::uint32_t>(sizeof r + entries.size());
  append(bytes, r);
  bytes.insert(bytes.end(), entries.begin(), entries.end());
}

// Nobody's link is followed. perf record sees the page that is mapped, and by it the file.
int opened(pid_t process) {
  const std::string path = "/tmp/jit-" + std::to_string(process) + ".dump";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  file_header head;
#if defined(__aarch64__)
  head.machine = EM_AARCH64;
#else
  head.machine = EM_X86_64;
#endif
  head.process = static_cast<std::uint32_t>(process);
  head.time = now();
  std::vector<unsigned char> bytes;
  append(bytes, head);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (file < 0 || !write_all(file, bytes) ||
      mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
    debug_line(1, path + ": cannot be written; profilers see addresses");
  return file;
}

}  // namespace

void dump_code(const std::vector<code_symbol>& symbols, const std::vector<code_line>& lines) {
  static int file = -1;
  static pid_t of = 0;
  static std::uint64_t index = 0;
  if (const pid_t me = getpid(); of != me) of = me, file = opened(me);
  if (file < 0) return;
  std::vector<unsigned char> bytes;
  for (const code_symbol& s : symbols) {
    append_lines(bytes, s, lines);
    const std::string name = "sheaf::" + s.name;
    code_record r;
    r.size = static_cast<std::uint32_t>(sizeof r + name.size() + 1 + s.size);
    r.time = now();
    r.process = static_cast<std::uint32_t>(of);
    r.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    r.address = r.code_address = s.address;
    r.code_size = s.size;
    r.index = ++index;
    append(bytes, r);
    append(bytes, name);
    const auto* code = reinterpret_cast<const unsigned char*>(s.address);
    bytes.insert(bytes.end(), code, code + s.size);
  }
  if (!write_all(file, bytes)) debug_line(1, "the dump of code for perf: cannot be written");
}

}  // namespace sheaf::inline v0_1::runtime
