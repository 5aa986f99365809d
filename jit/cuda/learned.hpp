// What promised data came to, on each stream that was called on: whoever asks first on a stream sorts and inverts there.
// Shown by tests/gpu/kept.cpp. Private header.
#pragma once
#include <deque>
#include <memory>
#include <mutex>

#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/runtime/cuda/context.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::jit {

class learned_on_device final : public learned {
 public:
  struct part {
    std::shared_ptr<runtime::cuda::stream_state> stream;
    std::shared_ptr<runtime::cuda::device_block> memory;
    bool is_learned = false;
    std::int64_t failures = 0;  // that the program had had by then: a call that fails a check may have made no list
  };
  learned_on_device(runtime::cuda::device_context& context, std::size_t bytes) : context_(context), bytes_(bytes) {}

  std::size_t bytes() const override {
    const std::lock_guard guard(lock_);
    return parts_.size() * bytes_;
  }
  // A list that no call made is empty: zeros everywhere. A capture uses what its stream has.
  part& on(const std::shared_ptr<runtime::cuda::stream_state>& stream) {
    const std::lock_guard guard(lock_);
    for (part& p : parts_)
      if (p.stream->number == stream->number) return p;
    if (stream->capture != 0)
      runtime::fail(code::unsupported, "a captured call with kept indices",
                    "a call or reserve() with them on this stream before the capture", "none");
    auto block = std::make_shared<runtime::cuda::device_block>(context_, bytes_, stream->handle, stream->gone);
    runtime::cuda::driver().fill_bytes(block->at, 0, bytes_, stream->handle);
    return parts_.emplace_back(stream, std::move(block));
  }

 private:
  runtime::cuda::device_context& context_;
  const std::size_t bytes_;
  mutable std::mutex lock_;
  std::deque<part> parts_;
};

}  // namespace sheaf::jit
