// Files of NumPy: numpy.save and numpy.load with arrays of one type, in C order.
// Format: numpy.lib.format, version 1.0. Little-endian machines.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sheaf/runtime/array.hpp>

namespace support {

template <class T>
constexpr const char* npy_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>);
  return std::is_same_v<T, float> ? "<f4" : std::is_same_v<T, double> ? "<f8" : "<i8";
}

template <class T, int Rank>
void save_npy(const std::string& path, const sheaf::array<T, Rank>& a) {
  std::string shape;
  for (int d = 0; d < Rank; ++d) shape += std::to_string(a.extent(d)) + (Rank == 1 || d + 1 < Rank ? "," : "");
  std::string head = std::string("{'descr': '") + npy_type<T>();
  head += "', 'fortran_order': False, 'shape': (" + shape + "), }";
  head.resize((head.size() + 11 + 63) / 64 * 64 - 11, ' ');  // data begins at a multiple of 64
  head += '\n';
  const auto size = static_cast<std::uint16_t>(head.size());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error(path + ": cannot be written");
  const auto count = static_cast<std::size_t>(a.size());
  const bool done = std::fwrite("\x93NUMPY\x01\x00", 8, 1, file) == 1 && std::fwrite(&size, 2, 1, file) == 1 &&
                    std::fwrite(head.data(), head.size(), 1, file) == 1 &&
                    std::fwrite(a.data(), sizeof(T), count, file) == count;
  if (std::fclose(file) != 0 || !done) throw std::runtime_error(path + ": cannot be written");
}

// Throws std::runtime_error where the file holds another type, rank or order.
template <class T, int Rank>
sheaf::array<T, Rank> load_npy(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + ": cannot be read");
  const auto fail = [&](const std::string& words) {
    std::fclose(file);
    throw std::runtime_error(path + ": " + words);
  };
  char start[8];
  std::uint16_t size = 0;
  if (std::fread(start, 8, 1, file) != 1 || std::memcmp(start, "\x93NUMPY\x01", 7) != 0 ||
      std::fread(&size, 2, 1, file) != 1)
    fail("expected a .npy file of version 1");
  std::string head(size, ' ');
  if (std::fread(head.data(), 1, size, file) != size) fail("it ends early");
  if (head.find(std::string("'descr': '") + npy_type<T>() + "'") == std::string::npos)
    fail(std::string("expected elements ") + npy_type<T>());
  if (head.find("'fortran_order': False") == std::string::npos) fail("expected C order");
  std::vector<std::int64_t> extents;
  for (std::size_t at = head.find("'shape': (") + 10; at < head.size() && head[at] != ')'; ++at)
    if (head[at] >= '0' && head[at] <= '9') {
      if (extents.empty() || head[at - 1] < '0' || head[at - 1] > '9') extents.push_back(0);
      extents.back() = 10 * extents.back() + (head[at] - '0');
    }
  if (extents.size() != Rank) fail("expected rank " + std::to_string(Rank));
  auto a = [&]<std::size_t... D>(std::index_sequence<D...>) {
    return sheaf::array<T, Rank>(extents[D]...);
  }(std::make_index_sequence<Rank>());
  const auto count = static_cast<std::size_t>(a.size());
  if (std::fread(a.data(), sizeof(T), count, file) != count) fail("it ends early");
  std::fclose(file);
  return a;
}

}  // namespace support
