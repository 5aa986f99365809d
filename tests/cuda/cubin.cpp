#include "cubin.hpp"

#include <elf.h>

#include <cstring>
#include <map>
#include <stdexcept>

namespace sheaf::test {

namespace {

template <class T>
T at(const std::vector<unsigned char>& bytes, std::uint64_t offset) {
  if (offset + sizeof(T) > bytes.size()) throw std::runtime_error("a cubin that ends early");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Entries of .nv.info: a format, an attribute, and two bytes that are a value or the size of what follows.
constexpr unsigned char sized = 4, frame_size = 0x11, register_count = 0x2f;

}  // namespace

std::vector<kernel_usage> usage_of(const std::vector<unsigned char>& cubin) {
  const auto head = at<Elf64_Ehdr>(cubin, 0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) throw std::runtime_error("a cubin that is no ELF file");
  const auto section = [&](std::size_t n) { return at<Elf64_Shdr>(cubin, head.e_shoff + n * head.e_shentsize); };
  const auto text = [&](std::uint64_t offset) { return std::string(reinterpret_cast<const char*>(&cubin.at(offset))); };
  const Elf64_Shdr names = section(head.e_shstrndx);
  std::map<std::string, kernel_usage> found;
  std::map<std::string, std::int64_t> shared;
  Elf64_Shdr symbols{}, strings{}, info{};
  for (std::size_t n = 0; n < head.e_shnum; ++n) {
    const Elf64_Shdr s = section(n);
    const std::string name = text(names.sh_offset + s.sh_name);
    if (s.sh_type == SHT_SYMTAB) symbols = s, strings = section(s.sh_link);
    if (name == ".nv.info") info = s;
    if (name.rfind(".text.", 0) == 0) {
      found[name.substr(6)].code = static_cast<std::int64_t>(s.sh_size);
      found[name.substr(6)].code_at = s.sh_offset;
    }
    if (name.rfind(".nv.shared.", 0) == 0) shared[name.substr(11)] = static_cast<std::int64_t>(s.sh_size);
  }
  for (std::uint64_t p = info.sh_offset; p < info.sh_offset + info.sh_size;) {
    const auto attribute = at<unsigned char>(cubin, p + 1);
    const bool more = at<unsigned char>(cubin, p) == sized;
    if (more && (attribute == frame_size || attribute == register_count)) {
      const auto symbol = at<Elf64_Sym>(cubin, symbols.sh_offset + at<std::uint32_t>(cubin, p + 4) * sizeof(Elf64_Sym));
      const auto known = found.find(text(strings.sh_offset + symbol.st_name));
      const auto value = at<std::uint32_t>(cubin, p + 8);
      if (known != found.end() && attribute == frame_size) known->second.frame = value;
      if (known != found.end() && attribute == register_count) known->second.registers = static_cast<int>(value);
    }
    p += 4 + (more ? at<std::uint16_t>(cubin, p + 2) : 0u);
  }
  std::vector<kernel_usage> out;
  for (auto& [name, usage] : found) {
    usage.kernel = name;
    usage.shared = shared[name];
    out.push_back(usage);
  }
  return out;
}

}  // namespace sheaf::test
