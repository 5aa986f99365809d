// Arrays of more than 2^31 elements. Inputs are pages that were never written, so that only outputs take memory.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include <sheaf/sheaf.hpp>

namespace sheaf::test {
namespace {

constexpr std::int64_t many = (std::int64_t{1} << 31) + 4099;
constexpr auto x = tensor<"x", bfloat16, 1>;
constexpr auto w = tensor<"w", bfloat16, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 1>;
constexpr auto t = axis<"t">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;

bool has_memory(long megabytes) {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  char line[128];
  long kilobytes = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "MemAvailable: %ld", &kilobytes) == 1) break;
  if (file != nullptr) std::fclose(file);
  return kilobytes / 1024 > megabytes;
}

TEST(large, sum_and_gradient_of_a_slice) {
  if (!has_memory(7000)) GTEST_SKIP() << "7 GB of memory are not available";
  constexpr auto total = define<"total">() = sum(t, cast<float>(x(t)));
  constexpr auto part = define<"part">() = sum(t.in(cut(0_c), cut(1_c)), cast<float>(x(t)) * cast<float>(x(t)));
  array<bfloat16, 1> data(many);
  const std::int64_t bounds[2] = {many - 3000, many - 5};
  const std::int64_t places[] = {0, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, many - 100, many - 1};
  float next = 1;
  for (const std::int64_t p : places) data(p) = to_bfloat16(next), next *= 2;
  EXPECT_EQ(31, static_cast<float>(compile(total)(x = data)));
  const auto [value, dx] = compile(part, grad(part, x))(x = data, cut = bounds);
  EXPECT_EQ(64, static_cast<float>(value));
  ASSERT_EQ(many, dx.size());
  EXPECT_EQ(16, to_double(dx(many - 100)));
  for (const std::int64_t p : {std::int64_t{0}, std::int64_t{1} << 31, many - 3001, many - 1})
    EXPECT_EQ(0, to_double(dx(p))) << p;
}

TEST(large, rows_of_a_matrix) {
  if (!has_memory(5000)) GTEST_SKIP() << "5 GB of memory are not available";
  constexpr std::int64_t rows = (1 << 16) + 3, columns = 1 << 15;
  constexpr auto sums = define<"sums">(i) = sum(j, cast<float>(w(i, j)));
  array<bfloat16, 2> data(rows, columns);
  for (const std::int64_t r : {std::int64_t{0}, rows / 2, rows - 1}) data(r, columns - 1) = to_bfloat16(3);
  const auto y = compile(sums)(w = data);
  for (const std::int64_t r : {std::int64_t{0}, rows / 2, rows - 1}) EXPECT_EQ(3, y(r)) << r;
  EXPECT_EQ(0, y(1));
  EXPECT_EQ(0, y(rows - 2));
}

}  // namespace
}  // namespace sheaf::test
