// Value and gradient of W1 to W13 as programs with the extents of their arguments, for what plans or compiles them
// without running them: bench/nvrtc.cpp, tests/ir.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/sheaf.hpp>
#include <workloads/gather_programs.hpp>

namespace sheaf::bench {

using shapes = std::map<std::string, std::vector<std::int64_t>>;

struct job {
  std::string id;
  std::vector<std::int32_t> words;
  shapes inputs;
  std::map<std::string, std::int64_t> below = {};  // of index data: what it names lies under this
};

template <class... Outputs>
std::vector<std::int32_t> words_of(Outputs...) {
  constexpr auto program = detail::packed<Outputs...>::words;
  return {program.words, program.words + program.size};
}
template <class Y, class X>
job both(std::string id, Y y, X x, shapes inputs) {
  return {std::move(id), words_of(y, vjp(y, x)), std::move(inputs)};
}

namespace jobs {

inline constexpr auto i = axis<"i">;
inline constexpr auto j = axis<"j">;
inline constexpr auto t = axis<"t">;
inline constexpr auto u = axis<"u">;
inline constexpr auto f = axis<"f">;
inline constexpr auto m = axis<"m">;
inline constexpr auto x = tensor<"x", float, 2>;
inline constexpr auto z = tensor<"z", float, 1>;
inline constexpr auto w = tensor<"w", float, 1>;
inline constexpr auto shift = tensor<"shift", float, 1>;
inline constexpr auto target = tensor<"target", std::int64_t, 1>;
inline constexpr auto cut = tensor<"cut", std::int64_t, 2>;
inline constexpr auto off = tensor<"off", std::int64_t, 1>;
inline constexpr auto ids = tensor<"ids", std::int64_t, 1>;
inline constexpr auto table = tensor<"table", float, 2>;
inline constexpr auto weight = tensor<"weight", float, 1>;
inline constexpr auto image = tensor<"image", float, 4>;

inline void gathers(std::vector<job>& jobs) {
  using namespace gathers_of;
  const shapes given_shapes = {{"data", {512, 2048, 256}}, {"picks", {512, 64}}, {"keep", {512, 2048}}};
  jobs.push_back(both("W1", gathered, data, given_shapes));
  jobs.push_back(both("W2:given", given, data, given_shapes));
  jobs.push_back(both("W2:mask", masked, data, given_shapes));
  jobs.push_back(both("W2:onehot", contracted, data, given_shapes));
}
inline void slices(std::vector<job>& jobs) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  jobs.push_back(both("W3", pooled, x, {{"x", {262144 * 16, 128}}, {"cut", {65536, 2}}}));
  jobs.push_back(both("W4", pooled, x, {{"x", {262144 * 16, 128}}, {"cut", {1048576, 2}}}));
}
inline void matrices(std::vector<job>& jobs) {
  const shapes square = {{"x", {32768, 32768}}};
  constexpr auto loss = define<"loss">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  jobs.push_back(both("W5:axis0", mean(x, dim<0>), x, square));
  jobs.push_back(both("W5:axis1", mean(x, dim<1>), x, square));
  jobs.push_back({"W6", words_of(loss, grad(loss, x)), square});
  jobs.push_back(both("W12:logsumexp0", logsumexp(x, dim<0>), x, square));
  jobs.push_back(both("W12:logsumexp1", logsumexp(x, dim<1>), x, square));
  jobs.push_back(both("W12:var0", var(x, dim<0>), x, square));
  jobs.push_back(both("W12:var1", var(x, dim<1>), x, square));
  jobs.push_back(both("W12:norm0", norm<2>(x, dim<0>), x, square));
  jobs.push_back(both("W12:norm1", norm<2>(x, dim<1>), x, square));
  jobs.push_back({"W12:argmax0", words_of(argmax(x, dim<0>)), square});
  jobs.push_back({"W12:argmax1", words_of(argmax(x, dim<1>)), square});
}
inline void rows(std::vector<job>& jobs) {
  const shapes wide = {{"x", {262144, 1024}}, {"w", {1024}}, {"shift", {1024}}, {"target", {262144}}};
  constexpr auto norm_of = layer_norm(x, w, shift);
  constexpr auto loss = cross_entropy(x, target);
  jobs.push_back({"W8", words_of(norm_of, vjp(norm_of, x), vjp(norm_of, w), vjp(norm_of, shift)), wide});
  jobs.push_back(both("W9:softmax", softmax(x, dim<1>), x, wide));
  jobs.push_back({"W9:entropy", words_of(loss, grad(loss, x)), wide});
}
inline void windows(std::vector<job>& jobs) {
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  constexpr auto wide = constant<1024>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(z, dim<0>) - wide + 1_c)) = mean(u.in(0_c, wide), z(t + u));
  const shapes images = {{"image", {128, 64, 224, 224}}};
  jobs.push_back(both("W7:avg", avg_pool2d<options>(image), image, images));
  jobs.push_back(both("W7:max", max_pool2d<options>(image), image, images));
  jobs.push_back(both("W13", moved, z, {{"z", {std::int64_t{1} << 28}}}));
}
inline void bags(std::vector<job>& jobs) {
  const shapes words = {{"table", {1000000, 128}}, {"ids", {13238272}}, {"off", {262145}}, {"weight", {13238272}}};
  constexpr auto weighted = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off), weight);
  jobs.push_back(both("W10:sum", embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off)), table, words));
  jobs.push_back(both("W10:mean", embedding_bag(ids, table, offsets(off)), table, words));
  jobs.push_back(both("W10:max", embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off)), table, words));
  jobs.push_back({"W10:weighted", words_of(weighted, vjp(weighted, table), vjp(weighted, weight)), words});
}
inline void segments(std::vector<job>& jobs) {
  const shapes parts = {{"z", {std::int64_t{1} << 26}}, {"off", {6000000}}};
  jobs.push_back(both("W11:mean", segment_mean(z, offsets(off)), z, parts));
  jobs.push_back(both("W11:softmax", segment_softmax(z, offsets(off)), z, parts));
}

}  // namespace jobs

