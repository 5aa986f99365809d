// The kernel IR: loop nests over typed values. The lowering writes it, the printer and the verifier read it, and an
// emitter (LLVM, CUDA) sees nothing else. Grammar and rules: verify.hpp.
//
//   module  = buffers, kernels in order of execution
//   kernel  = one block that is entered once, or once per task where its only statement is a parallel loop; or a call
//           of
//             kernels that programs share
//   block   = statements
//   statement = instruction | loop | guard | store | combine | prefetch | append | copy | await | mma
//
// A value is the id of the instruction that made it and may be used in the same block after it, and in blocks inside.
// A value is scalar, or a vector of the lanes of the one vector loop around it. Scalars mix with vectors by broadcast.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/element.hpp>
#include <sheaf/dsl/graph/op.hpp>
#include <sheaf/jit/shapes/amount.hpp>

namespace sheaf::inline v0_1::ir {

using shapes::amount;

using value = std::int32_t;
inline constexpr value none = -1;

// Where a buffer lives. Slots count through inputs, outputs, workspace and checks: sheaf_call::tensors[slot].
enum class role : std::uint8_t {
  input,
  output,
  workspace,  // allocated by the runtime, shared by kernels
  check,      // rank 0, i64: the smallest failing position, or INT64_MAX
  local,      // `elements` elements private to one task of a parallel loop (a C array on the stack, at most 256 KiB)
};

struct buffer {
  std::string name;
  element type;
  int rank;
  role where;
  int slot = -1;                      // every role but local
  std::int64_t elements = 0;          // local only
  bool unit_inner = false;            // the last dimension has stride 1 (promised by the caller's views)
  std::vector<std::int64_t> extents;  // known at compile time, -1 where not; empty: none known
  // For passes; not printed.
  bool by_iteration = false;  // local: iterations of a loop that is jammed have places of their own
  amount bytes = 0;         // predicted, of inputs and outputs
  bool read_again = false;  // by a kernel after the one that writes it
};

enum class opcode : std::uint8_t {
  elementwise,  // `what` applied to args; cast converts to `type`
  constant,     // bits: the double for floating types, else the integer
  extent,       // i64: extent `dimension` of `target`
  counter,      // i64: the variable of the enclosing loop `target`; in a vector loop the value of lane 0
  run_end,      // i64: behind the last of the iterations that the enclosing loop `target` takes at once
  lanes,        // i64 vector: the variable of the enclosing vector loop `target`, lane by lane
  pattern,      // boolean vector: lane k is bit k % dimension of `bits`; dimension a power of two, at most 32
  load,         // `target`[args...]; see access
  accumulator,  // a mutable cell of `type`, vector or scalar, set to the identity of `fold`; changed by combine
  // the content of accumulator args[0], now; of argmax and argmin the position, -1 over nothing; of a state of several
  // values the one that `dimension` counts
  read,
  // scalar: what read is of the vector accumulator args[0], combined by the fixed tree; a sum of f32 may be folded to
  // f64: from 16 lanes on the tree is one of f64
  fold_lanes,
  // vector: lane k is the scalar accumulator args[0] combined with lanes up to k of args[1], in the order in which the
  // vector loop runs; the accumulator takes them all. A floating one may be wider than args[1]. With args[2], booleans:
  // lanes where that is true begin anew; the accumulator takes what the last lane is. Those are for a GPU, in forward
  // loops. Of a state of several values args has as many vectors, and lane k is the value that `dimension`, else 0,
  // counts from 1; the state of what comes earlier in memory stands first. Those are for a GPU, too.
  scan_lanes,
  // vector of f64: lane k is args[2] there plus args[1] there times the lane before it, in the order of the loop; a
  // boolean factor keeps it or not, and a lane of 0 stays 0 whatever the factor. Before the first lane there is the
  // scalar accumulator args[0], which takes the last.
  recur_lanes,
  // vector: lane k is the fold of the `dimension` lanes of args[1] that end at k, or in a backward loop begin there;
  // those before the vector are the iteration's before it (or of the loop before), which the vector accumulator args[0]
  // keeps. Its `dimension` is the same, at most the lanes, and nothing else uses it.
  slide_lanes,
  // vector: lane k is the lane of args[1] `dimension` before k, or in a backward loop after it; those before the vector
  // are the iteration's before it, as of slide_lanes. What args[0] keeps may be read before: so an iteration goes on
  // from the last one's vector by any operation.
  shift_lanes,
  // vector of i32: lane k is what the local buffer `target`, of i32, holds at args[0] there, and one more for each lane
  // before it that has the same place; then each place holds one more for each of its lanes. Lanes whose mask is false
  // are none of these, and 0. For a GPU, in forward loops.
  next_places,
};

// How a load or store in a vector loop meets memory, and what its subscripts are.
enum class access : std::uint8_t {
  uniform,     // scalar subscripts, one element (a scalar result)
  contiguous,  // scalar subscripts of lane 0; lane k is k elements further in the last dimension, whose stride is 1
  strided,     // the same, with lane k being k times the stride of the last dimension further
  gather,      // at least one subscript is a vector
  deinterleaved,  // loads: as contiguous, lane k being (phase + k * step) / repeat elements further, see `lane_pattern`
  // gather along rows: directly in a serial loop that is unrolled by `transposed_columns`, each iteration of which is
  // one further in the last dimension, whose stride is 1, and at the same place in the others. May be made for all
  // unrolled iterations at once: loads before the first of them, stores after the last.
  transposed,
};
inline constexpr std::int32_t transposed_columns = 4;

// Where lane k of a deinterleaved load is: every step-th element, or each element for `repeat` lanes. A step of -1: a
// row backward, alone.
struct lane_pattern {
  std::int32_t step = 1, repeat = 1;
  std::int32_t phase = 0;  // from 0, less than repeat
  // Several loads share the elements of whole groups of `step`: all of them may be read, and each takes the one at
  // `skew`.
  bool whole = false;
  std::int32_t skew = 0;  // from 0, less than step
  std::int32_t operator()(std::int32_t k) const { return skew + (phase + k * step) / repeat; }
};

struct instruction {
  opcode code;
  element type = element::i64;
  bool vector = false;        // one element a lane
  op what = op::count_;       // elementwise
  monoid fold = monoid::sum;  // accumulator
  std::int64_t bits = 0;      // constant: an integer, or the bits of a double
  std::int32_t target = -1;   // buffer or loop id
  // extent; slide_lanes, shift_lanes and their accumulators: the width; recur_lanes: may a factor vanish; read,
  // fold_lanes
  std::int32_t dimension = 0;
  access how = access::uniform;  // load
  value mask = none;             // load: lanes (or the scalar) whose mask is false yield zero and touch no memory;
                                 // scan_lanes: they count as the identity; next_places
  lane_pattern apart = {};       // load: deinterleaved
  std::vector<value> args;
};

enum class loop_kind : std::uint8_t { serial, vector, parallel };

// A tile of sums of products of halves, as warps multiply them by mma.m16n8k16; sums are f32, whose order within 16
// terms is the hardware's. Warps lie V x W over the tile: warp w has rows from w / W * 8 R on, and columns from
// w % W * 4 C on, where a lane has R x C results: result (r, c) of lane l in its warp is there 8 r + l / 4 rows and
// 8 (c / 2) + 2 (l % 4) + c % 2 columns further.
// by_warpgroups: four warps multiply at once by wgmma.m64nNk16, N all columns: R is 2, W is 1. Panels then have rows of
// 64 halves, whose runs of 8 are permuted: run n of row p is at n ^ p % 8. A row has the terms of one row or column of
// the tile; or, where terms are not along, those 64 p to 64 p + 63 of one term, 64 terms for each p.
struct mma_form {
  static constexpr std::int32_t terms_at_once = 16, warpgroup = 4, places_at_once = 64;
  bool by_warpgroups = false;
  std::int32_t warps_of_rows = 2, warps_of_columns = 2;  // V, W
  std::int32_t lanes() const { return 32 * warps_of_rows * warps_of_columns; }
  // Local panels [stage][row or column][term], or [stage][term][row or column] where terms are not `along`.
  std::int32_t of_rows = -1, of_columns = -1;
  bool rows_along = false, columns_along = false;
  std::int32_t results_of_rows = 0;  // R, even; C is what the accumulators leave, a multiple of 4
  std::int32_t terms = 0;            // of a stage, a multiple of 16
};
inline constexpr std::int32_t copied_bytes = 16;  // of a lane's copy

struct statement;
using block = std::vector<statement>;

enum class statement_kind : std::uint8_t { instruct, loop, guard, store, combine, prefetch, append, copy, await, mma };

struct statement {
  statement_kind kind;
  value id = none;  // instruct: the instruction; guard: the scalar condition (boolean)

