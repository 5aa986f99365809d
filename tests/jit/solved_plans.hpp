// Programs on random data beside the reference, and plans that look for no row of a scatter.
#pragma once
#include "plan_harness.hpp"

namespace sheaf::test {

// The plan of a program that is right.
template <class... Y>
std::string right(std::initializer_list<std::pair<const char*, std::vector<std::int64_t>>> inputs, Y...) {
  trial test(detail::build_graph<Y...>());
  for (const auto& [name, extents] : inputs) test.random(name, extents);
  test.expect_right();
  return test.plan_text();
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// A scatter has tables, a list of its updates, or tasks that look for theirs.
inline void expect_solved(const std::string& plan) {
  for (const char* const part : {", scatter\n", "privatised tables", "inverse index"})
    EXPECT_FALSE(has(plan, part)) << plan;
}

}  // namespace sheaf::test
