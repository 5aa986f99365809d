// Rows that stay in registers: what several vector loops of a tile meet at the same place, where each thread meets what
// it met itself. The loops are written out, so that an element's register is known. See docs/gpu-kernels.md; shown by
// tests/cuda/register_rows.cpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>

namespace sheaf::inline v0_1::cuda {

struct register_rows {
  enum class kind : std::uint8_t {
    partial,  // a row of a workspace that a loop fills, others of the tile update, and that is stored after them
    local,    // a local buffer
    load,     // what the first of the loops loads, and others would again
  };
  struct row {
    kind what;
    std::int32_t buffer;
    element type;
    int first, last;                      // of the loops that meet it, by their places in the kernel
    std::vector<const ir::statement*> in = {};  // these loops
    const ir::block* home = nullptr;      // partial: the block that it is stored at the end of
    std::int64_t elements = 0;            // at most, a multiple of the lanes
    int narrow = 0;                       // bytes in memory of what loads narrower than 4; 0: it is not
    int run = 1, lanes = 0;               // elements beside each other in a thread, at most; of its loops
    // Bytes of an element in a thread of a group of so many: narrow ones lie in words where runs fill those.
    int bytes(int group) const {
      const int own = std::min(run, lanes / std::max(group, 1));
      return narrow > 0 && own * narrow % 4 == 0 && own > 0 ? narrow : sheaf::row(type).bytes > 4 ? 8 : 4;
    }
  };
  struct written_loop {
    std::int64_t iterations = 0;
    bool exact = false;  // else at most so many
  };
  std::vector<row> rows;
  std::map<const ir::statement*, written_loop> loops;  // vector loops
  std::map<ir::value, int> filled_by, loads;           // loads that a row takes, and those of it; by row
  std::map<const ir::statement*, int> stores;          // into a row

  bool holds(std::int32_t buffer) const;  // instead of memory
  // Registers of 4 bytes that a thread of a group of so many has for rows at once.
  std::int64_t registers(int group) const;
  void drop(int row);
};
// Those that a group of at most so many threads has room for.
register_rows find_register_rows(const ir::module& m, const ir::kernel& k, call_extents extents, extent_bounds bounds,
                                 int run, int group);

}  // namespace sheaf::inline v0_1::cuda
