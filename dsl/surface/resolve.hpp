// Pass `resolve`: gives every index of a reduction or definition its range, from its domain, its declared size or the
// tensors it subscripts, which must agree; and keeps the words for the mistakes found on the way.
// Input: a graph with unbound axes. Output: index nodes with ranges, constraints on extents, or graph::error.
// Shown by tests/static/integers.cpp and the no-extent programs of tests/reject.
#pragma once
#include <sheaf/dsl/passes/reduce.hpp>
#include <sheaf/dsl/surface/built.hpp>

namespace sheaf::inline v0_1 {

class resolver {
 public:
  graph g;

  // ---- words

  constexpr name_id name(const char* s, int length) { return g.name(s, length); }
  constexpr const char* text(name_id id) {
    spoken_ = {};
    const text_range range = g.names[id];
    for (int i = 0; i < range.size && i < 400; ++i) spoken_.text[spoken_.size++] = g.text[range.first + i];
    return spoken_.text;
  }
  // A tensor's name, for a sentence, and that it is automatic where its author did not give it.
  constexpr const char* tensor_name(node_id tensor) {
    const int row = static_cast<int>(g[tensor].attribute);
    const bool is_input = g.kind(tensor) == op::input;
    text(is_input ? g.inputs[row].name : static_cast<name_id>(row));
    if (is_input ? g.inputs[row].symbol != nullptr : !given_.contains(tensor)) spoken_ << detail::automatic_name_words;
    return spoken_.text;
  }

  // Says the program's error if it is the first; what comes after the first mistake is dropped.
  constexpr detail::complaint fail() { return {g.failed() ? nullptr : &g}; }

  // Adds that two extents must agree, unless what is there already says so.
  constexpr void constrain(node_id a, node_id b, name_id called) {
    if (!g.constrained_equal(a, b)) g.constraints.push({a, b, called});
  }

 protected:
  struct declared_size {
    node_id axis = no_node;
    node_id size = no_node;
  };
  struct claim {
    node_id extent = no_node;
    node_id tensor = no_node;
    int dimension = 0;
  };

  // Does the range of an index, or an expression in it, depend on more than extents?
  constexpr bool reads_data(node_id n, bool outermost = true) {
    const op kind = g.kind(n);
    if (kind == op::load || (kind == op::index && !outermost) || kind == op::reduce) return true;
    for (int k = 0; k < g[n].count && kind != op::extent; ++k)
      if (reads_data(g.arg(n, k), false)) return true;
    return false;
  }

  constexpr void append_indices(const bound_axis* axes, int rank) {
    g.error.push('(');
    for (int d = 0; d < rank; ++d) {
      const text_range range = g.names[index_name(g, axes[d].axis)];
      if (d > 0) g.error.push(',');
      if (d > 0) g.error.push(' ');
      for (int i = 0; i < range.size; ++i) g.error.push(g.text[range.first + i]);
    }
    g.error.push(')');
  }
  // Of every name the text must read back.
  constexpr void expect_readable_names() {
    for (const text_range& range : g.names)
      for (int i = 0; i < range.size; ++i)
        if (const char c = g.text[range.first + i]; c == '`' || c == '\n')
          fail() << "names: expected none with a backquote or a line end";
  }

  // Where a mistake stands: a reduction, or a definition with its name. Words are put together only when they are said.
  struct place {
    const char* word = nullptr;
    name_id definition = -1;
  };
  constexpr detail::complaint fail_in(place where) {
    detail::complaint words = fail();
    words << where.word;
    if (where.definition >= 0) words << text(where.definition);
    return words;
  }

