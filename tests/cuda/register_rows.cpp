// Rows that stay in registers: what several loops of a tile load, what one computes for the others, and partial results
// of columns; rows of all lengths, whose last lanes are dead.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <coverage/instead.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::register_rows_tests {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto d = tensor<"d", double, 2>;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto b = tensor<"b", float, 1>;

table data_of(std::int64_t rows, std::int64_t columns) {
  values x = floats(1, {rows, columns}, -3, 3);
  return {{"x", x},
          {"d", rounded(x, element::f64)},
          {"h", rounded(x, element::f16)},
          {"w", floats(2, {columns}, -1, 1)},
          {"b", floats(3, {columns}, -1, 1)},
          {"cotangent_layer_norm_x", floats(4, {rows, columns}, -1, 1)},
          {"cotangent_rms_norm_x", floats(5, {rows, columns}, -1, 1)}};
}

constexpr auto normed = layer_norm(x, w, b);
constexpr auto scaled = rms_norm(x, w);

void check_all(std::int64_t rows, std::int64_t columns) {
  const table data = data_of(rows, columns);
  check_backends(value_of("softmax", softmax(x, dim<1>)), data);
  check_backends(value_of("layer norm", layer_norm(x)), data);
  check_backends({"y", words_of(normed, vjp(normed, x), vjp(normed, w), vjp(normed, b)), {}, {}, ""}, data);
  check_backends({"y", words_of(scaled, vjp(scaled, x)), {}, {}, ""}, data);
}

TEST(register_rows, few_elements) {
  check_all(1, 1);
  check_all(7, 5);
  check_all(300, 33);
}
TEST(register_rows, part_of_a_vector) {
  check_all(5, 100);
  check_all(9, 300);
  check_all(3, 1000);
}
TEST(register_rows, whole_vectors) {
  check_all(40, 64);
  check_all(6, 256);
  check_all(5, 1024);
  check_all(2, 5120);
}
TEST(register_rows, too_many_elements) { check_all(2, 20000); }
TEST(register_rows, blocks_of_rows) {
  check_all(700, 96);
  check_all(600, 300);
}
TEST(register_rows, types) {
  const table data = data_of(9, 700);
  check_backends(value_of("f64", softmax(d, dim<1>)), data);
  check_backends(value_of("f64", layer_norm(d)), data);
  check_backends(value_of("f16", softmax(h, dim<1>)), data);
  check_backends(value_of("f16", layer_norm(h)), data);
}


template <class... Outputs>
std::string text_of(const std::vector<std::vector<std::int64_t>>& extents, Outputs...) {
  constexpr auto words = detail::packed<Outputs...>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  const planned program = plan_program(unpack(words.words), call, "program");
  std::vector<std::vector<std::int64_t>> by_slot = extents;
  by_slot.resize(64, std::vector<std::int64_t>(8, 1 << 14));
  const cuda::source code = cuda::emit(program.code, {.compute = 90}, cuda::amounts_by_slot(by_slot));
  return code.texts[0].substr(code.texts[0].find("__global__"));
}
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// A thread of 256 has up to 128 of them, and 512 share those of more than 64 each.
TEST(register_rows, long_rows) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto k = axis<"k">;
  constexpr auto apart = define<"apart">(i, j) = x(i, j) - x(i, argmax(k, x(i, k)));
  for (const std::int64_t columns : {16385, 32767, 32768, 32769}) {
    const std::string text = text_of({{8, columns}}, apart);
    EXPECT_EQ(count(text, "float r0["), columns <= 32768) << text;
    EXPECT_EQ(count(text, "constexpr int T = 512;"), columns <= 32768) << text;
    check_backends(value_of("apart", apart), {{"x", floats(1, {8, columns}, -3, 3)}});
  }
}
TEST(register_rows, a_row_is_loaded_once) {
  EXPECT_EQ(count(text_of({{262144, 1024}}, layer_norm(x)), "__ldg"), 1);
  EXPECT_EQ(count(text_of({{262144, 8192}}, layer_norm(x)), "__ldg"), 1);
  EXPECT_EQ(count(text_of({{262144, 1024}}, softmax(x, dim<1>)), "__ldg"), 1);
  EXPECT_EQ(count(text_of({{1 << 22, 64}}, softmax(x, dim<1>)), "shared"), 0) << "nor are exponentials stored";
  EXPECT_GT(count(text_of({{2048, 65536}}, layer_norm(x)), "__ldg"), 1) << "more than registers hold";
}
// Of halves a thread holds runs of 16 bytes in words; of most registers that a group of 256 has, 512 hold a part.
TEST(register_rows, rows_of_halves) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto k = axis<"k">;
  constexpr auto p = tensor<"p", bfloat16, 2>;
  constexpr auto best = define<"best">(i) = argmax(k, cast<float>(p(i, k)));
  constexpr auto apart = define<"apart">(i, j) = cast<bfloat16>(cast<float>(p(i, j)) - cast<float>(p(i, best(i))));
  for (const std::int64_t columns : {5000, 5001, 32000, 33333, 65536, 65537}) {
    const std::string text = text_of({{8, columns}}, apart);
    EXPECT_EQ(count(text, "load_row<T, 8, "), columns <= 65536) << text;
    check_backends(value_of("apart", apart), {{"p", rounded(floats(1, {3, columns}, -3, 3), element::bf16)}});
  }
}
// Of most registers that a group of 256 threads has, 512 hold a part each.
TEST(register_rows, many_threads) {
  constexpr auto moved = define<"moved">(part::r, part::s) = cast<float>(h(part::r, part::s));
  constexpr auto long_rows = softmax(moved, dim<1>);
  const auto text = [&](std::int64_t columns) {
    return text_of({{8192, columns}, {8192, columns}}, long_rows, vjp(long_rows, h));
  };
  EXPECT_EQ(count(text(65536), "constexpr int T = 512;"), 1);
  EXPECT_EQ(count(text(32768), "constexpr int T = 512;"), 0);
}
TEST(register_rows, partial_results_are_stored_once) {
  const std::string text = text_of({{262144, 1024}, {1024}, {1024}, {262144, 1024}}, normed, vjp(normed, x),
                                   vjp(normed, w), vjp(normed, b));
  const std::string first = text.substr(0, text.find("__global__", 1));
  EXPECT_EQ(count(first, "= b0 + "), 1) << "x";
  EXPECT_EQ(count(first, "= b3 + "), 1) << "the cotangent";
  EXPECT_EQ(count(first, "p = q"), 2 + 2) << "two outputs, and two partial results after all rows";
}

}  // namespace
}  // namespace sheaf::test::register_rows_tests
