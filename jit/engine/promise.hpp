// Inputs that a caller promises not to change, and the inspector results of calls with them (keep in program.hpp).
// Shown by tests/numeric/promised.cpp. Private header.
#pragma once
#include <atomic>
#include <mutex>

#include <sheaf/jit/engine/kernel_table.hpp>

namespace sheaf::inline v0_1::jit {

// What is kept for one kernel, which stays as long: two calls may differ in how their outputs lie.
class promised_arrays {
 public:
  explicit promised_arrays(const kernel* k);
  promised_arrays(const promised_arrays&) = delete;
  ~promised_arrays();
  // The first call inspects, later ones read.
  void run(const sheaf_tensor* tensors);
  std::size_t bytes() const { return bytes_ + (on_device ? on_device->bytes() : 0); }

  const kernel* const of;
  std::unique_ptr<inspected> on_device;

 private:
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  std::atomic<bool> is_inspected_ = false;
  std::mutex learning_;
};

class promise {
 public:
  promise(program* owner, std::vector<bool> slots) : of(owner), promised(std::move(slots)) {}
  program* const of;
  const std::vector<bool> promised;  // by input

  // Those of a call that is prepared, or of one that was.
  promised_arrays& prepare(const kernel* k, const graph& g);
  promised_arrays& at(const kernel* k);
  void forget();
  std::size_t bytes() const;

 private:
  mutable std::mutex lock_;
  std::vector<std::unique_ptr<promised_arrays>> arrays_;
};

}  // namespace sheaf::inline v0_1::jit
