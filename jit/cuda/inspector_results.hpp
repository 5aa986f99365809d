// What promised data came to, on each stream that was called on: whoever asks first on a stream sorts and inverts
// there. Shown by tests/gpu/promised.cpp. Private header.
#pragma once
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/runtime/cuda/context.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

class inspected_on_device final : public inspected {
 public:
  // A call that fails a check may have made no list, and the host sees that late: what a call made is relied on when it
  // has ended and nothing had failed by then.
  struct part {
    explicit part(std::shared_ptr<runtime::cuda::stream_state> on) : stream(std::move(on)) {}
    part(const part&) = delete;
    ~part() {
      if (made_ != nullptr) runtime::cuda::driver().event_destroy.raw(made_);
    }
    std::shared_ptr<runtime::cuda::stream_state> stream;
    std::shared_ptr<runtime::cuda::device_block> memory;  // none: a captured graph took it

    bool is_known() const { return state_ == known; }
    // failures: how many the program has had; record: where the device notes one that is still to be reported, read
    // after it is sure that the call has ended. Null: nothing can fail.
    void look(std::int64_t failures, const volatile std::int64_t* record) {
      if (state_ == asked && has_ended()) state_ = known;
      if (failures != failures_ || (record != nullptr && *record != 0)) state_ = unknown;
      failures_ = failures;
    }
    // After a call that lists.
    void ask() {
      if (state_ == asked) return;
      if (made_ == nullptr) runtime::cuda::driver().event_create(&made_, runtime::cuda::event_without_timing);
      runtime::cuda::driver().event_record(made_, stream->handle);
      state_ = asked;
    }
    // What a graph has for itself.
    void give_away() { memory = nullptr, state_ = unknown; }

   private:
    // Asked in captures too, of what is outside of them.
    bool has_ended() const {
      int mode = runtime::cuda::capture_relaxed;
      runtime::cuda::driver().capture_exchange(&mode);
      const int status = runtime::cuda::driver().event_query.raw(made_);
      runtime::cuda::driver().capture_exchange(&mode);
      return status == 0;
    }
    enum { unknown, asked, known } state_ = unknown;
    runtime::cuda::event made_ = nullptr;
    std::int64_t failures_ = 0;
  };
  inspected_on_device(runtime::cuda::device_context& context, std::size_t bytes) : context_(context), bytes_(bytes) {}

  std::size_t bytes() const override {
    const std::lock_guard guard(lock_);
    const auto held = std::count_if(parts_.begin(), parts_.end(), [](const part& p) { return p.memory != nullptr; });
    return static_cast<std::size_t>(held) * bytes_;
  }
  // A list that no call made is empty: zeros everywhere. A capture uses what its stream has.
  part& on(const std::shared_ptr<runtime::cuda::stream_state>& stream) {
    const std::lock_guard guard(lock_);
    parts_.remove_if([&](const part& p) { return *p.stream->gone && p.stream->number != stream->number; });
    auto p =
        std::find_if(parts_.begin(), parts_.end(), [&](const part& q) { return q.stream->number == stream->number; });
    if (p == parts_.end()) p = parts_.emplace(parts_.end(), stream);
    if (p->memory != nullptr) return *p;
    if (stream->capture != 0)
      runtime::fail(code::unsupported, "a captured call with promised indices",
                    "a call or reserve() with them on this stream before the capture", "none");
    p->memory = std::make_shared<runtime::cuda::device_block>(context_, bytes_, stream->handle, stream->gone);
    runtime::cuda::driver().fill_bytes(p->memory->at, 0, bytes_, stream->handle);
    return *p;
  }

 private:
  runtime::cuda::device_context& context_;
  const std::size_t bytes_;
  mutable std::mutex lock_;
  std::list<part> parts_;
};

}  // namespace sheaf::inline v0_1::jit
