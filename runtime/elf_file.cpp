#include <sheaf/runtime/elf_file.hpp>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime {

void fail_object(const std::string& expected, const std::string& found) {
  fail(code::bad_object, "loading of a kernel object", expected, found);
}

elf_file::elf_file(const void* bytes, std::size_t size)
    : bytes_(static_cast<const unsigned char*>(bytes)), size_(size) {
  read_sections();
  read_symbols();
}

void elf_file::read_sections() {
  Elf64_Ehdr header;
  if (size_ < sizeof header) fail_object("an ELF file", std::to_string(size_) + " bytes");
  std::memcpy(&header, bytes_, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) fail_object("an ELF file", "another magic number");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL)
    fail_object("a relocatable 64-bit little-endian file", "another kind");
  if (header.e_machine != EM_X86_64)
    fail(code::unsupported, "loading of a kernel object", "machine x86-64 (62)", std::to_string(header.e_machine));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 || header.e_shnum >= SHN_LORESERVE)
    fail_object("a table of section headers");
  const std::size_t bytes = std::size_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_shoff > size_ || bytes > size_ - header.e_shoff) fail_object("section headers within the file");
  sections_.resize(header.e_shnum);
  std::memcpy(sections_.data(), bytes_ + header.e_shoff, bytes);
  section_names_ = header.e_shstrndx;
}

void elf_file::read_symbols() {
  const Elf64_Shdr* table = nullptr;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (table) fail_object("one symbol table", "several");
    table = &section;
  }
  if (!table) return;
  const std::size_t symbols = count<Elf64_Sym>(*table);
  if (table->sh_link >= sections_.size() || sections_[table->sh_link].sh_type != SHT_STRTAB)
    fail_object("a symbol table with a string table");
  const Elf64_Shdr& names = sections_[table->sh_link];
  names_ = reinterpret_cast<const char*>(contents(names));
  names_size_ = names.sh_size;
  if (names_size_ == 0 || names_[names_size_ - 1] != '\0') fail_object("a string table that ends with a zero");
  symbols_.resize(symbols);
  if (symbols) std::memcpy(symbols_.data(), contents(*table), symbols * sizeof(Elf64_Sym));
}

const unsigned char* elf_file::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > size_ || section.sh_size > size_ - section.sh_offset)
    fail_object("section contents within the file");
  return bytes_ + section.sh_offset;
}

const char* elf_file::name_of(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= names_size_) fail_object("symbol names within the string table");
  return names_ + symbol.st_name;
}

const char* elf_file::name_of(const Elf64_Shdr& section) const {
  if (section_names_ == SHN_UNDEF || section_names_ >= sections_.size()) return "";
  const Elf64_Shdr& table = sections_[section_names_];
  const auto* const names = reinterpret_cast<const char*>(contents(table));
  if (section.sh_name >= table.sh_size || names[table.sh_size - 1] != '\0')
    fail_object("section names within their string table");
  return names + section.sh_name;
}

}  // namespace sheaf::inline v0_1::runtime
