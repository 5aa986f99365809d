#include <sheaf/aot/extents.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/open_decisions.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

// Boxes that are looked at for one question: more thresholds than decisions compare by.
constexpr int most_boxes = 20000;

std::size_t place_of(const graph& g, node_id n) {
  const input_row& in = g.inputs[static_cast<int>(g[g.arg(n, 0)].attribute)];
  return static_cast<std::size_t>(in.first_extent + static_cast<int>(g[n].attribute));
}
bool is_extent(const graph& g, node_id n) { return g.kind(n) == op::extent && g.kind(g.arg(n, 0)) == op::input; }
bool is_applied(const graph& g, node_id n) { return is_elementwise(g.kind(n)) && row(g.kind(n)).integer != nullptr; }
// Of constants and extents alone.
bool is_closed(const graph& g, node_id n) {
  if (n == no_node || is_floating(g.type(n))) return false;
  if (g.kind(n) == op::constant || is_extent(g, n)) return true;
  if (!is_applied(g, n)) return false;
  for (int k = 0; k < g[n].count; ++k)
    if (!is_closed(g, g.arg(n, k))) return false;
  return true;
}

std::int64_t value(const graph& g, node_id n, const extent_list& extents) {
  if (g.kind(n) == op::constant) return g[n].attribute;
  if (is_extent(g, n)) return extents[place_of(g, n)];
  std::int64_t list[3] = {};
  for (int k = 0; k < g[n].count; ++k) list[k] = value(g, g.arg(n, k), extents);
  return row(g.kind(n)).integer(list[0], list[1], list[2]);
}

// Where a side of a comparison may turn: at the numbers that decisions have.
std::set<std::int64_t> thresholds(const shapes::decisions& of, std::size_t steps) {
  std::set<std::int64_t> list{0, 1, 2};
  for (std::size_t k = 0; k < steps; ++k) {
    const shapes::step& s = of.steps()[k];
    if (s.how == shapes::rule::number && s.number >= 0 && s.number < 0x1p62)
      for (const int d : {-1, 0, 1}) list.insert(std::max<std::int64_t>(static_cast<std::int64_t>(s.number) + d, 0));
  }
  return list;
}

// The first number of the upper half: near the middle of the logarithms, at a threshold where there is one.
std::int64_t cut_of(std::int64_t low, std::int64_t high, const std::set<std::int64_t>& at) {
  const double middle = std::sqrt((static_cast<double>(low) + 1) * (static_cast<double>(high) + 1));
  const auto between = at.upper_bound(low);
  if (between != at.end() && *between <= high) {
    const auto above = at.lower_bound(std::max(low + 1, static_cast<std::int64_t>(middle)));
    if (above != at.end() && *above <= high) return *above;
    return *std::prev(above);
  }
  return std::clamp(static_cast<std::int64_t>(middle), low + 1, high);
}

}  // namespace

extent_search::extent_search(const program& p) : p_(p), same_(p.g, shapes::ties::equal), size_of_(p.ranges.size()) {
  std::vector<int> number(size_of_.size(), -1);
  for (std::size_t k = 0; k < size_of_.size(); ++k) {
    const auto root = static_cast<std::size_t>(same_.of(static_cast<int>(k)));
    if (number[root] < 0) {
      number[root] = static_cast<int>(all_.size());
      const std::int64_t n = same_.stated(static_cast<int>(k));
      all_.push_back(n != dynamic ? range_of_size{n, n} : range_of_size{0, extent_range{}.high});
    }
    size_of_[k] = static_cast<std::size_t>(number[root]);
    range_of_size& r = all_[size_of_[k]];
    r = {std::max(r.low, p.ranges[k].low), std::min(r.high, p.ranges[k].high)};
  }
}

void extent_search::set(std::size_t place, std::int64_t n, extent_list& extents) const {
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (size_of_[k] == size_of_[place]) extents[k] = n;
}

