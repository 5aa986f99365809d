// Conditions of lanes. Places of 64 bits would make eight registers of one for 64 lanes, and masks of eight lanes each
// are put together before they serve: where an end of a range is compared with places, twice the time of a masked copy.
// Where masks are no registers, a mask is as wide as what it chooses between, and the `and` of two is packed into bytes
// and deinterleaved again.
#include <algorithm>
#include <optional>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

constexpr std::int64_t farthest = std::int64_t{1} << 50;  // of any place
constexpr std::int64_t widest = std::int64_t{1} << 30;    // of a gap between places, in 32 bits
constexpr std::int64_t most = 1 << 10;                    // of what places are multiplied with or divided by

// Lane k is the place (first + beyond[k]) / by, rounded down, + more.
struct places {
  Value* first = nullptr;
  std::vector<std::int64_t> beyond;
  std::int64_t by = 1;
  Value* more = nullptr;
  bool uniform() const {
    return by == 1 && std::all_of(beyond.begin(), beyond.end(), [](std::int64_t k) { return k == 0; });
  }
};

const ConstantInt* small_factor(const function_emitter& f, ir::value v) {
  const auto* n = f.instruction(v).vector ? nullptr : dyn_cast<ConstantInt>(f.values[static_cast<std::size_t>(v)]);
  return n != nullptr && n->getSExtValue() > 0 && n->getSExtValue() <= most ? n : nullptr;
}

std::optional<places> places_of(function_emitter& f, ir::value v);

std::optional<places> sum_of(function_emitter& f, const ir::instruction& i) {
  auto& b = f.build;
  const bool minus = i.what == op::sub;
  auto x = places_of(f, i.args[0]), y = places_of(f, i.args[1]);
  if (!x || !y || (minus && y->by != 1)) return std::nullopt;
  if (!minus && y->by != 1) std::swap(x, y);
  if (x->by != 1) {
    if (!y->uniform()) return std::nullopt;
    x->more = minus ? b.CreateSub(x->more, y->first) : b.CreateAdd(x->more, y->first);
    return x;
  }
  x->first = minus ? b.CreateSub(x->first, y->first) : b.CreateAdd(x->first, y->first);
  for (std::size_t k = 0; k < x->beyond.size(); ++k) x->beyond[k] += minus ? -y->beyond[k] : y->beyond[k];
  return x;
}

std::optional<places> places_of(function_emitter& f, ir::value v) {
  auto& b = f.build;
  const ir::instruction& i = f.instruction(v);
  places r{.beyond = std::vector<std::int64_t>(static_cast<std::size_t>(f.lanes))};
  if (!i.vector) {
    r.first = f.values[static_cast<std::size_t>(v)];
    return r;
  }
  if (i.code == ir::opcode::lanes) {
    r.first = f.counters[static_cast<std::size_t>(i.target)];
    for (std::size_t k = 0; k < r.beyond.size(); ++k) r.beyond[k] = static_cast<std::int64_t>(k);
    return r;
  }
  if (i.code != ir::opcode::elementwise || i.type != element::i64) return std::nullopt;
  if (i.what == op::add || i.what == op::sub) return sum_of(f, i);
  if (i.what != op::mul && i.what != op::quotient) return std::nullopt;
  const int factor_at = i.what == op::mul && f.instruction(i.args[1]).vector ? 0 : 1;
  const ConstantInt* const factor = small_factor(f, i.args[static_cast<std::size_t>(factor_at)]);
  if (factor == nullptr) return std::nullopt;
  auto x = places_of(f, i.args[static_cast<std::size_t>(1 - factor_at)]);
  if (!x || x->by != 1) return std::nullopt;
  const std::int64_t n = factor->getSExtValue();
  if (i.what == op::quotient) {
    x->by = n;
    x->more = b.getInt64(0);
    return x;
  }
  x->first = b.CreateMul(x->first, b.getInt64(static_cast<std::uint64_t>(n)));
  for (std::int64_t& k : x->beyond) {
    if (k > widest || k < -widest) return std::nullopt;
    k *= n;
  }
  return x;
}

