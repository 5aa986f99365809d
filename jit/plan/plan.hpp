// The plan of a program: which definitions are stored, by which loops, in which kernels, and what is checked before.
// Every decision is data and carries its reason, so that a plan can be printed, compared and argued with.
#pragma once
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/tile_forms.hpp>

namespace sheaf::inline v0_1::plan {

enum class way : std::uint8_t {
  // loops over the stage's indices; every reduction inside is placed at the outermost loop that binds what it needs
  map,
  partial,  // results of a block of rows, filled with the identity and updated as the rows lie, see `row_blocks`
  // one reduction whose condition says `j == data`: each task owns rows j, walks the bound indices and updates
  scatter,
  range_scatter,  // the same with `lo <= j && j < hi`
  scan,           // running results along one index, see `scan_form`
  stencil,    // a map in which windows along the last index are unrolled point by point: the last index runs in lanes
  window,     // folds of as many elements each, one further from result to result, see `window_form`
  lists,      // the slices of a range scatter by the chunk of rows they begin in, see `slice_lists`
  endpoints,  // the slices by the row they begin with, and by the row they end with, see `sweep_form`
  sweep,      // many overlapping slices: one pass down the rows, see `sweep_form`
  space,      // room that another stage fills
  inverse_index,  // the updates of a scatter by the chunk of rows they go to, see `inverse_index_form`
  tiles,          // slices that follow each other, by tiles of rows of one size, see `tile_form`
  pair_tiles,     // folds of values that are reductions of a pair each, see `pair_tile_form`
};

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
  bool ends = false;        // of a recurrence only what each block comes to is stored, at block_index
  node_id carry = no_node;  // an expression in `block_index`
  node_id block_index = no_node;
};

