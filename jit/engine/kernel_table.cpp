#include <sheaf/jit/engine/kernel_table.hpp>

#include <algorithm>
#include <functional>
#include <thread>

namespace sheaf::inline v0_1::jit {

namespace {

std::size_t hash_of(std::span<const std::int64_t> key) {
  std::uint64_t hash = key.size();
  for (const std::int64_t n : key) {
    hash = (hash ^ static_cast<std::uint64_t>(n)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

std::size_t own_stripe() {
  static thread_local const std::size_t stripe = std::hash<std::thread::id>()(std::this_thread::get_id());
  return stripe;
}

}  // namespace

kernel_table::~kernel_table() {
  for (auto& first : first_)
    for (kernel* k = first.load(); k != nullptr;) {
      const std::unique_ptr<kernel> last(k);
      k = last->next_.load();
    }
}

// Who entered the phase before after its readers were counted finds nothing that left by then: the links, the phase and
// the counts have one order for all threads.
int kernel_table::enter() const {
  const std::size_t stripe = own_stripe() % stripes, parity = phase_.load() % 2;
  readers_[stripe].count[parity].fetch_add(1);
  return static_cast<int>(2 * stripe + parity);
}
void kernel_table::leave(int place) const {
  readers_[static_cast<std::size_t>(place / 2)].count[place % 2].fetch_sub(1, std::memory_order_release);
}

const kernel* kernel_table::find(std::span<const std::int64_t> key) const {
  const std::size_t hash = hash_of(key);
  for (const kernel* k = first_[hash % buckets].load(); k != nullptr;
       k = k->next_.load())
    if (k->hash_ == hash && std::ranges::equal(k->key, key)) {
      k->used_.store(added_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return k;
    }
  return nullptr;
}

const kernel* kernel_table::add(std::unique_ptr<kernel> made) {
  if (count_ >= most_) evict();
  reclaim();
  kernel* const k = made.release();
  k->hash_ = hash_of(k->key);
  k->used_ = ++added_;
  k->next_ = bucket(k->hash_).load();
  bucket(k->hash_).store(k);
  ++count_;
  return k;
}

// The quarter that was not used for longest.
void kernel_table::evict() {
  std::vector<std::pair<std::uint64_t, kernel*>> list;  // readers go on using them
  for (auto& first : first_)
    for (kernel* k = first.load(); k != nullptr; k = k->next_.load())
      if (!k->pinned_.load(std::memory_order_relaxed)) list.emplace_back(k->used_.load(), k);
  std::sort(list.begin(), list.end());
  list.resize((list.size() + 3) / 4);
  for (const auto& [used, k] : list) unlink(k);
}

// Readers that stand at it go on from it: its own link stays.
void kernel_table::unlink(kernel* k) {
  std::atomic<kernel*>* link = &bucket(k->hash_);
  while (link->load() != k) link = &link->load()->next_;
  link->store(k->next_.load());
  left_.emplace_back(k);
  --count_;
}

void kernel_table::reclaim() {
  if (left_.empty() && leaving_.empty()) return;
  const std::size_t before = (phase_.load() + 1) % 2;
  for (const readers& r : readers_)
    if (r.count[before].load() != 0) return;
  for (auto& k : leaving_)
    if (k->pinned_.load(std::memory_order_relaxed)) pinned_.push_back(std::move(k));
  leaving_ = std::move(left_);
  left_.clear();
  ++phase_;
}

}  // namespace sheaf::inline v0_1::jit
