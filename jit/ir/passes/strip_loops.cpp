#include <sheaf/jit/ir/passes/strip_loops.hpp>

#include <algorithm>
#include <bit>

#include <sheaf/jit/ir/passes/repeated_elements.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

// Numbers of the form (lane + offset) / by and (lane + offset) % by.
struct digits {
  affine offset, by;
  std::int64_t period = 0;  // what `by` is taken to be
  std::vector<value> of;
};

class strip : loop_middle {
 public:
  strip(const module& m, kernel& k, const statement& loop, middle& typical)
      : loop_middle(k, loop, typical), m_(m) {}

  // Instead of the loop; nothing where it stays.
  std::optional<block> operator()() {
    if (!may_copy() || !may_begin_anywhere() || !find()) return std::nullopt;
    range();
    block_builder periods = before_.loop(loop_kind::serial, name() + "_quotient", first_, end_);
    add_period(periods);
    periods.head().trips = static_cast<double>(size_) / static_cast<double>(split_.period) + 1;
    if (failed_) return std::nullopt;
    periods.close();
    block made = std::move(before_).finish();
    if (rest_ == none) return made;
    statement rest = loop_;
    rest.low = rest_;
    rest.trips = 0;
    rest.size_optimised = true;
    made.push_back(std::move(rest));
    return made;
  }

 private:
  const std::string& name() const { return k_.loop_names[slot_of(loop_.loop)]; }

  // What extents are taken to be is asked only where lanes are divided: a call may have to fix them for that.
  bool find() {
    std::vector<digits> all;
    for (const statement& s : loop_.body)
      if (s.kind == statement_kind::instruct) add_digit(s.id, all);
    if (all.empty()) return false;
    const auto low = middle_(loop_.low), high = middle_(loop_.high);
    if (!low || !high || *high - *low < tuning::partition::least_stripped) return false;
    size_ = *high - *low;
    const auto most = std::ranges::max_element(all, {}, [](const digits& d) { return d.of.size(); });
    if (all.size() > 1 && size_ <= 2 * most->period) return false;  // few parts, in each of which nothing is divided
    split_ = *most;
    return true;
  }
  void add_digit(value id, std::vector<digits>& all) {
    const instruction& i = get(id);
    if (i.code != opcode::elementwise || !i.vector || (i.what != op::quotient && i.what != op::remainder)) return;
    auto number = form_of(i.args[0]);
    const auto by = form_of(i.args[1]);
    if (!number || !by || number->slope != 1 || by->slope != 0) return;
    if (by->terms.empty() && by->constant < tuning::partition::least_period) return;
    const auto place = middle_(i.args[0]), period = middle_(i.args[1]);
    if (!place || !period || *period < tuning::partition::least_period) return;
    number->slope = 0;
    const auto same = [&](const digits& d) { return d.offset == *number && d.by == *by; };
    auto found = std::ranges::find_if(all, same);
    if (found == all.end()) found = all.insert(found, {*number, *by, *period, {}});
    found->of.push_back(id);
  }

  // first_, end_: of the quotients; low_, high_: of the lanes that are stripped; rest_: where the others begin.
  void range() {
    block_builder& b = before_;
    offset_ = built(split_.offset, b);
    by_ = built(split_.by, b);
    low_ = loop_.low;
    high_ = loop_.high;
    if (!split_.by.terms.empty()) {
      const value large = b.emit(op::less_equal, {b.i64(tuning::partition::least_period), by_});
      by_ = b.emit(op::maximum, {by_, b.i64(1)});
      rest_ = b.emit(op::select, {large, loop_.high, loop_.low});
      high_ = rest_;
    }
    first_ = b.emit(op::quotient, {b.emit(op::add, {low_, offset_}), by_});
    const value last = b.emit(op::add, {b.emit(op::add, {high_, offset_}), b.i64(-1)});
    end_ = b.emit(op::add, {b.emit(op::quotient, {last, by_}), b.i64(1)});
  }

  void add_period(block_builder& row) {
    quotient_ = row.counter();
    begin_ = row.emit(op::sub, {row.emit(op::mul, {quotient_, by_}), offset_});
    const value from = row.emit(op::maximum, {low_, begin_});
    const value to = row.emit(op::minimum, {high_, row.emit(op::add, {begin_, by_})});
    const std::int32_t lanes = lanes_of(std::min(split_.period, size_));
    block_builder inner = row.loop(loop_kind::vector, name(), from, to, lanes);
    for (const statement& s : loop_.body) copy(s, row, inner);
    inner.head().trips = static_cast<double>(std::min(split_.period, size_));
    inner.head().size_optimised = loop_.size_optimised || std::min(split_.period, size_) < lanes;
    inner.close();
  }

  value renamed(value v) const {
    const auto found = names_.find(v);
    return found == names_.end() ? v : found->second;
  }

