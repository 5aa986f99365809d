#include <sheaf/jit/plan/guarded_data.hpp>

#include <algorithm>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/subscript_ends.hpp>
#include <sheaf/jit/tuning/checks.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

std::vector<node_id> parts_of(const graph& g, node_id condition) {
  flat<node_id> parts;
  deltas::conjuncts(g, condition, parts);
  std::vector<node_id> list;
  for (const node_id part : parts)
    if (!is_true(g, part)) list.push_back(part);
  return list;
}

// Where one subscript of a load is evaluated and outside.
class outside_where {
 public:
  outside_where(graph& g, folding& folds, violation& v)
      : g_(g), folds_(folds), v_(v), subscript_(g.arg(v.load, 1 + v.dimension)) {}

  // False: it is nowhere, or asking would fold again what its condition folds.
  bool operator()() {
    std::vector<node_id> parts = parts_of(g_, v_.where);
    const node_id inside = still_asked(parts);
    if (is_true(g_, inside) || folds_.in(subscript_) ||
        std::ranges::any_of(parts, [&](node_id part) { return folds_.in(part); }))
      return false;
    for (const node_id idx : std::vector<node_id>(v_.loops)) take_guarded(idx, parts);
    v_.where = truth(g_, true);
    for (const node_id part : parts) v_.where = conjunction(g_, v_.where, part);
    v_.where = conjunction(g_, v_.where, outside(parts, inside));
    leave_loops();
    return true;
  }

 private:
  // What of being inside the conditions don't say.
  node_id still_asked(const std::vector<node_id>& parts) {
    const node_id tensor = g_.arg(v_.load, 0), low = low_of(g_, tensor, v_.dimension),
                  high = high_of(g_, tensor, v_.dimension);
    const node_id asked = is_number(g_, low, 0) ? clamped_instead(g_, subscript_, high) : subscript_;
    node_id inside = truth(g_, true);
    for (const node_id part : parts_of(g_, range_condition(g_, asked, low, high)))
      if (std::ranges::none_of(parts, [&](node_id said) { return says(said, part); }))
        inside = conjunction(g_, inside, part);
    return inside;
  }
  // Does a part say another? Of integers a < b or a <= b.
  bool says(node_id said, node_id asked) const {
    const auto compares = [&](node_id n) {
      return (g_.kind(n) == op::less || g_.kind(n) == op::less_equal) && g_.type(g_.arg(n, 0)) == element::i64;
    };
    if (said == asked) return true;
    if (!compares(said) || !compares(asked)) return false;
    const int closer = (g_.kind(asked) == op::less) - (g_.kind(said) == op::less);
    return known_less_equal(g_, plus(g_, g_.arg(asked, 0), closer), g_.arg(said, 0)) &&
           known_less_equal(g_, g_.arg(said, 1), g_.arg(asked, 1));
  }

  // Some value of an index that the subscript is the same for lets it be read: one that is a key, as in key(t) == j, or
  // one between ends, as in off(s) <= t && t < off(s + 1).
  void take_guarded(node_id idx, std::vector<node_id>& parts) {
    const auto has = [&](node_id n) { return g_.free[n].has(g_.ordinal(idx)); };
    if (has(subscript_) || !is_uniform(g_, g_.arg(idx, 0)) || !is_uniform(g_, g_.arg(idx, 1)) ||
        std::ranges::any_of(v_.loops, [&](node_id other) { return other != idx && has(other); }))
      return;
    const auto compares = [&](node_id part) {
      const op kind = g_.kind(part);
      return (kind == op::equal || kind == op::less || kind == op::less_equal) &&
             (g_.arg(part, 0) == idx || g_.arg(part, 1) == idx) && has(g_.arg(part, 0)) != has(g_.arg(part, 1));
    };
    const auto is_key = [&](node_id part) { return g_.kind(part) == op::equal && compares(part); };
    if (const auto at = std::ranges::find_if(parts, is_key); at != parts.end()) {
      const node_id key = g_.arg(*at, g_.arg(*at, 0) == idx ? 1 : 0);
      replacement put(g_);
      put.add(idx, key);
      *at = range_condition(g_, key, g_.arg(idx, 0), g_.arg(idx, 1));
      for (node_id& part : parts) part = put(part);
    } else if (std::ranges::all_of(parts, [&](node_id part) { return !has(part) || compares(part); })) {
      const node_id first = g_.arg(idx, 0), end = g_.arg(idx, 1);
      node_id low = first, high = end;
      for (const node_id part : parts) {
        if (!has(part)) continue;
        const bool or_equal = g_.kind(part) == op::less_equal, below = g_.arg(part, 1) == idx;
        node_id e = g_.arg(part, below ? 0 : 1);
        if (below != or_equal) e = plus(g_, make(g_, op::minimum, e, plus(g_, end, -1)), 1);  // it doesn't overflow
        if (below) low = make(g_, op::maximum, low, e);
        else high = make(g_, op::minimum, high, e);
      }
      std::erase_if(parts, has);
      parts.push_back(make(g_, op::less, low, high));
    } else {
      return;
    }
    std::erase(v_.loops, idx);
  }

