// The fixed tree that folds lanes: the upper half line is combined into the lower until one is left. The tree knows
// virtual lanes only, so it is the same for every register width.
// Lanes of several accumulators are folded at once, as of the rows of a register tile: the halves of two rows are one
// register each, and so on, so eight rows of sixteen lanes take eight steps in all where each alone takes four. Each
// row is folded by the same tree as alone.
// A row that was so short that its loop met the first lanes alone has those folded: the others are identities.
#include <algorithm>
#include <bit>

#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

constexpr std::size_t most_rows = 8;
constexpr int block_bytes = 16;  // within which elements move at no more than a cycle

// Registers with the lanes of some rows, as many of each.
struct rows_of_lanes {
  state whole;
  std::vector<std::size_t> rows;  // which, in the order of their lanes
};

// Elements of one register, or of two, after each other.
struct picked {
  SmallVector<int, 64> low, high;
  std::vector<std::size_t> rows;
};

// The halves of all rows. Halves of less than a block are taken block by block.
picked halves_of(const rows_of_lanes& a, const rows_of_lanes* b, int lanes, int width, int bytes) {
  picked p;
  const int half = width / 2, of_block = std::clamp(block_bytes / bytes, width, lanes);
  const bool wide = half * bytes >= block_bytes || b == nullptr;
  const int step = wide ? lanes : of_block;
  for (int first = 0; first < lanes; first += step)
    for (const rows_of_lanes* each : {&a, b}) {
      if (each == nullptr) continue;
      for (int at = first; at < first + step; at += width) {
        p.rows.push_back(each->rows[static_cast<std::size_t>(at / width)]);
        for (int k = 0; k < half; ++k) {
          p.low.push_back((each == b ? lanes : 0) + at + k);
          p.high.push_back((each == b ? lanes : 0) + at + half + k);
        }
      }
    }
  return p;
}

rows_of_lanes folded(function_emitter& f, element type, monoid fold, const rows_of_lanes& a, const rows_of_lanes* b,
                     int width) {
  auto* const vector = cast<FixedVectorType>(a.whole[0]->getType());
  const int lanes = static_cast<int>(vector->getNumElements());
  const picked p = halves_of(a, b, lanes, width, std::max(1, static_cast<int>(vector->getScalarSizeInBits()) / 8));
  state first, second;
  for (std::size_t k = 0; k < a.whole.size(); ++k) {
    Value *const x = a.whole[k], *const y = b != nullptr ? b->whole[k] : PoisonValue::get(x->getType());
    first.push_back(f.build.CreateShuffleVector(x, y, p.low));
    second.push_back(f.build.CreateShuffleVector(x, y, p.high));
  }
  return {combined(f, type, fold, first, second), p.rows};
}

// The folds of lanes like the one at `begin` that may stand there, too: what is between changes no accumulator.
std::vector<ir::value> folds_like(const function_emitter& f, const ir::block& body, std::size_t begin) {
  const ir::instruction& like = f.instruction(body[begin].id);
  const auto accumulator = [&](const ir::instruction& i) -> const ir::instruction& { return f.instruction(i.args[0]); };
  const auto lanes = [&](const ir::instruction& i) { return f.cells[static_cast<std::size_t>(i.args[0])].lanes; };
  std::vector<ir::value> list;
  for (std::size_t k = begin; k < body.size() && list.size() < most_rows; ++k) {
    const ir::statement& s = body[k];
    if (s.kind == ir::statement_kind::store || s.kind == ir::statement_kind::prefetch) continue;
    if (s.kind != ir::statement_kind::instruct) break;
    const ir::instruction& i = f.instruction(s.id);
    if (i.code != ir::opcode::fold_lanes || i.type != like.type || i.dimension != like.dimension) continue;
    const ir::instruction &a = accumulator(i), &b = accumulator(like);
    if (a.fold == b.fold && a.type == b.type && a.dimension == b.dimension && lanes(i) == lanes(like))
      list.push_back(s.id);
  }
  while (!std::has_single_bit(list.size())) list.pop_back();
  return list;
}

