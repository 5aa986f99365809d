// Loads whose lanes are deinterleaved over a row: every second element, each element for two lanes, or the row
// backward. A register of lanes is a few contiguous loads and permutations by constants; nothing beyond the last
// element that a live lane wants is touched.
#include <bit>

#include <llvm/IR/IntrinsicsX86.h>

#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

using tuning::emit::most_loads, tuning::emit::most_shared;

// The lanes from `first` on that fill one register, and the loads they are taken from.
struct part {
  const ir::lane_pattern& apart;
  int first, width;
  int base() const { return apart(first) - apart.skew; }
  int span() const { return apart.whole ? width * apart.step : apart(first + width - 1) - base() + 1; }
  int loads() const { return (span() + width - 1) / width; }
  // The last load ends where the last lane is, where there is that much.
  int start(int load) const { return std::min(load * width, std::max(0, span() - width)); }
  int load_of(int lane) const { return (apart(first + lane) - base()) / width; }
  int place_of(int lane) const { return apart(first + lane) - base() - start(load_of(lane)); }
};

// Which elements of a load live lanes want: an or over the lanes that share an element.
Value* wanted(function_emitter& f, const part& p, int load, Value* mask) {
  auto& b = f.build;
  const int lanes = static_cast<int>(cast<FixedVectorType>(mask->getType())->getNumElements());
  Value* all = nullptr;
  for (int iteration = 0;; ++iteration) {
    std::vector<int> from(static_cast<std::size_t>(p.width), lanes);  // lane `lanes` is the first of a vector of false
    std::vector<int> seen(static_cast<std::size_t>(p.width), 0);
    bool any = false;
    for (int k = 0; k < p.width; ++k) {
      if (p.load_of(k) != load) continue;
      const auto at = static_cast<std::size_t>(p.place_of(k));
      if (seen[at]++ == iteration) from[at] = p.first + k, any = true;
    }
    if (!any) break;
    Value* some = b.CreateShuffleVector(mask, Constant::getNullValue(mask->getType()), from);
    all = all ? b.CreateOr(all, some) : some;
  }
  return all;
}

// Elements of the first lanes are one after the other, where whole groups may be read.
Value* live_elements_of(function_emitter& f, const part& p, int load) {
  auto& b = f.build;
  const auto number = [&](int n) { return b.getInt64(static_cast<std::uint64_t>(std::int64_t{n})); };
  Value* const all = b.CreateMul(f.tail_count, number(p.apart.step));
  Value* const here = b.CreateSub(all, number(p.base() + p.start(load)));
  Value* const some = b.CreateBinaryIntrinsic(Intrinsic::smax, here, number(0));
  Value* const count = b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::smin, some, number(p.width)), b.getInt8Ty());
  return b.CreateICmpULT(iota(b.getContext(), 8, p.width), splat(f, count, p.width));
}

Value* load_part(function_emitter& f, const part& p, int load, Type* element, int bytes, Value* pointer, Value* mask) {
  auto& b = f.build;
  Type* const type = FixedVectorType::get(element, static_cast<unsigned>(p.width));
  const Align align(static_cast<std::uint64_t>(bytes));
  Value* address = b.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(p.base() + p.start(load)));
  const bool is_tail = mask != nullptr && mask == f.tail_mask && p.apart.whole && p.apart.repeat == 1;
  if (is_tail) return masked_load(f, type, address, align, live_elements_of(f, p, load));
  if (mask) return masked_load(f, type, address, align, wanted(f, p, load, mask));
  if (p.span() >= p.width) return b.CreateAlignedLoad(type, address, align);
  std::vector<Constant*> lives;
  for (int k = 0; k < p.width; ++k) lives.push_back(b.getInt1(k < p.span()));
  return masked_load(f, type, address, align, ConstantVector::get(lives));
}

// Half registers are loaded to where their elements stay: a permutation within halves is the cheapest where there is no
// AVX-512. Every second element: of the four quarters that are read, the first and the third make one register.
Value* every_second(function_emitter& f, const part& p, Type* element, int bytes, Value* pointer) {
  auto& b = f.build;
  constexpr int quarter = 4, lanes = 8;
  Type* const type = FixedVectorType::get(element, quarter);
  const int earlier = p.apart.whole ? 0 : 1;  // the last quarter ends where the last lane is, the second is read alike
  Value* rows[4];
  for (int q = 0; q < 4; ++q) {
    const int start = p.base() + quarter * q - (q % 2) * earlier;
    Value* address = b.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(start));
    rows[q] = b.CreateAlignedLoad(type, address, Align(static_cast<std::uint64_t>(bytes)));
  }
  constexpr int each[] = {0, 1, 2, 3, 4, 5, 6, 7};
  Value* const even = b.CreateShuffleVector(rows[0], rows[2], each);
  Value* const odd = b.CreateShuffleVector(rows[1], rows[3], each);
  std::vector<int> from;
  for (int k = 0; k < lanes; ++k) {
    const int q = k / 2, at = p.apart(p.first + k) - p.base() - quarter * q + (q % 2) * earlier;
    from.push_back(lanes * (q % 2) + quarter * (q / 2) + at);
  }
  return b.CreateShuffleVector(even, odd, from);
}

// Each element for two lanes: half a register is loaded into both halves.
Value* each_twice(function_emitter& f, const part& p, Type* element, int bytes, Value* pointer) {
  auto& b = f.build;
  constexpr int half = 4, lanes = 8;
  Value* address = b.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(p.base()));
  Value* row = b.CreateAlignedLoad(FixedVectorType::get(b.getFloatTy(), half), address,
                                   Align(static_cast<std::uint64_t>(bytes)));
  Value* both = b.CreateShuffleVector(row, {0, 1, 2, 3, 0, 1, 2, 3});
  std::vector<Constant*> from;
  for (int k = 0; k < lanes; ++k) from.push_back(b.getInt32(static_cast<std::uint32_t>(p.place_of(k))));
  // As a shuffle it would become one across the halves.
  const Intrinsic::ID permute = Function::lookupIntrinsicID(f.m.target.vectors.permute_in_halves);
  Value* deinterleaved = b.CreateIntrinsic(permute, {}, {both, ConstantVector::get(from)});
  return b.CreateBitCast(deinterleaved, FixedVectorType::get(element, lanes));
}