  // loop: `loop` runs from `low` to `high` (i64 scalars, high exclusive) in steps of `lanes`.
  loop_kind how_loop = loop_kind::serial;
  std::int32_t loop = -1;
  value low = none, high = none;
  // vector loops: a power of two, 2 to 2048; wider than a register on purpose (several accumulators)
  std::int32_t lanes = 1;
  std::int32_t unroll = 1;  // serial loops: a hint
  std::int32_t jam = 1;     // serial loops: so many of its iterations may run at once, see passes/unroll_and_jam.hpp
  std::vector<value> equal = {};  // of jam: values of its body; iterations run at once where they have the same
  bool size_optimised =
      false;           // vector loops, a hint: few iterations, so less code (one masked body) counts more than speed
  bool whole = false;  // vector loops: the range is a multiple of the lanes
  // parallel loops: a task runs the body once, for all of its iterations; the variable is the first of them
  bool at_once = false;
  // serial and vector loops: from high - 1 down to low, vectors last first; lanes still ascend
  bool backward = false;
  amount trips = 0;  // iterations by element, predicted; 0: unknown; not printed
  amount cost = 1;  // parallel loops: nanoseconds of one iteration, estimated; not printed
  block body;       // loop, guard

  // store: `stored` into buffer `target` at `subscripts`. prefetch: these lanes of `target` are read soon; the place
  // may be outside, and no memory is touched; transposed: those of the vector loop's next iteration. combine: `stored`
  // into accumulator `target_value`. append: the loop's variable in each lane whose mask holds, in order, into the
  // local buffer `target` from place `target_value` on, a scalar accumulator (a sum of i64) that takes how many there
  // were; the loop has at most 64 lanes.
  std::int32_t target = -1;
  value target_value = none;
  value stored = none;
  value mask = none;  // lanes (or the scalar) whose mask is false are left alone
  access how = access::uniform;
  bool once = false;          // store: it does not read what it stores over, nor does the kernel soon; not printed
  bool non_temporal = false;  // store by non-temporal stores: the buffer is large and not read again soon
  bool half_line = false;     // prefetch: of so many lanes as the loop takes, the first half
  bool l2 = false;            // prefetch: into L2
  bool written = false;       // prefetch: what is stored to soon, not read
  bool apart = false;         // store: where another one next to it with this stores, none of its lanes does
  // store: combined with what is there by `fold`, by one of many threads at a time; but for sums of integers in the
  // order of lanes, where the buffer is local; on a GPU
  bool adds = false;
  monoid fold = monoid::sum;  // sum, max or min
  bool pairs = false;  // store: the next one with this goes to the next element in memory; two and two; not printed
  std::vector<value> subscripts;
  // combine of argmax and argmin: the position (i64) that goes with the value. Of a state of several values: those
  // after the first. earlier: what is combined stands before what
  // is in the accumulator, not after it.
  value position = none;
  std::vector<value> more;
  // For a GPU. copy: each lane a run of `copied_bytes` along the last dimension, of stride 1, of `target` at
  // `subscripts` and the local buffer `to` at `places`: the first `stored` (i64) of its elements; the others become 0,
  // and their memory is not touched. A gather: one element, `stored` is none. Copies next to each other are made where
  // the scalar `mask` of the first holds; all of their runs have all of their elements where its `all_whole` does.
  // await: what lanes copied before is there, and what any of them stored before, but for the last `copies_behind`
  // such groups of copies. mma: to the accumulators `more`, R rows of C, are added the products of both panels at stage
  // `stored`; by warpgroups, until an await, of which the last `products_behind` may go on.
  std::int32_t to = -1;
  std::int32_t copies_behind = 0, products_behind = 0;
  value all_whole = none;
  std::vector<value> places;
  mma_form tile = {};
  bool earlier = false;
  bool fma = false;  // combine: `stored` is a product, and this multiplies and adds at once
};

struct shared_call;

// The parallel loop of another kernel is interleaved with this one's, each cut into so many ranges.
struct interleaving {
  std::int32_t with = -1;
  std::int64_t iterations = 0;
  amount cost = 0;  // of an iteration, in nanoseconds
};

struct kernel {
  std::string name;
  std::vector<std::string> loop_names = {};  // by loop id
  std::vector<instruction> instructions = {};
  block body = {};
  interleaving interleaved = {};  // for a pass; not printed
  std::vector<std::string> notes = {};  // what lowering decided, for explain(); not printed
  bool promised = false;  // need not run again while the data that is promised stays as it is
  // On a GPU: a buffer whose first number becomes 0 where a check before found something, and this kernel does nothing.
  std::int32_t switched_off = -1;
  std::shared_ptr<const shared_call> call = {};  // instead of a body; null: there is one
};

// How a fold of the program's own combines two states of `width` values into one of them, its `component`: by steps in
// order. An argument is 0 to 2 * width - 1 for the values themselves, first state first, and 2 * width + k for step k;
// so is `result`. The folds of one state stand one after the other; an accumulator names the first, and has the
// first's type.
struct fold_step {
  op what = op::constant;  // constant or elementwise
  element type = element::f32;
  std::int64_t bits = 0;  // of a constant
  std::vector<std::int32_t> args;
};
struct own_fold {
  element type = element::f32;
  std::int64_t identity = 0;  // bits
  std::vector<fold_step> steps;
  std::int32_t result = 0;
  std::int32_t component = 0, width = 1;
};

struct module {
  std::string name;  // a C identifier: the exported entry, of type sheaf_entry
  std::vector<buffer> buffers;
  std::vector<own_fold> folds;  // by own_number of the monoid
  std::vector<kernel> kernels;  // run in this order; a kernel that writes a check buffer is followed by its test
};

// The loop that threads share: a kernel's last statement, if it has one.
inline const statement* parallel_loop(const kernel& k) {
  if (k.body.empty() || k.body.back().kind != statement_kind::loop) return nullptr;
  return k.body.back().how_loop == loop_kind::parallel ? &k.body.back() : nullptr;
}
// What a call says of them. It is no part of a kernel's text: a cost goes with the shapes of the call.
inline std::vector<amount> costs_of(const module& m) {
  std::vector<amount> list;
  for (const kernel& k : m.kernels)
    if (const statement* loop = parallel_loop(k)) list.push_back(loop->cost);
  return list;
}

// Kernels of a GPU that are the same for all programs, so that they are compiled once. Their buffers are workspaces,
// and then local ones; the last of the workspaces has no elements: its extents are numbers, which each call gives.
struct shared_module {
  module code;
  std::vector<std::int64_t> typical;  // numbers for which threads are laid out
  std::vector<std::int64_t> most;     // of every call
};
struct shared_call {
  const shared_module* of = nullptr;  // lives as long as the process
  int first = 0, end = 0;             // which of its kernels
  std::vector<std::int32_t> given;    // buffers, by its slots but the last
  std::vector<std::int64_t> numbers;  // for the last one, of one call
  std::vector<amount> formulas;       // the same; right for every call of its class
};

}  // namespace sheaf::inline v0_1::ir
