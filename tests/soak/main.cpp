// Random programs come and go, and are called with sizes that change, for so many seconds: the memory that is left
// between calls must not grow. scripts/soak runs it for ten minutes, ctest for a few seconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include <sheaf/runtime/error.hpp>

#include "../fuzz/author.hpp"
#include "../fuzz/run.hpp"
#include "support/resident.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::fuzz;

constexpr std::size_t programs = 12;
constexpr std::int64_t most_work = 1000000;  // elements of a space of all indices of a call
constexpr int turns_of_a_sample = 30;

// In kilobytes. What is allocated is what grows where something is never freed; pages of freed blocks between others
// stay resident after a program that was larger than all before.
struct memory {
  long resident = 0, allocated = 0;
};

struct living {
  fuzz::program source;
  graph g;
  std::unique_ptr<runnable> code;
};

std::unique_ptr<living> born(std::uint64_t seed) {
  auto p = std::make_unique<living>();
  p->source = generate(seed);
  try {
    p->g = parsed(fuzz::text_of(p->source));
  } catch (const std::length_error&) {
    return nullptr;  // more than 256 indices: the language refuses it
  }
  if (p->g.failed() || !fits(p->g)) return nullptr;
  p->code = std::make_unique<runnable>(p->g, jit::backend::chosen);
  return p;
}

// Sizes that change, mostly small. Their product is bounded, so that no call takes longer than all others together.
void draw_sizes(std::vector<std::int64_t>& sizes, std::mt19937_64& random) {
  for (std::int64_t& n : sizes)
    if (random() % 2 == 0) n = static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 300 : 24));
  const auto work = [&] {
    std::int64_t product = 1;
    for (const std::int64_t n : sizes) product *= std::max<std::int64_t>(n, 1);
    return product;
  };
  while (work() > most_work) *std::max_element(sizes.begin(), sizes.end()) /= 2;
}

// Is it what a program refuses sizes for? What else fails, such as the code generator, would leave nothing to grow.
bool is_of_sizes(sheaf::code kind) {
  return kind <= sheaf::code::empty_reduction || kind == sheaf::code::unsupported || kind == sheaf::code::out_of_memory;
}

class soak {
 public:
  explicit soak(std::uint64_t seed) : random_(seed) {}

  void turn() {
    auto& p = alive_[random_() % programs];
    if (p == nullptr || random_() % 40 == 0) {
      p = born(random_() % 100000000);
      ++born_;
      return;
    }
    fuzz::program sized = p->source;
    draw_sizes(sized.sizes, random_);
    try {
      const fuzz::arguments a = draw_arguments(sized, random_());
      const outcome result = (*p->code)(a, p->code->extents(a));
      ++calls_;
      failed_ += result.failed;
      if (!result.damage.empty()) std::printf("damage: %s\n", result.damage.c_str()), damaged_ = true;
    } catch (const sheaf::error& e) {
      ++failed_;
      if (!is_of_sizes(e.code())) std::printf("failed: %s\n", e.what()), damaged_ = true;
    }
  }
  // Without the programs that happen to be alive.
  memory left() {
    for (auto& p : alive_) p = nullptr;
    return {bench::resident_kilobytes(), bench::allocated_kilobytes()};
  }
  bool damaged() const { return damaged_ || calls_ == 0; }
  void tell(double seconds, memory m) const {
    std::printf("%6.0f s: %ld programs, %ld calls, %ld refused, %ld kB allocated, %ld resident\n", seconds, born_,
                calls_, failed_, m.allocated, m.resident);
    std::fflush(stdout);
  }

 private:
  std::mt19937_64 random_;
  std::unique_ptr<living> alive_[programs];
  long born_ = 0, calls_ = 0, failed_ = 0;
  bool damaged_ = false;
};

}  // namespace

// soak SECONDS [SEED]
int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 10;
  soak s(count > 2 ? static_cast<std::uint64_t>(std::atoll(words[2])) : 1);
  const auto start = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  constexpr int samples = 20;
  std::vector<long> sizes;
  long resident = 0;
  while (static_cast<int>(sizes.size()) < samples) {
    // By turns too: a sample without any says nothing of what turns leave behind.
    for (int turns = 0; turns < turns_of_a_sample || since() < seconds * double(sizes.size() + 1) / samples; ++turns)
      s.turn();
    const memory left = s.left();
    sizes.push_back(left.allocated);
    resident = left.resident;
    s.tell(since(), left);
  }
  // The first quarter sets up what stays: pages of the code generator, of its statics, of the allocator.
  constexpr int quarter = samples / 4;
  const long before = *std::max_element(sizes.begin() + quarter, sizes.begin() + 2 * quarter);
  const long after = *std::min_element(sizes.end() - quarter, sizes.end());
  const bool flat = after <= before + resident / 50;
  std::printf("memory %s: %ld kB, then %ld kB\n", flat ? "is flat" : "GROWS", before, after);
  return flat && !s.damaged() ? 0 : 1;
}
