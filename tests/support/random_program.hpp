// Random programs for the gradient's fuzz test: what one seed draws can be built by the smart constructors or as raw
// nodes, so that both must be worth the same. Every subscript is in range or stands behind a guard.
#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <sheaf/dsl/passes/differentiate.hpp>

namespace sheaf::testing {

class random_program {
 public:
  graph g;
  node_id x = no_node, w = no_node, pick = no_node, cut = no_node, loss = no_node;

  random_program(std::uint64_t seed, bool raw) : random_(seed), raw_(raw) {
    const std::int64_t any[2] = {dynamic, dynamic};
    x = input(g, name("x"), element::f64, 2, any);
    w = input(g, name("w"), element::f64, 1, any);
    pick = input(g, name("pick"), element::i64, 2, any);
    cut = input(g, name("cut"), element::i64, 2, any);
    for (int n = draw(3); n > 0; --n) add_definition();
    scope_.clear();
    pool_.clear();
    loss = define(g, name("loss"), reduction(4), nullptr, 0);
  }

  name_id name(const char* text) { return g.name(text, static_cast<int>(std::char_traits<char>::length(text))); }

 private:
  struct variable {
    node_id idx;
    bool row;  // always in 0..3, a row of x, pick and cut
    int serial = 0;
  };
  // What is drawn must not depend on how far the graph is simplified: an expression may be used again where all that
  // was in scope when it was made is.
  struct kept_expression {
    node_id made;
    std::vector<int> serials;
  };

  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  node_id whole(std::int64_t v) { return integer(g, v); }
  node_id real(double v) { return number(g, element::f64, v); }

  node_id node_of(op kind, node_id a, node_id b = no_node, node_id c = no_node) {
    if (!raw_) return make(g, kind, a, b, c);
    const node_id list[3] = {a, b, c};
    const element type = row(kind).result == result_type::boolean ? element::boolean : g.type(list[kind == op::select]);
    return g.intern(kind, type, 0, list, row(kind).arity);
  }
  node_id to_real(node_id a) {
    return raw_ ? g.intern(op::cast, element::f64, 0, &a, 1) : cast_to(g, element::f64, a);
  }
  node_id fold(monoid kind, node_id body, node_id condition, const std::vector<node_id>& over) {
    const int count = static_cast<int>(over.size());
    if (!raw_) return reduce(g, kind, body, condition, over.data(), count);
    flat<node_id> list;
    list.push(body);
    list.push(condition);
    for (const node_id idx : over) list.push(idx);
    return g.intern(op::reduce, reduced_type(kind, g.type(body)), static_cast<std::int64_t>(kind), list.data(),
                    list.size());
  }
  node_id both(node_id a, node_id b) { return node_of(op::logical_and, a, b); }

  // ---- integers and conditions

  node_id any_index() {
    return scope_.empty() ? whole(draw(4)) : scope_[static_cast<unsigned>(draw(static_cast<int>(scope_.size())))].idx;
  }
  node_id any_row() {
    std::vector<node_id> rows;
    for (const variable& v : scope_)
      if (v.row) rows.push_back(v.idx);
    return rows.empty() || draw(6) == 0 ? whole(draw(4))
                                        : rows[static_cast<unsigned>(draw(static_cast<int>(rows.size())))];
  }
  node_id data() {
    const node_id at[2] = {any_row(), whole(draw(2))};
    return load(g, draw(2) ? pick : cut, at, 2);
  }
  node_id affine() {
    const node_id scaled = node_of(op::mul, whole(draw(5) - 2), any_index());
    return node_of(op::add, scaled, draw(2) ? any_index() : whole(draw(5) - 2));
  }
  node_id integral(int depth) {
    switch (draw(depth > 0 ? 9 : 5)) {
      case 0: return whole(draw(6) - 1);
      case 1:
      case 2: return any_index();
      case 3: return data();
      case 4: return affine();
      case 5: return node_of(op::quotient, integral(depth - 1), whole(draw(3) + 1));
      case 6: return node_of(op::remainder, integral(depth - 1), whole(draw(3) + 2));
      case 7: return node_of(draw(2) ? op::minimum : op::maximum, integral(depth - 1), integral(depth - 1));
      default: return node_of(op::sub, integral(depth - 1), integral(depth - 1));
    }
  }
  node_id condition(int depth) {
    switch (draw(depth > 0 ? 8 : 5)) {
      case 0:
      case 1: return node_of(op::equal, integral(depth), integral(depth));
      case 2: return node_of(op::less, integral(depth), integral(depth));
      case 3: return node_of(op::less_equal, integral(depth), integral(depth));
      case 4: return node_of(op::not_equal, integral(depth), integral(depth));
      case 5: return both(condition(depth - 1), condition(depth - 1));
      case 6: return node_of(op::logical_not, condition(depth - 1));
      default: return node_of(op::logical_or, condition(depth - 1), condition(depth - 1));
    }
  }

  // ---- loads behind guards

