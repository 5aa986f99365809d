// What came from plans for a processor: options, folds of several values, inputs that are arranged for a call.
#include <gtest/gtest.h>

#include <support/both.hpp>

#include "machine.hpp"
#include "rows.hpp"

namespace {

using namespace sheaf;
using namespace test::of_rows;
using test::sentence_of;

constexpr auto w = tensor<"w", float, 2>;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto products = define<"products">(f) = sum(t, x(t, f) * w(t, f));
constexpr auto gathered = define<"gathered">(m) = z(pick(m));
constexpr auto welford = own_monoid<"welford">(tuple(0_c, 0_c, 0_c), [](auto a, auto b) {
  const auto n = get<0>(a) + get<0>(b);
  const auto part = get<0>(b) / maximum(n, 1_c);
  const auto gap = get<1>(b) - get<1>(a);
  return tuple(n, get<1>(a) + gap * part, get<2>(a) + get<2>(b) + gap * gap * get<0>(a) * part);
});
constexpr auto spread = define<"spread">(t) = get<2>(fold(welford, f, tuple(1_c, x(t, f), 0_c)));

// As on a processor under strict: of two ways to round, both take the fused one.
TEST(plans, products_that_are_summed_are_fused) {
  const stream s(on(gpu));
  const float a = 1 + 0x1p-12f, b = 1 + 0x1p-11f;
  const auto left = to_device(test::filled(array<float, 2>(2, 4), {-b, -b, -b, -b, a, a, a, a}), s);
  const auto right = to_device(test::filled(array<float, 2>(2, 4), {1, 1, 1, 1, a, a, a, a}), s);
  const auto fused = compile(products, on(gpu));
  const auto strict = compile(determinism::strict, products, on(gpu));
  for (const float p : to_host(fused(x = left, w = right, on(s)), s)) EXPECT_EQ(p, 0x1p-24f);
  for (const float p : to_host(strict(x = left, w = right, on(s)), s)) EXPECT_EQ(p, 0x1p-24f);
}

// Blocks of the emulation come in shuffled order, so sums do as well.
TEST(plans, scatters_by_atomics) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 90, 5);
  array<std::int64_t, 1> names(1000);
  for (std::int64_t n = 0; n < 1000; ++n) names.data()[n] = n % 3 == 0 ? 89 : n * 7919 % 90;
  const auto given = test::noise_array<float>(-1, 1, 1000, 5);
  const auto flat = test::noise_array<float>(-1, 1, 1000);
  const auto table = test::noise_array<float>(-1, 1, 90);
  const options atomic{.scatters = scatters::atomic};
  const auto program = compile(atomic, vjp(taken, x), vjp(gathered, z), on(gpu));
  const auto there = to_device(rows, s), cotangents = to_device(given, s);
  const auto which = to_device(names, s);
  const auto few = to_device(table, s), flats = to_device(flat, s);
  const auto [dx, dz] =
      program(x = there, z = few, pick = which, cotangent(taken) = cotangents, cotangent(gathered) = flats, on(s));
  const auto [dx0, dz0] = reference(vjp(taken, x), vjp(gathered, z))(
      x = rows, z = table, pick = names, cotangent(taken) = given, cotangent(gathered) = flat);
  test::expect_agree(to_host(dx, s), dx0, 1000, "rows");  // of at most 1000 additions of numbers below 1
  test::expect_agree(to_host(dz, s), dz0, 1000, "elements");
  EXPECT_NE(std::string(program.explain(x = there, z = few, pick = which, cotangent(taken) = cotangents,
                                        cotangent(gathered) = flats))
                .find("added by atomics"),
            std::string::npos);
}

TEST(plans, atomics_are_refused_where_bits_or_a_processor_are_asked_for) {
  EXPECT_EQ(sentence_of([] {
              compile(options{.determinism = determinism::strict, .scatters = scatters::atomic}, gathered, on(gpu));
            }),
            "bad_argument: compile: options.scatters: expected scatters::planned where determinism is strict, found "
            "scatters::atomic");
  EXPECT_EQ(
      sentence_of([] { compile(options{.scatters = scatters::atomic}, gathered); }),
      "bad_argument: compile: options.scatters: expected scatters::planned where the program is not for a GPU, found "
      "scatters::atomic");
  const stream s(on(gpu));
  const auto rows = to_device(test::noise_array<float>(-1, 1, 20, 8), s);
  const auto sums = compile(options{.scatters = scatters::atomic}, across, on(gpu));
  EXPECT_THROW(sums(x = rows, on(s)), error);  // nothing is scattered
}

TEST(plans, options_that_no_plan_can_follow_are_refused) {
  const stream s(on(gpu));
  EXPECT_EQ(sentence_of([] { compile(options{.lanes = 3}, products, on(gpu)); }),
            "bad_argument: compile: options.lanes: expected 0 or a power of two from 4 to 256, found 3");
  const auto tables = compile(options{.algorithm = algorithm::block_tree}, products, on(gpu));
  const auto rows = to_device(test::noise_array<float>(-1, 1, 20, 8), s);
  EXPECT_THROW(tables(x = rows, w = rows, on(s)), error);
  const auto lanes = compile(options{.lanes = 4}, products, on(gpu));
  EXPECT_NE(std::string(lanes.explain(x = rows, w = rows)).find("4 lanes"), std::string::npos)
      << lanes.explain(x = rows, w = rows);
}

TEST(plans, folds_of_several_values) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 9, 333);
  const auto program = compile(spread, grad(sum(t, spread(t)), x), on(gpu));
  const auto [found, slope] = program(x = to_device(rows, s), on(s));
  const auto [expected, slope0] = reference(spread, grad(sum(t, spread(t)), x))(x = rows);
  test::expect_agree(to_host(found, s), expected, 512, "spread");
  test::expect_agree(to_host(slope, s), slope0, 512, "gradient");
}

TEST(plans, rows_of_few_columns_are_one_dimension) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 100, 4);
  const auto table = test::noise_array<float>(-1, 1, 10);
  const auto there = to_device(rows, s);
  const auto good = to_device(test::filled(array<std::int64_t, 1>(2), {3, 9}), s);
  const auto bad = to_device(test::filled(array<std::int64_t, 1>(2), {3, 10}), s);
  const auto device_table = to_device(table, s);
  const auto program = compile(across, gathered, on(gpu));
  const auto [sums, picked] = program(x = there, z = device_table, pick = good, on(s));
  test::expect_agree(to_host(sums, s), reference(across)(x = rows), 64, "across");
  EXPECT_EQ(to_host(picked, s).data()[1], table.data()[9]);
  EXPECT_NE(std::string(program.explain(x = there, z = device_table, pick = good)).find("are one dimension"),
            std::string::npos);
  const auto unused = program(x = there, z = device_table, pick = bad, on(s));
  EXPECT_EQ(
      sentence_of([&] { s.synchronise(); }),
      "index_out_of_range: tensor z, dimension 0: expected a subscript from 0 to 9, found 10 for pick(m) at m = 1");
  // Rows with gaps are as they are.
  const device_view<const float, 2> part = device_view_of(std::as_const(there).pointer(), {100, 3}, {4, 1});
  const auto [of_part, again] = program(x = part, z = device_table, pick = good, on(s));
  const auto same = view_of(rows.data(), {100, 3}, {4, 1});
  test::expect_agree(to_host(of_part, s), reference(across)(x = same), 64, "across a part");
}

}  // namespace
