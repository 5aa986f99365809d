#include <sheaf/runtime/object_loader.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sheaf/runtime/elf_file.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/symbols.hpp>

namespace sheaf::inline v0_1::runtime {
namespace {

enum class value : std::uint8_t { symbol, callable, slot, table };  // callable: through a stub where it lies outside
enum class minus : std::uint8_t { nothing, place, table };
enum class field : std::uint8_t { none, unsigned32, signed32, bits64 };

// What is written: value + addend - minus, into a field. A new relocation is a row; a new machine is a table.
// System V ABI, AMD64 supplement, table 4.9. S is symbol, L callable, G + GOT slot, GOT table, P place.
struct relocation_row {
  std::uint32_t type;
  value of;
  minus less;
  field into;
};

constexpr relocation_row x86_64_rows[] = {
    {R_X86_64_NONE, value::symbol, minus::nothing, field::none},
    {R_X86_64_64, value::symbol, minus::nothing, field::bits64},
    {R_X86_64_PC32, value::symbol, minus::place, field::signed32},  // may read data, so no stub stands in
    {R_X86_64_PLT32, value::callable, minus::place, field::signed32},
    {R_X86_64_32, value::symbol, minus::nothing, field::unsigned32},
    {R_X86_64_32S, value::symbol, minus::nothing, field::signed32},
    {R_X86_64_PC64, value::symbol, minus::place, field::bits64},
    {R_X86_64_GOTPCREL, value::slot, minus::place, field::signed32},
    {R_X86_64_GOTPCRELX, value::slot, minus::place, field::signed32},
    {R_X86_64_REX_GOTPCRELX, value::slot, minus::place, field::signed32},
    {R_X86_64_GOTPCREL64, value::slot, minus::place, field::bits64},
    {R_X86_64_GOTPC32, value::table, minus::place, field::signed32},
    {R_X86_64_GOTPC64, value::table, minus::place, field::bits64},
    {R_X86_64_GOTOFF64, value::symbol, minus::table, field::bits64},
    {R_X86_64_GOT64, value::slot, minus::table, field::bits64},
    {R_X86_64_PLTOFF64, value::callable, minus::table, field::bits64},
};

const relocation_row& row_of(std::uint32_t type) {
  for (const relocation_row& row : x86_64_rows)
    if (row.type == type) return row;
  fail(code::unsupported, "loading of a kernel object", "a known relocation", "type " + std::to_string(type));
}

constexpr std::size_t bytes_of(field into) { return into == field::none ? 0 : into == field::bits64 ? 8 : 4; }

// jmp *slot(%rip), padded: a call reaches 2 GB, and a library may lie farther away.
constexpr std::size_t stub_bytes = 8;
void write_stub(unsigned char* stub, const unsigned char* slot) {
  const auto distance = static_cast<std::int32_t>(slot - (stub + 6));
  const unsigned char jump[2] = {0xff, 0x25};
  const unsigned char filler[2] = {0xcc, 0xcc};
  std::memcpy(stub, jump, 2);
  std::memcpy(stub + 2, &distance, 4);
  std::memcpy(stub + 6, filler, 2);
}

constexpr std::size_t largest_image = std::size_t{256} << 20;  // every distance within it fits in 32 bits
constexpr std::size_t outside = ~std::size_t{0};               // offset of a section that is not loaded

enum group : int { code_group, constant_group, data_group, group_count };
constexpr int protection[group_count] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};

std::size_t rounded(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

bool is_loaded(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) && section.sh_type != SHT_NOTE && section.sh_size > 0;
}

group group_of(const Elf64_Shdr& section) {
  if (section.sh_flags & (SHF_TLS | SHF_COMPRESSED)) fail_object("no thread-local and no compressed sections");
  if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY || section.sh_type == SHT_PREINIT_ARRAY)
    fail_object("no constructors and no destructors");
  const bool executable = section.sh_flags & SHF_EXECINSTR;
  const bool writable = section.sh_flags & SHF_WRITE;
  if (executable && writable) fail_object("no section that is both writable and executable");
  return executable ? code_group : writable ? data_group : constant_group;
}

}  // namespace

