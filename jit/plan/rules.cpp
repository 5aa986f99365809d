#include <sheaf/jit/plan/rules.hpp>

#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/algorithms/extremum/extremum_sums.hpp>
#include <sheaf/jit/plan/algorithms/extremum/extremum_tuple.hpp>
#include <sheaf/jit/plan/algorithms/extremum/running_position.hpp>
#include <sheaf/jit/plan/algorithms/extremum/window_position.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>
#include <sheaf/jit/plan/algorithms/moments/one_walk.hpp>
#include <sheaf/jit/plan/algorithms/ordered/ordered_keys.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/pair_tiles.hpp>
#include <sheaf/jit/plan/cases.hpp>
#include <sheaf/jit/plan/collapsed_results.hpp>
#include <sheaf/jit/plan/few_rows.hpp>
#include <sheaf/jit/plan/few_terms.hpp>
#include <sheaf/jit/plan/halves.hpp>
#include <sheaf/jit/plan/index_digits.hpp>
#include <sheaf/jit/plan/known_conditions.hpp>
#include <sheaf/jit/plan/linearise.hpp>
#include <sheaf/jit/plan/narrow_integers.hpp>
#include <sheaf/jit/plan/placement.hpp>
#include <sheaf/jit/plan/algorithms/polyphase/polyphase.hpp>
#include <sheaf/jit/plan/algorithms/polyphase/result_phases.hpp>
#include <sheaf/jit/plan/algorithms/privatised_tables/tables.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/algorithms/recurrence/recurrence.hpp>
#include <sheaf/jit/plan/result_functions.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/separate.hpp>
#include <sheaf/jit/plan/algorithms/scan/data_prefix.hpp>
#include <sheaf/jit/plan/algorithms/scan/runs.hpp>
#include <sheaf/jit/plan/algorithms/scan/scans.hpp>
#include <sheaf/jit/plan/piecewise.hpp>
#include <sheaf/jit/plan/algorithms/scatter/near_scatter.hpp>
#include <sheaf/jit/plan/algorithms/scatter/one_sided.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatter_by_place.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/window/moving_ranges.hpp>
#include <sheaf/jit/plan/algorithms/window/separate_windows.hpp>
#include <sheaf/jit/plan/algorithms/window/window_functions.hpp>
#include <sheaf/jit/plan/short_rows.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/steps.hpp>
#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>
#include <sheaf/jit/plan/algorithms/stencil/tie_bits.hpp>
#include <sheaf/jit/plan/algorithms/sweep/sweep.hpp>
#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// A rule on a stage, and one on a reduction that is replaced, of what the files of the algorithms offer.
template <auto take>
bool on_stage(const context& c, stage& s) {
  return take(c, s);
}
template <auto take>
bool on_reduction(const context& c, stage& s, site& at) {
  const node_id instead = take(c, at.node, s);
  if (instead == no_node) return false;
  replace_in(c.g, s, at.node, instead);
  return true;
}

bool polyphase(const context& c, stage& s, site& at) { return !at.slides() && on_reduction<take_polyphase>(c, s, at); }

bool scatter(const context& c, stage& s) { return !may_fold_ranges_of_pairs(c, s) && take_scatter(c, s); }

constexpr auto outermost = rule::order::outermost_first, innermost = rule::order::innermost_first;

