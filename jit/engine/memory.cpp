#include <sheaf/jit/engine/memory.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/jit/tuning/tuning.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr int most_dimensions = 17;           // two arrays of rank 8, and the bytes of an element
using tuning::checks::most_steps;

struct dimension {
  std::int64_t stride = 0, low = 0, high = 0;  // stride > 0; what its position may be
};

// Whether start + the sum of position * stride can be 0: by stride, largest first, where what is left must be within
// what the smaller ones span. Where strides nest that leaves one position each.
class meeting {
 public:
  void add(std::int64_t stride, std::int64_t low, std::int64_t high) {
    if (stride < 0) return add(-stride, -high, -low);
    for (int d = 0; d < count_; ++d)
      if (list_[d].stride == stride) {
        list_[d].low += low, list_[d].high += high;
        return;
      }
    list_[count_++] = {stride, low, high};
  }
  // beside: other than by all positions 0.
  bool exists(std::int64_t start, bool beside) {
    std::sort(list_, list_ + count_, [](const dimension& a, const dimension& b) { return a.stride > b.stride; });
    for (int d = count_ - 1; d >= 0; --d) {
      least_[d] = least_[d + 1] + list_[d].stride * list_[d].low;
      most_[d] = most_[d + 1] + list_[d].stride * list_[d].high;
    }
    if (count_ > 1 && !divides(start)) return false;
    return from(0, start, !beside);
  }

 private:
  static std::int64_t floor(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

  // Positions of all dimensions but the smallest move by multiples of their strides' divisor.
  bool divides(std::int64_t start) const {
    std::int64_t divisor = 0;
    for (int d = 0; d + 1 < count_; ++d) divisor = std::gcd(divisor, list_[d].stride);
    const dimension& small = list_[count_ - 1];
    const std::int64_t first = -start - small.stride * small.high, last = -start - small.stride * small.low;
    return floor(last, divisor) * divisor >= first;
  }
  bool from(int d, std::int64_t moved, bool differs) {
    if (++steps_ > most_steps) return true;
    if (d == count_) return differs && moved == 0;
    const auto [stride, low, high] = list_[d];
    const std::int64_t first = std::max(low, -floor(moved + most_[d + 1], stride));
    const std::int64_t last = std::min(high, floor(-moved - least_[d + 1], stride));
    for (std::int64_t k = first; k <= last; ++k)
      if (from(d + 1, moved + k * stride, differs || k != 0)) return true;
    return false;
  }

  dimension list_[most_dimensions];
  int count_ = 0;
  std::int64_t least_[most_dimensions + 1] = {}, most_[most_dimensions + 1] = {};
  std::int64_t steps_ = 0;
};

bool has_elements(const sheaf_tensor& t, int rank) {
  for (int d = 0; d < rank; ++d)
    if (t.extents[d] <= 0) return false;
  return true;
}

// Bytes [first, last) hold all elements of an array; last <= first where there are none.
struct byte_range {
  std::int64_t first, last;
  bool meets(const byte_range& b) const { return first < b.last && b.first < last; }
};

// False where an i64 does not hold a product of extents, or the bytes from the first element to the last, so that what
// is computed of them would wrap around.
bool find_range_of_any(const sheaf_tensor& t, int rank, std::int64_t element_bytes, byte_range& r) {
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(t.data));
  r = {at, at};
  std::int64_t low = 0, high = 0, bytes = element_bytes, reach = 0;
  bool wraps = false, empty = false;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t n = t.extents[d];
    std::int64_t& end = t.strides[d] < 0 ? low : high;
    empty = empty || n <= 0;
    wraps = wraps || __builtin_mul_overflow(bytes, n, &bytes) ||
            __builtin_mul_overflow(n - 1, t.strides[d], &reach) ||
            __builtin_mul_overflow(reach, element_bytes, &reach) || __builtin_add_overflow(end, reach, &end);
  }
  if (empty) return true;
  if (wraps || __builtin_sub_overflow(high, low, &reach)) return false;
  r = {at + low, at + high + element_bytes};
  return true;
}

// Of a list of less than 2^29 elements, less than so many apart, nothing can wrap.
[[gnu::always_inline]] inline bool find_range(const sheaf_tensor& t, int rank, std::int64_t element_bytes,
                                              byte_range& r) {
  if (rank != 1 || static_cast<std::uint64_t>(t.extents[0] | t.strides[0]) >= std::uint64_t{1} << 29)
    return find_range_of_any(t, rank, element_bytes, r);
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(t.data));
  const std::int64_t bytes = ((t.extents[0] - 1) * t.strides[0] + 1) * element_bytes;
  r = {at, t.extents[0] == 0 ? at : at + bytes};
  return true;
}

struct memory_region {
  const sheaf_tensor* tensor;
  int rank;
  std::int64_t element_bytes, at;
  byte_range bytes;
};

