#include <sheaf/jit/engine/runner.hpp>

namespace sheaf::jit {

std::unique_ptr<runner> make_native_runner(const graph& g, const call_class& arguments) {
  return make_reference_runner(g, arguments);
}

}  // namespace sheaf::jit
