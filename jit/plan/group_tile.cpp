#include <sheaf/jit/plan/group_tile.hpp>

#include <algorithm>
#include <utility>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::group_tile;

// The tile of a stage with one index in lanes and another in rows.
class tiling {
 public:
  tiling(graph& g, const facts& known, const stage& s) : g_(g), known_(known), s_(s) {}

  group_tile_form operator()(node_id rows, node_id lane) {
    form_ = {.rows = rows, .lane = lane};
    if (!has_one_reduction() || !are_ranges_closed()) return {};
    form_.mma = multiplies_halves();
    if (!form_.mma && !packs()) return {};
    if (!is_worth_it() || !(form_.mma ? choose_size_of_mma() : choose_size())) return {};
    for (const node_id idx : s_.indices)
      if (idx != rows && idx != lane) form_.batch.push_back(idx);
    return form_;
  }

 private:
  bool has_one_reduction() {
    const std::vector<node_id> reductions = reductions_in(g_, s_.body);
    if (reductions.size() != 1) return false;
    form_.reduce = reductions.front();
    if (g_[form_.reduce].count != 3 || !goes_on(g_, form_.reduce) || !is_true(g_, g_.arg(form_.reduce, 1)))
      return false;
    form_.walk = g_.arg(form_.reduce, 2);
    return true;
  }
  // The walk may be a block of its index, which a batch says.
  bool are_ranges_closed() const {
    bool closed = std::ranges::all_of(s_.indices, [&](node_id idx) { return is_closed(g_, idx); });
    for (int k = 0; k < 2; ++k) {
      const node_id end = g_.arg(form_.walk, k);
      closed = closed && g_.free[end].within(set_of(g_, s_.indices)) && !uses(g_, end, form_.rows) &&
               !uses(g_, end, form_.lane) && is_formula(g_, end);
    }
    return closed && may_vectorise(g_, s_.body, form_.rows) && may_vectorise(g_, s_.body, form_.lane);
  }

  // Halves are computed in f32: is what is computed here one, without being rounded?
  bool is_exact_half(node_id n) const {
    const op kind = g_.kind(n);
    if (!is_half(g_.type(n))) return false;
    if (kind == op::load || kind == op::cast || kind == op::constant) return true;
    const bool chooses = kind == op::select || kind == op::maximum || kind == op::minimum;
    if (!chooses && kind != op::neg && kind != op::abs) return false;
    for (int k = kind == op::select ? 1 : 0; k < g_[n].count; ++k)
      if (!is_exact_half(g_.arg(n, k))) return false;
    return true;
  }
  // What a cast from halves widens; and what one widens and another rounds again, as gradients do.
  node_id narrow(node_id n) const {
    if (g_.kind(n) != op::cast) return n;
    const node_id from = g_.arg(n, 0);
    if (g_.type(n) == element::f32) return is_half(g_.type(from)) ? narrow(from) : n;
    const node_id inner = narrow(from);
    return inner != from && g_.type(inner) == g_.type(n) && is_exact_half(inner) ? inner : n;
  }
  // Is a term the product of two halves, one of the row and the walk and one of the lane and the walk? Sums within an
  // mma have the hardware's order.
  bool multiplies_halves() {
    const node_id product = narrow(g_.arg(form_.reduce, 0));
    const bool sums = monoid_of(g_, form_.reduce) == monoid::sum && g_.kind(product) == op::mul &&
                      in_lanes(g_, form_.reduce, g_.type(form_.reduce)) == element::f32;
    if (!sums || is_term_by_term(g_, form_.reduce) || !known_.for_groups()) return false;
    node_id of_rows = narrow(g_.arg(product, 0)), of_lanes = narrow(g_.arg(product, 1));
    if (uses(g_, of_rows, form_.lane)) std::swap(of_rows, of_lanes);
    if (!is_factor(of_rows, form_.rows, form_.lane) || !is_factor(of_lanes, form_.lane, form_.rows) ||
        g_.type(of_rows) != g_.type(of_lanes))
      return false;
    form_.of_rows = {packed(of_rows, form_.rows)};
    form_.of_lanes = {packed(of_lanes, form_.lane)};
    form_.warpgroups =
        known_.call().warpgroups && form_.of_rows.front().as_it_lies && form_.of_lanes.front().as_it_lies;
    return true;
  }
  bool is_factor(node_id n, node_id own, node_id other) const {
    return is_exact_half(n) && uses(g_, n, own) && uses(g_, n, form_.walk) && !uses(g_, n, other);
  }
  packed_value packed(node_id n, node_id own) {
    if (g_.kind(n) == op::load && is_inside(g_, n))
      for (const node_id idx : {form_.walk, own})
        if (goes_along(g_, known_, n, idx)) return {n, idx == form_.walk, true};
    return {n, lies_along_walk(n), false};
  }

