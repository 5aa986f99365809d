#include <sheaf/jit/shapes/usual_extents.hpp>

#include <algorithm>
#include <bit>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/shapes/closed_numbers.hpp>
#include <sheaf/jit/shapes/rows_of_values.hpp>

namespace sheaf::inline v0_1::shapes {

namespace {

namespace classes = numerics::classes;

// Lanes go along what lies closest in tables of numbers; else in lists of numbers; the others are rows, or data.
enum rank : int { unread, data, row, list, along };
rank rank_of(const input_row& in, int dimension, bool is_value) {
  const bool last = dimension + 1 == in.rank;
  if (!is_value) return data;
  return !last ? row : in.rank > 1 ? along : list;
}

// By the graph's inputs: do results follow from its numbers, where integers may also name places, limits and groups?
std::vector<bool> inputs_of_values(const graph& g) {
  std::vector<bool> list, seen(static_cast<std::size_t>(g.size()), false);
  for (int i = 0; i < g.inputs.size(); ++i) list.push_back(is_floating(g.inputs[i].type));
  std::vector<node_id> open(g.outputs.begin(), g.outputs.end());
  const auto next = [&](node_id n, int first, int end) {
    for (int k = first; k < end; ++k) open.push_back(g.arg(n, k));
  };
  while (!open.empty()) {
    const node_id n = open.back();
    open.pop_back();
    if (n == no_node || seen[static_cast<std::size_t>(n)]) continue;
    seen[static_cast<std::size_t>(n)] = true;
    switch (g.kind(n)) {
      case op::input: list[static_cast<std::size_t>(g[n].attribute)] = true; break;
      case op::index:
      case op::extent: break;
      case op::load:
      case op::define:
      case op::reduce: next(n, 0, 1); break;
      case op::select: next(n, 1, 3); break;
      default: next(n, 0, g[n].count);
    }
  }
  return list;
}

std::vector<amount> exactly(std::span<const std::int64_t> extents, decisions& record) {
  std::vector<amount> list;
  for (const std::int64_t n : extents) list.push_back(record.extent(static_cast<int>(list.size()), n));
  return list;
}

// The usual one of the first range of extents that holds n, which ends before its limit.
struct usual_range {
  std::int64_t limit, usual;
};
std::int64_t usual_of(const amount& n, std::initializer_list<usual_range> ranges, std::int64_t& most) {
  for (const usual_range& r : ranges)
    if (r.limit == classes::any || n < r.limit) return most = r.limit == classes::any ? r.limit : r.limit - 1, r.usual;
  return 0;
}

}  // namespace

// f of the nodes that outputs are made of, but for extents.
template <class F>
void usual_extents::for_read(const F& f) const {
  std::vector<bool> seen(static_cast<std::size_t>(g_.size()), false);
  std::vector<node_id> open(g_.outputs.begin(), g_.outputs.end());
  while (!open.empty()) {
    const node_id n = open.back();
    open.pop_back();
    if (n == no_node || seen[static_cast<std::size_t>(n)] || g_.kind(n) == op::extent) continue;
    seen[static_cast<std::size_t>(n)] = true;
    for (int k = 0; k < g_[n].count; ++k) open.push_back(g_.arg(n, k));
    f(n);
  }
}

usual_extents::usual_extents(const graph& g, covering by)
    : g_(g),
      general_(by == covering::one),
      few_(by == covering::few),
      roles_(static_cast<std::size_t>(g.static_extents.size()), role::unread),
      stated_(roles_.size()),
      windows_(roles_.size()),
      of_values_(roles_.size()),
      beside_(roles_.size(), 1) {
  const joined_extents same(g, ties::related);
  const auto size_at = [&](std::size_t place) { return static_cast<std::size_t>(same.of(static_cast<int>(place))); };
  std::vector<int> ranks(roles_.size(), unread);
  const std::vector<bool> values = inputs_of_values(g);
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const auto place = static_cast<std::size_t>(g.inputs[i].first_extent + d);
      const std::size_t size = size_at(place);
      const bool is_value = values[static_cast<std::size_t>(i)];
      if (same.is_read(static_cast<int>(size)))
        ranks[size] = std::max<int>(ranks[size], rank_of(g.inputs[i], d, is_value));
    }
  for (std::size_t k = 0; k < roles_.size(); ++k) stated_[k] = same.stated(static_cast<int>(k));
  const std::vector<std::int64_t> window = windows(same);
  for (std::size_t k = 0; k < roles_.size(); ++k) windows_[k] = window[size_at(k)];
  std::size_t leading = roles_.size();  // the size that lanes go along
  for (std::size_t size = 0; size < ranks.size(); ++size)
    if (size_at(size) == size && stated_[size] == dynamic && windows_[size] == 0 && ranks[size] >= list &&
        (leading == ranks.size() || ranks[size] > ranks[leading]))
      leading = size;
  for (std::size_t k = 0; k < roles_.size(); ++k) {
    const std::size_t size = size_at(k);
    if (stated_[k] != dynamic || ranks[size] == unread) continue;
    roles_[k] = windows_[k] != 0       ? role::window
                : size == leading      ? ranks[size] == along ? role::along : role::list
                : ranks[size] == along ? role::also_along
                                       : role::rows;
  }
  const int values_of = rows_of_values(g, same);
  for (std::size_t k = 0; k < roles_.size(); ++k)
    of_values_[k] = roles_[k] == role::rows && same.of(static_cast<int>(k)) == values_of;
  for (std::size_t k = 0; k < roles_.size(); ++k)
    for (int i = 0; i < g.inputs.size(); ++i) {
      int rows = 0;
      bool among = false;
      for_rows(i, [&](std::size_t place) { ++rows, among = among || size_at(place) == size_at(k); });
      if (among) beside_[k] = std::max(beside_[k], rows);
    }
  note_order();
}