// Those of a call by slot: bytes are found where they are checked; of slots beyond a few found anew.
class memory_regions {
 public:
  explicit memory_regions(const graph& g, const sheaf_tensor* tensors) : g_(g), tensors_(tensors) {}
  int rank(int s) const { return s < inputs() ? g_.inputs[s].rank : tensor_rank(g_, g_.outputs[s - inputs()]); }
  element type(int s) const { return s < inputs() ? g_.inputs[s].type : g_.type(g_.outputs[s - inputs()]); }
  int inputs() const { return g_.inputs.size(); }
  bool find(int s) { return find_range(tensors_[s], rank(s), row(type(s)).bytes, s < few ? found_[s] : spare_); }
  // Of a slot that was found.
  byte_range bytes(int s) const {
    if (s < few) return found_[s];
    byte_range made;
    find_range(tensors_[s], rank(s), row(type(s)).bytes, made);
    return made;
  }
  memory_region at(int s) const {
    const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensors_[s].data));
    return {&tensors_[s], rank(s), row(type(s)).bytes, first, bytes(s)};
  }

 private:
  static constexpr int few = 24;
  const graph& g_;
  const sheaf_tensor* tensors_;
  byte_range found_[few], spare_;  // a call has no time to fill them
};

bool share_places(const memory_region& a, const memory_region& b) {
  meeting both;
  both.add(1, 1 - b.element_bytes, a.element_bytes - 1);
  for (int d = 0; d < a.rank; ++d)
    if (a.tensor->extents[d] > 1 && a.tensor->strides[d] != 0)
      both.add(a.tensor->strides[d] * a.element_bytes, 0, a.tensor->extents[d] - 1);
  for (int d = 0; d < b.rank; ++d)
    if (b.tensor->extents[d] > 1 && b.tensor->strides[d] != 0)
      both.add(b.tensor->strides[d] * b.element_bytes, 1 - b.tensor->extents[d], 0);
  return both.exists(a.at - b.at, false);
}
// Row-major, with gaps or without: by far the most outputs.
bool is_nested(const sheaf_tensor& t, int rank) {
  std::int64_t reach = 0;
  for (int d = rank - 1; d >= 0; --d) {
    if (t.extents[d] <= 1) continue;
    if (std::abs(t.strides[d]) <= reach) return false;
    reach += std::abs(t.strides[d]) * (t.extents[d] - 1);
  }
  return true;
}

void check_own_places(const graph& g, const memory_region& r, int slot) {
  const sheaf_tensor& t = *r.tensor;
  if (r.bytes.last <= r.bytes.first) return;
  const auto complain = [&](const std::string& found) {
    runtime::fail(code::bad_argument, "output " + slot_text(g, slot), "a place for each element", found);
  };
  meeting own;
  for (int d = 0; d < r.rank; ++d) {
    if (t.extents[d] == 1) continue;
    if (t.strides[d] == 0) complain("stride 0 in dimension " + std::to_string(d));
    for (int e = 0; e < d; ++e)
      if (t.extents[e] > 1 && std::abs(t.strides[e]) == std::abs(t.strides[d]))
        complain("strides of equal size in dimensions " + std::to_string(e) + " and " + std::to_string(d));
    own.add(t.strides[d], 1 - t.extents[d], t.extents[d] - 1);
  }
  if (own.exists(0, true)) complain("elements that share one");
}

// The same elements in the same places.
bool are_same(const memory_region& a, const memory_region& b) {
  if (a.at != b.at || a.rank != b.rank || a.element_bytes != b.element_bytes) return false;
  for (int d = 0; d < a.rank; ++d) {
    const std::int64_t n = a.tensor->extents[d];
    if (n != b.tensor->extents[d] || (n > 1 && a.tensor->strides[d] != b.tensor->strides[d])) return false;
  }
  return true;
}

}  // namespace

int check_memory(const graph& g, const sheaf_tensor* tensors, bool runs, std::int64_t* key, int size) {
  memory_regions regions(g, tensors);
  const int inputs = g.inputs.size(), slots = inputs + g.outputs.size();
  for (int s = 0; s < slots; ++s) {
    if (tensors[s].extents == nullptr) continue;
    const auto what = [&] { return (s < inputs ? "argument " : "output ") + slot_text(g, s); };
    for (int d = 0; d < regions.rank(s); ++d)
      if (tensors[s].extents[d] < 0)
        runtime::fail(code::bad_argument, what() + ", dimension " + std::to_string(d), "an extent of at least 0",
                      std::to_string(tensors[s].extents[d]));
    if (!regions.find(s)) runtime::fail(code::bad_argument, what(), "fewer than 2^63 bytes", "more");
    if (runs && tensors[s].data == nullptr && has_elements(tensors[s], regions.rank(s)))
      runtime::fail(code::bad_argument, what(), "memory for its elements", "a null pointer");
  }
  for (int o = inputs; o < slots; ++o) {
    if (tensors[o].extents == nullptr || tensors[o].data == nullptr) continue;
    const byte_range bytes = regions.bytes(o);
    if (runs && !is_nested(tensors[o], regions.rank(o))) check_own_places(g, regions.at(o), o);
    for (int s = 0; s < o; ++s) {
      if (tensors[s].extents == nullptr || !bytes.meets(regions.bytes(s))) continue;
      const memory_region own = regions.at(o), other = regions.at(s);
      if (!share_places(own, other)) continue;
      const bool is_update =
          s < inputs && regions.type(s) == regions.type(o) && are_same(own, other) && size < key_capacity;
      if (is_update)
        key[size++] = word_of({s, o - inputs});
      else if (runs)
        runtime::fail(code::bad_argument, "output " + slot_text(g, o), "memory of its own",
                      "memory of " + slot_text(g, s));
    }
  }
  return size;
}

}  // namespace sheaf::inline v0_1::jit