  bool is_packed(node_id n) const {
    const auto has = [&](const std::vector<packed_value>& list) {
      return std::ranges::any_of(list, [&](const packed_value& p) { return p.value == n; });
    };
    return has(form_.of_rows) || has(form_.of_lanes);
  }
  bool lies_along_walk(node_id n) const {
    return any_node(g_, n, [&](node_id q) {
      return g_.kind(q) == op::load && uses(g_, q, form_.walk) && goes_along(g_, known_, q, form_.walk);
    });
  }
  bool packs() {
    for (const node_id n : shared_of(g_, form_.reduce, form_.lane, form_.rows))
      form_.of_rows.push_back({n, lies_along_walk(n)});
    for (const node_id n : shared_of(g_, form_.reduce, form_.rows, form_.lane))
      form_.of_lanes.push_back({n, lies_along_walk(n)});
    for (packed_value& p : form_.of_rows) p.as_it_lies = lies_along(p, form_.rows);
    for (packed_value& p : form_.of_lanes) p.as_it_lies = lies_along(p, form_.lane);
    form_.copied = std::ranges::all_of(form_.of_rows, [&](const packed_value& p) { return is_copied(p); }) &&
                   std::ranges::all_of(form_.of_lanes, [&](const packed_value& p) { return is_copied(p); });
    return !form_.of_rows.empty() && !form_.of_lanes.empty() && loads_little_else(g_.arg(form_.reduce, 0), kept_) &&
           kept_ <= most_kept;
  }
  bool is_copied(const packed_value& p) {
    return g_.kind(p.value) == op::load && row(g_.type(p.value)).bytes >= 4 && is_inside(g_, p.value);
  }
  bool lies_along(const packed_value& p, node_id own) {
    return is_copied(p) && !p.along_walk && goes_along(g_, known_, p.value, own);
  }
  // Beside what is packed: loads of a row or a lane alone, which are kept, and of the walk alone.
  bool loads_little_else(node_id n, std::size_t& kept) {
    if (is_packed(n) || g_.kind(n) == op::extent) return true;
    if (is_function(g_, n)) form_.calls = true;
    if (g_.kind(n) == op::load) {
      const bool row = uses(g_, n, form_.rows), lane = uses(g_, n, form_.lane);
      if ((row && lane) || ((row || lane) && uses(g_, n, form_.walk))) return false;
      kept += row || lane;
      return true;
    }
    for (int k = 0; k < g_[n].count; ++k)
      if (!loads_little_else(g_.arg(n, k), kept)) return false;
    return true;
  }

