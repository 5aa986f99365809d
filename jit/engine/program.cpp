// Pass `prepare`: finds or makes the runner for a call's arguments, see program_kernels.hpp.
#include <sheaf/jit/engine/program.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <set>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/memory.hpp>
#include <sheaf/jit/engine/own_places.hpp>
#include <sheaf/jit/engine/plugin.hpp>
#include <sheaf/jit/engine/program_kernels.hpp>
#include <sheaf/jit/engine/promise.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/workspace.hpp>

namespace sheaf::inline v0_1::jit {

// Calls of other extents take one or two kilobytes each, and as many microseconds to be prepared again.
class program {
 public:
  program(const std::int32_t* words, backend which, const options& wanted, int ordinal)
      : g(unpack(words)),
        text(text_of(print(g))),
        runs_on(which),
        device(ordinal),
        overrides(wanted),
        target(wanted.target ? wanted.target : ""),
        keys(g) {
    overrides.target = target.empty() ? nullptr : target.c_str();
  }
  program(const program&) = delete;

  // A text that stays as long as the program.
  const char* said(std::string words) {
    const std::lock_guard guard(kernels.lock);
    return texts.insert(std::move(words)).first->c_str();
  }

  const graph g;
  const std::string text;
  const backend runs_on;
  const int device;
  options overrides;
  const std::string target;  // what `overrides.target` points to
  const key_reader keys;
  program_kernels kernels;
  // With its lock:
  statistics counts;
  std::set<std::string> texts;
  std::vector<std::vector<std::int64_t>> being_made;  // for these calls
  std::condition_variable was_made;
};

namespace {

int add_promises(const program& p, const promise& indices, std::int64_t* key, int n) {
  if (indices.of != &p)
    runtime::fail(code::bad_argument, "call with kept indices", "those that this program keeps", "another program's");
  for (std::size_t i = 0; i < indices.promised.size(); ++i) {
    if (n == key_capacity) runtime::fail(code::unsupported, "call", "at most 256 extents in all arguments");
    key[n++] = -2 - indices.promised[i];
  }
  return n;
}

// A call whose like is not among the last ones.
struct new_call {
  program& p;
  std::span<const std::int64_t> key;
};

// A kernel for one call: from the table, or with code that is there. Null: there is none. With the lock. It takes no
// memory where the table is full.
const kernel* known_kernel(const new_call& c) {
  program_kernels& there = c.p.kernels;
  if (const kernel* k = there.table.find(c.key)) return k;
  std::unique_ptr<kernel> made = there.table.spare(c.key);
  made->owner = &c.p;
  key_parts parts;
  c.p.keys.split(c.key, parts);
  if (!c.p.keys.outputs(c.key, parts.extents, made->outputs)) c.p.keys.arguments(c.key);  // says what is wrong
  made->of = there.serving(parts.layout, parts.extents);
  if (made->of == nullptr) return nullptr;
  made->code = made->of->runner_for(parts.extents, std::move(made->code));
  return there.table.add(std::move(made));
}

// Why no class that there is serves the call.
void tell_differences(const new_call& c) {
  if (runtime::current_settings().debug < 2) return;
  const graph& g = c.p.g;
  std::vector<std::string> names;
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d)
      names.push_back("extent " + std::to_string(d) + " of " + slot_text(g, i));
  key_parts parts;
  c.p.keys.split(c.key, parts);
  const std::lock_guard lock(c.p.kernels.lock);
  for (const auto& there : c.p.kernels.classes()) {
    const bool same = std::ranges::equal(there.layout, parts.layout);
    runtime::debug_line(2, same ? there.code->difference(parts.extents, names) : "another layout");
  }
}

// Of a thread, while it makes a kernel.
struct making {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  making() { counted() = {}; }
  void note_in(statistics& s) const {
    ++s.kernels;
    s.compiled += counted().compiled;
    s.from_disk += counted().from_disk;
    s.from_memory += counted().from_memory;
    s.compile_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

bool is_reference(const program& p) {
  return p.runs_on == backend::reference || runtime::current_settings().backend == "reference";
}

// Code for this call alone: on a GPU, or without code.
const kernel* make_own_code(const new_call& c, const call_class& a) {
  program& p = c.p;
  auto made = std::make_unique<kernel>(c.key);
  made->owner = &p;
  for (const auto& extents : a.output_extents)
    made->outputs.insert(made->outputs.end(), extents.begin(), extents.end());
  const making times;
  if (p.runs_on == backend::gpu) {
    made->code = make_gpu_runner(p.g, a, p.overrides, p.device);
    made->pin();  // a stream may still run it
  } else {
    made->code = make_reference_runner(p.g, a);
  }
  const std::lock_guard lock(p.kernels.lock);
  times.note_in(p.counts);
  return p.kernels.table.add(std::move(made));
}

// A class that serves the call, and its kernel. Another thread may have made one meanwhile for another call.
const kernel* make_class(const new_call& c, const call_class& a) {
  program& p = c.p;
  tell_differences(c);
  const making times;
  std::shared_ptr<const shape_class> code = make_native_class(p.g, a, p.overrides);
  const std::lock_guard lock(p.kernels.lock);
  if (const kernel* k = known_kernel(c)) return k;
  times.note_in(p.counts);
  key_parts parts;
  p.keys.split(c.key, parts);
  p.kernels.add({parts.layout.begin(), parts.layout.end()}, code);
  return known_kernel(c);
}

const kernel* make_kernel(const new_call& c) {
  const call_class a = c.p.keys.arguments(c.key);
  const bool own = c.p.runs_on == backend::gpu || is_reference(c.p);
  const kernel* k = nullptr;
  const auto make = [&] { k = own ? make_own_code(c, a) : make_class(c, a); };
  // A GPU's context belongs to the thread.
  const bool deep = c.p.g.size() > runtime::deep_graph && c.p.runs_on != backend::gpu;
  deep ? runtime::on_deep_stack(make) : make();
  program_kernels::keep_process_within(runtime::current_settings().process_limit);
  return k;
}

// A call that is not in the table. Of those for which there is no code each is made by one thread, at the same time as
// others.
const kernel* prepare_new(const new_call& c) {
  program& p = c.p;
  std::unique_lock lock(p.kernels.lock);
  if (const kernel* k = known_kernel(c)) return k;
  const std::vector<std::int64_t> key(c.key.begin(), c.key.end());
  while (std::ranges::find(p.being_made, key) != p.being_made.end()) {
    p.was_made.wait(lock);
    if (const kernel* k = known_kernel(c)) return k;
  }
  ++p.counts.misses;
  p.being_made.push_back(key);
  lock.unlock();
  const auto done = [&] {
    const std::lock_guard guard(p.kernels.lock);
    p.being_made.erase(std::ranges::find(p.being_made, key));
    p.was_made.notify_all();
  };
  try {
    const kernel* k = make_kernel(c);
    done();
    return k;
  } catch (...) {
    done();
    throw;
  }
}

}  // namespace

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
int device_of(const program* p) { return p->device; }
void free_program(program* p) noexcept {
  if (p == nullptr) return;
  runtime::give_back_workspace(&p->g);
  delete p;
}

const kernel* prepare(program* p, const sheaf_tensor* tensors, promise* indices, bool runs) {
  std::int64_t key[key_capacity];
  int size = write_key(p->g, tensors, key);
  if (indices != nullptr) size = add_promises(*p, *indices, key, size);
  check_memory(p->g, tensors, runs);
  const std::span<const std::int64_t> whole(key, static_cast<std::size_t>(size));
  const kernel* k = p->kernels.table.find(whole);
  if (k == nullptr) k = prepare_new({*p, whole});
  if (indices != nullptr) indices->prepare(k, p->g);
  return k;
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
  s.hits = std::max<std::int64_t>(p->kernels.table.entered() - s.misses, 0);
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
