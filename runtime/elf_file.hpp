// Reads the tables of a relocatable ELF64 file, every offset checked. Private to the object loader.
#pragma once
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace sheaf::inline v0_1::runtime {

[[noreturn]] void fail_object(const std::string& expected, const std::string& found = "");

class elf_file {
 public:
  // Throws code::bad_object, or code::unsupported for another machine.
  elf_file(const void* bytes, std::size_t size);

  const unsigned char* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  const char* name_of(const Elf64_Sym& symbol) const;
  const char* name_of(const Elf64_Shdr& section) const;  // "": it has none

  // The bytes of a section that has some in the file.
  const unsigned char* contents(const Elf64_Shdr& section) const;

  // Copies record `at` of a table whose records may lie at any alignment.
  template <class Record>
  Record record(const Elf64_Shdr& table, std::size_t at) const {
    Record result;
    std::memcpy(&result, contents(table) + at * sizeof(Record), sizeof(Record));
    return result;
  }

  // Checks that a table is made of whole records and lies within the file.
  template <class Record>
  std::size_t count(const Elf64_Shdr& table) const {
    if (table.sh_entsize != sizeof(Record) || table.sh_size % sizeof(Record) != 0)
      fail_object("tables of records of " + std::to_string(sizeof(Record)) + " bytes");
    contents(table);
    return table.sh_size / sizeof(Record);
  }

 private:
  const unsigned char* bytes_;
  std::size_t size_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  const char* names_ = "";
  std::size_t names_size_ = 1, section_names_ = 0;

  void read_sections();
  void read_symbols();
};

}  // namespace sheaf::inline v0_1::runtime
