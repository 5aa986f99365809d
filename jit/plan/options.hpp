// What the caller of compile may decide instead of the planner, and what it may ask for. Light: api/compile.hpp shows
// it.
//
//   auto step = compile(options{.determinism = determinism::strict}, loss, grad(loss, x));
#pragma once
#include <cstdint>

namespace sheaf::inline v0_1 {

// Which calls give the same bits for the same inputs and shapes. standard: run after run, for any number of threads.
// strict: also for any vector width, that is on every processor with fused multiply-add; on others it is an error.
enum class determinism : std::uint8_t { standard, strict };

// off: each stage is a kernel of its own and walks its data by itself.
enum class fusion : std::uint8_t { planned, off };

// How reductions over slices of data run, and the sums that spread back over them. direct: row by row, each task
// asking every slice; inverse_index: by lists of the slices that meet each chunk of rows; block_tree: by tables of
// blocks where slices overlap.
enum class algorithm : std::uint8_t { planned, direct, inverse_index, block_tree };

// Whether threads share a kernel. off: the calling thread runs everything; always: all that has tasks is offered to
// the pool.
enum class sharing : std::uint8_t { planned, off, always };

// How sums go to rows that data names, on a GPU. planned: in one order, by lists of the updates of each row. atomic:
// every update is added where it belongs at once, in the order in which the device comes to them: sums of f32 may
// differ from run to run in their last digits. Refused where determinism is strict, and on a processor.
enum class scatters : std::uint8_t { planned, atomic };

// Which calls share a kernel. automatic: calls that are planned alike, see docs/shapes.md. classes: calls of a class of
// extents, of which a program has a few, planned for the usual extents of it. exact: calls of the same extents.
enum class shape_policy : std::uint8_t { automatic, classes, exact };

// A program whose plan cannot follow them does not become a kernel: error code::unsupported, with the reason. They are
// part of what a kernel is kept under. lanes, algorithm, scatters and classes change the order of additions, and so
// last bits; the others do not.
struct options {
  sheaf::determinism determinism = sheaf::determinism::standard;
  sheaf::fusion fusion = sheaf::fusion::planned;
  sheaf::algorithm algorithm = sheaf::algorithm::planned;
  sheaf::sharing sharing = sheaf::sharing::planned;
  sheaf::scatters scatters = sheaf::scatters::planned;
  shape_policy shapes = shape_policy::automatic;
  // false: a call whose kernel is not there throws code::not_ready at once, and a thread in the background compiles it.
  // prepare(...) waits for it, ready(...) asks. Programs for a GPU wait.
  bool wait = true;
  int lanes = 0;                 // of every vector loop: a power of two from 4 to 256; 0: planned
  const char* target = nullptr;  // an LLVM name, such as "x86-64-v3"; null: as SHEAF_TARGET says, else this processor
};

}  // namespace sheaf::inline v0_1
