#include <sheaf/jit/engine/added_outputs.hpp>

#include <string>
#include <vector>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/engine/words.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

name_id free_name(graph& g, const std::string& start) {
  std::string name = start;
  for (int k = 1; g.known_name(name.data(), static_cast<int>(name.size())) >= 0; ++k) name = start + std::to_string(k);
  return g.name(name.data(), static_cast<int>(name.size()));
}

}  // namespace

graph added_to(const graph& program, std::span<const int> outputs) {
  graph g = program;
  for (const int o : outputs) {
    const node_id made = g.outputs[o];
    const int rank = tensor_rank(g, made);
    const std::string name = tensor_text(g, made);
    std::vector<node_id> indices;
    for (int d = 0; d < rank; ++d) indices.push_back(g.arg(made, 1 + d));
    const std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), dynamic);
    const node_id there = input(g, free_name(g, name + "_before"), g.type(made), rank, extents.data());
    const node_id sum = make(g, op::add, load(g, there, indices.data(), rank), load(g, made, indices.data(), rank));
    g.outputs[o] = define(g, static_cast<name_id>(g[made].attribute), sum, indices.data(), rank);
  }
  return g;
}

}  // namespace sheaf::inline v0_1::jit
