#include <sheaf/jit/engine/arrange.hpp>

#include <algorithm>
#include <cstdlib>

#include <sheaf/dsl/graph/linear.hpp>
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/jit/plan/walks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

using namespace tuning::arrange;

// The input whose element or extent a node is; -1: of none.
int input_of(const graph& g, node_id n) {
  const bool of_tensor = g.kind(n) == op::load || g.kind(n) == op::extent;
  return of_tensor && g.kind(g.arg(n, 0)) == op::input ? static_cast<int>(g[g.arg(n, 0)].attribute) : -1;
}

// An index of all places of a dimension, or of one that is checked to have as many.
bool is_whole(const graph& g, node_id e, node_id tensor, int dimension) {
  if (g.kind(e) != op::index || !is_constant(g, g.arg(e, 0)) || g[g.arg(e, 0)].attribute != 0) return false;
  const node_id high = g.arg(e, 1);
  const auto is_extent = [&](node_id n) {
    return g.kind(n) == op::extent && g.arg(n, 0) == tensor && g[n].attribute == dimension;
  };
  return is_extent(high) || std::ranges::any_of(g.constraints, [&](const constraint& c) {
    return (is_extent(c.left) && known_equal(g, high, c.left)) || (is_extent(c.right) && known_equal(g, high, c.right));
  });
}

// Where a range of numbers ends, of an index; 0: it has none, or begins before all elements.
std::int64_t constant_end(const graph& g, node_id e) {
  if (g.kind(e) != op::index || !is_constant(g, g.arg(e, 0)) || !is_constant(g, g.arg(e, 1))) return 0;
  return g[g.arg(e, 0)].attribute < 0 ? 0 : std::max<std::int64_t>(0, g[g.arg(e, 1)].attribute);
}

// How the last two dimensions of an input are read.
struct columns_read {
  bool any = false;        // some element is
  bool whole = true;       // rows as a whole range, columns so, by number or in a range of numbers
  bool summed = false;     // some reduction runs over the columns
  bool written = false;    // or some result has them
  bool by_number = true;   // columns are numbers
  bool in_ranges = false;  // where a range begins or ends
  std::int64_t least = 2;  // columns, so that all numbers are inside
};

// Ranges, and comparisons that ask whether an index is in one: the planner knows slices by how their ends are read.
std::vector<bool> in_ranges(const graph& g) {
  std::vector<bool> is(static_cast<std::size_t>(g.size()), false);
  for (node_id n = 0; n < g.size(); ++n) {
    const bool compares = g.kind(n) == op::less || g.kind(n) == op::less_equal;
    if (g.kind(n) != op::index && !(compares && g.type(g.arg(n, 0)) == element::i64)) continue;
    for (int k = 0; k < g[n].count; ++k)
      plan::for_each_node(g, g.arg(n, k), [&](node_id e) { is[static_cast<std::size_t>(e)] = true; });
  }
  return is;
}

std::vector<columns_read> columns_of(const graph& g, std::size_t inputs) {
  std::vector<columns_read> all(inputs);
  const std::vector<bool> ranges = in_ranges(g);
  index_set bound, written;
  for (const node_id o : g.outputs)
    for (int k = 1; k < g[o].count; ++k) written.insert(g.ordinal(g.arg(o, k)));
  for (node_id n = 0; n < g.size(); ++n)
    for (int k = 2; g.kind(n) == op::reduce && k < g[n].count; ++k) bound.insert(g.ordinal(g.arg(n, k)));
  for (node_id n = 0; n < g.size(); ++n) {
    const int i = input_of(g, n), last = i < 0 ? 0 : g.inputs[i].rank - 1;
    if (i < 0 || g.kind(n) != op::load || last < 1) continue;
    const node_id tensor = g.arg(n, 0), row = g.arg(n, last), column = g.arg(n, last + 1);
    columns_read& r = all[static_cast<std::size_t>(i)];
    const bool number = is_constant(g, column) && g[column].attribute >= 0;
    const std::int64_t end = number ? g[column].attribute + 1 : constant_end(g, column);
    r.any = true;
    r.whole = r.whole && (end > 0 || is_whole(g, column, tensor, last)) && is_whole(g, row, tensor, last - 1);
    r.by_number = r.by_number && number;
    r.least = std::max(r.least, end);
    if (g.kind(column) == op::index) {
      r.summed = r.summed || bound.has(g.ordinal(column));
      r.written = r.written || written.has(g.ordinal(column));
    }
    r.in_ranges = r.in_ranges || ranges[static_cast<std::size_t>(n)];
  }
  return all;
}

