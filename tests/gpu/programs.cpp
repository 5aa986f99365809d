// Whole programs through compile(..., on(gpu)), compared with the reference: calls, streams, graphs, workspace, errors
// in the data.
#include <gtest/gtest.h>

#include <support/both.hpp>

#include "machine.hpp"
#include "rows.hpp"

namespace {

using namespace sheaf;
using test::of_rows::m, test::of_rows::t, test::of_rows::f, test::of_rows::k, test::of_rows::x;
using test::of_rows::cut, test::of_rows::pooled, test::of_rows::total;
using fake::with;
using test::sentence_of;

constexpr auto pick = tensor<"pick", std::int64_t, 2>;
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
constexpr auto doubled = define<"doubled">(t, f) = x(t, f) + x(t, f);
constexpr auto gathered = define<"gathered">(m, f) = sum(k, x(pick(m, k), f));

array<std::int64_t, 2> bounds() { return test::filled(array<std::int64_t, 2>(4, 2), {3, 5, 1, 8, 4, 8, 6, 9}); }

TEST(programs, value_and_gradient) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 10, 4);
  const auto step = compile(loss, grad(loss, x), on(gpu));
  const auto [l, dx] = step(x = to_device(rows, s), cut = to_device(bounds(), s), on(s));
  const auto [l0, dx0] = reference(loss, grad(loss, x))(x = rows, cut = bounds());
  test::expect_agree(to_host(l, s), l0, 64, "loss");
  test::expect_agree(to_host(dx, s), dx0, 64, "gradient");
  EXPECT_NE(std::string(step.explain(x = l.view().device == 0 ? dx : dx, cut = to_device(bounds(), s))).find("threads"),
            std::string::npos);
}

TEST(programs, with_kept_indices) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 10, 4);
  const auto step = compile(loss, grad(loss, x), on(gpu));
  const auto here = to_device(rows, s);
  const auto slices = to_device(bounds(), s);
  auto fixed = step.keep(cut = slices);
  const auto [l, dx] = step(x = here, cut = slices, on(s));
  for (int call = 0; call < 2; ++call) {
    const auto [l2, dx2] = step(x = here, fixed, on(s));
    test::expect_agree(to_host(l2, s), to_host(l, s), 0, "loss");
    test::expect_agree(to_host(dx2, s), to_host(dx, s), 0, "gradient");
  }
  const auto fewer = to_device(test::noise_array<float>(-1, 1, 9, 4), s);
  EXPECT_EQ(
      sentence_of([&] { step(x = fewer, fixed, on(s)); }),
      "extent_mismatch: call with kept indices, argument x, dimension 0: expected extent 10 as in their first call, or "
      "changed() before, found 9");
}

TEST(programs, on_the_default_stream_and_into_views) {
  const auto rows = test::noise_array<float>(-1, 1, 50, 8);
  const device_array<float, 2> there = to_device(rows, on(gpu));
  const auto sums = compile(total, on(gpu));
  device_array<float, 1> out(on(gpu), 8);
  sums(x = there, total = out);
  test::expect_agree(to_host(out), reference(total)(x = rows), 64, "total");
  // A part of it, by strides: every other row.
  const device_view<const float, 2> part = device_view_of(std::as_const(there).pointer(), {25, 8}, {16, 1});
  sums(x = part, total = out);
  test::expect_agree(to_host(out), reference(total)(x = view<const float, 2>(rows).strided(0, 2)), 64,
                     "total of a part");
}