  std::int64_t bytes_of_panels() const {
    std::int64_t bytes = 0;
    for (const packed_value& p : form_.of_rows)
      bytes += block * (side * form_.results_of_rows + pad) * row(g_.type(p.value)).bytes;
    for (const packed_value& p : form_.of_lanes)
      bytes += block * (side * form_.results_of_lanes + pad) * row(g_.type(p.value)).bytes;
    return bytes;
  }
  bool is_forced() const { return known_.call().force_for_tests; }
  bool is_worth_it() const {
    return is_forced() || (known_.trips(form_.rows) >= least_extent && known_.trips(form_.lane) >= least_extent &&
                           known_.trips(form_.walk) >= least_walk);
  }
  amount results() const {
    amount all = 1;
    for (const node_id idx : s_.indices) all *= known_.trips(idx);
    return all;
  }
  // Large tiles where there are enough of them.
  bool choose_size() {
    const bool forced = is_forced();
    const amount all = results();
    const element type = in_lanes(g_, form_.reduce, g_.type(form_.reduce));
    const bool alone = form_.copied && form_.of_rows.size() == 1 && form_.of_lanes.size() == 1 && kept_ == 0;
    constexpr std::pair<int, int> sizes[] = {{8, 16}, {8, 8}, {8, 4}, {4, 4}};
    for (const auto& [rows, lanes] : sizes) {
      form_.results_of_rows = rows, form_.results_of_lanes = lanes;
      const bool large = rows > least_results;
      const double area = static_cast<double>(side * rows) * (side * lanes);
      const double wanted = forced ? (large ? 1 : 0) : large ? enough_tiles : least_tiles;
      const bool fits = bytes_of_panels() <= most_bytes && rows * row(type).bytes <= most_results * 4 &&
                        (lanes == least_results || (alone && row(type).bytes <= 4));
      if (fits && !(large && form_.calls) && all >= wanted * area) return true;
    }
    return false;
  }

  bool choose_size_of_mma() {
    const amount all = results();
    constexpr std::pair<int, int> sizes[] = {{128, 256}, {128, 128}, {128, 64}, {64, 64}};
    for (const auto& [rows, lanes] : sizes) {
      if (form_.warpgroups)
        form_.warps_of_rows = rows / 16, form_.warps_of_lanes = 1;
      else
        form_.warps_of_lanes = lanes > 128 ? 4 : 2;
      form_.results_of_rows = rows / (8 * form_.warps_of_rows);
      form_.results_of_lanes = lanes / (4 * form_.warps_of_lanes);
      const bool large = rows > 64;
      const double wanted = is_forced() ? (large ? 1 : 0) : large ? enough_tiles : least_tiles;
      if (all >= wanted * rows * lanes) return true;
    }
    return false;
  }

  graph& g_;
  const facts& known_;
  const stage& s_;
  group_tile_form form_;
  std::size_t kept_ = 0;
};

// Its own rows may be blocks of the walk, but it walks none with other stages.
bool is_plain_map(const stage& s) {
  const bool walks = std::ranges::find(s.indices, s.rows.part) != s.indices.end();
  return s.how == way::map && s.indices.size() >= 2 && (s.rows.whole == no_node || !walks) && s.order_when == no_node &&
         s.slices.slice == no_node && !s.reads_block_tree && s.folded_storage.empty() && !s.short_rows &&
         s.where != place::check && s.sort.passes == 0 && !s.atomic;
}

group_tile_form form_of(graph& g, const facts& known, const stage& s, node_id lane) {
  if (!known.call().gpu || !is_plain_map(s) || lane == no_node) return {};
  for (std::size_t n = s.indices.size(); n-- > 0;) {
    if (s.indices[n] == lane) continue;
    group_tile_form form = tiling(g, known, s)(s.indices[n], lane);
    if (form.rows != no_node) return form;
  }
  return {};
}

}  // namespace

bool has_group_tile(graph& g, const facts& known, const stage& s) {
  return form_of(g, known, s, s.vector).rows != no_node;
}

node_id lane_of_group_tile(graph& g, const facts& known, const stage& s) {
  if (!known.for_groups()) return no_node;
  for (std::size_t n = s.indices.size(); n-- > 0;)
    if (form_of(g, known, s, s.indices[n]).rows != no_node) return s.indices[n];
  return no_node;
}

void choose_group_tiles(graph& g, const facts& known, program_plan& plan) {
  for (kernel_plan& k : plan.kernels) {
    if (k.stages.size() != 1 || k.part != 0) continue;
    const stage& s = plan.at(k.stages.front());
    k.group = form_of(g, known, s, s.vector);
  }
}

}  // namespace sheaf::inline v0_1::plan