// On a GPU a list is sorted by its keys, 0 to `keys`, in passes over a digit of them each, the last digit first; each
// keeps the order that it finds. A tile is what one thread walks: of the first pass `iterations` of the outermost
// index, of later ones places of the list so far. See lower/sort.cpp. `memory` is a definition without values: keys,
// indices and counts on the way.
struct sort_form {
  node_id memory = no_node;
  node_id outer = no_node;  // the outermost index that is walked
  node_id room = no_node;   // places, of the call's extents
  node_id keys = no_node;   // how many
  std::int64_t iterations = 1;  // of a tile, in the first pass
  std::int64_t tile = 1;        // places of a tile, in passes after it
  int planes = 1;  // indices of a place
  element type = element::i64;  // of all numbers, the list's too: u32 where each is known to fit 31 bits
  int passes = 0;  // 0: the list is not sorted so
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
  bool sought = false;                       // reductions over a slice were looked for;
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
  node_id owned = no_node;
  node_id at = no_node;
  std::int64_t chunk = 0;
  node_id room = no_node;  // R, of the call's extents
  // kept from call to call, or sorted on a GPU: the chunks of the array are rows, and nothing is left to the
  // scatter
  bool by_row = false;
  bool all_fit = false;     // there is room for all, whatever the data
  std::int64_t blocks = 0;  // B; 0: one task makes it
  node_id array = no_node;  // scatter: the definition of the array; none: every task asks every update
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
  std::int64_t size = 0;
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
// parts, which are then joined in the order of tiles. `firsts` holds for each tile the first slice that ends after the
// tile's first row, and for the end all slices; `parts` for each tile the fold of what goes on (0), and of what ends
// in it but began before (1).
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

enum class place : std::uint8_t { output, workspace, check };

// Who made a stage: the program, which has a definition or an output for it, of ranges that are folded for others than
// their own elements, too, or a rule, for a value that it stores, for the partial results of a reduction, or for what
// functions in lanes need of each row: what it is folded to, and single elements of it.
enum class origin : std::uint8_t { program, read_apart, rule, partial, for_lanes };

// What an algorithm needs to know of its stage beyond loops and body: of a scan, whose body holds all that is read, of
// a window, whose lanes are those of `owned`, the last index, of a sweep and the endpoints that it reads, of tiles.
using stage_form = std::variant<std::monostate, scan_form, window_form, sweep_form, tile_form, pair_tile_form>;

// How large a task is: what it takes of the loop that tasks share. Chosen in tasks.cpp.
struct task_size {
  std::int64_t chunk = 0;        // not 0: so many iterations, of the vector or owned index
  node_id of_extents = no_node;  // instead of `chunk`, a multiple of it that follows from extents
  int most_tasks = 0;            // not 0: a multiple of those, with which there are at most so many tasks
  std::int64_t rows = 1;         // without a chunk: so many iterations, for the tile of the kernel
  node_id second = no_node;      // of few iterations, each is shared as `parts` of this loop, the one within it
  std::int64_t parts = 1;
  bool operator==(const task_size&) const = default;
};

struct stage {
  node_id define = no_node;      // what is stored, as loads name it
  node_id body = no_node;        // its value, in `indices`
  std::vector<node_id> indices;  // of the stored tensor, in order
  std::vector<node_id> loops;    // the same, outermost first
  node_id vector = no_node;      // the one of `loops` that runs in lanes; none: reductions choose their own
  bool loop_within = false;      // map: the last loop is within the lanes, which else are the last
  int lanes = 1;
  node_id parallel = no_node;  // the one of `loops` that tasks share
  task_size task;
  way how = way::map;
  stage_form form;
  // scatter, range scatter: the index j that tasks own; scan, window: the index along which it runs
  node_id owned = no_node;
  slice_lists slices;          // lists, and stages that read them
  inverse_index_form inverse;  // updates, and the scatter that reads them
  // scatter of an extremum: a row has so many updates that few of them change it, and those alone are written
  bool seldom_changes = false;
  bool group_table = false;    // scatter of integers into a table in a GPU's shared memory, in any order
  bool atomic = false;         // scatter: two kernels, one that fills, and one that adds all updates in any order
  node_id base = no_node;  // range scatter: what a row is worth before any slice, if `base_when` holds (none: always)
  node_id base_when = no_node;
  node_id when = no_node;         // computed only if this holds: a condition on stages before
  node_id order_when = no_node;   // map: in the order of the slices if this holds, else as they count
  row_order order;                // map, of its `parallel`
  bool short_rows = false;        // lanes are rows, and the loops below go along them, see short_rows.hpp
  bool reads_block_tree = false;  // its ragged reductions read tables of blocks
  bool swept = false;             // the sweep that stores the same, if slices overlap enough, was made
  sort_form sort;                 // lists, updates
  row_blocks rows;
  // of partial results: the body that was made, and the same as one sum over rows.part
  node_id sum_of_sums = no_node, flat = no_node;
  shifted_moments_form moving;  // of partial results; a stage that is `partial` moves if it has one
  place where = place::workspace;
  origin made = origin::program;
  std::vector<node_id>
      folded_storage;     // of the indices of a workspace: one place at a time is kept, see `storage_folding.hpp`
  bool asked = false;     // a check, or read by one: it runs before any output is stored
  bool decides = false;   // a number on which the choice of an algorithm depends, and nothing else
  bool promised = false;  // of promised data alone: what one call made is good for the next
  int ordinal = 0;        // among outputs, workspaces or checks
  amount bytes = 0, operations = 0;  // predicted
  std::vector<const char*> rules;    // that changed it, in order; see rules.cpp
  std::vector<std::string> reasons;

