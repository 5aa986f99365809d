// How many places a range has that moves with an index outside, where nothing cuts it.
#pragma once
#include <optional>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// A bound of a range: an arm that moves with `over`, as slope * over + rest or quotient(over + rest, by) + more.
struct mover {
  node_id moving = no_node;
  bool limited = false;
  std::int64_t slope = 0, by = 0;
  node_id rest = no_node, more = no_node;
};
std::optional<mover> mover_of(graph& g, node_id bound, node_id over);

struct length {
  bool known = false, uneven = false;  // so many, or where it is uneven one more
  std::int64_t least = 0;
};
length length_of(graph& g, const std::optional<mover>& low, const std::optional<mover>& high);

}  // namespace sheaf::inline v0_1::plan