void widen_rows(function_emitter& f, element type, std::vector<rows_of_lanes>& all) {
  for (rows_of_lanes& r : all) {
    const auto lanes = cast<FixedVectorType>(r.whole[0]->getType())->getNumElements();
    r.whole[0] = f.build.CreateFPExt(r.whole[0], widen(held_type(f.build.getContext(), type), static_cast<int>(lanes)));
  }
}

// The halves of all rows combined, two rows at once.
std::vector<rows_of_lanes> halved(function_emitter& f, element type, monoid fold, const std::vector<rows_of_lanes>& all,
                                  int width) {
  std::vector<rows_of_lanes> next;
  for (std::size_t k = 0; k < all.size(); k += 2)
    next.push_back(folded(f, type, fold, all[k], all.size() > 1 ? &all[k + 1] : nullptr, width));
  return next;
}

// Rows of several lanes, each folded to one number: of extrema and of places, whose order tells nothing.
std::vector<Value*> folded_apart(function_emitter& f, element type, monoid fold, std::vector<rows_of_lanes> all,
                                 int lanes) {
  std::vector<Value*> values(all.size());
  for (int width = lanes; width > 1; width /= 2) all = halved(f, type, fold, all, width);
  for (const rows_of_lanes& r : all)
    for (std::size_t at = 0; at < r.rows.size(); ++at)
      values[r.rows[at]] = f.build.CreateExtractElement(r.whole[0], static_cast<std::uint64_t>(at));
  return values;
}

// Where extrema stand: the extremum is folded alone, then the least place of the lanes that are equal to it. NaN is
// beyond every number, and equal to NaN.
void fold_positions(function_emitter& f, element type, monoid fold, std::vector<rows_of_lanes>& all, int lanes) {
  auto& b = f.build;
  std::vector<rows_of_lanes> extrema = all, places = all;
  for (std::size_t n = 0; n < all.size(); ++n) extrema[n].whole.pop_back();
  const std::vector<Value*> most =
      folded_apart(f, type, fold == monoid::argmax ? monoid::max : monoid::min, std::move(extrema), lanes);
  for (std::size_t n = 0; n < all.size(); ++n) {
    Value *const x = all[n].whole[0], *const at = all[n].whole[1], *const whole = splat(f, most[n], lanes);
    Value* const same = is_floating(type) ? b.CreateOr(b.CreateFCmpOEQ(x, whole), b.CreateFCmpUNO(x, x))
                                          : b.CreateICmpEQ(x, whole);
    places[n].whole = {b.CreateSelect(same, at, highest_position(at->getType()))};
  }
  const std::vector<Value*> first = folded_apart(f, element::i64, monoid::min, std::move(places), lanes);
  for (std::size_t n = 0; n < all.size(); ++n) all[n].whole = {most[n], first[n]};
}

// What the first lanes of accumulators of folds that are alike are worth, in their order.
std::vector<Value*> folded_lanes(function_emitter& f, const std::vector<ir::value>& list, int lanes) {
  auto& b = f.build;
  const ir::instruction& i = f.instruction(list.front());
  const ir::instruction& a = f.instruction(i.args[0]);
  const auto cell_of = [&](ir::value id) { return f.cells[static_cast<std::size_t>(f.instruction(id).args[0])]; };
  std::vector<rows_of_lanes> all;
  for (std::size_t n = 0; n < list.size(); ++n) all.push_back({contents_of(f, cell_of(list[n])), {n}});
  if (lanes != cell_of(list.front()).lanes)
    for (rows_of_lanes& r : all) {
      for (Value*& v : r.whole) v = part_of(f, v, lanes, 0);
      Value*& sum = r.whole[0];
      // Meeting one of the others makes a -0 that underflowed a 0.
      if (a.fold == monoid::sum && is_floating(a.type))
        sum = combined(f, a.type, a.fold, sum, identity(f, sum->getType(), a.type, a.fold));
    }
  const bool widens = numerics::folds_in_f64(a.fold, a.type, i.type);
  element type = a.type;
  const bool positions = lanes > 1 && has_position(a.fold);
  if (positions) fold_positions(f, type, a.fold, all, lanes);
  for (int width = positions ? 1 : lanes; width > 1; width /= 2) {
    if (widens && type == a.type && width / 2 < numerics::folded_in_f64) widen_rows(f, type = i.type, all);
    all = halved(f, type, a.fold, all, width);
  }
  std::vector<Value*> values(list.size());
  for (const rows_of_lanes& r : all)
    for (std::size_t at = 0; at < r.rows.size(); ++at) {
      state row = r.whole;
      if (lanes != 0 && !positions)
        for (Value*& v : row) v = b.CreateExtractElement(v, static_cast<std::uint64_t>(at));
      if (widens && type == a.type) row[0] = b.CreateFPExt(row[0], held_type(b.getContext(), i.type));
      values[r.rows[at]] = worth(f, a, row, i.dimension);
    }
  return values;
}

