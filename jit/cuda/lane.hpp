// A stream as a program's runner sees it: the parameter of the calls on it, and those that went before. Private header.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>

#include <sheaf/jit/cuda/inspector_results.hpp>
#include <sheaf/jit/tuning/tuning.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

using words = std::vector<std::int64_t>;
// The words of a parameter that are not its slots'.
enum : std::size_t { scratch_word, record_word, ticket_word, arrivals_word };

// What a program keeps of a stream: where the device notes what is wrong with data, and the parameters of the calls it
// may speak of. It lives as long as the program, or in a capture as its graph needs it, which is the same.
struct lane {
  std::shared_ptr<runtime::cuda::stream_state> stream;
  std::shared_ptr<runtime::cuda::device_block> workspace;  // of a capture: nobody else gets it
  // That a captured graph reads, whatever its owner forgets.
  std::vector<std::shared_ptr<runtime::cuda::device_block>> promised;
  runtime::cuda::failure_record record;
  std::int64_t ticket = 0;
  words parameter;
  std::deque<words> calls;  // the last ones; of a capture all
  std::deque<words> sizes;  // of those, and of earlier ones, the first of each run of equal extents
  // Where a parameter is too large to be passed by value: its place on the device, and what a graph copies to it.
  std::unique_ptr<runtime::cuda::device_block> parameter_on_device;
  void* pinned = nullptr;
  bool pinned_is_used = false;

  void remember(bool resized) {
    keep(calls);
    if (resized || sizes.empty()) keep(sizes);
  }
  // A call's words, and those of one with its extents; null: forgotten.
  const words* call_of(std::int64_t its_ticket) const {
    const auto at = std::ranges::find(calls, its_ticket, [](const words& w) { return w[ticket_word]; });
    return at == calls.end() ? nullptr : &*at;
  }
  const words* sizes_of(std::int64_t its_ticket) const {
    const words* found = nullptr;
    for (const words& w : sizes)
      if (w[ticket_word] <= its_ticket) found = &w;
    return found;
  }

  // A graph reads its copy when it runs, so that must stay and be pinned; else the driver takes one at once.
  const void* parameter_source() {
    if (stream->capture == 0) return parameter.data();
    if (pinned_is_used)
      runtime::fail(code::unsupported, "a captured call with more than 4 KB of arguments", "one in a capture",
                    "another");
    pinned_is_used = true;
    std::memcpy(pinned, parameter.data(), parameter.size() * 8);
    return pinned;
  }

 private:
  void keep(std::deque<words>& list) {
    const bool all = stream->capture != 0;
    if (all || list.size() < tuning::engine::calls_remembered) {
      list.push_back(parameter);
      return;
    }
    words oldest = std::move(list.front());  // its memory is used again
    list.pop_front();
    oldest = parameter;
    list.push_back(std::move(oldest));
  }
};

}  // namespace sheaf::inline v0_1::jit
