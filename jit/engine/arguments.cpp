#include <sheaf/jit/engine/arguments.hpp>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/checked_product.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

bool is_unit(const sheaf_tensor& t, int d) { return d < 0 || t.strides[d] == 1 || t.extents[d] <= 1; }

bool is_dense(const sheaf_tensor& t, int rank) {
  return rank >= 2 && is_unit(t, rank - 1) && t.strides[rank - 2] == t.extents[rank - 1];
}

std::string source_text(const graph& g, node_id n) {
  if (g.kind(n) != op::extent) return text_of(print(g, n));
  return "dimension " + std::to_string(g[n].attribute) + " of " + tensor_text(g, g.arg(n, 0));
}

// What gives an index its extent, and how much.
std::string extent_text(const graph& g, node_id n, std::int64_t value) {
  return is_constant(g, n) ? "the program fixes " + std::to_string(value)
                           : source_text(g, n) + " gives " + std::to_string(value);
}

void check_static_extents(const graph& g, const call_class& a) {
  for (int i = 0; i < g.inputs.size(); ++i)
    for (int d = 0; d < g.inputs[i].rank; ++d) {
      const std::int64_t expected = g.static_extents[g.inputs[i].first_extent + d];
      const std::int64_t found = a.input_extents[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)];
      if (expected != dynamic && expected != found)
        runtime::fail(code::extent_mismatch, "argument " + slot_text(g, i) + ", dimension " + std::to_string(d),
                      "extent " + std::to_string(expected), std::to_string(found));
    }
}

void check_constraints(const graph& g, const plan::facts& known) {
  for (const constraint& c : g.constraints) {
    const auto left = known.exact(c.left), right = known.exact(c.right);
    if (left && right && *left != *right)
      runtime::fail(code::extent_mismatch, "index " + name_text(g, c.axis),
                    "one extent: " + extent_text(g, c.left, *left), extent_text(g, c.right, *right));
  }
}

// Demands on data are the kernels' to check.
void check_demands(const graph& g, const plan::facts& known) {
  for (int k = 0; k < g.demands.size(); ++k) {
    const demand& d = g.demands[k];
    const auto number = [&](node_id n) { return n == no_node ? std::nullopt : known.exact(n); };
    if (number(d.wrong).value_or(0) != 0) fail_demand(g, k, {}, number(d.found), number(d.limit));
  }
}

// Bytes of so many elements, in an i64.
bool has_sizes(std::span<const std::int64_t> extents, std::int64_t bytes) {
  runtime::checked_product all;
  all.times(bytes);
  for (const std::int64_t n : extents) all.times(n);
  return all.fits();
}

// given: by extent of an output, -1 where the caller did not say; as many are used.
void resolve_outputs(const graph& g, const plan::facts& known, std::span<const std::int64_t> given, call_class& a) {
  for (int o = 0; o < g.outputs.size(); ++o) {
    const node_id define = g.outputs[o];
    const int rank = tensor_rank(g, define);
    std::vector<std::int64_t> extents;
    const std::int64_t code = given[0];
    given = given.subspan(1);
    for (int d = 0; d < rank; ++d) {
      const node_id idx = g.arg(define, 1 + d);
      const auto low = known.exact(g.arg(idx, 0)), high = known.exact(g.arg(idx, 1));
      if (!low || !high)
        runtime::fail(code::unsupported, "output " + tensor_text(g, define), "extents that do not depend on data",
                      "index " + name_text(g, index_name(g, idx)));
      extents.push_back(*high - *low);
      const std::int64_t found = given[static_cast<std::size_t>(d)];
      if (found != -1 && found != extents.back())
        runtime::fail(code::extent_mismatch, "output " + tensor_text(g, define) + ", dimension " + std::to_string(d),
                      "extent " + std::to_string(extents.back()), std::to_string(found));
    }
    if (!has_sizes(extents, row(g.type(define)).bytes))
      runtime::fail(code::bad_argument, "output " + tensor_text(g, define), "fewer than 2^63 bytes", "more");
    given = given.subspan(static_cast<std::size_t>(rank));
    a.output_extents.push_back(extents);
    a.unit_outputs.push_back(code == -1 || code % 2 == 1);
    a.dense_outputs.push_back(code == -1 || code / 2 % 2 == 1);
  }
}

// By input, with all of the same multiplied by 1.
std::vector<std::vector<extent_place>> places_of(const graph& g) {
  std::vector<std::vector<extent_place>> list;
  int next = 0;
  for (int i = 0; i < g.inputs.size(); ++i) {
    list.emplace_back();
    for (int d = 0; d < g.inputs[i].rank; ++d) list.back().push_back({next++, 1});
  }
  return list;
}

}  // namespace

int write_key(const graph& g, const sheaf_tensor* tensors, std::int64_t* key) {
  int n = 0;
  const auto expect_room = [&](int rank) {
    if (n + rank + 1 > key_capacity) runtime::fail(code::unsupported, "call", "at most 256 extents in all arguments");
  };
  const auto put = [&](const sheaf_tensor& t, int rank, int last) {
    key[n++] = t.data == nullptr && t.extents == nullptr
                   ? -1
                   : 4 * (rank - 1 - last) + 2 * is_dense(t, rank) + is_unit(t, last);
    for (int d = 0; d < rank; ++d) key[n++] = t.extents == nullptr ? -1 : t.extents[d];
  };
  const auto put_list = [&](const sheaf_tensor& t) {  // most arguments of small calls
    key[n++] = is_unit(t, 0);
    key[n++] = t.extents[0];
  };
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    expect_room(rank);
    if (rank == 1 && tensors[i].extents != nullptr) put_list(tensors[i]);
    else put(tensors[i], rank, closest_dimension(tensors[i], rank));
  }
  for (int o = 0; o < g.outputs.size(); ++o) {
    const int rank = tensor_rank(g, g.outputs[o]);
    expect_room(rank);
    put(tensors[g.inputs.size() + o], rank, rank - 1);
  }
  return n;
}

