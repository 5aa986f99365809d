#include <sheaf/jit/shapes/usual_extents.hpp>

#include <algorithm>
#include <utility>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/shapes/joined_extents.hpp>

namespace sheaf::inline v0_1::shapes {

namespace {

namespace classes = numerics::classes;

// Lanes go along what lies closest in tables of numbers; lists of numbers come next, and rows, and what is data.
int rank_of(const input_row& in, int dimension) {
  const bool last = dimension + 1 == in.rank;
  if (!is_floating(in.type)) return 1;
  return !last ? 2 : in.rank > 1 ? 4 : 3;
}

}  // namespace

usual_extents::usual_extents(const graph& g, bool general)
    : general_(general),
      roles_(static_cast<std::size_t>(g.static_extents.size()), role::unread),
      stated_(roles_.size()) {
  const joined_extents same(g, ties::related);
  for (std::size_t place = 0; place < stated_.size(); ++place) stated_[place] = same.stated(static_cast<int>(place));
  std::vector<int> rank(roles_.size(), 0);
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const auto place = static_cast<std::size_t>(g.inputs[i].first_extent + d);
      const auto size = static_cast<std::size_t>(same.of(static_cast<int>(place)));
      if (same.is_read(static_cast<int>(size))) rank[size] = std::max(rank[size], rank_of(g.inputs[i], d));
    }
  std::vector<int> order;
  for (std::size_t size = 0; size < rank.size(); ++size)
    if (rank[size] > 0 && stated_[size] == dynamic) order.push_back(static_cast<int>(size));
  const auto key = [&](int size) { return std::pair(-rank[static_cast<std::size_t>(size)], size); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  for (std::size_t k = 0; k < roles_.size(); ++k) {
    const int size = same.of(static_cast<int>(k));
    const auto at = std::find(order.begin(), order.end(), size) - order.begin();
    if (!same.is_read(size)) continue;
    const bool row = rank[static_cast<std::size_t>(size)] == 4;
    roles_[k] = at > 1 ? role::other : at == 1 ? role::repeated : order.size() > 1 && row ? role::along : role::list;
  }
}

template <class Number>
usual_extents::sizes usual_extents::sizes_of(std::span<const Number> extents) const {
  sizes u;
  if (general_) {
    const bool rows = std::find(roles_.begin(), roles_.end(), role::along) != roles_.end();
    return {rows ? classes::usual_row : classes::usual_list, classes::usual_rows, classes::least_other};
  }
  const auto first = [&](role r) { return std::find(roles_.begin(), roles_.end(), r) - roles_.begin(); };
  const auto list = static_cast<std::size_t>(first(role::list)), along = static_cast<std::size_t>(first(role::along)),
             repeated = static_cast<std::size_t>(first(role::repeated));
  if (list < extents.size()) {
    const Number& n = extents[list];
    u.along = n < classes::narrow_row ? classes::usual_short
              : n < classes::many     ? classes::usual_list
                                      : classes::usual_long_list;
  } else if (along < extents.size()) {
    const Number& n = extents[along];
    u.along = n < classes::narrow_row ? classes::usual_short
              : n < classes::row      ? classes::usual_narrow
              : n < classes::long_row ? classes::usual_row
                                      : classes::usual_long_row;
  }
  if (repeated < extents.size()) {
    const Number& n = extents[repeated];
    if (u.along == classes::usual_long_row)
      u.repeated = n < classes::few ? classes::usual_few : classes::usual_rows;
    else
      u.repeated = n < classes::many ? classes::usual_rows : classes::usual_many;
  }
  u.other = std::max(classes::least_other, u.repeated / classes::share_of_other);
  return u;
}

std::int64_t usual_extents::at(std::size_t place, const sizes& u) const {
  if (stated_[place] != dynamic) return stated_[place];
  switch (roles_[place]) {
    case role::list:
    case role::along:
      return u.along;
    case role::repeated:
      return u.repeated;
    case role::other:
      return u.other;
    case role::unread:
      break;
  }
  return classes::usual_unread;
}

std::vector<std::int64_t> usual_extents::of(std::span<const std::int64_t> extents) const {
  const sizes u = sizes_of(extents);
  std::vector<std::int64_t> list;
  for (std::size_t k = 0; k < roles_.size(); ++k) list.push_back(at(k, u));
  return list;
}

std::vector<amount> usual_extents::of(std::span<const std::int64_t> extents, decisions& record) const {
  std::vector<amount> list;
  for (std::size_t k = 0; k < roles_.size(); ++k) list.push_back(record.extent(static_cast<int>(k), extents[k]));
  if (record.exact()) return list;
  for (amount& n : list) n = n.certain();
  const sizes u = sizes_of(std::span<const amount>(list));
  for (std::size_t k = 0; k < roles_.size(); ++k) list[k] = record.extent(static_cast<int>(k), extents[k], at(k, u));
  return list;
}

}  // namespace sheaf::inline v0_1::shapes
