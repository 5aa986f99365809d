#include <sheaf/runtime/cuda/context.hpp>

#include <algorithm>
#include <cstring>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

namespace {

constexpr std::size_t record_bytes = 64;  // a cache line each
constexpr std::size_t records_at_a_time = 64;

int number_of(attribute what, int device) {
  int value = 0;
  driver().device_attribute(&value, what, device);
  return value;
}

properties properties_of(int ordinal) {
  properties p;
  p.ordinal = ordinal;
  driver().device_get(&p.device, ordinal);
  char name[256] = {};
  driver().device_name(name, sizeof name, p.device);
  p.name = name;
  p.major = number_of(attribute::capability_major, p.device);
  p.minor = number_of(attribute::capability_minor, p.device);
  p.multiprocessors = number_of(attribute::multiprocessors, p.device);
  p.threads_per_multiprocessor = number_of(attribute::threads_per_multiprocessor, p.device);
  p.shared_per_block = number_of(attribute::shared_per_block, p.device);
  p.shared_per_block_most = number_of(attribute::shared_per_block_optin, p.device);
  p.cache_bytes = number_of(attribute::cache_bytes, p.device);
  std::size_t bytes = 0;
  driver().device_memory(&bytes, p.device);
  p.memory_bytes = static_cast<std::int64_t>(bytes);
  if (number_of(attribute::memory_pools, p.device) == 0)
    fail(code::device_failed, "compile for gpu " + std::to_string(ordinal) + ", " + p.name, "memory pools", "none");
  return p;
}

// The capture that a stream is in, 0 where it is in none.
std::uint64_t capture_of(stream s) {
  int status = 0;
  std::uint64_t id = 0;
  driver().capture_info(s, &status, &id, nullptr, nullptr, nullptr);
  return status == capture_active ? id : 0;
}

}  // namespace

device_block::device_block(device_context& owner, std::size_t size, stream s, std::shared_ptr<std::atomic<bool>> gone)
    : bytes(size), owner_(owner), stream_(s), gone_(std::move(gone)) {
  at = owner.allocate(size, s);
}
device_block::~device_block() { owner_.release(at, gone_->load() ? nullptr : stream_); }

const std::shared_ptr<device_block>& stream_state::workspace(std::size_t bytes) {
  if (workspace_ != nullptr && workspace_->bytes >= bytes) return workspace_;
  if (capture != 0)
    fail(code::unsupported, "workspace of a captured call",
         std::to_string(bytes) + " bytes, from a call or reserve() on this stream before the capture, or given",
         workspace_ == nullptr ? "none" : std::to_string(workspace_->bytes) + " bytes");
  workspace_ = nullptr;  // first, so that the pool can use it again
  workspace_ = std::make_shared<device_block>(context, (bytes + 255) / 256 * 256, handle, gone);
  return workspace_;
}

address stream_state::zeros(int count) {
  const std::size_t bytes = 4 * static_cast<std::size_t>(std::max(count, 64));
  if (zeros_ != nullptr && zeros_->bytes >= bytes) return zeros_->at;
  if (capture != 0)
    fail(code::unsupported, "a captured call", "a call or reserve() on this stream before the capture", "none");
  zeros_ = std::make_shared<device_block>(context, bytes, handle, gone);
  driver().fill_bytes(zeros_->at, 0, bytes, handle);
  return zeros_->at;
}

int device_context::count() {
  int n = 0;
  driver().device_count(&n);
  return n;
}

device_context& device_context::of(int ordinal) {
  static std::mutex lock;
  static std::vector<std::unique_ptr<device_context>>& made = *new std::vector<std::unique_ptr<device_context>>;
  const std::lock_guard guard(lock);
  for (const auto& c : made)
    if (c->about_.ordinal == ordinal) return *c;
  const int devices = count();
  if (ordinal < 0 || ordinal >= devices)
    fail(code::device_failed, "gpu " + std::to_string(ordinal), "one of the devices of this machine",
         devices == 0 ? "none" : "gpu 0 to gpu " + std::to_string(devices - 1));
  made.emplace_back(new device_context(ordinal));
  return *made.back();
}

