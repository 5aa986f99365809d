// What a stage of pair tiles computes, as its body has it.
#pragma once
#include <vector>

#include <sheaf/jit/plan/algorithms/pair_tiles/ranges.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// Results of a row that are kept as lanes each, of a type: their buffer is as large for each type.
inline std::int64_t few_of(element type) {
  return static_cast<std::int64_t>(tuning::pair_tiles::most_few) * row(element::f32).bytes / row(type).bytes;
}

struct pair_parts {
  row_range range;
  node_id reduce = no_node;  // over the walked index
  struct sum {
    node_id reduce = no_node;     // for each pair
    std::vector<node_id> packed;  // what all rows share of it
  };
  std::vector<sum> sums;        // those inside others first
  // What the terms of `reduce` have that is one of a pair, where results have lanes or are several of a row.
  std::vector<node_id> values;
};
pair_parts parts_of_pairs(graph& g, const stage& s);

}  // namespace sheaf::inline v0_1::plan