namespace {

constexpr std::int64_t usual_window = 4;  // places

// Does an index walk a stated number of places, more than a window has?
bool is_long(const graph& g, node_id idx) {
  return g.kind(g.arg(idx, 1)) == op::constant && g[g.arg(idx, 1)].attribute > classes::few;
}

// What a subscript adds up of indices, also one that is moved inside: of a clamped 2 * i + u - 1 these are i, scaled,
// and u. Empty where it is something else.
struct index_term {
  node_id index;
  bool is_scaled;
};
bool add_terms(const graph& g, node_id e, bool is_scaled, std::vector<index_term>& list) {
  if (g.free[e].empty()) return true;
  const op kind = g.kind(e);
  if (kind == op::index) {
    list.push_back({e, is_scaled});
    return true;
  }
  if (!is_elementwise(kind) || g[e].count != 2) return false;
  const node_id a = g.arg(e, 0), b = g.arg(e, 1);
  if (kind == op::add) return add_terms(g, a, is_scaled, list) && add_terms(g, b, is_scaled, list);
  const bool one = g.free[a].empty() != g.free[b].empty();
  if (kind == op::mul) return one && add_terms(g, g.free[a].empty() ? b : a, true, list);
  if (kind == op::sub) return g.free[b].empty() && add_terms(g, a, is_scaled, list);
  // A mirrored place is the smaller of a remainder and of what that is less than the period.
  if (kind == op::minimum || kind == op::maximum)
    return add_terms(g, g.free[a].empty() || (!one && g.kind(b) == op::remainder) ? b : a, is_scaled, list);
  return kind == op::remainder && one && add_terms(g, a, is_scaled, list);
}
std::vector<index_term> terms_of(const graph& g, node_id e) {
  std::vector<index_term> list;
  if (!add_terms(g, e, false, list)) list.clear();
  return list;
}

// Is an end made of that extent, and of numbers?
bool follows(const graph& g, node_id end, const joined_extents& same, int size) {
  if (g.kind(end) == op::extent) return place_of(g, end) >= 0 && same.of(place_of(g, end)) == size;
  if (!is_elementwise(g.kind(end))) return false;
  for (int k = 0; k < g[end].count; ++k)
    if (follows(g, g.arg(end, k), same, size)) return true;
  return false;
}

}  // namespace

