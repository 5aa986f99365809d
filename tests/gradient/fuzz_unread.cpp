// Random programs, whose elements that the forward pass never reads are NaN: no gradient, to the third order and by
// either mode, may notice. A failure prints its seed and the program; SHEAF_FUZZ_SEED=n runs that one alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/tangent.hpp>

#include "support/random_program.hpp"

namespace {
using namespace sheaf;
using sheaf::testing::random_program;

constexpr std::uint64_t programs = 60;  // SHEAF_FUZZ_COUNT=n tries another number

tensor_value tensor(element type, std::initializer_list<std::int64_t> extents) {
  tensor_value t;
  t.type = type;
  for (const std::int64_t e : extents) t.extents.push(e);
  return t;
}
flat<tensor_value> random_inputs(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  tensor_value x = tensor(element::f64, {4, 4}), w = tensor(element::f64, {5});
  tensor_value pick = tensor(element::i64, {4, 2}), cut = pick, along = x;
  std::uniform_real_distribution<double> real(-1, 1);
  for (int i = 0; i < 16; ++i) x.reals.push(real(random));
  for (int i = 0; i < 5; ++i) w.reals.push(real(random));
  for (int i = 0; i < 8; ++i) pick.integers.push(static_cast<std::int64_t>(random() % 4));
  for (int i = 0; i < 8; ++i) cut.integers.push(static_cast<std::int64_t>(random() % 5));
  for (int i = 0; i < 16; ++i) along.reals.push(real(random));
  flat<tensor_value> inputs;
  for (const tensor_value& t : {x, w, pick, cut, along}) inputs.push(t);
  return inputs;
}

std::string text_of(const graph& g) {
  const flat<char> t = print(g);
  return std::string(t.data(), static_cast<std::size_t>(t.size()));
}
flat<double> values_of(const graph& g, node_id d, const flat<tensor_value>& inputs) {
  const evaluation e = evaluate(g, d, inputs);
  EXPECT_TRUE(e.status.ok()) << "a derivative reads outside";
  return e.status.ok() ? e.value.reals : flat<double>{};
}
bool any_nan(const graph& g, const flat<node_id>& definitions, const flat<tensor_value>& inputs) {
  for (const node_id d : definitions)
    for (const double v : values_of(g, d, inputs))
      if (std::isnan(v)) return true;
  return false;
}

node_id weighted_sum(random_program& p, node_id d, const char* name) {
  graph& g = p.g;
  flat<node_id> at;
  node_id phase = integer(g, 1);
  for (int k = 0; k < tensor_rank(g, d); ++k) {
    at.push(g.arg(d, 1 + k));
    phase = make(g, op::add, phase, make(g, op::mul, at[k], integer(g, k + 2)));
  }
  const node_id weight = make(g, op::sin, cast_to(g, element::f64, phase));
  const node_id body = make(g, op::mul, load(g, d, at.data(), at.size()), weight);
  return define(g, p.name(name), reduce(g, monoid::sum, body, truth(g, true), at.data(), at.size()), nullptr, 0);
}

void try_seed(std::uint64_t seed, std::string& text, int& with_unread) {
  const flat<tensor_value> plain = random_inputs(seed);
  flat<tensor_value> poisoned = plain;  // NaN where the forward pass does not read
  random_program p(seed, false);
  const std::int64_t any[2] = {dynamic, dynamic};
  const node_id along = input(p.g, p.name("along"), element::f64, 2, any);
  flat<node_id> forward;
  for (node_id n = 0; n <= p.loss; ++n)
    if (p.g.kind(n) == op::define) forward.push(n);
  if (any_nan(p.g, forward, plain)) return;
  bool unread = false;
  for (int of = 0; of < 2; ++of)
    for (int i = 0; i < poisoned[of].reals.size(); ++i) {
      double& v = poisoned[of].reals[i];
      const double kept = v;
      v = std::nan("");
      if (any_nan(p.g, forward, poisoned))
        v = kept;
      else
        unread = true;
    }
  if (!unread) return;
  ++with_unread;
  const node_id one = number(p.g, element::f64, 1);
  const auto compare = [&](node_id d) {
    p.g.outputs.push(d);
    const flat<double> expected = values_of(p.g, d, plain), found = values_of(p.g, d, poisoned);
    for (int i = 0; i < std::min(expected.size(), found.size()); ++i) {
      if (std::isnan(expected[i]) || found[i] == expected[i]) continue;
      text = text_of(p.g);
      ADD_FAILURE() << "element " << i << ": " << found[i] << ", expected " << expected[i];
      return;
    }
  };
  reverse_sweeps sweeps;
  for (const node_id by : {p.x, p.w}) {
    const node_id dx = gradient(p.g, sweeps, p.loss, by, one, p.name(by == p.x ? "dx" : "dw"));
    compare(dx);
    const node_id loss2 = weighted_sum(p, dx, by == p.x ? "loss2x" : "loss2w");
    const node_id second = gradient(p.g, loss2, p.x, one, p.name(by == p.x ? "second" : "mixed"));
    compare(second);
    compare(forward_mode(p.g, p.x, along, dx + 1)(dx, p.name(by == p.x ? "along_dx" : "along_dw")));
    if (::testing::Test::HasFailure() || by == p.w || p.g.size() > 3000) return;
    const node_id loss3 = weighted_sum(p, second, "loss3");
    compare(gradient(p.g, loss3, p.x, one, p.name("third")));
  }
  const node_id slope = forward_mode(p.g, p.x, along, p.loss + 1)(p.loss, p.name("slope"));
  compare(slope);
  compare(gradient(p.g, slope, p.x, one, p.name("of_slope")));
}

// i fixed at 4 by d0.padded(4, 4), where the guard asks the extent of another tensor than the subscript's.
TEST(fuzz_unread, numbers_that_derivatives_make_stay_guarded) {
  std::string text;
  int with_unread = 0;
  try_seed(648, text, with_unread);
  EXPECT_EQ(with_unread, 1) << "another program: choose a seed that has such a number";
  EXPECT_FALSE(HasFailure()) << text;
}

TEST(fuzz_unread, derivatives_do_not_notice) {
  const char* chosen = std::getenv("SHEAF_FUZZ_SEED");
  const std::uint64_t first = chosen ? std::strtoull(chosen, nullptr, 10) : 1;
  const char* count = std::getenv("SHEAF_FUZZ_COUNT");
  const std::uint64_t tried = count ? std::strtoull(count, nullptr, 10) : chosen ? 1 : programs;
  int with_unread = 0;
  for (std::uint64_t seed = first; seed < first + tried; ++seed) {
    std::string text;
    try_seed(seed, text, with_unread);
    if (HasFailure()) FAIL() << "seed " << seed << ":\n" << text;
  }
  if (!chosen) {
    EXPECT_GT(with_unread, static_cast<int>(tried) / 10);
  }
}

}  // namespace