  node_id inside(node_id e, node_id extent) {
    return both(node_of(op::less_equal, whole(0), e), node_of(op::less, e, extent));
  }
  node_id guarded(node_id tensor, const std::vector<node_id>& at) {
    node_id guard = truth(g, true);
    for (unsigned d = 0; d < at.size(); ++d) {
      const node_id ok = inside(at[d], extent(g, tensor, static_cast<int>(d)));
      guard = d == 0 ? ok : both(guard, ok);
    }
    return node_of(op::select, guard, load(g, tensor, at.data(), static_cast<int>(at.size())), real(draw(2)));
  }
  node_id leaf() {
    if (!definitions_.empty() && draw(3) == 0) {
      const node_id d = definitions_[static_cast<unsigned>(draw(static_cast<int>(definitions_.size())))];
      return guarded(
          d, draw(2) ? std::vector<node_id>{any_index(), integral(1)} : std::vector<node_id>{any_row(), any_index()});
    }
    switch (draw(6)) {
      case 0: return real(draw(7) * 0.25 - 0.75);
      case 1: return guarded(w, {integral(1)});
      case 2: return to_real(integral(1));
      case 3: return guarded(x, {any_row(), any_index()});
      default: return guarded(x, {integral(1), integral(0)});
    }
  }

  // ---- real expressions

  node_id expression(int depth) {
    if (depth <= 0) return leaf();
    if (!pool_.empty() && draw(5) == 0) {
      const kept_expression& kept = pool_[static_cast<unsigned>(draw(static_cast<int>(pool_.size())))];
      if (in_scope(kept)) return kept.made;
    }
    kept_expression fresh{fresh_expression(depth), {}};
    for (const variable& v : scope_) fresh.serials.push_back(v.serial);
    pool_.push_back(fresh);
    return fresh.made;
  }
  bool in_scope(const kept_expression& kept) const {
    return std::all_of(kept.serials.begin(), kept.serials.end(), [&](int serial) {
      return std::any_of(scope_.begin(), scope_.end(), [&](const variable& v) { return v.serial == serial; });
    });
  }
  node_id fresh_expression(int depth) {
    switch (draw(12)) {
      case 0: return node_of(op::add, expression(depth - 1), expression(depth - 1));
      case 1: return node_of(op::sub, expression(depth - 1), expression(depth - 1));
      case 2: return node_of(op::mul, expression(depth - 1), expression(depth - 1));
      case 3:
        return node_of(op::div, expression(depth - 1),
                       node_of(op::add, real(2), node_of(op::sin, expression(depth - 1))));
      case 4: return node_of(op::tanh, expression(depth - 1));
      case 5: return node_of(op::neg, expression(depth - 1));
      case 6: return node_of(op::select, condition(1), expression(depth - 1), expression(depth - 1));
      case 7: return node_of(op::exp, node_of(op::sin, expression(depth - 1)));
      case 8: return node_of(op::mul, to_real(condition(1)), expression(depth - 1));
      default: return reduction(depth);
    }
  }

  variable new_variable() {
    const char* names[] = {"i", "j", "t", "u"};
    const name_id id = name(names[draw(4)]);
    switch (draw(6)) {
      case 0: return {index(g, id, 0, whole(0), extent(g, x, 0)), true};
      case 1: return {index(g, id, 0, whole(0), extent(g, x, 1)), true};
      case 2: return {index(g, id, 0, whole(draw(3)), whole(4)), true};
      case 3: return {index(g, id, 0, any_index(), node_of(op::add, any_index(), whole(draw(3)))), false};
      case 4: {
        const node_id m = any_row();
        const node_id low[2] = {m, whole(0)}, high[2] = {m, whole(1)};
        return {index(g, id, 0, load(g, cut, low, 2), load(g, cut, high, 2)), true};
      }
      default: return {index(g, id, 0, whole(-1), data()), false};
    }
  }
  node_id reduction(int depth) {
    const std::vector<variable> outer = scope_;
    std::vector<node_id> over;
    for (int n = draw(4) == 0 ? 2 : 1; n > 0; --n) {
      variable v = new_variable();
      v.serial = ++serials_;
      const auto same_name = [&](node_id other) { return index_name(g, other) == index_name(g, v.idx); };
      if (std::any_of(over.begin(), over.end(), same_name)) continue;
      over.push_back(v.idx);
      scope_.push_back(v);
    }
    const monoid kinds[] = {monoid::sum, monoid::sum, monoid::sum, monoid::sum, monoid::prod, monoid::max, monoid::min};
    const monoid kind = kinds[draw(7)];
    const node_id filter = draw(2) ? condition(1) : truth(g, true);
    node_id made = fold(kind, expression(depth - 1), filter, over);
    scope_ = outer;
    // Over nothing a maximum is infinite, which no difference quotient survives.
    return kind == monoid::max || kind == monoid::min ? node_of(op::tanh, made) : made;
  }

  void add_definition() {
    scope_.clear();
    pool_.clear();
    const char* names[] = {"i", "j", "t"};
    const int first = draw(3);
    const node_id idx[2] = {index(g, name(names[first]), 0, whole(0), extent(g, x, 0)),
                            index(g, name(names[(first + 1) % 3]), 0, whole(0), draw(2) ? extent(g, x, 1) : whole(5))};
    scope_ = {{idx[0], true, ++serials_}, {idx[1], false, ++serials_}};
    // Not "d" + ...: g++ 12 warns of an overflow (GCC bug 105651).
    std::string label = std::to_string(definitions_.size());
    label.insert(label.begin(), 'd');
    definitions_.push_back(define(g, name(label.c_str()), expression(3), idx, 2));
  }

  std::mt19937_64 random_;
  bool raw_;
  std::vector<variable> scope_;
  std::vector<kept_expression> pool_;
  std::vector<node_id> definitions_;
  int serials_ = 0;
};

}  // namespace sheaf::testing
