// Which indices the printer writes by their names alone: those from 0 to the extent of what they subscript, or of a
// definition. The first of its name has a line, axis t: extent(x, 0); others of this name and range, told apart by
// primes, are bare too. Input: a graph. Output: these indices. Shown by tests/static/differentiate.cpp,
// tests/text/round_trip.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/dsl/graph/reached.hpp>

namespace sheaf::inline v0_1 {

class bare_indices {
 public:
  constexpr explicit bare_indices(const graph& g) : g_(g), printed_(g) {
    flat<bool> direct;
    direct.resize(g_.size(), false);
    for (node_id n = 0; n < g_.size(); ++n) {
      if (!printed_[n]) continue;
      if (g_.kind(n) == op::define)
        for (int k = 1; k < g_[n].count; ++k) direct[g_.arg(n, k)] = true;
      if (g_.kind(n) != op::load || g_.kind(g_.arg(n, 0)) != op::input) continue;
      const input_row& input = g_.inputs[static_cast<int>(g_[g_.arg(n, 0)].attribute)];
      for (int k = 1; k < g_[n].count; ++k) {
        const node_id e = g_.arg(n, k);
        if (g_.kind(e) != op::index || is_unbound(g_, e)) continue;
        const std::int64_t extent = g_.static_extents[input.first_extent + k - 1];
        direct[e] = direct[e] || is_number(g_, g_.arg(e, 1), static_cast<double>(extent));
      }
    }
    for (const input_row& input : g_.inputs) tensor_names_.push(input.name);
    for (node_id n = 0; n < g_.size(); ++n)
      if (printed_[n] && g_.kind(n) == op::define) tensor_names_.push(static_cast<name_id>(g_[n].attribute));
    const flat<bool> disagrees = indices_of_other_extents();
    for (const node_id idx : g_.indices) {
      const node_id first = axis_of(idx);
      const bool from_zero =
          printed_[idx] && !is_unbound(g_, idx) && is_number(g_, g_.arg(idx, 0), 0) && !disagrees[idx];
      if (!from_zero || first != no_node) continue;
      const node_id high = g_.arg(idx, 1);
      if (g_.kind(high) == op::extent || (is_constant(g_, high) && direct[idx])) axes_.push(idx);
    }
    order_axes();
    for (const node_id idx : g_.indices) {
      const node_id first = axis_of(idx);
      if (first != no_node && !is_unbound(g_, idx) && !disagrees[idx] && g_.arg(idx, 0) == g_.arg(first, 0) &&
          g_.arg(idx, 1) == g_.arg(first, 1))
        bare_.push(idx);
    }
  }
  constexpr bool is_bare(node_id idx) const { return bare_.contains(idx); }
  // Has a tensor this name too? Then an index of it is told apart by a prime.
  constexpr bool names_tensor(name_id name) const { return tensor_names_.contains(name); }
  // The first of each name.
  constexpr const flat<node_id>& axes() const { return axes_; }

  constexpr bool is_printed(node_id n) const { return printed_[n]; }

 private:
  // As they stand when the text is read: its line makes an axis itself, others of its name come after all lines.
  constexpr void order_axes() {
    flat<node_id> sorted;
    for (const bool by_line : {true, false})
      for (const node_id axis : axes_)
        if ((index_serial(g_, axis) == 0) == by_line) sorted.push(axis);
    axes_ = sorted;
  }
  // The axis of an index's name.
  constexpr node_id axis_of(node_id idx) const {
    for (const node_id axis : axes_)
      if (index_name(g_, axis) == index_name(g_, idx)) return axis;
    return no_node;
  }

  // Those that subscript a dimension whose extent is not known to be theirs: as axes they would ask for it.
  constexpr flat<bool> indices_of_other_extents() const {
    flat<bool> result;
    result.resize(g_.size(), false);
    for (node_id n = 0; n < g_.size(); ++n) {
      if (!printed_[n] || g_.kind(n) != op::load || g_[n].attribute != 0) continue;
      for (int k = 1; k < g_[n].count; ++k) {
        const node_id e = g_.arg(n, k);
        if (g_.kind(e) != op::index || is_unbound(g_, e) || result[e]) continue;
        result[e] = !is_extent_of(g_.arg(n, 0), k - 1, g_.arg(e, 1));
      }
    }
    return result;
  }
  constexpr bool is_extent_of(node_id tensor, int d, node_id size) const {
    if (g_.kind(tensor) == op::define) {
      const node_id idx = g_.arg(tensor, 1 + d);
      return is_number(g_, g_.arg(idx, 0), 0) && g_.constrained_equal(g_.arg(idx, 1), size);
    }
    const std::int64_t known = g_.static_extents[g_.inputs[static_cast<int>(g_[tensor].attribute)].first_extent + d];
    if (known != dynamic && is_number(g_, size, static_cast<double>(known))) return true;
    for (node_id n = 0; n < g_.size(); ++n)
      if (g_.kind(n) == op::extent && g_.arg(n, 0) == tensor && g_[n].attribute == d && g_.constrained_equal(n, size))
        return true;
    return false;
  }

  const graph& g_;
  reached_nodes printed_;  // an index that is left over in the graph takes no name from others
  flat<node_id> axes_, bare_;
  flat<name_id> tensor_names_;
};

}  // namespace sheaf::inline v0_1
