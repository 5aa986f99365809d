#include <sheaf/jit/engine/layout.hpp>

#include <algorithm>

#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::jit {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

std::int64_t closed_value(const plan::facts& known, node_id e) {
  const auto value = known.value(e);
  if (!value)
    runtime::fail(code::broken_invariant, "workspace of a call", "extents that do not depend on data", "one that does");
  return *value;
}

}  // namespace

plan::call_facts facts_of(const call_class& a) {
  plan::call_facts seen;
  for (std::size_t i = 0; i < a.input_extents.size(); ++i)
    seen.inputs.push_back({a.input_extents[i], a.unit_inputs[i]});
  seen.unit_outputs = a.unit_outputs;
  return seen;
}

void check_uniform(const planned& p, const plan::facts& known, const call_class& arguments) {
  std::vector<sheaf_tensor> shapes;
  for (const auto& extents : arguments.input_extents) shapes.push_back({nullptr, extents.data(), nullptr});
  for (const plan::check& c : p.checks)
    if (c.uniform && known.value(c.outside).value_or(0) != 0) fail_check(p.g, c, 0, shapes.data());
}

call_layout::call_layout(const planned& p, const plan::facts& known, std::size_t alignment) {
  for (const workspace& w : p.workspaces) {
    std::vector<std::int64_t> extents;
    for (const node_id e : w.extents) extents.push_back(std::max<std::int64_t>(closed_value(known, e), 0));
    place(w.type, extents, alignment);
  }
  for (const plan::check& c : p.checks)
    if (!c.uniform) place(element::i64, {}, alignment);
}

void call_layout::place(element type, const std::vector<std::int64_t>& extents, std::size_t alignment) {
  own_array a{bytes, extents, std::vector<std::int64_t>(extents.size(), 1)};
  // A product that wrapped around would make a workspace that kernels write beyond.
  std::int64_t count = 1, size = 0;
  bool fits = true;
  for (std::size_t d = extents.size(); d-- > 0;) {
    a.strides[d] = count;
    fits = fits && !__builtin_mul_overflow(count, extents[d], &count);
  }
  fits = fits && !__builtin_mul_overflow(count, row(type).bytes, &size) &&
         size <= most_bytes - static_cast<std::int64_t>(bytes);
  if (!fits) runtime::fail(code::out_of_memory, "workspace of a call", "fewer than 2^62 bytes", "more");
  bytes += (static_cast<std::size_t>(size) + alignment - 1) / alignment * alignment;
  arrays.push_back(std::move(a));
}

}  // namespace sheaf::jit
