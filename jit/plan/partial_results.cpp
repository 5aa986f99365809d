#include <sheaf/jit/plan/partial_results.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/cuts.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace blocks = numerics::split;

// How much a term of n reduces by itself: the most that a reduction inside runs over.
amount nested_trips(const graph& g, const facts& known, node_id n) {
  amount most = 1;
  for_each_node(g, g.arg(n, 0), [&](node_id q) {
    if (g.kind(q) != op::reduce) return;
    const bool meets = g.free[q].meets(set_of(g, bound_indices(g, n)));
    if (meets) most = max(most, known.trips(set_of(g, bound_indices(g, q))));
  });
  return most;
}

// The same of rows that a stage before has folded for it: blocks of rows that a cache holds are walked by both.
amount folded_before(const context& c, node_id n) {
  amount most = 1;
  for (const stage& s : c.before) {
    if (s.made != origin::for_lanes || c.g.kind(s.body) != op::reduce) continue;
    const auto bound = bound_indices(c.g, s.body);
    const bool whole = std::ranges::all_of(bound, [&](node_id idx) { return is_closed(c.g, idx); });
    if (whole && reads(c.g, c.g.arg(n, 0), s.define)) most = max(most, c.known.trips(set_of(c.g, bound)));
  }
  return most;
}

amount output_bytes(const graph& g, const facts& known) {
  amount all = 0;
  for (const node_id define : g.outputs) {
    all += known.trips(set_of(g, arguments(g, define, 1))) * row(g.type(define)).bytes;
  }
  return all;
}

// What one of n's terms takes, in elements.
struct size_of_term {
  amount nested, within;
};
size_of_term size_of(const context& c, node_id n) {
  const amount nested = nested_trips(c.g, c.known, n), line = c.known.for_groups() ? 1 : lines_of_term(c.g, n);
  return {nested, max(nested * folded_before(c, n), line)};
}

}  // namespace

bool is_long(const context& c, node_id n, std::span<const shapes::at_least> and_also) {
  const amount elements = c.known.trips(set_of(c.g, bound_indices(c.g, n))), results = c.known.trips(c.g.free[n]);
  std::vector<shapes::at_least> all{{elements * size_of(c, n).within * results, c.known.elements(blocks::from)},
                                    {elements, blocks::fewest_elements}};
  all.insert(all.end(), and_also.begin(), and_also.end());
  return shapes::all_of(all);
}

row_blocks blocks_of(graph& g, node_id n, node_id cut, std::int64_t block) {
  return blocks_of(g, n, cut, integer(g, block));
}

row_blocks blocks_of(graph& g, node_id n, node_id cut, node_id size) {
  const node_id low = g.arg(cut, 0), high = g.arg(cut, 1);
  const text_range own = g.names[static_cast<int>(index_name(g, cut))];
  std::string name(g.text.data() + own.first, static_cast<std::size_t>(own.size));
  name += "_block";
  const node_id p = index(g, g.name(name.data(), static_cast<int>(name.size())), index_serial(g, cut), integer(g, 0),
                          ceil_quotient(g, make(g, op::sub, high, low), size));
  const node_id start = make(g, op::add, low, make(g, op::mul, p, size));
  const node_id end = make(g, op::minimum, make(g, op::add, start, size), high);
  const node_id part = unused_index(g, cut, start, end, indices_in(g, n));
  return {cut, part, p, is_constant(g, size) ? g[size].attribute : 0};
}

bool serves_several(const graph& g, const facts& known, const stage& s, std::span<const node_id> loops) {
  if (known.for_groups() || s.rows.whole == no_node || std::ranges::find(loops, s.rows.block) == loops.end())
    return false;
  index_set walked;
  for (const node_id n : reductions_in(g, s.body)) walked |= set_of(g, bound_indices(g, n));
  return any_node(g, s.body, [&](node_id n) {
    return g.kind(n) == op::load && g.free[n].meets(walked) && std::ranges::any_of(loops, [&](node_id idx) {
      return idx != s.rows.block && !uses(g, n, idx);
    });
  });
}

