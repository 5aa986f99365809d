#include <sheaf/jit/plan/algorithms/sweep/sweep.hpp>

#include <algorithm>
#include <cmath>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::sweep;
constexpr std::int64_t tables_of_blocks = 3;  // of a fold: blocks, and with those before and after them in their group

// An f32 expression in f64, with one reciprocal for all lanes in the place of divisions. `fold` becomes `wide`.
class widening {
 public:
  widening(graph& g, node_id lane, node_id fold, node_id wide) : g_(g), lane_(lane), fold_(fold), wide_(wide) {}

  node_id operator()(node_id n) {
    if (n == fold_) return wide_;
    const op kind = g_.kind(n);
    const node_id a = g_[n].count > 0 ? g_.arg(n, 0) : no_node, b = g_[n].count > 1 ? g_.arg(n, 1) : no_node;
    if (kind == op::cast && !is_floating(g_.type(a))) return cast_to(g_, element::f64, a);
    if (g_.type(n) != element::f32) return cast_to(g_, element::f64, n);
    if (kind == op::div && !g_.free[b].has(g_.ordinal(lane_)) && !uses_fold(b))
      return make(g_, op::mul, (*this)(a), make(g_, op::div, number(g_, element::f64, 1), (*this)(b)));
    if (kind == op::add || kind == op::sub || kind == op::mul || kind == op::div)
      return make(g_, kind, (*this)(a), (*this)(b));
    if (kind == op::select) {
      const node_id c = g_.arg(n, 2);
      return make(g_, op::select, a, (*this)(b), (*this)(c));
    }
    return cast_to(g_, element::f64, n);
  }

 private:
  bool uses_fold(node_id root) const {
    return any_node(g_, root, [&](node_id n) { return n == fold_; });
  }

  graph& g_;
  const node_id lane_, fold_, wide_;
};

class sweeping {
 public:
  sweeping(const context& c, stage& s)
      : c_(c), g_(c.g), known_(c.known), s_(s), columns_(s.indices.back()) {
    if (known_.call().force_for_tests) f_.block = 4, f_.radix = 2, f_.ring = 4;
  }

  bool fold() {
    if (s_.how != way::map || s_.indices.size() != 2 || s_.indices.front() == columns_) return false;
    const slices_form found = slices_in(g_, known_, s_);
    if (found.reduce == no_node || indices_of(g_, found.slice) != std::vector<node_id>{s_.indices.front()})
      return false;
    const node_id value = g_.arg(found.reduce, 0);
    if (!g_.free[value].has(g_.ordinal(columns_))) return false;  // one number for all columns: no lanes of it
    if (g_.type(s_.define) != g_.type(found.reduce) || !may_sweep(value)) return false;
    f_.fold = monoid_of(g_, found.reduce);
    f_.type = numerics::joined(f_.fold, g_.type(found.reduce));
    f_.slice = s_.indices.front(), f_.low = g_.arg(found.t, 0), f_.high = g_.arg(found.t, 1);
    f_.rows = fresh_index(g_, found.t, integer(g_, 0), found.rows);
    f_.value = held(along(value, found.t, f_.rows));
    f_.walk = fresh_index(g_, found.t, integer(g_, 0), found.rows);
    f_.again = held(along(value, found.t, f_.walk));
    f_.result = cast_to(g_, f_.type, found.reduce);
    f_.finished = s_.body;
    if (f_.type != g_.type(s_.define))
      f_.finished = cast_to(g_, g_.type(s_.define), widening(g_, columns_, found.reduce, f_.result)(s_.body));
    return made("folded");
  }

  bool scatter() {
    if (s_.how != way::range_scatter || s_.indices.size() != 2 || s_.owned != s_.indices.front()) return false;
    if (g_[s_.body].count != 3 || is_own(monoid_of(g_, s_.body)) || !is_number(g_, g_.arg(s_.owned, 0), 0))
      return false;
    const slice_lists l = slices_of(g_, s_);
    const node_id value = g_.arg(s_.body, 0);
    if (!has_plain_bounds(g_, l) || !is_true(g_, rows_of(g_, s_).rest) || uses(g_, value, s_.owned)) return false;
    if (!may_sweep(value)) return false;
    f_.fold = monoid_of(g_, s_.body);
    f_.type = numerics::joined(f_.fold, g_.type(s_.body));
    f_.slice = l.slice, f_.low = l.low, f_.high = l.high, f_.rows = s_.owned;
    f_.value = f_.type == g_.type(value) ? value : widening(g_, columns_, no_node, no_node)(value);
    f_.scatters = true;
    return made("scatter");
  }

 private:
  bool may_sweep(node_id value) {
    const element type = g_.type(value);
    return (known_.call().force_for_tests ? known_.trips(columns_) >= 8 : known_.trips(columns_) >= least_columns) &&
           row(type).bytes >= 4 && !holds(g_, value, op::reduce);
  }
  node_id along(node_id value, node_id from, node_id to) { return with(g_, value, from, to, proofs::kept); }
  node_id held(node_id value) { return cast_to(g_, f_.type, value); }

