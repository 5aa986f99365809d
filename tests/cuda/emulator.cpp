#include "emulator.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

struct sheaf_dim {
  unsigned x, y, z;
};
extern "C" {
sheaf_dim sheaf_thread, sheaf_block, sheaf_grid;
void sheaf_switch(void** save, void* to);
void sheaf_fiber_start();
void sheaf_fiber_main();
void sheaf_barrier(int line);
void sheaf_warp_sync(unsigned mask, int line);
unsigned long long sheaf_shuffle(unsigned mask, unsigned long long bits, int from, int width, int line);
const unsigned long long* sheaf_gather(unsigned mask, unsigned long long bits, int line);
}

// The registers that a call preserves go onto the stack that is left; floating-point modes are the same everywhere.
asm(R"(
.text
.globl sheaf_switch
.type sheaf_switch, @function
sheaf_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sheaf_switch, .-sheaf_switch
.globl sheaf_fiber_start
.type sheaf_fiber_start, @function
sheaf_fiber_start:
  andq $-16, %rsp
  call sheaf_fiber_main
  hlt
.size sheaf_fiber_start, .-sheaf_fiber_start
)");

namespace sheaf::test {

namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr unsigned warp = 32;

enum class waits : std::uint8_t { nothing, barrier, sync, shuffle, gather, over };

struct fiber {
  std::unique_ptr<char[]> stack;
  void* sp = nullptr;
  waits state = waits::nothing;
  unsigned mask = 0;
  std::uint64_t bits = 0;
  int from = 0, width = 0;
  int line = 0;
  std::uint64_t met = 0;       // collectives of a warp since the last barrier: those that meet have met as often
  std::uint64_t barriers = 0;  // of the block; groups of a block may have met differently often between them
};

// Of a warp: which threads wait or have ended, and what each brought to the collective that it met last.
struct warp_state {
  unsigned stopped = 0;
  unsigned long long gathered[warp] = {};
};

// Enough to shuffle threads, in a fraction of the time that std::mt19937_64 takes (SplitMix64, Steele et al., 2014).
struct splitmix {
  using result_type = std::uint64_t;
  std::uint64_t state = 0;
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t n) { return ((*this)() >> 32) * n >> 32; }
};

struct machine {
  std::vector<fiber> fibers;
  std::vector<warp_state> warps;
  std::vector<unsigned> ready;
  unsigned threads = 0, current = 0;
  unsigned at_barrier = 0, over = 0;  // how many wait at the barrier of fiber `first_there`, how many have ended
  unsigned first_there = 0;
  void* scheduler = nullptr;
  const std::function<void()>* thread = nullptr;
  std::string trouble;
  splitmix dice;
};
machine here;

std::string said(unsigned thread) {
  return "block " + std::to_string(sheaf_block.x) + ", thread " + std::to_string(thread) + ": ";
}
void complain(const std::string& what) {
  if (here.trouble.empty()) here.trouble = said(here.current) + what;
}
void leave() { sheaf_switch(&here.fibers[here.current].sp, here.scheduler); }
void wake(unsigned i) {
  here.fibers[i].state = waits::nothing;
  here.warps[i / warp].stopped &= ~(1u << i % warp);
  here.ready.push_back(i);
}
void stop(unsigned i) { here.warps[i / warp].stopped |= 1u << i % warp; }

// All threads of the mask wait at the same place: they go on, each with the bits of the one it asked for.
void try_warp(unsigned first, unsigned mask) {
  const fiber& mine = here.fibers[here.current];
  warp_state& own = here.warps[first / warp];
  const unsigned there = here.threads - first >= warp ? ~0u : (1u << (here.threads - first)) - 1;
  if ((mask & ~there) != 0) return complain("a mask names threads that are not there");
  if ((mask & ~own.stopped) != 0) return;
  for (unsigned l = 0; l < warp; ++l) {
    if (!(mask >> l & 1u)) continue;
    const fiber& other = here.fibers[first + l];
    if (other.state == waits::over) return complain("a collective with a thread that has ended");
    if (other.state != mine.state || other.mask != mask || other.line != mine.line || other.met != mine.met)
      return complain("a collective with a thread that waits elsewhere");
  }
  std::uint64_t results[warp] = {};
  for (unsigned l = 0; l < warp; ++l) {
    if (!(mask >> l & 1u)) continue;
    const fiber& f = here.fibers[first + l];
    own.gathered[l] = f.bits;
    if (mine.state != waits::shuffle) continue;
    const unsigned width = static_cast<unsigned>(f.width),
                   source = (l & ~(width - 1)) + (static_cast<unsigned>(f.from) & (width - 1));
    if (!(mask >> source & 1u)) return complain("a shuffle from a thread outside of the mask");
    results[l] = here.fibers[first + source].bits;
  }
  for (unsigned l = 0; l < warp; ++l) {
    if (!(mask >> l & 1u)) continue;
    here.fibers[first + l].bits = results[l];
    wake(first + l);
  }
}

