// Capture-avoiding substitution of expressions for indices. Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1 {

// Smart constructor of reductions, defined in passes/reduce.hpp.
constexpr node_id reduce(graph& g, monoid kind, node_id body, node_id condition, const node_id* indices, int count);

// Whether a load whose subscripts change is still proven: where what is put in is known to lie in the range of the
// index that it replaces, and where who asks vouches for that, or only compares the result.
enum class proofs : std::uint8_t { known, kept };
// Is `to` known to lie in the range of the index `from`? Defined in affine.hpp.
constexpr bool lies_in_range(graph& g, node_id from, node_id to);

class substitution {
 public:
  constexpr substitution(graph& g, const node_id* from, const node_id* to, int count, proofs of_loads = proofs::known)
      : g_(g), from_(from), to_(to), count_(count), proofs_(of_loads), epoch_(g.new_epoch()) {
    for (int k = 0; k < count; ++k) {
      replaced_.insert(g.ordinal(from[k]));
      captured_ |= g.free.items[to[k]];
    }
  }

  constexpr node_id operator()(node_id n) {
    if (!g_.free.items[n].meets(replaced_)) return n;
    if (g_.memo_epoch.items[n] == epoch_) return g_.memo_value.items[n];
    const node_id result = rebuild(n);
    g_.memo_epoch.items[n] = epoch_;
    g_.memo_value.items[n] = result;
    return result;
  }

 private:
  constexpr node_id rebuild(node_id n) {
    for (int k = 0; k < count_; ++k)
      if (from_[k] == n) return to_[k];
    const op kind = g_.kind(n);
    if (kind == op::reduce) return rebuild_reduce(n);
    flat<node_id> list;
    for (int k = 0; k < g_[n].count; ++k) list.push((*this)(g_.arg(n, k)));
    if (is_elementwise(kind)) {
      if (kind == op::cast) return cast_to(g_, g_.type(n), list[0]);
      return make(g_, kind, list[0], list.size() > 1 ? list[1] : no_node, list.size() > 2 ? list[2] : no_node);
    }
    const node same = g_[n];
    const std::int64_t attribute =
        is_proven(g_, n) && !keeps_proofs() ? same.attribute & ~proven_inside : same.attribute;
    return g_.intern(same.kind, same.type, attribute, list.data(), list.size());
  }

  constexpr node_id rebuild_reduce(node_id n) {
    for (int k = 2; k < g_[n].count; ++k) {
      const int bound = g_.ordinal(g_.arg(n, k));
      if (captured_.has(bound) || replaced_.has(bound)) return (*this)(renamed(n, g_.arg(n, k)));
      // Its range may change, and make it an index that the body already has from outside.
      const node_id moved = (*this)(g_.arg(n, k));
      if (moved == g_.arg(n, k)) continue;
      const int other = g_.ordinal(moved);
      if (captured_.has(other) || g_.free.items[g_.arg(n, 0)].has(other) || g_.free.items[g_.arg(n, 1)].has(other))
        return (*this)(renamed(n, g_.arg(n, k)));
    }
    flat<node_id> list;
    for (int k = 0; k < g_[n].count; ++k) list.push((*this)(g_.arg(n, k)));
    // Marks beside the monoid, as of the order of its terms, stay.
    if (const node same = g_[n]; same.attribute != static_cast<std::int64_t>(monoid_of(g_, n)))
      return g_.intern(op::reduce, same.type, same.attribute, list.data(), list.size());
    return reduce(g_, monoid_of(g_, n), list[0], list[1], list.data() + 2, list.size() - 2);
  }

  // The same reduction with a fresh name for one of its indices.
  constexpr node_id renamed(node_id n, node_id idx) {
    int serial = index_serial(g_, idx);
    node_id fresh = idx;
    do {
      ++serial;
      fresh = index(g_, index_name(g_, idx), serial, g_.arg(idx, 0), g_.arg(idx, 1));
    } while (captured_.has(g_.ordinal(fresh)) || replaced_.has(g_.ordinal(fresh)) ||
             g_.free.items[g_.arg(n, 0)].has(g_.ordinal(fresh)) || g_.free.items[g_.arg(n, 1)].has(g_.ordinal(fresh)));
    substitution rename(g_, &idx, &fresh, 1, proofs::kept);
    flat<node_id> list;
    for (int k = 0; k < g_[n].count; ++k) list.push(rename(g_.arg(n, k)));
    const node same = g_[n];
    return g_.intern(op::reduce, same.type, same.attribute, list.data(), list.size());
  }

  constexpr bool keeps_proofs() {
    for (int k = 0; k < count_ && proofs_ == proofs::known; ++k)
      if (!lies_in_range(g_, from_[k], to_[k])) return false;
    return true;
  }

  graph& g_;
  const node_id* from_;
  const node_id* to_;
  int count_;
  proofs proofs_;
  std::int32_t epoch_;
  index_set replaced_;
  index_set captured_;
};

constexpr node_id substitute(graph& g, node_id root, node_id from, node_id to) {
  return from == to ? root : substitution(g, &from, &to, 1)(root);
}

// The body of a definition at the given subscripts.
constexpr node_id inlined(graph& g, node_id definition, const node_id* subscripts, proofs of_loads = proofs::known) {
  flat<node_id> from, to;
  for (int d = 0; d < tensor_rank(g, definition); ++d) {
    if (g.arg(definition, 1 + d) == subscripts[d]) continue;
    from.push(g.arg(definition, 1 + d));
    to.push(subscripts[d]);
  }
  const node_id body = g.arg(definition, 0);
  return from.empty() ? body : substitution(g, from.data(), to.data(), from.size(), of_loads)(body);
}

}  // namespace sheaf::inline v0_1