// One load: lay out, map, copy, relocate, protect.
class object_image {
 public:
  object_image(const void* bytes, std::size_t size, symbol_resolver resolve, void* context)
      : file_(bytes, size), resolve_(resolve), context_(context) {}

  loaded_object load() {
    place_sections();
    check_relocations();
    place_slots();
    map();
    copy_sections();
    resolve_symbols();
    for (const Elf64_Shdr* table : relocation_tables_) relocate(*table);
    protect();
    publish();
    if (current_settings().symbols != symbol_use::off) tell();
    return std::move(result_);
  }

 private:
  elf_file file_;
  symbol_resolver resolve_;
  void* context_;
  loaded_object result_;
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t group_bytes_[group_count] = {};
  std::size_t group_offset_[group_count] = {};
  std::vector<std::size_t> section_offset_;  // within the group at first, within the image after map()
  std::vector<const Elf64_Shdr*> relocation_tables_;
  std::vector<std::size_t> slot_;       // by symbol: its number in the global offset table, or outside
  std::vector<std::uint64_t> address_;  // by symbol, filled where a relocation names it
  std::size_t slots_ = 0;
  std::size_t stubs_at_ = 0;  // within the code group
  std::size_t table_at_ = 0;  // within the constant group

  void place_sections() {
    section_offset_.assign(file_.sections().size(), outside);
    for (std::size_t i = 0; i < section_offset_.size(); ++i) {
      const Elf64_Shdr& section = file_.sections()[i];
      if (!is_loaded(section)) continue;
      if (section.sh_type != SHT_NOBITS) file_.contents(section);
      section_offset_[i] = reserve(group_of(section), section.sh_size, section.sh_addralign);
    }
  }

  std::size_t reserve(group in, std::size_t size, std::size_t alignment) {
    if (alignment == 0) alignment = 1;
    if ((alignment & (alignment - 1)) != 0 || alignment > page_) fail_object("an alignment of up to a page");
    const std::size_t at = rounded(group_bytes_[in], alignment);
    if (size > largest_image || at + size > largest_image) fail_object("at most 256 MB to load");
    group_bytes_[in] = at + size;
    return at;
  }

  // Finds the tables that matter, checks each entry's bounds, and counts the slots they need.
  void check_relocations() {
    slot_.assign(file_.symbols().size(), outside);
    for (const Elf64_Shdr& table : file_.sections()) {
      if (table.sh_type != SHT_RELA && table.sh_type != SHT_REL) continue;
      if (table.sh_info >= section_offset_.size() || section_offset_[table.sh_info] == outside) continue;
      if (table.sh_type == SHT_REL) fail_object("relocations with addends");
      relocation_tables_.push_back(&table);
      const std::uint64_t target_size = file_.sections()[table.sh_info].sh_size;
      const std::size_t entries = file_.count<Elf64_Rela>(table);
      for (std::size_t i = 0; i < entries; ++i) check(file_.record<Elf64_Rela>(table, i), target_size);
    }
  }

  void check(const Elf64_Rela& entry, std::uint64_t target_size) {
    const relocation_row& row = row_of(ELF64_R_TYPE(entry.r_info));
    const std::size_t symbol = ELF64_R_SYM(entry.r_info);
    const std::size_t width = bytes_of(row.into);
    if (entry.r_offset > target_size || width > target_size - entry.r_offset)
      fail_object("relocations within their section");
    if (symbol >= slot_.size() && symbol != 0) fail_object("relocations of symbols that exist");
    if (symbol == 0) {
      if (row.of == value::slot) fail_object("a symbol where an entry of the offset table is named");
      return;
    }
    const bool needs_slot = row.of == value::slot || (row.of == value::callable && is_external(symbol));
    if (needs_slot && slot_[symbol] == outside) slot_[symbol] = slots_++;
  }

