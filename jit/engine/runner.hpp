// What executes a program for one class of arguments: the reference evaluator or a compiled kernel. Private header.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::jit {

struct device_place;  // program.hpp

// What a runner is made for: the class of arguments that share it.
struct call_class {
  std::vector<std::vector<std::int64_t>> input_extents;
  std::vector<int> closest;        // by input: the dimension along which elements lie closest, see arrange.hpp
  std::vector<bool> dense_inputs;  // by input: row after row without gaps in its last two dimensions, as they are given
  std::vector<bool> unit_inputs;   // by input: the stride of that dimension is 1
  std::vector<std::vector<std::int64_t>> output_extents;
  std::vector<bool> unit_outputs;
  std::vector<bool> dense_outputs;  // by output: as inputs are
  std::vector<bool> promised;  // by input: the same data in all calls; empty: none
  std::vector<plan::update> updates;  // outputs whose memory is an input's
};

// What a device inspected of promised data, for later calls with it.
class inspected {
 public:
  virtual ~inspected() = default;
  virtual std::size_t bytes() const = 0;
};

class runner {
 public:
  virtual ~runner() = default;
  // tensors: inputs, then outputs, all with memory. Throws sheaf::error before any output is written.
  virtual void run(const sheaf_tensor* tensors) const = 0;
  // The same with memory of promised_bytes() that holds from the first call to the next what promised data comes to.
  // Calls that have it only read it.
  virtual void run_promised(const sheaf_tensor* tensors, char*, bool /*first*/) const { run(tensors); }
  virtual std::size_t promised_bytes() const { return 0; }
  // On a device: queued on a stream, or only what it needs made ready. `promised` is what make_inspector_result() gave,
  // or null.
  virtual void run_on(const sheaf_tensor* tensors, const device_place& where, inspected* promised) const;
  virtual void reserve_on(const device_place& where, inspected* promised) const;
  virtual std::unique_ptr<inspected> make_inspector_result() const { return nullptr; }
  virtual std::size_t workspace_bytes() const { return 0; }
  // Lets go of its class, and keeps the memory that another runner may use; false: there is none.
  virtual bool release() { return false; }
  // For people: of a call of these arguments.
  virtual std::string plan(const call_class& arguments) const = 0;
  virtual std::string ir(const call_class& arguments) const = 0;
};

// Code for one layout of arguments that serves the calls of several extents.
class shape_class {
 public:
  virtual ~shape_class() = default;
  // The extents of all inputs, one after the other, as they are given.
  virtual bool serves(std::span<const std::int64_t> extents) const = 0;
  // The same, sooner where it served calls near this one. Neither is for several threads at a time.
  virtual bool serves_again(std::span<const std::int64_t> extents) const { return serves(extents); }
  // What would be decided otherwise for these extents, in words; names: of extents.
  virtual std::string difference(std::span<const std::int64_t> extents, std::span<const std::string> names) const = 0;
  // For a call of these extents; in the memory of `old`, where that was released. Throws what such a call is told
  // before its data is read.
  virtual std::unique_ptr<runner> runner_for(std::span<const std::int64_t> extents,
                                             std::unique_ptr<runner> old) const = 0;
  // Of its code, and of what calls need of its plan.
  virtual std::size_t bytes() const = 0;
  // May it be given up where no call runs?
  virtual bool may_go() const { return true; }

  // When it served a call that left the table (kernel_table.hpp).
  mutable std::uint64_t used = 0;
};

// The slow evaluator as a device (SHEAF_BACKEND=reference): the oracle, and a way to debug without generated code.
std::unique_ptr<runner> make_reference_runner(const graph& g, const call_class& arguments);
// Planned, lowered, and compiled by LLVM or found in the caches.
std::shared_ptr<const shape_class> make_native_class(const graph& g, const call_class& arguments,
                                                     const options& overrides);

// The same by NVRTC, for a GPU; the stream is asked for at the call.
std::shared_ptr<const shape_class> make_gpu_class(const graph& g, const call_class& arguments,
                                                  const options& overrides, int device);
// Throws code::device_failed where there is no such GPU, or what it needs is missing.
void expect_gpu(int device);

}  // namespace sheaf::inline v0_1::jit