run_of_result run_of(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (known.for_groups() || s.vector != no_node || known.trips(g.free[n]) == 1) return {};
  const std::vector<node_id> order = loops_of(g, n, no_node);
  const node_id along = order.back(), cut = order[std::max<std::size_t>(order.size(), 2) - 2];
  const bool outer = cut != order.front() && known.trips(order.front()) >= blocks::fewest_blocks;
  if (outer || !may_be_cut(c, n, cut)) return {};
  std::int64_t places = 1;
  while ((cut == along ? amount(1) : known.trips(along)) * static_cast<double>(places) < blocks::run_elements)
    places *= 2;
  return known.trips(cut) >= 2 * places ? run_of_result{cut, places} : run_of_result{};
}

partial_results::partial_results(const context& c, node_id n, const stage& s)
    : c_(c), g_(c.g), known_(c.known), n_(n), s_(s), bound_(bound_indices(c.g, n)) {}

bool partial_results::choose() {
  const auto is_cuttable = [&](node_id idx) { return may_be_cut(c_, n_, idx); };
  if (std::ranges::none_of(bound_, is_cuttable) || !is_long(c_, n_)) return false;
  const auto [nested, within] = size_of(c_, n_);
  elements_ = known_.trips(set_of(g_, bound_));
  results_ = known_.trips(g_.free[n_]);
  for (const node_id idx : bound_) {
    if (!may_be_cut(c_, n_, idx) || cuts_runs(idx)) continue;
    const amount tasks = cut_ == no_node ? amount(0) : known_.trips(cut_);
    const double enough = known_.tasks(blocks::enough_tasks);
    if (cut_ == no_node || all_of({{enough - 1, tasks}, {known_.trips(idx), 8 * tasks + 1}})) cut_ = idx;
  }
  if (cut_ == no_node) return false;
  const run_of_result r = run_of(c_, n_, s_);
  if (r.cut != no_node) cut_ = r.cut;
  inner_ = elements_ * nested / known_.trips(cut_);
  const amount row_cost = elements_ * within / known_.trips(cut_) * max(1, min(results_, blocks::most_results));
  const double wanted = known_.tasks(blocks::enough_tasks);
  // A GPU's blocks are shorter where they would be too few.
  const auto few = [&] {
    return known_.for_groups() && block_ >= tuning::grid::warp && block_ * row_cost >= blocks::least_of_group &&
           known_.trips(cut_) * max(1, results_) < 2 * block_ * tuning::tasks::warps_of_gpu;
  };
  while ((block_ * row_cost < known_.elements(blocks::block_elements) && !few()) ||
         (known_.for_groups() && known_.trips(cut_) * max(1, results_ / blocks::many_results) > block_ * wanted))
    block_ *= 2;
  block_ = std::max(block_, r.places);
  // Within outer loops a block is a part of each of their rows.
  while (r.cut == no_node && cut_ != bound_.front() && block_ < blocks::part_of_row &&
         known_.trips(cut_) >= numerics::enough_tasks * 2 * block_)
    block_ *= 2;
  // Partial results of many cost as much to move as the data. Not those of few beside what a GPU's tasks fold.
  const bool cheap = known_.for_groups() && known_.trips(cut_) < 2.0 * blocks::rows_of_many &&
                     elements_ >= blocks::cheap_from * known_.trips(cut_) &&
                     results_ < tuning::tasks::warps_of_gpu * tuning::grid::warp;
  if (block_ < blocks::rows_of_many && results_ > blocks::many_results && !cheap)
    block_ = std::max<std::int64_t>(block_, blocks::rows_of_many);
  while (!known_.for_groups() && parts_bytes() > (blocks::most_bytes + output_bytes(g_, known_)) / 2 &&
         known_.trips(cut_) >= 2 * blocks::fewest_blocks * block_)
    block_ *= 2, larger_ = true;
  return known_.trips(cut_) >= 2 * block_;
}

