// A program to be made a kernel of a library: its graph, its options, and the extents its calls may have.
// Pass `read_programs`: files that SHEAF_KERNEL or a person wrote to programs. Shown by tests/aot/text.cpp.
//
//   kernel step                        # what follows, until the next such line, is its text (docs/language.md)
//   like x 1000 64, cut 256 2          # extents of a call that it shall serve
//   range x 1..1000000 1..512          # of all calls that it shall serve; else any
//   option determinism strict
//   update w_next w                    # the output may lie exactly where the input lies
//   add dloss_dx                       # the output is added to an input dloss_dx_before, which may lie there
//   loss = sum(over(t, f), x(t, f) * x(t, f))
//   output loss, grad(loss, x)
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/plan/options.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::aot {

struct extent_range {
  std::int64_t low = 0, high = std::int64_t{1} << 60;
};

struct program {
  std::string name;  // a C identifier
  graph g;
  sheaf::options options;
  // By example and by place: the extents of all inputs, one after the other; -1 where it says nothing of one.
  std::vector<std::vector<std::int64_t>> examples;
  std::vector<extent_range> ranges;  // by place
  std::vector<plan::update> updates; // outputs that may lie where an input lies
};

// Throws std::runtime_error with the file and the line of a mistake.
std::vector<program> read_programs(const std::string& path);

// The first place of an input among all extents.
int first_place(const graph& g, int input);

}  // namespace sheaf::inline v0_1::aot
