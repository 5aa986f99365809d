// What tests of ties draw, and how they read a plan.
#pragma once
#include "plan_harness.hpp"

namespace sheaf::test {

inline int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

enum class data { few_ties, many_ties, all_tie, falling, infinite };
inline std::vector<double> drawn(std::int64_t count, data kind) {
  std::mt19937_64 bits(static_cast<unsigned>(kind) + 3);
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto draw = static_cast<double>(bits() % (kind == data::few_ties ? 1000003 : 5));
    const double odd = draw == 0                      ? -std::numeric_limits<double>::infinity()
                       : draw == 1 && bits() % 8 == 0 ? std::numeric_limits<double>::infinity()
                       : draw == 2 && bits() % 8 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                      : draw;
    values.push_back(kind == data::all_tie   ? 1.5
                     : kind == data::falling ? static_cast<double>(-k)
                     : kind == data::infinite ? odd
                                             : draw);
  }
  return values;
}
inline constexpr data kinds[] = {data::few_ties, data::many_ties, data::all_tie, data::falling, data::infinite};

}  // namespace sheaf::test
