#include <sheaf/jit/ir/passes/interleave_kernels.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/jit/ir/builder.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

// The statements of a kernel, with the numbers that they have behind those of another.
class renumbering {
 public:
  renumbering(value values, std::int32_t loops) : values_(values), loops_(loops) {}

  void operator()(instruction& i) const {
    if (i.code == opcode::counter || i.code == opcode::run_end || i.code == opcode::lanes) i.target += loops_;
    (*this)(i.mask);
    (*this)(i.args);
  }
  void operator()(block& body) const {
    for (statement& s : body) {
      for (value* v :
           {&s.id, &s.low, &s.high, &s.target_value, &s.stored, &s.mask, &s.all_whole, &s.position})
        (*this)(*v);
      (*this)(s.subscripts);
      (*this)(s.more);
      (*this)(s.places);
      if (s.loop >= 0) s.loop += loops_;
      (*this)(s.body);
    }
  }

 private:
  void operator()(value& v) const {
    if (v != none) v += values_;
  }
  void operator()(std::vector<value>& list) const {
    for (value& v : list) (*this)(v);
  }
  value values_;
  std::int32_t loops_;
};

// The end of the range before `iteration` of a loop that is cut into `iterations`.
value cut_at(block_builder& at, const statement& loop, value iteration, std::int64_t iterations) {
  const value count = at.emit(op::sub, {loop.high, loop.low});
  const value done = at.emit(op::mul, {count, iteration});
  return at.emit(op::add, {loop.low, at.emit(op::quotient, {done, at.i64(iterations)})});
}

// Instructions and loops of both; no body yet.
kernel numbered(const kernel& a, const kernel& b, const renumbering& after) {
  kernel both{.name = a.name + "_and_" + b.name, .loop_names = a.loop_names, .instructions = a.instructions};
  both.interleaved = b.interleaved;
  both.notes = a.notes;
  both.notes.insert(both.notes.end(), b.notes.begin(), b.notes.end());
  both.loop_names.insert(both.loop_names.end(), b.loop_names.begin(), b.loop_names.end());
  for (instruction i : b.instructions) {
    after(i);
    both.instructions.push_back(std::move(i));
  }
  return both;
}

// Before iteration k there were (k + 1) / 2 of the first loop and k / 2 of the second; one of the two has an empty
// range.
void one_iteration(block_builder& iteration, statement* loops, std::int64_t iterations) {
  const value one = iteration.i64(1), two = iteration.i64(2), now = iteration.counter();
  const value next = iteration.emit(op::add, {now, one}), after_next = iteration.emit(op::add, {now, two});
  const value counts[] = {now, next, after_next};
  value done[3];
  for (int k = 0; k < 3; ++k) done[k] = iteration.emit(op::quotient, {counts[k], two});
  for (int k = 0; k < 2; ++k) {
    statement& loop = loops[k];
    const value low = cut_at(iteration, loop, done[1 - k], iterations),
                high = cut_at(iteration, loop, done[2 - k], iterations);
    loop.how_loop = loop_kind::serial;
    loop.low = low;
    loop.high = high;
    loop.cost = 1;
    block statements;
    statements.push_back(std::move(loop));
    iteration.take(std::move(statements));
  }
}

// Iteration 0 is the first range of `a`, iteration 1 the first of `b`, iteration 2 the second of `a`. Nothing where one
// of them has no parallel loop.
std::optional<kernel> interleaved(const kernel& a, const kernel& b, const interleaving& how) {
  if (parallel_loop(a) == nullptr || parallel_loop(b) == nullptr) return std::nullopt;
  const renumbering after(static_cast<value>(a.instructions.size()), static_cast<std::int32_t>(a.loop_names.size()));
  kernel_builder builder(numbered(a, b, after));
  block first = a.body, second = b.body;
  after(second);
  statement loops[] = {std::move(first.back()), std::move(second.back())};
  first.pop_back();
  second.pop_back();
  block_builder& top = builder.top();
  top.take(std::move(first));
  top.take(std::move(second));
  const value begin = top.i64(0), end = top.i64(2 * how.iterations);
  block_builder iteration = top.loop(loop_kind::parallel, "iteration", begin, end);
  iteration.head().cost = std::max({how.cost, loops[0].cost, loops[1].cost});
  one_iteration(iteration, loops, how.iterations);
  iteration.close();
  return std::move(builder).finish();
}

}  // namespace

void interleave_kernels(module& m) {
  std::vector<bool> moved(m.kernels.size(), false);
  for (std::size_t n = 0; n < m.kernels.size(); ++n) {
    const interleaving how = m.kernels[n].interleaved;
    if (how.with < 0) continue;
    kernel& other = m.kernels[static_cast<std::size_t>(how.with)];
    std::optional<kernel> both = interleaved(m.kernels[n], other, how);
    if (!both) continue;
    other = *std::move(both);
    moved[n] = true;
  }
  std::vector<kernel> left;
  for (std::size_t n = 0; n < m.kernels.size(); ++n)
    if (!moved[n]) left.push_back(std::move(m.kernels[n]));
  m.kernels = std::move(left);
}

}  // namespace sheaf::inline v0_1::ir
