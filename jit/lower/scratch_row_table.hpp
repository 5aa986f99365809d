// Which expressions of a kernel have scratch rows, and where these were filled. See scratch_rows.cpp.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <sheaf/jit/lower/scope.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::lower {

// Costly expressions of a kernel's vector loops, by their form under the first index of the loop's range, whatever was
// proven of their loads.
struct scratch_row_table {
  struct place {
    scope *loop, *outside;
  };
  struct scratch_row {
    std::int32_t buffer;
    int loop, row;  // the scope that filled it, and the one that stands in, by number
  };
  std::unordered_map<node_id, int> uses;
  std::unordered_map<node_id, scratch_row> stored;
  std::unordered_map<node_id, std::int32_t> buffers;
  std::map<std::int32_t, std::string> notes;  // by buffer: what explain() says of it
  std::int64_t bytes = 0;
  std::vector<node_id> of_slice;  // the indices of reductions over a slice, then that of the rows written: of one range
  bool divisions = false;         // are as costly as functions
  bool sharing = false;           // as far as was found out, that holds for the slice at hand
  ir::value first = ir::none;     // its first row
  node_id rows = no_node;         // of short rows: the index in lanes; then a scratch row is one of each lane
  std::vector<node_id> along;     // then the indices of loops along rows, which are no longer than a scratch row
  int lanes = 1;
  std::int64_t elements = 64;  // of a scratch row of a slice

  bool walks_slice(node_id lane) const {
    return std::find(of_slice.begin(), of_slice.end() - 1, lane) != of_slice.end() - 1;
  }

  node_id alike(graph& g, node_id n, node_id lane);
  // loads: those too that depend on this index, where rows of it are in lanes.
  void count(graph& g, node_id body, node_id lane, node_id rows = no_node);

 private:
  node_id under(graph& g, node_id n, node_id lane, node_id first);

  std::vector<node_id> lanes_;
  plan::without_proofs bare_;
  std::unordered_map<node_id, plan::replacement> renamed_;  // by lane
};

}  // namespace sheaf::inline v0_1::lower