  bool made(const char* what) {
    const auto rows = known_.value(g_.arg(f_.rows, 1));
    if (!rows || *rows < 1 || !fits(*rows)) return false;
    const node_id deep = listed();
    const node_id all = blocks_in(g_, g_.arg(f_.rows, 1), f_.block), groups = blocks_in(g_, all, f_.radix);
    int lanes = 4;
    while (lanes < most_lanes && lanes < known_.trips(columns_)) lanes *= 2;
    const node_id across = make(g_, op::sub, g_.arg(columns_, 1), g_.arg(columns_, 0));
    table({integer(g_, f_.scatters ? 1 : tables_of_blocks), all}, columns_);
    table({levels(groups), groups}, columns_);
    table({blocks_in(g_, across, lanes), integer(g_, f_.ring)},
          fresh_index(g_, f_.rows, integer(g_, 0), integer(g_, lanes)));
    stage one = s_;
    one.how = way::sweep;
    one.when = deep;
    one.form = f_;
    one.vector = columns_;
    one.lanes = lanes;
    one.loops = {columns_};
    share_tasks(g_, known_, one);
    one.operations = (3 * *rows + 8 * known_.trips(f_.slice)) * known_.trips(columns_) / 16;
    one.reasons = {std::string("if slices overlap enough: ") + what + " in one pass down the rows, in blocks of " +
                   std::to_string(f_.block)};
    c_.before.push_back(std::move(one));
    s_.when = make(g_, op::logical_not, deep);
    s_.swept = true;
    s_.reasons.push_back("slices may overlap: swept if they have many more rows than the data, else row by row");
    return true;
  }
  // Much data, for which lists and tables take no more room than the result.
  bool fits(const amount& rows) {
    if (known_.call().force_for_tests) return true;
    const amount across = known_.trips(columns_), bytes = row(f_.type).bytes;
    index_set all = set_of(g_, s_.indices);
    if (known_.trips(f_.slice) < least_slices || rows < least_rows || rows * across < least_elements) return false;
    const amount entries = rows / f_.block, groups = entries / f_.radix;
    const amount tables =
        ((f_.scatters ? 1 : tables_of_blocks) * entries + groups * (1 + max(0, log2(groups)))) * across *
        bytes;
    const amount room = known_.trips(all) * row(g_.type(s_.define)).bytes;
    return room >= tables + 16 * (rows + 2 * known_.trips(f_.slice));
  }
  // One for each bit of a group's number, and one at least.
  node_id levels(node_id groups) {
    node_id count = integer(g_, 1);
    for (int bit = 1; bit < 31; ++bit)
      count = make(g_, op::add, count,
                   cast_to(g_, element::i64, make(g_, op::less, integer(g_, std::int64_t{1} << bit), groups)));
    return count;
  }
  void table(const std::vector<node_id>& extents, node_id last) {
    std::vector<node_id> indices;
    for (const node_id e : extents) indices.push_back(fresh_index(g_, f_.rows, integer(g_, 0), e));
    indices.push_back(last);
    c_.before.push_back(space(g_, "table", identity_of(g_, f_.fold, f_.type), indices));
    f_.tables.push_back(c_.before.back().define);
  }
  // The endpoints, made if slices overlap enough: which is the result. Another stage over the same slices may have
  // them.
  node_id listed() {
    for (const stage& other : c_.before) {
      if (other.how != way::endpoints || !same_slices(other.sweep())) continue;
      f_.endpoints = other.define;
      return other.when;
    }
    const node_id rows = g_.arg(f_.rows, 1);
    const node_id deep = many(c_, s_, {f_.low, f_.high, rows, set_of(g_, {f_.slice})});
    stage e;
    e.how = way::endpoints;
    e.body = make(g_, op::add, f_.low, f_.high);
    const node_id slices = trips_of(g_, f_.slice);
    const node_id size =
        make(g_, op::add, make(g_, op::add, rows, integer(g_, 2)), make(g_, op::mul, integer(g_, 2), slices));
    const node_id which = fresh_index(g_, f_.slice, integer(g_, 0), integer(g_, 2));
    e.indices = {which, fresh_index(g_, f_.slice, integer(g_, 0), size)};
    define_stage(g_, e, "endpoi");
    e.loops = {which};
    share_tasks(g_, known_, e);
    e.when = deep;
    e.operations = 2 * (6 * known_.trips(f_.slice) + known_.trips(f_.rows));
    e.bytes = 16 * (known_.trips(f_.slice) + known_.trips(f_.rows));
    e.reasons.push_back("the slices by their first rows and by their last, if they overlap enough");
    f_.endpoints = e.define;
    e.form = f_;
    c_.before.push_back(std::move(e));
    return deep;
  }
  bool same_slices(const sweep_form& o) {
    replacement put(g_, proofs::kept);
    put.add(o.slice, f_.slice);
    return put(o.low) == f_.low && put(o.high) == f_.high && known_equal(g_, g_.arg(o.slice, 0), g_.arg(f_.slice, 0)) &&
           known_equal(g_, g_.arg(o.slice, 1), g_.arg(f_.slice, 1)) &&
           known_equal(g_, g_.arg(o.rows, 1), g_.arg(f_.rows, 1));
  }

  const context c_;
  graph& g_;
  const facts& known_;
  stage& s_;
  const node_id columns_;
  sweep_form f_;
};

}  // namespace

bool take_sweep(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (known.for_groups() || known.call().overrides.algorithm != algorithm::planned) return false;
  if (s.swept || s.reads_block_tree || s.when != no_node || s.indices.size() != 2) return false;
  sweeping one(c, s);
  return one.fold() || one.scatter();
}

}  // namespace sheaf::inline v0_1::plan
