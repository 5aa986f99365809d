#include "counted_work.hpp"

#include <algorithm>

#include "harness.hpp"

namespace sheaf::test {

namespace {

using ir::opcode;
using ir::statement;
using ir::statement_kind;
using ir::value;

constexpr std::int64_t lanes_of_register = 8;  // that run at once, of a vector loop

class counting {
 public:
  counting(ir::kernel& k, std::int32_t buffer) : k_(k), buffer_(buffer) {}

  void operator()() {
    const bool shared = ir::parallel_loop(k_) != nullptr;
    ir::block& body = shared ? k_.body.back().body : k_.body;
    ir::block out;
    all_ = instruct(out, {.code = opcode::accumulator, .fold = monoid::sum, .args = {}});
    add(out, constant(out, lanes_of_register * straight(body)));
    block(body, out);
    const value zero = constant(out, 0);
    const value before = instruct(out, {.code = opcode::load, .target = buffer_, .args = {zero}});
    const value own = instruct(out, {.code = opcode::read, .args = {all_}});
    statement store{};
    store.kind = statement_kind::store;
    store.target = buffer_;
    store.subscripts = {zero};
    store.stored = elementwise(out, op::add, {before, own});
    out.push_back(std::move(store));
    body = std::move(out);
  }

 private:
  value instruct(ir::block& out, ir::instruction i) {
    k_.instructions.push_back(std::move(i));
    statement s{};
    s.kind = statement_kind::instruct;
    s.id = static_cast<value>(k_.instructions.size()) - 1;
    out.push_back(s);
    return s.id;
  }
  value constant(ir::block& out, std::int64_t bits) {
    return instruct(out, {.code = opcode::constant, .bits = bits, .args = {}});
  }
  value elementwise(ir::block& out, op what, std::vector<value> args) {
    return instruct(out, {.code = opcode::elementwise, .what = what, .args = std::move(args)});
  }
  void add(ir::block& out, value x) {
    statement s{};
    s.kind = statement_kind::combine;
    s.target_value = all_;
    s.stored = x;
    out.push_back(std::move(s));
  }

  // What one iteration runs through outside of its loops. Those within lanes are short: they count as often as usual.
  static std::int64_t straight(const ir::block& body, bool lanes = false) {
    std::int64_t all = 0;
    for (const statement& s : body) {
      if (s.kind == statement_kind::guard) all += straight(s.body, lanes);
      if (s.kind == statement_kind::loop && lanes)
        all += straight(s.body, true) * std::max<std::int64_t>(1, static_cast<std::int64_t>(s.trips.estimate()));
      all += s.kind == statement_kind::loop || s.kind == statement_kind::guard ? 0 : 1;
    }
    return all;
  }

  void block(ir::block& body, ir::block& out) {
    for (statement& s : body) {
      if (s.kind == statement_kind::loop) {
        const bool lanes = s.how_loop == ir::loop_kind::vector;
        const std::int64_t each = straight(s.body, lanes) * (lanes ? 1 : lanes_of_register);
        const value trips = elementwise(out, op::sub, {s.high, s.low});
        const value some = elementwise(out, op::maximum, {trips, constant(out, 0)});
        add(out, elementwise(out, op::mul, {some, constant(out, each)}));
        if (!lanes) nested(s.body);
      } else if (s.kind == statement_kind::guard) {
        nested(s.body);
      }
      out.push_back(std::move(s));
    }
  }
  void nested(ir::block& body) {
    ir::block inner;
    block(body, inner);
    body = std::move(inner);
  }

  ir::kernel& k_;
  const std::int32_t buffer_;
  value all_ = ir::none;
};

}  // namespace

void count_work(ir::module& m) {
  const std::int32_t buffer = add_slot(m, "work", element::i64, 1, ir::role::workspace);
  for (ir::kernel& k : m.kernels) counting(k, buffer)();
}

}  // namespace sheaf::test
