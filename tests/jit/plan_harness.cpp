#include "plan_harness.hpp"

#include <algorithm>
#include <cstdlib>

#include <sheaf/dsl/graph/evaluate.hpp>
#include <sheaf/dsl/graph/half.hpp>

#include "counted_work.hpp"

namespace sheaf::test {

namespace {
// Plans and kernel IR are verified after every pass, whatever the build; the setting is read later.
[[maybe_unused]] const int verified = setenv("SHEAF_VERIFY", "on", 0);
}  // namespace

void in_odd_tasks(void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double) {
  for (std::int64_t end = count, size = 1; end > 0; size = size % 7 + 2) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - size);
    body(call, begin, end);
    end = begin;
  }
}

memory memory::dense(element type, std::vector<std::int64_t> extents) {
  memory m{type, std::move(extents), {}, {}};
  m.strides.assign(m.extents.size(), 1);
  std::int64_t count = 1;
  for (std::size_t d = m.extents.size(); d-- > 0;) {
    m.strides[d] = count;
    count *= m.extents[d];
  }
  m.bytes.assign(static_cast<std::size_t>(std::max<std::int64_t>(count, 1) * row(type).bytes), 0xCD);
  return m;
}

memory memory::folded_storage(element type, std::vector<std::int64_t> extents, const std::vector<bool>& iterations) {
  memory m = dense(type, std::move(extents));
  std::int64_t count = 1;
  for (std::size_t d = m.extents.size(); d-- > 0;) {
    m.strides[d] = iterations[d] ? 0 : count;
    count *= iterations[d] ? 1 : m.extents[d];
  }
  return m;
}

memory memory::transposed(element type, std::vector<std::int64_t> extents) {
  memory m = dense(type, extents);
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    m.strides[d] = stride;
    stride *= extents[d];
  }
  return m;
}

std::int64_t memory::count() const {
  std::int64_t n = 1;
  for (const std::int64_t e : extents) n *= e;
  return n;
}

unsigned char* memory::at(std::int64_t position) {
  std::int64_t offset = 0;
  for (std::size_t d = extents.size(); d-- > 0;) {
    offset += position % extents[d] * strides[d];
    position /= extents[d];
  }
  return bytes.data() + offset * row(type).bytes;
}

void memory::set(std::int64_t position, double real, std::int64_t integer) {
  switch (type) {
    case element::f32:
      return put(position, static_cast<float>(real));
    case element::f64:
      return put(position, real);
    case element::f16:
      return put(position, to_float16(real));
    case element::bf16:
      return put(position, to_bfloat16(real));
    default:  // the low bytes of the number
      std::memcpy(at(position), &integer, static_cast<std::size_t>(row(type).bytes));
  }
}

double memory::real(std::int64_t position) {
  switch (type) {
    case element::f32:
      return get<float>(position);
    case element::f64:
      return get<double>(position);
    case element::f16:
      return to_double(get<float16>(position));
    case element::bf16:
      return to_double(get<bfloat16>(position));
    case element::i8:
      return get<std::int8_t>(position);
    case element::i16:
      return get<std::int16_t>(position);
    case element::i32:
      return get<std::int32_t>(position);
    case element::i64:
      return static_cast<double>(get<std::int64_t>(position));
    case element::boolean:
    case element::u8:
      return get<std::uint8_t>(position);
    case element::u16:
      return get<std::uint16_t>(position);
    case element::u32:
      return get<std::uint32_t>(position);
    case element::u64:
      return static_cast<double>(get<std::uint64_t>(position));
  }
  return 0;
}

trial::trial(graph source) : g(std::move(source)), inputs(static_cast<std::size_t>(g.inputs.size())) {
  EXPECT_FALSE(g.failed()) << std::string(g.error.data(), static_cast<std::size_t>(g.error.size()));
}

std::size_t trial::slot(const char* name) {
  for (int i = 0; i < g.inputs.size(); ++i) {
    const text_range t = g.names[g.inputs[i].name];
    if (std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size)) == name)
      return static_cast<std::size_t>(i);
  }
  throw std::runtime_error(std::string("no input ") + name);
}

trial& trial::with(const char* name, std::vector<std::int64_t> extents, const std::vector<double>& values,
                   bool transposed) {
  const std::size_t k = slot(name);
  const element type = g.inputs[static_cast<int>(k)].type;
  inputs[k] = transposed ? memory::transposed(type, extents) : memory::dense(type, extents);
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs[k].set(static_cast<std::int64_t>(i), values[i], static_cast<std::int64_t>(values[i]));
  return *this;
}

plan::call_facts trial::seen() {
  plan::call_facts call;
  call.force_for_tests = force_for_tests;
  call.without = without;
  call.overrides = overrides;
  call.on = on;
  call.vectors = vectors;
  for (memory& m : inputs) {
    const std::size_t rank = m.extents.size();
    const bool unit = rank == 0 || m.strides.back() == 1;
    const bool dense = unit && rank > 1 && m.strides[rank - 2] == m.extents.back();
    call.inputs.push_back({plan::amounts(m.extents), unit, dense});
  }
  call.unit_outputs.assign(static_cast<std::size_t>(g.outputs.size()), !turned_outputs);
  return call;
}

void trial::make_plan() {
  p.emplace(plan_program(g, seen(), "trial"));
  if (counts_work) count_work(p->code);
}

void trial::make() {
  make_plan();
  make_code();
}

