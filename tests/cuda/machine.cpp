#include "machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/shapes/usual_extents.hpp>

#include "emulator.hpp"

namespace sheaf::test {

namespace {

constexpr std::size_t margin = 256;  // bytes beside each array, which must stay as they are
constexpr unsigned char untouched = 0xA5;

// An array of device memory with its margins.
struct memory {
  std::vector<unsigned char> bytes;
  std::size_t size = 0;
  explicit memory(std::size_t n, unsigned char fill = 0xCD) : bytes(n + 2 * margin + 256, untouched), size(n) {
    std::memset(data(), fill, n);
  }
  unsigned char* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data() + margin);
    return reinterpret_cast<unsigned char*>((at + 255) & ~std::uintptr_t{255});
  }
  bool is_filled(int with, std::size_t from) {
    return std::all_of(data() + std::min(from, size), data() + size, [&](unsigned char c) { return c == with; });
  }
  bool kept() {
    for (unsigned char* p = bytes.data(); p < bytes.data() + bytes.size(); ++p)
      if ((p < data() || p >= data() + size) && *p != untouched) return false;
    return true;
  }
};

std::vector<std::int64_t> dense(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
  return strides;
}
std::int64_t count(const std::vector<std::int64_t>& extents) {
  std::int64_t n = 1;
  for (const std::int64_t e : extents) n *= e;
  return n;
}

// By the letters of its names: the same for all types of the data, whose results are compared.
bool is_one_in_two(const graph& g) {
  std::size_t letters = 0;
  for (const node_id each : g.outputs)
    for (const char c : plan::name_of(g, each)) letters += static_cast<unsigned char>(c);
  return letters % 2 == 1;
}

}  // namespace

emulated_machine& emulated_machine::only() {
  static emulated_machine one;
  return one;
}

bool emulated_machine::run(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors) {
  const graph g = unpack(words.data());
  key k{words, {}};
  plan::call_facts call;
  call.gpu = gpu;
  if (!gpu) call.on = target::here();  // as native.cpp plans
  call.warpgroups = warpgroups;
  k.second.push_back(4 * warpgroups + 2 * strict + gpu);
  if (strict) call.overrides.determinism = determinism::strict;
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    call.promised.push_back(gpu && !strict && !is_floating(g.inputs[i].type));
    call.inputs.push_back(
        {{tensors[i].extents, tensors[i].extents + rank}, rank == 0 || tensors[i].strides[rank - 1] == 1});
    k.second.insert(k.second.end(), tensors[i].extents, tensors[i].extents + rank);
  }
  shapes::decisions exact(true);
  if (!gpu) {  // with what stands for the class, as native.cpp has it
    std::vector<std::int64_t> all;
    for (int i = 0; i < g.inputs.size(); ++i)
      all.insert(all.end(), tensors[i].extents, tensors[i].extents + g.inputs[i].rank);
    const std::vector<shapes::amount> list = shapes::amounts_of(g, all, exact);
    auto next = list.begin();
    for (plan::tensor_facts& in : call.inputs)
      for (shapes::amount& n : in.extents) n = *next++;
  }
  auto& found = all_[k];
  if (!found) {
    call.force_for_tests = gpu && !strict && is_one_in_two(g);  // what is for much ragged data
    if (built_) throw std::logic_error("a program that the first round did not run");
    found = std::make_unique<prepared>();
    found->plan = plan_program(g, call, "program");
    ir::verify(found->plan.code);
    lay_out(*found, call);
    const auto extents = cuda::amounts_by_slot(found->extents);
    // Every third as it is where nothing is known of the call.
    const bool known = batch_.size() % 3 != 2;
    const cuda::target to{.texts = batch_.size() % 2 == 0 ? 1 : 3, .cpu_order = strict || !gpu};
    found->module = &batch_.add(found->plan.code, to, known ? cuda::call_extents(extents) : cuda::call_extents());
  }
  if (!built_) return strict || !values_count;
  this->call(*found, tensors);
  return true;
}

void emulated_machine::build() {
  const auto start = std::chrono::steady_clock::now();
  batch_.build();
  built_ = true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%zu modules compiled in %.1f s\n", batch_.size(), seconds);
}

// By slot: inputs, outputs, workspaces, checks.
void emulated_machine::lay_out(prepared& p, const plan::call_facts& call) {
  const plan::facts known(p.plan.g, call);
  const auto place = [&](element type, std::vector<std::int64_t> extents) {
    p.extents.push_back(std::move(extents));
    p.types.push_back(type);
  };
  const auto closed = [&](const std::vector<node_id>& sizes) {
    std::vector<std::int64_t> extents;
    for (const node_id e : sizes) extents.push_back(std::max<std::int64_t>(0, known.exact(e).value()));
    return extents;
  };
  for (int i = 0; i < p.plan.g.inputs.size(); ++i)
    place(p.plan.g.inputs[i].type, plan::numbers(call.inputs[static_cast<std::size_t>(i)].extents));
  for (int k = 0; k < p.plan.g.outputs.size(); ++k)
    place(p.plan.g.type(p.plan.g.outputs[k]), closed(p.plan.output_extents(k)));
  for (const workspace& w : p.plan.workspaces) place(w.type, closed(w.extents));
  for (const plan::check& c : p.plan.checks)
    if (!c.uniform) place(element::i64, {});
}

