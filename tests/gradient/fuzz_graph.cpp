// Random programs: the smart constructors keep every value, and gradients of first and second order agree with central
// differences of the evaluator in f64. A failure prints its seed and the program; SHEAF_FUZZ_SEED=n runs that
// one alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/print.hpp>

#include "support/random_program.hpp"

namespace {
using namespace sheaf;
using sheaf::testing::random_program;

constexpr std::uint64_t programs = 400;  // SHEAF_FUZZ_COUNT=n tries another number

flat<tensor_value> random_inputs(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto tensor = [](element type, std::initializer_list<std::int64_t> extents) {
    tensor_value t;
    t.type = type;
    for (const std::int64_t e : extents) t.extents.push(e);
    return t;
  };
  tensor_value x = tensor(element::f64, {4, 4}), w = tensor(element::f64, {5});
  tensor_value pick = tensor(element::i64, {4, 2}), cut = pick;
  std::uniform_real_distribution<double> real(-1, 1);
  for (int i = 0; i < 16; ++i) x.reals.push(real(random));
  for (int i = 0; i < 5; ++i) w.reals.push(real(random));
  for (int i = 0; i < 8; ++i) pick.integers.push(static_cast<std::int64_t>(random() % 4));
  for (int i = 0; i < 8; ++i) cut.integers.push(static_cast<std::int64_t>(random() % 5));
  flat<tensor_value> inputs;
  for (const tensor_value& t : {x, w, pick, cut}) inputs.push(t);
  return inputs;
}

std::string text_of(const graph& g) {
  const flat<char> t = print(g);
  return std::string(t.data(), static_cast<std::size_t>(t.size()));
}

std::string fault_of(const graph& g, const evaluation_status& s) {
  const flat<char> t = print(g, s.node);
  return "fault " + std::to_string(int(s.fault)) + " at " + std::string(t.data(), static_cast<std::size_t>(t.size())) +
         ", subscript " + std::to_string(s.subscript) + " of " + std::to_string(s.extent);
}

double scalar(const graph& g, node_id definition, const flat<tensor_value>& inputs) {
  const evaluation e = evaluate(g, definition, inputs);
  if (!e.status.ok()) ADD_FAILURE() << fault_of(g, e.status);
  return e.status.ok() ? e.value.reals[0] : 0;
}

// The largest |gradient - central difference|, relative to the size of the gradient and the value.
void compare_with_differences(const graph& g, node_id y, node_id dx, int input, flat<tensor_value> inputs) {
  const evaluation gradient = evaluate(g, dx, inputs);
  ASSERT_TRUE(gradient.status.ok()) << fault_of(g, gradient.status);
  const double value = scalar(g, y, inputs);
  if (!(std::abs(value) < 1e6)) return;
  for (int i = 0; i < inputs[input].reals.size(); ++i) {
    const double kept = inputs[input].reals[i];
    const auto slope = [&](double h) {
      inputs[input].reals[i] = kept + h;
      const double up = scalar(g, y, inputs);
      inputs[input].reals[i] = kept - h;
      const double down = scalar(g, y, inputs);
      inputs[input].reals[i] = kept;
      return (up - down) / (2 * h);
    };
    // Richardson's extrapolation; where the two steps disagree, the function is not smooth enough to judge.
    const double coarse = slope(2e-4), fine = slope(1e-4), difference = (4 * fine - coarse) / 3;
    const double size = 1 + std::abs(value) + std::abs(difference);
    if (!(std::abs(fine - coarse) < 1e-4 * size)) continue;
    EXPECT_NEAR(gradient.value.reals[i], difference, 1e-6 * size) << "element " << i << " of input " << input;
  }
}

node_id weighted_sum(random_program& p, node_id d) {
  graph& g = p.g;
  flat<node_id> at;
  node_id phase = integer(g, 1);
  for (int k = 0; k < tensor_rank(g, d); ++k) {
    at.push(g.arg(d, 1 + k));
    phase = make(g, op::add, phase, make(g, op::mul, at[k], integer(g, k + 2)));
  }
  const node_id weight = make(g, op::sin, cast_to(g, element::f64, phase));
  const node_id body = make(g, op::mul, load(g, d, at.data(), at.size()), weight);
  return define(g, p.name("loss2"), reduce(g, monoid::sum, body, truth(g, true), at.data(), at.size()), nullptr, 0);
}

void try_seed(std::uint64_t seed, std::string& text) {
  const flat<tensor_value> inputs = random_inputs(seed);
  random_program raw(seed, true), p(seed, false);
  const evaluation plain = evaluate(raw.g, raw.loss, inputs);
  ASSERT_TRUE(plain.status.ok()) << "the generator made a program that is wrong, fault " << int(plain.status.fault);
  const double expected = plain.value.reals[0], value = scalar(p.g, p.loss, inputs);
  p.g.outputs.push(p.loss);
  text = text_of(p.g);
  if (std::isnan(expected)) return;
  EXPECT_TRUE(value == expected || std::abs(value - expected) <= 1e-9 * (1 + std::abs(expected)))
      << value << " simplified, " << expected << " as written:\n" << (raw.g.outputs.push(raw.loss), text_of(raw.g));
  if (std::isinf(expected) || ::testing::Test::HasFailure()) return;
  const node_id one = number(p.g, element::f64, 1);
  reverse_sweeps sweeps;
  for (int input = 0; input < 2; ++input) {
    const node_id tensor = input == 0 ? p.x : p.w;
    const node_id dx = gradient(p.g, sweeps, p.loss, tensor, one, p.name(input == 0 ? "dx" : "dw"));
    p.g.outputs.push(dx);
    text = text_of(p.g);
    compare_with_differences(p.g, p.loss, dx, input, inputs);
    if (::testing::Test::HasFailure()) return;
    const node_id loss2 = weighted_sum(p, dx);
    const node_id second = gradient(p.g, loss2, p.x, one, p.name("second"));
    p.g.outputs.push(second);
    text = text_of(p.g);
    compare_with_differences(p.g, loss2, second, 0, inputs);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(fuzz_graph, gradients_and_simplification) {
  const char* chosen = std::getenv("SHEAF_FUZZ_SEED");
  const std::uint64_t first = chosen ? std::strtoull(chosen, nullptr, 10) : 1;
  const char* count = std::getenv("SHEAF_FUZZ_COUNT");
  const std::uint64_t tried = count ? std::strtoull(count, nullptr, 10) : chosen ? 1 : programs;
  for (std::uint64_t seed = first; seed < first + tried; ++seed) {
    std::string text;
    try_seed(seed, text);
    if (HasFailure()) FAIL() << "seed " << seed << ":\n" << text;
  }
}

}  // namespace