// By input: its columns, where it is to be joined; else 0.
std::vector<std::int64_t> narrow_inputs(const graph& g, const call_class& a, const extent_amounts& given) {
  const std::vector<columns_read> all = columns_of(g, given.size());
  std::vector<std::int64_t> columns(given.size(), 0);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const columns_read& r = all[i];
    const auto& extents = given[i];
    const bool folded = r.summed || r.by_number;
    // What an output updates is left where each of its elements is seen to be read before it is written.
    const auto of_input = [&](const plan::update& u) { return u.input == static_cast<int>(i); };
    const bool updated = std::ranges::any_of(a.updates, of_input);
    const bool as_one = r.any && r.whole && !r.in_ranges && (folded || (r.written && !updated));
    if (extents.size() < 2 || !a.dense_inputs[i] || !as_one || !extents.back().may_be_fixed()) continue;
    const shapes::amount last = extents.back().certain();
    const std::int64_t most = folded ? most_columns : tuning::transposed::few;  // as many are interleaved
    if (last >= static_cast<double>(r.least) && last <= most && extents[extents.size() - 2] >= least_rows)
      columns[i] = extents.back().whole();
  }
  return columns;
}

// An extent, where it is small: the plan then is for calls alone that have it. 0: it is not known.
std::int64_t known_few(const shapes::amount& elements) {
  if (!elements.may_be_known()) return 0;
  const shapes::amount few = elements.certain();
  return few >= 2 && few <= most_known ? elements.whole() : 0;
}

// All of a graph but its nodes and what points to them.
graph without_nodes(const graph& g) {
  graph made;
  made.text = g.text;
  made.names = g.names;
  made.inputs = g.inputs;
  made.static_extents = g.static_extents;
  made.error = g.error;
  return made;
}

// A node of moved ones. Indices stay apart whose ranges have become the same.
node_id moved_node(const graph& g, node_id n, graph& made, const std::vector<node_id>& list) {
  const int count = made.size(), arguments = static_cast<int>(list.size());
  std::int64_t attribute = g[n].attribute;
  node_id found = made.intern(g.kind(n), g.type(n), attribute, list.data(), arguments);
  while (g.kind(n) == op::index && made.size() == count)
    found = made.intern(op::index, g.type(n), ++attribute, list.data(), arguments);
  return found;
}

// What points to nodes, after they moved.
void point(const graph& g, graph& made, const std::vector<node_id>& moved) {
  const auto at = [&](node_id n) { return n == no_node ? no_node : moved[static_cast<std::size_t>(n)]; };
  for (const constraint& c : g.constraints) made.constraints.push({at(c.left), at(c.right), c.axis});
  for (const demand& d : g.demands)
    made.demands.push({d.of, d.operation, d.expected, at(d.wrong), at(d.limit), at(d.found)});
  for (own_monoid_row m : g.monoids) {
    m.identity = at(m.identity), m.combine = at(m.combine), m.adjoint = at(m.adjoint);
    made.monoids.push(m);
  }
  for (const node_id o : g.outputs) made.outputs.push(at(o));
  for (const node_id y : g.differentiated) made.differentiated.push(at(y));
}

}  // namespace

int closest_dimension(const sheaf_tensor& t, int rank) {
  if (rank < 2) return rank - 1;
  int closest = rank - 1;
  std::int64_t least = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t stride = std::llabs(t.strides[d]);
    if (t.extents[d] <= 1 || stride == 0 || (least != 0 && stride >= least)) continue;
    least = stride;
    closest = d;
  }
  return closest;
}

arrangement::arrangement(const graph& g, const call_class& a, const extent_amounts& extents) {
  const std::vector<std::int64_t> columns = narrow_inputs(g, a, extents);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    form f;
    const int rank = g.inputs[static_cast<int>(i)].rank;
    for (int d = 0; d < rank; ++d)
      if (d != a.closest[i]) f.order.push_back(d);
    if (rank > 0) f.order.push_back(a.closest[i]);
    f.columns = columns[i];
    for (int d = rank; f.columns == 0 && --d > 0;) {
      const std::int64_t few = known_few(extents[i][static_cast<std::size_t>(f.order[static_cast<std::size_t>(d)])]);
      if (few == 0) break;
      f.known.push_back(few);
    }
    f.moved = !std::is_sorted(f.order.begin(), f.order.end());
    if (f.moved || f.columns > 0) numbers_ += 2 * f.order.size();
    forms_.push_back(std::move(f));
  }
}

graph arrangement::of(const graph& g) const {
  return joined(as_given() ? g : reordered(g, false));
}

