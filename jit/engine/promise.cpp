#include <sheaf/jit/engine/promise.hpp>

#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// Keys as arguments.hpp writes them: of each input a number, then its extents.
void expect_extents(const graph& g, const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& now) {
  std::size_t at = 0;
  for (int i = 0; i < g.inputs.size(); ++i) {
    ++at;
    for (int d = 0; d < g.inputs[i].rank; ++d, ++at)
      if (first[at] != now[at])
        runtime::fail(code::extent_mismatch,
                      "call with kept indices, argument " + slot_text(g, i) + ", dimension " + std::to_string(d),
                      "extent " + std::to_string(first[at]) + " as in their first call, or changed() before",
                      std::to_string(now[at]));
  }
}

}  // namespace

promised_arrays::promised_arrays(const kernel* k)
    : of(k), on_device(k->code->make_inspector_result()), bytes_(k->code->promised_bytes()) {
  if (bytes_ > 0) memory_ = runtime::allocate(bytes_, false);
  of->pin();
}
promised_arrays::~promised_arrays() {
  runtime::deallocate(memory_, bytes_);
  of->unpin();
}

void promised_arrays::run(const sheaf_tensor* tensors) {
  char* const memory = static_cast<char*>(memory_);
  if (is_inspected_.load(std::memory_order_acquire)) return of->code->run_promised(tensors, memory, false);
  const std::lock_guard guard(learning_);
  const bool first = !is_inspected_.load(std::memory_order_relaxed);
  of->code->run_promised(tensors, memory, first);
  is_inspected_.store(true, std::memory_order_release);
}

promised_arrays& promise::prepare(const kernel* k, const graph& g) {
  const std::lock_guard guard(lock_);
  for (const auto& a : arrays_)
    if (a->of == k) return *a;
  if (!arrays_.empty()) expect_extents(g, arrays_.front()->of->key, k->key);
  return *arrays_.emplace_back(std::make_unique<promised_arrays>(k));
}
promised_arrays& promise::at(const kernel* k) {
  const std::lock_guard guard(lock_);
  for (const auto& a : arrays_)
    if (a->of == k) return *a;
  runtime::fail(code::broken_invariant, "call with kept indices", "those that it was prepared with", "others");
}
void promise::forget() {
  const std::lock_guard guard(lock_);
  arrays_.clear();
}
std::size_t promise::bytes() const {
  const std::lock_guard guard(lock_);
  std::size_t all = 0;
  for (const auto& a : arrays_) all += a->bytes();
  return all;
}

}  // namespace sheaf::inline v0_1::jit
