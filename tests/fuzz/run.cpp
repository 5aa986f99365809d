// See run.hpp.
#include "run.hpp"

#include <algorithm>

#include <sheaf/build_tree.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/runtime/error.hpp>

namespace sheaf::fuzz {

namespace {
constexpr int capacity = 65536;
}

std::string said(const flat<char>& t) { return std::string(t.data(), static_cast<std::size_t>(t.size())); }
graph parsed(const std::string& text) { return sheaf::parse(text.data(), static_cast<int>(text.size())); }
std::string printed(const graph& g) { return said(print(g)); }

std::string name_of_input(const graph& g, int input) {
  const text_range n = g.names[g.inputs[input].name];
  return std::string(g.text.data() + n.first, static_cast<std::size_t>(n.size));
}

bool fits(const graph& g) {
  const auto words = std::make_unique<packed_words<capacity>>(pack<capacity>(g));
  return !words->failed && words->size <= capacity;
}

runnable::runnable(const graph& g, jit::backend runs_on, const options& wanted) : g_(g) {
  jit::note_headers(SHEAF_HEADERS);  // the plug-in of this build tree
  const auto words = std::make_unique<packed_words<capacity>>(pack<capacity>(g));
  program_ = jit::make_program(words->words, runs_on, wanted);
}
runnable::~runnable() { jit::free_program(program_); }

std::vector<guarded_memory> runnable::inputs_of(const arguments& a) const {
  std::vector<guarded_memory> list;
  for (int i = 0; i < g_.inputs.size(); ++i) list.emplace_back(a.inputs.at(name_of_input(g_, i)), true);
  return list;
}

tensor_data runnable::output_of(const arguments& a, std::size_t o, const std::vector<std::int64_t>& extents) const {
  tensor_data t;
  t.type = g_.type(g_.outputs[static_cast<int>(o)]);
  t.extents = extents;
  if (o < a.outputs.size() && a.outputs[o].order.size() == extents.size()) t.placed = a.outputs[o];
  return t;
}

std::vector<std::vector<std::int64_t>> runnable::extents(const arguments& a) {
  const std::vector<guarded_memory> inputs = inputs_of(a);
  std::vector<sheaf_tensor> slots;
  for (const guarded_memory& m : inputs) slots.push_back(m.view());
  slots.resize(slots.size() + static_cast<std::size_t>(g_.outputs.size()), sheaf_tensor{});
  const jit::kernel* k = jit::prepare(program_, slots.data());
  std::vector<std::vector<std::int64_t>> shapes;
  for (int o = 0; o < g_.outputs.size(); ++o) {
    const std::int64_t* e = jit::output_extents(k, o);
    shapes.emplace_back(e, e + tensor_rank(g_, g_.outputs[o]));
  }
  return shapes;
}

// By output: the input whose memory it takes; -1: none.
std::vector<int> runnable::updated_inputs(const arguments& a,
                                          const std::vector<std::vector<std::int64_t>>& shapes) const {
  std::vector<int> taken;
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    taken.push_back(-1);
    for (int i = 0; i < g_.inputs.size() && taken.back() < 0; ++i) {
      const tensor_data& t = a.inputs.at(name_of_input(g_, i));
      const bool repeats = std::ranges::count(t.placed.repeated, true) > 0;
      if (!repeats && t.count() > 0 && t.type == g_.type(g_.outputs[static_cast<int>(o)]) && t.extents == shapes[o] &&
          std::ranges::count(taken, i) == 0)
        taken.back() = i;
    }
  }
  return taken;
}
bool runnable::may_update(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes) const {
  return std::ranges::any_of(updated_inputs(a, shapes), [](int i) { return i >= 0; });
}

outcome runnable::operator()(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes, bool updates) {
  outcome result;
  const std::vector<int> taken = updates ? updated_inputs(a, shapes) : std::vector<int>(shapes.size(), -1);
  const std::vector<guarded_memory> inputs = inputs_of(a);
  std::vector<guarded_memory> outputs;
  std::vector<sheaf_tensor> slots;
  for (const guarded_memory& m : inputs) slots.push_back(m.view());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (std::ranges::count(taken, static_cast<int>(i)) == 0) inputs[i].forbid_writing();
  for (std::size_t o = 0; o < shapes.size(); ++o) outputs.emplace_back(output_of(a, o, shapes[o]), false);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    slots.push_back(taken[o] < 0 ? outputs[o].view() : inputs[static_cast<std::size_t>(taken[o])].view());
  try {
    jit::run(jit::prepare(program_, slots.data()), slots.data());
  } catch (const error& e) {
    result.failed = true;
    result.code = name_of(e.code());
    result.sentence = e.what();
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (result.failed && !outputs[o].untouched())
      result.damage = "output " + std::to_string(o) + " was written by a call that failed";
    if (!outputs[o].gaps_untouched())
      result.damage = "elements between those of output " + std::to_string(o) + " were written";
    result.outputs.push_back(taken[o] < 0 ? outputs[o].read() : inputs[static_cast<std::size_t>(taken[o])].read());
  }
  return result;
}

outcome runnable::adding(const arguments& a, const std::vector<tensor_data>& before) {
  outcome result;
  const std::vector<guarded_memory> inputs = inputs_of(a);
  std::vector<guarded_memory> outputs;
  std::vector<sheaf_tensor> slots;
  std::vector<int> all;
  for (const guarded_memory& m : inputs) m.forbid_writing(), slots.push_back(m.view());
  for (const tensor_data& t : before) all.push_back(static_cast<int>(all.size())), outputs.emplace_back(t, true);
  for (int twice = 0; twice < 2; ++twice)
    for (const guarded_memory& m : outputs) slots.push_back(m.view());
  try {
    jit::program* const p = jit::adding(program_, all.data(), static_cast<int>(all.size()));
    jit::run(jit::prepare(p, slots.data()), slots.data());
  } catch (const error& e) {
    result = {true, name_of(e.code()), e.what(), {}, ""};
  }
  for (const guarded_memory& m : outputs) {
    if (!m.gaps_untouched()) result.damage = "elements between those of an output that is added were written";
    result.outputs.push_back(m.read());
  }
  return result;
}

const char* runnable::plan(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes) {
  const std::vector<guarded_memory> inputs = inputs_of(a);
  std::vector<guarded_memory> outputs;
  std::vector<sheaf_tensor> slots;
  for (const guarded_memory& m : inputs) slots.push_back(m.view());
  for (std::size_t o = 0; o < shapes.size(); ++o) outputs.emplace_back(output_of(a, o, shapes[o]), false);
  for (const guarded_memory& m : outputs) slots.push_back(m.view());
  return jit::plan_text(jit::prepare(program_, slots.data()));
}

}  // namespace sheaf::fuzz
