// What the host knows of a kernel's loops: how many iterations they have, or have at most, and which of them may be
// tiles.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sheaf/jit/cuda/emit.hpp>

namespace sheaf::inline v0_1::cuda {

// What the host knows of a kernel's bounds: values that are made of constants and extents, as numbers
// of the call or as all that they may be.
template <class Number>
class closed {
 public:
  closed(const ir::module& m, const ir::kernel& k, std::span<const std::vector<Number>> extents)
      : m_(m), k_(k), extents_(extents) {}
  std::optional<Number> operator()(ir::value v) const;

 private:
  const ir::module& m_;
  const ir::kernel& k_;
  std::span<const std::vector<Number>> extents_;
};
struct closed_values : closed<shapes::amount> {
  using closed::closed;
  std::optional<shapes::amount> iterations(const ir::statement& loop) const;
};
using closed_intervals = closed<shapes::interval>;
// The one loop below `loop`, serial or of vectors, whose iterations could be tiles as well: it is all that the body
// does, its range is the same in each iteration, and its iterations tell each other nothing. Null: there is none.
const ir::statement* shared_below(const ir::module& m, const ir::kernel& k, const ir::statement& loop);

// How many iterations the loop has at most, whatever the call and the tile; very many where that is not seen.
std::int64_t most_iterations(const ir::kernel& k, const ir::statement& loop);

}  // namespace sheaf::inline v0_1::cuda
