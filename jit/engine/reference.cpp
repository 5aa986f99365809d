#include <cstring>

#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

template <class Visit>
void each_position(const std::vector<std::int64_t>& extents, const std::int64_t* strides, Visit visit) {
  std::vector<std::int64_t> at(extents.size(), 0);
  for (const std::int64_t e : extents)
    if (e == 0) return;
  for (std::int64_t flat_position = 0;; ++flat_position) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    visit(flat_position, offset);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

template <class T>
T read_as(const void* data, std::int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
void write_as(void* data, std::int64_t offset, T value) {
  std::memcpy(static_cast<char*>(data) + offset * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

void push_element(tensor_value& to, const void* data, std::int64_t offset) {
  switch (to.type) {
    case element::boolean: to.integers.push(read_as<std::uint8_t>(data, offset) != 0); break;
    case element::i8: to.integers.push(read_as<std::int8_t>(data, offset)); break;
    case element::u8: to.integers.push(read_as<std::uint8_t>(data, offset)); break;
    case element::i16: to.integers.push(read_as<std::int16_t>(data, offset)); break;
    case element::u16: to.integers.push(read_as<std::uint16_t>(data, offset)); break;
    case element::u32: to.integers.push(read_as<std::uint32_t>(data, offset)); break;
    case element::u64:
    case element::i64: to.integers.push(read_as<std::int64_t>(data, offset)); break;
    case element::i32: to.integers.push(read_as<std::int32_t>(data, offset)); break;
    case element::f16: to.reals.push(to_double(read_as<float16>(data, offset))); break;
    case element::bf16: to.reals.push(to_double(read_as<bfloat16>(data, offset))); break;
    case element::f32: to.reals.push(static_cast<double>(read_as<float>(data, offset))); break;
    case element::f64: to.reals.push(read_as<double>(data, offset)); break;
  }
}

void store_element(const tensor_value& from, std::int64_t at, void* data, std::int64_t offset) {
  const int k = static_cast<int>(at);
  switch (from.type) {
    case element::boolean: write_as<std::uint8_t>(data, offset, from.integers[k] != 0); break;
    case element::i8: write_as(data, offset, static_cast<std::int8_t>(from.integers[k])); break;
    case element::u8: write_as(data, offset, static_cast<std::uint8_t>(from.integers[k])); break;
    case element::i16: write_as(data, offset, static_cast<std::int16_t>(from.integers[k])); break;
    case element::u16: write_as(data, offset, static_cast<std::uint16_t>(from.integers[k])); break;
    case element::u32: write_as(data, offset, static_cast<std::uint32_t>(from.integers[k])); break;
    case element::u64:
    case element::i64: write_as(data, offset, from.integers[k]); break;
    case element::i32: write_as(data, offset, static_cast<std::int32_t>(from.integers[k])); break;
    case element::f16: write_as(data, offset, to_float16(from.reals[k])); break;
    case element::bf16: write_as(data, offset, to_bfloat16(from.reals[k])); break;
    case element::f32: write_as(data, offset, static_cast<float>(from.reals[k])); break;
    case element::f64: write_as(data, offset, from.reals[k]); break;
  }
}

class reference_runner final : public runner {
 public:
  reference_runner(const graph& g, const call_class& arguments) : g_(g), arguments_(arguments) {}

  void run(const sheaf_tensor* tensors) const override {
    flat<tensor_value> inputs;
    for (int i = 0; i < g_.inputs.size(); ++i) {
      const auto& extents = arguments_.input_extents[static_cast<std::size_t>(i)];
      tensor_value value;
      value.type = g_.inputs[i].type;
      for (const std::int64_t e : extents) value.extents.push(e);
      each_position(extents, tensors[i].strides,
                    [&](std::int64_t, std::int64_t offset) { push_element(value, tensors[i].data, offset); });
      inputs.push(value);
    }
    flat<tensor_value> outputs;
    evaluation_status status;
    const auto work = [&] { status = evaluate(g_, inputs, outputs); };
    g_.size() > runtime::deep_graph ? runtime::on_deep_stack(work) : work();
    if (!status.ok()) fail_with(status);
    for (int o = 0; o < outputs.size(); ++o) {
      const sheaf_tensor& out = tensors[g_.inputs.size() + o];
      each_position(arguments_.output_extents[static_cast<std::size_t>(o)], out.strides,
                    [&](std::int64_t at, std::int64_t offset) { store_element(outputs[o], at, out.data, offset); });
    }
  }
  std::string plan(const call_class&) const override { return "reference evaluation, one element at a time\n"; }
  std::string ir(const call_class&) const override { return {}; }

 private:
  [[noreturn]] void fail_with(const evaluation_status& s) const {
    if (s.fault == evaluation_fault::subscript) {
      const std::string tensor = tensor_text(g_, s.tensor);
      runtime::fail(code::index_out_of_range, "tensor " + tensor + ", dimension " + std::to_string(s.dimension),
                    "a subscript from 0 to " + std::to_string(s.extent - 1),
                    std::to_string(s.subscript) +
                        range_hint(g_, tensor, s.dimension, g_.arg(s.node, 1 + s.dimension)));
    }
    if (s.fault == evaluation_fault::demand) {
      const demand& d = g_.demands[s.dimension];
      const auto number = [](node_id n, std::int64_t v) { return n == no_node ? std::nullopt : std::optional(v); };
      fail_demand(g_, s.dimension, {s.at.begin(), s.at.end()}, number(d.found, s.subscript), number(d.limit, s.extent));
    }
    runtime::fail(code::broken_invariant, "reference evaluation", "a valid program",
                  "fault " + std::to_string(static_cast<int>(s.fault)) + " at node " + std::to_string(s.node));
  }

  const graph& g_;
  call_class arguments_;
};

}  // namespace

std::unique_ptr<runner> make_reference_runner(const graph& g, const call_class& arguments) {
  return std::make_unique<reference_runner>(g, arguments);
}

}  // namespace sheaf::inline v0_1::jit
