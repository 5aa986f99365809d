#include <sheaf/runtime/view.hpp>

#include <string>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime {

void fail_axis(const char* operation, int axis, int rank) {
  fail(code::bad_argument, operation, "an axis of [0, " + std::to_string(rank) + ")", std::to_string(axis));
}

void fail_rank(std::int64_t expected, std::int64_t found) {
  fail(code::rank_mismatch, "conversion to a view", "rank " + std::to_string(expected),
       "rank " + std::to_string(found));
}

void fail_layout() {
  fail(code::bad_argument, "conversion to a view", "a layout with strides", "an mdspan whose layout has none");
}

void fail_range(std::int64_t begin, std::int64_t end, std::int64_t extent) {
  fail(code::bad_argument, "slice of a view", "a range within [0, " + std::to_string(extent) + ")",
       "[" + std::to_string(begin) + ", " + std::to_string(end) + ")");
}

void fail_step(std::int64_t step) {
  fail(code::bad_argument, "stride of a view", "a step that is not zero and can be negated", std::to_string(step));
}

}  // namespace sheaf::inline v0_1::runtime
