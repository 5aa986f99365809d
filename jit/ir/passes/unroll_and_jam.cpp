#include <sheaf/jit/ir/passes/unroll_and_jam.hpp>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include <sheaf/jit/ir/builder.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

std::size_t at(value v) { return static_cast<std::size_t>(v); }

// Calls visit(value) for each value that a statement uses, without those of its body.
template <class Visit>
void for_each_use(const kernel& k, const statement& s, Visit&& visit) {
  const auto use = [&](value v) {
    if (v != none) visit(v);
  };
  if (s.kind == statement_kind::instruct) {
    use(k.instructions[at(s.id)].mask);
    for (const value v : k.instructions[at(s.id)].args) use(v);
    return;
  }
  if (s.kind == statement_kind::guard) use(s.id);
  for (const value v : {s.low, s.high, s.stored, s.mask, s.position, s.target_value}) use(v);
  for (const value v : s.subscripts) use(v);
  for (const value v : s.more) use(v);
  for (const value v : s.places) use(v);
}

template <class Visit>
void for_each_statement(const block& body, Visit&& visit) {
  for (const statement& s : body) {
    visit(s);
    for_each_statement(s.body, visit);
  }
}

bool is_control(const statement& s) { return s.kind == statement_kind::loop || s.kind == statement_kind::guard; }

// Which values of a loop's body differ from iteration to iteration, where those of `loop.equal` don't.
class variance {
 public:
  variance(const kernel& k, const statement& loop) : k_(k), equal_(loop.equal), varies_(k.instructions.size()) {
    for (const instruction& i : k.instructions)
      if (i.code == opcode::counter && i.target == loop.loop) varies_[at(value(&i - k.instructions.data()))] = true;
    for (bool again = true; again;) {
      changed_ = false;
      walk(loop.body, false);
      again = changed_;
    }
  }
  bool operator()(value v) const { return v != none && varies_[at(v)]; }
  // Does it run for each iteration by itself?
  bool controls(const statement& s) const {
    return s.kind == statement_kind::guard ? (*this)(s.id) : (*this)(s.low) || (*this)(s.high);
  }
  bool any_use(const statement& s) const {
    bool found = false;
    for_each_use(k_, s, [&](value v) { found = found || (*this)(v); });
    return found;
  }

 private:
  void mark(value v) {
    if (varies_[at(v)] || std::ranges::find(equal_, v) != equal_.end()) return;
    varies_[at(v)] = changed_ = true;
  }
  void walk(const block& body, bool apart) {
    for (const statement& s : body) {
      if (is_control(s)) {
        walk(s.body, apart || controls(s));
        continue;
      }
      if (s.kind == statement_kind::instruct && (apart || any_use(s))) mark(s.id);
      if (s.kind != statement_kind::combine) continue;
      if (apart || any_use(s)) mark(s.target_value);
      // A product that is added as it is made stays so: each sum has its own.
      if ((*this)(s.target_value) && s.fma) mark(s.stored);
    }
  }

  const kernel& k_;
  const std::vector<value>& equal_;
  std::vector<bool> varies_;
  bool changed_ = false;
};

// May iterations run at once? Nothing is kept from one to the next, and each stores to places of its own.
bool may_jam(const module& m, const kernel& k, const statement& loop, const variance& varies) {
  std::unordered_set<value> made;
  std::unordered_set<std::int32_t> stored;
  bool fine = loop.how_loop == loop_kind::serial && !loop.backward;
  for_each_statement(loop.body, [&](const statement& s) {
    if (s.kind == statement_kind::instruct) made.insert(s.id);
    if (s.kind == statement_kind::store) stored.insert(s.target);
    if (s.kind == statement_kind::append || (s.kind == statement_kind::loop && s.how_loop > loop_kind::vector))
      fine = false;
  });
  for_each_statement(loop.body, [&](const statement& s) {
    if (s.kind == statement_kind::combine) fine = fine && made.contains(s.target_value);
    if (s.kind == statement_kind::store) {
      const buffer& to = m.buffers[static_cast<std::size_t>(s.target)];
      const bool own = std::ranges::any_of(s.subscripts, std::cref(varies));
      fine = fine && own && (to.where != role::local || to.by_iteration);
    }
    if (s.kind != statement_kind::instruct) return;
    const instruction& i = k.instructions[at(s.id)];
    if (i.code == opcode::load && stored.contains(i.target)) fine = fine && varies(s.id);
    const bool slides = i.code >= opcode::scan_lanes;
    if (slides || (i.code == opcode::accumulator && i.dimension > 0)) fine = false;
  });
  return fine;
}

// A value of a loop's body, in another iteration of it and outside of that body.
class value_elsewhere {
 public:
  value_elsewhere(const kernel& k, const statement& loop) : k_(k), loop_(loop) {
    for (const statement& s : loop.body)
      if (s.kind == statement_kind::instruct) inside_.insert(s.id);
  }
  value operator()(value v, value counter, block_builder& b) const {
    if (!inside_.contains(v)) return v;
    instruction i = k_.instructions[at(v)];
    if (i.code == opcode::counter && i.target == loop_.loop) return counter;
    for (value& each : i.args) each = (*this)(each, counter, b);
    if (i.mask != none) i.mask = (*this)(i.mask, counter, b);
    return b.again(std::move(i));
  }

