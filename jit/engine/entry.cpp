// The functions of program.hpp; kernels are found and made in prepare.cpp.
#include <sheaf/jit/engine/program.hpp>

#include <algorithm>
#include <cmath>

#include <sheaf/jit/engine/added_outputs.hpp>
#include <sheaf/jit/engine/background.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/compiled_program.hpp>
#include <sheaf/jit/engine/own_places.hpp>
#include <sheaf/jit/engine/plugin.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/workspace.hpp>

namespace sheaf::inline v0_1::jit {

program* make_program(const std::int32_t* words, backend runs_on, const options& wanted, int device) {
  const int lanes = wanted.lanes;
  if (lanes != 0 && (lanes < 4 || lanes > 256 || (lanes & (lanes - 1)) != 0))
    runtime::fail(code::bad_argument, "compile: options.lanes", "0 or a power of two from 4 to 256",
                  std::to_string(lanes));
  if (wanted.scatters == scatters::atomic && (runs_on != backend::gpu || wanted.determinism == determinism::strict))
    runtime::fail(code::bad_argument, "compile: options.scatters",
                  runs_on == backend::gpu ? "scatters::planned where determinism is strict"
                                          : "scatters::planned where the program is not for a GPU",
                  "scatters::atomic");
  if (runs_on == backend::gpu) expect_gpu(device);
  return new program(words, runs_on, wanted, device);
}
program* adding(program* p, const int* outputs, int count) {
  const std::lock_guard lock(p->kernels.lock);
  program*& made = p->adding[{outputs, outputs + count}];
  if (made == nullptr) made = new program(*p, added_to(p->g, {outputs, static_cast<std::size_t>(count)}));
  return made;
}
int device_of(const program* p) { return p->device; }
void free_program(program* p) noexcept {
  if (p == nullptr) return;
  for (const auto& [outputs, made] : p->adding) free_program(made);
  background::the().forget(p);
  runtime::give_back_workspace(&p->g);
  delete p;
}

const kernel* prepare(program* p, const sheaf_tensor* tensors, promise* indices, bool runs) {
  std::int64_t memory[key_capacity];
  const auto key = checked_key(*p, tensors, indices, runs, memory);
  const kernel* k = p->kernels.table.find(key);
  if (k == nullptr && runs && p->may_be_unready()) {
    k = prepare_at_once({*p, key});
    if (k == nullptr)
      runtime::fail(code::not_ready, "call", "a kernel for its arguments",
                    "one that is being compiled; prepare(...) waits for it");
  }
  if (k == nullptr) k = prepare_new({*p, key});
  if (indices != nullptr) indices->prepare(k, p->base == nullptr ? p->g : p->base->g);
  return k;
}

bool ready(program* p, const sheaf_tensor* tensors, promise* indices) {
  std::int64_t memory[key_capacity];
  const auto key = checked_key(*p, tensors, indices, false, memory);
  if (p->kernels.table.find(key) != nullptr) return true;
  if (p->runs_on == backend::gpu) return prepare_new({*p, key}) != nullptr;  // see may_be_unready
  return prepare_at_once({*p, key}) != nullptr;
}

int enter(const program* p) { return p->kernels.table.enter(); }
void leave(const program* p, int place) noexcept { p->kernels.table.leave(place); }

const std::int64_t* output_extents(const kernel* k, int output) {
  return k->outputs.data() + k->owner->keys.first_of(output);
}

void run(const kernel* k, const sheaf_tensor* tensors, promise* indices) {
  indices == nullptr ? k->code->run(tensors) : indices->at(k).run(tensors);
}

promise* keep(program* p, const int* slots, int count) {
  std::vector<bool> promised(static_cast<std::size_t>(p->g.inputs.size()), false);
  for (int k = 0; k < count; ++k) promised[static_cast<std::size_t>(slots[k])] = true;
  return new promise(p, std::move(promised));
}
void free_promised(promise* indices) noexcept { delete indices; }
void forget(promise* indices) { indices->forget(); }
std::size_t promised_bytes(const promise* indices) { return indices->bytes(); }

void runner::run_on(const sheaf_tensor*, const device_place&, inspected*) const {
  runtime::fail(code::broken_invariant, "call on a stream", "a program for a GPU", "one for the processor");
}
void runner::reserve_on(const device_place& where, inspected* kept) const { run_on(nullptr, where, kept); }

namespace {

inspected* inspector_result_of(const kernel* k, promise* indices) {
  return indices == nullptr ? nullptr : indices->at(k).on_device.get();
}

}  // namespace

void run_on(const kernel* k, const sheaf_tensor* tensors, const device_place& where, promise* indices) {
  k->code->run_on(tensors, where, inspector_result_of(k, indices));
}
void reserve_on(const kernel* k, const device_place& where, promise* indices) {
  k->code->reserve_on(where, inspector_result_of(k, indices));
}
std::size_t workspace_bytes(const kernel* k) { return k->code->workspace_bytes(); }

void expect_device(const program* p, int slot, int device) {
  if (device == p->device) return;
  const std::string expected = "gpu " + std::to_string(p->device), found = "gpu " + std::to_string(device);
  if (slot < 0) runtime::fail(code::bad_argument, "call on a stream", "one of " + expected, "one of " + found);
  runtime::fail(code::bad_argument, "argument " + slot_text(p->g, slot), "memory of " + expected, "memory of " + found);
}

statistics statistics_of(program* p) {
  std::unique_lock lock(p->kernels.lock);
  statistics s = p->counts;
  s.classes = static_cast<std::int64_t>(p->kernels.classes().size());
  s.bytes = p->kernels.bytes();
  s.evicted = p->kernels.evicted();
  lock.unlock();
  s.hits = std::max<std::int64_t>(p->kernels.table.entered() - s.misses - s.not_ready, 0);
  static_assert(static_cast<int>(disk_cache::not_trusted) == static_cast<int>(runtime::cache_state::not_trusted));
  s.cache = static_cast<disk_cache>(disk_cache_state(s.cache_says));
  return s;
}

void set_code_generator(const char* path) { choose_plugin(path == nullptr ? "" : path); }
void note_headers(const char* path) { add_headers(path == nullptr ? "" : path); }

const char* expression_text(program* p) { return p->text.c_str(); }
namespace {

// What changes from call to call is not in it: the texts of a program are kept.
std::string classes_text(program& p) {
  const std::lock_guard lock(p.kernels.lock);
  const statistics& s = p.counts;
  const auto number = [](auto n) { return std::to_string(n); };
  return "classes: " + number(p.kernels.classes().size()) + " of " + number(p.kernels.bytes()) + " bytes; " +
         number(s.kernels) + " made in " + number(std::llround(s.compile_seconds * 1e3)) + " ms, " +
         number(s.compiled) + " kernels compiled, " + number(s.from_disk) + " from disk, " + number(s.from_memory) +
         " from memory; " + number(p.kernels.evicted()) + " given up\n";
}

// Planning walks the graph.
template <class Say>
const char* said_of(const kernel* k, Say say) {
  std::string words;
  const auto work = [&] { words = say(*k->code, k->owner->keys.arguments(k->key)); };
  k->owner->g.size() > runtime::deep_graph ? runtime::on_deep_stack(work) : work();
  return k->owner->said(std::move(words));
}

}  // namespace

const char* plan_text(const kernel* k) {
  return said_of(k, [&](const runner& r, const call_class& a) { return classes_text(*k->owner) + r.plan(a); });
}
const char* ir_text(const kernel* k) {
  return said_of(k, [](const runner& r, const call_class& a) { return r.ir(a); });
}

}  // namespace sheaf::inline v0_1::jit
