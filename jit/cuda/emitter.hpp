// The state shared by the emit_*.cpp files. A kernel's text is made of statements whose names follow the IR: v3 is
// value 3 (a vector one is an array of the lanes that a thread holds), a3 an accumulator, c2 the counter of loop 2, b1
// a buffer's address.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/cuda/grid_tiles.hpp>
#include <sheaf/jit/cuda/register_rows.hpp>

namespace sheaf::inline v0_1::cuda {

struct compile_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

extern const char* const prelude_types;
extern const char* const prelude_memory;
extern const char* const prelude_groups;
extern const char* const prelude_copies;
extern const char* const prelude_mma;
extern const char* const prelude_warpgroup;

template <class... Part>
std::string cat(const Part&... part) {
  std::string out;
  const auto add = [&](const auto& p) {
    if constexpr (requires { std::to_string(p); })
      out += std::to_string(p);
    else
      out += p;
  };
  (add(part), ...);
  return out;
}

// How a kernel's threads are used.
struct layout {
  int group = 1;    // threads that share a tile
  int threads = 1;  // of a block
  bool single = false;
  std::vector<std::int64_t> offsets;  // by buffer: of locals within the bytes of a group
  std::int64_t local_bytes = 0;       // of a group
  std::optional<shapes::amount> tiles;  // of the kernel, none: not known
  std::vector<const ir::statement*>
      shared;               // loops whose iterations are tiles, the parallel one first; others below it
  int run = 1;              // lanes that may lie next to each other in a thread, so that it loads them at once
  bool in_scratch = false;  // locals lie in device memory, else in shared memory
  bool dynamic = false;     // in more of that than a kernel has without asking
  register_rows rows = {};
  int groups() const { return threads / group; }
  std::int64_t scratch_bytes() const {
    return in_scratch ? (groups() * local_bytes + 255) / 256 * 256 : 0;
  }  // of a block
};
layout layout_of(const ir::module& m, const ir::kernel& k, const target& to, call_extents extents,
                 extent_bounds bounds);
// wide_rows.cpp. The kernel with lanes enough for threads to load 16 bytes of rows that are held in registers.
std::optional<ir::kernel> with_wide_rows(const ir::module& m, const ir::kernel& k, const target& to,
                                         call_extents extents, extent_bounds bounds);

struct function_emitter {
  const ir::module& m;
  const ir::kernel& kernel;
  const target& to;
  const source& words;
  layout place;
  std::string text;

  std::vector<const ir::block*> home;  // by instruction: the block it stands in
  std::vector<int> lanes_of;           // accumulators: lanes; 0: scalar
  std::vector<int> born_in;            // accumulators: the vector loop around, or -1
  std::vector<bool> loaded, stored;    // by buffer, in this kernel
  std::vector<bool> scratch_row;       // by buffer: each thread reads of it what it stored itself
  std::vector<int> row_run;            // by buffer: in runs of so many elements; 0: not accessed
  // Accesses of local rows by the place of the lane in its loop, whole vectors of 16 bytes: loads by instruction.
  std::vector<bool> at_place = {};
  std::set<const ir::statement*> stores_at_place = {};
  // Does nothing store the buffer while this kernel loads it? What goes before in the launch of another one has.
  bool stays(std::int32_t b) const {
    const ir::role where = buffer(b).where;
    const bool of_others = (where == ir::role::workspace || where == ir::role::output) && !follows;
    return where == ir::role::input || (of_others && !stored[static_cast<std::size_t>(b)]);
  }
  bool follows = false;  // in the launch of the kernel before
  bool ahead = false;    // loads of what stays go ahead of the stores of the iterations before
  bool is_constant(std::int32_t b) const { return buffer(b).where == ir::role::input || (ahead && stays(b)); }
  bool by_thread(std::int32_t b) const;  // such a local row in runs: threads access 16 bytes side by side
  std::vector<bool> made;              // by instruction: it was emitted before its place
  const ir::block* here = nullptr;     // being written
  int depth = 1;