inline std::vector<job> all_jobs() {
  using namespace jobs;
  std::vector<job> list;
  for (const auto add : {gathers, slices, matrices, windows, rows, bags, segments}) add(list);
  return list;
}

inline std::vector<std::int64_t> closed(const plan::facts& known, const std::vector<node_id>& sizes) {
  std::vector<std::int64_t> list;
  for (const node_id e : sizes) list.push_back(std::max<std::int64_t>(0, known.exact(e).value_or(0)));
  return list;
}

// Row-major arguments: inputs as given, or, of a cotangent, as the first output.
inline jit::call_class arguments_of(const job& one, graph g) {
  jit::call_class made;
  plan::call_facts call;
  for (int k = 0; k < g.inputs.size(); ++k) {
    const text_range name = g.names[g.inputs[k].name];
    const auto found = one.inputs.find(std::string(g.text.data() + name.first, static_cast<std::size_t>(name.size)));
    made.input_extents.push_back(found == one.inputs.end() ? std::vector<std::int64_t>() : found->second);
    call.inputs.push_back({plan::amounts(made.input_extents.back()), true});
  }
  const plan::facts known(g, call);
  for (int k = 0; k < g.outputs.size(); ++k) {
    std::vector<node_id> sizes;
    for (int d = 0; d < tensor_rank(g, g.outputs[k]); ++d) sizes.push_back(extent(g, g.outputs[k], d));
    made.output_extents.push_back(closed(known, sizes));
    made.unit_outputs.push_back(true);
  }
  for (int k = 0; k < g.inputs.size(); ++k) {
    const int rank = g.inputs[k].rank;
    auto& extents = made.input_extents[static_cast<std::size_t>(k)];
    if (static_cast<int>(extents.size()) != rank) extents = made.output_extents[0];
    made.closest.push_back(rank - 1);
    made.dense_inputs.push_back(true);
    made.unit_inputs.push_back(true);
  }
  return made;
}

}  // namespace sheaf::bench
