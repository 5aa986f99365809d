#include <sheaf/jit/plan/collapsed_results.hpp>

#include <algorithm>
#include <unordered_set>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Are two indices asked for alone as the last two subscripts of inputs, whose rows lie without gaps?
class places_of_images {
 public:
  places_of_images(const context& c, node_id row, node_id column)
      : g_(c.g), known_(c.known), row_(row), column_(column) {}

  bool are_all(node_id n) {
    if (!seen_.insert(n).second || g_.kind(n) == op::extent || !uses_any(n)) return true;
    if (n == row_ || n == column_) return false;
    if (g_.kind(n) == op::define) return false;
    if (g_.kind(n) == op::load) return is_place(n);
    for (int k = 0; k < g_[n].count; ++k)
      if (!are_all(g_.arg(n, k))) return false;
    return true;
  }

 private:
  bool uses_any(node_id n) const { return uses(g_, n, row_) || uses(g_, n, column_); }
  bool is_place(node_id load) {
    const node_id tensor = g_.arg(load, 0);
    const int last = g_[load].count - 1;
    if (last < 2 || g_.arg(load, last - 1) != row_ || g_.arg(load, last) != column_) return false;
    if (!is_inside(g_, load)) return false;
    for (int d = 1; d < last - 1; ++d)
      if (uses_any(g_.arg(load, d))) return false;
    return is_dense_input(known_, tensor) && known_equal(g_, extent(g_, tensor, last - 1), g_.arg(column_, 1));
  }

  graph& g_;
  const facts& known_;
  const node_id row_, column_;
  std::unordered_set<node_id> seen_;
};

bool is_dense_output(const facts& known, const stage& s) {
  const auto& dense = known.call().dense_outputs;
  const auto number = static_cast<std::size_t>(s.ordinal);
  return s.where == place::output && (number >= dense.size() || dense[number]);
}

// From 0 to what no other index decides.
bool is_plain(const graph& g, node_id idx) {
  return is_closed(g, idx) && is_number(g, g.arg(idx, 0), 0) && g.free[g.arg(idx, 1)].empty() &&
         !is_number(g, g.arg(idx, 1), 1);
}

}  // namespace

bool take_collapsed_results(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (known.call().gpu || s.how != way::map || s.indices.size() < 3 || s.rows.whole != no_node) return false;
  if (!is_dense_output(known, s)) return false;
  const node_id row = s.indices[s.indices.size() - 2], column = s.indices.back();
  const bool sums = any_node(g, s.body, [&](node_id n) {
    return g.kind(n) == op::reduce && monoid_of(g, n) == monoid::sum && uses(g, n, column);
  });
  if (!sums || !is_plain(g, row) || !is_plain(g, column)) return false;
  if (!places_of_images(c, row, column).are_all(s.body)) return false;
  if (known.trips(column) >= tuning::collapsed_results::long_row) return false;
  const node_id all = make(g, op::mul, g.arg(row, 1), g.arg(column, 1));
  replacement put(g, proofs::kept);
  put.rename(row, fresh_index(g, row, integer(g, 0), integer(g, 1)));
  put.rename(column, fresh_index(g, column, integer(g, 0), all));
  replace_in_roots(s, put);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