shapes::interval extent_search::enclosed(const graph& g, node_id n, const box& b) const {
  if (g.kind(n) == op::constant) return {static_cast<double>(g[n].attribute), static_cast<double>(g[n].attribute)};
  if (is_extent(g, n)) {
    const range_of_size& r = b[size_of_[place_of(g, n)]];
    return {static_cast<double>(r.low), static_cast<double>(r.high)};
  }
  shapes::interval list[3] = {{0, 0}, {0, 0}, {0, 0}};
  for (int k = 0; k < g[n].count; ++k) list[k] = enclosed(g, g.arg(n, k), b);
  return shapes::enclosed(row(g.kind(n)).integer, list[0], list[1], list[2]);
}

// Changes one extent so that n has this value, where it is an extent but for numbers.
bool extent_search::solve(node_id n, std::int64_t wanted, extent_list& extents) const {
  const graph& g = p_.g;
  if (is_extent(g, n)) {
    const range_of_size& r = all_[size_of_[place_of(g, n)]];
    if (wanted < r.low || wanted > r.high) return false;
    return set(place_of(g, n), wanted, extents), true;
  }
  if (!is_applied(g, n) || g[n].count != 2) return false;
  const bool first = g.kind(g.arg(n, 0)) == op::constant;
  if (!first && g.kind(g.arg(n, 1)) != op::constant) return false;
  const node_id x = g.arg(n, first ? 1 : 0);
  const std::int64_t c = g[g.arg(n, first ? 0 : 1)].attribute;
  if (g.kind(n) == op::add) return solve(x, wanted - c, extents);
  if (g.kind(n) == op::sub) return solve(x, first ? c - wanted : wanted + c, extents);
  if (g.kind(n) == op::mul) return c != 0 && wanted % c == 0 && solve(x, wanted / c, extents);
  if (g.kind(n) == op::quotient) return !first && solve(x, wanted * c, extents);
  return (g.kind(n) == op::maximum || g.kind(n) == op::minimum) && solve(x, wanted, extents);
}

void extent_search::repair(extent_list& extents) const {
  const graph& g = p_.g;
  for (int again = 0; again < 4; ++again)
    for (const constraint& c : g.constraints) {
      if (!is_closed(g, c.left) || !is_closed(g, c.right)) continue;
      const std::int64_t left = value(g, c.left, extents), right = value(g, c.right, extents);
      if (left != right && !solve(c.left, right, extents)) solve(c.right, left, extents);
    }
}

extent_list extent_search::completed(const extent_list& known, std::int64_t wanted) const {
  extent_list list(size_of_.size());
  for (std::size_t k = 0; k < list.size(); ++k)
    list[k] = std::clamp(wanted, all_[size_of_[k]].low, std::max(all_[size_of_[k]].low, all_[size_of_[k]].high));
  for (std::size_t k = 0; k < known.size(); ++k)
    if (known[k] >= 0) set(k, known[k], list);
  repair(list);
  for (std::size_t k = 0; k < known.size(); ++k)
    if (known[k] >= 0) list[k] = known[k];
  return list;
}

bool extent_search::is_call(const extent_list& extents) const {
  const graph& g = p_.g;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (extents[k] < all_[size_of_[k]].low || extents[k] > all_[size_of_[k]].high) return false;
  for (const constraint& c : g.constraints)
    if (is_closed(g, c.left) && is_closed(g, c.right) && value(g, c.left, extents) != value(g, c.right, extents))
      return false;
  for (const demand& d : g.demands)
    if (is_closed(g, d.wrong) && value(g, d.wrong, extents) != 0) return false;
  box alone;
  for (std::size_t size = 0; size < all_.size(); ++size) {
    const auto k = std::ranges::find(size_of_, size) - size_of_.begin();
    alone.push_back({extents[static_cast<std::size_t>(k)], extents[static_cast<std::size_t>(k)]});
  }
  return !is_too_large(alone);
}