 private:
  const kernel& k_;
  const statement& loop_;
  std::unordered_set<value> inside_;
};

// Writes the body of a loop for several iterations at once.
class jammed {
 public:
  jammed(kernel& k, const statement& loop, const variance& varies)
      : k_(k), loop_(loop), varies_(varies), names_(static_cast<std::size_t>(loop.jam)) {
    for (auto& by_old : names_) by_old.resize(k.instructions.size(), none);
  }

  block operator()(value counter, block_builder& inner) {
    for (std::int32_t r = 0; r < loop_.jam; ++r)
      counters_.push_back(r == 0 ? counter : inner.emit(op::add, {counter, inner.i64(r)}));
    for (const value v : loop_.equal) {
      const value first = value_elsewhere(k_, loop_)(v, counter, inner);
      for (std::int32_t r = 0; r < loop_.jam; ++r) name(r, v) = first;
    }
    block made;
    together(loop_.body, made);
    return made;
  }

 private:
  value& name(int r, value old) { return names_[static_cast<std::size_t>(r)][at(old)]; }
  value renamed(int r, value old) {
    if (old == none) return none;
    const auto& names = names_[static_cast<std::size_t>(r)];
    return at(old) < names.size() && names[at(old)] != none ? names[at(old)] : old;
  }

  // For all iterations at once. Of statements that stand in a row those that all share come first, then those of one
  // iteration after the other: what one of them needs is in registers for a short time.
  void together(const block& body, block& made) {
    for (std::size_t first = 0; first < body.size();) {
      if (is_control(body[first])) {
        nested(body[first++], made);
        continue;
      }
      std::size_t end = first;
      while (end < body.size() && !is_control(body[end])) ++end;
      for (std::size_t i = first; i < end; ++i)
        if (!is_private(body[i])) shared(body[i], made);
      for (int r = 0; r < loop_.jam; ++r)
        for (std::size_t i = first; i < end; ++i)
          if (is_private(body[i])) copy(body[i], r, made);
      first = end;
    }
  }
  bool is_private(const statement& s) const {
    if (s.kind == statement_kind::instruct) return varies_(s.id);
    return s.kind == statement_kind::store || varies_.any_use(s);
  }
  void nested(const statement& s, block& made) {
    if (varies_.controls(s)) {
      for (int r = 0; r < loop_.jam; ++r) copy(s, r, made);
      return;
    }
    statement both = header(s, 0);
    together(s.body, both.body);
    made.push_back(std::move(both));
  }
  void shared(const statement& s, block& made) {
    if (s.kind == statement_kind::instruct && name(0, s.id) != none) return;  // equal data
    copy(s, 0, made);
    if (s.kind != statement_kind::instruct) return;
    for (int r = 1; r < loop_.jam; ++r) name(r, s.id) = name(0, s.id);
  }

  // The statement of one iteration, with all that is in it.
  void copy(const statement& s, int r, block& made) {
    if (s.kind == statement_kind::instruct) return copy_instruction(s, r, made);
    statement own = header(s, r);
    for (const statement& each : s.body) copy(each, r, own.body);
    made.push_back(std::move(own));
  }
  void copy_instruction(const statement& s, int r, block& made) {
    instruction i = k_.instructions[at(s.id)];
    if (i.code == opcode::counter && i.target == loop_.loop) {
      name(r, s.id) = counters_[static_cast<std::size_t>(r)];
      return;
    }
    for (value& v : i.args) v = renamed(r, v);
    i.mask = renamed(r, i.mask);
    if (i.code == opcode::counter || i.code == opcode::lanes) i.target = loop_name(r, i.target);
    k_.instructions.push_back(std::move(i));
    statement own = s;
    own.id = name(r, s.id) = static_cast<value>(k_.instructions.size()) - 1;
    made.push_back(std::move(own));
  }
  statement header(const statement& s, int r) {
    statement own = s;
    own.body.clear();
    for (value* v : {&own.low, &own.high, &own.stored, &own.mask, &own.position, &own.target_value})
      *v = renamed(r, *v);
    if (s.kind == statement_kind::guard) own.id = renamed(r, own.id);
    for (value& v : own.subscripts) v = renamed(r, v);
    for (value& v : own.more) v = renamed(r, v);
    for (value& v : own.places) v = renamed(r, v);
    if (s.kind == statement_kind::loop) own.loop = new_loop(r, s.loop);
    return own;
  }
  std::int32_t new_loop(int r, std::int32_t old) {
    loops_.push_back({r, old, static_cast<std::int32_t>(k_.loop_names.size())});
    k_.loop_names.push_back(k_.loop_names[static_cast<std::size_t>(old)]);
    return loops_.back().made;
  }
  std::int32_t loop_name(int r, std::int32_t old) const {
    const auto found = std::find_if(loops_.rbegin(), loops_.rend(), [&](const loop_of& l) {
      return l.old == old && (l.r == r || l.r == 0);
    });
    return found == loops_.rend() ? old : found->made;
  }