TEST(programs, on_another_device) {
  if (gpu_count() < 2) GTEST_SKIP() << "one GPU: there is no other";
  const auto rows = test::noise_array<float>(-1, 1, 6, 3);
  const stream s(on(gpu, 1));
  const auto twice = compile(doubled, on(gpu, 1));
  const auto out = twice(x = to_device(rows, s), on(s));
  EXPECT_EQ(out.device(), 1);
  test::expect_agree(to_host(out), reference(doubled)(x = rows), 1, "doubled");
  const device_array<float, 2> elsewhere = to_device(rows, on(gpu));
  EXPECT_EQ(sentence_of([&] { twice(x = elsewhere, on(s)); }),
            "bad_argument: argument x: expected memory of gpu 1, found memory of gpu 0");
  const stream wrong(on(gpu));
  EXPECT_EQ(sentence_of([&] { twice(x = to_device(rows, s), on(wrong)); }),
            "bad_argument: call on a stream: expected one of gpu 1, found one of gpu 0");
}

TEST(programs, a_device_that_is_not_there) {
  SHEAF_FAKE_ONLY();
  EXPECT_EQ(sentence_of([] { compile(total, on(gpu, 5)); }),
            "device_failed: gpu 5: expected one of the devices of this machine, found gpu 0 to gpu 1");
}

TEST(programs, a_wrong_index_reaches_the_next_synchronisation_and_nothing_is_written) {
  const stream s(on(gpu)), other(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 9, 4);
  const auto wrong = test::filled(array<std::int64_t, 2>(3, 2), {1, 2, 0, 9, 8, 8});
  const auto right = test::filled(array<std::int64_t, 2>(3, 2), {1, 2, 0, 4, 8, 8});
  const device_array<float, 2> there = to_device(rows, s);
  const device_array<std::int64_t, 2> bad = to_device(wrong, s), good = to_device(right, s);
  const auto program = compile(gathered, on(gpu));
  auto out = to_device(test::filled(array<float, 2>(3, 4), {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}), s);
  s.synchronise();
  EXPECT_NO_THROW(program(x = there, pick = bad, gathered = out, on(s)));
  EXPECT_NO_THROW(other.synchronise());
  EXPECT_EQ(
      sentence_of([&] { s.synchronise(); }),
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 8, found 9 for pick(m, k) at m = 1, "
      "k = 1");
  for (const float o : to_host(out, s)) ASSERT_EQ(o, 7);  // and the error is thrown once
  // The first of several is reported, though calls after it were right.
  program(x = there, pick = bad, gathered = out, on(s));
  program(x = there, pick = good, gathered = out, on(s));
  EXPECT_THROW(s.synchronise(), error);
  test::expect_agree(to_host(out, s), reference(gathered)(x = rows, pick = right), 4, "gathered");
}

TEST(programs, many_calls_after_a_wrong_one_do_not_hide_it) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 9, 4);
  const device_array<float, 2> there = to_device(rows, s);
  const auto bad = to_device(test::filled(array<std::int64_t, 2>(1, 1), {-3}), s);
  const auto good = to_device(test::filled(array<std::int64_t, 2>(1, 1), {3}), s);
  const auto program = compile(gathered, on(gpu));
  device_array<float, 2> out(s, 1, 4);
  program(x = there, pick = bad, gathered = out, on(s));
  for (int n = 0; n < 100; ++n) program(x = there, pick = good, gathered = out, on(s));
  // Its parameters are forgotten by now, so the value is not known.
  EXPECT_EQ(
      sentence_of([&] { synchronise(on(gpu)); }),
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 8, found one outside for pick(m, k) "
      "at m = 0, k = 0");
}

TEST(programs, to_host_throws_what_the_data_was_wrong_with) {
  const stream s(on(gpu));
  const auto program = compile(gathered, on(gpu));
  const auto out = program(x = to_device(test::noise_array<float>(-1, 1, 9, 4), s),
                           pick = to_device(test::filled(array<std::int64_t, 2>(1, 1), {9}), s), on(s));
  EXPECT_THROW(to_host(out, s), error);
}

