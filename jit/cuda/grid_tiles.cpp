#include <sheaf/jit/cuda/grid_tiles.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

void make(std::int64_t n, shapes::amount& made) { made = n; }
void make(std::int64_t n, shapes::interval& made) { made = {static_cast<double>(n), static_cast<double>(n)}; }
template <class Number>
Number number(std::int64_t n) {
  Number made;
  return make(n, made), made;
}
using shapes::applied;
shapes::interval applied(op what, const shapes::interval* of) {
  return shapes::enclosed(row(what).integer, of[0], of[1], of[2]);
}

}  // namespace

template <class Number>
std::optional<Number> closed<Number>::operator()(ir::value v) const {
  const ir::instruction& i = k_.instructions[static_cast<std::size_t>(v)];
  if (is_floating(i.type)) return std::nullopt;
  if (i.code == ir::opcode::constant) return number<Number>(i.bits);
  if (i.code == ir::opcode::extent) {
    const ir::buffer& b = m_.buffers[static_cast<std::size_t>(i.target)];
    const auto d = static_cast<std::size_t>(i.dimension);
    if (d < b.extents.size() && b.extents[d] >= 0) return number<Number>(b.extents[d]);
    if (b.slot < 0 || static_cast<std::size_t>(b.slot) >= extents_.size()) return std::nullopt;
    return extents_[static_cast<std::size_t>(b.slot)][d];
  }
  if (i.code != ir::opcode::elementwise || i.vector || row(i.what).integer == nullptr) return std::nullopt;
  Number x[3] = {number<Number>(0), number<Number>(0), number<Number>(0)};
  for (std::size_t n = 0; n < i.args.size(); ++n) {
    const auto known = (*this)(i.args[n]);
    if (!known) return std::nullopt;
    x[n] = *known;
  }
  return applied(i.what, x);
}
template class closed<shapes::amount>;
template class closed<shapes::interval>;

std::optional<shapes::amount> closed_values::iterations(const ir::statement& loop) const {
  const auto low = (*this)(loop.low), high = (*this)(loop.high);
  if (!low || !high) return std::nullopt;
  const shapes::amount count = max(*high - *low, 0);
  if (loop.how_loop != ir::loop_kind::vector) return count;
  const shapes::amount vectors[3] = {count + (loop.lanes - 1), loop.lanes, 0};
  return shapes::applied(op::quotient, vectors);
}

namespace {

constexpr std::int64_t unbounded = std::int64_t{1} << 40;

// How much larger `high` is than `low` at most, by what both have in common: [max(0, x), min(3, x + n)) is of 3.
class differences {
 public:
  explicit differences(const ir::kernel& k) : k_(k) {}

  std::int64_t operator()(ir::value high, ir::value low, int depth = 8) const {
    if (high == low) return 0;
    if (depth-- == 0) return unbounded;
    const ir::instruction &h = at(high), &l = at(low);
    if (is_constant(high) && is_constant(low)) return clamped(h.bits - l.bits);
    const auto over_both = [&](const ir::instruction& i, bool of_high, bool least) {
      const auto one = [&](std::size_t n) {
        return of_high ? (*this)(i.args[n], low, depth) : (*this)(high, i.args[n], depth);
      };
      return least ? std::min(one(0), one(1)) : std::max(one(0), one(1));
    };
    if (is(h, op::minimum) || is(h, op::maximum)) return over_both(h, true, h.what == op::minimum);
    if (is(l, op::maximum) || is(l, op::minimum)) return over_both(l, false, l.what == op::maximum);
    std::int64_t n = 0;
    if (const ir::value x = without_constant(high, n); x != high) return clamped((*this)(x, low, depth) + n);
    if (const ir::value x = without_constant(low, n); x != low) return clamped((*this)(high, x, depth) - n);
    const bool quotients = is(h, op::quotient) && is(l, op::quotient) && h.args[1] == l.args[1];
    if (!quotients || !is_constant(h.args[1]) || at(h.args[1]).bits < 1) return unbounded;
    const std::int64_t by = at(h.args[1]).bits, apart = (*this)(h.args[0], l.args[0], depth);
    return apart >= unbounded ? unbounded : apart < 0 ? 0 : (apart + by - 1) / by;
  }

