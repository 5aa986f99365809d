#include <sheaf/jit/ir/passes/partition_loops.hpp>

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/affine.hpp>
#include <sheaf/jit/ir/passes/middle.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

std::size_t slot_of(value v) { return static_cast<std::size_t>(v); }

constexpr std::int64_t largest = middle::largest;

// What holds in the middle part: conditions by their truth, which argument an extremum is, and how often a remainder's
// divisor is taken from its dividend.
struct assumed {
  std::unordered_map<value, bool> truths;
  std::unordered_map<value, value> same;
  std::unordered_map<value, std::int64_t> times;
  int lanes = 0;  // how many of them compare lanes
};

class partition {
 public:
  partition(const module& m, kernel& k, const statement& loop, middle& typical)
      : m_(m), k_(k), loop_(loop), middle_(typical), before_(k, nullptr, statement{}) {
    for (const statement& s : loop.body)
      if (s.kind == statement_kind::instruct) made_.insert(s.id);
  }

  struct parts {
    block before;
    statement begin, middle, rest;
  };
  // Is there enough to decide, however long the loop is?
  bool may_have_parts() const {
    bool divides = false;
    const auto compares = std::ranges::count_if(loop_.body, [&](const statement& s) {
      if (s.kind != statement_kind::instruct || get(s.id).code != opcode::elementwise) return false;
      const instruction& i = get(s.id);
      divides = divides || (i.vector && i.what == op::remainder);
      const bool orders = i.what == op::less || i.what == op::less_equal || i.what == op::minimum;
      if (!i.vector || (!orders && i.what != op::maximum)) return false;
      const auto a = form_of(i.args[0]), b = form_of(i.args[1]);
      return a && b && a->slope != b->slope;
    });
    return may_copy() && (divides || compares >= tuning::partition::least_comparisons);
  }
  // Instead of the loop; nothing where it stays.
  std::optional<parts> operator()() {
    decide();
    if (holds_.lanes < tuning::partition::least_comparisons) return std::nullopt;
    range_of_middle();
    statement begin = loop_, middle = part(first_, end_, true), rest = part(end_, loop_.high, false);
    begin.high = first_;
    begin.whole = middle.whole = true;
    if (failed_) return std::nullopt;
    return parts{std::move(before_).finish(), std::move(begin), std::move(middle), std::move(rest)};
  }

 private:
  const instruction& get(value v) const { return k_.instructions[slot_of(v)]; }
  bool is_outside(value v) const { return !made_.contains(v); }

  bool may_copy() const {
    return std::ranges::all_of(loop_.body, [&](const statement& s) {
      if (s.kind == statement_kind::loop || s.kind == statement_kind::guard || s.kind == statement_kind::append)
        return false;
      if (s.kind != statement_kind::instruct) return true;
      const opcode code = get(s.id).code;
      return code == opcode::elementwise || code == opcode::constant || code == opcode::extent ||
             code == opcode::counter || code == opcode::lanes || code == opcode::load;
    });
  }

  // ---- what holds in the middle

  // As the middle part has it.
  std::optional<affine> form_of(value v) const {
    for (auto same = holds_.same.find(v); same != holds_.same.end(); same = holds_.same.find(v)) v = same->second;
    const instruction& i = get(v);
    if (i.type != element::i64) return std::nullopt;
    if (i.code == opcode::constant && i.bits < largest && i.bits > -largest) return affine{0, i.bits, {}};
    if (is_outside(v)) return affine{0, 0, {{v, 1}}};
    if (i.code == opcode::lanes || i.code == opcode::counter)
      return i.target == loop_.loop ? std::optional(affine{1, 0, {}}) : std::nullopt;
    const auto times = holds_.times.find(v);
    const bool sum = i.code == opcode::elementwise && (i.what == op::add || i.what == op::sub);
    if (!sum && times == holds_.times.end()) return std::nullopt;
    auto a = form_of(i.args[0]);
    const auto b = form_of(i.args[1]);
    if (!a || !b) return std::nullopt;
    a->add(*b, !sum ? -times->second : i.what == op::add ? 1 : -1);
    return a;
  }

