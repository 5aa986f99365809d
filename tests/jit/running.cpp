// Running folds of every kind, forward and backward, with and without their own place: values, gradients and gradients
// of gradients are right; values and gradients take one pass whatever the length of the axis, and are shared in blocks
// where it is long.
#include <functional>

#include <sheaf/jit/plan/rewrite.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::running_tests {
namespace {

constexpr auto s = axis<"s">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto size = extent(x, dim<0>);
using list = std::vector<double>;
constexpr double infinite = std::numeric_limits<double>::infinity();

double soft(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(-std::abs(a - b)));
}
constexpr auto join_softly = [](auto a, auto b) { return maximum(a, b) + log1p(exp(-abs(a - b))); };
constexpr auto smooth = own_monoid<"smooth">(constant<-1e300>, join_softly).adjoint([](auto element, auto result) {
  return exp(element - result);
});
constexpr auto smooth_by_rule = own_monoid<"smooth_by_rule">(constant<-1e300>, join_softly);

struct sums {
  static constexpr auto over(auto range) { return sum(range, x(s)); }
  static constexpr double nothing = 0;
  static double join(double a, double b) { return a + b; }
};
struct products {
  static constexpr auto over(auto range) { return prod(range, x(s)); }
  static constexpr double nothing = 1;
  static double join(double a, double b) { return a * b; }
};
struct maxima {
  static constexpr auto over(auto range) { return max(range, x(s)); }
  static constexpr double nothing = -infinite;
  static double join(double a, double b) { return std::max(a, b); }
};
struct minima {
  static constexpr auto over(auto range) { return min(range, x(s)); }
  static constexpr double nothing = infinite;
  static double join(double a, double b) { return std::min(a, b); }
};
struct soft_maxima {
  static constexpr auto over(auto range) { return logsumexp(range, x(s)); }
  static constexpr double nothing = -infinite;
  static double join(double a, double b) { return soft(a, b); }
};
struct own_folds {
  static constexpr auto over(auto range) { return fold(smooth, range, x(s)); }
  static constexpr double nothing = -1e300;
  static double join(double a, double b) { return soft(a, b); }
};
struct own_folds_by_rule {
  static constexpr auto over(auto range) { return fold(smooth_by_rule, range, x(s)); }
  static constexpr double nothing = -1e300;
  static double join(double a, double b) { return soft(a, b); }
};

template <bool Backward, bool Exclusive>
constexpr auto range_of() {
  constexpr auto own = constant<std::int64_t{Exclusive ? 0 : 1}>;
  if constexpr (Backward)
    return s.in(t + 1_c - own, size);
  else
    return s.in(0_c, t + own);
}

// What a plain loop finds, with 0 for the weight of a result over nothing.
template <class Kind, bool Backward, bool Exclusive>
double loss_of(list values, list weights) {
  if (Backward) std::reverse(values.begin(), values.end()), std::reverse(weights.begin(), weights.end());
  double all = 0, y = Kind::nothing;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (Exclusive && k > 0) all += weights[k] * y;
    y = Kind::join(y, values[k]);
    if (!Exclusive) all += weights[k] * y;
  }
  return all;
}
list slopes(const std::function<double(const list&)>& f, list at, double step) {
  list result;
  for (double& e : at) {
    const double old = e;
    e = old + step;
    const double above = f(at);
    e = old - step;
    result.push_back((above - f(at)) / (2 * step));
    e = old;
  }
  return result;
}
void expect_near(memory& found, const list& expected, double tolerance) {
  double scale = 1;
  for (const double e : expected) scale = std::max(scale, std::abs(e));
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_NEAR(found.get<double>(static_cast<std::int64_t>(k)), expected[k], tolerance * scale) << k;
}

// An integer expression where every index stands in the middle of its range.
std::int64_t in_the_middle(const graph& g, const plan::facts& known, node_id e) {
  if (g.kind(e) == op::index) return (in_the_middle(g, known, g.arg(e, 0)) + in_the_middle(g, known, g.arg(e, 1))) / 2;
  if (const auto value = known.exact(e)) return *value;
  std::int64_t list[3] = {0, 0, 0};
  for (int k = 0; k < g[e].count; ++k) list[k] = in_the_middle(g, known, g.arg(e, k));
  return row(g.kind(e)).integer(list[0], list[1], list[2]);
}
// How often the most frequent reduction's body runs.
double iterations(const planned& p, const plan::facts& known) {
  double most = 0;
  const auto look = [&](const auto& self, node_id n, index_set around) -> void {
    const graph& g = p.g;
    if (g.kind(n) == op::extent || g.kind(n) == op::define) return;
    if (g.kind(n) == op::reduce) {
      around |= g.free[n];
      for (const node_id idx : plan::bound_indices(g, n)) around.insert(g.ordinal(idx));
      double all = 1;
      for (const node_id idx : plan::indices_of(g, around))
        all *= static_cast<double>(in_the_middle(g, known, g.arg(idx, 1)) - in_the_middle(g, known, g.arg(idx, 0)));
      most = std::max(most, all);
    }
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k), around);
  };
  for (const plan::stage& stage : p.plan.stages) look(look, stage.body, {});
  return most;
}
void expect_linear(trial&& test, const char* what) {
  const std::int64_t places = 1 << 20;
  for (memory& m : test.inputs) m = memory::dense(m.type, {places});
  const plan::call_facts call = test.seen();
  const planned p = plan_program(test.g, call, "trial");
  const plan::facts known(p.g, call);
  EXPECT_LE(iterations(p, known), 2.0 * places) << what << "\n" << p.text;
}