  std::map<const ir::statement*, std::string> pointer_of = {};  // of loads and stores in the loops around
  int pointers_made = 0;
  std::set<ir::value> loaded_along = {};  // with those of the iterations after it, before their loop
  bool has_all_registers = false;  // a thread has up to 255, as no other block needs some
  int pairs_made = 0;              // of stores
  bool in_pair = false;            // the first of two is held until the second
  call_extents extents = {};
  extent_bounds bounds = {};

  int vector_loop = -1, lanes = 0;
  int run = 1;  // lanes of the loop around that lie next to each other in a thread: lane l is its run l / run
  bool written = false;  // it is written out: see register_rows.hpp
  std::set<ir::value> loaded_before = {};  // loads whose row was loaded before the loop around
  bool backward = false;
  bool all_live = false;  // no lane of the loop around is ever dead
  const ir::block* in_lanes = nullptr;  // the body of the loop around, whose first lane is live; null: none may be
  int stored_row = -1;  // what is stored now
  std::string within = {};  // of an iteration that is written out: whether there is one; empty: there is

  const ir::instruction& instruction(ir::value v) const { return kernel.instructions[static_cast<std::size_t>(v)]; }
  const ir::buffer& buffer(std::int32_t b) const { return m.buffers[static_cast<std::size_t>(b)]; }
  int run_of(const ir::statement& vector_loop) const;
  int held(int of_lanes) const { return of_lanes > place.group ? of_lanes / place.group : 1; }

  void line(const std::string& what) {
    text.append(static_cast<std::size_t>(2 * depth), ' ').append(what).append("\n");
  }
  void open(const std::string& what) { line(what + " {"), ++depth; }
  void close() { --depth, line("}"); }

