// What the tests of passes over kernel IR share: buffers, loops and the text of kernels.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::test {

using ir::access;
using ir::loop_kind;
using ir::role;
using ir::value;

inline constexpr double many_bytes = 1 << 20;

inline std::int32_t add_vector(ir::module& m, const char* name, role where, double bytes) {
  return ir::add_buffer(m, {.name = name,
                            .type = element::f32,
                            .rank = 1,
                            .where = where,
                            .slot = static_cast<int>(m.buffers.size()),
                            .unit_inner = true,
                            .extents = {},
                            .bytes = bytes});
}

inline std::int32_t add_matrix(ir::module& m, const char* name) {
  const auto id = add_vector(m, name, role::input, many_bytes);
  m.buffers[static_cast<std::size_t>(id)].rank = 2;
  return id;
}
inline ir::block_builder open(ir::block_builder& outer, loop_kind kind, const char* name, value low, value high,
                              double trips) {
  auto made = outer.loop(kind, name, low, high, kind == loop_kind::vector ? 16 : 1);
  made.head().trips = trips;
  return made;
}

// The text of the kernels, without that of the module and its buffers.
inline std::string kernels_of(const ir::module& m) {
  EXPECT_NO_THROW(ir::verify(m));
  const std::string text = ir::print(m);
  return text.substr(text.find("kernel "));
}

}  // namespace sheaf::test