  // Where the elements of a slice are the subscripts, its ends say whether one is outside.
  node_id outside(const std::vector<node_id>& parts, node_id inside) {
    const node_id idx = subscript_, other = make(g_, op::logical_not, inside);
    const auto has = [&](node_id n) { return n != idx && g_.free[n].has(g_.ordinal(idx)); };
    if (g_.kind(idx) != op::index || std::ranges::find(v_.loops, idx) == v_.loops.end() ||
        std::ranges::any_of(parts, has) || std::ranges::any_of(v_.loops, has))
      return other;
    const node_id low = g_.arg(idx, 0), high = g_.arg(idx, 1), tensor = g_.arg(v_.load, 0);
    if (!holds(g_, low, op::load) && !holds(g_, high, op::load)) return other;
    std::erase(v_.loops, idx);
    v_.least = low;
    v_.most = plus(g_, high, -1);
    const node_id within = conjunction(g_, make(g_, op::less_equal, low_of(g_, tensor, v_.dimension), low),
                                       make(g_, op::less_equal, high, high_of(g_, tensor, v_.dimension)));
    return conjunction(g_, make(g_, op::less, low, high), make(g_, op::logical_not, within));
  }

  // Of loops that nothing asks for only that they have an element.
  void leave_loops() {
    index_set asked = g_.free[v_.where];
    asked |= g_.free[subscript_];
    std::vector<node_id> kept;
    for (std::size_t k = v_.loops.size(); k-- > 0;) {
      const node_id idx = v_.loops[k], low = g_.arg(idx, 0), high = g_.arg(idx, 1);
      if (asked.has(g_.ordinal(idx))) {
        kept.insert(kept.begin(), idx);
        asked |= g_.free[idx];
      } else if (!known_less_equal(g_, plus(g_, low, 1), high)) {
        const node_id some = make(g_, op::less, low, high);
        v_.where = conjunction(g_, some, v_.where);
        asked |= g_.free[some];
      }
    }
    v_.loops = kept;
  }

  graph& g_;
  folding& folds_;
  violation& v_;
  const node_id subscript_;
};

// The load, and others of which it reads a part: with indices that end sooner, or begin later, than theirs. Each has
// indices of its own, of which a plan has a limited number.
std::vector<node_id> with_wider_ranges(graph& g, node_id load) {
  constexpr std::size_t most = 8;
  std::vector<node_id> list{load};
  const auto has_room = [&] { return list.size() < most && g.indices.size() < tuning::checks::many_indices; };
  for (std::size_t k = 0; k < list.size() && has_room(); ++k) {
    node_id cut = no_node;
    for_each_node(g, list[k], [&](node_id n) {
      if (g.kind(n) == op::index && !is_unbound(g, n) &&
          (g.kind(g.arg(n, 0)) == op::maximum || g.kind(g.arg(n, 1)) == op::minimum))
        cut = n;
    });
    if (cut == no_node) continue;
    const int end = g.kind(g.arg(cut, 1)) == op::minimum ? 1 : 0;
    for (int arm = 0; arm < 2; ++arm) {
      const node_id bound = g.arg(g.arg(cut, end), arm);
      replacement put(g);
      put.rename(cut, fresh_index(g, cut, end == 1 ? g.arg(cut, 0) : bound, end == 1 ? bound : g.arg(cut, 1)));
      list.push_back(put(list[k]));
    }
  }
  return list;
}

}  // namespace

