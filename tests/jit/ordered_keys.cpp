// Rule `ordered keys`: terms that a comparison of keys leaves, of keys that ascend and of others.
#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/sheaf.hpp>

#include "plan_harness.hpp"

namespace sheaf::test {
namespace {
}
}  // namespace sheaf::test