// Groups of a power of two: of pairs of registers the even elements or the odd ones, until one register is left. Loads
// of other elements of the groups share all steps but the last.
Value* by_halving(function_emitter& f, const part& p, Type* element, int bytes, Value* pointer, Value* mask) {
  std::vector<Value*> rows;
  for (int load = 0; load < p.loads(); ++load) rows.push_back(load_part(f, p, load, element, bytes, pointer, mask));
  for (int skew = p.apart.skew; rows.size() > 1; skew /= 2) {
    std::vector<int> from;
    for (int k = 0; k < p.width; ++k) from.push_back(2 * k + skew % 2);
    std::vector<Value*> next;
    for (std::size_t k = 0; k < rows.size(); k += 2)
      next.push_back(f.build.CreateShuffleVector(rows[k], rows[k + 1], from));
    rows = std::move(next);
  }
  return rows.front();
}

Value* deinterleaved_part(function_emitter& f, const part& p, Type* element, int bytes, Value* pointer, Value* mask) {
  auto& b = f.build;
  if (!mask && f.m.target.vectors.permute_in_halves != nullptr && p.width == 8) {
    if (p.apart.step == 2 && p.apart.repeat == 1) return every_second(f, p, element, bytes, pointer);
    if (p.apart.step == 1 && p.apart.repeat == 2 && p.span() == 4) return each_twice(f, p, element, bytes, pointer);
  }
  const bool is_tail = mask == nullptr || mask == f.tail_mask;
  if (is_tail && p.apart.whole && p.apart.repeat == 1 && std::has_single_bit(static_cast<unsigned>(p.apart.step)))
    return by_halving(f, p, element, bytes, pointer, mask);
  Value* result = nullptr;
  for (int load = 0; load < p.loads(); ++load) {
    bool is_wanted = false;  // of whole groups of elements some loads serve others alone
    for (int k = 0; k < p.width; ++k) is_wanted = is_wanted || p.load_of(k) == load;
    if (!is_wanted) continue;
    Value* row = load_part(f, p, load, element, bytes, pointer, mask);
    std::vector<int> from;
    for (int k = 0; k < p.width; ++k) {
      const bool here = p.load_of(k) == load;
      from.push_back(here ? (result ? p.width : 0) + p.place_of(k) : result && p.load_of(k) < load ? k : -1);
    }
    result = result ? b.CreateShuffleVector(result, row, from) : b.CreateShuffleVector(row, from);
  }
  return result;
}

// A row backward: its last lane stands first.
Value* backward_part(function_emitter& f, int first, int width, Type* element, int bytes, Value* pointer, Value* mask) {
  auto& b = f.build;
  Type* const type = FixedVectorType::get(element, static_cast<unsigned>(width));
  const Align align(static_cast<std::uint64_t>(bytes));
  std::vector<int> backward, live;
  for (int k = width; k-- > 0;) backward.push_back(k), live.push_back(first + k);
  const auto start = static_cast<std::uint64_t>(-std::int64_t{first + width - 1});
  Value* const address = b.CreateConstGEP1_64(element, pointer, start);
  Value* const row = mask ? masked_load(f, type, address, align, b.CreateShuffleVector(mask, live))
                          : b.CreateAlignedLoad(type, address, align);
  return b.CreateShuffleVector(row, backward);
}

}  // namespace

bool may_deinterleave(const function_emitter& f, const ir::lane_pattern& apart, int bytes, bool masked) {
  const int least_masked = f.m.target.vectors.least_masked;
  bool needs_masks = masked;
  const int width = std::min(f.lanes, f.m.target.vectors.register_bytes / bytes);
  for (int first = 0; apart.step > 0 && first < f.lanes; first += width) {
    const part p{apart, first, width};
    if (p.loads() > (apart.whole ? most_shared : most_loads)) return false;
    needs_masks = needs_masks || p.span() < width;
  }
  return !needs_masks || (least_masked != 0 && bytes >= least_masked);
}

Value* emit_deinterleaved(function_emitter& f, const ir::lane_pattern& apart, Type* element, int bytes, Value* pointer,
                          Value* mask) {
  auto& b = f.build;
  const int width = std::min(f.lanes, f.m.target.vectors.register_bytes / bytes);
  std::vector<Value*> parts;
  for (int first = 0; first < f.lanes; first += width)
    parts.push_back(apart.step < 0 ? backward_part(f, first, width, element, bytes, pointer, mask)
                                   : deinterleaved_part(f, {apart, first, width}, element, bytes, pointer, mask));
  while (parts.size() > 1) {
    std::vector<Value*> joined;
    std::vector<int> each;
    const int half = static_cast<int>(cast<FixedVectorType>(parts[0]->getType())->getNumElements());
    for (int k = 0; k < 2 * half; ++k) each.push_back(k);
    for (std::size_t k = 0; k < parts.size(); k += 2)
      joined.push_back(b.CreateShuffleVector(parts[k], parts[k + 1], each));
    parts = std::move(joined);
  }
  // An element that another lane shares was read for that one.
  if (mask && apart.repeat > 1) return b.CreateSelect(mask, parts[0], Constant::getNullValue(parts[0]->getType()));
  return parts[0];
}

}  // namespace sheaf::inline v0_1::llvm_backend