bool folding::in(node_id n) {
  const auto [at, fresh] = known_.try_emplace(n, g_.kind(n) == op::reduce);
  if (!fresh || at->second || g_.kind(n) == op::extent) return at->second;
  bool any = false;
  const int count = g_.kind(n) == op::define ? 1 : g_[n].count;  // of a definition its body
  for (int k = 0; !any && k < count; ++k) any = in(g_.arg(n, k));
  return known_[n] = any;
}

guarded_data::guarded_data(graph& g, const facts& known, const std::vector<node_id>& always)
    : asked_{g, known}, folds_(g) {
  const node_id count = g.size();
  std::vector<bool> of_data(static_cast<std::size_t>(count), false);
  for (node_id n = 0; n < count; ++n) {
    const bool is_load = g.kind(n) == op::load;
    const auto is_of_data = [&](int k) { return of_data[static_cast<std::size_t>(g.arg(n, k))]; };
    bool by_data = is_load;
    for (int k = 0; k < g[n].count && g.kind(n) != op::extent && g.kind(n) != op::define; ++k)
      by_data = by_data || is_of_data(k);
    of_data[static_cast<std::size_t>(n)] = by_data;
    if (!is_load || is_inside(g, n)) continue;
    std::vector<int> list;
    for (int d = 0; d + 1 < g[n].count; ++d)
      if (is_of_data(1 + d)) list.push_back(d);
    const auto covers = [&](node_id part) {
      return std::ranges::any_of(always, [&](node_id other) {
        same_but_for_names by(g);
        return is_alike(other, part, by);
      });
    };
    if (!list.empty() && std::ranges::none_of(with_wider_ranges(g, n), covers)) asked_.dimensions[n] = std::move(list);
  }
}

void guarded_data::find(node_id body, std::span<const node_id> indices, std::vector<violation>& found) {
  if (asked_.dimensions.empty()) return;
  std::vector<violation> all;
  find_violations(asked_, body, indices, all);
  for (violation& v : all)
    if (outside_where(asked_.g, folds_, v)() && !is_found(v, found)) found.push_back(std::move(v));
}

// A gradient reads what its forward pass does by other names; a tangent stands where its tensor is.
bool guarded_data::is_alike(node_id a, node_id b, same_but_for_names& names) const {
  const graph& g = asked_.g;
  const node_id of_a = g.arg(a, 0), of_b = g.arg(b, 0);
  if (g[a].count != g[b].count || (of_a != of_b && (g.kind(of_a) == op::define || g.kind(of_b) == op::define)))
    return false;
  for (int d = 0; d + 1 < g[a].count; ++d)
    if (!known_equal(g, extent(asked_.g, of_a, d), extent(asked_.g, of_b, d)) ||
        !names(g.arg(a, 1 + d), g.arg(b, 1 + d)))
      return false;
  return true;
}

// And behind no more conditions.
bool guarded_data::is_found(const violation& v, const std::vector<violation>& found) const {
  const std::vector<node_id> parts = parts_of(asked_.g, v.where);
  return std::ranges::any_of(found, [&](const violation& other) {
    same_but_for_names by(asked_.g);
    if (other.dimension != v.dimension || !is_alike(other.load, v.load, by)) return false;
    return std::ranges::all_of(parts_of(asked_.g, other.where), [&](node_id fewer) {
      return std::ranges::any_of(parts, [&](node_id part) {
        same_but_for_names then = by;  // what has been named stays so
        return then(fewer, part) && (by = std::move(then), true);
      });
    });
  });
}

}  // namespace sheaf::inline v0_1::plan
