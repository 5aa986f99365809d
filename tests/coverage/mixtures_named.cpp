// Mixtures by name, of the same tasks, and seeds that once found a mistake.
#include <gtest/gtest.h>

#include <coverage/mixture.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::mixtures;

enum domains { ragged_and_masked = 3, window = 4, bags = 7 };
enum maps { as_it_is = 0, gathered_rows = 4, segment_softmax = 18 };
enum elements { plain = 0, weighted = 1 };
enum reductions {
  mean_of = 1,
  logsumexp_of = 5,
  argmax_read = 9,
  argmax_of = 14,
  variance_and_count = 15,
  in_order = 16
};

TEST(mixture, masked_mean_of_gathered_rows_in_ragged_slices) {
  constexpr auto y = composed<choice{gathered_rows, as_it_is, ragged_and_masked, plain, mean_of, 0}>();
  test::check_everywhere(test::both_orders("masked mean of gathered rows", y, x), 3);
}
TEST(mixture, argmax_of_a_window) {
  constexpr auto places = composed<choice{as_it_is, as_it_is, window, plain, argmax_of, 0}>();
  test::check_everywhere(test::value_of("argmax of a window", places), 3);
  constexpr auto read = composed<choice{as_it_is, as_it_is, window, weighted, argmax_read, 0}>();
  test::check_everywhere(test::both_orders("what stands at the argmax of a window", read, x), 3);
}
TEST(mixture, logsumexp_over_a_bag_with_weights) {
  constexpr auto y = composed<choice{as_it_is, as_it_is, bags, weighted, logsumexp_of, 0}>();
  test::check_everywhere(test::both_orders("logsumexp over a bag", y, x), 3);
  test::check_everywhere(test::both_orders("logsumexp over a bag, by the weights", y, weight), 3);
}
TEST(mixture, second_derivative_of_a_segment_softmax) {
  constexpr auto y = map<1>::of(mixtures::number<segment_softmax>{}, x);
  test::check_everywhere(test::both_orders("segment softmax", y, x), 3);
}

// Folds of tuples in every domain.
template <int Domain>
void check_tuples() {
  constexpr auto variance = composed<choice{as_it_is, as_it_is, Domain, weighted, variance_and_count, 0}>();
  constexpr auto last = composed<choice{as_it_is, as_it_is, Domain, plain, in_order, 0}>();
  test::check_everywhere(test::first_order("variance and count", variance, x), Domain);
  test::check_everywhere(test::first_order("one after the other", last, x), Domain);
}
TEST(mixture, tuples_in_every_domain) {
  [&]<int... Domain>(std::integer_sequence<int, Domain...>) {
    (check_tuples<Domain>(), ...);
  }(std::make_integer_sequence<int, domain::tasks>{});
}

}  // namespace

SHEAF_MIXTURE(63)   // a recurrence beside an index whose range is data
SHEAF_MIXTURE(92)   // a reduction over the index of the loop around it; a scan of what is the same everywhere
SHEAF_MIXTURE(95)   // an extremum of values that change with the index it runs along
SHEAF_MIXTURE(109)  // a recurrence beside an index whose range another index bounds
SHEAF_MIXTURE(120)  // a reduction of another stage in a loop whose lanes its range depends on
SHEAF_MIXTURE(252)  // a choice outside of a sum that is another one in a sum over its own index
