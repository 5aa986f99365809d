#include <sheaf/jit/shapes/usual_extents.hpp>

#include <algorithm>
#include <bit>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/shapes/joined_extents.hpp>

namespace sheaf::inline v0_1::shapes {

namespace {

namespace classes = numerics::classes;

// Lanes go along what lies closest in tables of numbers; else in lists of numbers; the others are rows, or data.
enum rank : int { unread, data, row, list, along };
rank rank_of(const input_row& in, int dimension) {
  const bool last = dimension + 1 == in.rank;
  if (!is_floating(in.type)) return data;
  return !last ? row : in.rank > 1 ? along : list;
}

std::vector<amount> exactly(std::span<const std::int64_t> extents, decisions& record) {
  std::vector<amount> list;
  for (const std::int64_t n : extents) list.push_back(record.extent(static_cast<int>(list.size()), n));
  return list;
}

}  // namespace

usual_extents::usual_extents(const graph& g, bool general)
    : g_(g),
      general_(general),
      roles_(static_cast<std::size_t>(g.static_extents.size()), role::unread),
      stated_(roles_.size()),
      beside_(roles_.size(), 1) {
  const joined_extents same(g, ties::related);
  const auto size_at = [&](std::size_t place) { return static_cast<std::size_t>(same.of(static_cast<int>(place))); };
  std::vector<int> ranks(roles_.size(), unread);
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const auto place = static_cast<std::size_t>(g.inputs[i].first_extent + d);
      const std::size_t size = size_at(place);
      if (same.is_read(static_cast<int>(size))) ranks[size] = std::max<int>(ranks[size], rank_of(g.inputs[i], d));
    }
  for (std::size_t k = 0; k < roles_.size(); ++k) stated_[k] = same.stated(static_cast<int>(k));
  std::size_t leading = roles_.size();  // the size that lanes go along
  for (std::size_t size = 0; size < ranks.size(); ++size)
    if (size_at(size) == size && stated_[size] == dynamic && ranks[size] >= list &&
        (leading == ranks.size() || ranks[size] > ranks[leading]))
      leading = size;
  for (std::size_t k = 0; k < roles_.size(); ++k) {
    const std::size_t size = size_at(k);
    if (stated_[k] != dynamic || ranks[size] == unread) continue;
    roles_[k] = size == leading        ? ranks[size] == along ? role::along : role::list
                : ranks[size] == along ? role::also_along
                                       : role::rows;
  }
  for (std::size_t k = 0; k < roles_.size(); ++k)
    for (int i = 0; i < g.inputs.size(); ++i) {
      int rows = 0;
      bool among = false;
      for_rows(i, [&](std::size_t place) { ++rows, among = among || size_at(place) == size_at(k); });
      if (among) beside_[k] = std::max(beside_[k], rows);
    }
}

template <class F>
void usual_extents::for_rows(int input, const F& f) const {
  for (int d = 0; d < g_.inputs[input].rank; ++d) {
    const auto place = static_cast<std::size_t>(g_.inputs[input].first_extent + d);
    if (roles_[place] == role::rows) f(place);
  }
}

// Asked one by one: a comparison of their maximum would take all of them in.
bool usual_extents::are_many_rows(std::span<const amount> extents) const {
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] == role::rows && extents[k] >= classes::many) return true;
  return false;
}
// Of those each has to be shared by tasks.
bool usual_extents::are_few_long_rows(std::span<const amount> extents, const amount& along) const {
  amount least = along - classes::long_row;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] == role::rows) least = min(least, classes::few - 1 - extents[k]);
  return least.certain() >= 0;
}

// Then little is computed, and what a plan is wrong without makes kernels of its own. Asked of each by itself: where no
// call may be of a class, boxes of extents show it.
bool usual_extents::are_any_empty(std::span<const amount> extents) const {
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (roles_[k] != role::unread && extents[k].certain() < 1) return true;
  return false;
}

usual_extents::sizes usual_extents::sizes_of(std::span<const amount> extents) const {
  sizes u;
  if (general_ || are_any_empty(extents)) {
    const bool table = std::ranges::find(roles_, role::along) != roles_.end();
    return {table ? classes::usual_row : classes::usual_list, classes::usual_row, classes::usual_rows};
  }
  u.rows = classes::usual_rows;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const amount& n = extents[k];
    if (roles_[k] == role::along)
      u.along = n < classes::narrow_row ? classes::usual_short
                : n < classes::row      ? classes::usual_narrow
                                        : classes::usual_row;
    // A table of rows is large however many they are, but for few long ones.
    if (roles_[k] == role::along && u.along == classes::usual_row && are_few_long_rows(extents, n))
      u.along = classes::usual_long_row, u.rows = classes::usual_few;
    if (roles_[k] == role::also_along && u.also_along == 0)
      u.also_along = n < classes::narrow_row ? classes::usual_short : classes::usual_row;
    if (roles_[k] == role::list)
      u.along = n < classes::narrow_row ? classes::usual_short
                : n < classes::many     ? classes::usual_list
                                        : classes::usual_long_list;
  }
  const bool are_rows_long = u.along == classes::usual_row || u.along == classes::usual_long_row;
  if (!are_rows_long && are_many_rows(extents)) u.rows = classes::usual_many;
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
      // A root, rounded up.
      if (beside_[place] == 1) return u.rows;
      return std::int64_t{1} << ((std::bit_width(static_cast<std::uint64_t>(u.rows)) + 1) / beside_[place]);
    case role::unread:
      break;
  }
  return classes::usual_unread;
}

std::vector<amount> usual_extents::of(std::span<const std::int64_t> extents, decisions& record) const {
  std::vector<amount> list = exactly(extents, record);
  if (record.exact()) return list;
  for (amount& n : list) n = n.certain();
  const sizes u = sizes_of(list);
  for (std::size_t k = 0; k < roles_.size(); ++k) list[k] = record.extent(static_cast<int>(k), extents[k], at(k, u));
  return list;
}

std::vector<amount> amounts_of(const graph& g, std::span<const std::int64_t> extents, decisions& record) {
  return record.exact() ? exactly(extents, record) : usual_extents(g).of(extents, record);
}

}  // namespace sheaf::inline v0_1::shapes
