// The state of lowering one kernel, shared by the files of this folder.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/lower/buffers.hpp>
#include <sheaf/jit/lower/scratch_row_table.hpp>

namespace sheaf::inline v0_1::lower {

using plan::stage;

struct folded;
struct list_to_sort;
class cache_tiling;
class pair_tiling;
class group_tiling;
class sliding_fold;
class open_loops;

class kernel_lowering {
  friend class cache_tiling;
  friend class pair_tiling;
  friend class group_tiling;

 public:
  kernel_lowering(const context& c, const buffer_ids& buffers)
      : g(c.g), known(c.known), plan(c.plan), code(c.code), buffers(buffers) {}

  ir::kernel operator()(const plan::kernel_plan& k);

  // expression.cpp. lane0: the value of the first lane, where the node depends on the lanes.
  ir::value emit(node_id n, scope& s, bool lane0 = false);
  ir::value rounded(node_id n, ir::value x, ir::block_builder& b);
  // The place of a load or store: the subscripts, and how lanes meet them.
  ir::access subscripts_of(std::int32_t buffer, const std::vector<node_id>& subscripts, scope& s,
                           std::vector<ir::value>& list);

  // reduction.cpp
  ir::value reduction(node_id n, scope& s);
  // Of an argmin or argmax: what is compared.
  element type_of_cell(node_id reduce) const;
  ir::value cell_of(node_id reduce, scope& at, bool wide);
  // What a reduction folds, where; position: of the extremes that tell theirs.
  struct term {
    node_id body, condition, position = no_node;
  };
  term term_of(node_id reduce) const { return {g.arg(reduce, 0), g.arg(reduce, 1)}; }
  void combine_term(ir::value cell, node_id reduce, term of, scope& inner);
  void combine_chain(ir::value cell, node_id reduce, scope& inner);
  std::vector<ir::value> emit_values(node_id tuple, scope& s);
  ir::value take_result(node_id reduce, ir::value cell, scope& at, bool folds);

  // extreme.cpp
  bool searches_blocks(node_id reduce, node_id lane, const scope& at) const;
  ir::value search_blocks(node_id reduce, node_id lane, scope& at);

  // gather.cpp
  struct compacted_list {
    std::int32_t buffer;
    ir::value count;
    int outside;  // the scope that holds it, by number
  };
  std::optional<compacted_list> compacted_list_of(std::span<const node_id> reductions, scope& at);

  // stage.cpp. Opens the loop of an index: `lanes` more than 1 makes it a vector loop; `within` replaces its own range;
  // in one that `folds` there is no other loop.
  void bind(scope& inner, node_id idx, int lanes);
  ir::block_builder open(scope& outer, node_id idx, int lanes, const range* within = nullptr, const char* suffix = "",
                         bool folds = false);
  void store(const stage& s, ir::value stored, scope& at, ir::value mask = ir::none, bool once = false);
  bool stores_once(const stage& s) const;         // each place, in order
  std::vector<node_id> place_in(const stage& s);  // subscripts of what is stored: indices from their first on

  // nest.cpp, rows.cpp
  struct entry {
    const stage* s;
    std::size_t depth;  // loops already open
  };
  void nest(std::span<const entry> given, scope& s);

  // scratch_rows.cpp
  void find_scratch_rows();
  ir::kernel without_unread_rows(ir::kernel made);
  void find_scratch_rows_of_slices();
  std::optional<ir::value> share_scratch_rows(const range& rows, scope& at);
  ir::value place_in_scratch_row(scope& loop, node_id lane);
  std::int32_t scratch_row_of(node_id n, node_id lane);
  void find_scratch_rows_of_lanes();
  node_id loop_along_rows(const scope& at) const;
  bool may_be_in_scratch_row(node_id n, const scope& at) const;
  std::optional<ir::value> from_scratch_row(node_id n, scope& at);
  void into_scratch_row(node_id n, ir::value made, scope& at);
  scratch_row_table::place lane_loop(scope& s) const;
  scratch_row_table scratch_rows;

  // scatter.cpp
  void scatter(scope& task, const range* owned);

