#include <sheaf/aot/classes.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/error.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

using extent_list = std::vector<std::int64_t>;

// The same numbers in every build.
class draws {
 public:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Spread over orders of magnitude; often a multiple of what registers hold.
  std::int64_t extent(const extent_range& r) {
    const double low = std::log(static_cast<double>(r.low) + 1), high = std::log(static_cast<double>(r.high) + 1);
    auto n = static_cast<std::int64_t>(std::exp(low + unit() * (high - low)) - 0.5);
    const std::int64_t multiple = std::int64_t{1} << (next() % 8);
    if (n > multiple) n = n / multiple * multiple;
    return std::clamp(n, r.low, r.high);
  }

 private:
  std::uint64_t state_ = 1;
};

// Extents that must agree, or have a fixed value, are drawn together.
class sampler {
 public:
  explicit sampler(const program& p) : p_(p), group_(p.ranges.size()), fixed_(p.ranges.size(), -1) {
    for (std::size_t k = 0; k < group_.size(); ++k) group_[k] = k;
    for (int i = 0; i < p.g.inputs.size(); ++i)
      for (int d = 0; d < p.g.inputs[i].rank; ++d)
        if (const std::int64_t n = p.g.static_extents[p.g.inputs[i].first_extent + d]; n != dynamic)
          fixed_[place(i, d)] = n;
    for (const constraint& c : p.g.constraints) join(place_of(c.left), place_of(c.right));
    for (const constraint& c : p.g.constraints)
      for (const auto& [one, other] : {std::pair{c.left, c.right}, std::pair{c.right, c.left}})
        if (place_of(one) && p.g.kind(other) == op::constant) fixed_[root(*place_of(one))] = p.g[other].attribute;
    for (std::size_t k = 0; k < group_.size(); ++k)
      if (fixed_[k] >= 0) fixed_[root(k)] = fixed_[k];
  }

  extent_list random() { return filled(extent_list(group_.size(), -1)); }
  // What is not known is drawn.
  extent_list filled(const extent_list& known) {
    extent_list of_group(group_.size(), -1), list;
    for (std::size_t k = 0; k < group_.size(); ++k)
      if (known[k] >= 0) of_group[root(k)] = known[k];
    for (std::size_t k = 0; k < group_.size(); ++k) {
      std::int64_t& n = of_group[root(k)];
      if (n < 0) n = fixed_[root(k)] >= 0 ? fixed_[root(k)] : random_.extent(range(root(k)));
      list.push_back(known[k] >= 0 ? known[k] : n);
    }
    return list;
  }

 private:
  std::size_t place(int input, int d) const { return static_cast<std::size_t>(first_place(p_.g, input) + d); }
  std::optional<std::size_t> place_of(node_id n) const {
    const graph& g = p_.g;
    if (g.kind(n) != op::extent || g.kind(g.arg(n, 0)) != op::input) return std::nullopt;
    return place(static_cast<int>(g[g.arg(n, 0)].attribute), static_cast<int>(g[n].attribute));
  }
  std::size_t root(std::size_t k) const {
    while (group_[k] != k) k = group_[k];
    return k;
  }
  void join(std::optional<std::size_t> a, std::optional<std::size_t> b) {
    if (a && b) group_[root(*a)] = root(*b);
  }
  extent_range range(std::size_t group) const {
    extent_range r{0, std::int64_t{1} << 40};
    for (std::size_t k = 0; k < group_.size(); ++k)
      if (root(k) == group) r = {std::max(r.low, p_.ranges[k].low), std::min(r.high, p_.ranges[k].high)};
    r.high = std::max(r.low, r.high);
    return r;
  }

  const program& p_;
  std::vector<std::size_t> group_;
  extent_list fixed_;
  draws random_;
};

