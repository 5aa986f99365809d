// Plans a graph, compiles it, runs it on data and compares every output with the slow evaluator.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "harness.hpp"

namespace sheaf::test {

// A tensor in memory: bytes, extents and strides in elements.
struct memory {
  element type;
  std::vector<std::int64_t> extents, strides;
  std::vector<unsigned char> bytes;

  static memory dense(element type, std::vector<std::int64_t> extents);
  // Row-major, but for dimensions whose places lie in the same memory; bytes beyond what that needs are there.
  static memory folded_storage(element type, std::vector<std::int64_t> extents, const std::vector<bool>& iterations);
  // The same tensor with its last dimension lying outermost.
  static memory transposed(element type, std::vector<std::int64_t> extents);
  std::int64_t count() const;
  unsigned char* at(std::int64_t position);
  template <class T>
  void put(std::int64_t position, T value) {
    std::memcpy(at(position), &value, sizeof value);
  }
  template <class T>
  T get(std::int64_t position) {
    T value;
    std::memcpy(&value, at(position), sizeof value);
    return value;
  }
  void set(std::int64_t position, double real, std::int64_t integer);
  double real(std::int64_t position);
};

// Tasks of uneven size, the last first: what depends on their order or number differs.
void in_odd_tasks(void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double);

class trial {
 public:
  explicit trial(graph source);

  std::size_t slot(const char* name);
  trial& with(const char* name, std::vector<std::int64_t> extents, const std::vector<double>& values,
              bool transposed = false);
  // Uniform in [-1, 1).
  trial& random(const char* name, std::vector<std::int64_t> extents, bool transposed = false);
  // Integers in [0, bound).
  trial& below(const char* name, std::vector<std::int64_t> extents, std::int64_t bound);

  plan::call_facts seen();
  void make_plan();
  void make_code();  // of the plan
  void make();
  std::int32_t run();

  // tolerance: relative to the largest value of an output.
  void expect_right(double tolerance = 2e-5);
  // determinism::strict, and that no number of a processor family decides a result: the bits of a processor with
  // registers of another width, and of one with hardly any cache and threads that share everything.
  void expect_same_elsewhere();
  std::string plan_text();

  graph g;
  std::vector<memory> inputs, outputs, rest;
  bool force_for_tests = false;           // see plan::call_facts
  const char* without = nullptr;          // the same
  options overrides;
  target::family on = target::families[0];
  const target::vectors* vectors = &target::widths[0];
  const char* cpu = "native";
  int level = 2;  // of the optimiser
  bool counts_work = false;     // see counted_work.hpp: the last of `rest` has what was counted
  bool turned_outputs = false;  // the caller's views are transposed
  std::optional<planned> p;
  std::optional<program> code;

 private:
  template <class Draw>
  trial& fill(const char* name, std::vector<std::int64_t> extents, Draw&& draw, bool transposed);
  std::mt19937_64 bits_{7};
};

template <class... Outputs>
trial trial_of(Outputs...) {
  return trial(detail::build_graph<Outputs...>());
}

}  // namespace sheaf::test
