// The slow evaluator, the definition of correct: what a definition of the graph is worth for given inputs.
// Arithmetic is in f64 and in i64 wrapped to the node's width; casts and constants round to their type. Only the branch
// that is taken is evaluated, && and || left to right, so that a guard protects what stands behind it.
// Input: a graph and a tensor per row of graph::inputs. Output: a tensor, or what went wrong.
// Shown by tests/static/evaluate.cpp.
#pragma once
#include <sheaf/dsl/graph/accumulate.hpp>
#include <sheaf/dsl/graph/tensor_value.hpp>

namespace sheaf::inline v0_1 {

struct evaluation_options {
  // every op's result is rounded to its node's type, as kernels without wider temporaries do
  bool round_results = false;
};

class evaluator {
 public:
  constexpr evaluator(const graph& g, const flat<tensor_value>& inputs, evaluation_options options = {})
      : g_(g), inputs_(inputs), options_(options) {
    computed_.resize(g.size(), 0);
    values_.resize(g.size(), {});
    kept_.resize(g.size(), -1);
    assigned_.resize(g.indices.size(), 0);
    position_.resize(g.indices.size(), 0);
    bound_.resize(g.indices.size(), false);
    list_free();
    check_inputs();
    check_constraints();
    check_demands();
  }

  constexpr evaluation operator()(node_id definition) {
    const int at = status_.ok() ? materialised(definition) : -1;
    evaluation result;
    result.status = status_;
    if (status_.ok()) result.value = tensors_[at].value;
    return result;
  }

 private:
  struct kept_tensor {
    tensor_value value;
    flat<std::int64_t> lows;
  };

  constexpr cell fail(evaluation_status status) {
    if (status_.ok()) status_ = status;
    return {};
  }

  // ---- before anything runs

  // The free indices of each node as a list: a set of 256 bits is slow to walk in constant evaluation.
  constexpr void list_free() {
    for (node_id n = 0; n < g_.size(); ++n) {
      free_first_.push(free_.size());
      const index_set& set = g_.free[n];
      if (!set.empty())
        for (int o = 0; o < g_.indices.size(); ++o)
          if (set.has(o)) free_.push(o);
    }
    free_first_.push(free_.size());
  }

  constexpr void check_inputs() {
    for (int i = 0; i < g_.inputs.size(); ++i) {
      const input_row& row = g_.inputs[i];
      bool good = i < inputs_.size() && inputs_[i].extents.size() == row.rank &&
                  is_floating(inputs_[i].type) == is_floating(row.type);
      for (int d = 0; good && d < row.rank; ++d) {
        const std::int64_t known = g_.static_extents[row.first_extent + d];
        good = inputs_[i].extents[d] >= 0 && (known == dynamic || known == inputs_[i].extents[d]);
      }
      if (good)
        good = inputs_[i].count() == (is_floating(row.type) ? inputs_[i].reals.size() : inputs_[i].integers.size());
      if (!good) fail({evaluation_fault::wrong_argument, no_node, i});
    }
  }

  constexpr void check_constraints() {
    for (const constraint& c : g_.constraints) {
      if (!status_.ok()) return;
      const std::int64_t left = value(c.left).integer, right = value(c.right).integer;
      if (left != right) fail({evaluation_fault::extents_disagree, c.left, no_node, 0, left, right});
    }
  }

  constexpr void check_demands() {
    for (int k = 0; k < g_.demands.size() && status_.ok(); ++k) {
      const node_id wrong = g_.demands[k].wrong;
      if (g_.kind(wrong) == op::reduce)
        reduced(wrong, k);
      else if (is_nonzero(wrong) && status_.ok())
        refuse(k);
    }
  }
  constexpr void refuse(int which) {
    const demand& d = g_.demands[which];
    evaluation_status s{evaluation_fault::demand, d.wrong, no_node, which};
    if (d.found != no_node) s.subscript = value(d.found).integer;
    if (d.limit != no_node) s.extent = value(d.limit).integer;
    for (int i = 2; g_.kind(d.wrong) == op::reduce && i < g_[d.wrong].count; ++i)
      s.at.push(position_[g_.ordinal(g_.arg(d.wrong, i))]);
    fail(s);
  }

  // ---- indices and their time stamps

  constexpr void assign(int ordinal, std::int64_t position, bool bound = true) {
    if (bound && bound_[ordinal] && position_[ordinal] == position) return;
    position_[ordinal] = position;
    bound_[ordinal] = bound;
    assigned_[ordinal] = ++clock_;
  }

  constexpr bool is_current(node_id n) const {
    const std::int64_t when = computed_[n];
    if (when == 0) return false;
    for (int i = free_first_[n]; i < free_first_[n + 1]; ++i)
      if (assigned_[free_[i]] > when) return false;
    return true;
  }

  constexpr cell value(node_id n) {
    if (is_current(n)) return values_[n];
    const cell result = cells::finished(g_, n, computed(n), options_.round_results);
    computed_[n] = ++clock_;
    values_[n] = result;
    return result;
  }

