// What is kept of each device: its context, what it can do, memory, the workspace of each stream, and who may have
// failed. Shown by tests/cuda/device.cpp. Private header.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sheaf/runtime/cuda/driver.hpp>
#include <sheaf/runtime/device.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

struct properties {
  int ordinal = 0, device = 0;
  std::string name;
  int major = 0, minor = 0;  // of the compute capability
  int multiprocessors = 1, threads_per_multiprocessor = 0;
  std::int64_t shared_per_block = 0, shared_per_block_most = 0;
  std::int64_t cache_bytes = 0, memory_bytes = 0;
  std::string architecture() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
  // wgmma, which later generations do not have, is in code for this one alone.
  bool has_warpgroups() const { return major == 9 && minor == 0; }
  std::string code_architecture() const { return architecture() + (has_warpgroups() ? "a" : ""); }
};

class device_context;

// Device memory that goes back to the pool in the order of its stream.
class device_block {
 public:
  // gone: set when the stream is destroyed; then the order is that of the default one.
  device_block(device_context& owner, std::size_t bytes, stream s, std::shared_ptr<std::atomic<bool>> gone);
  ~device_block();
  device_block(const device_block&) = delete;
  address at = 0;
  std::size_t bytes = 0;

 private:
  device_context& owner_;
  stream stream_;
  std::shared_ptr<std::atomic<bool>> gone_;
};

// A stream as programs see it: who launches holds `launching`, because the workspace is every call's on this stream.
// A capture counts as a stream of its own: its memory belongs to the graph for good.
class stream_state {
 public:
  stream_state(device_context& owner, stream s, std::uint64_t number, std::uint64_t capture)
      : context(owner), handle(s), number(number), capture(capture) {}
  std::mutex launching;
  device_context& context;
  const stream handle;
  const std::uint64_t number;
  const std::uint64_t capture;  // 0: none
  std::shared_ptr<std::atomic<bool>> gone =
      std::make_shared<std::atomic<bool>>(false);  // captures share their stream's
  // At least so many bytes, 256-aligned, until `launching` is given up. Throws code::out_of_memory, and in a capture
  // code::unsupported where too little was reserved.
  const std::shared_ptr<device_block>& workspace(std::size_t bytes);
  // So many u32, each 0 where no kernel of the stream runs: whoever counts there leaves it so. In a capture as
  // workspace().
  address zeros(int count);

 private:
  friend class device_context;
  std::shared_ptr<device_block> workspace_, zeros_;
};

// Somebody whose calls can fail on the device. check() throws what went wrong, once; `on`: null for any stream.
class failure_source {
 public:
  virtual ~failure_source() = default;
  virtual void check(const stream_state* on) = 0;
};

// Four words that host and device see.
struct failure_record {
  volatile std::int64_t* words = nullptr;
  address on_device = 0;
};

class device_context {
 public:
  // Of device `ordinal`, made at first need and kept. Throws code::device_failed.
  static device_context& of(int ordinal);
  static int count();

  const properties& about() const { return about_; }

  // Makes the context the calling thread's, and what was before again at the end.
  class current {
   public:
    explicit current(const device_context& c);
    ~current();
    current(const current&) = delete;

   private:
    bool pushed_ = false;
  };

  address allocate(std::size_t bytes, stream s);
  // Where the stream is gone, in the order of the default one.
  void release(address a, stream s) noexcept;

  // In a capture: what its stream had before is now the capture's.
  std::shared_ptr<stream_state> state_of(stream s);
  bool captures(stream s) const;
  void forget(stream s) noexcept;  // before it is destroyed

  failure_record take_record();
  void give_back(failure_record r);
  void add(failure_source* source);
  void remove(failure_source* source);
  // Throws the first failure that is known, of calls on a stream (null: any) or in a captured graph.
  void check(const stream_state* on);

 private:
  explicit device_context(int ordinal);
  struct key {
    std::uint64_t number, capture;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    std::size_t operator()(const key& k) const { return k.number * 0x9e3779b97f4a7c15u + k.capture; }
  };

  properties about_;
  context context_ = nullptr;
  memory_pool pool_ = nullptr;
  std::mutex lock_;
  static constexpr std::uint64_t unknown_stream = ~std::uint64_t{0};
  std::unordered_map<stream, std::uint64_t> numbers_;  // as the driver told them last
  std::unordered_map<key, std::shared_ptr<stream_state>, key_hash> states_;
  // Whoever was captured keeps what the graph uses; a graph without its programs is none.
  std::unordered_map<key, std::weak_ptr<stream_state>, key_hash> captured_;
  std::mutex records_lock_;              // taken by who launches, so not lock_, under which launches are waited for
  std::vector<failure_record> records_;  // free ones
  std::recursive_mutex sources_lock_;
  std::vector<failure_source*> sources_;
};

}  // namespace sheaf::inline v0_1::runtime::cuda
