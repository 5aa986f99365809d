// Random programs: nested reductions, definitions, gathers, ragged ranges, conditions, and their gradients, against the
// slow evaluator. A failure prints its seed; SHEAF_SEED=n runs that one alone.
#include "plan_harness.hpp"

#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::test::plan_fuzz_tests {
namespace {

class author {
 public:
  explicit author(unsigned seed) : bits_(seed) {
    const std::int64_t any[3] = {dynamic, dynamic, dynamic};
    x_ = tensor("x", element::f64, 2, any);
    y_ = tensor("y", element::f64, 2, any);
    v_ = tensor("v", element::f64, 1, any);
    ids_ = tensor("ids", element::i64, 1, any);
    cut_ = tensor("cut", element::i64, 2, any);
    rows_ = extent(g, x_, 0);
    columns_ = extent(g, x_, 1);
    same(extent(g, y_, 0), rows_);
    same(extent(g, y_, 1), columns_);
    same(extent(g, v_, 0), columns_);
    same(extent(g, ids_, 0), rows_);
    same(extent(g, cut_, 0), rows_);
  }

  graph operator()(bool with_gradient) {
    std::vector<node_id> open = {fresh(true), fresh(false)};
    if (draw(3) == 0) open.pop_back();
    const node_id body = expression(open, 4);
    g.outputs.push(closed(body, open));
    if (draw(2) == 0) {
      std::vector<node_id> other = {fresh(false)};
      g.outputs.push(closed(expression(other, 3), other));
    }
    if (with_gradient) {
      std::vector<node_id> all;
      for (int k = 0; k < 2; ++k) all.push_back(fresh(k == 0));
      node_id sum_of = expression(all, 3);
      sum_of = reduce(g, monoid::sum, sum_of, truth(g, true), all.data(), 2);
      const node_id loss = closed(sum_of, {});
      g.outputs.push(gradient(g, loss, x_, number(g, element::f64, 1), g.name("dx", 2)));
      if (draw(2) == 0) g.outputs.push(gradient(g, loss, v_, number(g, element::f64, 1), g.name("dv", 2)));
    }
    return std::move(g);
  }

 private:
  int draw(int n) { return static_cast<int>(bits_() % static_cast<unsigned>(n)); }
  node_id tensor(const char* name, element type, int rank, const std::int64_t* extents) {
    return input(g, g.name(name, static_cast<int>(std::strlen(name))), type, rank, extents);
  }
  void same(node_id a, node_id b) { g.constraints.push({a, b, 0}); }
  // An index over rows or columns.
  node_id fresh(bool row) {
    const node_id idx = index(g, g.name(row ? "r" : "c", 1), ++serial_, integer(g, 0), row ? rows_ : columns_);
    (row ? row_indices_ : column_indices_).push_back(idx);
    return idx;
  }
  bool is_row(node_id idx) const {
    return std::find(row_indices_.begin(), row_indices_.end(), idx) != row_indices_.end();
  }
  // One of the open indices of a kind, or none.
  node_id one(const std::vector<node_id>& open, bool row) {
    std::vector<node_id> fit;
    for (const node_id idx : open)
      if (is_row(idx) == row) fit.push_back(idx);
    return fit.empty() ? no_node : fit[static_cast<std::size_t>(draw(static_cast<int>(fit.size())))];
  }
  node_id at(node_id tensor, std::vector<node_id> subscripts) {
    return load(g, tensor, subscripts.data(), static_cast<int>(subscripts.size()));
  }
  node_id leaf(const std::vector<node_id>& open) {
    const node_id r = one(open, true), c = one(open, false);
    if (r != no_node && c != no_node) {
      switch (draw(4)) {
        case 0: return at(x_, {r, c});
        case 1: return at(y_, {r, c});
        case 2: return at(x_, {at(ids_, {r}), c});
        default: return at(v_, {c});
      }
    }
    if (c != no_node) return draw(2) == 0 ? at(v_, {c}) : number(g, element::f64, 0.5);
    return number(g, element::f64, 0.25 * (1 + draw(4)));
  }
  // Bounded and rounded alike in a register and in lanes, so that ties are the same everywhere.
  node_id squashed(node_id e) {
    return make(g, op::div, e, make(g, op::add, make(g, op::abs, e), number(g, element::f64, 1)));
  }
  node_id closed(node_id body, const std::vector<node_id>& open) {
    const std::string name = "d" + std::to_string(++serial_);
    return define(g, g.name(name.data(), static_cast<int>(name.size())), body, open.data(),
                  static_cast<int>(open.size()));
  }
  node_id reduction(const std::vector<node_id>& open, int depth) {
    std::vector<node_id> inner = open, bound;
    const node_id r = one(open, true);
    if (r != no_node && draw(3) == 0) {  // a slice of rows
      const node_id t = index(g, g.name("t", 1), ++serial_, at(cut_, {r, integer(g, 0)}), at(cut_, {r, integer(g, 1)}));
      row_indices_.push_back(t);
      bound.push_back(t);
    } else {
      bound.push_back(fresh(draw(2) == 0));
      if (draw(4) == 0) bound.push_back(fresh(!is_row(bound.back())));
    }
    inner.insert(inner.end(), bound.begin(), bound.end());
    const node_id body = expression(inner, depth - 1);
    // The gradient of a maximum over ragged sums compares sums that a plan cannot store: their last bits may differ.
    const bool ragged = index_name(g, bound[0]) == g.name("t", 1) && plan::holds(g, body, op::reduce);
    node_id condition = truth(g, true);
    if (draw(3) == 0) condition = make(g, op::less, leaf(inner), number(g, element::f64, 0.3));
    const monoid kinds[] = {monoid::sum, monoid::sum, monoid::sum, monoid::max, monoid::min};
    return reduce(g, kinds[draw(ragged ? 3 : 5)], body, condition, bound.data(), static_cast<int>(bound.size()));
  }
  node_id expression(const std::vector<node_id>& open, int depth) {
    if (depth == 0) return leaf(open);
    switch (draw(8)) {
      case 0: return squashed(expression(open, depth - 1));
      case 1: return make(g, op::add, expression(open, depth - 1), expression(open, depth - 1));
      case 2: return make(g, op::mul, expression(open, depth - 1), leaf(open));
      case 3:
        return make(g, op::select, make(g, op::less, leaf(open), expression(open, depth - 2 > 0 ? depth - 2 : 0)),
                    leaf(open), expression(open, depth - 1));
      case 4: {  // a definition, read at indices of the same kinds
        std::vector<node_id> own = {fresh(true), fresh(false)};
        const node_id d = closed(expression(own, depth - 1), own);
        const node_id r = one(open, true), c = one(open, false);
        if (r == no_node || c == no_node) return reduction(open, depth);
        return at(d, {draw(4) == 0 ? at(ids_, {r}) : r, c});
      }
      default: return squashed(reduction(open, depth));
    }
  }