constexpr rule table[] = {
    {"known conditions", "first: what no rule has to see through", on_stage<take_known_conditions>},
    {"halves", "before any rule asks of what type terms are: what is held in f32 is written so", on_stage<take_halves>},
    {"cases", "a sum over few places that asks which it is: each term is one case, which rules then see", nullptr,
     on_reduction<take_cases>, innermost, 5},
    {"digits of indices", "before a sum is seen as a scatter: of its digits an index is solved for",
     on_stage<take_digits>},
    {"scatter by place", "while the sum still is over slices and their places at once",
     on_stage<take_scatter_by_place>},
    {"scatter to places near by", "before it is one: each row asks the few updates that may be for it",
     on_stage<take_near_scatter>},
    {"one-sided ranges", "before it is a scatter: what all terms that reach a place come to runs from place to place",
     on_stage<take_one_sided>},
    {"scatter", "decides which loops the stage has at all", scatter},
    {"piecewise subscripts", "once a scatter's are solved: neighbouring lanes of a moved access read neighbours",
     on_stage<take_pieces>},
    {"linearise", "what a reshape divides, before loops are chosen by what lanes load", on_stage<take_linearised>},
    {"steps", "before ranges are seen as windows: of their places only those are walked that have a term",
     on_stage<take_steps>},
    {"phases of results", "before sums are moved or folded another way: each phase is then as if nothing were strided",
     on_stage<take_result_phases>},
    {"ordered keys", "before folds have loops: of keys in their order terms that a comparison leaves are a range",
     on_stage<take_ordered_keys>},
    {"runs", "before slices are folded another way: running folds of groups", on_stage<take_runs>},
    {"data prefix", "before slices are folded another way: running folds that data cuts", on_stage<take_data_prefix>},
    {"functions of results", "before slices are folded another way: what short rows are folded to is stored, for lanes",
     on_stage<take_result_functions>},
    {"rows of slices", "before what slices need of themselves is computed in place: each row finds its slice",
     on_stage<take_rows_of_slices>},
    {"per slice", "before a scatter's loops are chosen: what a slice needs of itself is computed once for each",
     on_stage<take_per_slice>},
    {"sweep", "one pass down the rows serves all slices; asked before the slower ways for slices",
     on_stage<take_sweep>},
    {"segmented tiles", "slices that follow each other; a sweep is better where they overlap", on_stage<take_tiles>},
    {"block tree", "overlapping slices that no sweep takes", on_stage<take_block_tree>},
    {"block tree scatter", "its transpose", on_stage<scatter_block_tree>},
    {"running position", "before scans: where an extremum stands is a fold of values; of scatters, before placement",
     on_stage<take_running_position>},
    {"positions in windows", "before what they read is stored place by place: chains of choices, which lanes take",
     on_stage<take_window_position>},
    {"cancel subscripts", "so that ranges can be seen to slide", nullptr, cancel_subscripts, innermost, 1},
    {"recurrence", "what meets a running extremum, while that can still be seen", nullptr,
     on_reduction<take_recurrence>, outermost, 2},
    {"extremum with sum, windows", "sums over ties, while the extremum they meet can still be seen", nullptr,
     extremum_with_sum_in_one_pass, outermost, 3},
    {"extremum with sum, ranges", "where windows move by more than one element or along columns", nullptr,
     extremum_with_sum_by_index, outermost, 3},
    {"extremum with sum, two scans", "windows along any dimension, which no rule before takes", nullptr,
     extremum_with_sum, outermost, 3},
    {"extremum with position", "a window's position is a fold of pairs: asked before folds of values", nullptr,
     extremum_with_position, innermost, 4},
    {"polyphase", "ranges that slide only after every d-th element is laid side by side", nullptr, polyphase, innermost,
     4},
    {"separate windows", "before the points of a window are unrolled: its rows are folded once", nullptr,
     on_reduction<take_separate_windows>, innermost, 4},
    {"separate factors", "sums that slide only once what does not depend on them is outside", nullptr, separate_factors,
     innermost, 4},
    {"order of contraction", "sums of products over several indices, before loops are chosen for all of them at once",
     nullptr, on_reduction<take_contracted>, innermost, 4},
    {"scan of maps", "running folds of maps have a scan of their own", nullptr, scan_maps, innermost, 4},
    {"scan of what follows", "long ranges that begin one place further: in blocks", nullptr, scan_of_what_follows,
     innermost, 4},
    {"scan", "running results", nullptr, scan, innermost, 4},
    {"scan lookup", "cut running results, by a whole one", nullptr, look_up_scan, innermost, 4},
    {"window", "one pass along memory", nullptr, window_in_one_pass, innermost, 4},
    {"two-scan window", "large windows that one pass does not take", nullptr, window_of_two_scans, innermost, 4},
    {"materialised results", "reductions at places of a narrowed range: stored at all of its places",
     on_stage<take_materialised_results>},
    {"tie bits", "once a window's extremum is stored: which of its elements are equal to it is stored as well",
     on_stage<take_tie_bits>},
    {"functions in windows", "once windows are folded their own way: of those that are left", nullptr,
     on_reduction<take_window_functions>, innermost, 5},
    {"repeated terms", "slow functions of few values in a scatter of many", on_stage<take_repeated>},
    {"narrow integers", "before products are seen: of small integers sums stay in 32 bits", nullptr,
     on_reduction<take_narrow_integers>, innermost, 7},
    {"collapsed results", "before products and tiles are seen: their lanes go along all of an image",
     on_stage<take_collapsed_results>},
    {"products", "before values of pairs are: those that are stored are computed in tiles of their own",
     on_stage<take_products>},
    {"masked products", "once a product is alone in its stage", on_stage<take_masked_product>},
    {"factors of products", "of those that no mask is left of", on_stage<take_factor_of_product>},
    {"pair tiles", "before placement would store a value for each pair", on_stage<take_pair_tiles>},
    {"short rows", "before placement: what a sum over all rows needs of each is folded with rows in lanes", nullptr,
     on_reduction<take_short_rows>, innermost, 6},
    {"few terms", "once no tile or row of lanes takes them: before loops of what is left are chosen",
     on_stage<take_few_terms>},
    {"one walk",
     "before placement would store a maximum or a mean: it and the powers or squares about it are one fold, on a GPU",
     on_stage<take_one_walk>},
    {"placement", "last but three: sees what the rules above left in the loops", on_stage<take_misplaced>},
    {"privatised tables", "once what a scatter's value needs is stored: many updates of few rows, in blocks",
     on_stage<take_tables>},
    {"split", "last but one: reductions that are still too long for the tasks there are", on_stage<take_split>},
    {"few rows", "last: what is left of folds for each of few rows, of which tasks take parts",
     on_stage<take_few_rows>},
};

