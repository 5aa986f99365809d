#include <sheaf/runtime/thread_pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sheaf/runtime/processors.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1 {
namespace runtime {
namespace {

// Waking a sleeping thread costs a few microseconds there and back: a loop shorter than this is done sooner alone.
constexpr double least_shared_nanoseconds = 20'000;
constexpr double least_chunk_nanoseconds = 2'000;
constexpr double shortest_chunk_nanoseconds = 500;  // where threads are so many that longer ones would be too few
constexpr int shares_per_thread =
    4;  // a chunk is a thread's share of what is left by so many: the last are the smallest
constexpr std::chrono::microseconds spin_time{50};  // back-to-back loops find their workers awake

thread_local bool inside_a_loop = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as the condition holds, false after spin_time.
template <class Condition>
bool spin_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (condition()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

struct loop {
  sheaf_body body = nullptr;
  const sheaf_call* call = nullptr;
  loop_chunks chunks = {};
};

}  // namespace

loop_chunks::loop_chunks(std::int64_t count, double cost, int threads) : count_(count), threads_(threads) {
  const double each = cost > 0.01 ? cost : 0.01;  // a NaN too
  shared_ = threads > 1 && count > 1 && each * static_cast<double>(count) >= least_shared_nanoseconds;
  // Of many threads each has a few chunks, as far as that pays.
  const double few = static_cast<double>(count) / (static_cast<double>(threads) * shares_per_thread);
  const double wanted = std::clamp(few, shortest_chunk_nanoseconds / each, least_chunk_nanoseconds / each);
  const double least = std::min(wanted, static_cast<double>(count));
  least_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(least));
}

std::int64_t loop_chunks::end_of(std::int64_t begin) const {
  const std::int64_t share = (count_ - begin) / (std::int64_t{threads_} * shares_per_thread);
  return std::min(begin + std::max(least_, share), count_);
}

int loop_chunks::helpers() const {
  return static_cast<int>(std::min<std::int64_t>((count_ - 1) / least_, threads_ - 1));
}

// A loop is offered by filling `offer` and opening the gate; a worker enters by raising the gate's head count while it
// is open. The caller closes the gate when no chunk is left and waits for the head count to fall to zero: only then may
// the offer be written again, so a worker that wakes late finds the gate closed and never sees a stale loop.
struct thread_pool::state {
  static constexpr std::uint32_t open = 1;
  static constexpr std::uint32_t caller_sleeps = 2;
  static constexpr std::uint32_t one_head = 4;

  explicit state(int threads) : size(std::max(threads, 1)) {}

  const int size;
  std::mutex owner;  // held by the caller whose loop is offered
  std::vector<std::thread> workers;
  std::atomic<bool> stopping{false};
  std::atomic<std::int64_t> shared{0};
  loop offer;
  alignas(64) std::atomic<std::uint32_t> epoch{0};  // raised once an offer; sleeping workers wait on it
  std::atomic<int> sleepers{0};
  std::atomic<int> callers{-1};  // processor, as of the last offer
  alignas(64) std::atomic<std::uint32_t> gate{0};
  alignas(64) std::atomic<std::int64_t> next{0};  // first iteration not yet handed out

  // No type of Sheaf's: the names of std::thread's instances have it in them, and are shown by what links this.
  static void run_worker(void* self) { static_cast<state*>(self)->work(); }
  void start() {
    workers.reserve(static_cast<std::size_t>(size - 1));
    try {
      while (static_cast<int>(workers.size()) < size - 1) workers.emplace_back(&run_worker, static_cast<void*>(this));
    } catch (const std::system_error& refused) {
      debug_line(
          1, std::string("thread pool: only ") + std::to_string(workers.size() + 1) + " threads: " + refused.what());
    }
  }

  void take_chunks() {
    const loop mine = offer;
    inside_a_loop = true;
    for (;;) {
      std::int64_t begin = next.load(std::memory_order_relaxed), end = begin;
      do {
        if (begin >= mine.chunks.count()) break;
        end = mine.chunks.end_of(begin);
      } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
      if (begin >= mine.chunks.count()) break;
      mine.body(mine.call, begin, end);
    }
    inside_a_loop = false;
  }

  bool enter() {
    std::uint32_t seen = gate.load(std::memory_order_relaxed);
    while (seen & open)
      if (gate.compare_exchange_weak(seen, seen + one_head, std::memory_order_acquire)) return true;
    return false;
  }

  void leave() {
    const std::uint32_t before = gate.fetch_sub(one_head, std::memory_order_release);
    if (before == (one_head | caller_sleeps)) gate.notify_one();
  }