graph arrangement::named(const graph& g) const { return as_given() ? g : reordered(g, true); }

// Nodes are interned in their order, and none becomes another's equal: each keeps its id.
graph arrangement::reordered(const graph& g, bool back) const {
  graph made = without_nodes(g);
  std::vector<std::vector<int>> to;  // by input: where dimension d goes
  for (int i = 0; i < g.inputs.size(); ++i) {
    const form& f = forms_[static_cast<std::size_t>(i)];
    to.push_back(f.order);
    for (std::size_t d = 0; !back && d < f.order.size(); ++d)
      to.back()[static_cast<std::size_t>(f.order[d])] = static_cast<int>(d);
    const std::int32_t first = g.inputs[i].first_extent;
    for (int d = 0; f.moved && d < g.inputs[i].rank; ++d)
      made.static_extents[first + to.back()[static_cast<std::size_t>(d)]] = g.static_extents[first + d];
  }
  std::vector<node_id> list, same;
  for (node_id n = 0; n < g.size(); ++n) {
    list.clear();
    for (int k = 0; k < g[n].count; ++k) list.push_back(g.arg(n, k));
    std::int64_t attribute = g[n].attribute;
    const int i = input_of(g, n);
    if (i >= 0 && forms_[static_cast<std::size_t>(i)].moved) {
      const std::vector<int>& place = to[static_cast<std::size_t>(i)];
      if (g.kind(n) == op::extent) attribute = place[static_cast<std::size_t>(attribute)];
      for (std::size_t d = 0; g.kind(n) == op::load && d < place.size(); ++d)
        list[static_cast<std::size_t>(1 + place[d])] = g.arg(n, 1 + static_cast<int>(d));
    }
    same.push_back(made.intern(g.kind(n), g.type(n), attribute, list.data(), g[n].count));
  }
  point(g, made, same);
  return made;
}

// Row and column are there as the digits of the one subscript, so that all nodes keep their ids.
graph arrangement::written(const graph& named) const {
  if (std::ranges::none_of(forms_, [](const form& f) { return f.columns > 0; })) return named;
  graph made = without_nodes(named);
  for (int i = 0; i < made.inputs.size(); ++i) made.inputs[i].rank += is_joined(i);
  std::vector<node_id> list, same;
  node_id zero = no_node;
  for (node_id n = 0; n < named.size(); ++n) {
    list.clear();
    for (int k = 0; k < named[n].count; ++k) list.push_back(named.arg(n, k));
    const int i = input_of(named, n);
    if (i >= 0 && named.kind(n) == op::load && is_joined(i)) {
      const node_id at = list.back();
      const bool sum = named.kind(at) == op::add;
      const node_id rows = sum ? named.arg(at, 0) : at, column = sum ? named.arg(at, 1) : zero;
      if (named.kind(rows) == op::mul && is_constant(named, named.arg(rows, 1)) && column != no_node &&
          named[named.arg(rows, 1)].attribute == columns(i)) {
        list.back() = named.arg(rows, 0);
        list.push_back(column);
      }
    }
    if (is_constant(named, n) && named.type(n) == element::i64 && named[n].attribute == 0) zero = n;
    const node& old = named[n];
    same.push_back(made.intern(old.kind, old.type, old.attribute, list.data(), static_cast<int>(list.size())));
  }
  point(named, made, same);
  return made;
}

graph arrangement::joined(const graph& g) const {
  if (std::ranges::none_of(forms_, [](const form& f) { return f.columns > 0 || !f.known.empty(); })) return g;
  graph made = without_nodes(g);
  for (int i = 0; i < g.inputs.size(); ++i) {
    const form& own = forms_[static_cast<std::size_t>(i)];
    const std::int32_t end = made.inputs[i].first_extent + made.inputs[i].rank;
    for (std::size_t d = 0; d < own.known.size(); ++d)
      made.static_extents[end - 1 - static_cast<int>(d)] = own.known[d];
    if (own.columns == 0) continue;
    std::int64_t& rows = made.static_extents[made.inputs[i].first_extent + --made.inputs[i].rank - 1];
    if (rows != dynamic) rows *= own.columns;
  }
  std::vector<node_id> moved, list;
  const form none;
  for (node_id n = 0; n < g.size(); ++n) {
    list.clear();
    for (int k = 0; k < g[n].count; ++k) list.push_back(moved[static_cast<std::size_t>(g.arg(n, k))]);
    const int i = input_of(g, n), last = i < 0 ? 0 : g.inputs[i].rank - 1;
    const form& own = i < 0 ? none : forms_[static_cast<std::size_t>(i)];
    const std::int64_t columns = own.columns;
    if (const auto from_last = last - g[n].attribute; g.kind(n) == op::extent && from_last < std::ssize(own.known)) {
      moved.push_back(integer(made, own.known[static_cast<std::size_t>(from_last)]));
      continue;
    }
    if (columns > 0 && g.kind(n) == op::load) {
      const node_id column = list.back();
      list.pop_back();
      list.back() = make(made, op::add, make(made, op::mul, list.back(), integer(made, columns)), column);
    } else if (columns > 0 && g[n].attribute == last) {
      moved.push_back(integer(made, columns));
      continue;
    } else if (columns > 0 && g[n].attribute == last - 1) {
      const node_id all = made.intern(op::extent, g.type(n), last - 1, list.data(), 1);
      moved.push_back(make(made, op::quotient, all, integer(made, columns)));
      continue;
    }
    moved.push_back(moved_node(g, n, made, list));
  }
  point(g, made, moved);
  return made;
}