  value built(const affine& a, block_builder& b) const {
    value sum = b.i64(a.constant);
    for (const auto& [v, factor] : a.terms)
      sum = b.emit(op::add, {sum, factor == 1 ? v : b.emit(op::mul, {v, b.i64(factor)})});
    return sum;
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
    affine rest = d;
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
    for (const statement& s : loop_.body) {
      if (s.kind != statement_kind::instruct || get(s.id).code != opcode::elementwise || !get(s.id).vector) continue;
      const instruction i = get(s.id);
      const bool logical = i.what == op::logical_and || i.what == op::logical_or || i.what == op::logical_not;
      if (logical || i.what == op::select)
        for (const value v : i.args)
          if (get(v).type == element::boolean && is_outside(v) && !get(v).vector) decide_outside(v);
      if (i.what == op::remainder) decide_remainder(s.id, i);
      const bool compares = i.what == op::less || i.what == op::less_equal;
      if (!compares && i.what != op::minimum && i.what != op::maximum) continue;
      auto d = difference(i.args[1], i.args[0]);  // args[0] <= args[1]
      if (!d) continue;
      if (i.what == op::less) {
        d->first.constant -= 1;
        if (d->second) d->second = *d->second - 1;
      }
      const auto truth = nonnegative(d->first, d->second);
      if (!truth) continue;
      ++holds_.lanes;
      if (compares)
        holds_.truths[s.id] = *truth;
      else
        holds_.same[s.id] = i.args[*truth == (i.what == op::minimum) ? 0 : 1];
    }
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

  // first_ and end_: whole vectors from the loop's begin.
  void range_of_middle() {
    block_builder& b = before_;
    const value zero = b.i64(0), lanes = b.i64(loop_.lanes), low = loop_.low;
    const auto vectors = [&](value n) { return b.emit(op::mul, {b.emit(op::quotient, {n, lanes}), lanes}); };
    const auto from_low = [&](value n) { return b.emit(op::maximum, {b.emit(op::sub, {n, low}), zero}); };
    const value all = vectors(from_low(loop_.high));
    first_ = low;
    end_ = b.emit(op::add, {low, all});
    if (low_ != none) {
      const value skipped = vectors(b.emit(op::add, {from_low(low_), b.i64(loop_.lanes - 1)}));
      first_ = b.emit(op::add, {low, b.emit(op::minimum, {skipped, all})});
    }
    if (high_ != none) {
      const value reached = b.emit(op::minimum, {vectors(from_low(high_)), all});
      end_ = b.emit(op::maximum, {first_, b.emit(op::add, {low, reached})});
    }
    if (all_ != none) end_ = b.emit(op::select, {all_, end_, first_});
  }

  // ---- copies of the body

  statement part(value low, value high, bool in_middle) {
    names_.clear();
    in_middle_ = in_middle;
    const std::string name = k_.loop_names[slot_of(loop_.loop)];
    block_builder inner = before_.loop(loop_kind::vector, name, low, high, loop_.lanes);
    for (const statement& s : loop_.body) copy(s, inner);
    statement own = inner.head();
    own.trips = loop_.trips;
    own.whole = loop_.whole;
    own.body = std::move(inner).finish();
    return own;
  }

  value renamed(value v) const {
    if (v == none) return none;
    const auto found = names_.find(v);
    return found == names_.end() ? v : found->second;
  }
  std::optional<bool> truth_of(value v) const {
    if (!in_middle_ || v == none) return std::nullopt;
    const auto found = holds_.truths.find(v);
    return found == holds_.truths.end() ? std::nullopt : std::optional(found->second);
  }
  value operand(value v, block_builder& b) {
    if (const auto truth = truth_of(v)) return b.constant(element::boolean, *truth ? 1 : 0);
    return renamed(v);
  }
  // A mask that holds is none; nothing is behind one that does not.
  bool is_masked_out(value mask) const { return truth_of(mask) == false; }
  value mask_of(value mask) const { return truth_of(mask) ? none : renamed(mask); }

  void copy(const statement& s, block_builder& b) {
    if (s.kind == statement_kind::instruct) return copy_instruction(s.id, b);
    if (is_masked_out(s.mask)) return;
    statement own = s;
    own.mask = mask_of(s.mask);
    for (value* v : {&own.stored, &own.position, &own.target_value})
      if (*v != none) *v = operand(*v, b);
    for (value& v : own.subscripts) v = operand(v, b);
    for (value& v : own.more) v = operand(v, b);
    const bool scattered = s.kind == statement_kind::store && s.how == access::gather;
    if (scattered && std::ranges::none_of(own.subscripts, [&](value v) { return get(v).vector; })) failed_ = true;
    b.take(std::move(own));
  }

  void copy_instruction(value id, block_builder& b) {
    if (truth_of(id)) return;
    instruction i = get(id);
    if (in_middle_)
      if (const auto same = holds_.same.find(id); same != holds_.same.end()) {
        names_[id] = operand(same->second, b);
        return;
      }
    if (in_middle_)
      if (const auto times = holds_.times.find(id); times != holds_.times.end()) {
        const value taken = b.emit(op::mul, {operand(i.args[1], b), b.i64(times->second)});
        names_[id] = b.emit(op::sub, {operand(i.args[0], b), taken});
        return;
      }
    if (in_middle_ && i.code == opcode::elementwise && folds(id, i, b)) return;
    if ((i.code == opcode::counter || i.code == opcode::lanes) && i.target == loop_.loop) {
      names_[id] = i.code == opcode::counter ? b.counter() : b.lanes();
      return;
    }
    if (i.code == opcode::load) return copy_load(id, std::move(i), b);
    for (value& v : i.args) v = operand(v, b);
    if (i.code == opcode::elementwise) i.vector = std::ranges::any_of(i.args, [&](value v) { return get(v).vector; });
    names_[id] = b.again(std::move(i));
  }

  // What truths leave of a condition or a choice.
  bool folds(value id, const instruction& i, block_builder& b) {
    if (i.what == op::select) {
      const auto truth = truth_of(i.args[0]);
      if (truth) take(id, i.args[*truth ? 1 : 2], b);
      return truth.has_value();
    }
    if (i.what == op::logical_not) {
      const auto truth = truth_of(i.args[0]);
      if (truth) holds_.truths[id] = !*truth;
      return truth.has_value();
    }
    if (i.what != op::logical_and && i.what != op::logical_or) return false;
    for (const int k : {0, 1}) {
      const auto truth = truth_of(i.args[slot_of(k)]);
      if (!truth) continue;
      if (*truth == (i.what == op::logical_and))
        take(id, i.args[slot_of(1 - k)], b);
      else
        holds_.truths[id] = *truth;
      return true;
    }
    return false;
  }
  void take(value id, value instead, block_builder& b) {
    if (const auto truth = truth_of(instead))
      holds_.truths[id] = *truth;
    else
      names_[id] = operand(instead, b);
  }

  void copy_load(value id, instruction i, block_builder& b) {
    if (is_masked_out(i.mask)) {
      names_[id] = b.constant(i.type, 0);
      return;
    }
    i.mask = mask_of(i.mask);
    const value last = i.args.empty() ? none : i.args.back();
    for (value& v : i.args) v = operand(v, b);
    if (i.how == access::gather) as_row(i, last, b);
    names_[id] = b.again(std::move(i));
  }
  // A gather whose lanes turn out to be neighbours.
  void as_row(instruction& i, value last, block_builder& b) {
    std::size_t vectors = 0;
    for (const value v : i.args) vectors += get(v).vector ? 1 : 0;
    if (vectors == 0) failed_ = true;
    if (vectors != 1 || !get(i.args.back()).vector || !in_middle_) return;
    auto place = form_of(last);
    if (!place || place->slope != 1) return;
    place->slope = 0;
    i.args.back() = b.emit(op::add, {b.counter(), built(*place, before_)});
    i.how = m_.buffers[slot_of(i.target)].unit_inner ? access::contiguous : access::strided;
  }

  const module& m_;
  kernel& k_;
  const statement& loop_;
  middle& middle_;
  block_builder before_;  // what stands before the loops
  std::unordered_set<value> made_;
  assumed holds_;
  value low_ = none, high_ = none, all_ = none;  // bounds of the middle, and what else must hold
  value first_ = none, end_ = none;
  std::unordered_map<value, value> names_;  // of the copy at hand
  bool in_middle_ = false, failed_ = false;
};

class loops_of_kernel {
 public:
  loops_of_kernel(const module& m, kernel& k, const extent_of& typical) : m_(m), k_(k), middle_(m, k, typical) {}
  void operator()(block& body) {
    block made;
    for (statement& s : body) {
      (*this)(s.body);
      add(std::move(s), made);
    }
    body = std::move(made);
  }