  kernel& k_;
  const statement& loop_;
  const variance& varies_;
  std::vector<std::vector<value>> names_;  // by iteration: what it has for a value of the body
  std::vector<value> counters_;
  struct loop_of {
    int r;
    std::int32_t old, made;
  };
  std::vector<loop_of> loops_;
};

// Instead of the loop: one over groups of iterations, and itself over those that are left.
void add_tiled(kernel& k, statement loop, const variance& varies, block& out) {
  block_builder around(k, nullptr, statement{});
  const value size = around.i64(loop.jam);
  const value end = around.emit(op::maximum, {loop.low, loop.high});
  const value count = around.emit(op::sub, {end, loop.low});
  const value groups = around.emit(op::quotient, {count, size});
  const value done = around.emit(op::add, {loop.low, around.emit(op::mul, {groups, size})});
  const value zero = around.i64(0);
  const std::string name = k.loop_names[static_cast<std::size_t>(loop.loop)] + "_tile";
  block_builder inner = around.loop(loop_kind::serial, name, zero, groups);
  inner.head().trips = loop.trips / loop.jam;
  const value first = inner.emit(op::add, {loop.low, inner.emit(op::mul, {inner.counter(), size})});
  inner.take(jammed(k, loop, varies)(first, inner));
  inner.close();
  loop.low = done;
  loop.jam = 1;
  block left;
  left.push_back(std::move(loop));
  around.take(std::move(left));
  for (statement& s : std::move(around).finish()) out.push_back(std::move(s));
}

// Instead of a loop whose iterations run at once where data of theirs is equal: one that asks, from an iteration on,
// whether that is so of the next ones, and else goes on with that one alone.
void add_where_equal(kernel& k, statement loop, const variance& varies, block& out) {
  block_builder around(k, nullptr, statement{});
  const value size = around.i64(loop.jam), one = around.i64(1);
  const value next = around.accumulator(element::i64, monoid::max, false);
  around.combine(next, loop.low);
  const std::string name = k.loop_names[static_cast<std::size_t>(loop.loop)] + "_tile";
  block_builder each = around.loop(loop_kind::serial, name, loop.low, loop.high);
  each.head().trips = loop.trips;
  const value first = each.counter();
  block_builder begin = each.guard(each.emit(op::less_equal, {each.read(next), first}));
  const value end = begin.emit(op::add, {first, size}), after = begin.emit(op::add, {first, one});
  const value equal = begin.accumulator(element::boolean, monoid::any, false);
  {
    block_builder fits = begin.guard(begin.emit(op::less_equal, {end, loop.high}));
    const value_elsewhere of(k, loop);
    value all = none;
    for (const value v : loop.equal) {
      const value mine = of(v, first, fits);
      for (std::int32_t r = 1; r < loop.jam; ++r) {
        const value row = fits.emit(op::add, {first, fits.i64(r)});
        const value same = fits.emit(op::equal, {mine, of(v, row, fits)});
        all = all == none ? same : fits.emit(op::logical_and, {all, same});
      }
    }
    fits.combine(equal, all);
    fits.close();
  }
  const value together = begin.read(equal);
  block_builder tile = begin.guard(together);
  tile.take(jammed(k, loop, varies)(first, tile));
  tile.combine(next, end);
  tile.close();
  block_builder alone = begin.guard(begin.emit(op::logical_not, {together}));
  loop.low = first;
  loop.high = after;
  loop.jam = 1;
  loop.equal.clear();
  loop.trips = 1;
  alone.take(std::move(loop));
  alone.close();
  begin.close();
  each.close();
  for (statement& s : std::move(around).finish()) out.push_back(std::move(s));
}

class pass {
 public:
  pass(const module& m, kernel& k) : m_(m), k_(k) {}
  // Inner loops first: those around take the tile that they made.
  void operator()(block& body) {
    block made;
    for (statement& s : body) {
      (*this)(s.body);
      if (s.kind != statement_kind::loop || s.jam <= 1) {
        made.push_back(std::move(s));
        continue;
      }
      const variance varies(k_, s);
      if (!may_jam(m_, k_, s, varies)) {
        s.jam = 1;
        s.equal.clear();
        made.push_back(std::move(s));
      } else if (s.equal.empty()) {
        add_tiled(k_, std::move(s), varies, made);
      } else {
        add_where_equal(k_, std::move(s), varies, made);
      }
    }
    body = std::move(made);
  }

 private:
  const module& m_;
  kernel& k_;
};

}  // namespace

void unroll_and_jam(module& m) {
  for (kernel& k : m.kernels) pass(m, k)(k.body);
}

}  // namespace sheaf::inline v0_1::ir
