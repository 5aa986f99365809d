// Pass `prepare`: finds or makes the runner for a call's arguments.
// A program keeps the code of each class of calls, and in a table the calls that came last.
#include <sheaf/jit/engine/program.hpp>

#include <atomic>
#include <cstring>
#include <mutex>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/kernel_table.hpp>
#include <sheaf/jit/engine/memory.hpp>
#include <sheaf/jit/engine/own_places.hpp>
#include <sheaf/jit/engine/plugin.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

// Calls of other extents take one or two kilobytes each, and as many microseconds to be prepared again.
constexpr std::size_t most_kernels = 256;

// Code of a program for arguments of one layout.
struct layout_code {
  std::vector<std::int64_t> layout;
  std::shared_ptr<const shape_class> code;
};

class program {
 public:
  program(const std::int32_t* words, backend which, const options& wanted, int ordinal)
      : g(unpack(words)),
        text(text_of(print(g))),
        runs_on(which),
        device(ordinal),
        overrides(wanted),
        target(wanted.target ? wanted.target : "") {
    overrides.target = target.empty() ? nullptr : target.c_str();
  }
  program(const program&) = delete;
  const graph g;
  const std::string text;
  const backend runs_on;
  const int device;
  options overrides;
  const std::string target;  // what `overrides.target` points to
  kernel_table kernels{most_kernels};
  std::mutex making;   // code
  std::mutex noting;   // what follows, and new entries of `kernels`
  std::vector<layout_code> classes;
  statistics counts;
};

// What is kept for one kernel: two calls may differ in how their outputs lie.
struct promised_arrays {
  ~promised_arrays() { runtime::deallocate(memory, bytes); }
  const kernel* of = nullptr;
  std::size_t bytes = 0;
  void* memory = nullptr;
  std::unique_ptr<inspected> on_device;
  std::atomic<bool> is_inspected = false;
  std::mutex learning;
};

class promise {
 public:
  promise(program* owner, std::vector<bool> slots) : of(owner), promised(std::move(slots)) {}
  program* const of;
  const std::vector<bool> promised;  // by input

  promised_arrays& at(const kernel* k) {
    const std::lock_guard guard(lock_);
    for (const auto& a : arrays_)
      if (a->of == k) return *a;
    if (!arrays_.empty()) expect_extents(arrays_.front()->of->arguments.input_extents, k->arguments.input_extents);
    auto fresh = std::make_unique<promised_arrays>();
    fresh->of = k;
    const std::size_t bytes = k->code->promised_bytes();
    if (bytes > 0) fresh->memory = runtime::allocate(bytes, false);
    fresh->bytes = bytes;
    fresh->on_device = k->code->make_inspector_result();
    arrays_.push_back(std::move(fresh));
    return *arrays_.back();
  }
  void forget() {
    const std::lock_guard guard(lock_);
    arrays_.clear();
  }
  std::size_t bytes() const {
    const std::lock_guard guard(lock_);
    std::size_t all = 0;
    for (const auto& a : arrays_) all += a->bytes + (a->on_device ? a->on_device->bytes() : 0);
    return all;
  }

 private:
  using extent_lists = std::vector<std::vector<std::int64_t>>;
  void expect_extents(const extent_lists& first, const extent_lists& now) const {
    for (std::size_t i = 0; i < first.size(); ++i)
      for (std::size_t d = 0; d < first[i].size(); ++d)
        if (first[i][d] != now[i][d])
          runtime::fail(code::extent_mismatch,
                        "call with kept indices, argument " + slot_text(of->g, static_cast<int>(i)) + ", dimension " +
                            std::to_string(d),
                        "extent " + std::to_string(first[i][d]) + " as in their first call, or changed() before",
                        std::to_string(now[i][d]));
  }

  mutable std::mutex lock_;
  std::vector<std::unique_ptr<promised_arrays>> arrays_;
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

// One more, and where its code came from.
void note_made(program& p) {
  ++p.counts.kernels;
  p.counts.compiled += counted().compiled;
  p.counts.from_disk += counted().from_disk;
  p.counts.from_memory += counted().from_memory;
}

// A kernel for one call: from the table, or with code that is there. Null: there is none.
const kernel* known_kernel(program& p, std::unique_ptr<kernel>& made) {
  const auto extents = all_extents(made->arguments), layout = layout_of(made->arguments);
  const std::lock_guard lock(p.noting);
  if (const kernel* k = p.kernels.find(made->key)) return k;
  for (const layout_code& c : p.classes)
    if (c.layout == layout && c.code->serves(extents)) {
      made->code = c.code->runner_for(made->arguments);
      return p.kernels.add(std::move(made));
    }
  return nullptr;
}

// Why no class that there is serves the call.
void tell_differences(program& p, const call_class& a) {
  if (runtime::current_settings().debug < 2) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < a.input_extents.size(); ++i)
    for (std::size_t d = 0; d < a.input_extents[i].size(); ++d)
      names.push_back("extent " + std::to_string(d) + " of " + slot_text(p.g, static_cast<int>(i)));
  const auto extents = all_extents(a), layout = layout_of(a);
  const std::lock_guard lock(p.noting);
  for (const layout_code& c : p.classes)
    runtime::debug_line(2, c.layout != layout ? "another layout" : c.code->difference(extents, names));
}

