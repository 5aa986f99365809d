// What NVRTC takes, on this processor, for value and gradient of W1 to W13 as bench/gpu has them; no GPU is needed.
// Every compile is from the text: neither cache is asked. What programs share, which is compiled once, stands by
// itself. bench_nvrtc [ID...]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>
#include <workloads/gather_programs.hpp>

namespace {

using namespace sheaf;
using namespace sheaf::bench;

using shapes = std::map<std::string, std::vector<std::int64_t>>;

struct job {
  std::string id;
  std::vector<std::int32_t> words;
  shapes inputs;
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

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto f = axis<"f">;
constexpr auto m = axis<"m">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto shift = tensor<"shift", float, 1>;
constexpr auto target = tensor<"target", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto table = tensor<"table", float, 2>;
constexpr auto weight = tensor<"weight", float, 1>;
constexpr auto image = tensor<"image", float, 4>;

void gathers(std::vector<job>& jobs) {
  using namespace gathers_of;
  const shapes given_shapes = {{"data", {512, 2048, 256}}, {"picks", {512, 64}}, {"keep", {512, 2048}}};
  jobs.push_back(both("W1", gathered, data, given_shapes));
  jobs.push_back(both("W2:given", given, data, given_shapes));
  jobs.push_back(both("W2:mask", masked, data, given_shapes));
  jobs.push_back(both("W2:onehot", contracted, data, given_shapes));
}
void slices(std::vector<job>& jobs) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  jobs.push_back(both("W3", pooled, x, {{"x", {262144 * 16, 128}}, {"cut", {65536, 2}}}));
  jobs.push_back(both("W4", pooled, x, {{"x", {262144 * 16, 128}}, {"cut", {1048576, 2}}}));
}
void matrices(std::vector<job>& jobs) {
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
void rows(std::vector<job>& jobs) {
  const shapes wide = {{"x", {262144, 1024}}, {"w", {1024}}, {"shift", {1024}}, {"target", {262144}}};
  constexpr auto norm_of = layer_norm(x, w, shift);
  constexpr auto loss = cross_entropy(x, target);
  jobs.push_back({"W8", words_of(norm_of, vjp(norm_of, x), vjp(norm_of, w), vjp(norm_of, shift)), wide});
  jobs.push_back(both("W9:softmax", softmax(x, dim<1>), x, wide));
  jobs.push_back({"W9:entropy", words_of(loss, grad(loss, x)), wide});
}
void windows(std::vector<job>& jobs) {
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  constexpr auto wide = constant<1024>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(z, dim<0>) - wide + 1_c)) = mean(u.in(0_c, wide), z(t + u));
  const shapes images = {{"image", {128, 64, 224, 224}}};
  jobs.push_back(both("W7:avg", avg_pool2d<options>(image), image, images));
  jobs.push_back(both("W7:max", max_pool2d<options>(image), image, images));
  jobs.push_back(both("W13", moved, z, {{"z", {std::int64_t{1} << 28}}}));
}
void bags(std::vector<job>& jobs) {
  const shapes words = {{"table", {1000000, 128}}, {"ids", {13238272}}, {"off", {262145}}, {"weight", {13238272}}};
  constexpr auto weighted = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off), weight);
  jobs.push_back(both("W10:sum", embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off)), table, words));
  jobs.push_back(both("W10:mean", embedding_bag(ids, table, offsets(off)), table, words));
  jobs.push_back(both("W10:max", embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off)), table, words));
  jobs.push_back({"W10:weighted", words_of(weighted, vjp(weighted, table), vjp(weighted, weight)), words});
}
void segments(std::vector<job>& jobs) {
  const shapes parts = {{"z", {std::int64_t{1} << 26}}, {"off", {6000000}}};
  jobs.push_back(both("W11:mean", segment_mean(z, offsets(off)), z, parts));
  jobs.push_back(both("W11:softmax", segment_softmax(z, offsets(off)), z, parts));
}

std::vector<std::int64_t> closed(const plan::facts& known, const std::vector<node_id>& sizes) {
  std::vector<std::int64_t> list;
  for (const node_id e : sizes) list.push_back(std::max<std::int64_t>(0, known.value(e).value_or(0)));
  return list;
}

// Row-major arguments: inputs as given, or, of a cotangent, as the first output.
jit::call_class arguments_of(const job& one, graph g) {
  jit::call_class made;
  plan::call_facts call;
  for (int k = 0; k < g.inputs.size(); ++k) {
    const text_range name = g.names[g.inputs[k].name];
    const auto found = one.inputs.find(std::string(g.text.data() + name.first, static_cast<std::size_t>(name.size)));
    made.input_extents.push_back(found == one.inputs.end() ? std::vector<std::int64_t>() : found->second);
    call.inputs.push_back({made.input_extents.back(), true});
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

// Emitted for an H200, with what is known of the call.
cuda::source source_of(const job& one) {
  const graph g = unpack(one.words.data());
  const jit::call_class arguments = arguments_of(one, g);
  const jit::arranged_call call(g, arguments, {.inputs = {}, .unit_outputs = {}, .gpu = true}, 256);
  const auto extents = call.slot_extents(arguments);
  std::vector<const std::int64_t*> places;
  for (const auto& e : extents) places.push_back(e.data());
  return cuda::emit(call.program.code, {.compute = 90, .texts = runtime::current_settings().threads}, places);
}

void compile_text(const std::string& text) {
  runtime::cuda::compile_source(text, "program.cu", "sm_90",
                                {std::begin(cuda::compile_options), std::end(cuda::compile_options)}, 0);
}
// At the same time, as jit/cuda/code.cpp does.
double milliseconds_of(const std::vector<std::string>& texts) {
  std::vector<double> times;
  for (int round = 0; round < 5; ++round)
    times.push_back(1e3 * seconds_of([&] {
                      std::vector<std::future<void>> all;
                      for (const std::string& text : texts)
                        all.push_back(std::async(std::launch::async, [&] { compile_text(text); }));
                      for (auto& each : all) each.get();
                    }));
  return median(times);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<job> jobs;
  for (const auto add : {gathers, slices, matrices, windows, rows, bags, segments}) add(jobs);
  const std::vector<std::string> empty = {"extern \"C\" __global__ void nothing() {}\n"};
  milliseconds_of(empty);  // the first compile of a process opens the library
  report("nvrtc", "nothing", milliseconds_of(empty), "ms");
  constexpr double wanted = 60;
  std::set<const cuda::source*> shared;
  for (const job& one : jobs) {
    const auto is_this = [&](const char* id) { return one.id.compare(0, std::string(id).size(), id) == 0; };
    if (argc > 1 && std::none_of(argv + 1, argv + argc, is_this)) continue;
    const cuda::source made = source_of(one);
    for (const cuda::launch& l : made.launches)
      if (l.of != nullptr && shared.insert(l.of.get()).second)
        report("nvrtc", "shared", milliseconds_of(l.of->texts), "ms");  // once for all programs
    const double ms = milliseconds_of(made.texts);
    report("nvrtc", one.id.c_str(), ms, "ms", wanted, 100 * wanted / ms);
    const auto own = std::count_if(made.launches.begin(), made.launches.end(), [](const auto& l) { return !l.of; });
    std::printf("note %s: %zu launches, %td of its own in %zu texts\n", one.id.c_str(), made.launches.size(), own,
                made.texts.size());
  }
} catch (const std::exception& e) {
  std::printf("note nvrtc: %s\n", e.what());
  return 1;
}