std::vector<std::int64_t> usual_extents::windows(const joined_extents& same) const {
  std::vector<std::int64_t> places(roles_.size(), 0);
  std::vector<bool> walked(roles_.size(), false);  // otherwise, too
  const auto note = [&](const input_row& in, int size, node_id at) {
    const auto number = static_cast<std::size_t>(size);
    const bool is_index = g_.kind(at) == op::index && !is_unbound(g_, at);
    const bool stated = is_index && g_.kind(g_.arg(at, 1)) == op::constant && is_floating(in.type);
    if (stated) places[number] = std::max(places[number], g_[g_.arg(at, 1)].attribute);
    else if (is_index) walked[number] = walked[number] || end_of(g_, at) < 0 || same.of(end_of(g_, at)) != size;
    else if (g_.kind(at) != op::sub) walked[number] = true;  // that is of a gradient
    const auto terms = terms_of(g_, at);
    for (std::size_t k = 0; terms.size() == 2 && k < 2; ++k) {
      const node_id idx = terms[k].index, other = terms[1 - k].index;
      if (terms[0].is_scaled || terms[1].is_scaled || end_of(g_, idx) < 0) continue;
      const int own = same.of(end_of(g_, idx));
      std::int64_t& of_own = places[static_cast<std::size_t>(own)];
      const bool beside = is_long(g_, other) || follows(g_, g_.arg(other, 1), same, size);
      if (own != size && beside) of_own = std::max(of_own, usual_window);
    }
  };
  for_read([&](node_id n) {
    for (int d = 0; g_.kind(n) == op::load && g_.kind(g_.arg(n, 0)) == op::input && d + 1 < g_[n].count; ++d) {
      const input_row& in = g_.inputs[static_cast<int>(g_[g_.arg(n, 0)].attribute)];
      note(in, same.of(in.first_extent + d), g_.arg(n, 1 + d));
    }
  });
  for (std::size_t k = 0; k < places.size(); ++k)
    if (walked[k]) places[k] = 0;
  return places;
}

template <class F>
void usual_extents::for_rows(int input, const F& f) const {
  for (int d = 0; d < g_.inputs[input].rank; ++d) {
    const auto place = static_cast<std::size_t>(g_.inputs[input].first_extent + d);
    if (roles_[place] == role::rows) f(place);
  }
}

// Of the dimensions that are rows. Asked one by one: a comparison of their maximum would take all of them in.
bool usual_extents::is_each_below(std::int64_t limit, std::span<const amount> extents,
                                  std::vector<std::int64_t>& most) const {
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] == role::rows && extents[k] >= limit) return false;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] == role::rows) most[k] = limit - 1;
  return true;
}

// Notes the order of the ends of ranges, and of subscripts that are one number for a call.
void usual_extents::note_order() {
  const auto note = [&](const ordered& pair) {
    if (std::ranges::find(ordered_, pair) == ordered_.end()) ordered_.push_back(pair);
  };
  for_read([&](node_id n) {
    if (g_.kind(n) == op::index && !is_unbound(g_, n)) note({g_.arg(n, 0), g_.arg(n, 1), 0});
    for (int d = 0; g_.kind(n) == op::load && d + 1 < g_[n].count; ++d) {
      const node_id tensor = g_.arg(n, 0), at = g_.arg(n, 1 + d);
      if (!g_.free[at].empty()) continue;
      if (g_.kind(tensor) == op::define) note({at, g_.arg(g_.arg(tensor, 1 + d), 1), 0});
      if (g_.kind(tensor) == op::input)
        note({at, no_node, g_.inputs[static_cast<int>(g_[tensor].attribute)].first_extent + d});
    }
  });
}