const kernel* make_kernel(program& p, std::unique_ptr<kernel>& made) {
  const call_class& a = made->arguments;
  const bool reference = p.runs_on == backend::reference || runtime::current_settings().backend == "reference";
  tell_differences(p, a);
  counted() = {};
  std::shared_ptr<const shape_class> code;
  if (p.runs_on == backend::gpu) {
    made->code = make_gpu_runner(p.g, a, p.overrides, p.device);
    made->pin();  // a stream may still run it
  } else if (reference) {
    made->code = make_reference_runner(p.g, a);
  } else {
    code = make_native_class(p.g, a, p.overrides);
  }
  const std::lock_guard lock(p.noting);
  note_made(p);
  if (code != nullptr) {
    p.classes.push_back({layout_of(a), code});
    made->code = code->runner_for(a);
  }
  return p.kernels.add(std::move(made));
}

// A call whose like there was none.
const kernel* prepare_first(program& p, const sheaf_tensor* tensors, std::span<const std::int64_t> key,
                            const promise* indices) {
  auto made = std::make_unique<kernel>(key);
  made->arguments = describe(p.g, tensors);
  if (indices != nullptr) made->arguments.promised = indices->promised;
  if (const kernel* k = known_kernel(p, made)) return k;
  const std::lock_guard lock(p.making);
  if (const kernel* k = known_kernel(p, made)) return k;
  const kernel* k = nullptr;
  const auto make = [&] { k = make_kernel(p, made); };
  // A GPU's context belongs to the thread.
  const bool deep = p.g.size() > runtime::deep_graph && p.runs_on != backend::gpu;
  deep ? runtime::on_deep_stack(make) : make();
  return k;
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
void free_program(program* p) noexcept { delete p; }

const kernel* prepare(program* p, const sheaf_tensor* tensors, promise* indices, bool runs) {
  std::int64_t key[key_capacity];
  int size = write_key(p->g, tensors, key);
  if (indices != nullptr) size = add_promises(*p, *indices, key, size);
  check_memory(p->g, tensors, runs);
  const std::span<const std::int64_t> whole(key, static_cast<std::size_t>(size));
  const kernel* k = p->kernels.find(whole);
  if (k == nullptr) k = prepare_first(*p, tensors, whole, indices);
  if (indices != nullptr) {
    k->pin();
    indices->at(k);
  }
  return k;
}

int enter(const program* p) { return p->kernels.enter(); }
void leave(const program* p, int place) noexcept { p->kernels.leave(place); }

const std::int64_t* output_extents(const kernel* k, int output) {
  return k->arguments.output_extents[static_cast<std::size_t>(output)].data();
}

void run(const kernel* k, const sheaf_tensor* tensors, promise* indices) {
  if (indices == nullptr) return k->code->run(tensors);
  promised_arrays& a = indices->at(k);
  char* const memory = static_cast<char*>(a.memory);
  if (a.is_inspected.load(std::memory_order_acquire)) return k->code->run_promised(tensors, memory, false);
  const std::lock_guard guard(a.learning);
  const bool first = !a.is_inspected.load(std::memory_order_relaxed);
  k->code->run_promised(tensors, memory, first);
  a.is_inspected.store(true, std::memory_order_release);
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
  std::unique_lock lock(p->noting);
  statistics s = p->counts;
  lock.unlock();
  static_assert(static_cast<int>(disk_cache::not_trusted) == static_cast<int>(runtime::cache_state::not_trusted));
  s.cache = static_cast<disk_cache>(disk_cache_state(s.cache_says));
  return s;
}

void set_code_generator(const char* path) { choose_plugin(path == nullptr ? "" : path); }
void note_headers(const char* path) { add_headers(path == nullptr ? "" : path); }

const char* expression_text(program* p) { return p->text.c_str(); }
const char* plan_text(const kernel* k) {
  k->pin();
  return k->code->plan().c_str();
}
const char* ir_text(const kernel* k) {
  k->pin();
  return k->code->ir().c_str();
}

}  // namespace sheaf::inline v0_1::jit