namespace {

using memories = std::deque<memory>;

// What kernels are told of each array: where it is, its extents and strides.
void name_arrays(const cuda::source& source, const std::vector<std::vector<std::int64_t>>& extents, memories& arrays,
                 std::vector<std::int64_t>& words) {
  for (std::size_t s = 0; s < extents.size(); ++s) {
    auto at = static_cast<std::size_t>(source.first_word[s]);
    words[at++] = reinterpret_cast<std::int64_t>(arrays[s].data());
    for (const std::int64_t e : extents[s]) words[at++] = e;
    for (const std::int64_t e : dense(extents[s])) words[at++] = e;
  }
}

std::size_t scratch_of(const cuda::source& source) {
  std::int64_t bytes = 0;
  for (const cuda::launch& l : source.launches) bytes = std::max(bytes, l.scratch_bytes);
  return static_cast<std::size_t>(bytes);
}

void check_arrays(memories& arrays, const sheaf_tensor* tensors, int inputs) {
  for (std::size_t s = 0; s < arrays.size(); ++s)
    if (!arrays[s].kept()) throw std::runtime_error("kernels wrote beside array " + std::to_string(s));
  for (int i = 0; i < inputs; ++i) {
    memory& given = arrays[static_cast<std::size_t>(i)];
    if (std::memcmp(given.data(), tensors[i].data, given.size) != 0)
      throw std::runtime_error("kernels wrote an input");
  }
}

// After a failed check what shared kernels are given stays as it was, but for what says that they are switched off.
void check_shared(const cuda::source& source, memories& arrays, int filling) {
  for (const cuda::launch& l : source.launches)
    for (const int slot : l.slots)
      if (!arrays[static_cast<std::size_t>(slot)].is_filled(filling, 8))
        throw std::runtime_error("kernels that programs share wrote after a failed check");
}

}  // namespace

// The same arguments in two orders of threads and blocks, and two numbers of blocks, must give the same bits; and so
// must a later call, which finds nothing but what the one before kept of its indices.
void emulated_machine::call(prepared& p, const sheaf_tensor* tensors) {
  const cuda::source& source = p.module->source;
  const auto& extents = p.extents;
  const int inputs = p.plan.g.inputs.size(), outputs = p.plan.g.outputs.size();
  std::vector<std::vector<unsigned char>> first;
  const auto is_kept = [&](std::size_t slot) {
    const auto given = static_cast<std::size_t>(inputs + outputs);
    return slot >= given && slot - given < p.plan.workspaces.size() && p.plan.workspaces[slot - given].promised;
  };
  bool keeps = false;
  for (std::size_t s = 0; s < extents.size(); ++s) keeps = keeps || is_kept(s);
  memories kept;
  for (int round = 0; round < (keeps ? 3 : 2); ++round) {
    const int filling = round == 0 ? 0xCD : 0x5A + round;
    memories arrays;
    for (std::size_t s = 0; s < extents.size(); ++s) {
      arrays.emplace_back(static_cast<std::size_t>(count(extents[s]) * row(p.types[s]).bytes), filling);
      if (round == 2 && is_kept(s)) std::memcpy(arrays[s].data(), kept[s].data(), kept[s].size);
    }
    for (int i = 0; i < inputs; ++i)
      std::memcpy(arrays[static_cast<std::size_t>(i)].data(), tensors[i].data,
                  arrays[static_cast<std::size_t>(i)].size);
    const unsigned blocks = round == 1 ? 2 : 3;
    memory own(scratch_of(source) * blocks);
    std::vector<std::int64_t> record(4, 0), words(static_cast<std::size_t>(source.words), 0), of_shared;
    words[0] = reinterpret_cast<std::int64_t>(own.data());
    words[1] = reinterpret_cast<std::int64_t>(record.data());
    words[2] = 77;
    std::vector<std::uint32_t> arrivals(static_cast<std::size_t>(source.arrivals), 0);
    words[3] = reinterpret_cast<std::int64_t>(arrivals.data());
    name_arrays(source, extents, arrays, words);
    for (std::size_t k = 0; k < source.launches.size(); ++k) {
      const cuda::launch& l = source.launches[k];
      if (round == 2 && l.promised) continue;
      const std::int64_t* const given = cuda::parameter_of(source, l, words.data(), l.numbers, of_shared);
      emulate([&] { p.module->kernels[k](given); }, static_cast<unsigned>(l.threads), l.single ? 1 : blocks,
              17 + static_cast<std::uint64_t>(round));
    }
    check_arrays(arrays, tensors, inputs);
    for (const std::uint32_t n : arrivals)
      if (n != 0) throw std::runtime_error("a count of blocks is not 0 after a call");
    if (!own.kept()) throw std::runtime_error("kernels wrote beside their scratch memory");
    if (record[0] != 0) {
      check_shared(source, arrays, filling);
      throw std::runtime_error("check " + std::to_string(record[1]) + " failed at " + std::to_string(record[2]));
    }
    for (int k = 0; k < outputs; ++k) {
      memory& out = arrays[static_cast<std::size_t>(inputs + k)];
      std::vector<unsigned char> bytes(out.data(), out.data() + out.size);
      if (round == 0)
        first.push_back(std::move(bytes));
      else if (bytes != first[static_cast<std::size_t>(k)])
        throw std::runtime_error("output " + std::to_string(k) + " depends on the order of threads or blocks\n" +
                                 (round == 2 ? "or on what is kept\n" : "") + ir::print(p.module->code) +
                                 source.texts[0]);
    }
    kept = std::move(arrays);
  }
  for (int k = 0; k < outputs; ++k)
    std::memcpy(tensors[inputs + k].data, first[static_cast<std::size_t>(k)].data(),
                first[static_cast<std::size_t>(k)].size());
}

}  // namespace sheaf::test
