// Runs a kernel's blocks one after the other and a block's threads as fibers, each until it waits for others. Blocks
// come in shuffled order, and which thread goes on is drawn too, so that a result that depends on either differs from
// run to run. A barrier that not all threads reach, and a shuffle whose threads went different ways, end the run with
// a sentence.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace sheaf::test {

struct emulation_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void emulate(const std::function<void()>& thread, unsigned threads, unsigned blocks, std::uint64_t seed);

}  // namespace sheaf::test