  constexpr cell computed(node_id n) {
    switch (g_.kind(n)) {
      case op::constant:
        return cells::constant(g_, n);
      case op::index: {
        const int o = g_.ordinal(n);
        return bound_[o] ? cell{0, position_[o]} : fail({evaluation_fault::unbound_index, n});
      }
      case op::extent:
        return {0, inputs_[static_cast<int>(g_[g_.arg(n, 0)].attribute)].extents[static_cast<int>(g_[n].attribute)]};
      case op::load: return loaded(n);
      case op::reduce: return reduced(n);
      case op::stop_gradient: return value(g_.arg(n, 0));
      case op::cast:
        return cells::converted(value(g_.arg(n, 0)), g_.type(g_.arg(n, 0)), g_.type(n));
      case op::select: return converted_arg(n, is_nonzero(g_.arg(n, 0)) ? 1 : 2);
      case op::logical_and: return {0, is_nonzero(g_.arg(n, 0)) && is_nonzero(g_.arg(n, 1))};
      case op::logical_or: return {0, is_nonzero(g_.arg(n, 0)) || is_nonzero(g_.arg(n, 1))};
      default: return elementwise(n);
    }
  }

  constexpr bool is_nonzero(node_id n) { return cells::is_nonzero(g_.type(n), value(n)); }

  constexpr cell converted_arg(node_id n, int k) {
    return cells::converted(value(g_.arg(n, k)), g_.type(g_.arg(n, k)), g_.type(n));
  }

  constexpr cell elementwise(node_id n) {
    cell c[3];
    for (int k = 0; k < g_[n].count; ++k) c[k] = value(g_.arg(n, k));
    return cells::elementwise(g_, n, c);
  }
  // ---- tensors

  constexpr cell loaded(node_id n) {
    const node_id tensor = g_.arg(n, 0);
    int at = -1;
    if (g_.kind(tensor) == op::define && (at = materialised(tensor)) < 0) return {};
    std::int64_t offset = 0;
    for (int d = 0; d + 1 < g_[n].count; ++d) {
      const std::int64_t subscript = value(g_.arg(n, 1 + d)).integer;
      const std::int64_t extent = tensor_of(tensor, at).extents[d];
      const std::int64_t place = at < 0 ? subscript : subscript - tensors_[at].lows[d];
      if (!status_.ok()) return {};
      if (place < 0 || place >= extent) return fail({evaluation_fault::subscript, n, tensor, d, subscript, extent});
      offset = offset * extent + place;
    }
    const tensor_value& t = tensor_of(tensor, at);
    const int i = static_cast<int>(offset);
    return is_floating(t.type) ? cell{t.reals[i], 0} : cell{0, t.integers[i]};
  }
  constexpr const tensor_value& tensor_of(node_id tensor, int at) const {
    return at < 0 ? inputs_[static_cast<int>(g_[tensor].attribute)] : tensors_[at].value;
  }

  // A definition's values, computed at the first need: their place in tensors_, or -1 after a failure.
  constexpr int materialised(node_id definition) {
    if (kept_[definition] >= 0) return kept_[definition];
    kept_tensor kept;
    kept.value.type = g_.type(definition);
    const int rank = tensor_rank(g_, definition);
    for (int d = 0; d < rank; ++d) {
      const node_id idx = g_.arg(definition, 1 + d);
      if (is_unbound(g_, idx)) return fail({evaluation_fault::unbound_index, idx}), -1;
      if (!g_.free[g_.arg(idx, 0)].empty() || !g_.free[g_.arg(idx, 1)].empty())
        return fail({evaluation_fault::ragged_definition, definition}), -1;
      const std::int64_t low = value(g_.arg(idx, 0)).integer, high = value(g_.arg(idx, 1)).integer;
      kept.lows.push(low);
      kept.value.extents.push(high > low ? high - low : 0);
    }
    // The body sees nothing of the loops around the load, even where they use the same index.
    const flat<std::int64_t> positions = position_;
    const flat<bool> bound = bound_;
    fill(definition, 0, kept);
    for (int d = 0; d < rank; ++d) {
      const int o = g_.ordinal(g_.arg(definition, 1 + d));
      assign(o, positions[o], bound[o]);
    }
    if (!status_.ok()) return -1;
    tensors_.push(kept);
    return kept_[definition] = tensors_.size() - 1;
  }

  constexpr void fill(node_id definition, int d, kept_tensor& kept) {
    if (!status_.ok()) return;
    if (d == kept.lows.size()) {
      const cell c = converted_arg(definition, 0);
      if (is_floating(kept.value.type)) kept.value.reals.push(c.real);
      else kept.value.integers.push(c.integer);
      return;
    }
    const int o = g_.ordinal(g_.arg(definition, 1 + d));
    for (std::int64_t i = 0; i < kept.value.extents[d]; ++i) {
      assign(o, kept.lows[d] + i);
      fill(definition, d + 1, kept);
    }
  }

  // ---- reductions