// On a GPU, blocks of what lies in a row in memory, where blocks of another index would be tasks enough: each would
// walk the rows by a few neighbours.
bool partial_results::cuts_runs(node_id idx) const {
  if (!known_.for_groups() || bound_.size() < 2) return false;
  const std::vector<node_id> loads = loads_in(g_, g_.arg(n_, 0));
  const auto is_along = [&](node_id e, node_id walked) { return uses(g_, g_.arg(e, g_[e].count - 1), walked); };
  if (std::ranges::none_of(loads, [&](node_id e) { return g_[e].count > 2 && is_along(e, idx); })) return false;
  return std::ranges::any_of(bound_, [&](node_id other) {
    const amount tasks = known_.trips(other) * max(1, results_);
    return other != idx && may_be_cut(c_, n_, other) && tasks >= tuning::tasks::warps_of_gpu &&
           std::ranges::none_of(loads, [&](node_id e) { return is_along(e, other); });
  });
}

amount partial_results::parts_bytes() const { return results_ * row(g_.type(n_)).bytes * known_.trips(cut_) / block_; }

node_id partial_results::parts_of(const row_blocks& rows, monoid fold, element type, node_id body, node_id condition,
                                  bool narrow) {
  replacement put(g_, proofs::kept);
  put.add(cut_, rows.part);
  body = put(body);
  if (g_.kind(body) != op::tuple && type != g_.type(body)) body = cast_to(g_, type, body);
  condition = put(condition);
  std::vector<node_id> bound = bound_;
  for (node_id& idx : bound) idx = put(idx);
  const bool in_sums = larger_ && bound.size() == 1 && blocks::sums_sums(fold, type, rows.size);
  const node_id flat =
      narrow ? narrow_sum(body, condition, bound) : intern_reduce(g_, fold, type, body, condition, bound);
  const node_id folded = in_sums && !narrow ? sum_of_sums(rows, type, body, condition) : flat;
  const node_id parts = stored_part(rows, folded);
  stage& made = stage_behind(c_, parts);
  if (folded != flat) made.sum_of_sums = folded, made.flat = flat;
  return parts;
}

node_id partial_results::stored_part(const row_blocks& rows, node_id folded) {
  const std::string reason = "blocks of " + std::to_string(rows.size) + ": " + count_text(elements_) +
                             " elements for each of " + count_text(results_) + " results";
  const node_id part = stored(c_, folded, {"partial", s_, reason, origin::partial});
  stage_behind(c_, part).rows = rows;
  return part;
}

node_id partial_results::narrow_sum(node_id body, node_id condition, const std::vector<node_id>& bound) {
  return intern_reduce(g_, monoid::sum, element::f64, cast_to(g_, element::f64, body), condition, bound,
                       numerics::narrow_lanes);
}

node_id partial_results::sum_of_sums(const row_blocks& rows, element type, node_id body, node_id condition) {
  const node_id low = g_.arg(rows.part, 0), high = g_.arg(rows.part, 1);
  const node_id some = fresh_index(g_, rows.part, integer(g_, 0), integer(g_, rows.size / blocks::rows_in_a_row));
  const node_id start = make(g_, op::add, low, make(g_, op::mul, some, integer(g_, blocks::rows_in_a_row)));
  const node_id end = make(g_, op::minimum, make(g_, op::add, start, integer(g_, blocks::rows_in_a_row)), high);
  const node_id walk = fresh_index(g_, rows.part, start, end);
  replacement put(g_, proofs::kept);
  put.add(rows.part, walk);
  const node_id sum = intern_reduce(g_, monoid::sum, type, put(body), put(condition), {walk});
  return intern_reduce(g_, monoid::sum, type, sum, truth(g_, true), {some});
}

node_id partial_results::total(node_id parts, element type, node_id over) {
  const monoid fold = monoid_of(g_, n_);
  const element wider = numerics::joined(fold, type);
  return cast_to(g_, type, intern_reduce(g_, fold, wider, cast_to(g_, wider, parts), truth(g_, true), {over}));
}

}  // namespace sheaf::inline v0_1::plan
