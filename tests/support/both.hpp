// Programs run twice, by the kernels and by the slow evaluator, and compared: the oracle behind every numeric test.
//
//   auto [l, dx] = both(loss, grad(loss, x))(x = rows, cut = bounds);  // the kernels' results
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <sheaf/api/reference.hpp>
#include <sheaf/dsl/graph/half.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::test {

template <class T>
double number_of(T value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    return to_double(value);
  else
    return static_cast<double>(value);
}
template <class T>
T value_of(double x) {
  if constexpr (std::is_same_v<T, float16>)
    return to_float16(x);
  else if constexpr (std::is_same_v<T, bfloat16>)
    return to_bfloat16(x);
  else
    return static_cast<T>(x);
}

// Half the distance between 1 and the next number of the type; 0 for integers, which must be exact.
template <class T>
constexpr double unit_of() {
  if constexpr (std::is_same_v<T, float16>) return 0x1p-11;
  if constexpr (std::is_same_v<T, bfloat16>) return 0x1p-8;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24;
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  return 0;
}

// `rounds` counts roundings: the error of a result of size s is at most rounds * unit * max(s, 1).
template <class T>
bool agree(T found, T expected, double rounds) {
  const double a = number_of(found), b = number_of(expected);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= rounds * unit_of<T>() * std::max(std::abs(b), 1.0);
}

template <class T, int Rank>
void expect_agree(const array<T, Rank>& found, const array<T, Rank>& expected, double rounds, const std::string& what) {
  for (int d = 0; d < Rank; ++d) ASSERT_EQ(found.extent(d), expected.extent(d)) << what << ", dimension " << d;
  for (std::int64_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(agree(found.data()[i], expected.data()[i], rounds))
        << what << ", element " << i << ": kernel " << number_of(found.data()[i]) << ", reference "
        << number_of(expected.data()[i]);
}

// Kernels and reference of one program. Sums of n terms of size 1 round about n times: say so where n is large.
template <class... Outputs>
class both_backends {
 public:
  explicit both_backends(Outputs... outputs) : kernels_(compile(outputs...)), slow_(reference(outputs...)) {}
  both_backends&& rounds(double n) && {
    rounds_ = n;
    return std::move(*this);
  }

  template <class... B>
  auto operator()(B&&... arguments) const {
    auto found = kernels_(arguments...);
    const auto expected = slow_(arguments...);
    compare(found, expected);
    return found;
  }
  const compiled<Outputs...>& kernels() const { return kernels_; }
  const compiled<Outputs...>& slow() const { return slow_; }

 private:
  template <class T, int Rank>
  void compare(const array<T, Rank>& found, const array<T, Rank>& expected) const {
    expect_agree(found, expected, rounds_, "output 0");
  }
  template <class... A>
  void compare(const std::tuple<A...>& found, const std::tuple<A...>& expected) const {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (expect_agree(std::get<K>(found), std::get<K>(expected), rounds_, "output " + std::to_string(K)), ...);
    }(std::index_sequence_for<A...>{});
  }

  compiled<Outputs...> kernels_, slow_;
  double rounds_ = 16;
};

template <class... Outputs>
auto both(Outputs... outputs) {
  return both_backends<Outputs...>(outputs...);
}

// Numbers in [low, high] that repeat run after run and share no pattern with indices.
inline std::vector<double> noise(std::size_t count, double low = -1, double high = 1, std::uint64_t seed = 1) {
  std::vector<double> out(count);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (double& x : out) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    x = low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
  return out;
}
template <class T, std::integral... Extent>
auto noise_array(double low, double high, Extent... extent) {
  array<T, int(sizeof...(Extent))> out(extent...);
  const std::vector<double> values = noise(static_cast<std::size_t>(out.size()), low, high);
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = value_of<T>(values[static_cast<std::size_t>(i)]);
  return out;
}
template <class T, int Rank>
array<T, Rank> filled(array<T, Rank> a, std::initializer_list<double> values) {
  std::int64_t i = 0;
  for (const double v : values) a.data()[i++] = value_of<T>(v);
  return a;
}
template <class T>
array<T, 1> list(std::initializer_list<double> values) {
  return filled(array<T, 1>(static_cast<std::int64_t>(values.size())), values);
}

// Bitwise, so that NaN equals NaN and 0 differs from -0.
template <class T, int Rank>
bool same_bits(const array<T, Rank>& a, const array<T, Rank>& b) {
  return a.size() == b.size() &&
         std::equal(reinterpret_cast<const char*>(a.data()), reinterpret_cast<const char*>(a.data() + a.size()),
                    reinterpret_cast<const char*>(b.data()));
}

// What a call throws, as its code and sentence; empty where it throws nothing.
template <class Call>
std::string sentence_of(Call call) {
  try {
    call();
  } catch (const error& e) {
    std::string said = name_of(e.code());
    said.append(": ").append(e.what());
    return said;
  }
  return "";
}

}  // namespace sheaf::test