constexpr rule last_table[] = {
    {"unrolled stencil", "small windows that are left in a map", on_stage<take_stencil>},
    {"moving ranges", "of windows that are not unrolled: lanes go along their results", on_stage<take_moving_ranges>},
    {"atomic scatter", "asked for by options; before the list that a scatter has otherwise", on_stage<take_atomic>},
    {"slice lists", "where tasks of a range scatter would walk many slices in vain", on_stage<list_slices>},
    {"inverse index", "where rows of a scatter come from memory for each update, and what updates read does not",
     on_stage<list_updates>},
    {"row order", "once a map's tasks are known: its rows go in the order of the data that chooses what they read",
     on_stage<take_row_order>},
};

bool is_deleted(const rule& r, const context& c) {
  const char* without = c.known.call().without;
  return without != nullptr && std::string_view(without) == r.name;
}

// The rules from `first` on that share its group, for each reduction of the body.
const rule* apply_group(std::span<const rule> group, const context& c, stage& s) {
  std::vector<node_id> list = reductions_in(c.g, s.body);
  if (group.front().tried == outermost) std::reverse(list.begin(), list.end());
  for (const node_id n : list) {
    if (is_term_by_term(c.g, n)) continue;  // it stays as it is
    site at(c.g, n);
    const node_id own = c.g.size();
    const std::size_t stages = c.before.size();
    for (const rule& r : group)
      if (!is_deleted(r, c) && r.on_reduction(c, s, at)) return &r;
    // What rules made that did not apply is held by nobody.
    const bool crowded = c.g.indices_left() < tuning::stages::indices_left;
    if (crowded && c.g.size() > own && c.before.size() == stages) c.g.abandon_from(own);
  }
  return nullptr;
}

}  // namespace

std::span<const rule> rules() { return table; }
std::span<const rule> last_rules() { return last_table; }

bool applies(const rule& r, const context& c, stage& s) { return !is_deleted(r, c) && r.on_stage(c, s); }

const rule* apply_rules(const context& c, stage& s) {
  const std::span<const rule> all = table;
  for (std::size_t k = 0; k < all.size();) {
    std::size_t end = k + 1;
    while (all[k].group != 0 && end < all.size() && all[end].group == all[k].group) ++end;
    if (all[k].group == 0) {
      const way how = s.how;
      if (applies(all[k], c, s)) return &all[k];
      if (s.how != how) s.rules.push_back(all[k].name);
    } else if (s.how == way::map) {
      if (const rule* fired = apply_group(all.subspan(k, end - k), c, s)) return fired;
    }
    k = end;
  }
  return nullptr;
}

}  // namespace sheaf::inline v0_1::plan