  // Its form, which is of this kind.
  scan_form& scan() { return std::get<scan_form>(form); }
  window_form& window() { return std::get<window_form>(form); }
  const scan_form& scan() const { return std::get<scan_form>(form); }
  const window_form& window() const { return std::get<window_form>(form); }
  const sweep_form& sweep() const { return std::get<sweep_form>(form); }
  const tile_form& tiles() const { return std::get<tile_form>(form); }
  pair_tile_form& pairs() { return std::get<pair_tile_form>(form); }
  const pair_tile_form& pairs() const { return std::get<pair_tile_form>(form); }
};

// What rules and algorithms work with. What they store becomes a stage at the end of `before`, before the one at hand.
struct context {
  graph& g;
  const facts& known;
  std::vector<stage>& before;
};

// Another kernel's loop of tasks is run interleaved with this one's, see `horizontal_fusion.hpp`.
struct interleaving {
  int with = -1;                // none
  std::int64_t iterations = 0;  // of each of the two
  amount cost = 0;              // of one, in nanoseconds
};

struct kernel_plan {
  std::string name;
  std::vector<int> stages;     // in order
  node_id parallel = no_node;  // the index that tasks share; none: one task
  node_id row = no_node;       // the index of the rows that stages share, where tasks are blocks of them
  task_size task;              // as of its stages, until its tiles are chosen
  int part = 0;                // of a stage that takes several kernels, in order
  std::vector<tiled_loop> tile = {};  // the register tile, see register_tile.hpp
  cache_tile_form cache = {};
  group_tile_form group = {};  // on a GPU
  bool promised = false;       // its stages are
  interleaving interleaved;
  amount cost = 0;                               // nanoseconds of one iteration, estimated
  amount read = 0, written = 0, operations = 0;  // predicted, see predict_traffic
  amount time = 0;                               // nanoseconds that these bytes take at least
  std::string reason;
};

// A load whose subscript is not known to be inside, or a demand of the program. `position` is the row-major place in
// the space of `indices`.
struct check {
  int demand = -1;  // which of graph::demands; -1: a subscript, of which the next six speak
  std::string tensor;
  int dimension = 0;
  node_id subscript = no_node;              // in `indices`: the host can evaluate the offending value from it
  node_id least = no_node, most = no_node;  // what it reaches at the ends of ranges
  node_id low = no_node, high = no_node;    // must hold: low <= subscript < high, both in `indices` too
  std::vector<node_id> indices;
  node_id outside = no_node;    // the condition that fails
  std::vector<node_id> sizes;   // by index: how many positions it has, closed
  std::vector<node_id> firsts;  // by index: the one at position 0, in those before it
  bool uniform = false;         // closed and without data: the host evaluates `outside`; no kernel, no slot
  int ordinal = -1;             // among the check slots; uniform: none
};

// Which stages read which, by what they store. One walk a stage; true as long as no stage reads more.
class read_table {
 public:
  read_table() = default;
  read_table(const graph& g, const std::vector<stage>& stages);

  bool reads(node_id reader, node_id writer) const { return has(direct_, reader, writer); }
  bool waits(node_id reader, node_id writer) const { return has(all_, reader, writer); }  // whatever is between
  // `later` stands after `first` although it reads nothing of it, unless `first` waits for it, whatever is between;
  // then close, with producers before consumers.
  void add(node_id later, node_id first);
  void close(const std::vector<stage>& stages);

 private:
  using table = std::unordered_map<node_id, std::unordered_set<node_id>>;
  static bool has(const table& t, node_id reader, node_id writer) {
    const auto found = t.find(reader);
    return found != t.end() && found->second.contains(writer);
  }
  bool reaches(node_id reader, node_id writer, std::unordered_set<node_id>& seen) const;
  table direct_, all_;
};

struct program_plan {
  node_id written = 0;  // nodes before it are the program's own
  std::vector<stage> stages;
  std::vector<kernel_plan> kernels;
  std::vector<check> checks;
  amount cost = 0;   // nanoseconds of the longest kernel, estimated
  read_table reads;  // once stages are grouped
  // by reduction: the same under an index that its surroundings don't bind
  std::unordered_map<node_id, node_id> renamed;
};

// Thrown where options ask for what no plan of the program can do; says which and why.
struct cannot_follow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(const graph& g, name_id name);
std::string name_of(const graph& g, node_id define);
std::string demand_name(const graph& g, int demand);
const char* way_name(way how);
// Lines a person reads: kernels, stages, loops, reasons, predictions. Before kernels are made, the stages.
std::string print(const graph& g, const program_plan& p);

}  // namespace sheaf::inline v0_1::plan