  struct resolved {
    node_id body = no_node;
    node_id condition = no_node;
    flat<node_id> indices;  // short where an index has no extent
  };
  constexpr resolved resolve(const bound_axis* axes, int count, node_id body, place where) {
    resolved r{body, truth(g, true), {}};
    index_set bound;
    for (int k = 0; k < count; ++k) bound.insert(g.ordinal(axes[k].axis));
    const std::int32_t skipping_epoch = g.new_epoch();
    for (int k = 0; k < count; ++k) {
      if (axes[k].condition == no_node) continue;
      if (!skips_.empty()) skip_outside(r.condition, axes[k].condition, bound, {}, skipping_epoch);
      r.condition = conjunction(g, r.condition, axes[k].condition);
    }
    if (!skips_.empty()) skip_outside(r.condition, body, bound, {}, skipping_epoch);
    flat<node_id> indices;
    indices.resize(count, no_node);
    // The last index first: its range may depend on those before it.
    for (int k = count - 1; k >= 0; --k) {
      node_id roots[2] = {r.body, r.condition};
      node_id value = no_node;
      indices[k] = ranged(axes[k], roots, 2, where, value);
      if (indices[k] == no_node) return r;
      substitution put(g, &axes[k].axis, &value, 1);
      r.body = put(r.body);
      r.condition = put(r.condition);
      for (int j = k + 1; j < count; ++j) indices[j] = put(indices[j]);
    }
    r.indices = indices;
    flat<written_load> around;
    for (const written_load& l : written_)
      if (!bound.has(g.ordinal(l.axis))) around.push(l);
    written_ = around;
    return r;
  }

  // Adds to the condition that the skipping loads in n are inside, those in subscripts first. Reductions in n have done
  // so for loads that their own indices reach.
  constexpr void skip_outside(node_id& condition, node_id n, const index_set& bound, index_set done,
                              std::int32_t epoch) {
    if (!g.free[n].meets(bound) || g.memo_epoch[n] == epoch) return;
    g.memo_epoch[n] = epoch;
    if (g.kind(n) == op::reduce)
      for (int k = 2; k < g[n].count; ++k) done.insert(g.ordinal(g.arg(n, k)));
    const int count = g[n].count;  // the graph's arrays move while it grows
    for (int k = 0; k < count; ++k) skip_outside(condition, g.arg(n, k), bound, done, epoch);
    if (g.kind(n) != op::load || g[n].attribute != skipping || g.free[n].meets(done)) return;
    if (!skipped_.contains(n)) skipped_.push(n);
    for (int d = 0; d + 1 < count; ++d) {
      const node_id e = g.arg(n, 1 + d);
      condition = conjunction(g, condition, make(g, op::less_equal, integer(g, 0), e));
      condition = conjunction(g, condition, make(g, op::less, e, extent(g, g.arg(n, 0), d)));
    }
  }
  // The extents that loads give an axis by subscripting with it directly.
  constexpr void collect(node_id n, node_id axis, std::int32_t epoch, flat<claim>& claims) {
    if (!g.free[n].has(g.ordinal(axis)) || g.memo_epoch[n] == epoch) return;
    g.memo_epoch[n] = epoch;
    if (g.kind(n) == op::load && g[n].attribute == 0)
      for (int d = 0; d + 1 < g[n].count; ++d)
        if (g.arg(n, 1 + d) == axis) claims.push({extent(g, g.arg(n, 0), d), g.arg(n, 0), d});
    for (int k = 0; k < g[n].count; ++k) collect(g.arg(n, k), axis, epoch, claims);
  }

