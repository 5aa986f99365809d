// A growing array and a set of indices for constant evaluation. std::vector serves too, but costs several times more
// evaluation steps per access on g++ 12 and clang 19, and its header.
#pragma once
#include <cstdint>

namespace sheaf::inline v0_1 {

template <class T>
class flat {
 public:
  // Open to the graph's innermost accessors: in constant evaluation a call of operator[] costs as much as ten
  // additions.
  T* items = nullptr;

  constexpr flat() = default;
  constexpr flat(const flat& other) { *this = other; }
  constexpr flat(flat&& other) noexcept : items(other.items), size_(other.size_), capacity_(other.capacity_) {
    other.items = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr flat& operator=(const flat& other) {
    if (this == &other) return *this;
    size_ = 0;
    reserve(other.size_);
    for (int i = 0; i < other.size_; ++i) items[i] = other.items[i];
    size_ = other.size_;
    return *this;
  }
  constexpr flat& operator=(flat&& other) noexcept {
    T* data = items;
    items = other.items;
    other.items = data;
    size_ = other.size_;
    const int capacity = capacity_;
    capacity_ = other.capacity_;
    other.capacity_ = capacity;
    return *this;
  }
  constexpr ~flat() { delete[] items; }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](int i) { return items[i]; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T& back() { return items[size_ - 1]; }
  constexpr const T* data() const { return items; }
  constexpr T* data() { return items; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size_; }
  constexpr void clear() { size_ = 0; }
  constexpr void pop() { --size_; }

  constexpr int push(const T& value) {
    if (size_ == capacity_) {
      const T kept = value;  // value may live in the array that grows
      reserve(capacity_ < 2 ? 4 : 2 * capacity_);
      items[size_] = kept;
    } else {
      items[size_] = value;
    }
    return size_++;
  }
  constexpr void resize(int size, const T& value) {
    reserve(size);
    for (int i = size_; i < size; ++i) items[i] = value;
    size_ = size;
  }
  constexpr bool contains(const T& value) const {
    for (int i = 0; i < size_; ++i)
      if (items[i] == value) return true;
    return false;
  }

 private:
  constexpr void reserve(int capacity) {
    if (capacity <= capacity_) return;
    T* grown = new T[static_cast<unsigned>(capacity)];
    for (int i = 0; i < size_; ++i) grown[i] = items[i];
    delete[] items;
    items = grown;
    capacity_ = capacity;
  }

  int size_ = 0;
  int capacity_ = 0;
};

// A set of index ordinals. A program has at most 256 different indices; its plan may make others.
struct index_set {
  static constexpr int capacity = 512, of_program = 256;
  std::uint64_t words[8] = {0, 0, 0, 0, 0, 0, 0, 0};

  constexpr bool has(int i) const { return (words[i >> 6] >> (i & 63)) & 1; }
  constexpr void insert(int i) { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
  constexpr void erase(int i) { words[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }
  constexpr bool empty() const {
    return (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) == 0;
  }
  constexpr index_set& operator|=(const index_set& o) {
    words[0] |= o.words[0];
    words[1] |= o.words[1];
    words[2] |= o.words[2];
    words[3] |= o.words[3];
    words[4] |= o.words[4];
    words[5] |= o.words[5];
    words[6] |= o.words[6];
    words[7] |= o.words[7];
    return *this;
  }
  constexpr index_set without(const index_set& o) const {
    return {{words[0] & ~o.words[0], words[1] & ~o.words[1], words[2] & ~o.words[2], words[3] & ~o.words[3],
             words[4] & ~o.words[4], words[5] & ~o.words[5], words[6] & ~o.words[6], words[7] & ~o.words[7]}};
  }
  constexpr index_set common(const index_set& o) const {
    return {{words[0] & o.words[0], words[1] & o.words[1], words[2] & o.words[2], words[3] & o.words[3],
             words[4] & o.words[4], words[5] & o.words[5], words[6] & o.words[6], words[7] & o.words[7]}};
  }
  constexpr bool within(const index_set& o) const { return without(o).empty(); }
  constexpr bool meets(const index_set& o) const { return !common(o).empty(); }
  constexpr bool operator==(const index_set&) const = default;
};

}  // namespace sheaf::inline v0_1
