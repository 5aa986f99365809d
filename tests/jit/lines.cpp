// Debuggers are told which line of the kernel IR's text an instruction was made for.
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <sheaf/jit/ir/print.hpp>

#include "harness.hpp"

namespace sheaf::test::lines_tests {
namespace {

// y(i) = a sum of x(i) * x(i) over threads, and z = y again by a loop of one thread.
ir::module squares() {
  ir::module m;
  m.name = "squares";
  const auto x = add_buffer(
      m, {.name = "x", .type = element::f32, .rank = 1, .where = role::input, .slot = 0, .extents = {}});
  const auto y = add_buffer(
      m, {.name = "y", .type = element::f32, .rank = 1, .where = role::output, .slot = 1, .extents = {}});
  for (const loop_kind kind : {loop_kind::parallel, loop_kind::serial}) {
    ir::kernel_builder k(kind == loop_kind::parallel ? "first" : "second");
    auto& top = k.top();
    const value zero = top.i64(0), rows = top.extent(x, 0);
    auto i = top.loop(kind, "i", zero, rows);
    const value at = i.counter();
    const value read = i.load(kind == loop_kind::parallel ? x : y, element::f32, {at}, access::uniform);
    i.store(y, {at}, i.emit(op::mul, {read, read}), access::uniform);
    i.close();
    m.kernels.push_back(std::move(k).finish());
  }
  return m;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Numbers of lines in the assembly's `.loc FILE LINE ...`.
std::set<int> told_lines(const std::string& assembly) {
  std::set<int> told;
  for (const std::string& line : lines_of(assembly)) {
    std::istringstream words(line);
    std::string word;
    int file = 0, number = 0;
    if (words >> word >> file >> number && word == ".loc") told.insert(number);
  }
  return told;
}

TEST(lines, are_those_of_the_text) {
  const ir::module m = squares();
  const ir::listing list = ir::print_with_lines(m);
  EXPECT_EQ(list.text, ir::print(m));
  const auto lines = lines_of(list.text);
  const auto line = [&](const void* of) { return lines.at(static_cast<std::size_t>(list.lines.at(of) - 1)); };
  EXPECT_EQ(line(&m.kernels[0]), "kernel first");
  EXPECT_EQ(line(&m.kernels[1]), "kernel second");
  EXPECT_EQ(line(&m.kernels[0].body.back()), "  parallel i.0 in %0 .. %1");
  EXPECT_EQ(line(&m.kernels[1].body.back()), "  serial i.0 in %0 .. %1");
  EXPECT_EQ(line(&m.kernels[1].body.back().body.back()), "    store uniform y[%2] = %4");
}

TEST(lines, are_told) {
  const ir::module m = squares();
  ir::listing list = ir::print_with_lines(m);
  list.folder = "/nowhere";
  list.file = "squares.ir";
  sheaf_llvm_options options = default_options();
  options.want_asm = 1;
  options.listing = &list;
  sheaf_llvm_result result;
  ASSERT_EQ(plugin::get().compile(&m, &options, &result), SHEAF_LLVM_DONE) << result.error;
  const std::string assembly = result.asm_text;
  const runtime::loaded_object loaded = runtime::load_object(result.object, result.object_size);
  plugin::get().free(&result);
  EXPECT_NE(loaded.find("squares"), nullptr);
  EXPECT_NE(assembly.find("squares.ir"), std::string::npos);
  const std::set<int> told = told_lines(assembly);
  for (const ir::kernel& k : m.kernels) {
    EXPECT_TRUE(told.contains(list.lines.at(&k)));
    EXPECT_TRUE(told.contains(list.lines.at(&k.body.back().body.back()))) << "the store of " << k.name;
  }
}

TEST(lines, are_not_told_unasked) {
  const ir::module m = squares();
  sheaf_llvm_options options = default_options();
  options.want_asm = 1;
  EXPECT_EQ(program(m, options).code().assembly.find(".loc"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::lines_tests
