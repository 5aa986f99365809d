// Part of pass `partition loops`: what holds in the middle part of a loop, and over which range it does.
#pragma once
#include <bit>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/affine.hpp>
#include <sheaf/jit/ir/passes/middle.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::ir {

// What holds in the middle part: conditions by their truth, which argument an extremum is, and how often a remainder's
// divisor is taken from its dividend.
struct assumed {
  std::unordered_map<value, bool> truths;
  std::unordered_map<value, value> same;
  std::unordered_map<value, std::int64_t> times;
  int lanes = 0;  // how many of them compare lanes
};

class loop_middle {
 public:
  // Is there enough to decide, however long the loop is?
  bool may_have_parts(int least_comparisons) const {
    bool divides = false;
    int own = 0, within = 0;  // comparisons, those in loops within too
    for (const statement& s : loop_.body) {
      divides = divides || (s.kind == statement_kind::instruct && is_remainder_of_lanes(get(s.id)));
      own += compares_lanes(s) ? 1 : 0;
    }
    for_each_within(loop_.body, [&](const statement& s) { within += compares_lanes(s) ? 1 : 0; });
    const bool copies = may_copy() || ((has_slow_lanes() || within >= least_comparisons) && may_copy_loops());
    return copies && (divides || own + within >= least_comparisons);
  }

 protected:
  loop_middle(kernel& k, const statement& loop, middle& typical)
      : k_(k), loop_(loop), middle_(typical), before_(k, nullptr, statement{}) {
    find_made(loop.body);
  }

  static std::size_t slot_of(value v) { return static_cast<std::size_t>(v); }
  const instruction& get(value v) const { return k_.instructions[slot_of(v)]; }
  bool is_outside(value v) const { return !made_.contains(v); }

  bool may_copy() const { return may_copy(loop_.body, false); }
  // Also what folds in loops within, as a window's rows.
  bool may_copy_loops() const { return may_copy(loop_.body, true); }

  // Is what a lane does the same wherever vectors begin? Not of what is folded, or stored once for all lanes.
  bool may_begin_anywhere() const { return may_begin_anywhere(loop_.body); }

  // Are lanes gathered or divided, which takes as long as many that are not?
  bool has_slow_lanes() const { return has_slow_lanes(loop_.body); }