  // The index node of an axis: its range from its domain, its declared size or the tensors it subscripts, which must
  // agree. `value` is what stands for the axis in expressions: the index, or low + step * index.
  constexpr node_id ranged(bound_axis a, const node_id* roots, int count, place where, node_id& value) {
    const name_id called = index_name(g, a.axis);
    const int serial = index_serial(g, a.axis);
    if (a.low != no_node) {
      node_id high = a.high;
      if (a.step != no_node) {
        if (is_number(g, a.step, 0)) fail() << "domain of " << text(called) << ": the step is 0";
        high = step_count(a);
        const node_id idx = index(g, called, serial, integer(g, 0), high);
        value = make(g, op::add, a.low, make(g, op::mul, a.step, idx));
        return idx;
      }
      return value = index(g, called, serial, a.low, high);
    }
    flat<claim> claims;
    for (const declared_size& d : declared_)
      if (d.axis == a.axis) claims.push({d.size, no_node, 0});
    const std::int32_t epoch = g.new_epoch();
    for (int i = 0; i < count; ++i) collect(roots[i], a.axis, epoch, claims);
    bool simplified = false;
    for (const written_load& l : written_)  // what was simplified away, as in 0 * x(i), was written with an index
      if (l.axis == a.axis && (claims.empty() || simplified))
        claims.push({extent(g, l.tensor, l.dimension), l.tensor, l.dimension}), simplified = true;
    if (claims.empty()) {
      const char* const zero = is_text_ ? "0" : "0_c";
      detail::complaint words = fail_in(where);
      words << ": index " << text(called) << " has no extent: no tensor here is subscripted with " << text(called)
            << " alone; give it a domain such as " << text(called) << ".in(" << zero << ", n)";
      if (!is_text_) words << ", or declare its size: axis<\"" << text(called) << "\", 8>";
      return no_node;
    }
    agree(claims, called, where);
    return value = index(g, called, serial, integer(g, 0), claims[0].extent);
  }

  // How many steps lie in [low, high), or in (high, low] for a negative step; none where a step known at run time is 0.
  constexpr node_id step_count(const bound_axis& a) {
    const node_id span = make(g, op::sub, a.high, a.low);
    const bool forward = is_constant(g, a.step) && g[a.step].attribute > 0;
    if (forward && g[a.step].attribute > INT32_MAX)  // what rounds up must not leave i64
      return make(
          g, op::maximum, integer(g, 0),
          make(g, op::add, make(g, op::quotient, make(g, op::sub, span, integer(g, 1)), a.step), integer(g, 1)));
    const node_id count =
        forward ? make(g, op::quotient, make(g, op::add, span, make(g, op::add, a.step, integer(g, -1))), a.step)
                : make(g, op::neg, make(g, op::quotient, make(g, op::neg, span), a.step));
    return make(g, op::maximum, integer(g, 0), count);
  }

  constexpr void agree(flat<claim>& claims, name_id called, place where) {
    for (int i = 1; i < claims.size(); ++i)
      if (is_constant(g, claims[i].extent) && !is_constant(g, claims[0].extent)) {
        const claim first = claims[0];
        claims[0] = claims[i];
        claims[i] = first;
      }
    for (int i = 1; i < claims.size(); ++i) {
      const node_id a = claims[0].extent, b = claims[i].extent;
      if (known_equal(g, a, b)) continue;
      if (is_constant(g, a) && is_constant(g, b)) {
        fail_in(where) << ": index " << text(called) << " has extent " << g[a].attribute << describe(claims[0], first_)
               << " but " << g[b].attribute << describe(claims[i], second_);
        return;
      }
      constrain(a, b, called);
    }
  }
  constexpr const char* describe(const claim& c, detail::sentence& words) {
    words = {};
    if (c.tensor == no_node)
      words << " by declaration";
    else
      words << " in dimension " << c.dimension << " of " << tensor_name(c.tensor);
    return words.text;
  }

  static constexpr int checked = 0, skipping = 2;
  flat<node_id> skips_, skipped_;  // loads that skip, and those that a reduction answers for
  flat<declared_size> declared_;
  // A tensor's dimension that an axis subscripts by itself, in the definition that is being built.
  struct written_load {
    node_id axis, tensor;
    int dimension;
  };
  flat<written_load> written_;
  bool is_text_ = false;
  flat<node_id> given_;  // definitions whose names the program's author gave

 private:
  detail::sentence spoken_, first_, second_;
};

}  // namespace sheaf::inline v0_1
