// See programs.hpp: what inputs hold.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "programs.hpp"

namespace sheaf::bench {

namespace {

double uniform(std::mt19937_64& bits) { return static_cast<double>(bits() >> 11) * 0x1p-53; }

// Few are often, most are rare: the k-th of n as often as 1 / k, at random places.
std::int64_t zipf(std::mt19937_64& bits, std::int64_t n) {
  const double rank = std::pow(static_cast<double>(n) + 1, uniform(bits)) - 1;
  const auto k = static_cast<std::uint64_t>(rank);
  return static_cast<std::int64_t>((k * 0x9E3779B97F4A7C15u + 12345) % static_cast<std::uint64_t>(n));
}

std::vector<std::int64_t> places(const input_data& in, std::size_t count, std::mt19937_64& bits) {
  std::vector<std::int64_t> list(count);
  for (auto& v : list) {
    v = in.how == spread::zipf ? zipf(bits, in.below)
                               : static_cast<std::int64_t>(uniform(bits) * static_cast<double>(in.below));
    if (in.how == spread::giant && uniform(bits) < 0.5) v = in.below / 2;
  }
  if (in.kind == data_kind::sorted_places) std::sort(list.begin(), list.end());
  return list;
}

std::vector<std::int64_t> offsets(const input_data& in, std::size_t count, std::mt19937_64& bits) {
  std::vector<double> lengths(count - 1);
  double sum = 0;
  for (double& n : lengths) sum += n = in.how == spread::zipf ? 1 / (uniform(bits) + 1e-3) : uniform(bits);
  if (in.how == spread::giant) {
    lengths[lengths.size() / 2] += sum;
    sum *= 2;
  }
  std::vector<std::int64_t> list{0};
  double at = 0;
  for (const double n : lengths) list.push_back(std::llround((at += n) / sum * static_cast<double>(in.below)));
  list.back() = in.below;
  return list;
}

std::vector<std::int64_t> slices(const input_data& in, std::size_t count, std::mt19937_64& bits) {
  std::vector<std::int64_t> list;
  const double rows = static_cast<double>(in.below), mean = std::max(1.0, rows * 4 / static_cast<double>(count));
  for (std::size_t m = 0; m < count / 2; ++m) {
    double length = 2 * mean * uniform(bits);
    if (in.how == spread::zipf) length = mean * 0.2 / (uniform(bits) + 1e-2);
    if (in.how == spread::giant && m == 0) length = rows;
    const double at = uniform(bits) * rows;
    list.push_back(static_cast<std::int64_t>(at));
    list.push_back(static_cast<std::int64_t>(std::min(rows, at + length)));
  }
  return list;
}

template <class T, class From>
void put(void* into, std::size_t at, From v) {
  const T value = static_cast<T>(v);
  std::memcpy(static_cast<char*>(into) + at * sizeof(T), &value, sizeof(T));
}
template <class T>
T get(const void* from, std::size_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + at * sizeof(T), sizeof(T));
  return value;
}
// f of a value of the C++ type, which bf16 has none of.
template <class F>
auto as_stored(element type, F&& f) {
  switch (type) {
    case element::f64: return f(double{});
    case element::f16: return f(_Float16{});
    case element::i64: return f(std::int64_t{});
    case element::i32: return f(std::int32_t{});
    case element::i16: return f(std::int16_t{});
    case element::i8: return f(std::int8_t{});
    case element::u64: return f(std::uint64_t{});
    case element::u32: return f(std::uint32_t{});
    case element::u16: return f(std::uint16_t{});
    case element::u8: return f(std::uint8_t{});
    case element::boolean: return f(bool{});
    default: return f(float{});
  }
}
// Integers of one byte take all of their range, wider ones up to 100 of either sign.
void put_real(element type, void* into, std::size_t at, double v) {
  if (type == element::bf16) {
    const float f = static_cast<float>(v);
    return put<std::uint16_t>(into, at, get<std::uint32_t>(&f, 0) >> 16);
  }
  as_stored(type, [&](auto of) {
    using stored = decltype(of);
    if constexpr (!std::is_integral_v<stored>) return put<stored>(into, at, v);
    constexpr double most = sizeof(stored) == 1 ? static_cast<double>(std::numeric_limits<stored>::max()) : 100;
    put<stored>(into, at, most * (std::is_unsigned_v<stored> ? std::abs(v) : v));
  });
}

}  // namespace

double real_at(element type, const void* data, std::size_t i) {
  if (type == element::bf16) {
    const std::uint32_t bits = std::uint32_t{get<std::uint16_t>(data, i)} << 16;
    return get<float>(&bits, 0);
  }
  return as_stored(type, [&](auto of) { return static_cast<double>(get<decltype(of)>(data, i)); });
}

void fill_input(const input_data& in, std::uint64_t seed, void* into) {
  std::uint64_t mixed = seed;  // of every letter: inputs of one kind differ
  for (const char letter : in.name) mixed = (mixed ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  std::mt19937_64 bits(mixed);
  std::size_t count = 1;
  for (const std::int64_t e : in.extents) count *= static_cast<std::size_t>(e);
  if (in.kind == data_kind::values || in.kind == data_kind::positive) {
    std::uint64_t state = bits();
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double u = static_cast<double>(state >> 33) * 0x1p-31;
      put_real(in.type, into, i, in.kind == data_kind::positive ? u : 2 * u - 1);
    }
    return;
  }
  if (in.kind == data_kind::mask) {
    for (std::size_t i = 0; i < count; ++i) put<bool>(into, i, uniform(bits) < 0.7);
    return;
  }
  const std::vector<std::int64_t> list = in.kind == data_kind::offsets  ? offsets(in, count, bits)
                                         : in.kind == data_kind::slices ? slices(in, count, bits)
                                                                        : places(in, count, bits);
  for (std::size_t i = 0; i < count; ++i)
    in.type == element::i32 ? put<std::int32_t>(into, i, list[i]) : put<std::int64_t>(into, i, list[i]);
}

}  // namespace sheaf::bench
