// Programs whose plan once did not come to an end.
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test {
namespace {

// How long the range of h is says a definition over m, and how long that of m is one over h.
TEST(planned, ranges_that_walk_over_each_other) {
  array<std::int64_t, 1> p(15);
  const array<std::int32_t, 2> none(0, 0), columns(1, 0);
  for (int k = 0; k < 15; ++k) p(k) = 0;
  const text_program program(
      "d5 = sum(over(j.in(0, cut(0, 1)), h.in(extent(p, 0), (-1), (-1)).where(h != 0 || h < j)), cast<f64>(1))\n"
      "d9(s, m.in(0, 1)) = logsumexp(h.in(0, ends(s, 1)), d5)\n"
      "loss = sum(over(i, j), d9(i, j))\noutput loss");
  const std::vector<named_argument> with{{"p", p}, {"cut", none}, {"ends", columns}};
  try {
    program(with);
    ADD_FAILURE() << "no element to read";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code::index_out_of_range) << e.what();
  }
}

}  // namespace
}  // namespace sheaf::test
