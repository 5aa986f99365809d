#include <sheaf/jit/engine/kernel_table.hpp>

#include <algorithm>
#include <functional>
#include <thread>

namespace sheaf::inline v0_1::jit {

namespace {

// Both halves of a product, as in wyhash: of two numbers at a time, none of which waits for another. Read one by one,
// as they have just been written: wider loads would wait for the stores.
std::size_t hash_of(std::span<const std::int64_t> key) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u, other = 0xE7037ED1A0B428DBu;
  __extension__ using wide = unsigned __int128;
  const auto folded = [](std::uint64_t a, std::uint64_t b) {
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = key.size();
  std::size_t k = 0;
  for (; k + 2 <= key.size(); k += 2)
    hash += folded((static_cast<std::uint64_t>(key[k]) ^ odd) + k, static_cast<std::uint64_t>(key[k + 1]) ^ other);
  if (k < key.size()) hash += folded(static_cast<std::uint64_t>(key[k]) ^ odd, other);
  return static_cast<std::size_t>(folded(hash ^ odd, other));
}

std::size_t own_stripe() {
  static thread_local const std::size_t stripe = std::hash<std::thread::id>()(std::this_thread::get_id());
  return stripe;
}

}  // namespace

kernel_table::~kernel_table() {
  for (kernel* k : ring_) delete k;
}

// Who entered the phase before after its readers were counted finds nothing that left by then: the links, the phase and
// the counts have one order for all threads.
int kernel_table::enter() const {
  const std::size_t stripe = own_stripe() % stripes, parity = phase_.load() % 2;
  readers_[stripe].count[parity].fetch_add(one_entry);
  return static_cast<int>(2 * stripe + parity);
}
void kernel_table::leave(int place) const {
  readers_[static_cast<std::size_t>(place / 2)].count[place % 2].fetch_sub(1, std::memory_order_release);
}
std::int64_t kernel_table::entered() const {
  std::uint64_t times = 0;
  for (const readers& r : readers_)
    for (const auto& count : r.count) times += count.load(std::memory_order_relaxed) >> 16;
  return static_cast<std::int64_t>(times);
}

const kernel* kernel_table::find(std::span<const std::int64_t> key) const {
  const std::size_t hash = hash_of(key);
  for (const kernel* k = first_[hash % buckets].load(); k != nullptr;
       k = k->next_.load())
    if (k->hash_ == hash && std::ranges::equal(k->key, key)) {
      k->used_.store(now(), std::memory_order_relaxed);
      return k;
    }
  return nullptr;
}

std::unique_ptr<kernel> kernel_table::spare(std::span<const std::int64_t> key) {
  if (spare_.empty()) return std::make_unique<kernel>(key);
  std::unique_ptr<kernel> k = std::move(spare_.back());
  spare_.pop_back();
  k->key.assign(key.begin(), key.end());
  return k;
}

const kernel* kernel_table::add(std::unique_ptr<kernel> made) {
  if (ring_.size() >= most_)
    if (kernel* k = oldest()) unlink(k);
  reclaim();
  kernel* const k = made.release();
  k->hash_ = hash_of(k->key);
  k->used_.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  k->place_ = ring_.size();
  ring_.push_back(k);
  k->next_.store(bucket(k->hash_).load());
  bucket(k->hash_).store(k);
  return k;
}

// Of a few next to each other, a few further each time; null: all are pinned.
kernel* kernel_table::oldest() {
  kernel* found = nullptr;
  for (std::size_t looked = 0; looked < ring_.size() && (found == nullptr || looked % considered != 0); ++looked) {
    kernel* const k = ring_[hand_++ % ring_.size()];
    if (!k->is_pinned() && (found == nullptr || k->used_.load() < found->used_.load())) found = k;
  }
  return found;
}

// Readers that stand at it go on from it: its own link stays.
void kernel_table::unlink(kernel* k) {
  std::atomic<kernel*>* link = &bucket(k->hash_);
  while (link->load() != k) link = &link->load()->next_;
  link->store(k->next_.load());
  ring_[k->place_] = ring_.back();
  ring_[k->place_]->place_ = k->place_;
  ring_.pop_back();
  if (k->of != nullptr) k->of->used = std::max(k->of->used, k->used_.load());
  left_.emplace_back(k);
}

std::uint64_t kernel_table::last_use(const shape_class& of) const {
  std::uint64_t last = of.used;
  for (const kernel* k : ring_)
    if (k->of.get() == &of) last = std::max(last, k->used_.load(std::memory_order_relaxed));
  return last;
}

bool kernel_table::drop(const shape_class& of) {
  std::vector<kernel*> list;
  for (kernel* k : ring_)
    if (k->of.get() == &of) list.push_back(k);
  if (std::ranges::any_of(list, [](const kernel* k) { return k->is_pinned(); })) return false;
  for (kernel* k : list) unlink(k);
  return true;
}

// What it held of a class goes; its own memory may serve another call.
void kernel_table::retire(std::unique_ptr<kernel> gone) {
  if (gone->is_pinned()) return pinned_.push_back(std::move(gone));
  const bool again = gone->of != nullptr && spare_.size() < most_spare;
  gone->of = nullptr;
  if (gone->code != nullptr && !gone->code->release()) gone->code = nullptr;
  if (again) spare_.push_back(std::move(gone));
}

void kernel_table::reclaim() {
  for (std::size_t k = pinned_.size(); k-- > 0;)
    if (!pinned_[k]->is_pinned()) pinned_.erase(pinned_.begin() + static_cast<std::ptrdiff_t>(k));
  if (left_.empty() && leaving_.empty()) return;
  const std::size_t before = (phase_.load() + 1) % 2;
  for (const readers& r : readers_)
    if ((r.count[before].load() & inside) != 0) return;
  for (auto& k : leaving_) retire(std::move(k));
  leaving_.clear();
  leaving_.swap(left_);
  ++phase_;
}

}  // namespace sheaf::inline v0_1::jit
