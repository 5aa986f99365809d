// A subscript or bound in terms of one loop. Shown by tests/jit/partition_loops.cpp.
#pragma once
#include <map>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// slope * the loop's variable + factors * values from outside the loop + constant.
struct affine {
  std::int64_t slope = 0, constant = 0;
  std::map<value, std::int64_t> terms = {};

  bool operator==(const affine&) const = default;
  void add(const affine& b, std::int64_t factor) {
    slope += factor * b.slope;
    constant += factor * b.constant;
    for (const auto& [v, f] : b.terms)
      if ((terms[v] += factor * f) == 0) terms.erase(v);
  }
};

}  // namespace sheaf::inline v0_1::ir
