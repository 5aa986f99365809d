// Every expression, index and tensor that a stage names, in one list: what renames, verifies or follows what a stage
// reads visits this one and forgets nothing. Shown by tests/jit/roots.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

enum class root_kind : std::uint8_t {
  read,   // is evaluated when the stage runs: it runs after what this loads
  form,   // a part of what is read, as the stage's form names it, or of what another stage of that form reads
  index,  // of a loop
  made,   // the definition of a tensor that the stage reads or writes without a load
};

// A form's, by kind; each(kind, nodes...), all(kind, list).
template <class Form, class Each, class All>
void for_each_root_of_form(Form& f, Each&& each, All&& all) {
  using form = std::remove_const_t<Form>;
  if constexpr (std::is_same_v<form, scan_form>) {
    each(root_kind::form, f.value, f.factor, f.carry, f.result, f.folded);
    each(root_kind::index, f.walk, f.block_index);
  } else if constexpr (std::is_same_v<form, window_form>) {
    each(root_kind::form, f.reduce, f.value, f.around, f.guarded, f.first, f.last, f.ahead, f.key, f.guarded_key,
         f.mine);
    each(root_kind::index, f.walk);
  } else if constexpr (std::is_same_v<form, sweep_form>) {
    each(root_kind::form, f.low, f.high, f.value, f.again, f.result, f.finished);
    each(root_kind::index, f.slice, f.rows, f.walk);
    each(root_kind::made, f.endpoints);
    all(root_kind::made, f.tables);
  } else if constexpr (std::is_same_v<form, tile_form>) {
    each(root_kind::form, f.reduce, f.low, f.high, f.value, f.mine, f.begin, f.end, f.rest);
    each(root_kind::index, f.slice, f.walk, f.columns);
    each(root_kind::made, f.firsts, f.parts);
  } else if constexpr (std::is_same_v<form, pair_tile_form>) {
    each(root_kind::index, f.rows, f.walk, f.lane, f.few);
  }
}

// visit(node, what), for each that there is; of a mutable stage the node may be replaced.
template <class Stage, class Visit>
void for_each_root(Stage& s, Visit&& visit) {
  const auto each = [&](root_kind what, auto&... nodes) { ((nodes != no_node ? visit(nodes, what) : void()), ...); };
  const auto all = [&](root_kind what, auto& list) {
    for (auto& n : list) visit(n, what);
  };
  each(root_kind::read, s.body, s.when, s.base, s.base_when, s.order_when, s.order.row);
  each(root_kind::form, s.sum_of_sums, s.flat);
  all(root_kind::index, s.indices);
  all(root_kind::index, s.loops);
  all(root_kind::index, s.folded_storage);
  each(root_kind::index, s.vector, s.parallel, s.owned, s.rows.whole, s.rows.part, s.rows.block, s.order.index,
       s.order.walk);
  std::visit([&](auto& form) { for_each_root_of_form(form, each, all); }, s.form);
  each(root_kind::form, s.moving.centre, s.moving.body, s.moving.moved);
  each(root_kind::index, s.moving.last);
  each(root_kind::form, s.slices.low, s.slices.high);
  each(root_kind::index, s.slices.slice, s.slices.owned);
  all(root_kind::index, s.slices.shorts);
  each(root_kind::made, s.slices.array);
  each(root_kind::form, s.inverse.at, s.inverse.room);
  all(root_kind::index, s.inverse.walk);
  all(root_kind::index, s.inverse.named);
  all(root_kind::form, s.inverse.values);
  each(root_kind::index, s.inverse.owned);
  each(root_kind::made, s.inverse.array, s.inverse.parts.array, s.inverse.parts.groups);
  each(root_kind::form, s.inverse.parts.value, s.inverse.parts.rest);
  each(root_kind::index, s.inverse.parts.part, s.inverse.parts.update);
  each(root_kind::form, s.sort.room, s.sort.keys);
  each(root_kind::index, s.sort.outer);
  each(root_kind::made, s.sort.memory);
}

// One index or value in another's place, everywhere in a stage.
inline void replace_in_roots(stage& s, replacement& put) {
  for_each_root(s, [&](node_id& n, root_kind what) {
    if (what != root_kind::made) n = put(n);
  });
}

// Does the value of a stage, or where it is stored, depend on idx by its name?
inline bool mentions(const graph& g, const stage& s, node_id idx) {
  return std::ranges::find(s.indices, idx) != s.indices.end() ||
         any_node(g, s.body, [&](node_id n) { return n == idx; });
}

}  // namespace sheaf::inline v0_1::plan
