#include <sheaf/jit/engine/machine.hpp>

#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/runtime/kernel_cache.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr std::int64_t piece_bytes = 1 << 20;

double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The least of several: what disturbs a run makes it longer.
template <class Work>
double nanoseconds_of(int times, Work work) {
  double least = 1e18;
  for (int k = 0; k < times; ++k) {
    const double start = now();
    work();
    least = std::min(least, now() - start);
  }
  return least;
}

// Pages of two halves: one to read, one to write.
class buffer {
 public:
  explicit buffer(std::int64_t half) : half_(half) {
    void* made =
        mmap(nullptr, static_cast<std::size_t>(2 * half), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return;
    bytes_ = static_cast<char*>(made);
    madvise(bytes_, static_cast<std::size_t>(2 * half), MADV_HUGEPAGE);
    for (std::int64_t at = 0; at < 2 * half; at += 4096) bytes_[at] = 1;
  }
  ~buffer() {
    if (bytes_ != nullptr) munmap(bytes_, static_cast<std::size_t>(2 * half_));
  }
  buffer(const buffer&) = delete;
  explicit operator bool() const { return bytes_ != nullptr; }
  std::int64_t pieces() const { return half_ / piece_bytes; }
  const __m128i* from(std::int64_t piece) const {
    return reinterpret_cast<const __m128i*>(bytes_ + piece * piece_bytes);
  }
  __m128i* to(std::int64_t piece) const { return reinterpret_cast<__m128i*>(bytes_ + half_ + piece * piece_bytes); }

 private:
  char* bytes_ = nullptr;
  std::int64_t half_;
};

const buffer* walked = nullptr;  // by the loops below; one measurement at a time
volatile int sink = 0;           // so that what is read is asked for

void read_pieces(const sheaf_call*, std::int64_t first, std::int64_t last) {
  __m128i sum[4] = {};
  for (std::int64_t p = first; p < last; ++p)
    for (const __m128i *x = walked->from(p), *end = x + piece_bytes / 16; x < end; x += 4)
      for (int k = 0; k < 4; ++k) sum[k] = _mm_xor_si128(sum[k], _mm_load_si128(x + k));
  sink = _mm_cvtsi128_si32(_mm_xor_si128(_mm_xor_si128(sum[0], sum[1]), _mm_xor_si128(sum[2], sum[3])));
}
void write_pieces(const sheaf_call*, std::int64_t first, std::int64_t last) {
  const __m128i ones = _mm_set1_epi32(1);
  for (std::int64_t p = first; p < last; ++p)
    for (__m128i *y = walked->to(p), *end = y + piece_bytes / 16; y < end; ++y) _mm_stream_si128(y, ones);
  _mm_sfence();
}
void copy_pieces(const sheaf_call*, std::int64_t first, std::int64_t last) {
  for (std::int64_t p = first; p < last; ++p) {
    const __m128i* x = walked->from(p);
    for (__m128i *y = walked->to(p), *end = y + piece_bytes / 16; y < end; ++x, ++y)
      _mm_stream_si128(y, _mm_load_si128(x));
  }
  _mm_sfence();
}
void nothing(const sheaf_call*, std::int64_t, std::int64_t) {}

// Bytes a nanosecond, by one thread and by all.
void bandwidth(sheaf_body body, std::int64_t bytes, double& one, double& all) {
  const parallel_hook hook = current_parallel_hook();
  const std::int64_t pieces = walked->pieces();
  one = static_cast<double>(bytes) / nanoseconds_of(3, [&] { body(nullptr, 0, pieces); });
  all = one;
  if (hook.run != nullptr)
    all = static_cast<double>(bytes) / nanoseconds_of(3, [&] { hook.run(hook.pool, body, nullptr, pieces, 1e6); });
}

// Threads sleep again after some time, so each round waits until they do.
double wake_time(double otherwise) {
  const parallel_hook hook = current_parallel_hook();
  if (hook.run == nullptr || hook.threads < 2) return otherwise;
  std::vector<double> rounds;
  for (int k = 0; k < 9; ++k) {
    usleep(200);
    const double start = now();
    hook.run(hook.pool, nothing, nullptr, hook.threads, 1e6);
    rounds.push_back(now() - start);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

// A weight of 1 is a load and what goes with it, an element at a time: a chain of four additions in the nearest cache.
double operation_time() {
  static float values[1024];
  constexpr int rounds = 64;
  volatile float* x = values;
  const double taken = nanoseconds_of(5, [&] {
    for (int r = 0; r < rounds; ++r)
      for (int k = 0; k < 1024; ++k) x[k] = x[k] + 1;
  });
  return taken / (rounds * 1024.0);
}

}  // namespace

double cache_bytes(int level, const std::string& folder) {
  for (int k = 0;; ++k) {
    const std::string entry = folder + "/index" + std::to_string(k);
    std::ifstream level_file(entry + "/level"), size_file(entry + "/size"), type_file(entry + "/type");
    int of = 0;
    if (!(level_file >> of)) return 0;
    double size = 0;
    std::string unit, type;
    if (of != level || !(type_file >> type) || type == "Instruction" || !(size_file >> size)) continue;
    size_file >> unit;
    return size * (unit == "K" ? 1024 : unit == "M" ? 1 << 20 : 1);
  }
}

plan::machine measured_machine() {
  plan::machine m;
  if (const double second = cache_bytes(2); second > 0) m.second_cache = m.last_cache = second;
  if (const double third = cache_bytes(3); third > 0) m.last_cache = third;
  m.wake = wake_time(m.wake);
  m.operation = operation_time();
  // Twice the last cache, but no more pages than a few milliseconds touch.
  const double half = std::clamp(2 * m.last_cache, double{16 << 20}, double{64 << 20});
  const std::int64_t bytes = static_cast<std::int64_t>(half) / piece_bytes * piece_bytes;
  const buffer memory(bytes);
  if (!memory) return m;
  walked = &memory;
  bandwidth(read_pieces, bytes, m.read_one, m.read_all);
  bandwidth(write_pieces, bytes, m.write_one, m.write_all);
  bandwidth(copy_pieces, 2 * bytes, m.copy_one, m.copy_all);
  walked = nullptr;
  return m;
}

const plan::machine& this_machine() {
  static const plan::machine once = [] {
    const auto& cache = runtime::default_kernel_cache();
    const runtime::cache_state state = cache.state();
    if (state == runtime::cache_state::off || state == runtime::cache_state::not_trusted) return plan::machine{};
    const std::string key = "machine, second form\n" + processor_key("") + "\n" +
                            std::to_string(current_parallel_hook().threads) + " threads";
    if (const auto kept = cache.find(key)) return plan::machine_of(std::string(kept->begin(), kept->end()));
    if (state != runtime::cache_state::on) return plan::machine{};
    const double start = now();
    const std::string text = text_of(measured_machine());
    cache.store(key, text.data(), text.size());
    runtime::debug_line(2, "measured this machine in " + std::to_string((now() - start) * 1e-6) + " ms\n" + text);
    return plan::machine_of(text);
  }();
  return once;
}

}  // namespace sheaf::inline v0_1::jit
