// Index data that is kept from call to call on a device: the same bits, no list made twice on a stream or in a graph,
// and nothing touched outside whatever becomes of the data.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include <support/both.hpp>

#include "machine.hpp"
#include "rows.hpp"

namespace {

using namespace sheaf;
using test::of_rows::m, test::of_rows::t, test::of_rows::f, test::of_rows::k, test::of_rows::x, test::of_rows::cut;
using test::sentence_of;

constexpr auto b = axis<"b">;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;
constexpr auto sel = tensor<"sel", std::int64_t, 1>;
constexpr auto bags = define<"bags">(b, f) = sum(k, x(ids(b, k), f));
constexpr auto bag_loss = define<"bag_loss">() = sum(over(b, f), bags(b, f) * bags(b, f));
constexpr auto means = define<"means">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto mean_loss = define<"mean_loss">() = sum(over(m, f), means(m, f) * means(m, f));

constexpr int rows = 700, columns = 8, many = 300, each = 8;

array<std::int64_t, 2> some_ids(std::int64_t seed) {
  array<std::int64_t, 2> made(many, each);
  for (std::int64_t n = 0; n < made.size(); ++n) made.data()[n] = (n * n * 7919 + seed * n) % rows;
  return made;
}
array<std::int64_t, 2> some_slices() {
  array<std::int64_t, 2> made(many, 2);
  for (std::int64_t n = 0; n < many; ++n) {
    made(n, 0) = n * 7919 % rows;
    made(n, 1) = std::min<std::int64_t>(rows, made(n, 0) + n % 37);
  }
  return made;
}
array<float, 2> some_rows() { return test::noise_array<float>(-1, 1, rows, columns); }

template <class A, class B>
bool same_bits(const A& one, const B& other) {
  return one.size() == other.size() &&
         std::memcmp(one.data(), other.data(), static_cast<std::size_t>(one.size()) * sizeof(*one.data())) == 0;
}
// Kernels that a call queues; -1 where nobody counts.
template <class Call>
long kernels_of(Call&& call) {
  const auto count = [] { return test::on_real_gpu() ? 0 : fake::calls("cuLaunchKernel"); };
  const long before = count();
  call();
  return count() - before;
}

template <class Step, class Kept, class Named>
void expect_same_bits(const Step& step, const Kept& fixed, const Named& named, const stream& s) {
  long first = 0, later = 0;
  for (int call = 0; call < 3; ++call) {
    const auto data = to_device(some_rows(), s);
    const auto [l, dx] = step(x = data, named, on(s));
    (call == 0 ? first : later) = kernels_of([&] {
      const auto [l2, dx2] = step(x = data, fixed, on(s));
      EXPECT_TRUE(same_bits(to_host(l, s), to_host(l2, s)));
      EXPECT_TRUE(same_bits(to_host(dx, s), to_host(dx2, s)));
    });
  }
  const auto data = to_device(some_rows(), s);
  const std::string plan = step.explain(x = data, fixed);
  EXPECT_NE(plan.find("in the first call only"), std::string::npos) << plan;
  EXPECT_GT(fixed.bytes(), 0u);
  if (!test::on_real_gpu()) {
    EXPECT_GE(first, later + 4) << "a sort by one digit\n" << plan;
  }
}

TEST(promised, scatters_have_the_same_bits_and_sort_once) {
  const stream s(on(gpu));
  const auto step = compile(bag_loss, grad(bag_loss, x), on(gpu));
  const auto pick = to_device(some_ids(1), s);
  const auto fixed = step.keep(ids = pick);
  expect_same_bits(step, fixed, ids = pick, s);
  const auto data = some_rows();
  const auto [l, dx] = step(x = to_device(data, s), fixed, on(s));
  const auto [l0, dx0] = reference(bag_loss, grad(bag_loss, x))(x = data, ids = some_ids(1));
  test::expect_agree(to_host(dx, s), dx0, 256, "gradient");
}

TEST(promised, lists_of_slices_have_the_same_bits) {
  const stream s(on(gpu));
  const auto step = compile(mean_loss, grad(mean_loss, x), on(gpu));
  const auto slices = to_device(some_slices(), s);
  const auto fixed = step.keep(cut = slices);
  expect_same_bits(step, fixed, cut = slices, s);
}

TEST(promised, graphs_replay_without_sorting) {
  const stream s(on(gpu));
  const auto step = compile(bag_loss, grad(bag_loss, x), on(gpu));
  const auto pick = to_device(some_ids(1), s);
  auto fixed = step.keep(ids = pick);
  auto data = to_device(some_rows(), s);
  device_array<float, 0> l(s);
  device_array<float, 2> dx(s, rows, columns);
  const auto call = [&] { step(x = data, fixed, bag_loss = l, grad(bag_loss, x) = dx, on(s)); };
  EXPECT_THROW(capture(s, call), error);  // nothing was reserved
  step.reserve(x = data, fixed, bag_loss = l, grad(bag_loss, x) = dx, on(s));
  const long whole = kernels_of([&] { const graph_launch sorts = capture(s, call); });
  const long first = kernels_of(call);
  EXPECT_EQ(whole, first);  // what a capture queues has not run, so the call after it sorts as well
  s.synchronise();          // before the call has ended nobody knows whether a check stopped it
  std::optional<graph_launch> g;
  const long replayed = kernels_of([&] { g.emplace(capture(s, call)); });
  if (!test::on_real_gpu()) {
    EXPECT_LE(replayed, first - 4);
  }
  fixed.changed();  // the graph has what it was captured with
  for (int iteration = 0; iteration < 2; ++iteration) {
    const auto next = test::noise_array<float>(-1, 2 + iteration, rows, columns);
    copy(data.view(), view<const float, 2>(next), s);
    g->launch(s);
    const auto [l0, dx0] = reference(bag_loss, grad(bag_loss, x))(x = next, ids = some_ids(1));
    test::expect_agree(to_host(dx, s), dx0, 256, "replayed");
  }
}

TEST(promised, each_stream_learns_and_changed_forgets) {
  const stream s(on(gpu)), other(on(gpu));
  const auto step = compile(bag_loss, grad(bag_loss, x), on(gpu));
  auto pick = to_device(some_ids(1), s);
  const auto data = some_rows();
  const auto here = to_device(data, s);
  auto fixed = step.keep(ids = pick);
  s.synchronise();
  const auto expect = [&](const stream& on_which, std::int64_t seed) {
    const auto [l, dx] = step(x = here, fixed, on(on_which));
    const auto [l0, dx0] = reference(bag_loss, grad(bag_loss, x))(x = data, ids = some_ids(seed));
    test::expect_agree(to_host(dx, on_which), dx0, 256, "gradient");
  };
  expect(s, 1);
  const std::size_t one = fixed.bytes();
  expect(other, 1);
  EXPECT_EQ(fixed.bytes(), 2 * one);
  copy(pick.view(), view<const std::int64_t, 2>(some_ids(5)), s);
  s.synchronise();
  fixed.changed();
  EXPECT_EQ(fixed.bytes(), 0u);
  expect(s, 5);
}

// Subscripts are checked in every call. One that fails may have listed nothing: calls after it list anew.
TEST(promised, a_wrong_index_is_found_in_any_call) {
  const stream s(on(gpu));
  const auto step = compile(bag_loss, grad(bag_loss, x), on(gpu));
  auto wrong = some_ids(1);
  wrong(20, 3) = rows;
  auto pick = to_device(wrong, s);
  const auto data = some_rows();
  const auto here = to_device(data, s);
  const auto fixed = step.keep(ids = pick);
  const auto [l0, dx0] = reference(bag_loss, grad(bag_loss, x))(x = data, ids = some_ids(1));
  const std::string said =
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 699, found 700 for ids(b, k) at b = "
      "20, "
      "k = 3";
  for (int iteration = 0; iteration < 2; ++iteration) {
    copy(pick.view(), view<const std::int64_t, 2>(wrong), s);
    const auto bad = step(x = here, fixed, on(s));
    EXPECT_EQ(sentence_of([&] { s.synchronise(); }), said);
    copy(pick.view(), view<const std::int64_t, 2>(some_ids(1)), s);
    const auto [l, dx] = step(x = here, fixed, on(s));
    test::expect_agree(to_host(dx, s), dx0, 256, "gradient");
  }
}

// A call that another index stops makes no list either. What is queued after it, before anybody has looked, does not
// rely on it.
TEST(promised, a_call_that_was_stopped_made_no_list) {
  constexpr auto picked = define<"picked">(b, f) = sum(k, x(ids(b, k), f)) * x(sel(b), f);
  constexpr auto loss = define<"loss">() = sum(over(b, f), picked(b, f));
  const stream s(on(gpu));
  const auto step = compile(loss, grad(loss, x), on(gpu));
  const auto data = some_rows();
  const auto here = to_device(data, s);
  const auto pick = to_device(some_ids(1), s);
  array<std::int64_t, 1> good(many);
  for (std::int64_t n = 0; n < many; ++n) good.data()[n] = n * 31 % rows;
  array<std::int64_t, 1> bad = good;
  bad.data()[7] = rows;
  const auto right = to_device(good, s), wrong = to_device(bad, s);
  const auto fixed = step.keep(ids = pick);
  const auto [l0, dx0] = reference(loss, grad(loss, x))(x = data, ids = some_ids(1), sel = good);
  const auto stopped = step(x = here, fixed, sel = wrong, on(s));
  const auto [l, dx] = step(x = here, fixed, sel = right, on(s));
  EXPECT_NE(sentence_of([&] { s.synchronise(); }), "");
  test::expect_agree(to_host(dx, s), dx0, 256, "queued after it");
  for (int call = 0; call < 2; ++call) {
    const auto [l2, dx2] = step(x = here, fixed, sel = right, on(s));
    test::expect_agree(to_host(dx2, s), dx0, 256, "later");
  }
}
TEST(promised, streams_that_are_gone_keep_nothing) {
  const stream s(on(gpu));
  const auto step = compile(bag_loss, grad(bag_loss, x), on(gpu));
  const auto pick = to_device(some_ids(1), s);
  const auto here = to_device(some_rows(), s);
  const auto fixed = step.keep(ids = pick);
  s.synchronise();
  for (int iteration = 0; iteration < 3; ++iteration) {
    const stream brief(on(gpu));
    const auto made = step(x = here, fixed, on(brief));
    brief.synchronise();
  }
  const std::size_t held = fixed.bytes();
  const auto made = step(x = here, fixed, on(s));
  s.synchronise();
  EXPECT_LE(fixed.bytes(), held);
}

}  // namespace