  // The value as an operand; of a vector one the element k, in a statement made by each().
  std::string ref(ir::value v) const;
  // One statement for all lanes that a thread holds.
  void each(int of_lanes, const std::string& what) {
    const int n = held(of_lanes);
    line(n > 1 ? cat("EACH(", n, ") ", what) : what);
  }
  // The register of element k of a row, in a loop that is written out.
  std::string in_row(int row) const {
    return cat("r", row, "[c", vector_loop, "_short / ", place.group, " + ", lane_k(lanes), "]");
  }
  std::string lane_k(int of_lanes) const { return held(of_lanes) > 1 ? "k" : "0"; }
  // The number of the lane that element k is.
  std::string lane(int of_lanes) const {
    const int n = held(of_lanes), group = place.group;
    if (n == 1) return "t";
    if (run == 1) return cat("(t + k * ", group, ")");
    if (run == n) return cat("(t * ", n, " + k)");
    return cat("(k / ", run, " * ", group * run, " + t * ", run, " + k % ", run, ")");
  }
  std::string live() const { return held(lanes) > 1 ? "live[k]" : "live[0]"; }
};

// emit_checks.cpp
// The checks that a body writes, and those that were found before.
std::vector<bool> written_checks(const ir::module& m, const ir::block& body, std::vector<bool> found);
// The checks of a kernel, or of one that follows in its text, found nothing.
std::string none_found(const function_emitter& f, const std::vector<bool>& own);
// What says that one of them found something; empty: there is none.
std::string failed_of(const function_emitter& f, const std::vector<bool>& checks);
// What stands at the end of a skip's line: checks of kernels that follow are put before it.
inline constexpr const char* end_of_skip = " /* skipped */ }";
void emit_skip(function_emitter& f, const std::vector<bool>& before, const std::vector<bool>& own);

// emit_block.cpp
void emit_block(function_emitter& f, const ir::block& b);
// What a vector loop's body is emitted between, where its counter is known: which lanes a thread has, and which are
// live.
void begin_lanes(function_emitter& f, const ir::statement& vector_loop);
// end_of_part: where the loop goes in parts, whose counter has 32 bits.
void emit_live_lanes(function_emitter& f, const ir::statement& vector_loop, const std::string& end_of_part = {});
void end_lanes(function_emitter& f);

// unrolling.cpp
struct unrolling {
  int times = 0;             // iterations that are written one after the other; 0: as many as the compiler likes
  bool loads_ahead = false;  // what they load goes ahead of what they store
};
unrolling unrolling_of(const function_emitter& f, const ir::statement& loop);
// The iterations of a loop below lanes, all of which are written out; 0: it stays a loop.
std::int64_t written_out(const function_emitter& f, const ir::statement& loop);
// Does a load of the body need what another one of it found?
bool chases(const function_emitter& f, const ir::block& body);

// resident_blocks.cpp
bool needs_all_registers(const function_emitter& f);
int resident_blocks(const function_emitter& f, int threads);

// emit_pointers.cpp. Loads and stores of a loop's body whose places move by `step` elements in each iteration, and are
// constants apart.
struct moving_pointer {
  struct use {
    const ir::statement* at;
    std::int64_t offset;
  };
  std::vector<use> at;
  std::int32_t buffer;
  std::string first, step, name;
  std::string along = {};  // the elements of all iterations, where they were loaded at once
};
std::vector<moving_pointer> find_pointers(const function_emitter& f, const ir::statement& loop);
void declare_pointers(function_emitter& f, std::vector<moving_pointer>& pointers);
void move_pointers(function_emitter& f, const std::vector<moving_pointer>& pointers);

// emit_value.cpp
void emit_instruction(function_emitter& f, ir::value id);
std::string op_text(op what, element from, element to, const std::vector<std::string>& args);
std::string constant_text(element type, std::int64_t bits);
const char* held_type(element type);    // f16 and bf16 as float
const char* stored_type(element type);  // in memory
std::string cast_text(element from, element to, const std::string& x);
std::string from_memory(element type, const std::string& bits);
std::string to_memory(element type, const std::string& held);

// Does the body have running folds, and nothing else that goes from lane to lane? Then a thread's lanes are all in a
// row, but for the processor's order. Those that begin anew at slices have no other form.
bool scans_in_runs(const ir::kernel& k, const ir::block& body, const target& to);
bool scans_slices(const ir::kernel& k, const ir::block& body);
// Does the store combine with what a group keeps, in the order of lanes?
bool adds_in_order(const ir::module& m, const ir::statement& s);

// emit_memory.cpp
void declare_buffers(function_emitter& f);
void declare_rows(function_emitter& f);
// What a loop that is written out takes of rows that lie in words is under way at once, before the loop.
void load_rows(function_emitter& f, const ir::statement& loop, std::int64_t iterations);
void emit_load(function_emitter& f, ir::value id, const std::string& pointer);
// before, after: do the group's threads meet there, if it is a store that needs it?
void emit_store(function_emitter& f, const ir::statement& s, bool before = true, bool after = true);
// Do the group's threads meet around it? What one stores another loads.
bool meets(const function_emitter& f, const ir::statement& store);

// emit_mma.cpp
bool has_copies(const ir::block& body);
bool has_mma(const ir::block& body);
bool multiplies_by_warpgroups(const ir::block& body);
void emit_copies(function_emitter& f, std::span<const ir::statement> copies);
void emit_await(function_emitter& f, const ir::statement& s);
void emit_mma(function_emitter& f, const ir::statement& s);

// emit_reduce.cpp
void find_accumulators(function_emitter& f);
std::string identity_text(const function_emitter& f, element type, monoid fold);
std::string functor(monoid fold);
// What an accumulator's cell is, and holds before anything is combined into it.
std::string cell_type(const function_emitter& f, const ir::instruction& accumulator);
std::string empty_cell(const function_emitter& f, const ir::instruction& accumulator);
std::string own_folds(const ir::module& m);
void emit_accumulator(function_emitter& f, ir::value id);
void emit_combine(function_emitter& f, const ir::statement& s);
void emit_read(function_emitter& f, ir::value id);
void emit_fold_lanes(function_emitter& f, ir::value id);

// emit_lanes.cpp
void emit_scan_lanes(function_emitter& f, ir::value id);
void emit_recur_lanes(function_emitter& f, ir::value id);
void emit_slide_lanes(function_emitter& f, ir::value id);
void emit_shift_lanes(function_emitter& f, ir::value id);
void emit_next_places(function_emitter& f, ir::value id);

}  // namespace sheaf::inline v0_1::cuda
