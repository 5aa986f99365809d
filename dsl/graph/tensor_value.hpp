// What the evaluator takes and yields: a tensor's values, or what went wrong. Shown by tests/static/evaluate.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/dsl/graph/half.hpp>

namespace sheaf::inline v0_1 {

// Row-major. Floating types fill `reals`, the others `integers`.
struct tensor_value {
  element type = element::f64;
  flat<std::int64_t> extents;
  flat<double> reals;
  flat<std::int64_t> integers;

  constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

enum class evaluation_fault : std::uint8_t {
  none,
  wrong_argument,       // an input is missing, or its rank, a static extent, its type class or its size disagrees
  extents_disagree,     // a constraint: subscript = left, extent = right, node = the left side
  subscript,            // a load out of range: node = the load, and tensor, dimension, subscript, extent
  demand,               // one of the graph's: dimension = which, subscript = found, extent = limit, at = the positions
  unbound_index,        // an index without a value: node = the index
  ragged_definition     // a definition's index has a range that depends on another index: node = the definition
};

struct evaluation_status {
  evaluation_fault fault = evaluation_fault::none;
  node_id node = no_node;
  node_id tensor = no_node;
  int dimension = 0;
  std::int64_t subscript = 0;
  std::int64_t extent = 0;
  flat<std::int64_t> at = {};
  constexpr bool ok() const { return fault == evaluation_fault::none; }
};

// In constant evaluation the compiler stops here and prints the arguments of this call.
inline void evaluation_stops() {}
constexpr void evaluation_failed(evaluation_fault, [[maybe_unused]] node_id node, [[maybe_unused]] node_id tensor,
                                 [[maybe_unused]] int dimension, [[maybe_unused]] std::int64_t subscript,
                                 [[maybe_unused]] std::int64_t extent) {
  if (std::is_constant_evaluated()) evaluation_stops();
}

struct evaluation {
  tensor_value value;
  evaluation_status status;
  // For static_assert: a failure to evaluate is a failure to compile.
  constexpr const tensor_value& get() const {
    if (!status.ok())
      evaluation_failed(status.fault, status.node, status.tensor, status.dimension, status.subscript, status.extent);
    return value;
  }
};

}  // namespace sheaf::inline v0_1
