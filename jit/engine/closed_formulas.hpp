// Integer expressions of constants and extents as one list of operations: what a call needs of them costs a few
// nanoseconds each, and no memory. Input: nodes of a graph. Output: their values for the extents of a call.
// Shown by tests/jit/closed_formulas.cpp. Private header.
#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/shapes/amount.hpp>

namespace sheaf::inline v0_1::jit {

// Where the extent of an input's dimension stands among those of a call, and what it is multiplied by.
struct extent_place {
  int place = 0;
  std::int64_t times = 1;
};

class closed_formulas {
 public:
  // places: by input and dimension. The graph is not kept.
  closed_formulas(const graph& g, std::vector<std::vector<extent_place>> places) : g_(&g), places_(std::move(places)) {}

  // Where the value of an expression will stand; -1: it is not of constants and extents alone (facts::exact).
  int add(node_id n);
  // No more are added.
  void close() { g_ = nullptr, places_ = {}, known_ = {}; }
  // Valid until the thread's next call.
  std::span<const std::int64_t> values(std::span<const std::int64_t> extents) const;
  std::size_t bytes() const { return list_.size() * sizeof(operation); }

 private:
  struct operation {
    shapes::integer_function apply = nullptr;  // null: a is a number, or with b = -2 the place of an extent
    std::int64_t a = 0, b = 0, c = 0;
  };
  int put(const operation& o);
  int made(node_id n);

  const graph* g_;
  std::vector<std::vector<extent_place>> places_;
  std::unordered_map<node_id, int> known_;
  std::vector<operation> list_;
};

}  // namespace sheaf::inline v0_1::jit