  void walk_all(std::span<const stage* const> list, scope& task, const range& own);
  void fill_rows(const stage& s, scope& task, const range& own);
  void walk_updates(std::span<const stage* const> list, scope& task, const range& own, const range* iterations);
  void enter_row(node_id idx, node_id at, const range& rows, open_loops& loops, bool inside = false);
  void enter_rows(const stage& s, const range& own, open_loops& loops, bool inside = false);
  template <class Put>
  void update_extremum(const stage& s, ir::value old, ir::value added, scope& at, Put put);
  void update(const stage& s, node_id rest, scope& at, bool atomic);
  void scatter_by_atomics(const stage& s, int part, scope& top);
  void scatter_to_table(const stage& s, scope& task);
  std::pair<ir::value, ir::value> place_in_table(const stage& s, node_id at, std::int64_t rows, scope& inner);

  // update_chunks.cpp
  bool folds_runs(std::span<const stage* const> list, node_id idx, const scope& at);
  std::vector<node_id> computed_places(std::span<const stage* const> list, node_id idx, const scope& at);
  struct update_walk {
    bool runs = false;   // are runs of one key folded?
    bool whole = false;  // of all rows: most updates are one's own
    std::vector<node_id> places;
    std::function<void(open_loops&, bool inside)> update;
  };
  void walk_chunks(std::span<const stage* const> list, node_id idx, scope& at, const range& own, const update_walk& w);
  void walk_groups(std::span<const stage* const> list, node_id idx, scope& at, ir::value begin_of_chunk,
                   const range& own, const update_walk& w);
  ir::value has_runs(node_id row, node_id idx, scope& at, ir::value first);

  // inverse_index.cpp
  void list_updates(const stage& s, scope& top);
  void list_in_blocks(const plan::kernel_plan& k, const stage& s, scope& top);
  void sort_inverse_index(const stage& s, int part, scope& top);
  void scatter_by_lists(const stage& s, scope& task, const range& own);
  std::int32_t begins_of(const stage& s);  // a local buffer: where the updates of a task's rows begin
  void rows_of_inverse_index(const stage& s, scope& task, const range& own);

  // row_parts.cpp
  void parts_of_rows(const stage& s, int kernel, scope& top);
  ir::value fold_part(const stage& s, scope& at, const range& own);
  struct places_of_parts {
    node_id array;
    range places;
  };
  ir::value join_parts(const stage& s, scope& at, std::initializer_list<places_of_parts> list);
  ir::value join_row(const stage& s, scope& at, const range& updates);
  // What the parts of a row come to, whose updates then begin after them.
  ir::value take_parts(const stage& s, scope& at, range& updates);
  ir::access place_of_part(const stage& s, node_id array, scope& at, std::vector<ir::value>& list);

  // sort.cpp
  void sort(const stage& s, int part, const list_to_sort& list, scope& top);
  // Null: the part is a kernel of the program's own.
  std::shared_ptr<const ir::shared_call> sort_call(const stage& s, int part) const;
  template <class Number, class Value>
  std::vector<Number> numbers_of_sort(const stage& s, const plan::sort_part& part, const Value& known_value) const;
  ir::kernel part_of_sort(const plan::kernel_plan& k, const stage& list);

  // sort_keys.cpp
  void sort_keys(const plan::kernel_plan& k, const stage& s, scope& top);

  // tiles.cpp
  void fold_by_tiles(int part, scope& top);

  // range_scatter.cpp
  void list_slices(const stage& s, scope& top);
  void sort_slices(const stage& s, int part, scope& top);
  void bind_in_order(const stage& s, scope& top, scope& inner, ir::value when);
  void range_scatter(scope& task, const range& own);

  // sweep.cpp
  void list_endpoints(const stage& s, scope& task);
  void sweep(const stage& s, scope& task, const range& columns);

  // stencil.cpp. Stages whose loops up to `depth` are open.
  void stencil(std::span<const stage* const> list, std::size_t depth, scope& at, const range* chunk);

  // pair_tiles.cpp
  void pair_tiles(const plan::kernel_plan& k, scope& task, const range* rows);

  // scan.cpp
  void scan(const stage& s, scope& task, const range* chunk);

  // window.cpp
  void window(const stage& s, scope& task, const range* chunk);