// Then little is computed. Asked of each by itself: where no call may be of a class, boxes of extents show it.
bool usual_extents::is_irregular(std::span<const amount> extents) const {
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] != role::unread && extents[k] < 1) return true;
  const auto extent = [&](std::size_t input, std::size_t d) -> std::optional<amount> {
    return extents[static_cast<std::size_t>(g_.inputs[static_cast<int>(input)].first_extent) + d];
  };
  known_numbers<amount> done;
  const auto number = [&](node_id n) {
    return g_.free[n].empty() ? evaluated<traced>(g_, n, point::low, extent, done) : std::nullopt;
  };
  return std::ranges::any_of(ordered_, [&](const ordered& pair) {
    const auto less = number(pair.less);
    const auto more = pair.more == no_node ? extents[static_cast<std::size_t>(pair.place)] : number(pair.more);
    return less && more && less->certain() >= *more;
  });
}

bool usual_extents::is_list() const { return std::ranges::find(roles_, role::along) == roles_.end(); }

usual_extents::sizes usual_extents::general_sizes() const {
  return {!is_list() ? classes::usual_row : classes::usual_list, classes::usual_row, classes::usual_rows};
}

usual_extents::sizes usual_extents::sizes_of(std::span<const amount> extents, std::vector<std::int64_t>& most) const {
  using namespace classes;
  sizes u{.rows = usual_rows};
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (roles_[k] == role::along)
      u.along = usual_of(extents[k],
                         {{narrow_row, usual_short},
                          {classes::row, usual_narrow},
                          {long_row, usual_row},
                          {any, usual_long_row}},
                         most[k]);
    if (roles_[k] == role::list)
      u.along = usual_of(extents[k], {{narrow_row, usual_short}, {many, usual_list}, {any, usual_long_list}}, most[k]);
  }
  // A table of rows is large however many they are, but for few long ones.
  if (u.along == usual_long_row && is_each_below(few, extents, most)) u.rows = usual_few;
  if (u.along == usual_row) is_each_below(many, extents, most);  // what few rows allow is of the same usual ones
  if (u.along == usual_row || u.along == usual_long_row) return u.also_along = usual_row, u;
  for (std::size_t k = 0; k < extents.size() && u.also_along == 0; ++k)
    if (roles_[k] == role::also_along)
      u.also_along = usual_of(extents[k], {{narrow_row, usual_short}, {any, usual_row}}, most[k]);
  if (u.also_along != 0 || (u.along == usual_short && !is_list()))
    u.rows = usual_any;
  else if (!is_each_below(many, extents, most))
    u.rows = usual_many;
  for (std::size_t k = 0; k < extents.size() && u.also_along == 0 && !is_list(); ++k)
    if (of_values_[k] && extents[k] < narrow_row) u.of_values = usual_short, most[k] = narrow_row - 1;
  return u;
}

std::int64_t usual_extents::at(std::size_t place, const sizes& u) const {
  if (stated_[place] != dynamic) return stated_[place];
  switch (roles_[place]) {
    case role::list:
    case role::along:
      return u.along;
    case role::also_along:
      return u.also_along;
    case role::rows:
      if (of_values_[place] && u.of_values != 0) return u.of_values;
      // A root, rounded up.
      if (beside_[place] == 1) return u.rows;
      return std::int64_t{1} << ((std::bit_width(static_cast<std::uint64_t>(u.rows)) + 1) / beside_[place]);
    case role::window:
      return windows_[place];
    case role::unread:
      break;
  }
  return classes::usual_unread;
}

std::vector<amount> usual_extents::of(std::span<const std::int64_t> extents, decisions& record) const {
  std::vector<amount> list = exactly(extents, record);
  for (amount& n : list) n = n.certain();
  std::vector<std::int64_t> most(list.size(), classes::any);
  const bool irregular = !general_ && is_irregular(list);
  if (irregular && !record.exact()) record.be_irregular();
  const sizes u = general_ || irregular ? general_sizes() : sizes_of(list, most);
  if (few_ && !record.exact()) record.bound_by(std::move(most));
  for (std::size_t k = 0; k < roles_.size(); ++k) list[k] = record.extent(static_cast<int>(k), extents[k], at(k, u));
  return list;
}

std::vector<amount> amounts_of(const graph& g, std::span<const std::int64_t> extents, decisions& record, bool gpu) {
  if (gpu && record.exact()) return exactly(extents, record);
  return usual_extents(g, usual_extents::covering::few).of(extents, record);
}

}  // namespace sheaf::inline v0_1::shapes
