// What plans may know of a processor: constants of its family. Nothing that is measured on a machine enters a plan or
// a kernel's text, so that a program has the same kernels on every machine of a family, in every run.
// Shown by tests/jit/options.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <sheaf/jit/shapes/amount.hpp>
#include <sheaf/jit/target/vectors.hpp>

namespace sheaf::inline v0_1::target {

// They decide whether threads share a loop, which kernels are interleaved, which stores are non-temporal, what is
// prefetched, and the times that plans predict: nothing that changes a result.
struct family {
  const char* name;
  double read, write;  // bytes a nanosecond: loads from memory, and non-temporal stores, by all threads of a few cores
  double copy;         // both directions together
  double operation;    // nanoseconds of a weight of 1, see numerics.hpp
  double function;     // nanoseconds of one of exp, log and their like, of f32 in lanes
  double second_cache, last_cache;  // bytes that one core reaches
  double wake = 10000;  // nanoseconds until threads that sleep have shared a loop, half of what the pool asks for

  // Outputs as large are stored non-temporally, if they are not read again soon.
  constexpr double non_temporal_from() const { return last_cache / 2; }
  // Inputs as large come from memory: they are prefetched.
  constexpr double from_memory() const { return last_cache / 8; }
  // Inputs as large were driven out of a core's own caches since the last call.
  constexpr double from_last_cache() const { return second_cache; }
  // Nanoseconds that so many bytes take at least.
  shapes::amount time(const shapes::amount& bytes_read, const shapes::amount& bytes_written) const {
    return max(max(bytes_read / read, bytes_written / write), (bytes_read + bytes_written) / copy);
  }
};

// x86_64: what is typical of servers and desktops. zen: measured on two cores of a Zen 4. core: as x86_64, with the
// L2 of Sapphire Rapids; not measured. aarch64: as x86_64; not measured.
inline constexpr family families[] = {
    {.name = "x86_64", .read = 50, .write = 50, .copy = 60, .operation = 0.5, .function = 0.5, .second_cache = 1 << 20,
     .last_cache = 32 << 20},
    {.name = "zen", .read = 26, .write = 26, .copy = 32, .operation = 0.34, .function = 0.5, .second_cache = 1 << 20,
     .last_cache = 32 << 20},
    {.name = "aarch64", .read = 50, .write = 50, .copy = 60, .operation = 0.5, .function = 0.5, .second_cache = 1 << 20,
     .last_cache = 32 << 20},
    {.name = "core", .read = 50, .write = 50, .copy = 60, .operation = 0.5, .function = 0.5, .second_cache = 2 << 20,
     .last_cache = 32 << 20},
};

// Of kernels ahead of time: what a library may hold code for.
struct build_target {
  const char* name;  // of sheaf_add_kernels(... TARGETS ...)
  const char* architecture;
  const char* cpu;   // of LLVM
  int level;         // of the x86-64 psABI
  const char* family;
};
inline constexpr build_target build_targets[] = {
    {.name = "x86-64", .architecture = "x86_64", .cpu = "x86-64", .level = 1, .family = "x86_64"},
    {.name = "x86-64-v2", .architecture = "x86_64", .cpu = "x86-64-v2", .level = 2, .family = "x86_64"},
    {.name = "x86-64-v3", .architecture = "x86_64", .cpu = "x86-64-v3", .level = 3, .family = "x86_64"},
    {.name = "x86-64-v4", .architecture = "x86_64", .cpu = "x86-64-v4", .level = 4, .family = "x86_64"},
    {.name = "aarch64", .architecture = "aarch64", .cpu = "generic", .level = 0, .family = "aarch64"},
};
struct build_system {
  const char* name;
  const char* triple_rest;  // after the architecture
  const char* suffix;       // of objects
};
inline constexpr build_system build_systems[] = {
    {"linux", "-unknown-linux-gnu", ".o"},
    {"windows", "-pc-windows-msvc", ".obj"},
    {"mingw", "-w64-windows-gnu", ".obj"},  // its library has other names for what probes the stack
    {"macos", "-apple-macosx11.0", ".o"},
};

// What cpuid says of a processor.
struct identification {
  std::uint32_t vendor[3] = {}, signature = 0;           // leaves 0 and 1
  std::uint32_t basic_c = 0, basic_d = 0;                // of leaf 1
  std::uint32_t more_b = 0, more_c = 0, more_d = 0;      // of leaf 7
  std::uint32_t newer_a = 0, newer_d = 0;                // of leaf 7, 1
  std::uint32_t amd_c = 0;                               // of leaf 0x80000001
  std::uint32_t state = 0;                               // of registers, as the system saves them (xgetbv)
};
// What code for it is kept under: all that instructions depend on, and nothing in which two machines of one model
// differ, so that a kernel cache may be copied from one to the other.
std::string key_of(const identification& id);
// Of that name; null: there is none.
const family* named(std::string_view name);
// That of the processor this runs on.
const family& here();
// The registers of a processor by LLVM's name for it, as far as the name says; empty: of the processor this runs on.
// A guess costs time only.
const vectors& vectors_of(std::string_view processor);
// The same as far as generated code depends on it: its family, model and features.
std::string key_of_this();

}  // namespace sheaf::inline v0_1::target
