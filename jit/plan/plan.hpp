// The plan of a program: which definitions are stored, by which loops, in which kernels, and what is checked before.
// Every decision is data and carries its reason, so that a plan can be printed, compared and argued with.
#pragma once
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/plan/forms.hpp>
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
  tile_starts,    // the first slice of each tile of rows, see `tile_form`
  tiles,          // slices that follow each other, by tiles of rows of one size, see `tile_form`
  order,          // places in the order of their keys, see `sorted_keys`
  pair_tiles,     // folds of values that are reductions of a pair each, see `pair_tile_form`
};

enum class place : std::uint8_t { output, workspace, check };

// Who made a stage: the program, which has a definition or an output for it, of ranges that are folded for others than
// their own elements, too, or a rule, for a value that it stores, for the partial results of a reduction, or for what
// functions in lanes need of each row: what it is folded to, and single elements of it.
enum class origin : std::uint8_t { program, read_apart, rule, partial, for_lanes };

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

// Of a sum over slices: a load that checks vouch for where low <= row < high. See vouched.hpp.
struct vouched_load {
  node_id load = no_node, row = no_node, low = no_node, high = no_node;
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
  std::vector<vouched_load> vouched;
  inverse_index_form inverse;  // updates, and the scatter that reads them
  // scatter of an extremum: a row has so many updates that few of them change it, and those alone are written
  bool seldom_changes = false;
  bool group_table = false;    // scatter into a table in a GPU's shared memory
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
  stage& at(int i) { return stages[static_cast<std::size_t>(i)]; }
  const stage& at(int i) const { return stages[static_cast<std::size_t>(i)]; }
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
