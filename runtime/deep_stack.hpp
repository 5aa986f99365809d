// Runs what walks a large graph by recursion on a stack of its own, so that the depth of a program's expressions, and
// not what is left of the caller's stack, decides. Private header. Shown by tests/text/chains.cpp
// and tests/runtime/deep_stack_test.cpp.
#pragma once
#include <cstddef>
#include <functional>

namespace sheaf::inline v0_1::runtime {

// As many levels as the text language allows (language.md, programs as text), with their derivatives, need 64 MB; pages
// that are not touched cost nothing.
inline constexpr std::size_t deep_stack_bytes = std::size_t{512} << 20;
inline constexpr std::size_t least_deep_stack_bytes = std::size_t{64} << 20;
inline constexpr int deep_graph = 2000;  // nodes: fewer are no deeper than any stack allows

// Runs `work` there to its end, and throws what it throws. code::out_of_memory where there is no address space.
void on_deep_stack(const std::function<void()>& work);

}  // namespace sheaf::inline v0_1::runtime
