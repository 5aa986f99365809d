// What a program keeps to serve calls: its classes, and the calls that came last, within the limits of the settings for
// a program and for all programs of the process. Shown by tests/jit/program_kernels.cpp. Private header.
#pragma once
#include <mutex>

#include <sheaf/jit/engine/kernel_table.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

class program_kernels {
 public:
  explicit program_kernels(runtime::limit most = runtime::current_settings().program_limit);
  program_kernels(const program_kernels&) = delete;
  program_kernels& operator=(const program_kernels&) = delete;
  ~program_kernels();

  kernel_table table;
  std::mutex lock;  // around what follows, and what changes the table

  // The class that serves a call; null: there is none.
  std::shared_ptr<const shape_class> serving(std::span<const std::int64_t> layout,
                                             std::span<const std::int64_t> extents);
  // Those not used for longest go where there are too many.
  void add(std::vector<std::int64_t> layout, std::shared_ptr<const shape_class> code);
  struct layout_class {
    std::vector<std::int64_t> layout;
    std::shared_ptr<const shape_class> code;
  };
  const std::vector<layout_class>& classes() const { return classes_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t evicted() const { return evicted_; }

  // Without a lock: gives up the classes of any program that were not used for longest, where there are too many.
  static void keep_process_within(const runtime::limit& most);

 private:
  struct process;
  static process& all();
  bool drop(const shape_class* of);
  void remove(std::size_t place);

  const runtime::limit most_;
  static constexpr std::size_t most_hints = 256;
  std::vector<layout_class> classes_;
  std::array<std::vector<std::uint16_t>, most_hints> hints_;  // by layout and sizes: the classes that served there
  std::int64_t bytes_ = 0, evicted_ = 0;
};

}  // namespace sheaf::inline v0_1::jit
