#include <sheaf/jit/ir/passes/transpose_accesses.hpp>

#include <optional>
#include <unordered_set>

namespace sheaf::inline v0_1::ir {

namespace {

class innermost_loop {
 public:
  innermost_loop(const module& m, kernel& k, statement& loop) : m_(m), k_(k), loop_(loop) {
    for (const statement& s : loop.body)
      if (s.kind == statement_kind::instruct) made_.insert(s.id);
  }

  void operator()() {
    bool any = false;
    for (statement& s : loop_.body) {
      if (s.kind == statement_kind::instruct) {
        instruction& i = at(s.id);
        if (i.code != opcode::load || i.how != access::gather || i.mask != none || is_stored(i.target)) continue;
        if (goes_along(i.target, i.args)) i.how = access::transposed, any = true;
      } else if (s.kind == statement_kind::store && s.how == access::gather && s.mask == none && !s.adds) {
        if (is_loaded(s.target)) continue;
        if (goes_along(s.target, s.subscripts)) s.how = access::transposed, any = true;
      }
    }
    if (any) loop_.unroll = transposed_columns;
  }

 private:
  instruction& at(value v) { return k_.instructions[static_cast<std::size_t>(v)]; }
  template <class Test>
  static bool any_of(const block& body, const Test& test) {
    for (const statement& s : body)
      if (test(s) || any_of(s.body, test)) return true;
    return false;
  }
  bool is_stored(std::int32_t buffer) {
    const auto stores = [&](const statement& s) { return s.kind == statement_kind::store && s.target == buffer; };
    return any_of(loop_.body, stores);
  }
  bool is_loaded(std::int32_t buffer) {
    int stores = 0;
    return any_of(loop_.body, [&](const statement& s) {
      if (s.kind == statement_kind::store && s.target == buffer) return ++stores > 1;
      return s.kind == statement_kind::instruct && at(s.id).code == opcode::load && at(s.id).target == buffer;
    });
  }
  // How far it moves with an iteration; nothing where that is not a constant.
  std::optional<int> slope(value v) {
    if (!made_.contains(v)) return 0;
    const instruction& i = at(v);
    if (i.code == opcode::counter) return i.target == loop_.loop ? 1 : 0;
    if (i.code == opcode::constant || i.code == opcode::extent || i.code == opcode::lanes) return 0;
    if (i.code != opcode::elementwise || (i.what != op::add && i.what != op::sub)) return std::nullopt;
    const auto a = slope(i.args[0]), b = slope(i.args[1]);
    if (!a || !b) return std::nullopt;
    return i.what == op::add ? *a + *b : *a - *b;
  }
  bool goes_along(std::int32_t id, const std::vector<value>& subscripts) {
    const buffer& b = m_.buffers[static_cast<std::size_t>(id)];
    if (!b.unit_inner || subscripts.size() < 2 || at(subscripts.back()).vector) return false;
    for (std::size_t d = 0; d < subscripts.size(); ++d)
      if (slope(subscripts[d]) != (d + 1 == subscripts.size() ? 1 : 0)) return false;
    return true;
  }

  const module& m_;
  kernel& k_;
  statement& loop_;
  std::unordered_set<value> made_;
};

void walk(const module& m, kernel& k, block& body) {
  for (statement& s : body) {
    walk(m, k, s.body);
    if (s.kind != statement_kind::loop || s.how_loop != loop_kind::serial || s.backward || s.unroll != 1) continue;
    bool innermost = true;
    for (const statement& each : s.body) innermost = innermost && each.kind != statement_kind::loop;
    if (innermost) innermost_loop(m, k, s)();
  }
}

}  // namespace

void transpose_accesses(module& m) {
  for (kernel& k : m.kernels) walk(m, k, k.body);
}

}  // namespace sheaf::inline v0_1::ir