  scope& place_of(node_id n, scope& s) const;
  std::optional<ir::value> find(node_id n, const scope& s, bool lane0) const;
  std::string index_text(node_id idx) const;
  node_id position_of(node_id idx) { return make(g, op::sub, idx, g.arg(idx, 0)); }
  void note(std::string text) {
    if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
  }
  ir::buffer& buffer(std::int32_t id) { return code.buffers[static_cast<std::size_t>(id)]; }

  graph& g;
  const plan::facts& known;
  plan::program_plan& plan;
  ir::module& code;
  const buffer_ids& buffers;
  std::vector<std::string> notes;                            // for explain(): what is decided here
  std::vector<const stage*> stages;                          // of this kernel
  std::unordered_set<node_id> pending;                       // defines of this kernel that are not stored yet
  std::vector<node_id> stored;                               // and the others, in the order of their stores
  // Loops that stages share and that are open: around them only what was stored before is whole.
  struct shared_loop {
    const scope* outside;
    std::size_t stored;
  };
  std::vector<shared_loop> shared_loops;
  std::unordered_set<node_id> assumed;                       // conditions that hold wherever code is being made
  // elements read by the lanes' loads, see `whole_groups`
  std::map<std::vector<node_id>, std::set<std::int64_t>> stencilled;
  node_id aligned = no_node;                         // an index whose loop goes from its low end in steps of
  int aligned_lanes = 1;                             //   these lanes, or begins a multiple of them later
  std::unordered_map<node_id, std::int32_t> locals;  // by define: what its stage keeps for itself
  std::unordered_map<node_id, std::int32_t> local_keys;
  std::map<std::pair<node_id, node_id>, compacted_list> compacted_lists;  // by index and condition
  std::int64_t task_size = 0;  // iterations that a task takes, where it takes a part
  std::span<const plan::tiled_loop> tile;  // of this kernel
  bool small = false;          // so little work that its short loops are size-optimised

