// Parts of rows: a row of a scatter that has many updates is folded by several groups of a GPU.
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace updates = numerics::updates;

// Lanes along the updates, where a result has none of its own.
void take_lanes(const context& c, const stage& s, const inverse_index_form& l, row_parts_form& f) {
  graph& g = c.g;
  if (s.indices.size() > 1) return;
  const node_id update = fresh_index(g, s.owned, integer(g, 0), l.room);
  replacement put(g, proofs::kept);
  for (std::size_t p = 0; p < l.named.size(); ++p)
    put.add(l.named[p], cast_to(g, element::i64, listed_place(g, l, update, static_cast<int>(p))));
  const term_of_row term = in_row(g, s);
  const node_id value = put(term.value), rest = put(term.rest);
  if (holds(g, value, op::reduce) || holds(g, rest, op::reduce) || !may_vectorise(g, value, update) ||
      !may_vectorise(g, rest, update))
    return;
  f.update = update, f.value = value, f.rest = rest;
  f.lanes = c.known.call().force_for_tests ? updates::forced_part : updates::lanes_of_part;
}

}  // namespace

void fold_parts_of_rows(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  updated_rows rows = rows_of(g, s);
  const auto room = known.value(s.inverse.room);
  if (!known.for_groups() || !s.inverse.by_row || !room || !fixed_of(g, s, rows).empty()) return;
  const bool forced = known.call().force_for_tests;
  if (!forced && *room < updates::parts_from) return;
  row_parts_form f{.size = forced ? updates::forced_part : updates::part};
  const node_id places = make(g, op::maximum, make(g, op::quotient, s.inverse.room, integer(g, f.size)), integer(g, 1));
  f.part = fresh_index(g, s.owned, integer(g, 0), places);
  std::vector<node_id> indices{f.part};
  for (const node_id idx : s.indices)
    if (idx != s.owned) indices.push_back(fresh_index(g, idx, integer(g, 0), trips_of(g, idx)));
  take_lanes(c, s, s.inverse, f);
  stage memory = space(g, "parts", identity_of(g, monoid_of(g, s.body), g.type(s.body)), indices);
  f.array = memory.define;
  before.push_back(std::move(memory));
  s.inverse.parts = f;
  s.reasons.push_back("of each row parts of " + std::to_string(f.size) +
                      " updates are folded by groups of their own before, however many a row has");
}

}  // namespace sheaf::inline v0_1::plan