device_context::device_context(int ordinal) : about_(properties_of(ordinal)) {
  driver().context_retain(&context_, about_.device);
  const current here(*this);
  pool_properties wanted;
  wanted.location = about_.device;
  driver().pool_create(&pool_, &wanted);
  std::uint64_t keep = ~std::uint64_t{0};  // else each synchronisation gives the memory back to the system
  driver().pool_set(pool_, pool_release_threshold, &keep);
}

device_context::current::current(const device_context& c) {
  context now = nullptr;
  driver().context_get(&now);
  if (now == c.context_) return;
  driver().context_push(c.context_);
  pushed_ = true;
}
device_context::current::~current() {
  context ignored = nullptr;
  if (pushed_) driver().context_pop.raw(&ignored);
}

address device_context::allocate(std::size_t bytes, stream s) {
  const current here(*this);
  address a = 0;
  driver().allocate(&a, std::max<std::size_t>(bytes, 1), pool_, s);
  return a;
}

void device_context::release(address a, stream s) noexcept {
  if (a == 0) return;
  try {
    const current here(*this);
    if (driver().release.raw(a, s) != 0 && s != nullptr) driver().release.raw(a, nullptr);
  } catch (const error&) {  // the device is gone, and its memory with it
  }
}

std::shared_ptr<stream_state> device_context::state_of(stream s) {
  unsigned long long number = 0;
  const std::uint64_t capture = capture_of(s);
  if (capture == 0) driver().stream_number(s, &number);
  const std::lock_guard guard(lock_);
  // A stream that captures does not tell its number: it is that of the last call before, if there was one.
  if (capture == 0) numbers_[s] = number;
  else if (const auto known = numbers_.find(s); known != numbers_.end()) number = known->second;
  else number = unknown_stream;
  auto& plain = states_[{number, 0}];
  if (plain == nullptr) plain = std::make_shared<stream_state>(*this, s, number, 0);
  if (capture == 0) return plain;
  auto& known = captured_[{number, capture}];
  if (auto state = known.lock()) return state;
  auto state = std::make_shared<stream_state>(*this, s, number, capture);
  state->gone = plain->gone;
  known = state;
  const std::lock_guard launching(plain->launching);
  state->workspace_ = std::move(plain->workspace_);
  state->zeros_ = std::move(plain->zeros_);
  return state;
}

bool device_context::captures(stream s) const { return capture_of(s) != 0; }

void device_context::forget(stream s) noexcept {
  unsigned long long number = 0;
  if (driver().stream_number.raw(s, &number) != 0) return;
  std::shared_ptr<stream_state> dying;
  const std::lock_guard guard(lock_);
  numbers_.erase(s);
  if (const auto found = states_.find({number, 0}); found != states_.end()) {
    dying = std::move(found->second);
    states_.erase(found);
    // Programs that ran on it may keep the state, but not its memory.
    const std::lock_guard launching(dying->launching);
    dying->workspace_ = dying->zeros_ = nullptr;
    *dying->gone = true;
  }
}

failure_record device_context::take_record() {
  const std::lock_guard guard(records_lock_);
  if (records_.empty()) {
    const current here(*this);
    void* slab = nullptr;
    driver().host_allocate(&slab, record_bytes * records_at_a_time, host_memory_portable_mapped);
    std::memset(slab, 0, record_bytes * records_at_a_time);
    address seen = 0;
    driver().host_address(&seen, slab, 0);
    for (std::size_t k = 0; k < records_at_a_time; ++k) {
      void* at = static_cast<char*>(slab) + k * record_bytes;
      records_.push_back({static_cast<volatile std::int64_t*>(at), seen + k * record_bytes});
    }
  }
  const failure_record taken = records_.back();
  records_.pop_back();
  return taken;
}

void device_context::give_back(failure_record r) {
  for (int k = 0; k < 4; ++k) r.words[k] = 0;
  const std::lock_guard guard(records_lock_);
  records_.push_back(r);
}

void device_context::add(failure_source* source) {
  const std::lock_guard guard(sources_lock_);
  sources_.push_back(source);
}
void device_context::remove(failure_source* source) {
  const std::lock_guard guard(sources_lock_);
  std::erase(sources_, source);
}
void device_context::check(const stream_state* on) {
  const std::lock_guard guard(sources_lock_);
  for (failure_source* source : sources_) source->check(on);
}

}  // namespace sheaf::inline v0_1::runtime::cuda
