// What the kernels of a sort that all programs share are, and what they are told. Private header.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::lower {

// Extents of their last buffer.
enum class sort_number : std::int32_t {
  room,      // places
  tiles,     // of the pass
  size,      // of a tile, in places
  entries,   // counts of the pass: of each digit in each tile
  groups,     // that sum them up, plan::counts_at_once of them each
  counts,    // where those begin
  sums,      // where theirs begin
  first,     // not 0: of the first pass, which finds how many are listed
  old_keys,  // where keys begin that the pass before left; of what follows the last pass, all keys
  keys,      // where they begin that this one leaves
  from,      // where indices are taken, plane by plane
  to,        // where they are put; the list's first place
  planes,
  top,     // the weight of a key's first digit: a pass moves the last one there
  steps,   // of a search among the places
  bounds,  // how many keys it is asked for how many are less, which the array has from `ends` on, and one more
  ends,
  least,    // the first of those keys
  reaches,  // where it stands how far each iteration's slice reaches; 0: nowhere
  lowest,   // the first iteration's index
  count_
};

enum class sort_kernel : std::int32_t { count, prefix, sums, place, ends, last, farthest, reach, first };

// Their buffers: the sort's memory; what indices are taken from; what they are put to, or the list; the numbers.
inline constexpr std::int32_t sort_memory = 0, sort_from = 1, sort_to = 2, sort_numbers = 3;

// type: of the numbers in the first three; bits: of a digit.
const ir::shared_module& sort_kernels(element type, int bits);

}  // namespace sheaf::inline v0_1::lower