// Have all its calls an input of 2^60 elements, or an output of more bytes than any memory? aot/runtime refuses them.
bool extent_search::is_too_large(const box& b) const {
  std::size_t k = 0;
  for (const input_row& in : p_.g.inputs) {
    double elements = 1;
    for (int d = 0; d < in.rank; ++d) elements *= static_cast<double>(b[size_of_[k++]].low);
    if (elements >= 0x1p60) return true;
  }
  return has_too_large_outputs(b);
}
bool extent_search::has_too_large_outputs(const box& b) const {
  const graph& g = p_.g;
  for (const node_id y : g.outputs) {
    double bytes = row(g.type(y)).bytes;
    bool empty = false;
    for (int d = 0; d < tensor_rank(g, y); ++d) {
      const node_id idx = g.arg(y, 1 + d);
      if (!is_closed(g, g.arg(idx, 0)) || !is_closed(g, g.arg(idx, 1))) return false;
      const double n = enclosed(g, g.arg(idx, 1), b).low - enclosed(g, g.arg(idx, 0), b).high;
      empty = empty || !(n > 0);
      bytes *= n;
    }
    if (!empty && bytes >= 0x1p63) return true;
  }
  return false;
}

// Does the program refuse all of it?
bool extent_search::is_refused(const box& b) const {
  const graph& g = p_.g;
  for (const range_of_size& r : b)
    if (r.low > r.high) return true;
  for (const constraint& c : g.constraints) {
    if (!is_closed(g, c.left) || !is_closed(g, c.right)) continue;
    const shapes::interval left = enclosed(g, c.left, b), right = enclosed(g, c.right, b);
    if (left.high < right.low || right.high < left.low) return true;
  }
  for (const demand& d : g.demands) {
    if (!is_closed(g, d.wrong)) continue;
    const shapes::interval wrong = enclosed(g, d.wrong, b);
    if (wrong.low > 0 || wrong.high < 0) return true;
  }
  return is_too_large(b);
}

void extent_search::spread(const box& b, extent_list& low, extent_list& high) const {
  low.clear(), high.clear();
  for (const std::size_t size : size_of_) low.push_back(b[size].low), high.push_back(b[size].high);
}

// Its corners and its middle.
std::optional<extent_list> extent_search::tried(const shapes::decisions& of, std::size_t place, const box& b) const {
  extent_list ends[3];
  spread(b, ends[0], ends[2]);
  for (std::size_t k = 0; k < ends[0].size(); ++k) {
    const double low = static_cast<double>(ends[0][k]) + 1, high = static_cast<double>(ends[2][k]) + 1;
    ends[1].push_back(std::clamp(static_cast<std::int64_t>(std::sqrt(low * high)), ends[0][k], ends[2][k]));
  }
  for (extent_list& at : ends) {
    repair(at);
    if (of.first_other(at) == place && is_call(at)) return at;
  }
  return std::nullopt;
}

// Of the sizes of these places, or of all: by which most extents lie between its ends. Nothing: all are points.
std::optional<std::size_t> extent_search::widest_of(const box& b, const std::vector<std::size_t>& places) const {
  std::vector<bool> asked(b.size(), places.empty());
  for (const std::size_t k : places) asked[size_of_[k]] = true;
  std::optional<std::size_t> widest;
  double width = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    const double w = (static_cast<double>(b[k].high) + 1) / (static_cast<double>(b[k].low) + 1);
    if (asked[k] && w > width && b[k].high > b[k].low) widest = k, width = w;
  }
  return widest;
}

// The lower one is the next that is taken.
void extent_search::push_halves(std::vector<box>& open, const box& b, std::size_t size,
                                const std::set<std::int64_t>& at) const {
  const std::int64_t cut = cut_of(b[size].low, b[size].high, at);
  for (const bool upper : {true, false}) {
    open.push_back(b);
    (upper ? open.back()[size].low : open.back()[size].high) = upper ? cut : cut - 1;
  }
}