template <class Kind, bool Backward, bool Exclusive>
struct table {
  // Of extrema with their own place, and of logsumexps, only the first gradient is one pass.
  static constexpr bool soft = std::is_same_v<Kind, soft_maxima>,
                        extreme = std::is_same_v<Kind, maxima> || std::is_same_v<Kind, minima>;
  static constexpr bool twice = !soft && (Exclusive || !extreme);
  static constexpr auto y = define<"y">(t.in(0_c, size)) = Kind::over(range_of<Backward, Exclusive>());
  static constexpr auto loss = define<"loss">() = sum(t, y(t) * w(t));
  static constexpr auto along = define<"along">() = sum(t, grad(loss, x)(t) * v(t));

  static list numbers(std::int64_t n, int seed) {
    list values;
    for (std::int64_t k = 0; k < n; ++k) values.push_back(static_cast<double>((k * 37 + seed) % 101) / 50 - 0.9);
    return values;
  }
  static trial& filled(auto&& test, const list& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    for (int k = 0; k < test.g.inputs.size(); ++k)
      test.inputs[static_cast<std::size_t>(k)] = memory::dense(element::f64, {n});
    test.with("x", {n}, values);
    for (const auto& [name, seed] : {std::pair("w", 11), std::pair("v", 29)})
      for (int k = 0; k < test.g.inputs.size(); ++k) {
        const text_range name_range = test.g.names[test.g.inputs[k].name];
        if (test.g.text[name_range.first] == name[0]) test.with(name, {n}, numbers(n, seed));
      }
    return test;
  }
  static void as_the_reference() {
    for (const std::int64_t n : {0, 1, 2, 16, 33})
      filled(trial_of(y, grad(loss, x)), numbers(n, 3)).expect_right(1e-12);
    filled(trial_of(grad(along, x), grad(along, w)), numbers(17, 3)).expect_right(1e-11);
    list values = numbers(33, 3);
    values[4] = 0, values[9] = 0;
    filled(trial_of(y, grad(loss, x)), values).expect_right(1e-11);
    if (std::is_same_v<Kind, products>) filled(trial_of(grad(along, x)), values).expect_right(1e-11);
    values[7] = infinite;
    filled(trial_of(y), values).expect_right();
    values[7] = -infinite, values[12] = std::numeric_limits<double>::quiet_NaN();
    filled(trial_of(y), values).expect_right();
  }
  static void as_differences() {
    list values = numbers(14, 3);
    if (std::is_same_v<Kind, products>) values[5] = 0;
    const list weights = numbers(14, 11), direction = numbers(14, 29);
    trial test = trial_of(grad(loss, x), grad(along, x), grad(along, w));
    filled(test, values);
    ASSERT_EQ(test.run(), 0);
    const auto gradient = [&](const list& at, const list& by, double step) {
      return slopes([&](const list& a) { return loss_of<Kind, Backward, Exclusive>(a, by); }, at, step);
    };
    const auto slope_along = [&](const list& at, const list& by) {
      double all = 0;
      const list g = gradient(at, by, 1e-5);
      for (std::size_t k = 0; k < g.size(); ++k) all += g[k] * direction[k];
      return all;
    };
    expect_near(test.outputs[0], gradient(values, weights, 1e-5), 1e-8);
    expect_near(test.outputs[1], slopes([&](const list& a) { return slope_along(a, weights); }, values, 1e-4), 1e-4);
    expect_near(test.outputs[2], slopes([&](const list& b) { return slope_along(values, b); }, weights, 1e-2), 1e-6);
  }
  static void in_one_pass() {
    expect_linear(trial_of(y), "value");
    expect_linear(trial_of(grad(loss, x)), "gradient");
    expect_linear(trial_of(y, grad(loss, x)), "both");
    if (twice) expect_linear(trial_of(grad(along, x)), "gradient of a gradient");
    if (twice) expect_linear(trial_of(grad(along, w)), "gradient by weights of a gradient");
    trial test = trial_of(grad(loss, x));
    test.random("w", {1 << 20});
    if (test.g.inputs.size() > 1) test.random("x", {1 << 20});
    EXPECT_NE(test.plan_text().find("blocks of"), std::string::npos) << test.plan_text();
  }
};

template <class Kind>
struct running : testing::Test {
  template <template <class, bool, bool> class Table, class Check>
  static void each(Check check) {
    const auto run = [&](const char* which, auto form) {
      SCOPED_TRACE(which);
      check(form);
    };
    run("forward", Table<Kind, false, false>{});
    run("forward, exclusive", Table<Kind, false, true>{});
    run("backward", Table<Kind, true, false>{});
    run("backward, exclusive", Table<Kind, true, true>{});
  }
};
using kinds = testing::Types<sums, products, maxima, minima, soft_maxima, own_folds, own_folds_by_rule>;
TYPED_TEST_SUITE(running, kinds);

TYPED_TEST(running, as_the_reference) {
  TestFixture::template each<table>([](auto form) { form.as_the_reference(); });
}
TYPED_TEST(running, as_differences) {
  TestFixture::template each<table>([](auto form) { form.as_differences(); });
}
TYPED_TEST(running, in_one_pass) {
  TestFixture::template each<table>([](auto form) { form.in_one_pass(); });
}

}  // namespace
}  // namespace sheaf::test::running_tests
