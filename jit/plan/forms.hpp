// What algorithms know of a stage beyond its loops and its value, as data: a form for each, and what several share.
// Part of a stage, see plan.hpp.
#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::plan {

// Result t of a scan is the fold of value(walk) over walk in [low, t + shift), or backward over [t + shift, high),
// where
// [low, high) is the range of `walk`. With blocks, each begins anew at low + p * block, or with what `carry` holds for
// it. Sums and products of floating numbers run in f64, so the error of a result does not grow with its place.
struct scan_form {
  monoid fold = monoid::sum;
  node_id value = no_node;
  node_id walk = no_node;
  std::int64_t shift = 1;
  bool backward = false;
  std::int64_t block = 0;  // 0: none. Else t and walk run over the same range.
  bool open = false;       // backward blocks: the result at a block's first place is the identity
  // a recurrence: each result is value + factor * the one before; a boolean keeps it or not. Its blocks go on from what
  // `carry` holds for them, or from 0
  node_id factor = no_node;
  bool may_vanish = false;  // factors may be 0 where others are infinite: nothing is kept of those
  bool ends = false;        // only what each block comes to is stored, at block_index
  node_id carry = no_node;  // an expression in `block_index`
  node_id block_index = no_node;
  // On a GPU what is stored may be a function of each result: an expression in `walk` that holds
  // it as the fold that it is.
  node_id result = no_node, folded = no_node;
};

// On a GPU a list is sorted by its keys, 0 to `keys`, in passes over a digit of them each, the last digit first; each
// keeps the order that it finds. A tile is what one thread walks: of the first pass `iterations` of the outermost
// index, of later ones places of the list so far. See lower/sort.cpp. `memory` is a definition without values: keys,
// indices and counts on the way. Of way `order` only `memory`, of keys, `outer` and `room` have a meaning.
struct sort_form {
  node_id memory = no_node;
  node_id outer = no_node;      // the outermost index that is walked
  node_id room = no_node;       // places, of the call's extents
  node_id keys = no_node;       // how many
  std::int64_t iterations = 1;  // of a tile, in the first pass
  std::int64_t tile = 1;        // places of a tile, in passes after it
  int planes = 1;               // indices of a place
  element type = element::i64;  // of all numbers, the list's too: u32 where each is known to fit 31 bits
  int passes = 0;               // 0: the list is not sorted so
  int digit_bits = 8;           // of a key, that a pass sorts by
};

struct sort_part;

// Slices m cover rows [low(m), high(m)) of the owned index, which is shared in chunks. The array holds, for C chunks:
// - C positions: the first in the order whose slice reaches into the chunk; all before it end earlier;
// - C positions: one past the last slice that begins in the chunk or before;
// - the rows of all slices together;
// - the order: the slices that have rows, by the chunk they begin in, then as m counts.
struct slice_lists {
  node_id slice = no_node;  // m
  node_id low = no_node, high = no_node;
  node_id owned = no_node;
  std::int64_t chunk = 0;
  node_id shift = no_node;  // a chunk has 2^shift times as many rows, which follows from extents; none: as many
  node_id array = no_node;  // range scatter: the definition of the array; none: every task asks every slice
  // the order has slices without rows too: a map stage runs in it, for the sake of the cache
  bool all = false;
  bool sought = false;               // reductions over a slice were looked for;
  std::vector<node_id> shorts = {};  // the indices of those that are computed where its rows are written
};

// On a GPU rows with many updates are folded by several groups: each `size` of a row's updates, from its first on, are
// a part, which is folded before, and so are then the parts of a row, where the first of them stands. Where its updates
// begin at n, the k-th part stands at n / size + k of the array: as whole parts end before the updates of the next row
// begin, no other one does.
struct row_parts_form {
  node_id array = no_node;  // a definition without values; none: the scatter has no parts
  node_id part = no_node;   // an index over the places of the array
  std::int64_t size = 0;
  // Where a row may have very many, so many parts that stand side by side are joined before all of a row's are: whole
  // ones, which have places in this array as the parts have in theirs. None: all at once.
  node_id groups = no_node;
  std::int64_t at_once = 0;
  int kernels() const { return groups == no_node ? 2 : 3; }  // before that of the rows
  // Of results of one number lanes go along the updates, of which `update` is an index: the term and its condition, in
  // that and the owned index. None: an update at a time.
  node_id update = no_node, value = no_node, rest = no_node;
  int lanes = 1;
};