  void copy(const statement& s, block_builder& row, block_builder& inner) {
    if (s.kind == statement_kind::instruct) return copy_instruction(s.id, row, inner);
    if (s.kind == statement_kind::prefetch && s.how == access::gather) return;
    statement own = s;
    for (value* v : {&own.stored, &own.mask}) *v = renamed(*v);
    for (value& v : own.subscripts) v = renamed(v);
    const bool scattered = s.how == access::gather;
    if (scattered && std::ranges::none_of(own.subscripts, [&](value v) { return get(v).vector; })) failed_ = true;
    if (split_.period % loop_.lanes != 0 && split_.period < tuning::partition::long_period) own.once = false;
    inner.take(std::move(own));
  }
  void copy_instruction(value id, block_builder& row, block_builder& inner) {
    instruction i = get(id);
    if (std::ranges::find(split_.of, id) != split_.of.end()) {
      names_[id] = i.what == op::quotient ? quotient_ : inner.emit(op::sub, {inner.lanes(), begin_});
      if (i.what == op::remainder) forms_[names_[id]] = affine{1, 0, {{begin_, -1}}};
      return;
    }
    if ((i.code == opcode::counter || i.code == opcode::lanes) && i.target == loop_.loop) {
      names_[id] = i.code == opcode::counter ? inner.counter() : inner.lanes();
      if (i.code == opcode::counter) inside_.insert(names_[id]);
      forms_[names_[id]] = affine{1, 0, {}};
      return;
    }
    for (value& v : i.args) v = renamed(v);
    i.mask = renamed(i.mask);
    if (i.code == opcode::load) return copy_load(id, std::move(i), inner);
    i.vector = std::ranges::any_of(i.args, [&](value v) { return get(v).vector; });
    const bool stays = i.vector || std::ranges::any_of(i.args, [&](value v) { return inside_.contains(v); });
    const value made = (stays ? inner : row).again(std::move(i));
    names_[id] = made;
    if (stays) inside_.insert(made);
    note_form(made);
  }
  void note_form(value v) {
    const instruction& i = get(v);
    if (!i.vector || i.code != opcode::elementwise || (i.what != op::add && i.what != op::sub)) return;
    auto a = new_form(i.args[0]);
    const auto b = new_form(i.args[1]);
    if (!a || !b) return;
    a->add(*b, i.what == op::add ? 1 : -1);
    forms_[v] = *a;
  }
  // In terms of the new vector loop.
  std::optional<affine> new_form(value v) const {
    if (const auto found = forms_.find(v); found != forms_.end()) return found->second;
    const instruction& i = get(v);
    if (i.vector || i.type != element::i64) return std::nullopt;
    const bool small = i.code == opcode::constant && i.bits < middle::largest && i.bits > -middle::largest;
    return small ? affine{0, i.bits, {}} : affine{0, 0, {{v, 1}}};
  }

  void copy_load(value id, instruction i, block_builder& inner) {
    if (i.how == access::gather) {
      const auto vectors = std::ranges::count_if(i.args, [&](value v) { return get(v).vector; });
      if (vectors == 0) as_element(i, inner);
      if (vectors == 1 && get(i.args.back()).vector) as_row(i, inner);
    }
    names_[id] = inner.again(std::move(i));
    inside_.insert(names_[id]);
  }
  void as_element(instruction& i, block_builder& inner) {
    if (i.args.empty() || i.mask == none || !get(i.mask).vector) {
      i.how = access::uniform;
      i.vector = false;
    } else {  // in some lanes
      const value zeros = inner.emit(op::mul, {inner.lanes(), inner.i64(0)});
      i.args.back() = inner.emit(op::add, {i.args.back(), zeros});
    }
  }
  void as_row(instruction& i, block_builder& inner) {
    const auto place = new_form(i.args.back());
    const bool unit = m_.buffers[slot_of(i.target)].unit_inner;
    if (!place || std::abs(place->slope) != 1 || (place->slope == -1 && !unit)) return;
    affine rest = *place;
    rest.slope = 0;
    const op what = place->slope == 1 ? op::add : op::sub;
    i.args.back() = inner.emit(what, {built(rest, inner), inner.counter()});
    i.how = place->slope == -1 ? access::deinterleaved : unit ? access::contiguous : access::strided;
    if (place->slope == -1) i.apart.step = -1;
  }

  const module& m_;
  digits split_;
  std::int64_t size_ = 0;  // what the loop's is taken to be
  value offset_ = none, by_ = none, low_ = none, high_ = none, first_ = none, end_ = none, rest_ = none;
  value quotient_ = none, begin_ = none;  // of the period at hand
  std::unordered_map<value, value> names_;
  std::unordered_map<value, affine> forms_;
  std::unordered_set<value> inside_;  // what was made in the new vector loop
  bool failed_ = false;
};

class strips_of_kernel {
 public:
  strips_of_kernel(const module& m, kernel& k, const extent_of& typical) : m_(m), k_(k), middle_(m, k, typical) {}
  void operator()(block& body) {
    block made;
    for (statement& s : body) {
      (*this)(s.body);
      const bool vector = s.kind == statement_kind::loop && s.how_loop == loop_kind::vector && !s.backward;
      auto instead = vector ? repeated_elements(m_, k_, s, middle_)() : std::nullopt;
      if (vector && !instead) instead = strip(m_, k_, s, middle_)();
      if (!instead) {
        made.push_back(std::move(s));
        continue;
      }
      for (statement& each : *instead) made.push_back(std::move(each));
    }
    body = std::move(made);
  }

 private:
  const module& m_;
  kernel& k_;
  middle middle_;
};

}  // namespace

void strip_loops(module& m, const extent_of& typical) {
  for (kernel& k : m.kernels) strips_of_kernel(m, k, typical)(k.body);
}

}  // namespace sheaf::inline v0_1::ir