std::vector<std::int64_t> all_extents(const call_class& a) {
  std::vector<std::int64_t> all;
  for (const auto& list : a.input_extents) all.insert(all.end(), list.begin(), list.end());
  return all;
}

key_reader::key_reader(const graph& g) : g_(g), formulas_(g, places_of(g)) {
  int place = 0;
  for (int i = 0; i < g.inputs.size(); ++i) {
    input_ranks_.push_back(g.inputs[i].rank);
    for (int d = 0; d < g.inputs[i].rank; ++d, ++place)
      if (const std::int64_t n = g.static_extents[g.inputs[i].first_extent + d]; n != dynamic)
        fixed_.push_back({place, n});
  }
  for (const constraint& c : g.constraints) {
    const int left = formulas_.add(c.left), right = formulas_.add(c.right);
    if (left >= 0 && right >= 0) equal_.push_back({left, right});
  }
  for (const demand& d : g.demands)
    if (const int wrong = formulas_.add(d.wrong); wrong >= 0) wrong_.push_back(wrong);
  for (const node_id define : g.outputs) {
    output_ranks_.push_back(tensor_rank(g, define));
    first_.push_back(low_.size());
    output_bytes_.push_back(row(g.type(define)).bytes);
    for (int d = 0; d < output_ranks_.back(); ++d) {
      const node_id idx = g.arg(define, 1 + d);
      low_.push_back(formulas_.add(g.arg(idx, 0)));
      high_.push_back(formulas_.add(g.arg(idx, 1)));
      is_closed_ = is_closed_ && low_.back() >= 0 && high_.back() >= 0;
    }
  }
  formulas_.close();
}

void key_reader::split(std::span<const std::int64_t> key, key_parts& parts) const {
  std::int64_t* const extents = parts.numbers;
  std::int64_t *const layout = parts.numbers + key_capacity, *end = extents, *last = layout;
  std::size_t at = 0;
  for (const int rank : input_ranks_) {
    *last++ = key[at++];
    for (int d = 0; d < rank; ++d) *end++ = key[at++];
  }
  for (const int rank : output_ranks_) {
    const std::int64_t code = key[at] == -1 ? 3 : key[at];  // that of what the call makes
    *last++ = rank > 2 ? code % 4 : code % 2;               // rows without gaps are asked for where they make up images
    at += static_cast<std::size_t>(1 + rank);
  }
  while (at < key.size()) *last++ = key[at++];
  parts.extents = {extents, end};
  parts.layout = {layout, last};
}

bool key_reader::outputs(std::span<const std::int64_t> key, std::span<const std::int64_t> extents,
                         std::vector<std::int64_t>& made) const {
  const std::span<const std::int64_t> values = formulas_.values(extents);
  const auto value = [&](int at) { return values[static_cast<std::size_t>(at)]; };
  bool right = is_closed_;
  if (!right) return false;
  for (const fixed_extent& f : fixed_) right = right && extents[static_cast<std::size_t>(f.place)] == f.value;
  for (const equal_extents& e : equal_) right = right && value(e.left) == value(e.right);
  for (const int w : wrong_) right = right && value(w) == 0;
  made.resize(low_.size());
  std::size_t at = input_ranks_.size() + extents.size(), k = 0;
  for (std::size_t o = 0; o < output_ranks_.size(); ++o) {
    ++at;
    const auto rank = static_cast<std::size_t>(output_ranks_[o]);
    for (std::size_t d = 0; d < rank; ++d, ++k) {
      made[k] = value(high_[k]) - value(low_[k]);
      const std::int64_t found = key[at++];
      right = right && (found == -1 || found == made[k]);
    }
    right = right && has_sizes({made.data() + (k - rank), rank}, output_bytes_[o]);
  }
  return right;
}

call_class key_reader::arguments(std::span<const std::int64_t> key) const {
  call_class a;
  plan::call_facts seen;
  for (const int rank : input_ranks_) {
    const std::int64_t code = key[0];
    const auto extents = key.subspan(1, static_cast<std::size_t>(rank));
    a.input_extents.emplace_back(extents.begin(), extents.end());
    a.closest.push_back(rank - 1 - static_cast<int>(code / 4));
    a.dense_inputs.push_back(code / 2 % 2 == 1);
    a.unit_inputs.push_back(code % 2 == 1);
    seen.inputs.push_back({plan::amounts(a.input_extents.back()), a.unit_inputs.back()});
    key = key.subspan(1 + extents.size());
  }
  check_static_extents(g_, a);
  const plan::facts known(g_, seen);
  check_constraints(g_, known);
  check_demands(g_, known);
  resolve_outputs(g_, known, key, a);
  for (const int rank : output_ranks_) key = key.subspan(static_cast<std::size_t>(1 + rank));
  for (const std::int64_t p : key) {
    if (p <= first_update)
      a.updates.push_back(update_of(p));
    else
      a.promised.push_back(p == -3);
  }
  return a;
}

}  // namespace sheaf::inline v0_1::jit