Value* clamped(builder& b, Value* x, std::int64_t limit) {
  x = b.CreateBinaryIntrinsic(Intrinsic::smin, x, b.getInt64(static_cast<std::uint64_t>(limit)));
  return b.CreateBinaryIntrinsic(Intrinsic::smax, x, b.getInt64(static_cast<std::uint64_t>(-limit)));
}

// Bounds may be any data.
Value* difference(builder& b, Value* x, Value* y) { return b.CreateBinaryIntrinsic(Intrinsic::ssub_sat, x, y); }

// What a place may be at most, or at least, so that (place / by + more) is.
Value* multiplied(builder& b, const places& of, Value* bound) {
  return b.CreateMul(clamped(b, difference(b, bound, of.more), farthest),
                     b.getInt64(static_cast<std::uint64_t>(of.by)));
}

}  // namespace

// A comparison of places: of what lies between them with constants, in 32 bits. Null where it is none.
Value* emit_place_comparison(function_emitter& f, const ir::instruction& i) {
  const bool equals = i.what == op::equal || i.what == op::not_equal;
  if (!i.vector || (!equals && i.what != op::less && i.what != op::less_equal) ||
      f.instruction(i.args[0]).type != element::i64)
    return nullptr;
  auto& b = f.build;
  auto x = places_of(f, i.args[0]), y = places_of(f, i.args[1]);
  if (!x || !y || (equals && (x->by != 1 || y->by != 1))) return nullptr;
  std::int64_t least = i.what == op::less_equal ? 0 : 1;  // x + least <= y
  if (x->by != 1) {
    if (!y->uniform()) return nullptr;
    Value* const bound = difference(b, y->first, b.getInt64(static_cast<std::uint64_t>(least)));
    y->first = b.CreateAdd(multiplied(b, *x, bound), b.getInt64(static_cast<std::uint64_t>(x->by - 1)));
    least = 0;
  } else if (y->by != 1) {
    if (!x->uniform()) return nullptr;
    Value* const bound = difference(b, x->first, b.getInt64(static_cast<std::uint64_t>(-least)));
    x->first = multiplied(b, *y, bound);
    least = 0;
  }
  std::vector<Constant*> below;  // the gap is more, or just that
  for (std::size_t k = 0; k < x->beyond.size(); ++k) {
    const std::int64_t n = x->beyond[k] - y->beyond[k] + least - 1;
    if (n <= -widest || n >= widest) return nullptr;
    below.push_back(b.getInt32(static_cast<std::uint32_t>(n)));
  }
  Value* const gap = b.CreateTrunc(clamped(b, difference(b, y->first, x->first), widest), b.getInt32Ty());
  const auto relation = i.what == op::equal       ? CmpInst::ICMP_EQ
                        : i.what == op::not_equal ? CmpInst::ICMP_NE
                                                  : CmpInst::ICMP_SGT;
  return b.CreateICmp(relation, splat(f, gap, f.lanes), ConstantVector::get(below));
}

// A choice by several conditions is several choices.
Value* emit_choice(function_emitter& f, ir::value condition, Value* x, Value* y) {
  const ir::instruction& c = f.instruction(condition);
  if (!f.m.target.vectors.mask_registers && c.vector) {
    if (c.code == ir::opcode::elementwise && c.what == op::logical_and)
      return emit_choice(f, c.args[0], emit_choice(f, c.args[1], x, y), y);
    if (c.code == ir::opcode::pattern) {
      std::vector<int> from;
      for (int k = 0; k < f.lanes; ++k) from.push_back((c.bits >> (k % c.dimension) & 1) != 0 ? k : f.lanes + k);
      return f.build.CreateShuffleVector(x, y, from);
    }
  }
  return f.build.CreateSelect(splat(f, f.values[static_cast<std::size_t>(condition)], c.vector ? 0 : f.lanes), x, y);
}

}  // namespace sheaf::inline v0_1::llvm_backend