  bool is_external(std::size_t symbol) const { return file_.symbols()[symbol].st_shndx == SHN_UNDEF; }

  void place_slots() {
    stubs_at_ = reserve(code_group, slots_ * stub_bytes, 16);
    table_at_ = reserve(constant_group, slots_ * sizeof(std::uint64_t), 16);
  }

  void map() {
    std::size_t total = 0;
    for (int in = 0; in < group_count; ++in) {
      group_offset_[in] = total;
      total += rounded(group_bytes_[in], page_);
    }
    if (total == 0) fail_object("something to load");
    void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      fail(code::out_of_memory, "loading of a kernel object", std::to_string(total) + " bytes", "no memory left");
    result_.base_ = base;
    result_.size_ = total;
  }

  unsigned char* at(std::size_t offset) const { return static_cast<unsigned char*>(result_.base_) + offset; }
  unsigned char* slot_at(std::size_t slot) const {
    return at(group_offset_[constant_group] + table_at_ + slot * sizeof(std::uint64_t));
  }
  unsigned char* stub_at(std::size_t slot) const {
    return at(group_offset_[code_group] + stubs_at_ + slot * stub_bytes);
  }

  void copy_sections() {
    for (std::size_t i = 0; i < section_offset_.size(); ++i) {
      if (section_offset_[i] == outside) continue;
      const Elf64_Shdr& section = file_.sections()[i];
      section_offset_[i] += group_offset_[group_of(section)];
      if (section.sh_type == SHT_NOBITS) continue;  // fresh pages are zero
      std::memcpy(at(section_offset_[i]), file_.contents(section), section.sh_size);
    }
  }

  void resolve_symbols() {
    address_.assign(file_.symbols().size(), 0);
    std::vector<bool> wanted(address_.size());
    for (const Elf64_Shdr* table : relocation_tables_)
      for (std::size_t i = 0, entries = file_.count<Elf64_Rela>(*table); i < entries; ++i)
        if (const std::size_t symbol = ELF64_R_SYM(file_.record<Elf64_Rela>(*table, i).r_info); symbol != 0)
          wanted[symbol] = true;
    for (std::size_t symbol = 1; symbol < address_.size(); ++symbol) {
      if (!wanted[symbol]) continue;
      address_[symbol] = address_of(file_.symbols()[symbol]);
      if (slot_[symbol] == outside) continue;
      std::memcpy(slot_at(slot_[symbol]), &address_[symbol], sizeof(std::uint64_t));
      write_stub(stub_at(slot_[symbol]), slot_at(slot_[symbol]));
    }
  }