 private:
  ir::value emit_load(node_id n, scope& at);
  std::optional<ir::lane_pattern> deinterleaving_of(std::int32_t buffer, const std::vector<node_id>& subscripts,
                                                    const scope& at);
  std::optional<ir::value> pattern_of(node_id n, scope& s);
  std::pair<std::vector<node_id>, std::int64_t> row_of(node_id load);
  void find_stencilled(std::span<const stage* const> list, const scope& inner);
  ir::lane_pattern whole_groups(node_id load, ir::lane_pattern apart);
  node_id not_assumed(node_id condition);
  node_id collected(node_id comparison, const scope& at);
  void row_of_stencil(std::span<const stage* const> list, scope& at, const range* chunk);
  void lanes_of_stencil(std::span<const stage* const> list, scope& at, const range& part, bool most);
  void prefetch_rows(std::span<const stage* const> list, scope& inner);
  struct window_view;
  folded element_of(const stage& s, node_id value, node_id key, scope& at);
  node_id value_at(const window_view& v, node_id value, node_id place);
  void prime(const stage& s, const sliding_fold& slider, ir::value first, scope& at, bool backward);
  std::int32_t block_buffer(std::unordered_map<node_id, std::int32_t>& by, const stage& s, element type);
  void rest_of_block(const stage& s, const window_view& v, const range& t, scope& at);
  void rest_of_scan(const stage& s, const window_view& v, const range& t, scope& at);
  void scanned_results(const stage& s, const window_view& v, const range& t, scope& at);
  ir::value scanned_cell(ir::block_builder& b, const stage& s);
  void store_window(const stage& s, const window_view& v, scope& inner);
  void rest_from_folds(const stage& s, ir::value more, scope& at);
  ir::value finished(const stage& s, const window_view& v, folded x, scope& inner);
  void prefetch_window(const stage& s, const window_view& v, node_id end, scope& inner);
  void window_results(const stage& s, const window_view& v, const range& t, scope& at);
  void window_blocks(const stage& s, const window_view& v, const range& t, scope& at);
  void window_with_ends(const stage& s, const window_view& v, const range& t, scope& at);
  ir::value running_cell(const stage& s, scope& at);
  int lanes_along(const stage& s) const;
  ir::value running_result(const stage& s, ir::value cell, bool along, scope& inner);
  void scan_block(const stage& s, scope& at, const range& t);
  void recur(const stage& s, scope& at);
  void recur_along(const stage& s, scope& at, const range& places);
  void recur_in_blocks(const stage& s, scope& task, const range* chunk);
  void scan_ends(const stage& s, scope& task, const range* chunk);
  element type_of_part(monoid fold) const;
  void scan_fill(const stage& s, scope& at, const range& t);
  // place: of the owned index
  void store_at(const stage& s, node_id place, ir::value stored, scope& at, ir::value mask);
  ir::value emit_index(node_id n, scope& at, bool lane0);
  bool reads(const stage& reader, const stage& writer) const { return plan.reads.reads(reader.define, writer.define); }
  bool is_open(const entry& e) const;
  bool waits(const entry& e, std::span<const entry> others) const;
  bool joins(const entry& e, std::span<const entry> group, std::span<const entry> left) const;
  bool storage_folded(node_id n, std::span<const entry> hosts, node_id idx, node_id bound) const;
  std::vector<node_id> unknown_reductions(const stage& each, scope& s);
  std::vector<node_id> siblings(std::span<const entry> hosts, node_id idx, scope& s);
  void run_shared(std::span<const entry> group, std::span<const node_id> visiting, scope& s);
  node_id row_value(const stage& s);
  void finish(const stage& s, scope& at);
  void finish_rows(const stage& s, scope& at);
  void add_to_partial(const stage& s, ir::value added, scope& at);
  bool moves(const stage& s) const;  // what is folded, with its centre
  bool moves_with(const stage& s, const stage& centre) const;
  void bind_last(std::span<const entry> group, node_id idx, std::int64_t together, scope& s);
  int most_lanes(std::span<const entry> group, const scope& s) const;
  void store_result(const stage& s, scope& at);
  bool may_join_rows(std::span<const entry> group);
  void run_rows(std::span<const entry> shared, node_id idx, scope& s);
  void fill(std::span<const entry> entries, scope& s);
  void task(const plan::kernel_plan& k, scope& s, const range* chunk);
  void tasks_of_indices(const plan::kernel_plan& k, scope& top);
  void tasks_of_parts(const plan::kernel_plan& k, scope& top);
  void tasks_of_chunks(const plan::kernel_plan& k, scope& top);
  void tasks_of_tiles(const plan::kernel_plan& k, scope& top);
  ir::value bind_batch(std::span<const node_id> batch, std::span<const ir::value> sizes, scope& task);
  std::int32_t panel(const char* name, element type, std::int64_t elements);
  void cache_tiled(const plan::kernel_plan& k, const range& rows, scope& task);
  void group_tiled(const plan::kernel_plan& k, scope& top);
  ir::loop_kind kind_of_tasks(const plan::kernel_plan& k) const;
  shapes::amount cost_of_task(const plan::kernel_plan& k) const;
  std::vector<node_id> companions(node_id n, node_id lane, scope& at);
  bool have_one_guard(std::span<const node_id> all, scope& at) const;
  std::vector<ir::value> fold(std::span<const node_id> all, node_id lane, scope& at, bool guarded);
  bool computed_outside(node_id n, scope& at);
  bool is_whole(node_id define, const scope& at) const;
  void mark_stored(const stage& s);
};

// Loops and guards that are opened one in the other and closed together.
class open_loops {
 public:
  open_loops(kernel_lowering& k, scope& outer) : inner(&outer), k_(k) {}
  void enter(ir::block_builder made) {
    nest_.push_back(std::make_unique<scope>(*inner, std::move(made)));
    inner = nest_.back().get();
  }
  void enter(node_id idx, int lanes, const range* within = nullptr, bool folds = false) {
    enter(k_.open(*inner, idx, lanes, within, "", folds));
    k_.bind(*inner, idx, lanes);
  }
  // In the block at hand, but what does not need idx is computed before: within the guards around, not within this.
  void bind(node_id idx, ir::value x) {
    nest_.push_back(std::make_unique<scope>(*inner, inner->block));
    inner = nest_.back().get();
    inner->bind_to(k_.g, idx, x);
  }
  std::size_t size() const { return nest_.size(); }
  void close() {
    for (; !nest_.empty(); nest_.pop_back())
      if (nest_.back()->own) nest_.back()->close();
  }
  scope* inner;

 private:
  kernel_lowering& k_;
  std::vector<std::unique_ptr<scope>> nest_;
};

}  // namespace sheaf::inline v0_1::lower