TEST(programs, a_captured_call_follows_its_data) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 9, 4);
  device_array<float, 2> there = to_device(rows, s);
  auto which = to_device(test::filled(array<std::int64_t, 2>(1, 2), {0, 1}), s);
  device_array<float, 2> out(s, 1, 4);
  const auto program = compile(gathered, on(gpu));
  program.reserve(x = there, pick = which, gathered = out, on(s));
  s.synchronise();
  const graph_launch g = capture(s, [&] { program(x = there, pick = which, gathered = out, on(s)); });
  for (const double at : {2.0, 5.0}) {
    const auto next = test::filled(array<std::int64_t, 2>(1, 2), {at, at + 1});
    copy(which.view(), view<const std::int64_t, 2>(next), s);
    g.launch(s);
    test::expect_agree(to_host(out, s), reference(gathered)(x = rows, pick = next), 4, "replayed");
  }
  // What the data of a replay is wrong with is thrown on the stream that it was launched on.
  const auto next = test::filled(array<std::int64_t, 2>(1, 2), {2, 77});
  copy(which.view(), view<const std::int64_t, 2>(next), s);
  s.synchronise();
  const stream elsewhere(on(gpu));
  g.launch(elsewhere);
  EXPECT_EQ(
      sentence_of([&] { elsewhere.synchronise(); }),
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 8, found 77 for pick(m, k) at m = 0, "
      "k = 1");
  EXPECT_NO_THROW(elsewhere.synchronise());
  // Plain calls on the stream go on, in memory of their own.
  const auto fine = test::filled(array<std::int64_t, 2>(1, 2), {4, 4});
  copy(which.view(), view<const std::int64_t, 2>(fine), s);
  program(x = there, pick = which, gathered = out, on(s));
  test::expect_agree(to_host(out, s), reference(gathered)(x = rows, pick = fine), 4, "called again");
}

TEST(programs, a_capture_neither_allocates_nor_waits) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 10, 4), s);
  const device_array<std::int64_t, 2> cuts = to_device(bounds(), s);
  device_array<float, 0> l(s);
  device_array<float, 2> dx(s, 10, 4);
  const auto step = compile(loss, grad(loss, x), on(gpu));
  step(x = there, cut = cuts, loss = l, grad(loss, x) = dx, on(s));
  s.synchronise();
  const long allocations = fake::calls("cuMemAllocFromPoolAsync"), waits = fake::calls("cuStreamSynchronize");
  const graph_launch g = capture(s, [&] { step(x = there, cut = cuts, loss = l, grad(loss, x) = dx, on(s)); });
  EXPECT_EQ(fake::calls("cuMemAllocFromPoolAsync"), allocations);
  EXPECT_EQ(fake::calls("cuStreamSynchronize"), waits);
  g.launch(s);
  s.synchronise();
}

TEST(programs, a_capture_without_a_call_before_says_what_is_missing) {
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 10, 4), s);
  const device_array<std::int64_t, 2> cuts = to_device(bounds(), s);
  device_array<float, 0> l(s);
  device_array<float, 2> dx(s, 10, 4);
  const auto step = compile(loss, grad(loss, x), on(gpu));
  capturing c(s);
  EXPECT_EQ(sentence_of([&] { step(x = there, cut = cuts, loss = l, grad(loss, x) = dx, on(s)); }),
            "unsupported: a captured call: expected a call or reserve() on this stream before the capture, found none");
}

TEST(programs, workspace_of_the_callers) {
  const stream s(on(gpu));
  const auto rows = test::noise_array<float>(-1, 1, 10, 4);
  const device_array<float, 2> there = to_device(rows, s);
  const device_array<std::int64_t, 2> cuts = to_device(bounds(), s);
  const auto step = compile(loss, grad(loss, x), on(gpu));
  const std::size_t bytes = step.workspace_bytes(x = there, cut = cuts);
  ASSERT_GT(bytes, 0u);
  device_array<std::uint8_t, 1> own(s, bytes);
  const auto [l, dx] = step(x = there, cut = cuts, on(s).workspace(own.pointer(), bytes));
  test::expect_agree(to_host(l, s), std::get<0>(reference(loss, grad(loss, x))(x = rows, cut = bounds())), 64, "loss");
  const std::string said = sentence_of([&] { step(x = there, cut = cuts, on(s).workspace(own.pointer(), 1)); });
  EXPECT_EQ(said,
            "bad_argument: workspace of a call: expected " + std::to_string(bytes) + " bytes, 256-aligned, found 1");
}