// Updates of a scatter, each an iteration of the loops over `walk`, go to row `at` of the owned index, which is shared
// in chunks. The array holds, for C chunks, W indices and room for R updates:
// - 0, then C positions: one past the last update of the chunk;
// - how many updates there are; if more than R, none is listed;
// - W times R: an index of each update, by chunk, then as they are walked;
// - R, unless by row: for the scatter's own use, the updates of a chunk by their row;
// - where tasks make it in B blocks of the outermost index, B times C: how many updates of a chunk each block has, then
//   where its next one goes. The order is that of one walk.
struct inverse_index_form {
  std::vector<node_id> walk = {};   // outermost first
  std::vector<node_id> named = {};  // those of an update that its value depends on: the array has them
  std::vector<node_id> values = {};  // in the walk of a list that goes another way than its scatter: what those are
  node_id owned = no_node;
  node_id at = no_node;
  std::int64_t chunk = 0;
  node_id room = no_node;  // R, of the call's extents
  // kept from call to call, or sorted on a GPU: the chunks of the array are rows, and nothing is left to the
  // scatter
  bool by_row = false;
  bool all_fit = false;       // there is room for all, whatever the data
  std::int64_t blocks = 0;    // B; 0: one task makes it
  node_id array = no_node;    // scatter: the definition of the array; none: every task asks every update
  row_parts_form parts = {};  // scatter
  std::int64_t listed() const { return by_row ? 1 : chunk; }  // rows of a chunk of the array
};

// A map whose iterations of `index` go in the order of a list: in iteration `walk`, over the same range, the index is
// `row`, a load of an inverse index.
struct row_order {
  node_id index = no_node;  // none: iterations go as they count
  node_id walk = no_node, row = no_node;
};

// Rows in blocks: a task takes one of `block`, in which `part` walks the rows of `whole`. A partial result is one for
// each block; other stages over the same rows may be walked in the same blocks, so that each row is read once.
struct row_blocks {
  node_id whole = no_node;  // none: the stage has no blocks
  node_id part = no_node;
  node_id block = no_node;
  std::int64_t size = 0;  // 0: extents give it when the kernel runs
};

// A partial result whose terms are centred by another one over the same rows. Where these are walked a few at a time,
// the centre is that of the rows so far, and what was folded before is moved to it. See split.cpp and lower/rows.cpp.
struct shifted_moments_form {
  node_id centre = no_node;  // the other one, as it is loaded; none: nothing moves
  node_id last = no_node;    // an index, of the last row that is walked at a time; none: nothing asks for it
  node_id body = no_node;    // the stage's, by the centre of the rows up to `last`
  // what earlier(...) of the stage is worth by that centre; rows.part is the first row at a time
  node_id moved = no_node;
};

// Result t of a window folds value(walk) over the `width` places that end at walk == t + ahead. One of at most `lanes`
// is folded between registers. A larger one is `groups` folds of `lanes` elements, a vector apart, and `rest` elements
// before them; of the groups, running blocks of `block` results keep what is left of those before the block, and go on
// with those in it (van Herk 1992, Gil and Werman 1993): nothing is subtracted, so nothing drifts and no NaN outlives
// its window. On a GPU, where a thread has lanes in a row, groups are of one element and lanes lie along the running
// folds.
struct window_form {
  node_id reduce = no_node;  // what the stage's body has for it
  node_id walk = no_node, value = no_node;
  // The same for any place: its loads mask themselves, and where the window is cut to [first, last) it is the identity
  // outside.
  node_id around = no_node, guarded = no_node;
  node_id first = no_node, last = no_node;  // none: no window is cut
  node_id ahead = no_node;                  // without t
  element type = element::f32;
  // Not a fold of values alone: the sum of those whose key is the extremum of all keys, and that is `mine`, in t; else
  // 0.
  node_id key = no_node, guarded_key = no_node, mine = no_node;
  element key_type = element::f32;
  monoid extremum = monoid::max;
  std::int64_t width = 0, groups = 0, rest = 0, block = 0;
  bool scans = false;  // lanes lie along the running folds
  // not 0: so many results in a row add to one sum, and those sums to one, so that errors stay small
  std::int64_t stretch = 0;
};