 private:
  void find_made(const block& body) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::instruct) made_.insert(s.id);
      if (s.kind == statement_kind::loop) within_[s.loop] = {s.low, s.high};
      find_made(s.body);
    }
  }
  // Of the serial loops within.
  template <class Visit>
  static void for_each_within(const block& body, const Visit& visit) {
    for (const statement& s : body) {
      if (s.kind != statement_kind::loop || s.how_loop != loop_kind::serial) continue;
      for (const statement& each : s.body) visit(each);
      for_each_within(s.body, visit);
    }
  }
  static bool is_remainder_of_lanes(const instruction& i) {
    return i.code == opcode::elementwise && i.vector && i.what == op::remainder;
  }
  bool compares_lanes(const statement& s) const {
    if (s.kind != statement_kind::instruct || get(s.id).code != opcode::elementwise) return false;
    const instruction& i = get(s.id);
    const bool orders = i.what == op::less || i.what == op::less_equal || i.what == op::minimum;
    if (!i.vector || (!orders && i.what != op::maximum)) return false;
    const auto a = form_of(i.args[0]), b = form_of(i.args[1]);
    return a && b && a->slope != b->slope;
  }
  bool may_copy(const block& body, bool folds) const {
    return std::ranges::all_of(body, [&](const statement& s) {
      if (s.kind == statement_kind::loop)
        return folds && s.how_loop == loop_kind::serial && s.jam <= 1 && may_copy(s.body, folds);
      if (s.kind == statement_kind::guard || s.kind == statement_kind::append) return false;
      if (s.kind != statement_kind::instruct) return true;
      const instruction& i = get(s.id);
      if (i.code == opcode::read || (i.code == opcode::accumulator && i.dimension == 0)) return folds;
      return i.code == opcode::elementwise || i.code == opcode::constant || i.code == opcode::extent ||
             i.code == opcode::counter || i.code == opcode::lanes || i.code == opcode::load;
    });
  }
  bool may_begin_anywhere(const block& body) const {
    return std::ranges::all_of(body, [&](const statement& s) {
      if (s.kind == statement_kind::combine) return !is_outside(s.target_value);
      if (s.kind == statement_kind::store) return s.how != access::uniform;
      if (s.kind == statement_kind::loop) return may_begin_anywhere(s.body);
      return s.kind != statement_kind::instruct || get(s.id).apart.repeat == 1;
    });
  }
  bool has_slow_lanes(const block& body) const {
    return std::ranges::any_of(body, [&](const statement& s) {
      if (s.kind == statement_kind::loop) return has_slow_lanes(s.body);
      if (s.kind != statement_kind::instruct || !get(s.id).vector) return false;
      const instruction& i = get(s.id);
      const bool divides = i.code == opcode::elementwise && (i.what == op::quotient || i.what == op::remainder);
      return divides || (i.code == opcode::load && i.how == access::gather);
    });
  }

 protected:
  // As the middle part has it.
  std::optional<affine> form_of(value v) const {
    for (auto same = holds_.same.find(v); same != holds_.same.end(); same = holds_.same.find(v)) v = same->second;
    const instruction& i = get(v);
    if (i.type != element::i64) return std::nullopt;
    if (i.code == opcode::constant && i.bits < middle::largest && i.bits > -middle::largest)
      return affine{0, i.bits, {}};
    if (is_outside(v)) return affine{0, 0, {{v, 1}}};
    if (i.code == opcode::lanes || i.code == opcode::counter) {
      if (i.target == loop_.loop) return affine{1, 0, {}};
      return ends_within(v) ? std::optional(affine{0, 0, {{v, 1}}}) : std::nullopt;
    }
    const auto times = holds_.times.find(v);
    const bool sum = i.code == opcode::elementwise && (i.what == op::add || i.what == op::sub);
    if (!sum && times == holds_.times.end()) return std::nullopt;
    auto a = form_of(i.args[0]);
    const auto b = form_of(i.args[1]);
    if (!a || !b) return std::nullopt;
    a->add(*b, !sum ? -times->second : i.what == op::add ? 1 : -1);
    return a;
  }

  // Of the counter of a loop within, whose ends stand before the loop.
  const std::pair<value, value>* ends_within(value v) const {
    const instruction& i = get(v);
    const auto found = i.code == opcode::counter ? within_.find(i.target) : within_.end();
    if (found == within_.end() || !is_outside(found->second.first) || !is_outside(found->second.second)) return nullptr;
    return &found->second;
  }
  // The least of it over all iterations of loops within.
  affine least_of(const affine& a) const {
    affine least{a.slope, a.constant, {}};
    for (const auto& [v, factor] : a.terms) {
      const auto* const ends = is_outside(v) ? nullptr : ends_within(v);
      const value at = ends == nullptr ? v : factor > 0 ? ends->first : ends->second;
      least.add({0, ends != nullptr && factor < 0 ? -1 : 0, {{at, 1}}}, factor);
    }
    return least;
  }

  value built(const affine& a, block_builder& b) const {
    value sum = b.i64(a.constant);
    for (const auto& [v, factor] : a.terms)
      sum = b.emit(op::add, {sum, factor == 1 ? v : b.emit(op::mul, {v, b.i64(factor)})});
    return sum;
  }
  // Of a loop over so many elements that may begin anywhere: few lanes where it has few, and one register is full.
  std::int32_t lanes_of(std::optional<std::int64_t> size) const {
    if (!size || *size >= loop_.lanes) return loop_.lanes;
    const auto n = static_cast<std::uint64_t>(std::max(*size, tuning::partition::least_lanes));
    const bool fills = tuning::partition::narrower * *size >= loop_.lanes;
    return std::min(static_cast<std::int32_t>(fills ? std::bit_floor(n) : std::bit_ceil(n)), loop_.lanes);
  }
  // Whole places at most n / by.
  value divided(value n, std::int64_t by) { return by == 1 ? n : before_.emit(op::quotient, {n, before_.i64(by)}); }
  void at_least(value v) { low_ = low_ == none ? v : before_.emit(op::maximum, {low_, v}); }
  void below(value v) { high_ = high_ == none ? v : before_.emit(op::minimum, {high_, v}); }

  // d >= 0, or not: as in the middle. Nothing where that does not depend on the lanes, or cannot be said.
  std::optional<bool> nonnegative(affine d, const std::optional<std::int64_t>& typical) {
    if (d.slope == 0 || d.slope > 2 || d.slope < -2 || !typical) return std::nullopt;
    const bool truth = *typical >= 0;
    if (!truth) {  // -1 - d >= 0
      affine other{0, -1, {}};
      other.add(d, -1);
      d = other;
    }
    affine rest = least_of(d);
    rest.slope = 0;
    const std::int64_t steep = std::abs(d.slope);
    const value n = built(rest, before_);
    if (d.slope < 0)
      below(before_.emit(op::add, {divided(n, steep), before_.i64(1)}));
    else
      at_least(before_.emit(op::sub, {before_.i64(0), divided(n, steep)}));
    return truth;
  }
  std::optional<std::pair<affine, std::optional<std::int64_t>>> difference(value of, value less) {
    auto d = form_of(of);
    const auto b = form_of(less);
    if (!d || !b) return std::nullopt;
    d->add(*b, -1);
    const auto x = middle_(of), y = middle_(less);
    return std::pair(*d, x && y ? std::optional(*x - *y) : std::nullopt);
  }

  void decide() {
    for (const statement& s : loop_.body) decide(s, false);
    for_each_within(loop_.body, [&](const statement& s) { decide(s, true); });
  }
  void decide(const statement& s, bool is_within) {
    if (s.kind != statement_kind::instruct || get(s.id).code != opcode::elementwise || !get(s.id).vector) return;
    const instruction i = get(s.id);
    const bool logical = i.what == op::logical_and || i.what == op::logical_or || i.what == op::logical_not;
    if (logical || i.what == op::select)
      for (const value v : i.args)
        if (get(v).type == element::boolean && is_outside(v) && !get(v).vector) decide_outside(v);
    if (i.what == op::remainder && !is_within) decide_remainder(s.id, i);
    const bool compares = i.what == op::less || i.what == op::less_equal;
    if (!compares && i.what != op::minimum && i.what != op::maximum) return;
    auto d = difference(i.args[1], i.args[0]);  // args[0] <= args[1]
    if (!d) return;
    if (i.what == op::less) {
      d->first.constant -= 1;
      if (d->second) d->second = *d->second - 1;
    }
    const auto truth = nonnegative(d->first, d->second);
    if (!truth) return;
    ++holds_.lanes;
    if (compares)
      holds_.truths[s.id] = *truth;
    else
      holds_.same[s.id] = i.args[*truth == (i.what == op::minimum) ? 0 : 1];
  }
  // Within one multiple of the divisor.
  void decide_remainder(value id, const instruction& i) {
    const auto x = middle_(i.args[0]), by = middle_(i.args[1]), rest = middle_(id);
    const auto number = form_of(i.args[0]), divisor = form_of(i.args[1]);
    if (!x || !rest || !by || *by <= 0 || !number || !divisor || number->slope == 0 || divisor->slope != 0) return;
    const std::int64_t times = (*x - *rest) / *by;
    if (times > 4 || times < -4) return;
    affine from = *number, below = *divisor;
    from.add(*divisor, -times);
    below.add(from, -1);
    below.constant -= 1;
    if (nonnegative(from, *rest) && nonnegative(below, *by - 1 - *rest)) holds_.times[id] = times;
    ++holds_.lanes;
  }
  void decide_outside(value v) {
    const auto typical = middle_(v);
    if (!typical || get(v).code == opcode::constant || holds_.truths.contains(v)) return;
    holds_.truths[v] = *typical != 0;
    const value same = *typical != 0 ? v : before_.emit(op::logical_not, {v});
    all_ = all_ == none ? same : before_.emit(op::logical_and, {all_, same});
  }

  // first_ and end_ of a loop that may begin anywhere.
  void exact_range_of_middle() {
    block_builder& b = before_;
    const value low = loop_.low, high = b.emit(op::maximum, {loop_.low, loop_.high});
    const auto within = [&](value n) { return b.emit(op::minimum, {b.emit(op::maximum, {n, low}), high}); };
    first_ = low_ == none ? low : within(low_);
    end_ = high_ == none ? high : b.emit(op::maximum, {within(high_), first_});
    if (all_ != none) end_ = b.emit(op::select, {all_, end_, first_});
  }
  // first_ and end_: whole vectors of so many lanes from the loop's begin.
  void range_of_middle(std::int32_t at_once) {
    block_builder& b = before_;
    const value zero = b.i64(0), lanes = b.i64(at_once), low = loop_.low;
    const auto vectors = [&](value n) { return b.emit(op::mul, {b.emit(op::quotient, {n, lanes}), lanes}); };
    const auto from_low = [&](value n) { return b.emit(op::maximum, {b.emit(op::sub, {n, low}), zero}); };
    const value all = vectors(from_low(loop_.high));
    first_ = low;
    end_ = b.emit(op::add, {low, all});
    if (low_ != none) {
      const value skipped = vectors(b.emit(op::add, {from_low(low_), b.i64(at_once - 1)}));
      first_ = b.emit(op::add, {low, b.emit(op::minimum, {skipped, all})});
    }
    if (high_ != none) {
      const value reached = b.emit(op::minimum, {vectors(from_low(high_)), all});
      end_ = b.emit(op::maximum, {first_, b.emit(op::add, {low, reached})});
    }
    if (all_ != none) end_ = b.emit(op::select, {all_, end_, first_});
  }

  kernel& k_;
  const statement& loop_;
  middle& middle_;
  block_builder before_;  // what stands before the loops
  std::unordered_set<value> made_;
  std::unordered_map<std::int32_t, std::pair<value, value>> within_;  // ends of the loops within
  assumed holds_;
  value low_ = none, high_ = none, all_ = none;  // bounds of the middle, and what else must hold
  value first_ = none, end_ = none;
};

}  // namespace sheaf::inline v0_1::ir