 private:
  void add(statement s, block& made, int depth = 0) {
    const bool vector = s.kind == statement_kind::loop && s.how_loop == loop_kind::vector && !s.backward;
    if (!vector) return made.push_back(std::move(s));
    partition found(m_, k_, s, middle_);
    const bool worth_it = found.may_have_parts() && s.trips >= tuning::partition::least_vectors * s.lanes;
    auto parts = worth_it ? found() : std::nullopt;
    if (!parts) return made.push_back(std::move(s));
    const auto size = typical_size(s);
    for (statement& each : parts->before) made.push_back(std::move(each));
    const auto add_edge = [&](statement edge) {
      middle_.add(edge);
      const bool large = 4 * typical_size(edge) >= size;
      edge.size_optimised = edge.size_optimised || !large;
      if (large && depth == 0) return add(std::move(edge), made, 1);  // as of two tensors in a row
      made.push_back(std::move(edge));
    };
    add_edge(std::move(parts->begin));
    made.push_back(std::move(parts->middle));
    add_edge(std::move(parts->rest));
  }
  std::int64_t typical_size(const statement& loop) {
    const auto low = middle_(loop.low), high = middle_(loop.high);
    return low && high ? *high - *low : 0;
  }

  const module& m_;
  kernel& k_;
  middle middle_;
};

}  // namespace

void partition_loops(module& m, const extent_of& typical) {
  for (kernel& k : m.kernels) loops_of_kernel(m, k, typical)(k.body);
}

}  // namespace sheaf::inline v0_1::ir