  void work() {
    std::uint32_t seen = 0;
    processors mine;
    while (!stopping.load()) {
      const auto changed = [&] { return epoch.load(std::memory_order_acquire) != seen; };
      if (!spin_until(changed)) {
        sleepers.fetch_add(1);
        epoch.wait(seen);
        sleepers.fetch_sub(1);
      }
      seen = epoch.load(std::memory_order_acquire);
      mine.leave(callers.load(std::memory_order_relaxed));
      if (!enter()) continue;
      take_chunks();
      leave();
    }
  }

  void wake(int helpers) {
    const int asleep = sleepers.load();
    const int awake = static_cast<int>(workers.size()) - asleep;
    const int wanted = std::min(asleep, helpers - awake);
    if (wanted >= asleep && asleep > 1) return epoch.notify_all();
    for (int i = 0; i < wanted; ++i) epoch.notify_one();
  }

  void close_and_wait() {
    gate.fetch_and(~open, std::memory_order_relaxed);
    if (spin_until([&] { return gate.load(std::memory_order_acquire) == 0; })) return;
    std::uint32_t seen = gate.fetch_or(caller_sleeps, std::memory_order_acquire) | caller_sleeps;
    while (seen != caller_sleeps) {
      gate.wait(seen, std::memory_order_acquire);
      seen = gate.load(std::memory_order_acquire);
    }
    gate.store(0, std::memory_order_relaxed);
  }

  void share(const loop& wanted) {
    if (workers.empty()) start();
    shared.fetch_add(1, std::memory_order_relaxed);
    offer = wanted;
    next.store(0, std::memory_order_relaxed);
    callers.store(processors::here(), std::memory_order_relaxed);
    gate.store(open, std::memory_order_release);
    epoch.fetch_add(1);
    wake(wanted.chunks.helpers());
    take_chunks();
    close_and_wait();
  }

  void stop() {
    stopping.store(true);
    epoch.fetch_add(1);
    epoch.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

thread_pool::thread_pool(int threads) : state_(new state(threads)) {}

thread_pool::~thread_pool() {
  state_->stop();
  delete state_;
}

void thread_pool::rest() {
  const std::lock_guard<std::mutex> held(state_->owner);
  state_->stop();
  state_->workers.clear();
  state_->stopping.store(false);
}

// The old state stays: its threads and locks cannot be ended.
void thread_pool::forget_threads() { state_ = new state(state_->size); }

int thread_pool::threads() const { return state_->size; }
std::int64_t thread_pool::loops_shared() const { return state_->shared.load(std::memory_order_relaxed); }

void thread_pool::run(sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
  if (count <= 0) return;
  const loop_chunks chunks(count, cost, state_->size);
  if (!chunks.are_shared() || inside_a_loop || !state_->owner.try_lock()) return body(call, 0, count);
  const std::lock_guard<std::mutex> held(state_->owner, std::adopt_lock);
  state_->share({body, call, chunks});
}

parallel_hook thread_pool::hook() {
  const auto run = [](void* pool, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
    static_cast<thread_pool*>(pool)->run(body, call, count, cost);
  };
  return {run, this, state_->size};
}

namespace {

std::atomic<const parallel_hook*> hook_in_force{nullptr};

std::atomic<thread_pool*> the_default{nullptr};

void after_fork() {
  inside_a_loop = false;
  if (thread_pool* const pool = the_default.load()) pool->forget_threads();
}

// Never destroyed: a thread that outlives main may still be in a loop.
const parallel_hook& default_hook() {
  static thread_pool* const pool = [] {
    auto* const made = new thread_pool(current_settings().threads);
    the_default.store(made);
    pthread_atfork(nullptr, nullptr, after_fork);
    return made;
  }();
  static const parallel_hook hook = pool->hook();
  return hook;
}

// Never destroyed and only ever longer: a reader may hold any hook that was once set.
const parallel_hook* keep(const parallel_hook& hook) {
  static std::mutex guard;
  static auto* const kept = new std::deque<parallel_hook>;
  const std::lock_guard<std::mutex> lock(guard);
  return &kept->emplace_back(hook);
}

}  // namespace

void rest_default_pool() {
  if (thread_pool* const pool = the_default.load()) pool->rest();
}

}  // namespace runtime

void set_parallel_hook(const parallel_hook& hook) {
  runtime::hook_in_force.store(runtime::keep(hook), std::memory_order_release);
}

parallel_hook current_parallel_hook() {
  const parallel_hook* hook = runtime::hook_in_force.load(std::memory_order_acquire);
  return hook ? *hook : runtime::default_hook();
}

}  // namespace sheaf::inline v0_1