 private:
  const ir::instruction& at(ir::value v) const { return k_.instructions[static_cast<std::size_t>(v)]; }
  bool is_constant(ir::value v) const { return at(v).code == ir::opcode::constant; }
  static bool is(const ir::instruction& i, op what) {
    return i.code == ir::opcode::elementwise && i.what == what && !i.vector;
  }
  static std::int64_t clamped(std::int64_t n) { return std::clamp(n, -unbounded, unbounded); }
  // x of x + n.
  ir::value without_constant(ir::value v, std::int64_t& n) const {
    const ir::instruction& i = at(v);
    if (!is(i, op::add)) return v;
    for (std::size_t k = 0; k < 2; ++k)
      if (is_constant(i.args[k])) return n = clamped(at(i.args[k]).bits), i.args[1 - k];
    return v;
  }
  const ir::kernel& k_;
};

}  // namespace

std::int64_t most_iterations(const ir::kernel& k, const ir::statement& loop) {
  return differences(k)(loop.high, loop.low);
}

namespace {

// Constants, extents, and what is computed from them: the same wherever it is made.
bool is_closed(const ir::kernel& k, ir::value v) {
  const ir::instruction& i = k.instructions[static_cast<std::size_t>(v)];
  if (i.code == ir::opcode::constant || i.code == ir::opcode::extent) return true;
  return i.code == ir::opcode::elementwise &&
         std::all_of(i.args.begin(), i.args.end(), [&](ir::value x) { return is_closed(k, x); });
}

// Buffers that a body loads and stores: its iterations may read what others wrote.
void find_accesses(const ir::kernel& k, const ir::block& body, std::vector<bool>& loaded, std::vector<bool>& stored) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store) stored[static_cast<std::size_t>(s.target)] = true;
    if (s.kind == ir::statement_kind::copy)
      loaded[static_cast<std::size_t>(s.target)] = stored[static_cast<std::size_t>(s.to)] = true;
    if (s.kind == ir::statement_kind::instruct)
      if (const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)]; i.code == ir::opcode::load)
        loaded[static_cast<std::size_t>(i.target)] = true;
    find_accesses(k, s.body, loaded, stored);
  }
}

bool is_pure(ir::opcode code) {
  return code == ir::opcode::elementwise || code == ir::opcode::constant || code == ir::opcode::extent ||
         code == ir::opcode::counter || code == ir::opcode::load;
}

}  // namespace

const ir::statement* shared_below(const ir::module& m, const ir::kernel& k, const ir::statement& loop) {
  if (loop.how_loop == ir::loop_kind::vector) return nullptr;
  const ir::statement* found = nullptr;
  for (const ir::statement& s : loop.body) {
    if (s.kind == ir::statement_kind::prefetch) continue;
    if (s.kind == ir::statement_kind::instruct) {
      if (!is_pure(k.instructions[static_cast<std::size_t>(s.id)].code)) return nullptr;
      continue;
    }
    if (found != nullptr || s.kind != ir::statement_kind::loop || s.backward) return nullptr;
    if (s.how_loop != ir::loop_kind::serial && s.how_loop != ir::loop_kind::vector) return nullptr;
    found = &s;
  }
  if (found == nullptr || !is_closed(k, found->low) || !is_closed(k, found->high)) return nullptr;
  std::vector<bool> loaded(m.buffers.size()), stored(m.buffers.size());
  find_accesses(k, loop.body, loaded, stored);
  for (std::size_t b = 0; b < loaded.size(); ++b)
    if (loaded[b] && stored[b]) return nullptr;
  return found;
}

}  // namespace sheaf::inline v0_1::cuda