extent_search::answer extent_search::first_other(const shapes::decisions& of, std::size_t place) const {
  const std::set<std::int64_t> at = thresholds(of, of.list()[place].known);
  std::vector<box> open{all_};
  extent_list low, high;
  for (int boxes = 0; !open.empty(); ++boxes) {
    if (boxes == most_boxes) return {};
    const box b = std::move(open.back());
    open.pop_back();
    if (is_refused(b)) continue;
    spread(b, low, high);
    std::size_t undecided = place;
    const shapes::in_box found = of.first_other_in(place, low, high, undecided);
    if (found == shapes::in_box::none) continue;
    if (auto extents = tried(of, place, b)) return {std::move(extents), true};
    // What the decision reads that is open is cut; else, because of what the program refuses, all.
    std::optional<std::size_t> widest;
    if (found == shapes::in_box::some) widest = widest_of(b, of.extents_of(undecided));
    if (!widest) widest = widest_of(b, {});
    if (!widest) continue;  // it is a point, which was tried
    push_halves(open, b, *widest, at);
  }
  return {std::nullopt, true};
}

bool extent_search::is_always_refused(const shapes::decisions& of, const graph& g,
                                      const std::vector<node_id>& outside) const {
  std::vector<node_id> checks;
  std::ranges::copy_if(outside, std::back_inserter(checks), [&](node_id n) { return is_closed(g, n); });
  const auto fails = [&](const shapes::interval& v) { return v.low > 0 || v.high < 0; };
  if (checks.empty()) return false;
  const std::set<std::int64_t> at = thresholds(of, of.steps().size());
  std::vector<box> open{all_};
  extent_list low, high;
  for (int boxes = 0; !open.empty(); ++boxes) {
    if (boxes == most_boxes / 10) return false;
    const box b = std::move(open.back());
    open.pop_back();
    spread(b, low, high);
    if (is_refused(b) || of.open_in(low, high).never()) continue;
    if (std::ranges::any_of(checks, [&](node_id n) { return fails(enclosed(g, n, b)); })) continue;
    const std::optional<std::size_t> widest = widest_of(b, {});
    if (!widest || (of.hold(low) && std::ranges::all_of(checks, [&](node_id n) { return value(g, n, low) == 0; })))
      return false;
    push_halves(open, b, *widest, at);
  }
  return true;
}

// Is one of these sizes 0 in every call of a class?
bool extent_search::is_never_positive(const shapes::decisions& of, const std::vector<bool>& sizes) const {
  box b = all_;
  for (std::size_t k = 0; k < b.size(); ++k)
    if (sizes[k]) b[k].low = std::max<std::int64_t>(b[k].low, 1);
  extent_list low, high;
  spread(b, low, high);
  return of.open_in(low, high).never();
}

bool extent_search::reduces_nothing(const shapes::decisions& of) const {
  const graph& g = p_.g;
  if (!is_never_positive(of, std::vector<bool>(all_.size(), true))) return false;
  std::vector<bool> used(static_cast<std::size_t>(g.nodes.size()));
  for (const node_id y : g.outputs) used[static_cast<std::size_t>(y)] = true;
  for (node_id n = g.nodes.size() - 1; n >= 0; --n) {  // a node's arguments stand before it
    if (!used[static_cast<std::size_t>(n)]) continue;
    for (int k = 0; k < g[n].count; ++k) used[static_cast<std::size_t>(g.arg(n, k))] = true;
    if (g.kind(n) != op::reduce) continue;
    index_set indices = g.free[n];
    for (int k = 2; k < g[n].count; ++k) indices.insert(g.ordinal(g.arg(n, k)));
    std::vector<bool> sizes(all_.size());
    for (int o = 0; o < g.indices.size(); ++o) {
      const node_id idx = g.indices[o];
      if (indices.has(o) && !is_unbound(g, idx) && is_extent(g, g.arg(idx, 1)))
        sizes[size_of_[place_of(g, g.arg(idx, 1))]] = true;
    }
    if (!is_never_positive(of, sizes)) return false;
  }
  return true;
}

}  // namespace sheaf::inline v0_1::aot
