#include <sheaf/jit/ir/passes/partition_loops.hpp>

#include <algorithm>

#include <sheaf/jit/ir/passes/loop_middle.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

class partition : loop_middle {
 public:
  partition(const module& m, kernel& k, const statement& loop, middle& typical)
      : loop_middle(k, loop, typical), m_(m), lanes_(loop.lanes) {}
  // Its trips are asked last: calls of one class answer alike.
  bool may_have_parts() {
    const bool anywhere = may_begin_anywhere();
    slow_ = has_slow_lanes();
    exact_ = anywhere && slow_;
    if (!loop_middle::may_have_parts(least_comparisons())) return false;
    if (exact_) return loop_.trips >= tuning::partition::least_stripped;
    const int enough = tuning::partition::least_vectors * lanes_;
    if (loop_.trips >= enough) return true;
    if (!anywhere || lanes_ < tuning::partition::narrower * tuning::emit::least_group) return false;
    lanes_ /= tuning::partition::narrower;
    return 2 * loop_.trips >= enough;
  }

  struct parts {
    block before;
    statement begin, middle, rest;
  };
  // Instead of the loop; nothing where it stays.
  std::optional<parts> operator()() {
    decide();
    if (holds_.lanes < least_comparisons()) return std::nullopt;
    exact_ ? exact_range_of_middle() : range_of_middle(lanes_);
    statement begin = loop_, middle = part(first_, end_, true), rest = part(end_, loop_.high, false);
    begin.high = first_;
    begin.whole = middle.whole = !exact_;
    begin.lanes = exact_ ? lanes_between(loop_.low, first_) : lanes_;
    if (failed_) return std::nullopt;
    return parts{std::move(before_).finish(), std::move(begin), std::move(middle), std::move(rest)};
  }

 private:
  int least_comparisons() const { return slow_ ? 1 : tuning::partition::least_comparisons; }
  std::int32_t lanes_between(value low, value high) {
    const auto from = middle_(low), to = middle_(high);
    return lanes_of(from && to ? std::optional(*to - *from) : std::nullopt);
  }
  statement part(value low, value high, bool in_middle) {
    names_.clear();
    in_middle_ = in_middle;
    const std::string name = k_.loop_names[slot_of(loop_.loop)];
    block_builder inner = before_.loop(loop_kind::vector, name, low, high, exact_ ? lanes_between(low, high) : lanes_);
    row_ = &inner;
    for (const statement& s : loop_.body) copy(s, inner);
    statement own = inner.head();
    own.trips = loop_.trips;
    own.whole = loop_.whole && !exact_;
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
    if (s.kind == statement_kind::loop) return copy_loop(s, b);
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

  void copy_loop(const statement& s, block_builder& b) {
    const std::string name = k_.loop_names[slot_of(s.loop)];
    block_builder inner = b.loop(s.how_loop, name, operand(s.low, b), operand(s.high, b), s.lanes);
    const std::int32_t loop = inner.head().loop;
    statement own = s;
    own.body.clear();
    own.loop = loop;
    own.low = inner.head().low;
    own.high = inner.head().high;
    inner.head() = std::move(own);
    loops_[s.loop] = loop;
    for (const statement& each : s.body) copy(each, inner);
    inner.close();
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
      names_[id] = i.code == opcode::counter ? row_->counter() : row_->lanes();
      return;
    }
    if (i.code == opcode::counter || i.code == opcode::lanes)
      if (const auto within = loops_.find(i.target); within != loops_.end()) i.target = within->second;
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
  // Before the loops, but for what counters of loops within add to it.
  value place_of(const affine& place, block_builder& b) {
    affine outside{0, place.constant, {}};
    for (const auto& [v, factor] : place.terms)
      if (is_outside(v)) outside.terms[v] = factor;
    value sum = built(outside, before_);
    for (const auto& [v, factor] : place.terms) {
      if (is_outside(v)) continue;
      const value times = factor == 1 ? renamed(v) : b.emit(op::mul, {renamed(v), b.i64(factor)});
      sum = b.emit(op::add, {sum, times});
    }
    return sum;
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
    i.args.back() = b.emit(op::add, {row_->counter(), place_of(*place, b)});
    i.how = m_.buffers[slot_of(i.target)].unit_inner ? access::contiguous : access::strided;
  }

  const module& m_;
  std::unordered_map<value, value> names_;  // of the copy at hand, as are the next two
  std::unordered_map<std::int32_t, std::int32_t> loops_;
  block_builder* row_ = nullptr;
  bool in_middle_ = false, failed_ = false;
  std::int32_t lanes_;  // of parts, which begin and end at multiples of them
  bool exact_ = false;  // or where comparisons turn
  bool slow_ = false;
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
    if (!found.may_have_parts()) return made.push_back(std::move(s));
    const auto size = typical_size(s);
    auto parts = size == 0 ? std::nullopt : found();  // an edge has no middle
    if (!parts) return made.push_back(std::move(s));
    for (statement& each : parts->before) made.push_back(std::move(each));
    const auto add_edge = [&](statement edge) {
      middle_.add(edge);
      const bool large = size && 4 * typical_size(edge).value_or(0) >= *size;
      edge.size_optimised = edge.size_optimised || !large;
      if (large && depth == 0) return add(std::move(edge), made, 1);  // as of two tensors in a row
      made.push_back(std::move(edge));
    };
    add_edge(std::move(parts->begin));
    made.push_back(std::move(parts->middle));
    add_edge(std::move(parts->rest));
  }
  std::optional<std::int64_t> typical_size(const statement& loop) {
    const auto low = middle_(loop.low), high = middle_(loop.high);
    return low && high ? std::optional(*high - *low) : std::nullopt;
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