plan::call_facts arrangement::facts(const call_class& a, const extent_amounts& given) const {
  plan::call_facts seen;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    std::vector<shapes::amount> extents;
    for (const int d : forms_[i].order) extents.push_back(given[i][static_cast<std::size_t>(d)]);
    if (forms_[i].columns > 0) {
      extents.pop_back();
      extents.back() *= forms_[i].columns;
    }
    const bool as_given = !forms_[i].moved && forms_[i].columns == 0;
    seen.inputs.push_back({std::move(extents), a.unit_inputs[i], as_given && a.dense_inputs[i]});
  }
  seen.unit_outputs = a.unit_outputs;
  seen.dense_outputs = a.dense_outputs;
  seen.promised = a.promised;
  seen.updates = a.updates;
  for (plan::update& u : seen.updates) {
    const form& f = forms_[static_cast<std::size_t>(u.input)];
    u.moved = f.moved || f.columns > 0;
    if (u.moved && std::ranges::count(seen.apart, u.output) == 0) seen.apart.push_back(u.output);
  }
  return seen;
}

std::string arrangement::note(const graph& g) const {
  std::string notes;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const std::string name = "input " + slot_text(g, static_cast<int>(i)) + ": ";
    if (forms_[i].moved)
      notes += name + "dimension " + std::to_string(forms_[i].order.back()) +
               " is the last here, its elements lie closest\n";
    if (forms_[i].columns > 0)
      notes += name + "rows of " + std::to_string(forms_[i].columns) + " are one dimension with their columns here\n";
  }
  return notes;
}

std::vector<std::vector<int>> arrangement::orders() const {
  std::vector<std::vector<int>> list;
  for (const form& f : forms_) list.push_back(f.order);
  return list;
}

std::vector<std::vector<extent_place>> arrangement::places() const {
  std::vector<std::vector<extent_place>> list;
  int first = 0;
  for (const form& f : forms_) {
    std::vector<extent_place>& own = list.emplace_back();
    for (const int d : f.order) own.push_back({first + d, 1});
    first += static_cast<int>(f.order.size());
    if (f.columns == 0) continue;
    own.pop_back();
    own.back().times = f.columns;
  }
  return list;
}

std::int64_t* arrangement::join(sheaf_tensor& t, const form& f, std::int64_t* numbers) const {
  const std::size_t rank = f.order.size() - 1;
  std::int64_t* const strides = std::copy_n(t.extents, rank, numbers);
  std::int64_t* const end = std::copy_n(t.strides, rank, strides);
  strides[-1] *= f.columns;
  end[-1] = 1;
  t.extents = numbers;
  t.strides = strides;
  return end;
}

std::int64_t* arrangement::join_all(sheaf_tensor* inputs, std::int64_t* numbers) const {
  for (std::size_t i = 0; i < forms_.size(); ++i)
    if (forms_[i].columns > 0) numbers = join(inputs[i], forms_[i], numbers);
  return numbers;
}
void arrangement::named_views(sheaf_tensor* inputs, std::int64_t* numbers) const { join_all(inputs, numbers); }

void arrangement::views(sheaf_tensor* inputs, std::int64_t* numbers) const {
  numbers = join_all(inputs, numbers);
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    if (!forms_[i].moved) continue;
    const auto take = [&](const std::int64_t* of) {
      const std::int64_t* const first = numbers;
      for (const int d : forms_[i].order) *numbers++ = of[d];
      return first;
    };
    inputs[i].extents = take(inputs[i].extents);
    inputs[i].strides = take(inputs[i].strides);
  }
}

}  // namespace sheaf::inline v0_1::jit
