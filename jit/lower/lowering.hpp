// The state of lowering one kernel, shared by the files of this folder.
#pragma once
#include <optional>
#include <span>
#include <unordered_map>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::lower {

using plan::stage;

// A block under construction with what is bound in it. Values are looked up through the parents.
struct scope {
  scope(ir::block_builder& top) : block(&top) {}
  scope(scope& outer, ir::block_builder made) : own(std::move(made)), block(&*own), parent(&outer), bound(outer.bound), lane(outer.lane) {}
  scope(const scope&) = delete;

  std::optional<ir::block_builder> own;
  ir::block_builder* block;
  scope* parent = nullptr;
  index_set bound;
  node_id lane = no_node;  // the index of the vector loop around
  std::unordered_map<std::int64_t, ir::value> values;

  void close() { block->close(); }
};

struct range {
  ir::value low, high;
};

struct folded;
class sliding_fold;

class kernel_lowering {
 public:
  kernel_lowering(graph& g, const plan::facts& known, plan::program_plan& plan, ir::module& code,
                  const std::unordered_map<node_id, std::int32_t>& buffers)
      : g(g), known(known), plan(plan), code(code), buffers(buffers) {}

  ir::kernel operator()(const plan::kernel_plan& k);

  // expression.cpp. lane0: the value of the first lane, where the node depends on the lanes.
  ir::value emit(node_id n, scope& s, bool lane0 = false);
  // The place of a load or store: the subscripts, and how lanes meet them.
  ir::access subscripts_of(std::int32_t buffer, const std::vector<node_id>& subscripts, scope& s, std::vector<ir::value>& list);

  // reduction.cpp
  ir::value reduction(node_id n, scope& s);

  // stage.cpp. Opens the loop of an index: `lanes` more than 1 makes it a vector loop; `within` replaces its own range.
  void bind(scope& inner, node_id idx, int lanes);
  ir::block_builder open(scope& outer, node_id idx, int lanes, const range* within = nullptr, const char* suffix = "");
  void store(const stage& s, ir::value stored, scope& at, ir::value mask = ir::none);

  // scatter.cpp
  void scatter(const stage& s, scope& piece, const range* owned);

  // scan.cpp
  void scan(const stage& s, scope& piece, const range* chunk);

  // window.cpp
  void window(const stage& s, scope& piece, const range* chunk);

  scope& place_of(node_id n, scope& s) const;
  std::optional<ir::value> find(node_id n, const scope& s, bool lane0) const;
  std::string index_text(node_id idx) const;
  node_id position_of(node_id idx) { return make(g, op::sub, idx, g.arg(idx, 0)); }
  ir::buffer& buffer(std::int32_t id) { return code.buffers[static_cast<std::size_t>(id)]; }

  graph& g;
  const plan::facts& known;
  plan::program_plan& plan;
  ir::module& code;
  const std::unordered_map<node_id, std::int32_t>& buffers;  // by input or define node
  std::vector<const stage*> stages;                          // of this kernel
  std::unordered_set<node_id> pending;                       // defines of this kernel that are not stored yet
  std::unordered_map<node_id, std::int32_t> locals;          // by define: what its stage keeps for itself
  std::unordered_map<node_id, std::int32_t> local_keys;
  bool small = false;                                        // so little work that its short loops are brief

 private:
  struct entry {
    const stage* s;
    std::size_t depth;  // loops already open
  };
  ir::value emit_load(node_id n, scope& at);
  struct window_view;
  folded element_of(const stage& s, node_id value, node_id key, scope& at);
  node_id value_at(const window_view& v, node_id value, node_id place);
  void prime(const stage& s, const sliding_fold& slider, ir::value first, scope& at, bool backward);
  std::int32_t block_buffer(std::unordered_map<node_id, std::int32_t>& by, const stage& s, element type);
  void rest_of_block(const stage& s, const window_view& v, const range& t, scope& at);
  void rest_from_folds(const stage& s, ir::value more, scope& at);
  ir::value finished(const stage& s, const window_view& v, folded x, scope& inner);
  void window_results(const stage& s, const window_view& v, const range& t, scope& at);
  void window_blocks(const stage& s, const window_view& v, const range& t, scope& at);
  void window_with_ends(const stage& s, const window_view& v, const range& t, scope& at);
  bool past_cache(const stage& s, ir::access how) const;
  void scan_block(const stage& s, scope& at, const range& t);
  void recur(const stage& s, scope& at);
  void recur_along(const stage& s, scope& at, const range& places);
  void recur_in_blocks(const stage& s, scope& piece, const range* chunk);
  void scan_fill(const stage& s, scope& at, const range& t);
  void store_at(const stage& s, node_id place, ir::value stored, scope& at, ir::value mask);  // place: of the owned index
  ir::value emit_index(node_id n, scope& at, bool lane0);
  void nest(std::span<entry> entries, scope& s, const range* chunk);
  void piece(const plan::kernel_plan& k, scope& s, const range* chunk);
  std::vector<node_id> companions(node_id n, node_id lane, scope& at);
  bool computed_outside(node_id n, scope& at);
};

}  // namespace sheaf::lower