  struct folding {
    node_id reduce = no_node;
    accumulation state;
    int demand = -1;         // which of the graph's this is: the first position where it holds is a failure
    flat<node_id> loops{};   // an index after those its range depends on
    flat<node_id> conjuncts{};
    flat<int> depths{};  // of each conjunct: how many loops must run before it and those before it can be asked
    flat<cell> element{};
  };

  constexpr cell reduced(node_id n, int demand = -1) {
    folding f{n, accumulation(g_, n, options_.round_results), demand};
    order_loops(n, f.loops);
    list_conjuncts(g_.arg(n, 1), f);
    flat<std::int64_t> positions;
    flat<bool> bound;
    for (const node_id idx : f.loops) {
      positions.push(position_[g_.ordinal(idx)]);
      bound.push(bound_[g_.ordinal(idx)]);
    }
    run(f, 0);
    for (int k = 0; k < f.loops.size(); ++k) assign(g_.ordinal(f.loops[k]), positions[k], bound[k]);
    return f.state.result();
  }

  constexpr void order_loops(node_id n, flat<node_id>& loops) const {
    const int count = g_[n].count - 2;
    while (loops.size() < count) {
      const int before = loops.size();
      for (int k = 0; k < count; ++k) {
        const node_id idx = g_.arg(n, 2 + k);
        bool ready = !loops.contains(idx);
        for (int j = 0; ready && j < count; ++j) {
          const node_id other = g_.arg(n, 2 + j);
          ready = other == idx || loops.contains(other) || !g_.free[idx].has(g_.ordinal(other));
        }
        if (!ready) continue;
        loops.push(idx);
        break;
      }
      if (loops.size() == before) return;  // an index given twice
    }
  }

  constexpr void list_conjuncts(node_id condition, folding& f) const {
    if (g_.kind(condition) == op::logical_and) {
      list_conjuncts(g_.arg(condition, 0), f);
      return list_conjuncts(g_.arg(condition, 1), f);
    }
    int depth = f.depths.empty() ? 0 : f.depths.back();
    for (int k = depth; k < f.loops.size(); ++k)
      if (g_.free[condition].has(g_.ordinal(f.loops[k]))) depth = k + 1;
    f.conjuncts.push(condition);
    f.depths.push(depth);
  }

  // A condition guards the ranges of the loops that it does not wait for.
  constexpr void run(folding& f, int depth) {
    if (!status_.ok()) return;
    for (int i = 0; i < f.conjuncts.size(); ++i)
      if (f.depths[i] == depth && (!is_nonzero(f.conjuncts[i]) || !status_.ok())) return;
    if (depth == f.loops.size()) return fold(f);
    const node_id idx = f.loops[depth];
    if (is_unbound(g_, idx)) return void(fail({evaluation_fault::unbound_index, idx}));
    const std::int64_t low = value(g_.arg(idx, 0)).integer, high = value(g_.arg(idx, 1)).integer;
    const int o = g_.ordinal(idx);
    for (std::int64_t i = low; i < high && status_.ok(); ++i) {
      assign(o, i);
      run(f, depth + 1);
    }
  }

  constexpr void fold(folding& f) {
    const node_id body = g_.arg(f.reduce, 0);
    f.element.clear();
    if (g_.kind(body) == op::tuple) {
      for (int k = 0; k < g_[body].count; ++k) f.element.push(value(g_.arg(body, k)));
    } else {
      f.element.push(value(body));
    }
    if (f.demand >= 0) return f.element[0].integer != 0 && status_.ok() ? refuse(f.demand) : void();
    f.state.take(f.element, position_[g_.ordinal(f.loops[0])]);
  }

  const graph& g_;
  const flat<tensor_value>& inputs_;
  evaluation_options options_;
  evaluation_status status_;
  flat<std::int64_t> computed_;  // by node: when its value was computed; 0: never
  flat<cell> values_;            // by node
  flat<int> kept_;               // by node: where a definition stands in tensors_
  flat<kept_tensor> tensors_;
  flat<std::int64_t> assigned_;  // by ordinal: when the index last changed
  flat<std::int64_t> position_;  // by ordinal
  flat<bool> bound_;             // by ordinal
  flat<int> free_first_;         // by node: where its free ordinals start in free_
  flat<int> free_;
  std::int64_t clock_ = 0;
};

// One definition for inputs in the order of graph::inputs.
constexpr evaluation evaluate(const graph& g, node_id definition, const flat<tensor_value>& inputs,
                              evaluation_options options = {}) {
  return evaluator(g, inputs, options)(definition);
}

// All outputs of the graph; the first failure ends it. Definitions that several outputs use are computed once.
constexpr evaluation_status evaluate(const graph& g, const flat<tensor_value>& inputs, flat<tensor_value>& outputs,
                                     evaluation_options options = {}) {
  evaluator run(g, inputs, options);
  for (const node_id y : g.differentiated)
    if (const evaluation e = run(y); !e.status.ok()) return e.status;
  for (const node_id output : g.outputs) {
    const evaluation e = run(output);
    if (!e.status.ok()) return e.status;
    outputs.push(e.value);
  }
  return {};
}

}  // namespace sheaf::inline v0_1
