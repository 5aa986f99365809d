#include <sheaf/jit/engine/failure.hpp>

#include <cstring>

#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// Integer expressions at one position of their indices, reading the caller's tensors.
class spot {
 public:
  spot(const graph& g, const sheaf_tensor* tensors, const element_reader& read)
      : g_(g), tensors_(tensors), read_(read) {}

  void set(node_id idx, std::int64_t value) { places_.push_back({idx, value}); }

  std::optional<std::int64_t> value(node_id n) const {
    for (const auto& [idx, at] : places_)
      if (idx == n) return at;
    switch (g_.kind(n)) {
      case op::constant:
        return g_[n].attribute;
      case op::extent:
        return tensors_[g_[g_.arg(n, 0)].attribute].extents[g_[n].attribute];
      case op::load:
        return loaded(n);
      default:
        break;
    }
    if (!is_elementwise(g_.kind(n)) || row(g_.kind(n)).integer == nullptr) return std::nullopt;
    std::int64_t list[3] = {0, 0, 0};
    for (int k = 0; k < g_[n].count; ++k) {
      if (is_floating(g_.type(g_.arg(n, k)))) return std::nullopt;
      const auto known = value(g_.arg(n, k));
      if (!known) return std::nullopt;
      list[k] = *known;
    }
    const element type = g_.type(g_.arg(n, 0));
    return wrap_to(g_.type(n), whole_result(row(g_.kind(n)), type, list[0], list[1], list[2]));
  }

 private:
  std::optional<std::int64_t> loaded(node_id n) const {
    const node_id source = g_.arg(n, 0);
    if (g_.kind(source) != op::input) return std::nullopt;
    const sheaf_tensor& tensor = tensors_[g_[source].attribute];
    if (tensor.data == nullptr) return std::nullopt;  // forgotten, see element_reader
    std::int64_t offset = 0;
    for (int d = 0; d + 1 < g_[n].count; ++d) {
      const auto at = value(g_.arg(n, 1 + d));
      if (!at || *at < 0 || *at >= tensor.extents[d]) return std::nullopt;
      offset += *at * tensor.strides[d];
    }
    switch (g_.type(source)) {
      case element::i64:
        return element_at<std::int64_t>(tensor, offset);
      case element::i32:
        return element_at<std::int32_t>(tensor, offset);
      case element::i16:
        return element_at<std::int16_t>(tensor, offset);
      case element::u16:
        return element_at<std::uint16_t>(tensor, offset);
      case element::u32:
        return element_at<std::uint32_t>(tensor, offset);
      case element::u64:
        return element_at<std::int64_t>(tensor, offset);
      case element::i8:
        return element_at<std::int8_t>(tensor, offset);
      case element::u8:
        return element_at<std::uint8_t>(tensor, offset);
      default:
        return std::nullopt;
    }
  }
  template <class T>
  std::optional<std::int64_t> element_at(const sheaf_tensor& tensor, std::int64_t offset) const {
    T value = 0;
    if (!read_(&value, static_cast<const T*>(tensor.data) + offset, sizeof value)) return std::nullopt;
    return value;
  }

  const graph& g_;
  const sheaf_tensor* tensors_;
  const element_reader& read_;
  std::vector<std::pair<node_id, std::int64_t>> places_;
};

std::string number_text(std::optional<std::int64_t> value, const char* unknown) {
  return value ? std::to_string(*value) : unknown;
}

}  // namespace

std::string range_hint(const graph& g, const std::string& tensor, int dimension, node_id subscript) {
  for (node_id n = 0; n < g.size(); ++n) {
    if (g.kind(n) != op::index || !g.free[subscript].has(g.ordinal(n)) || n == subscript) continue;
    const node_id high = g.arg(n, 1);
    if (g.kind(high) != op::extent || g[high].attribute != dimension || tensor_text(g, g.arg(high, 0)) != tensor)
      continue;
    const std::string name = name_text(g, index_name(g, n)), at = std::to_string(dimension);
    return "; " + name + " has the extent of " + tensor + " itself: of fewer write, for example, " + name +
           ".in(0_c, extent(" + tensor + ", dim<" + at + ">) - 1_c)";
  }
  return "";
}

void fail_demand(const graph& g, int which, const std::vector<std::int64_t>& at, std::optional<std::int64_t> found,
                 std::optional<std::int64_t> limit) {
  static constexpr code codes[] = {code::extent_mismatch, code::bad_argument, code::empty_reduction};
  const demand& d = g.demands[which];
  std::string expected = name_text(g, d.expected), seen = found ? std::to_string(*found) : "none";
  if (limit) expected += " " + std::to_string(*limit);
  if (d.found != no_node && !at.empty()) seen += " for " + text_of(print(g, d.found));
  for (std::size_t k = 0; k < at.size(); ++k)
    seen += (k == 0 ? " at " : ", ") + name_text(g, index_name(g, g.arg(d.wrong, 2 + static_cast<int>(k)))) + " = " +
            std::to_string(at[k]);
  runtime::fail(codes[static_cast<int>(d.of)], name_text(g, d.operation), expected, seen);
}

bool read_host(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return true;
}

void fail_check(const graph& g, const graph& written, const plan::check& check, std::int64_t position,
                const sheaf_tensor* tensors, const element_reader& read) {
  spot here(g, tensors, read);
  std::vector<std::int64_t> at(check.indices.size());
  for (std::size_t k = check.indices.size(); k-- > 0;) {
    const std::int64_t size = here.value(check.sizes[k]).value_or(1);
    at[k] = size > 0 ? position % size : 0;
    position = size > 0 ? position / size : 0;
  }
  std::string place;
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] += here.value(check.firsts[k]).value_or(0);
    here.set(check.indices[k], at[k]);
    place += (k == 0 ? " at " : ", ") + name_text(g, index_name(g, check.indices[k])) + " = " + std::to_string(at[k]);
  }
  if (check.demand >= 0) {
    const demand& d = g.demands[check.demand];
    const auto number = [&](node_id n) { return n == no_node ? std::nullopt : here.value(n); };
    fail_demand(g, check.demand, at, number(d.found), number(d.limit));
  }
  const auto low = here.value(check.low), high = here.value(check.high);
  const auto least = here.value(check.least), found = least && low && *least < *low ? least : here.value(check.most);
  const std::string last = high ? std::to_string(*high - 1) : "its extent - 1";
  runtime::fail(code::index_out_of_range, "tensor " + check.tensor + ", dimension " + std::to_string(check.dimension),
                "a subscript from " + number_text(low, "0") + " to " + last,
                number_text(found, "one outside") + " for " + text_of(print(written, check.subscript)) + place +
                    (check.uniform ? range_hint(g, check.tensor, check.dimension, check.subscript) : ""));
}

}  // namespace sheaf::inline v0_1::jit
