// The state shared by the emit_*.cpp files: one `emitter` a module, one `function_emitter` a function being written.
#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Analysis/InstSimplifyFolder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/target/vectors.hpp>

namespace sheaf::inline v0_1::llvm_backend {

// What the emitter needs to know of the processor.
struct target_facts {
  const target::architecture* of = &target::architectures[0];
  target::vectors vectors;
  bool fma = false, f16c = false;
  bool exact_sum = false;
};

struct compile_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The target lacks what a promise of the program's needs.
struct cannot_keep : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using builder = llvm::IRBuilder<llvm::InstSimplifyFolder>;

struct debug_lines;

struct emitter {
  const ir::module& source;
  target_facts target;
  llvm::Module& module;
  debug_lines* lines = nullptr;  // null: debuggers see names of functions alone
};

// What an accumulator holds: a value; for argmax and argmin also its position; of a state of several values each.
using state = std::vector<llvm::Value*>;
// An accumulator, one cell for each. Cells become registers (mem2reg).
struct cell {
  std::vector<llvm::AllocaInst*> parts;
  // slide_lanes: the last iteration's folds of 1, 2, 4, ... lanes; shift_lanes: the first alone
  std::vector<llvm::AllocaInst*> slides;
  int lanes = 0;     // 0: scalar
  int born_in = -1;  // the vector loop it was declared in: dead lanes of its tail need no masking
};

struct buffer_facts {
  llvm::Value* data = nullptr;
  llvm::Value* end = nullptr;  // of an input's elements, once that was asked for
  std::vector<llvm::Value*> extents, strides;
};

// Iterations of a loop whose transposed accesses are made at once. See emit_transposed.cpp.
struct function_emitter;
using loop_body = void (*)(function_emitter& f, const ir::statement& s, llvm::Value* counter);
struct column_group {
  loop_body body = nullptr;
  int column = -1;               // of the iteration at hand; -1: none, or one that only run time knows:
  llvm::Value* place = nullptr;  // which, i64, counted from
  llvm::Value* first = nullptr;  // here (of iterations that may run again: the first of the last ones),
  llvm::Value* count = nullptr;  // of how many, fewer than transposed_columns
  int all = 0;                   // columns of rows that stand one after the other; 0: rows stand anywhere
  struct access {
    std::vector<llvm::Value*> columns, rows;  // what was loaded, or is to be stored; where rows are
    llvm::AllocaInst* tile = nullptr;         // the same of iterations that only run time knows
  };
  std::unordered_map<const void*, access> accesses;  // by instruction or statement
  explicit operator bool() const { return column >= 0 || place != nullptr; }
};

// A vector loop that folds: how many of its lanes a row of no more elements meets, alone. See emit_tail.cpp.
struct narrow_row {
  llvm::Value* count = nullptr;  // i64, of the row's elements
  int lanes = 0;
};

struct function_emitter {
  function_emitter(emitter& owner, const ir::kernel& kernel, llvm::Function* function);

  emitter& m;
  const ir::kernel& kernel;
  llvm::Function* function;
  llvm::BasicBlock* prologue;  // holds stack slots and what is known of buffers; runs into the body
  builder build;

  std::vector<llvm::Value*> values;    // by instruction id: what it was last emitted as
  std::vector<cell> cells;             // by instruction id
  std::vector<llvm::Value*> counters;  // by loop id
  std::vector<narrow_row> narrow_rows;   // by loop id
  std::vector<ir::value> folded;       // folds of lanes that were emitted with one before them
  llvm::Value* run_end = nullptr;      // of the loop that takes its iterations at once
  std::vector<buffer_facts> buffers;   // by buffer id

  bool backward = false;  // the direction of the vector loop around
  int vector_loop = -1;   // the vector loop around the current place, its lanes, and the live lanes in its tail
  int lanes = 0;
  int whole_lanes = 0;  // the lanes of its whole groups: as many as the loop has, or as the registers hold
  int first_lane = 0;   // of the accumulators' lanes, where a rest meets fewer of them
  bool size_optimised = false;        // it has no body without a mask
  llvm::Value* tail_mask = nullptr;   // <lanes x i1>; null in the main loop
  llvm::Value* tail_count = nullptr;  // i64, 1 to lanes

