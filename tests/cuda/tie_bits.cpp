// Windows whose ties are bits of a number that is stored beside their extremum: gradients where many elements tie, with
// NaN, at the borders of images, of windows that overlap and of those that don't; and small loops that are written out.
#include <gtest/gtest.h>

#include <cmath>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::tie_bits_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto image = tensor<"image", float, 4>;
constexpr auto narrow = tensor<"narrow", float16, 4>;

template <class Y, class X>
std::string plan_of(Y y, X x, const std::vector<std::vector<std::int64_t>>& extents) {
  const std::vector<std::int32_t> words = words_of(y, vjp(y, x));
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  return plan_program(unpack(words.data()), call, "program").text;
}
template <class Y, class X>
bool has_bits(Y y, X x, const std::vector<std::vector<std::int64_t>>& extents) {
  return plan_of(y, x, extents).find("a bit for each element") != std::string::npos;
}

// A few different numbers, so that most windows have ties.
values few(element type, std::vector<std::int64_t> extents, bool nan = false) {
  std::vector<double> list;
  std::int64_t count = 1;
  for (const std::int64_t e : extents) count *= e;
  for (std::int64_t k = 0; k < count; ++k) list.push_back(static_cast<double>(k * 7919 % 11 % 4 - 2));
  if (nan) list[static_cast<std::size_t>(count / 3)] = list[static_cast<std::size_t>(count / 2)] = std::nan("");
  return {type, std::move(extents), list};
}

template <class Y, class X>
void check(Y y, X x, const std::string& cotangent, element type, const std::vector<std::int64_t>& in,
           const std::vector<std::int64_t>& out) {
  EXPECT_TRUE(has_bits(y, x, {in, out})) << plan_of(y, x, {in, out});
  for (const bool nan : {false, true})
    for (const char* const name : {"y", "yy"}) {  // of which one has what is for much data, see machine.cpp
      const table data = {{X::label.text, few(type, in, nan)}, {cotangent, rounded(floats(2, out, -1, 1), type)}};
      check_backends({name, words_of(y, vjp(y, x)), {}, {}, ""}, data);
    }
}

TEST(tie_bits, of_images) {
  constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  check(max_pool2d<halving>(image), image, "cotangent_max_pool2d_image", element::f32, {2, 3, 17, 67}, {2, 3, 9, 34});
  check(max_pool2d<halving>(image), image, "cotangent_max_pool2d_image", element::f32, {1, 2, 8, 64}, {1, 2, 4, 32});
  constexpr pool overlapping{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  check(max_pool2d<overlapping>(image), image, "cotangent_max_pool2d_image", element::f32, {1, 2, 7, 40},
        {1, 2, 7, 40});
  constexpr pool apart{.kernel = {2, 4}, .stride = {2, 4}};
  check(max_pool2d<apart>(image), image, "cotangent_max_pool2d_image", element::f32, {1, 2, 9, 83}, {1, 2, 4, 20});
}
TEST(tie_bits, of_sixteen_places) {
  constexpr pool square{.kernel = {4, 4}, .stride = {2, 2}, .padding = {1, 1}};
  check(max_pool2d<square>(image), image, "cotangent_max_pool2d_image", element::f32, {1, 2, 12, 66}, {1, 2, 6, 33});
  constexpr pool more{.kernel = {5, 5}, .stride = {2, 2}, .padding = {1, 1}};
  EXPECT_FALSE(has_bits(max_pool2d<more>(image), image, {{1, 2, 12, 66}, {1, 2, 5, 32}}));
}
TEST(tie_bits, of_halves) {
  constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  check(max_pool2d<halving>(narrow), narrow, "cotangent_max_pool2d_narrow", element::f16, {2, 3, 17, 67},
        {2, 3, 9, 34});
}
TEST(tie_bits, of_minima) {
  constexpr auto low = define<"low">(t.in(0_c, (extent(z, dim<0>) - 1_c) / 2_c)) = min(u.in(0_c, 3_c), z(2_c * t + u));
  check(low, z, "cotangent_low", element::f32, {201}, {100});
}
TEST(tie_bits, share_a_kernel_with_the_extremum) {
  constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const auto words = words_of(max_pool2d<halving>(image), vjp(max_pool2d<halving>(image), image));
  plan::call_facts call;
  for (const std::vector<std::int64_t>& e : {std::vector<std::int64_t>{128, 64, 224, 224}, {128, 64, 112, 112}})
    call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  const planned made = plan_program(unpack(words.data()), call, "program");
  ASSERT_EQ(made.plan.kernels.size(), 2u) << made.text;
  EXPECT_EQ(made.plan.kernels[0].stages.size(), 3u) << made.text;
  call.overrides.determinism = determinism::strict;
  EXPECT_EQ(plan_program(unpack(words.data()), call, "program").text.find("a bit for"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::tie_bits_tests