// What the planner is told of a call; nothing where the program refuses these extents.
std::optional<jit::call_class> call_of(const program& p, const extent_list& extents, layout as) {
  const graph& g = p.g;
  std::vector<sheaf_tensor> tensors;
  std::vector<extent_list> strides(static_cast<std::size_t>(g.inputs.size()));
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    const std::int64_t* of = extents.data() + first_place(g, i);
    extent_list& s = strides[static_cast<std::size_t>(i)];
    s.assign(static_cast<std::size_t>(rank) + 1, 1);
    for (int d = rank - 2; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      s[at] = s[at + 1] * std::max<std::int64_t>(of[d + 1], 1);
    }
    tensors.push_back({nullptr, of, s.data()});
  }
  tensors.resize(tensors.size() + static_cast<std::size_t>(g.outputs.size()));
  try {
    std::int64_t key[jit::key_capacity];
    const auto size = static_cast<std::size_t>(jit::write_key(g, tensors.data(), key));
    jit::call_class a = jit::key_reader(g).arguments({key, size});
    for (std::size_t i = 0; i < a.closest.size(); ++i) {
      a.closest[i] = g.inputs[static_cast<int>(i)].rank - 1;
      a.dense_inputs[i] = as == layout::dense && g.inputs[static_cast<int>(i)].rank >= 2;
      a.unit_inputs[i] = as != layout::any || g.inputs[static_cast<int>(i)].rank == 0;
    }
    for (std::size_t o = 0; o < a.unit_outputs.size(); ++o)
      a.unit_outputs[o] = as != layout::any || tensor_rank(g, g.outputs[static_cast<int>(o)]) == 0;
    return a;
  } catch (const error&) {
    return std::nullopt;
  }
}

class planner {
 public:
  planner(const program& p, const target::family& on, const sampling& how) : p_(p), on_(on), how_(how) {
    made.of = &p;
  }

  void plan(layout as, sampler& samples) {
    const std::size_t first = made.classes.size();
    for (const extent_list& example : p_.examples)
      for (int k = 0; k < 8; ++k) serve(as, samples.filled(example), first);
    int quiet = 0;
    for (int k = 0; k < how_.samples && quiet < how_.quiet; ++k) {
      if (made.classes.size() - first >= static_cast<std::size_t>(how_.classes)) break;
      const std::optional<bool> was_there = serve(as, samples.random(), first);
      if (!was_there) continue;
      ++made.samples;
      made.served += *was_there;
      quiet = *was_there ? quiet + 1 : 0;
    }
  }
  bool has_joined_inputs() const {
    return std::ranges::any_of(made.classes, [&](const planned_class& c) {
      for (int i = 0; i < p_.g.inputs.size(); ++i)
        if (c.made->form.is_joined(i)) return true;
      return false;
    });
  }

  planned_program made;

 private:
  // Was there a class for it? Nothing: it is no call.
  std::optional<bool> serve(layout as, const extent_list& extents, std::size_t first) {
    for (std::size_t k = first; k < made.classes.size(); ++k)
      if (made.classes[k].decided->hold(extents)) return true;
    const std::optional<jit::call_class> call = call_of(p_, extents, as);
    if (!call) return std::nullopt;
    add(*call, as);
    return false;
  }
  void add(const jit::call_class& call, layout as) {
    plan::call_facts facts;
    facts.overrides = p_.options;
    facts.on = on_;
    planned_class c;
    c.layout = as;
    c.decided = std::make_unique<shapes::decisions>(p_.options.shapes == shape_policy::exact);
    c.made = jit::planned_or_error([&] {
      return std::make_unique<jit::arranged_program>(p_.g, call, facts, jit::amounts_of(p_.g, call, *c.decided));
    });
    ir::module& code = c.made->program.code;
    ir::verify(code);
    c.costs = ir::costs_of(code);
    const std::string text = ir::print(code);
    const auto found = std::ranges::find(made.texts, text);
    c.code = static_cast<int>(found - made.texts.begin());
    if (found == made.texts.end()) {
      made.texts.push_back(text);
      made.codes.push_back(std::move(code));
    }
    made.classes.push_back(std::move(c));
  }

  const program& p_;
  const target::family& on_;
  const sampling how_;
};

}  // namespace

planned_program plan_classes(const program& p, const target::family& on, const sampling& how) {
  planner all(p, on, how);
  sampler samples(p);
  all.plan(layout::dense, samples);
  // Without gaps matters where the last two dimensions are one only.
  if (all.has_joined_inputs())
    all.plan(layout::unit, samples);
  else
    for (planned_class& c : all.made.classes) c.layout = layout::unit;
  all.plan(layout::any, samples);
  return std::move(all.made);
}

}  // namespace sheaf::inline v0_1::aot
