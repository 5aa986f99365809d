#include <sheaf/jit/engine/arguments.hpp>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

bool is_unit(const sheaf_tensor& t, int d) { return d < 0 || t.strides[d] == 1 || t.extents[d] <= 1; }

bool is_dense(const sheaf_tensor& t, int rank) {
  return rank >= 2 && is_unit(t, rank - 1) && t.strides[rank - 2] == t.extents[rank - 1];
}

std::string source_text(const graph& g, node_id n) {
  if (g.kind(n) != op::extent) return text_of(print(g, n));
  return "dimension " + std::to_string(g[n].attribute) + " of " + tensor_text(g, g.arg(n, 0));
}

// What gives an index its extent, and how much.
std::string extent_text(const graph& g, node_id n, std::int64_t value) {
  return is_constant(g, n) ? "the program fixes " + std::to_string(value)
                           : source_text(g, n) + " gives " + std::to_string(value);
}

void check_static_extents(const graph& g, const call_class& a) {
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const std::int64_t expected = g.static_extents[g.inputs[i].first_extent + d];
      const std::int64_t found = a.input_extents[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)];
      if (expected != dynamic && expected != found)
        runtime::fail(code::extent_mismatch, "argument " + slot_text(g, i) + ", dimension " + std::to_string(d),
                      "extent " + std::to_string(expected), std::to_string(found));
    }
}

void check_constraints(const graph& g, const plan::facts& known) {
  for (const constraint& c : g.constraints) {
    const auto left = known.exact(c.left), right = known.exact(c.right);
    if (left && right && *left != *right)
      runtime::fail(code::extent_mismatch, "index " + name_text(g, c.axis),
                    "one extent: " + extent_text(g, c.left, *left), extent_text(g, c.right, *right));
  }
}

// Demands on data are the kernels' to check.
void check_demands(const graph& g, const plan::facts& known) {
  for (int k = 0; k < g.demands.size(); ++k) {
    const demand& d = g.demands[k];
    const auto number = [&](node_id n) { return n == no_node ? std::nullopt : known.exact(n); };
    if (number(d.wrong).value_or(0) != 0) fail_demand(g, k, {}, number(d.found), number(d.limit));
  }
}

void resolve_outputs(const graph& g, const plan::facts& known, const sheaf_tensor* outputs, call_class& a) {
  for (int o = 0; o < g.outputs.size(); ++o) {
    const node_id define = g.outputs[o];
    const int rank = tensor_rank(g, define);
    std::vector<std::int64_t> extents;
    for (int d = 0; d < rank; ++d) {
      const node_id idx = g.arg(define, 1 + d);
      const auto low = known.exact(g.arg(idx, 0)), high = known.exact(g.arg(idx, 1));
      if (!low || !high)
        runtime::fail(code::unsupported, "output " + tensor_text(g, define), "extents that do not depend on data",
                      "index " + name_text(g, index_name(g, idx)));
      extents.push_back(*high - *low);
      if (outputs[o].extents != nullptr && outputs[o].extents[d] != extents.back())
        runtime::fail(code::extent_mismatch, "output " + tensor_text(g, define) + ", dimension " + std::to_string(d),
                      "extent " + std::to_string(extents.back()), std::to_string(outputs[o].extents[d]));
    }
    a.output_extents.push_back(extents);
    a.unit_outputs.push_back(outputs[o].strides == nullptr || rank == 0 || outputs[o].strides[rank - 1] == 1);
  }
}

}  // namespace

int write_key(const graph& g, const sheaf_tensor* tensors, std::int64_t* key) {
  int n = 0;
  const auto put = [&](const sheaf_tensor& t, int rank, int last) {
    if (n + rank + 1 > key_capacity) runtime::fail(code::unsupported, "call", "at most 256 extents in all arguments");
    key[n++] = t.data == nullptr && t.extents == nullptr
                   ? -1
                   : 4 * (rank - 1 - last) + 2 * is_dense(t, rank) + is_unit(t, last);
    for (int d = 0; d < rank; ++d) key[n++] = t.extents == nullptr ? -1 : t.extents[d];
  };
  for (int i = 0; i < g.inputs.size(); ++i)
    put(tensors[i], g.inputs[i].rank, closest_dimension(tensors[i], g.inputs[i].rank));
  for (int o = 0; o < g.outputs.size(); ++o) {
    const int rank = tensor_rank(g, g.outputs[o]);
    put(tensors[g.inputs.size() + o], rank, rank - 1);
  }
  return n;
}

std::vector<std::int64_t> all_extents(const call_class& a) {
  std::vector<std::int64_t> all;
  for (const auto& list : a.input_extents) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<std::int64_t> layout_of(const call_class& a) {
  std::vector<std::int64_t> layout;
  for (std::size_t i = 0; i < a.closest.size(); ++i)
    layout.push_back(4 * a.closest[i] + 2 * a.dense_inputs[i] + a.unit_inputs[i]);
  layout.insert(layout.end(), a.unit_outputs.begin(), a.unit_outputs.end());
  layout.insert(layout.end(), a.promised.begin(), a.promised.end());
  return layout;
}

call_class describe(const graph& g, const sheaf_tensor* tensors) {
  call_class a;
  plan::call_facts seen;
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    const std::vector<std::int64_t> extents(tensors[i].extents, tensors[i].extents + rank);
    a.input_extents.push_back(extents);
    a.closest.push_back(closest_dimension(tensors[i], rank));
    a.dense_inputs.push_back(is_dense(tensors[i], rank));
    a.unit_inputs.push_back(is_unit(tensors[i], a.closest.back()));
    seen.inputs.push_back({plan::amounts(extents), a.unit_inputs.back()});
  }
  check_static_extents(g, a);
  const plan::facts known(g, seen);
  check_constraints(g, known);
  check_demands(g, known);
  resolve_outputs(g, known, tensors + g.inputs.size(), a);
  return a;
}

}  // namespace sheaf::inline v0_1::jit
