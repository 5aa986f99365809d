// The blocks in which a long reduction is folded, and the stages of what they come to. See split.hpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Has a reduction terms enough for partial results? On a processor asked before how many tasks there are: what is short
// splits no class by them.
bool is_long(const context& c, node_id n, std::span<const shapes::at_least> and_also = {});

// Blocks of so many iterations of a bound index of n, and an index over those of one.
row_blocks blocks_of(graph& g, node_id n, node_id cut, std::int64_t block);
// A size of blocks that extents give when the kernel runs: rows.size is none then.
row_blocks blocks_of(graph& g, node_id n, node_id cut, node_id size);

// Of a processor's stage of partial results: does a block of rows serve several iterations of a loop, as those of a
// product do? Once it is at hand, all of them fold it.
bool serves_several(const graph& g, const facts& known, const stage& s, std::span<const node_id> loops);

// Results that are no lanes are folded one by one, of a block each in one place of memory: of so many places of the
// innermost index, or rows of them, is a block. No index: another one is cut, as these are too few. The first, of a
// batch of images, may have one place.
struct run_of_result {
  node_id cut = no_node;
  std::int64_t places = 0;
};
run_of_result run_of(const context& c, node_id n, const stage& s);

class partial_results {
 protected:
  partial_results(const context& c, node_id n, const stage& s);

  // The outermost index with a closed range and enough iterations, and how many of them make a block.
  bool choose();
  // A stage of partial results, as the load of one of them.
  node_id parts_of(const row_blocks& rows, monoid fold, element type, node_id body, node_id condition,
                   bool narrow = false);
  // The same of what is folded of a block's rows already.
  node_id stored_part(const row_blocks& rows, node_id folded);
  // Kept in f64, and summed in f32 while in lanes.
  node_id narrow_sum(node_id body, node_id condition, const std::vector<node_id>& bound);
  node_id total(node_id parts, element type, node_id over);

  const context c_;
  graph& g_;
  const facts& known_;
  const node_id n_;
  const stage& s_;
  const std::vector<node_id> bound_;
  node_id cut_ = no_node;
  std::int64_t block_ = 1;
  bool larger_ = false;  // than it would be for speed
  amount elements_ = 0, results_ = 0, inner_ = 0;

 private:
  bool cuts_runs(node_id idx) const;
  amount parts_bytes() const;
  node_id sum_of_sums(const row_blocks& rows, element type, node_id body, node_id condition);
};

}  // namespace sheaf::inline v0_1::plan
