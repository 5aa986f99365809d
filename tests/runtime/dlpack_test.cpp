#include <sheaf/runtime/dlpack.hpp>

#include <gtest/gtest.h>

namespace {

using namespace sheaf;

TEST(dlpack_out, an_array_is_handed_over_with_its_memory) {
  array<float, 2> a(2, 3);
  a(1, 2) = 7;
  const float* const first = a.data();
  dlpack::managed_tensor* out = dlpack::to_managed(std::move(a));
  EXPECT_EQ(out->of.data, first);
  EXPECT_EQ(out->of.rank, 2);
  EXPECT_EQ(out->of.device.type, dlpack::on_cpu);
  EXPECT_EQ(out->of.type.code, dlpack::code_float);
  EXPECT_EQ(out->of.type.bits, 32);
  const auto back = dlpack::view_from<float, 2>(*out);
  EXPECT_EQ(back(1, 2), 7);
  EXPECT_EQ(back.strides[0], 3);
  out->release(out);
}

TEST(dlpack_out, a_view_keeps_its_strides) {
  std::int64_t numbers[12] = {};
  const std::int64_t extents[] = {3, 2}, strides[] = {-4, 2};
  dlpack::managed_tensor* out = dlpack::to_managed(view<std::int64_t, 2>(numbers + 8, extents, strides));
  EXPECT_EQ(out->of.data, numbers + 8);
  EXPECT_EQ(out->of.strides[0], -4);
  EXPECT_EQ(out->of.type.code, dlpack::code_int);
  EXPECT_EQ(out->of.type.bits, 64);
  out->release(out);
}

TEST(dlpack_out, each_element_type_has_its_code) {
  const auto code_of = []<class T>(T) {
    dlpack::managed_tensor* out = dlpack::to_managed(array<T, 1>(1));
    const int code = out->of.type.code, bits = out->of.type.bits;
    out->release(out);
    return 100 * code + bits;
  };
  EXPECT_EQ(code_of(bool{}), 608);
  EXPECT_EQ(code_of(std::int8_t{}), 8);
  EXPECT_EQ(code_of(std::uint8_t{}), 108);
  EXPECT_EQ(code_of(std::uint64_t{}), 164);
  EXPECT_EQ(code_of(std::int16_t{}), 16);
  EXPECT_EQ(code_of(std::int32_t{}), 32);
  EXPECT_EQ(code_of(float16{}), 216);
  EXPECT_EQ(code_of(bfloat16{}), 416);
  EXPECT_EQ(code_of(double{}), 264);
}

}  // namespace
