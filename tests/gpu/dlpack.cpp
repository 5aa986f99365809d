#include <sheaf/runtime/dlpack.hpp>

#include <gtest/gtest.h>

#include <support/both.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using test::sentence_of;

struct handed {
  std::int64_t extents[2] = {2, 3}, strides[2] = {3, 1};
  dlpack::managed_tensor tensor{};
  handed(void* data, std::int32_t device, std::int32_t ordinal) {
    tensor.of = {data, {device, ordinal}, 2, {dlpack::code_float, 32, 1}, extents, strides, 0};
  }
};

TEST(dlpack, the_layout_is_that_of_dlpack_h) {
  static_assert(sizeof(dlpack::tensor) == 48 && offsetof(dlpack::tensor, device) == 8 &&
                offsetof(dlpack::tensor, rank) == 16 && offsetof(dlpack::tensor, type) == 20 &&
                offsetof(dlpack::tensor, extents) == 24 && offsetof(dlpack::tensor, strides) == 32 &&
                offsetof(dlpack::tensor, byte_offset) == 40);
  static_assert(sizeof(dlpack::managed_tensor) == 64);
}

TEST(dlpack, a_tensor_of_the_host_is_a_view) {
  float values[7] = {0, 1, 2, 3, 4, 5, 6};
  handed h(values, dlpack::on_cpu, 0);
  h.tensor.of.byte_offset = sizeof(float);
  const auto v = dlpack::view_from<const float, 2>(h.tensor);
  EXPECT_EQ(v(1, 2), 6);
  h.tensor.of.strides = nullptr;  // row-major
  EXPECT_EQ((dlpack::view_from<float, 2>(h.tensor)(1, 0)), 4);
  h.tensor.of.strides = h.strides;
  h.strides[0] = 1, h.strides[1] = 2;
  EXPECT_EQ((dlpack::view_from<float, 2>(h.tensor)(1, 2)), 6);
}

TEST(dlpack, a_tensor_of_a_gpu_is_an_argument) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 2, 3);
  device_array<float, 2> there = to_device(rows, s);
  handed h(there.pointer(), dlpack::on_cuda, 0);
  const auto v = dlpack::device_view_from<const float, 2>(h.tensor);
  EXPECT_EQ(v.device, 0);
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto y = define<"y">(i) = sum(j, x(i, j));
  const auto sums = compile(y, on(gpu));
  test::expect_agree(to_host(sums(x = v, on(s)), s), reference(y)(x = rows), 8, "sums");
}

TEST(dlpack, what_does_not_fit_is_an_error) {
  float values[6] = {};
  handed h(values, dlpack::on_cpu, 0);
  EXPECT_EQ(sentence_of([&] { dlpack::view_from<float, 1>(h.tensor); }),
            "rank_mismatch: tensor from DLPack: expected rank 1, found 2");
  EXPECT_EQ(sentence_of([&] { dlpack::view_from<double, 2>(h.tensor); }),
            "bad_argument: tensor from DLPack: expected f64, found float32");
  EXPECT_EQ(sentence_of([&] { dlpack::device_view_from<float, 2>(h.tensor); }),
            "bad_argument: tensor from DLPack: expected memory of a GPU, found device type 1");
  h.tensor.of.device.type = dlpack::on_cuda;
  EXPECT_EQ(sentence_of([&] { dlpack::view_from<float, 2>(h.tensor); }),
            "bad_argument: tensor from DLPack: expected memory of the host, found device type 2");
  h.tensor.of.type = {dlpack::code_bfloat, 16, 2};
  EXPECT_EQ(sentence_of([&] { dlpack::device_view_from<float, 2>(h.tensor); }),
            "bad_argument: tensor from DLPack: expected f32, found bfloat16 x 2");
}

}  // namespace
