// A kernel under construction, and the rule of the grammar that it breaks.
#pragma once
#include <gtest/gtest.h>

#include <utility>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::inline v0_1::ir {

struct parts {
  module m;
  kernel_builder k{"k"};
  std::int32_t x, y, pick;

  parts() {
    m.name = "m";
    x = add_buffer(m, {.name = "x",
                       .type = element::f32,
                       .rank = 1,
                       .where = role::input,
                       .slot = 0,
                       .unit_inner = true,
                       .extents = {}});
    y = add_buffer(m, {.name = "y",
                       .type = element::f32,
                       .rank = 1,
                       .where = role::output,
                       .slot = 1,
                       .unit_inner = true,
                       .extents = {}});
    pick = add_buffer(
        m, {.name = "pick", .type = element::i64, .rank = 0, .where = role::check, .slot = 2, .extents = {}});
  }
  block_builder& top() { return k.top(); }
  block_builder vector(const char* name, int lanes = 8) {
    return top().loop(loop_kind::vector, name, top().i64(0), top().extent(x, 0), lanes);
  }
  std::string refusal() {
    m.kernels.push_back(std::move(k).finish());
    try {
      verify(m);
    } catch (const bad_ir& problem) {
      return problem.what();
    }
    return "accepted";
  }
};

inline void expect(parts& p, const std::string& rule, const std::string& words) {
  const std::string found = p.refusal();
  EXPECT_EQ(found.substr(0, found.find(':')), rule) << found;
  EXPECT_NE(found.find(words), std::string::npos) << found;
}

}  // namespace sheaf::inline v0_1::ir
