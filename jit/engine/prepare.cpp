// Pass `prepare`: finds or makes the kernel of a call that is not among the last ones (program_kernels.hpp).
// Shown by tests/numeric/classes.cpp, tests/numeric/waiting.cpp and tests/allocations.
#include <algorithm>
#include <chrono>

#include <sheaf/jit/engine/background.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/compiled_program.hpp>
#include <sheaf/jit/engine/memory.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// Calls of a program that are not ready: more are told so, and not remembered.
constexpr std::size_t most_waiting = 64;

int add_promises(const program& p, const promise& indices, std::int64_t* key, int n) {
  if (indices.of != &p && indices.of != p.base)
    runtime::fail(code::bad_argument, "call with kept indices", "those that this program keeps", "another program's");
  for (std::size_t i = 0; i < indices.promised.size(); ++i) {
    if (n == key_capacity) runtime::fail(code::unsupported, "call", "at most 256 extents in all arguments");
    key[n++] = -2 - indices.promised[i];
  }
  return n;
}

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
  if (p.runs_on == backend::gpu) return false;
  return p.runs_on == backend::reference || runtime::current_settings().backend == "reference";
}

// The slow evaluator, for this call alone.
const kernel* make_own_code(const new_call& c, const call_class& a) {
  program& p = c.p;
  auto made = std::make_unique<kernel>(c.key);
  made->owner = &p;
  for (const auto& extents : a.output_extents)
    made->outputs.insert(made->outputs.end(), extents.begin(), extents.end());
  const making times;
  made->code = make_reference_runner(p.g, a);
  const std::lock_guard lock(p.kernels.lock);
  times.note_in(p.counts);
  return p.kernels.table.add(std::move(made));
}

// A class that serves the call, and its kernel. Another thread may have made one meanwhile for another call.
const kernel* make_class(const new_call& c, const call_class& a) {
  program& p = c.p;
  tell_differences(c);
  const making times;
  std::shared_ptr<const shape_class> code = p.runs_on == backend::gpu
                                                ? make_gpu_class(p.g, a, p.overrides, p.device)
                                                : make_native_class(p.g, a, p.overrides);
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
  const bool own = is_reference(c.p);
  const kernel* k = nullptr;
  const auto make = [&] { k = own ? make_own_code(c, a) : make_class(c, a); };
  // A GPU's context belongs to the thread.
  const bool deep = c.p.g.size() > runtime::deep_graph && c.p.runs_on != backend::gpu;
  deep ? runtime::on_deep_stack(make) : make();
  program_kernels::keep_process_within(runtime::current_settings().process_limit);
  return k;
}

// A kernel that was being made is there, or what was thrown is.
void note_made(program& p, const std::vector<std::int64_t>& key, const std::exception_ptr& failure) {
  const std::lock_guard guard(p.kernels.lock);
  p.being_made.erase(std::ranges::find(p.being_made, key));
  if (failure != nullptr && p.failures.size() < most_waiting) p.failures[key] = failure;
  p.was_made.notify_all();
}

// In the background: what a call of this key needs. Another one's kernel may serve it by now.
void make_later(program& p, const std::vector<std::int64_t>& key) {
  std::exception_ptr failure;
  try {
    std::unique_lock lock(p.kernels.lock);
    if (known_kernel({p, key}) == nullptr) {
      ++p.counts.misses;
      lock.unlock();
      make_kernel({p, key});
    }
  } catch (...) {
    failure = std::current_exception();
  }
  note_made(p, key, failure);
}

}  // namespace

// Of calls for which there is no code each is made by one thread, at the same time as others.
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
  try {
    const kernel* k = make_kernel(c);
    note_made(p, key, nullptr);
    return k;
  } catch (...) {
    note_made(p, key, nullptr);
    throw;
  }
}

const kernel* prepare_at_once(const new_call& c) {
  program& p = c.p;
  const std::lock_guard guard(p.kernels.lock);
  if (const kernel* k = known_kernel(c)) return k;
  std::vector<std::int64_t> key(c.key.begin(), c.key.end());
  if (const auto failed = p.failures.find(key); failed != p.failures.end()) {
    const std::exception_ptr thrown = failed->second;
    p.failures.erase(failed);
    std::rethrow_exception(thrown);
  }
  ++p.counts.not_ready;
  const bool is_made = std::ranges::find(p.being_made, key) != p.being_made.end();
  if (is_made || p.being_made.size() >= most_waiting) return nullptr;
  p.being_made.push_back(key);
  background::the().post(&p, [&p, key] { make_later(p, key); });
  return nullptr;
}

std::span<const std::int64_t> checked_key(program& p, const sheaf_tensor* tensors, const promise* indices, bool runs,
                                          std::int64_t (&key)[key_capacity]) {
  int size = write_key(p.g, tensors, key);
  if (indices != nullptr) size = add_promises(p, *indices, key, size);
  const int before = size;
  size = check_memory(p.g, tensors, runs, key, size);
  for (int k = before; indices != nullptr && k < size; ++k)
    if (const auto input = static_cast<std::size_t>(update_of(key[k]).input);
        input < indices->promised.size() && indices->promised[input])
      runtime::fail(code::bad_argument, "output " + slot_text(p.g, p.g.inputs.size() + update_of(key[k]).output),
                    "memory of its own", "memory of " + slot_text(p.g, static_cast<int>(input)) + ", which is kept");
  return {key, static_cast<std::size_t>(size)};
}

}  // namespace sheaf::inline v0_1::jit
