// What NVRTC made of a program, for the calls on a GPU that are planned and laid out alike; what their streams keep of
// them. A call of it is in runner.cpp. Shown by tests/gpu/classes.cpp. Private header.
#pragma once
#include <map>
#include <optional>

#include <sheaf/jit/cuda/code.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/cuda/lane.hpp>
#include <sheaf/jit/engine/decided_class.hpp>
#include <sheaf/jit/engine/layout.hpp>

namespace sheaf::inline v0_1::jit {

inline constexpr std::size_t device_alignment = 256;

class gpu_class final : public decided_class,
                        public runtime::cuda::failure_source,
                        public std::enable_shared_from_this<gpu_class> {
 public:
  gpu_class(const graph& g, const call_class& arguments, const options& overrides, int ordinal);
  ~gpu_class() override;

  std::size_t bytes() const override { return bytes_; }
  // A stream may still run its code, and a captured graph whenever it is launched.
  bool may_go() const override { return false; }
  std::unique_ptr<runner> runner_for(std::span<const std::int64_t> extents,
                                     std::unique_ptr<runner> old) const override;
  // Throws what the device noted of calls on a stream, once.
  void check(const runtime::cuda::stream_state* on) override;

  // An argument among the words of a parameter.
  struct argument_place {
    std::size_t first = 0;
    std::vector<int> order;    // of its extents and strides there
    std::int64_t columns = 0;  // not 0: that its last extent there is multiplied by
  };
  struct ready_kernel {
    const cuda::launch* how;
    runtime::cuda::function code = nullptr;
    std::int64_t full = 1;  // blocks that fill the device
    int registers = 0, spilled = 0;
    std::size_t numbers = 0;  // where those of its call begin
    std::int64_t blocks(double tiles) const;
  };

  runtime::cuda::device_context& context() const { return context_; }
  const call_layout& layout() const { return *layout_; }
  const cuda::source& source() const { return source_; }
  const std::vector<ready_kernel>& kernels() const { return kernels_; }
  // Of a call: the tiles of each kernel, -1 where that depends on data; then the numbers that kernels are given which
  // programs share.
  const numbers_of_calls& numbers() const { return numbers_; }
  const std::vector<argument_place>& arguments() const { return arguments_; }
  std::size_t own_word(std::size_t array) const {
    return static_cast<std::size_t>(source_.first_word[arguments_.size() + array]);
  }
  bool has_checks() const { return checks_; }

  // From here on with the lock. A program that was captured on a stream is another's there from then on.
  std::mutex& lock() const { return lock_; }
  lane& lane_of(const std::shared_ptr<runtime::cuda::stream_state>& state) const;
  std::int64_t failures() const { return failures_; }  // that were found so far
  words& shared_parameter() const { return shared_parameter_; }

  // For people.
  std::string plan(const call_class& arguments, std::span<const unsigned> blocks) const;
  std::string ir(const call_class& arguments) const;

 private:
  void emit(const call_class& arguments, const extent_amounts& extents);
  void find_code(const std::string& name);
  void find_kernels();
  void place_arguments();
  void note_bytes();
  arranged_program planned_anew(const call_class& arguments) const;
  const runtime::cuda::loaded_module& code_of(const cuda::launch& l) const;
  [[noreturn]] void fail_from(const lane& l, std::int64_t ticket, std::int64_t ordinal, std::int64_t position) const;

  runtime::cuda::device_context& context_;
  const graph& g_;  // the program's, which outlives its classes
  const options overrides_;
  const std::shared_ptr<arranged_program> own_;
  const std::shared_ptr<const arranged_program> made_;
  std::optional<call_layout> layout_;
  cuda::source source_;
  std::vector<device_code> code_;
  std::map<const cuda::source*, std::size_t> first_code_;  // of those that programs share
  std::vector<ready_kernel> kernels_;
  numbers_of_calls numbers_;
  std::vector<argument_place> arguments_;
  std::size_t bytes_ = 0;
  bool checks_ = false;
  std::int64_t failures_ = 0;
  mutable std::mutex lock_;
  mutable words shared_parameter_;  // of the launch being made
  mutable std::vector<std::unique_ptr<lane>> lanes_;
};

}  // namespace sheaf::inline v0_1::jit