std::uint64_t at_warp(waits kind, unsigned mask, std::uint64_t bits, int from, int width, int line) {
  const unsigned i = here.current;
  fiber& f = here.fibers[i];
  f.state = kind, f.mask = mask, f.bits = bits, f.from = from, f.width = width, f.line = line, ++f.met;
  stop(i);
  if (!(mask >> (i % warp) & 1u)) complain("a collective whose mask does not name the thread itself");
  try_warp(i / warp * warp, mask);
  leave();
  return here.fibers[i].bits;
}

void at_barrier(int line) {
  fiber& f = here.fibers[here.current];
  f.state = waits::barrier, f.line = line, ++f.barriers, f.met = 0;
  stop(here.current);
  if (here.at_barrier++ == 0) here.first_there = here.current;
  const fiber& first = here.fibers[here.first_there];
  if (here.over != 0) complain("a barrier that a thread does not reach, for it has ended");
  if (first.line != line || first.barriers != f.barriers) complain("a barrier with a thread that waits at another");
  if (here.at_barrier == here.threads && here.trouble.empty()) {
    here.at_barrier = 0;
    for (unsigned i = 0; i < here.threads; ++i) wake(i);
  }
  leave();
}

// Stacks are whole pages apart: their tops differ by `colour`, so that not all of them meet in a few lines of L1.
void prepare(fiber& f, unsigned colour) {
  if (!f.stack) f.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + stack_bytes - colour) & ~std::uintptr_t{63};
  auto* words = reinterpret_cast<void**>(top) - 8;
  std::memset(words, 0, 8 * sizeof *words);
  words[6] = reinterpret_cast<void*>(&sheaf_fiber_start);
  f.sp = words;
  f.met = f.barriers = 0;
  f.state = waits::nothing;
}

void run_block() {
  here.fibers.resize(here.threads);
  here.warps.assign((here.threads + warp - 1) / warp, {});
  here.ready.clear();
  here.at_barrier = here.over = 0;
  for (unsigned i = 0; i < here.threads; ++i) {
    prepare(here.fibers[i], i % 64 * 832);
    here.ready.push_back(i);
  }
  while (!here.ready.empty() && here.trouble.empty()) {
    const std::size_t k = here.dice.below(here.ready.size());
    here.current = here.ready[k];
    here.ready[k] = here.ready.back();
    here.ready.pop_back();
    sheaf_thread = {here.current, 0, 0};
    sheaf_switch(&here.scheduler, here.fibers[here.current].sp);
  }
  for (unsigned i = 0; i < here.threads && here.trouble.empty(); ++i)
    if (here.fibers[i].state != waits::over) here.trouble = said(i) + "waits for threads that never come";
  if (!here.trouble.empty()) throw emulation_error(here.trouble);
}

}  // namespace

void emulate(const std::function<void()>& thread, unsigned threads, unsigned blocks, std::uint64_t seed) {
  here.thread = &thread;
  here.threads = threads;
  here.trouble.clear();
  here.dice = {seed};
  std::vector<unsigned> order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), here.dice);
  sheaf_grid = {blocks, 1, 1};
  for (const unsigned b : order) {
    sheaf_block = {b, 0, 0};
    run_block();
  }
}

}  // namespace sheaf::test

using namespace sheaf::test;

void sheaf_fiber_main() {
  (*here.thread)();
  here.fibers[here.current].state = waits::over;
  stop(here.current);
  ++here.over;
  leave();
}
void sheaf_barrier(int line) { at_barrier(line); }
void sheaf_warp_sync(unsigned mask, int line) { at_warp(waits::sync, mask, 0, 0, 1, line); }
unsigned long long sheaf_shuffle(unsigned mask, unsigned long long bits, int from, int width, int line) {
  return at_warp(waits::shuffle, mask, bits, from, width, line);
}
const unsigned long long* sheaf_gather(unsigned mask, unsigned long long bits, int line) {
  at_warp(waits::gather, mask, bits, 0, 1, line);
  return here.warps[here.current / warp].gathered;
}
