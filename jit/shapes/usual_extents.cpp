#include <sheaf/jit/shapes/usual_extents.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::shapes {

namespace {

namespace classes = numerics::classes;

// Dimensions of inputs, by place, joined where constraints say that they agree.
class joined_extents {
 public:
  explicit joined_extents(const graph& g)
      : g_(g), of_(static_cast<std::size_t>(g.static_extents.size())), read_(of_.size()) {
    std::iota(of_.begin(), of_.end(), 0);
    for (const constraint& c : g.constraints) {
      std::vector<int> both;
      note(c.left, both), note(c.right, both);
      for (std::size_t k = 1; k < both.size(); ++k) join(both[0], both[k]);
    }
    std::vector<int> list;
    for (const node_id y : g.outputs) note(y, list);
    for (const int place : list) read_[static_cast<std::size_t>(of(place))] = true;
  }

  int of(int place) const {
    while (of_[static_cast<std::size_t>(place)] != place) place = of_[static_cast<std::size_t>(place)];
    return place;
  }
  // Does a range or a value follow from it?
  bool is_read(int size) const { return read_[static_cast<std::size_t>(size)]; }

 private:
  void join(int a, int b) {
    a = of(a), b = of(b);
    of_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  // The extents that it is made of.
  void note(node_id n, std::vector<int>& list) const {
    std::vector<bool> seen(static_cast<std::size_t>(g_.size()), false);
    std::vector<node_id> open{n};
    while (!open.empty()) {
      const node_id at = open.back();
      open.pop_back();
      if (at == no_node || seen[static_cast<std::size_t>(at)]) continue;
      seen[static_cast<std::size_t>(at)] = true;
      if (g_.kind(at) == op::extent) {
        const input_row& in = g_.inputs[static_cast<int>(g_[g_.arg(at, 0)].attribute)];
        list.push_back(in.first_extent + static_cast<int>(g_[at].attribute));
      } else {
        for (int k = 0; k < g_[at].count; ++k) open.push_back(g_.arg(at, k));
      }
    }
  }

  const graph& g_;
  std::vector<int> of_;
  std::vector<bool> read_;
};

}  // namespace

namespace {

// Lanes go along what lies closest in tables of numbers; lists of numbers come next, and rows, and what is data.
int rank_of(const input_row& in, int dimension) {
  const bool last = dimension + 1 == in.rank;
  if (!is_floating(in.type)) return 1;
  return !last ? 2 : in.rank > 1 ? 4 : 3;
}

}  // namespace

usual_extents::usual_extents(const graph& g)
    : roles_(static_cast<std::size_t>(g.static_extents.size()), role::unread),
      stated_(g.static_extents.begin(), g.static_extents.end()) {
  const joined_extents same(g);
  std::vector<int> rank(roles_.size(), 0);
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const auto place = static_cast<std::size_t>(g.inputs[i].first_extent + d);
      const auto size = static_cast<std::size_t>(same.of(static_cast<int>(place)));
      if (stated_[size] == dynamic) stated_[size] = stated_[place];
      if (same.is_read(static_cast<int>(size))) rank[size] = std::max(rank[size], rank_of(g.inputs[i], d));
    }
  std::vector<int> order;
  for (std::size_t size = 0; size < rank.size(); ++size)
    if (rank[size] > 0 && stated_[size] == dynamic) order.push_back(static_cast<int>(size));
  const auto key = [&](int size) { return std::pair(-rank[static_cast<std::size_t>(size)], size); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  for (std::size_t k = 0; k < roles_.size(); ++k) {
    const int size = same.of(static_cast<int>(k));
    stated_[k] = stated_[static_cast<std::size_t>(size)];
    const auto at = std::find(order.begin(), order.end(), size) - order.begin();
    if (!same.is_read(size)) continue;
    const bool row = rank[static_cast<std::size_t>(size)] == 4;
    roles_[k] = at > 1 ? role::other : at == 1 ? role::repeated : order.size() > 1 && row ? role::along : role::list;
  }
}

template <class Number>
usual_extents::sizes usual_extents::sizes_of(std::span<const Number> extents) const {
  sizes u;
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