  column_group group;

  llvm::Value* zero_slot = nullptr;  // 64 bytes of zeros that a masked-off load reads
  llvm::Value* sink_slot = nullptr;  // 64 bytes that a masked-off store writes
  bool stores_plainly = false;       // whatever the statement says
  bool outlines = false;             // functions of numbers are called: inline, so many would take LLVM minutes
  bool streams = false;              // stores by non-temporal stores were made: they are ordered before the return

  const ir::instruction& instruction(ir::value v) const { return kernel.instructions[static_cast<std::size_t>(v)]; }
  const ir::buffer& buffer(std::int32_t b) const { return m.source.buffers[static_cast<std::size_t>(b)]; }
  llvm::Value* call() const { return function->getArg(0); }
  llvm::AllocaInst* stack_slot(llvm::Type* type, const char* name);
};

inline llvm::Value* content_of(function_emitter& f, llvm::AllocaInst* slot) {
  return f.build.CreateLoad(slot->getAllocatedType(), slot);
}

// emit_module.cpp
void emit_module(emitter& m);

// debug_lines.cpp: of the function, and of what is built from here on.
void begin_lines(function_emitter& f);
void at_line(function_emitter& f, const ir::statement& s);

// emit_block.cpp
void emit_block(function_emitter& f, const ir::block& b);
void emit_counted_loop(function_emitter& f, const ir::statement& s, llvm::Value* low, llvm::Value* high,
                       std::int64_t step, loop_body body);
// The body once, for iterations from low to below high, if there are any.
void emit_run(function_emitter& f, const ir::statement& s, llvm::Value* low, llvm::Value* high);
// An iteration, whole.
void set_counter(function_emitter& f, const ir::statement& s, llvm::Value* counter);

// emit_tail.cpp
int lanes_of_groups(const function_emitter& f, const ir::statement& s);
// An iteration, masked: the lanes that are left from `counter` on.
void masked_body(function_emitter& f, const ir::statement& s, llvm::Value* counter);
// `rest` lanes from `start` on, if there are any; from 0 to lanes - 1.
void emit_tail(function_emitter& f, const ir::statement& s, llvm::Value* start, llvm::Value* rest);
// The same in groups that suit how many they are, not of a loop that runs backward; of `count` elements in all.
void emit_rest(function_emitter& f, const ir::statement& s, llvm::Value* start, llvm::Value* high, llvm::Value* rest,
               llvm::Value* count);

// What `then` makes where the condition holds, else what `other` makes, value by value.
using values_maker = llvm::function_ref<std::vector<llvm::Value*>()>;
std::vector<llvm::Value*> emit_either(function_emitter& f, llvm::Value* condition, values_maker then,
                                      values_maker other);
llvm::Value* at_most(function_emitter& f, llvm::Value* count, int lanes);

// hoist.cpp. Of a loop just written, whose blocks are `first` and all that were made after `done`.
void hoist_from_loop(const function_emitter& f, llvm::BasicBlock* before, llvm::BasicBlock* first,
                     llvm::BasicBlock* done);

// emit_value.cpp
void emit_instruction(function_emitter& f, ir::value id);
llvm::Value* emit_op(function_emitter& f, op what, element from, element to, std::span<llvm::Value* const> args);

// emit_condition.cpp
llvm::Value* emit_place_comparison(function_emitter& f, const ir::instruction& i);
llvm::Value* emit_choice(function_emitter& f, ir::value condition, llvm::Value* x, llvm::Value* y);

// emit_facts.cpp
buffer_facts& facts_of(function_emitter& f, std::int32_t id);
llvm::Value* buffer_extent(function_emitter& f, std::int32_t b, int dimension);
// Where the elements of an input end that lie one after the other; null, if they don't.
llvm::Value* end_of(function_emitter& f, std::int32_t id);

// emit_memory.cpp
llvm::Value* sink(function_emitter& f);  // 64 bytes that nothing reads
llvm::Value* emit_load(function_emitter& f, const ir::instruction& i);
void emit_store(function_emitter& f, const ir::statement& s);

void emit_prefetch(function_emitter& f, const ir::statement& s);
void emit_prefetch_of(function_emitter& f, llvm::Value* address, const ir::statement& s);
void emit_append(function_emitter& f, const ir::statement& s);
// zero_bits: those of the address that have to be 0 besides those within a line; null: none.
void emit_stream_store(function_emitter& f, llvm::Value* address, llvm::Value* bits, llvm::Align align,
                       llvm::Value* zero_bits);

// emit_by_lane.cpp: one element after the other. Of lanes without a mask, or masked off, loads give zero and stores do
// nothing.
struct lane_access {
  llvm::Type* element;
  llvm::Align align;
  int lanes;
  llvm::Value* pointer;
  llvm::Value* offsets = nullptr;  // <lanes x i64>, of elements; null: 0
  llvm::Value* stride = nullptr;   // i64, of elements: lane k is k of it further; null: 0 with offsets, else 1
  llvm::Value* mask = nullptr;     // <lanes x i1>; null: all
  llvm::Value* count = nullptr;    // i64, lanes before it alone; null: all
  llvm::Value* instead = nullptr;  // address of what is masked off
  // Where offsets are, but for a scale (i64), in memory that holds still: an integer of type `index` for each lane.
  llvm::Value *indices = nullptr, *scale = nullptr;
  llvm::Type* index = nullptr;
};
llvm::Value* spilled(function_emitter& f, llvm::Value* vector);  // where lanes are loaded one by one
inline constexpr int most_lanes_written_out = 16;
bool is_written_out(const function_emitter& f, const lane_access& a);
llvm::Value* load_written_out(function_emitter& f, const lane_access& a);
bool goes_by_lane(const function_emitter& f, int lanes);
llvm::Value* load_by_lane(function_emitter& f, const lane_access& a);
void store_by_lane(function_emitter& f, const lane_access& a, llvm::Value* bits);

// emit_deinterleaved.cpp: lanes deinterleaved over the row at `pointer`, `mask` may be null. False: it would take too
// many loads.
bool may_deinterleave(const function_emitter& f, const ir::lane_pattern& apart, int bytes, bool masked);
llvm::Value* emit_deinterleaved(function_emitter& f, const ir::lane_pattern& apart, llvm::Type* element, int bytes,
                                llvm::Value* pointer, llvm::Value* mask);

// emit_transposed.cpp: in iterations of a column group.
void emit_transposed_loop(function_emitter& f, const ir::statement& s, loop_body body);
llvm::Value* emit_transposed_load(function_emitter& f, const ir::instruction& i);
void emit_transposed_store(function_emitter& f, const ir::statement& s, llvm::Value* bits);
void emit_transposed_prefetch(function_emitter& f, const ir::statement& s);
// run_again.cpp: where an iteration changes nothing if it runs once more. It only loads, computes and stores, none of
// it to memory that it loads from, unless an output updates an input. Null: nowhere.
llvm::Value* may_run_again(function_emitter& f, const ir::statement& s);

// emit_fold.cpp
bool has_position(monoid fold);
std::vector<element> types_of_state(const function_emitter& f, const ir::instruction& accumulator);
llvm::Type* cell_type(llvm::LLVMContext& c, element type);
llvm::Constant* highest_position(llvm::Type* type);
llvm::Constant* identity(const function_emitter& f, llvm::Type* type, element of, monoid fold);
llvm::Value* combined(function_emitter& f, element type, monoid fold, llvm::Value* a, llvm::Value* b);
state combined(function_emitter& f, element type, monoid fold, const state& a, const state& b);

// emit_reduce.cpp
void emit_accumulator(function_emitter& f, ir::value id);
void emit_combine(function_emitter& f, const ir::statement& s);
llvm::Value* emit_read(function_emitter& f, const ir::instruction& i);
state contents_of(function_emitter& f, const cell& c);
// Some lanes of a vector, from the first-th on.
llvm::Value* part_of(function_emitter& f, llvm::Value* whole, int lanes, int first);
// What a whole state is worth: the value asked for, the k-th of a tuple's.
llvm::Value* worth(function_emitter& f, const ir::instruction& accumulator, const state& whole, std::int32_t k);

// emit_folds.cpp: of one accumulator; of that at `begin` and those after it in the block that are alike.
llvm::Value* emit_fold_lanes(function_emitter& f, ir::value id);
void emit_folds_of_lanes(function_emitter& f, const ir::block& body, std::size_t begin);

// emit_lanes.cpp
llvm::Value* emit_scan_lanes(function_emitter& f, const ir::instruction& i);
llvm::Value* emit_recur_lanes(function_emitter& f, const ir::instruction& i);
llvm::Value* emit_slide_lanes(function_emitter& f, const ir::instruction& i);
llvm::Value* emit_shift_lanes(function_emitter& f, const ir::instruction& i);
// NaN in either gives NaN; of two equal zeros either.
llvm::Value* emit_extreme(function_emitter& f, element type, bool largest, llvm::Value* a, llvm::Value* b);

// emit_masked.cpp: consecutive lanes, the others zero and untouched.
llvm::Value* masked_load(function_emitter& f, llvm::Type* type, llvm::Value* address, llvm::Align align,
                         llvm::Value* mask);
void masked_store(function_emitter& f, llvm::Value* bits, llvm::Value* address, llvm::Align align, llvm::Value* mask);
// The first `count` lanes, one at least, of elements of so many bytes that only pairs of them have masks.
bool masks_pairs(const function_emitter& f, int bytes, int lanes);
llvm::Value* load_pairs(function_emitter& f, llvm::Type* type, llvm::Value* address, llvm::Align align,
                        llvm::Value* count);
// The first `count` lanes, one at least, without a mask.
void store_prefix(function_emitter& f, llvm::Value* vector, llvm::Value* address, llvm::Align align,
                  llvm::Value* count);

// types.cpp: how an element is held in registers (f16, bf16 as f32; boolean as i1) and in memory (i16; i8).
llvm::Type* held_type(llvm::LLVMContext& context, element type);
llvm::Type* stored_type(llvm::LLVMContext& context, element type);
llvm::Value* from_memory(function_emitter& f, element type, llvm::Value* bits);
llvm::Value* to_memory(function_emitter& f, element type, llvm::Value* held);
llvm::Value* emit_cast(function_emitter& f, element from, element to, llvm::Value* x);
llvm::Type* widen(llvm::Type* scalar, int lanes);          // lanes 0: the scalar itself
llvm::Type* like(llvm::Value* shape, llvm::Type* scalar);  // as many lanes as `shape` has
std::pair<llvm::Value*, llvm::Value*> halves(function_emitter& f,
                                             llvm::Value* whole);    // of a vector: first lanes, last lanes
llvm::Value* splat(function_emitter& f, llvm::Value* x, int lanes);  // a vector stays as it is
llvm::Constant* iota(llvm::LLVMContext& context, int bits, int lanes);

// math.cpp. Halves are held as f32, so the type of the arguments says which of two it is.
bool is_math(op what);  // has math.cpp a row for it?
llvm::Value* emit_math(function_emitter& f, op what, std::span<llvm::Value* const> args);
// math_division.cpp: the lanes of `a` by one number, the same bits as of the instruction.
llvm::Value* emit_division_by_one(function_emitter& f, llvm::Value* a, llvm::Value* divisor);
// Lanes of i64 by a scalar, rounded towards minus infinity. other: the same in code that is right for any numbers.
llvm::Value* emit_place_division(function_emitter& f, llvm::Value* a, llvm::Value* divisor, bool remainder,
                                 llvm::function_ref<llvm::Value*()> other);

}  // namespace sheaf::inline v0_1::llvm_backend
