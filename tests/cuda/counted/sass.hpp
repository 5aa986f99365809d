// The machine code of sm_90, as far as it is counted: what each instruction is for, how many bytes
// it moves, and where loops are. Encoding: 16 bytes an instruction, the operation in the lowest 9 bits, as nvdisasm
// shows it. Shown by sass.cpp's rows and tests/cuda/counted/main.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::test {

enum class sass_kind {
  load, store, shared, local, atomic, exchange, barrier, integer, floating, function, tensor, other
};
inline constexpr int sass_kinds = 12;
const char* name_of(sass_kind k);

struct sass_instruction {
  sass_kind kind = sass_kind::other;
  int bytes = 0;               // of a load or store of global memory
  int in_shared = 0;           // of a load of matrices, or of a copy to shared memory
  std::int64_t branch = -1;    // of a branch: the instruction that it goes to
  bool always = false;         // of a branch or an end: whatever the predicates
  bool ends = false;           // the function
};

struct sass_counts {
  int of[sass_kinds] = {};
  int loaded = 0, stored = 0;  // bytes of global memory a thread
  int in_shared = 0;           // bytes of matrices that warps load, and of copies, a thread
  int all() const;
};

// A loop that moves global memory and has no such loop inside. Of branches in it the way counts that moves most, of
// equal ones the one of fewest instructions.
struct sass_loop {
  std::int64_t first = 0, last = 0;
  sass_counts counts;
  int barriers_around = 0;  // in this loop and those around it
};

std::vector<sass_instruction> decode(const unsigned char* code, std::size_t bytes);

// In the order of the code. What is left over from a loop that was unrolled is no loop of its own.
std::vector<sass_loop> hot_loops(const std::vector<sass_instruction>& code);

}  // namespace sheaf::test
