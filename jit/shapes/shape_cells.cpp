#include <sheaf/jit/shapes/shape_cells.hpp>

namespace sheaf::inline v0_1::shapes {

bool shape_cells::hold_elsewhere(const decisions& decided, std::span<const std::int64_t> extents) {
  if (!first_asked_.hold(extents)) return false;
  const std::size_t other = decided.first_other(extents);
  if (other == decided.size()) return true;
  if (telling_.size() < most_telling) {
    telling_.push_back(other);
    first_asked_ = decided.only(telling_);
  }
  return false;
}

bool shape_cells::hold(const decisions& decided, std::span<const std::int64_t> first,
                       std::span<const std::int64_t> extents) {
  const std::size_t count = extents.size();
  if (count > most_extents) return decided.hold(extents);
  std::int64_t key[most_extents];
  std::uint64_t hash = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t n = extents[k];
    key[k] = n == first[k] ? n : -1 - std::bit_width(static_cast<std::uint64_t>(n));
    hash = (hash ^ static_cast<std::uint64_t>(key[k])) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  std::unique_ptr<cell>& found = cells_[hash % most];
  if (found == nullptr || !std::equal(key, key + count, found->key.begin(), found->key.end())) {
    std::vector<std::int64_t> low, high;
    for (std::size_t k = 0; k < count; ++k) {
      const auto bits = static_cast<int>(-1 - key[k]);
      low.push_back(key[k] >= 0 ? key[k] : bits == 0 ? 0 : std::int64_t{1} << (bits - 1));
      high.push_back(key[k] >= 0 ? key[k] : static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1));
    }
    found = std::make_unique<cell>(cell{{key, key + count}, decided.open_in(low, high)});
  }
  return found->open.hold(extents);
}

}  // namespace sheaf::inline v0_1::shapes
