// The line number program of DWARF 4, section 6.2.
#include <sheaf/runtime/line_table.hpp>

#include <cstring>
#include <utility>

#include <sheaf/runtime/elf_file.hpp>

namespace sheaf::inline v0_1::runtime {

namespace {

enum standard : std::uint8_t {
  extended, copy, advance_pc, advance_line, set_file, set_column, negate_statement, set_basic_block, const_add_pc,
  fixed_advance_pc
};
enum extension : std::uint8_t { end_sequence = 1, set_address = 2 };

class byte_reader {
 public:
  byte_reader(const unsigned char* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

  bool at_end() const { return at_ == end_; }
  template <class T>
  T number() {
    T n;
    std::memcpy(&n, taken(sizeof n), sizeof n);
    return n;
  }
  std::uint64_t unsigned_leb() { return leb().first; }
  std::int64_t signed_leb() {
    const auto [n, bits] = leb();
    const bool negative = bits < 64 && (n >> (bits - 1) & 1) != 0;
    return static_cast<std::int64_t>(negative ? n | ~std::uint64_t{0} << bits : n);
  }
  std::string text() {
    std::string s;
    while (const char c = number<char>()) s += c;
    return s;
  }
  // What comes next, as much of it.
  byte_reader part(std::size_t size) { return {taken(size), size}; }

 private:
  const unsigned char* taken(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) fail_object("a table of lines that ends in its section");
    return std::exchange(at_, at_ + size);
  }
  std::pair<std::uint64_t, unsigned> leb() {
    std::uint64_t n = 0;
    unsigned bits = 0;
    for (bool more = true; more; bits += 7) {
      const auto byte = number<std::uint8_t>();
      if (bits < 64) n |= std::uint64_t{byte & 0x7fu} << bits;
      more = (byte & 0x80) != 0;
    }
    return {n, bits};
  }

  const unsigned char* at_;
  const unsigned char* end_;
};

// The program of one unit.
class unit {
 public:
  unit(byte_reader all, std::vector<code_line>& lines) : in_(all), lines_(lines) {}

  void read() {
    const auto version = in_.number<std::uint16_t>();
    if (version < 2 || version > 4) return;
    const auto header_size = in_.number<std::uint32_t>();
    byte_reader head = in_.part(header_size);
    least_ = head.number<std::uint8_t>();
    if (version == 4) head.number<std::uint8_t>();  // operations of an instruction: 1
    head.number<std::uint8_t>();                    // whether lines are statements
    line_base_ = head.number<std::int8_t>();
    line_range_ = head.number<std::uint8_t>();
    opcode_base_ = head.number<std::uint8_t>();
    if (line_range_ == 0) fail_object("a table of lines with a range");
    for (int k = 1; k < opcode_base_; ++k) operands_.push_back(head.number<std::uint8_t>());
    read_names(head);
    while (!in_.at_end()) step(in_.number<std::uint8_t>());
  }

 private:
  void read_names(byte_reader& head) {
    std::vector<std::string> folders{""};
    for (std::string s = head.text(); !s.empty(); s = head.text()) folders.push_back(s + "/");
    for (std::string s = head.text(); !s.empty(); s = head.text()) {
      const std::uint64_t folder = head.unsigned_leb();
      head.unsigned_leb(), head.unsigned_leb();  // time and length
      files_.push_back((folder < folders.size() ? folders[folder] : "") + s);
    }
  }
  void put() {
    const bool named = file_ >= 1 && file_ <= files_.size();
    lines_.push_back({address_, static_cast<std::uint32_t>(line_), named ? files_[file_ - 1] : ""});
  }
  void advance(int opcode) { address_ += static_cast<std::uint64_t>((opcode - opcode_base_) / line_range_) * least_; }
  void start_again() { address_ = 0, line_ = 1, file_ = 1; }

  void step(std::uint8_t opcode) {
    if (opcode >= opcode_base_) {
      advance(opcode);
      line_ += line_base_ + (opcode - opcode_base_) % line_range_;
      return put();
    }
    switch (opcode) {
      case extended: {
        byte_reader more = in_.part(in_.unsigned_leb());
        const auto which = more.number<std::uint8_t>();
        if (which == end_sequence) start_again();
        if (which == set_address) address_ = more.number<std::uint64_t>();
        return;
      }
      case copy:
        return put();
      case advance_pc:
        address_ += in_.unsigned_leb() * least_;
        return;
      case advance_line:
        line_ += in_.signed_leb();
        return;
      case set_file:
        file_ = in_.unsigned_leb();
        return;
      case const_add_pc:
        return advance(255);
      case fixed_advance_pc:
        address_ += in_.number<std::uint16_t>();
        return;
      default:  // what says nothing of lines
        for (int k = 0; k < operands_[opcode - 1u]; ++k) in_.unsigned_leb();
    }
  }

  byte_reader in_;
  std::vector<code_line>& lines_;
  std::uint8_t least_ = 1, line_range_ = 1;
  std::int8_t line_base_ = 0;
  int opcode_base_ = 1;
  std::vector<std::uint8_t> operands_;
  std::vector<std::string> files_;
  std::uint64_t address_ = 0, file_ = 1;
  std::int64_t line_ = 1;
};

// The section, with addresses of code in their places.
std::vector<unsigned char> relocated(const elf_file& file, std::size_t section,
                                     const std::vector<std::uint64_t>& section_addresses) {
  const Elf64_Shdr& of = file.sections()[section];
  std::vector<unsigned char> bytes(file.contents(of), file.contents(of) + of.sh_size);
  for (const Elf64_Shdr& table : file.sections()) {
    if (table.sh_type != SHT_RELA || table.sh_info != section) continue;
    for (std::size_t i = 0, entries = file.count<Elf64_Rela>(table); i < entries; ++i) {
      const Elf64_Rela entry = file.record<Elf64_Rela>(table, i);
      const std::size_t symbol = ELF64_R_SYM(entry.r_info);
      if (ELF64_R_TYPE(entry.r_info) != R_X86_64_64 || symbol >= file.symbols().size()) continue;
      const Elf64_Sym& target = file.symbols()[symbol];
      if (target.st_shndx >= section_addresses.size() || bytes.size() < sizeof(std::uint64_t) ||
          entry.r_offset > bytes.size() - sizeof(std::uint64_t))
        continue;
      const std::uint64_t address = section_addresses[target.st_shndx] + target.st_value +
                                    static_cast<std::uint64_t>(entry.r_addend);
      std::memcpy(bytes.data() + entry.r_offset, &address, sizeof address);
    }
  }
  return bytes;
}

}  // namespace

std::vector<code_line> lines_of(const void* object, std::size_t size,
                                const std::vector<std::uint64_t>& section_addresses) {
  const elf_file file(object, size);
  std::vector<code_line> lines;
  for (std::size_t s = 0; s < file.sections().size(); ++s) {
    if (std::strcmp(file.name_of(file.sections()[s]), ".debug_line") != 0) continue;
    const std::vector<unsigned char> bytes = relocated(file, s, section_addresses);
    byte_reader in(bytes.data(), bytes.size());
    while (!in.at_end()) {
      const auto length = in.number<std::uint32_t>();
      unit(in.part(length), lines).read();
    }
  }
  return lines;
}

}  // namespace sheaf::inline v0_1::runtime