  graph g;
  std::mt19937 bits_;
  node_id x_, y_, v_, ids_, cut_, rows_, columns_;
  int serial_ = 0;
  std::vector<node_id> row_indices_, column_indices_;
};

std::string text_of(const graph& g) {
  const auto printed = print(g);
  return std::string(printed.data(), static_cast<std::size_t>(printed.size()));
}

void try_seed(unsigned seed, bool force_for_tests) {
  std::mt19937 bits(seed);
  const std::int64_t rows = 1 + bits() % 9, columns = 1 + bits() % 40;
  author a(seed);
  graph g = a(seed % 2 == 0);
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed) + "\n" + text_of(g));
  trial test(std::move(g));
  std::vector<double> cuts;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t low = static_cast<std::int64_t>(bits() % static_cast<unsigned>(rows + 1));
    cuts.push_back(static_cast<double>(low));
    cuts.push_back(
        static_cast<double>(low + static_cast<std::int64_t>(bits() % static_cast<unsigned>(rows - low + 1))));
  }
  test.random("x", {rows, columns}, seed % 5 == 0).random("y", {rows, columns}).random("v", {columns});
  test.below("ids", {rows}, rows).with("cut", {rows, 2}, cuts);
  test.force_for_tests = force_for_tests;
  try {
    test.expect_right(1e-9);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(plan_fuzz, random_programs) {
  if (const char* seed = std::getenv("SHEAF_SEED"))
    return try_seed(static_cast<unsigned>(std::atoi(seed)), std::getenv("SHEAF_FORCE") != nullptr);
  const char* count = std::getenv("SHEAF_FUZZ");
  const char* first = std::getenv("SHEAF_FIRST");
  for (unsigned seed = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 1u;
       seed <= (count != nullptr ? static_cast<unsigned>(std::atoi(count)) : 40u) && !HasFailure(); ++seed)
    try_seed(seed, std::getenv("SHEAF_FORCE") != nullptr);
}
// The same, with the passes for much ragged data.
TEST(plan_fuzz, random_programs_forced) {
  for (unsigned seed = 1001; seed <= 1040 && !HasFailure(); ++seed) try_seed(seed, true);
}

}  // namespace
}  // namespace sheaf::test::plan_fuzz_tests
