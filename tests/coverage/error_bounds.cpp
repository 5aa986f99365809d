// See error_bounds.hpp. The magnitudes of docs/language.md are a program of their own, made from the graph and run by
// the reference.
#include <coverage/error_bounds.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <unordered_map>

#include <coverage/instead.hpp>
#include <sheaf/dsl/passes/reduce.hpp>
#include <support/reparsed.hpp>

namespace sheaf::test {

namespace {

// Each output's magnitude in its place, in f64.
class magnitudes {
 public:
  explicit magnitudes(graph& g) : g_(g) {}
  bool are_defined() const { return defined_; }
  node_id of_definition(node_id d) {
    std::vector<node_id> list{wide(of(g_.arg(d, 0)))};
    for (int k = 1; k < g_[d].count; ++k) list.push_back(g_.arg(d, k));
    const text_range t = g_.names[static_cast<name_id>(g_[d].attribute)];
    const std::string name = "M_" + std::string(g_.text.data() + t.first, static_cast<std::size_t>(t.size));
    return define(g_, g_.name(name.data(), static_cast<int>(name.size())), list[0], list.data() + 1,
                  static_cast<int>(list.size()) - 1);
  }

 private:
  node_id wide(node_id n) { return cast_to(g_, element::f64, n); }
  node_id size_of(node_id n) { return make(g_, op::abs, wide(n)); }
  node_id larger(node_id a, node_id b) { return make(g_, op::maximum, a, b); }

  node_id of(node_id n) {
    if (const auto found = done_.find(n); found != done_.end()) return found->second;
    const node_id result = is_floating(g_.type(n)) ? computed(n) : size_of(n);
    return done_[n] = result;
  }
  node_id computed(node_id n) {
    switch (g_.kind(n)) {
      case op::load: {
        if (g_.kind(g_.arg(n, 0)) == op::input) return size_of(n);
        std::vector<node_id> at;
        for (int k = 1; k < g_[n].count; ++k) at.push_back(g_.arg(n, k));
        const node_id tensor = g_.arg(n, 0);
        if (!definitions_.contains(tensor)) definitions_[tensor] = of_definition(tensor);
        return load(g_, definitions_[tensor], at.data(), static_cast<int>(at.size()));
      }
      case op::reduce: return reduced(n);
      case op::stop_gradient: return of(g_.arg(n, 0));
      case op::constant: return size_of(n);
      default: return is_elementwise(g_.kind(n)) ? function(n) : (defined_ = false, size_of(n));
    }
  }
  node_id reduced(node_id n) {
    const monoid fold = monoid_of(g_, n);
    if (is_own(fold) || g_.kind(g_.arg(n, 0)) == op::tuple) return defined_ = false, size_of(n);
    const monoid of_sizes = fold == monoid::min ? monoid::max : fold;
    std::vector<node_id> list{of(g_.arg(n, 0)), g_.arg(n, 1)};
    for (int k = 2; k < g_[n].count; ++k) list.push_back(g_.arg(n, k));
    return g_.intern(op::reduce, element::f64, static_cast<std::int64_t>(of_sizes), list.data(),
                     static_cast<int>(list.size()));
  }
  node_id function(node_id n) {
    const op kind = g_.kind(n);
    if (kind == op::neg || kind == op::abs || kind == op::cast) return of(g_.arg(n, 0));
    if (kind == op::select) return make(g_, kind, g_.arg(n, 0), of(g_.arg(n, 1)), of(g_.arg(n, 2)));
    if (kind == op::add || kind == op::sub) return make(g_, op::add, of(g_.arg(n, 0)), of(g_.arg(n, 1)));
    if (kind == op::minimum || kind == op::maximum) return larger(of(g_.arg(n, 0)), of(g_.arg(n, 1)));
    node_id most = size_of(n);
    for (int k = 0; k < g_[n].count; ++k) {
      const node_id slope = row(kind).adjoint(g_, n, number(g_, g_.type(n), 1), k);
      if (slope != no_node) most = larger(most, make(g_, op::mul, size_of(slope), of(g_.arg(n, k))));
    }
    return most;
  }

  graph& g_;
  bool defined_ = true;
  std::unordered_map<node_id, node_id> done_, definitions_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The words of what its text reads as, which is simplified as programs are.
std::vector<std::int32_t> as_read(const graph& g) {
  const std::string text = printed(unpack(packed_words_of(g).data()));
  return packed_words_of(parse(text.data(), static_cast<int>(text.size())));
}

// What explain() says of an output, as a part of its magnitude; nothing where it says none, or not of all data.
std::optional<double> said(const std::string& plan, int output) {
  std::size_t at = 0;
  for (int k = 0; k <= output; ++k) {
    at = plan.find("rounding of ", at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  const std::string line = plan.substr(at, plan.find('\n', at) - at);
  if (line.find("comparisons") != std::string::npos || line.find("no bound") != std::string::npos) return std::nullopt;
  const std::size_t number = line.find("at most ");
  return number == std::string::npos ? 0 : std::stod(line.substr(number + 8)) * 0x1p-23;
}

}  // namespace

void check_error_bounds(const std::vector<std::int32_t>& words, const table& data) {
  if (run_instead) return;
  graph g = unpack(words.data());
  for (const node_id o : g.outputs)
    if (g.type(o) != element::f64) return;
  const std::string narrow = replaced(printed(g), "f64", "f32");
  const graph in_f32 = parse(narrow.data(), static_cast<int>(narrow.size()));
  if (in_f32.failed()) return;
  magnitudes sizes(g);
  flat<node_id> outputs;
  for (int k = 0; k < g.outputs.size(); ++k) outputs.push(sizes.of_definition(g.outputs[k]));
  if (!sizes.are_defined()) return;
  g.outputs = outputs;
  table given = data;
  for (auto& [name, v] : given)
    if (is_floating(v.type)) v = rounded(v, element::f32);
  const by_name kernels(packed_words_of(in_f32), jit::backend::chosen);
  std::string plan;
  const std::vector<values> found = kernels(given, &plan), expected = by_name(words, jit::backend::reference)(given),
                            magnitude = by_name(as_read(g), jit::backend::reference)(given);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::optional<double> bound = said(plan, static_cast<int>(k));
    for (std::size_t i = 0; bound && i < found[k].numbers.size(); ++i) {
      const double exact = expected[k].numbers[i], error = std::abs(found[k].numbers[i] - exact);
      // To first order; and numbers below the smallest normal one have absolute errors.
      const double most = *bound * magnitude[k].numbers[i] * 1.001 + 1e-37;
      if (!std::isfinite(exact) || !std::isfinite(most)) continue;
      ASSERT_LE(error, most) << "output " << k << ", element " << i << ": " << exact << ", magnitude "
                             << magnitude[k].numbers[i] << "\n" << narrow << plan;
    }
    if (!bound) testing::Test::RecordProperty("no_bound", narrow);
  }
}

}  // namespace sheaf::test
