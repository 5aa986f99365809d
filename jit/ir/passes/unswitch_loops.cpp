#include <sheaf/jit/ir/passes/unswitch_loops.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sheaf::inline v0_1::ir {

namespace {

// Nothing of the body is done where its last statement, a guard, does nothing; and the body doesn't make its condition.
bool is_switched(const kernel& k, const statement& s) {
  if (s.kind != statement_kind::loop || s.how_loop != loop_kind::serial || s.body.empty()) return false;
  const statement& last = s.body.back();
  const auto is_pure = [&](const statement& each) {
    return each.kind == statement_kind::instruct && each.id != last.id &&
           k.instructions[static_cast<std::size_t>(each.id)].code < opcode::accumulator;
  };
  return last.kind == statement_kind::guard && std::all_of(s.body.begin(), s.body.end() - 1, is_pure);
}

void unswitch(const kernel& k, block& body) {
  for (statement& s : body) {
    unswitch(k, s.body);
    if (!is_switched(k, s)) continue;
    statement guard = std::move(s.body.back());
    s.body.pop_back();
    std::move(guard.body.begin(), guard.body.end(), std::back_inserter(s.body));
    guard.body.clear();
    guard.body.push_back(std::move(s));
    s = std::move(guard);
  }
}

}  // namespace

void unswitch_loops(module& m) {
  for (kernel& k : m.kernels) unswitch(k, k.body);
}

}  // namespace sheaf::inline v0_1::ir
