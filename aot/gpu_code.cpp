#include <sheaf/aot/gpu_code.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <map>
#include <stdexcept>
#include <thread>

#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/error.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

using slot_extents = std::vector<std::vector<std::int64_t>>;

// Of a call that the class serves; nothing where the program refuses it.
std::optional<slot_extents> extents_of(const planned_program& p, const planned_class& c, const extent_list& given) {
  const std::optional<jit::call_class> call = call_of(*p.of, given, c.layout);
  if (!call || !c.decided->hold(given)) return std::nullopt;
  try {
    const std::shared_ptr<const jit::arranged_program> made(std::shared_ptr<void>(), c.made.get());
    return jit::arranged_call(made, *call, 256).slot_extents(*call);
  } catch (const error&) {
    return std::nullopt;
  }
}

// Extents for which threads are laid out: those of an example, or usual ones. Loops are counted by bounds_of.
std::optional<slot_extents> typical_extents(const planned_program& p, const planned_class& c) {
  for (const extent_list& example : p.of->examples)
    if (example == c.served) return extents_of(p, c, c.served);
  const extent_search search(*p.of);
  for (const std::int64_t n : {4096, 1024, 256, 100})
    if (auto found = extents_of(p, c, search.completed({}, n))) return found;
  return extents_of(p, c, c.served);
}

// All that extents may be, by slot, in calls of any class that has the code.
using slot_bounds = std::vector<std::vector<shapes::interval>>;
slot_bounds bounds_of(const planned_program& p, std::size_t code) {
  std::vector<std::int64_t> low, high;
  for (const extent_range& r : p.of->ranges) low.push_back(r.low), high.push_back(r.high);
  slot_bounds all;
  for (const planned_class& c : p.classes) {
    if (c.code != static_cast<int>(code)) continue;
    const jit::call_class call = call_of(*p.of, c.served, c.layout).value();
    shapes::decisions formulas(false);
    const auto extents = c.made->slot_amounts(call, jit::amounts_of(p.of->g, call, formulas));
    all.resize(extents.size());
    for (std::size_t slot = 0; slot < extents.size(); ++slot) {
      const std::vector<shapes::interval> found = formulas.enclosed(extents[slot], low, high);
      if (all[slot].empty()) all[slot] = found;
      for (std::size_t d = 0; d < found.size(); ++d)
        all[slot][d] = {std::min(all[slot][d].low, found[d].low), std::max(all[slot][d].high, found[d].high)};
    }
  }
  return all;
}

gpu_code emit_code(const planned_program& p, std::size_t code, const std::string& name,
                   const std::vector<gpu_target>& targets) {
  const auto of_code = [&](const planned_class& c) { return c.code == static_cast<int>(code); };
  const planned_class& first = *std::ranges::find_if(p.classes, of_code);
  const std::optional<slot_extents> extents = typical_extents(p, first);
  ir::module named = p.codes[code];
  named.name = name + "_" + p.of->name + "_" + std::to_string(code);
  const bool strict = p.of->options.determinism == determinism::strict;
  return {cuda::emit(named, {.compute = targets.front().compute, .cpu_order = strict},
                     cuda::amounts_by_slot(extents.value_or(slot_extents())), bounds_of(p, code)), {}};
}

int image_of(const std::string& text, const std::string& name, std::vector<gpu_image>& images) {
  const auto found = std::ranges::find(images, text, &gpu_image::text);
  if (found != images.end()) return static_cast<int>(found - images.begin());
  images.push_back({text, name, {}});
  return static_cast<int>(images.size()) - 1;
}

}  // namespace

gpu_target gpu_target_named(const std::string& name) {
  const std::vector<std::string> known = runtime::cuda::known_architectures();
  if (std::ranges::find(known, name) == known.end()) {
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw std::runtime_error("target " + name + ": this compiler of CUDA knows " + list);
  }
  return {name, std::stoi(name.substr(3))};
}

std::vector<gpu_code> emit_codes(const planned_program& p, const std::string& name,
                                 const std::vector<gpu_target>& targets, std::vector<gpu_image>& images) {
  std::vector<gpu_code> codes;
  for (std::size_t k = 0; k < p.codes.size(); ++k) {
    codes.push_back(emit_code(p, k, name, targets));
    gpu_code& made = codes.back();
    for (const cuda::launch& l : made.source.launches) {
      const cuda::source& of = l.of != nullptr ? *l.of : made.source;
      made.images.push_back(image_of(of.texts[static_cast<std::size_t>(l.text)], l.name, images));
    }
  }
  return codes;
}

void compile_images(std::vector<gpu_image>& images, const std::vector<gpu_target>& targets) {
  const std::size_t each = targets.size();
  for (gpu_image& i : images) i.bytes.resize(each + 1);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k; (k = next++) < images.size() * each;) {
      gpu_image& i = images[k / each];
      const std::size_t t = k % each;
      i.bytes[t] = runtime::cuda::compile_source(
          i.text, i.name + ".cu", targets[t].name,
          {std::begin(cuda::compile_options), std::end(cuda::compile_options)}, 0, t == 0 ? &i.bytes[each] : nullptr);
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned n = 0; n < std::max(1u, std::thread::hardware_concurrency()); ++n)
    workers.push_back(std::async(std::launch::async, work));
  for (auto& w : workers) w.get();
}

}  // namespace sheaf::inline v0_1::aot
