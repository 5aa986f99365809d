// What the planner says of a program on a GPU for calls of these extents.
#pragma once
#include <string>
#include <vector>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

template <class... Outputs>
std::string plan_of(const std::vector<std::vector<std::int64_t>>& extents, Outputs...) {
  constexpr auto words = detail::packed<Outputs...>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  return plan_program(unpack(words.words), call, "program").text;
}

}  // namespace sheaf::test
