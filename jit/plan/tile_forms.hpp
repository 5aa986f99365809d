// The tiles of a kernel as data: of registers, of a cache, of a GPU's shared memory. Part of a kernel_plan, chosen by
// the passes `register tiles`, `cache tiles` and `group tiles`.
#pragma once
#include <cstdint>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// Iterations of a loop that run at once, see passes/unroll_and_jam.hpp.
struct tiled_loop {
  node_id index = no_node;
  int iterations = 1;
  std::vector<node_id> equal = {};  // data of an iteration: those run at once of which all of it is equal
};

// Rows of a task, folded in blocks of the index that they walk; see cache_tile.hpp.
struct cache_tile_form {
  node_id rows = no_node;    // none: the kernel has no cache tile
  node_id reduce = no_node;  // the one of its stage
  node_id walk = no_node;    // its bound index
  std::int64_t block = 0;    // iterations of it
  std::vector<node_id> packed = {};  // what is copied for all rows
  std::vector<node_id> batch = {};   // the other indices of the results, each of which a task has one of
  std::vector<node_id> inner = {};   // and those that nothing packed depends on: rows of a task are of all of them
  // As blocks walk and pack, for all of `inner` at once: by the bound indices, itself or one that has its places of all
  // of them; and by what is packed.
  std::vector<node_id> walked = {}, stored = {};
};

// A value that a group of threads packs for a block of the walk; along_walk: its elements lie along that in memory. As
// it lies: it is a load of elements of which 16 bytes can be copied at once.
struct packed_value {
  node_id value = no_node;
  bool along_walk = false, as_it_lies = false;
};
// A tile of results that a block of threads folds at once, from what it packs in shared memory; see group_tile.hpp.
struct group_tile_form {
  node_id rows = no_node, lane = no_node;  // the two indices of the tile; none: the kernel has none
  std::vector<node_id> batch = {};         // the other indices of the results, in order
  node_id reduce = no_node, walk = no_node;
  std::vector<packed_value> of_rows = {}, of_lanes = {};  // each the same for all of the other index
  int results_of_rows = 0, results_of_lanes = 0;          // of a thread, along either index
  bool calls = false;                                     // a term calls functions, so code counts
  bool copied = false;  // all that is packed is loads of 4 or 8 bytes, copied one block ahead without registers
  bool mma = false;  // terms are products of two halves, one of each side, which warps multiply, see ir::mma_form
  bool warpgroups = false;  // mma: four warps at once
  int warps_of_rows = 2, warps_of_lanes = 2;
  std::int64_t rows_of_tile() const {
    return (mma ? 8 * warps_of_rows : tuning::group_tile::side) * std::int64_t{results_of_rows};
  }
  std::int64_t lanes_of_tile() const {
    return (mma ? 4 * warps_of_lanes : tuning::group_tile::side) * std::int64_t{results_of_lanes};
  }
  std::int64_t terms_of_block() const {
    using namespace tuning::group_tile;
    return warpgroups ? warpgroup_block : mma ? mma_block : block;
  }
};

}  // namespace sheaf::inline v0_1::plan