bool combines(const ir::statement& s, ir::value accumulator) {
  if (s.kind == ir::statement_kind::combine && s.target_value == accumulator) return true;
  return std::ranges::any_of(s.body, [&](const ir::statement& each) { return combines(each, accumulator); });
}

// The loop of `body` before `end` in which the accumulator of a fold is combined, where it is the only one and both
// stand in `body`: what is known of how often it ran holds.
const ir::statement* only_loop(const function_emitter& f, const ir::block& body, std::size_t end, ir::value fold) {
  const ir::value accumulator = f.instruction(fold).args[0];
  const ir::statement* found = nullptr;
  bool is_here = false;
  for (std::size_t k = 0; k < end; ++k) {
    const ir::statement& s = body[k];
    is_here = is_here || (s.kind == ir::statement_kind::instruct && s.id == accumulator);
    if (!combines(s, accumulator)) continue;
    if (found != nullptr || s.kind != ir::statement_kind::loop) return nullptr;
    found = &s;
  }
  return is_here ? found : nullptr;
}

// How short a row must be that its folds in `list` have first lanes alone; none: they always have all.
narrow_row narrow_row_of(const function_emitter& f, const ir::block& body, std::size_t end,
                       const std::vector<ir::value>& list) {
  const ir::statement* loop = nullptr;
  for (const ir::value fold : list) {
    const ir::statement* of = only_loop(f, body, end, fold);
    if (of == nullptr || (loop != nullptr && of != loop)) return {};
    loop = of;
  }
  // A fold of the program's own need not keep every bit where it meets its identity.
  if (is_own(f.instruction(f.instruction(list.front()).args[0]).fold)) return {};
  return f.narrow_rows[static_cast<std::size_t>(loop->loop)];
}

}  // namespace

Value* emit_fold_lanes(function_emitter& f, ir::value id) {
  return folded_lanes(f, {id}, f.cells[static_cast<std::size_t>(f.instruction(id).args[0])].lanes).front();
}

void emit_folds_of_lanes(function_emitter& f, const ir::block& body, std::size_t begin) {
  if (std::erase(f.folded, body[begin].id) > 0) return;
  const std::vector<ir::value> list = folds_like(f, body, begin);
  const int lanes = f.cells[static_cast<std::size_t>(f.instruction(list.front()).args[0])].lanes;
  const narrow_row row = narrow_row_of(f, body, begin, list);
  std::vector<Value*> values;
  if (row.count == nullptr || lanes <= row.lanes) {
    values = folded_lanes(f, list, lanes);
  } else {
    const auto all = [&](int met) {
      return [&f, &list, met] { return folded_lanes(f, list, met); };
    };
    values = emit_either(f, at_most(f, row.count, row.lanes), all(row.lanes), all(lanes));
  }
  for (std::size_t n = 0; n < list.size(); ++n) f.values[static_cast<std::size_t>(list[n])] = values[n];
  f.folded.insert(f.folded.end(), list.begin() + 1, list.end());
}

}  // namespace sheaf::inline v0_1::llvm_backend