  std::uint64_t address_of(const Elf64_Sym& symbol) const {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_TLS || type == STT_GNU_IFUNC) fail_object("no thread-local and no indirect symbols");
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF) return external(symbol);
    if (symbol.st_shndx >= section_offset_.size()) fail_object("symbols of sections that exist");
    const Elf64_Shdr& section = file_.sections()[symbol.st_shndx];
    if (symbol.st_value > section.sh_size) fail_object("symbols within their section");
    const std::size_t offset = section_offset_[symbol.st_shndx];
    if (offset != outside) return reinterpret_cast<std::uint64_t>(at(offset)) + symbol.st_value;
    // An empty section has no place: only its own start may be named, and never read through.
    if (section.sh_size == 0) return reinterpret_cast<std::uint64_t>(at(0));
    fail_object("relocations of symbols that are loaded");
  }

  std::uint64_t external(const Elf64_Sym& symbol) const {
    const char* name = file_.name_of(symbol);
    if (std::strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0) return reinterpret_cast<std::uint64_t>(slot_at(0));
    void* found = resolve_(context_, name);
    if (!found && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
      fail(code::symbol_not_found, "loading of a kernel object", "a definition of \"" + std::string(name) + "\"",
           "none");
    return reinterpret_cast<std::uint64_t>(found);
  }

  void relocate(const Elf64_Shdr& table) {
    unsigned char* target = at(section_offset_[table.sh_info]);
    const std::size_t entries = file_.count<Elf64_Rela>(table);
    for (std::size_t i = 0; i < entries; ++i) {
      const Elf64_Rela entry = file_.record<Elf64_Rela>(table, i);
      const relocation_row& row = row_of(ELF64_R_TYPE(entry.r_info));
      unsigned char* place = target + entry.r_offset;
      std::uint64_t number = value_of(row.of, ELF64_R_SYM(entry.r_info)) + static_cast<std::uint64_t>(entry.r_addend);
      if (row.less == minus::place) number -= reinterpret_cast<std::uint64_t>(place);
      if (row.less == minus::table) number -= reinterpret_cast<std::uint64_t>(slot_at(0));
      write(place, row.into, number);
    }
  }

  std::uint64_t value_of(value of, std::size_t symbol) const {
    if (of == value::table) return reinterpret_cast<std::uint64_t>(slot_at(0));
    if (symbol == 0) return 0;
    if (of == value::slot) return reinterpret_cast<std::uint64_t>(slot_at(slot_[symbol]));
    if (of == value::callable && is_external(symbol) && address_[symbol] != 0)
      return reinterpret_cast<std::uint64_t>(stub_at(slot_[symbol]));
    return address_[symbol];
  }

  static void write(unsigned char* place, field into, std::uint64_t number) {
    const auto low = static_cast<std::uint32_t>(number);
    const bool fits = into == field::signed32 ? number == static_cast<std::uint64_t>(std::int64_t{std::int32_t(low)})
                      : into == field::unsigned32 ? number == low
                                                  : true;
    if (!fits) fail_object("position-independent code", "an address that does not fit in 32 bits");
    std::memcpy(place, &number, bytes_of(into));  // little-endian: the low bytes come first
  }

  void protect() {
    for (int in = 0; in < group_count; ++in) {
      const std::size_t bytes = rounded(group_bytes_[in], page_);
      if (in == data_group || bytes == 0) continue;
      if (mprotect(at(group_offset_[in]), bytes, protection[in]) != 0)
        fail(code::out_of_memory, "loading of a kernel object", "pages that can be made executable",
             std::strerror(errno));
    }
    char* begin = reinterpret_cast<char*>(at(0));
    __builtin___clear_cache(begin, begin + group_bytes_[code_group]);
  }

  void tell() {
    std::vector<std::uint64_t> sections;
    for (const std::size_t offset : section_offset_)
      sections.push_back(offset == outside ? 0 : reinterpret_cast<std::uint64_t>(at(offset)));
    std::vector<code_symbol> functions;
    for (const Elf64_Sym& symbol : file_.symbols())
      if (const std::size_t in = symbol.st_shndx;
          ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && in < sections.size() && sections[in] != 0)
        functions.push_back({file_.name_of(symbol), sections[symbol.st_shndx] + symbol.st_value, symbol.st_size});
    result_.told_ = tell_symbols(file_.bytes(), file_.size(), sections, functions);
  }

  void publish() {
    for (const Elf64_Sym& symbol : file_.symbols()) {
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_shndx >= section_offset_.size() || section_offset_[symbol.st_shndx] == outside) continue;
      result_.symbols_.emplace_back(file_.name_of(symbol), reinterpret_cast<void*>(address_of(symbol)));
    }
  }
};

void* loaded_object::find(const char* name) const {
  for (const auto& [known, address] : symbols_)
    if (known == name) return address;
  return nullptr;
}

loaded_object::~loaded_object() {
  untell_symbols(told_);
  if (base_) munmap(base_, size_);
}

void* resolve_from_process(void*, const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  static void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  return math ? dlsym(math, name) : nullptr;
}

loaded_object load_object(const void* bytes, std::size_t size, symbol_resolver resolve, void* context) {
  return object_image(bytes, size, resolve, context).load();
}

}  // namespace sheaf::inline v0_1::runtime
