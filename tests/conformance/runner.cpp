// Runs the programs of a file and writes what they return: tests/conformance/run.py writes the one and reads the other.
// A case: name, text, arguments (name, element type, rank, extents, bytes). A result: name, then the outputs in the
// same form, or the message of the error. Numbers are i64, texts have their length before them.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <sheaf/text.hpp>

namespace {

using namespace sheaf;

std::int64_t read_number(std::istream& in) {
  std::int64_t n = 0;
  in.read(reinterpret_cast<char*>(&n), sizeof n);
  return n;
}
std::string read_text(std::istream& in) {
  std::string s(static_cast<std::size_t>(read_number(in)), '\0');
  in.read(s.data(), static_cast<std::streamsize>(s.size()));
  return s;
}
void write_number(std::ostream& out, std::int64_t n) { out.write(reinterpret_cast<const char*>(&n), sizeof n); }
void write_text(std::ostream& out, const std::string& s) {
  write_number(out, static_cast<std::int64_t>(s.size()));
  out.write(s.data(), static_cast<std::streamsize>(s.size()));
}

struct argument {
  std::string name, type;
  std::vector<std::int64_t> extents;
  std::string bytes;
};

template <class T, int Rank>
named_argument viewed(argument& a) {
  std::int64_t strides[Rank > 0 ? Rank : 1] = {};
  std::int64_t extents[Rank > 0 ? Rank : 1] = {};
  std::copy(a.extents.begin(), a.extents.end(), extents);
  runtime::row_major(extents, strides, Rank);
  return named_argument(a.name, view<const T, Rank>(reinterpret_cast<const T*>(a.bytes.data()), extents, strides));
}
template <class T, int Rank = 0>
named_argument of_rank(argument& a) {
  if constexpr (Rank > 8)
    throw std::runtime_error("rank above 8");
  else
    return static_cast<int>(a.extents.size()) == Rank ? viewed<T, Rank>(a) : of_rank<T, Rank + 1>(a);
}

using maker = named_argument (*)(argument&);
const std::map<std::string, maker> makers = {
    {"bool", of_rank<bool>},          {"i8", of_rank<std::int8_t>},    {"u8", of_rank<std::uint8_t>},
    {"i16", of_rank<std::int16_t>},   {"u16", of_rank<std::uint16_t>}, {"i32", of_rank<std::int32_t>},
    {"u32", of_rank<std::uint32_t>},  {"i64", of_rank<std::int64_t>},  {"u64", of_rank<std::uint64_t>},
    {"f16", of_rank<float16>},        {"bf16", of_rank<bfloat16>},     {"f32", of_rank<float>},
    {"f64", of_rank<double>},
};

void run(std::istream& in, std::ostream& out) {
  write_text(out, read_text(in));
  const std::string text = read_text(in);
  std::vector<argument> arguments(static_cast<std::size_t>(read_number(in)));
  for (argument& a : arguments) {
    a.name = read_text(in);
    a.type = read_text(in);
    a.extents.resize(static_cast<std::size_t>(read_number(in)));
    for (std::int64_t& n : a.extents) n = read_number(in);
    a.bytes = read_text(in);
  }
  try {
    std::vector<named_argument> given;
    for (argument& a : arguments) given.push_back(makers.at(a.type)(a));
    const std::vector<any_array> made = text_program(text)(given);
    write_number(out, static_cast<std::int64_t>(made.size()));
    for (const any_array& y : made) {
      std::size_t bytes = static_cast<std::size_t>(row(y.type()).bytes);
      write_text(out, row(y.type()).name);
      write_number(out, y.rank());
      for (int d = 0; d < y.rank(); ++d) {
        write_number(out, y.extent(d));
        bytes *= static_cast<std::size_t>(y.extent(d));
      }
      write_text(out, std::string(static_cast<const char*>(y.data()), bytes));
    }
  } catch (const std::exception& e) {
    write_number(out, -1);
    write_text(out, e.what());
  }
}

}  // namespace

int main(int, char** argv) {
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  for (std::int64_t left = read_number(in); left > 0; --left) {
    run(in, out);
    out.flush();
  }
}