void trial::make_code() {
  rest.clear();
  outputs.clear();
  sheaf_llvm_options how = default_options();
  how.cpu = cpu;
  how.level = level;
  how.strict = 1;
  code.emplace(p->code, how);
  const plan::facts known(p->g, seen());
  for (memory& m : inputs) code->argument(m.bytes.data(), m.extents, m.strides);
  for (int k = 0; k < p->g.outputs.size(); ++k) {
    std::vector<std::int64_t> extents;
    for (const node_id e : p->output_extents(k)) extents.push_back(known.exact(e).value());
    outputs.push_back((turned_outputs ? memory::transposed : memory::dense)(p->g.type(p->g.outputs[k]), extents));
  }
  for (memory& m : outputs) code->argument(m.bytes.data(), m.extents, m.strides);
  for (const workspace& w : p->workspaces) {
    std::vector<std::int64_t> extents;
    for (const node_id e : w.extents) extents.push_back(known.exact(e).value());
    rest.push_back(memory::folded_storage(w.type, extents, w.folded_storage));
  }
  for (const plan::check& c : p->checks)
    if (!c.uniform) rest.push_back(memory::dense(element::i64, {}));
  if (counts_work) rest.push_back(memory::dense(element::i64, {1}));
  for (memory& m : rest) code->argument(m.bytes.data(), m.extents, m.strides);
}

std::int32_t trial::run() {
  if (!code) make();
  return code->run();
}

void trial::expect_right(double tolerance) {
  SCOPED_TRACE(plan_text());
  ASSERT_EQ(run(), 0);
  std::vector<std::vector<unsigned char>> alone;
  for (memory& m : outputs) {
    alone.push_back(m.bytes);
    std::fill(m.bytes.begin(), m.bytes.end(), 0xCD);
  }
  for (memory& m : rest) std::fill(m.bytes.begin(), m.bytes.end(), 0xAB);
  code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(run(), 0);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    EXPECT_TRUE(alone[k] == outputs[k].bytes) << "output " << k << " depends on the tasks";
  expect_same_elsewhere();
  flat<tensor_value> values;
  for (memory& m : inputs) {
    tensor_value v;
    v.type = m.type;
    for (const std::int64_t e : m.extents) v.extents.push(e);
    for (std::int64_t i = 0; i < m.count(); ++i) {
      if (is_floating(m.type))
        v.reals.push(m.real(i));
      else
        v.integers.push(static_cast<std::int64_t>(m.real(i)));
    }
    values.push(v);
  }
  evaluator slow(g, values);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const evaluation expected = slow(g.outputs[static_cast<int>(k)]);
    ASSERT_TRUE(expected.status.ok()) << static_cast<int>(expected.status.fault);
    ASSERT_EQ(expected.value.count(), outputs[k].count());
    double scale = 1e-30;
    const auto want = [&](std::int64_t i) {
      const int at = static_cast<int>(i);
      return is_floating(expected.value.type) ? expected.value.reals[at]
                                              : static_cast<double>(expected.value.integers[at]);
    };
    for (std::int64_t i = 0; i < outputs[k].count(); ++i)
      if (std::isfinite(want(i))) scale = std::max(scale, std::abs(want(i)));
    int shown = 0;
    for (std::int64_t i = 0; i < outputs[k].count() && shown < 5; ++i) {
      const double found = outputs[k].real(i), wanted = want(i);
      const bool same =
          found == wanted || (std::isnan(found) && std::isnan(wanted)) || std::abs(found - wanted) <= tolerance * scale;
      if (!same) {
        ADD_FAILURE() << "output " << k << " at " << i << ": found " << found << ", expected " << wanted;
        ++shown;
      }
    }
  }
}

void trial::expect_same_elsewhere() {
  std::vector<memory> here = outputs;
  trial other(g);
  other.inputs = inputs, other.force_for_tests = force_for_tests, other.turned_outputs = turned_outputs,
  other.overrides = overrides;
  other.cpu = "x86-64-v3", other.vectors = &target::widths[1];
  other.on.second_cache = 64, other.on.last_cache = 256, other.on.wake = 1e-3, other.on.operation = 100;
  ASSERT_EQ(other.run(), 0);
  for (std::size_t k = 0; k < here.size(); ++k)
    for (std::int64_t i = 0; i < here[k].count(); ++i) {
      const bool same =
          std::memcmp(here[k].at(i), other.outputs[k].at(i), static_cast<std::size_t>(row(here[k].type).bytes)) == 0;
      ASSERT_TRUE(same ||
                  (is_floating(here[k].type) && std::isnan(here[k].real(i)) && std::isnan(other.outputs[k].real(i))))
          << "output " << k << " at " << i << " depends on the processor: " << here[k].real(i) << " and "
          << other.outputs[k].real(i);
    }
}

std::string trial::plan_text() {
  if (!code) make();
  return p->text + (std::getenv("SHEAF_SHOW") != nullptr ? ir::print(p->code) : std::string());
}

template <class Draw>
trial& trial::fill(const char* name, std::vector<std::int64_t> extents, Draw&& draw, bool transposed) {
  std::int64_t count = 1;
  for (const std::int64_t e : extents) count *= e;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(draw());
  return with(name, std::move(extents), values, transposed);
}

trial& trial::random(const char* name, std::vector<std::int64_t> extents, bool transposed) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  return fill(
      name, std::move(extents), [&] { return uniform(bits_); }, transposed);
}

trial& trial::below(const char* name, std::vector<std::int64_t> extents, std::int64_t bound) {
  std::uniform_int_distribution<std::int64_t> uniform(0, bound - 1);
  return fill(
      name, std::move(extents), [&] { return static_cast<double>(uniform(bits_)); }, false);
}

}  // namespace sheaf::test