// Slices m cover rows [low(m), high(m)) of `rows`. One pass down the rows, with columns in lanes, folds or scatters all
// of them. Rows go in blocks of `block`. Of a slice that leaves its block, the fold has three parts: from its begin to
// the end of that block, found going up the block; the whole blocks between, from tables of blocks and of spans of
// groups of `radix` blocks, see lower/sweep_tables.hpp; and from the start of its last block, found going down.
// Nothing is subtracted, so a NaN concerns only the slices that hold it, and any monoid will do. Scatter is the
// transpose. `endpoints` holds, for begins (0) and for ends (1), rows + 2 positions, of which k and k + 1 are the
// bounds of row k's, then the slices in that order, then (of begins) the position of each slice; those without rows
// stand at place `rows`. What a slice needs when it ends waits in a ring of `ring` seats, by its position: a slice has
// one if at most as many begin before it ends.
struct sweep_form {
  node_id slice = no_node, low = no_node, high = no_node;
  node_id rows = no_node;                        // an index over all rows; scatter: the owned one
  node_id value = no_node;                       // folded: in `rows`; scatter: what a slice adds
  node_id again = no_node, walk = no_node;       // folded: the value under an index of its own
  node_id result = no_node, finished = no_node;  // folded: what is stored, in terms of `result`
  node_id endpoints = no_node;
  std::vector<node_id> tables;  // definitions, without values: of blocks, of spans, of seats
  monoid fold = monoid::sum;
  element type = element::f32;  // in which is folded
  bool scatters = false;
  // `endpoints` are of an earlier call: bounds are read anew, and may be anything where a promise was broken
  bool promised = false;
  std::int64_t block = numerics::sweep::block, radix = numerics::sweep::radix, ring = numerics::sweep::ring;
};

// Slices m cover rows [low(m), high(m)) of [0, rows), each from where the one before ends. Tasks own tiles of `size`
// rows, however long the slices are: a tile folds what it has of each slice by one pass of folds that begin anew at
// each slice, and stores those that lie in it. Of one that began before, and one that goes on after it, it stores the
// parts, which are then joined in the order of tiles. `firsts`, a stage that others of the same slices and tiles read
// as well, holds for each tile the first slice that ends after the tile's first row, and for the end all slices;
// `parts` for each tile the fold of what goes on (0), and of what ends in it but began before (1).
// Or each row has a value of its own, of its slice: it is stored as the tile walks, and `rest` where no slice has the
// row.
struct tile_form {
  node_id reduce = no_node;  // what the stage's body has for it; none: rows have values
  node_id slice = no_node, low = no_node, high = no_node;
  node_id walk = no_node, value = no_node;  // an index over all rows, and what is folded, in it
  node_id mine = no_node;  // in the value, stands for the slice of the row; none: it does not depend on that
  node_id begin = no_node, end = no_node;  // of all slices together
  node_id rest = no_node;
  node_id columns =
      no_node;  // of results of two dimensions, the index that runs in lanes: slices are then walked one by one
  node_id firsts = no_node, parts = no_node;  // definitions, without values
  element type = element::f32;                // in which a tile folds
  std::int64_t size = 0;
  int lanes = 1;
};

// A reduction over `walk` of terms that hold reductions of their own for each pair of a row and a place of `walk`. A
// block of rows goes through `walk` in tiles of numerics::pair_tiles::places; what depends on both is computed for a
// tile, place by place in lanes, and kept in a buffer of the task's. Results have lanes of their own, or are one or a
// few of a row, each kept as the lanes of a tile until all tiles are done.
struct pair_tile_form {
  node_id rows = no_node;  // none: the stage has no tiles
  node_id walk = no_node;
  node_id lane = no_node, few = no_node;  // of results, which pairs do not differ in
  node_id maximum = no_node;  // of a stage in the same kernel, as loaded, to which its powers are relative as it runs
};

// What an algorithm needs to know of its stage beyond loops and body: of a scan, whose body holds all that is read, of
// a window, whose lanes are those of `owned`, the last index, of a sweep and the endpoints that it reads, of tiles.
using stage_form = std::variant<std::monostate, scan_form, window_form, sweep_form, tile_form, pair_tile_form>;

}  // namespace sheaf::inline v0_1::plan