TEST(programs, a_stream_may_go_before_its_programs) {
  const auto rows = to_device(test::noise_array<float>(-1, 1, 10, 4), on(gpu));
  const auto cuts = to_device(bounds(), on(gpu));
  synchronise(on(gpu));
  const auto step = compile(loss, grad(loss, x), on(gpu));
  const auto in_use = [] { return test::on_real_gpu() ? 0 : fake::allocated(0); };  // a real one is not asked
  const long long before = in_use();
  for (int n = 0; n < 3; ++n) {
    const stream s(on(gpu));
    const auto [l, dx] = step(x = rows, cut = cuts, on(s));
    s.synchronise();
  }
  synchronise(on(gpu));
  EXPECT_EQ(in_use(), before);
}

TEST(programs, a_ready_call_makes_the_least_of_driver_calls) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 6, 3), s);
  device_array<float, 2> out(s, 6, 3);
  const auto twice = compile(doubled, on(gpu));
  twice(x = there, doubled = out, on(s));
  s.synchronise();
  const long launches = fake::calls("cuLaunchKernel"), allocations = fake::calls("cuMemAllocFromPoolAsync"),
             copies = fake::calls("cuMemcpyHtoDAsync_v2"), waits = fake::calls("cuStreamSynchronize");
  for (int n = 0; n < 10; ++n) twice(x = there, doubled = out, on(s));
  EXPECT_EQ(fake::calls("cuLaunchKernel"), launches + 10);
  EXPECT_EQ(fake::calls("cuMemAllocFromPoolAsync"), allocations);
  EXPECT_EQ(fake::calls("cuMemcpyHtoDAsync_v2"), copies);
  EXPECT_EQ(fake::calls("cuStreamSynchronize"), waits);
}

TEST(programs, what_fails_while_a_program_is_made_or_launched_is_named) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 11, 3), s);
  const auto tripled = compile(define<"tripled">(t, f) = x(t, f) * 3_c, on(gpu));
  for (const char* call : {"cuModuleLoadDataEx", "cuModuleGetFunction", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                           "cuFuncGetAttribute", "cuLaunchKernel"}) {
    const with failing("FAKE_FAIL", std::string(call) + ":400");
    EXPECT_EQ(sentence_of([&] { tripled(x = there, on(s)); }),
              std::string("device_failed: ") + call +
                  ": expected success, found CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle");
  }
  EXPECT_NO_THROW(tripled(x = there, on(s)));
}

TEST(programs, code_is_shared_by_equal_programs) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 6, 3), s);
  const auto one = compile(doubled, on(gpu));
  one(x = there, on(s));
  const long before = fake::compiles();
  const auto two = compile(doubled, on(gpu));
  two(x = there, on(s));
  EXPECT_EQ(fake::compiles(), before);
  s.synchronise();
}

TEST(programs, what_a_device_reports_late_is_thrown_where_it_is_waited_for) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(test::noise_array<float>(-1, 1, 6, 3), s);
  const auto twice = compile(doubled, on(gpu));
  twice(x = there, on(s));
  s.synchronise();
  {
    const with crash("FAKE_CRASH", "700");
    EXPECT_NO_THROW(twice(x = there, on(s)));
  }
  EXPECT_EQ(sentence_of([&] { s.synchronise(); }),
            "device_failed: cuStreamSynchronize: expected success, found CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal "
            "memory access was encountered");
  EXPECT_THROW(twice(x = there, on(s)), error);
  fake::recover();
  EXPECT_NO_THROW(twice(x = there, on(s)));
}

}  // namespace
