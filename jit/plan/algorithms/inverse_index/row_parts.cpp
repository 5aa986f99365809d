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
    put.add(l.named[p], listed_value(g, l, update, static_cast<int>(p)));
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
  take_lanes(c, s, s.inverse, f);
  const auto memory_of = [&](const char* name, std::int64_t size) {
    const node_id count = make(g, op::maximum, make(g, op::quotient, s.inverse.room, integer(g, size)), integer(g, 1));
    std::vector<node_id> indices{fresh_index(g, s.owned, integer(g, 0), count)};
    for (const node_id idx : s.indices)
      if (idx != s.owned) indices.push_back(fresh_index(g, idx, integer(g, 0), trips_of(g, idx)));
    stage memory = space(g, name, identity_of(g, monoid_of(g, s.body), g.type(s.body)), indices);
    before.push_back(std::move(memory));
    return before.back();
  };
  const stage parts = memory_of("parts", f.size);
  f.array = parts.define, f.part = parts.indices.front();
  f.at_once = forced ? updates::forced_at_once : updates::at_once;
  if (*room >= static_cast<double>(f.size * f.at_once * 4)) f.groups = memory_of("groups", f.size * f.at_once).define;
  s.inverse.parts = f;
  s.reasons.push_back("of each row parts of " + std::to_string(f.size) +
                      " updates are folded by groups of their own before, however many a row has");
}

void read_parts_anew(const context& c, stage& s) {
  row_parts_form& f = s.inverse.parts;
  if (f.array == no_node) return;
  f.update = f.value = f.rest = no_node, f.lanes = 1;
  take_lanes(c, s, s.inverse, f);
}

}  // namespace sheaf::inline v0_1::plan
