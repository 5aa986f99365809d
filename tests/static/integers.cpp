// Integer division: floor, a remainder with the divisor's sign, and 0 where the divisor is 0 (semantics.md).
#include <sheaf/dsl/graph/make.hpp>

namespace {
using namespace sheaf;

constexpr std::int64_t quotient_of(std::int64_t a, std::int64_t b) { return row(op::quotient).integer(a, b, 0); }
constexpr std::int64_t remainder_of(std::int64_t a, std::int64_t b) { return row(op::remainder).integer(a, b, 0); }

static_assert(quotient_of(7, 2) == 3 && quotient_of(-7, 2) == -4 && quotient_of(7, -2) == -4 &&
              quotient_of(-7, -2) == 3);
static_assert(remainder_of(7, 3) == 1 && remainder_of(-7, 3) == 2 && remainder_of(7, -3) == -2 &&
              remainder_of(-7, -3) == -1);
static_assert(quotient_of(7, 0) == 0 && remainder_of(7, 0) == 0);
static_assert(quotient_of(INT64_MIN, -1) == INT64_MIN && remainder_of(INT64_MIN, -1) == 0);

}  // namespace
