// What a reduction has so far, in the slow evaluator: elements are taken one by one in the order of the loops.
// Shown by tests/static/evaluate.cpp.
#pragma once
#include <sheaf/dsl/graph/cell.hpp>
#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1 {

class accumulation {
 public:
  constexpr accumulation(const graph& g, node_id reduce, bool rounds)
      : g_(&g),
        kind_(monoid_of(g, reduce)),
        type_(g.type(g.arg(reduce, 0))),
        real_(is_floating(type_)),
        rounds_(rounds) {
    if (!is_own(kind_)) {
      state_.push(identity(g.type(g.arg(reduce, 0))));
      return;
    }
    const own_monoid_row& m = own_row_of(g, kind_);
    component_ = m.component;
    for (int k = 0; k < m.width; ++k) state_.push(cells::constant(g, own_row_of(g, sibling(g, kind_, k)).identity));
  }

  // element: as many values as the state has. position: of the first bound index.
  constexpr void take(const flat<cell>& element, std::int64_t position) {
    if (is_own(kind_)) return take_own(element);
    if (row(kind_).position) return take_position(element[0], position);
    const op_row& w = row(row(kind_).combine);
    cell c = element[0];
    if (row(kind_).boolean) c = {0, real_ ? c.real != 0 : c.integer != 0};
    cell& best = state_[0];
    if (real_ && !row(kind_).boolean)
      best.real = w.real(best.real, c.real, 0);
    else
      best.integer = whole_result(w, type_, best.integer, c.integer, 0);
  }

  constexpr cell result() const { return row(kind_).position ? cell{0, position_} : state_[component_]; }

 private:
  constexpr cell identity(element type) const {
    const double value = row(kind_).identity;
    if (real_) return {value, 0};
    if (value == math::infinity) return {0, highest_integer(type)};
    return {0, value == -math::infinity ? lowest_integer(type) : static_cast<std::int64_t>(value)};
  }

  constexpr void take_own(const flat<cell>& element) {
    operands_ = state_;
    for (const cell& c : element) operands_.push(c);
    for (int k = 0; k < state_.size(); ++k)
      state_[k] = cells::applied(*g_, own_row_of(*g_, sibling(*g_, kind_, k)).combine, operands_.data(), rounds_);
  }

  // The first position wins a tie, and the first NaN wins over everything.
  constexpr void take_position(const cell& c, std::int64_t position) {
    const bool greatest = kind_ == monoid::argmax;
    const cell best = state_[0];
    bool better = empty_;
    if (!better && real_) {
      if (best.real != best.real) return;
      better = c.real != c.real || (greatest ? c.real > best.real : c.real < best.real);
    } else if (!better) {
      better = whole_result(row(op::less), type_, (greatest ? best : c).integer, (greatest ? c : best).integer, 0) != 0;
    }
    if (!better) return;
    empty_ = false;
    state_[0] = c;
    position_ = position;
  }

  const graph* g_;
  monoid kind_;
  element type_;  // the body's
  bool real_;
  bool rounds_;
  bool empty_ = true;
  int component_ = 0;
  std::int64_t position_ = -1;  // of argmax and argmin; -1 over nothing
  flat<cell> state_, operands_;
};

}  // namespace sheaf::inline v0_1
