#include <sheaf/jit/engine/layout.hpp>

#include <algorithm>

#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/runtime/checked_product.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

plan::call_facts with_arguments(plan::call_facts device, plan::call_facts arguments) {
  device.inputs = std::move(arguments.inputs);
  device.unit_outputs = std::move(arguments.unit_outputs);
  device.dense_outputs = std::move(arguments.dense_outputs);
  device.promised = std::move(arguments.promised);
  device.updates = std::move(arguments.updates);
  device.apart = std::move(arguments.apart);
  return device;
}

extent_amounts by_input(const call_class& a, const std::vector<shapes::amount>& all) {
  extent_amounts list;
  auto next = all.begin();
  for (const auto& extents : a.input_extents) {
    const auto end = next + static_cast<std::ptrdiff_t>(extents.size());
    list.emplace_back(next, end);
    next = end;
  }
  return list;
}

}  // namespace

extent_amounts amounts_of(const call_class& a) {
  extent_amounts list;
  for (const auto& extents : a.input_extents) list.push_back(plan::amounts(extents));
  return list;
}

extent_amounts amounts_of(const graph& g, const call_class& a, shapes::decisions& record, bool gpu) {
  return by_input(a, shapes::amounts_of(g, all_extents(a), record, gpu));
}
extent_amounts amounts_of(const call_class& a, shapes::decisions& record, const shapes::usual_extents& usual) {
  return by_input(a, usual.of(all_extents(a), record));
}

namespace {

// Expressions that calls evaluate or are told about, under other ids.
class kept_expressions {
 public:
  explicit kept_expressions(const graph& g) : g_(g), wanted_(static_cast<std::size_t>(g.size()), false) {}
  void add(node_id& n) {
    if (n == no_node) return;
    roots_.push_back(&n);
    wanted_[static_cast<std::size_t>(n)] = true;
  }
  // Arguments stand before what they are arguments of.
  void copy_to(graph& made) {
    std::vector<node_id> moved(wanted_.size(), no_node), list;
    for (node_id n = g_.size(); n-- > 0;)
      for (int k = 0; wanted_[static_cast<std::size_t>(n)] && k < g_[n].count; ++k)
        wanted_[static_cast<std::size_t>(g_.arg(n, k))] = true;
    for (node_id n = 0; n < g_.size(); ++n) {
      if (!wanted_[static_cast<std::size_t>(n)]) continue;
      list.clear();
      for (int k = 0; k < g_[n].count; ++k) list.push_back(moved[static_cast<std::size_t>(g_.arg(n, k))]);
      moved[static_cast<std::size_t>(n)] =
          made.intern(g_.kind(n), g_.type(n), g_[n].attribute, list.data(), g_[n].count);
    }
    for (node_id* n : roots_) *n = moved[static_cast<std::size_t>(*n)];
  }

 private:
  const graph& g_;
  std::vector<bool> wanted_;
  std::vector<node_id*> roots_;
};

}  // namespace

void arranged_program::forget_plan() {
  planned& p = program;
  graph made;
  made.text = p.g.text;
  made.names = p.g.names;
  made.inputs = p.g.inputs;
  made.static_extents = p.g.static_extents;
  made.demands = p.g.demands;
  made.monoids = p.g.monoids;
  made.outputs = p.g.outputs;
  kept_expressions kept(p.g);
  for (workspace& w : p.workspaces)
    for (node_id& n : w.extents) kept.add(n);
  for (plan::check& c : p.checks) {
    for (node_id* n : {&c.subscript, &c.least, &c.most, &c.low, &c.high, &c.outside}) kept.add(*n);
    for (auto* list : {&c.indices, &c.sizes, &c.firsts})
      for (node_id& n : *list) kept.add(n);
  }
  for (int k = 0; k < made.demands.size(); ++k)
    for (node_id* n : {&made.demands[k].wrong, &made.demands[k].limit, &made.demands[k].found}) kept.add(*n);
  for (int k = 0; k < made.monoids.size(); ++k)
    for (node_id* n : {&made.monoids[k].identity, &made.monoids[k].combine, &made.monoids[k].adjoint}) kept.add(*n);
  for (int k = 0; k < made.outputs.size(); ++k) kept.add(made.outputs[k]);
  kept.copy_to(made);
  p.g = std::move(made);
  p.plan = {};
  p.code = {};
  p.text = {};
}

std::size_t arranged_program::bytes() const {
  const auto of = [](const auto& list) { return static_cast<std::size_t>(list.size()) * sizeof *list.data(); };
  const graph& g = program.g;
  std::size_t all = sizeof *this + of(g.nodes) + of(g.args) + of(g.text) + of(g.free) + program.text.size();
  all += program.checks.size() * sizeof(plan::check) + program.workspaces.size() * sizeof(workspace);
  return all;
}

arranged_program::arranged_program(const graph& g, const call_class& a, plan::call_facts device,
                                   const extent_amounts& extents)
    : form(g, a, extents),
      program(plan_program(form.of(g), with_arguments(std::move(device), form.facts(a, extents)), "sheaf_program")) {
  program.text = form.note(g) + program.text;
}

extent_amounts arranged_program::slot_amounts(const call_class& a, const extent_amounts& extents) {
  const plan::call_facts call = form.facts(a, extents);
  const plan::facts known(program.g, call);
  extent_amounts slots;
  const auto add = [&](const std::vector<node_id>& list) {
    std::vector<shapes::amount>& own = slots.emplace_back();
    for (const node_id n : list) {
      const auto extent = known.value(n);
      if (!extent)
        runtime::fail(code::broken_invariant, "extents of a call's arrays", "some that do not depend on data",
                      "one that does");
      own.push_back(max(*extent, 0));
    }
  };
  for (const plan::tensor_facts& t : call.inputs) slots.push_back(t.extents);
  for (int o = 0; o < program.g.outputs.size(); ++o) add(program.output_extents(o));
  for (const workspace& w : program.workspaces) add(w.extents);
  for (const plan::check& c : program.checks)
    if (!c.uniform) slots.emplace_back();
  return slots;
}

void arranged_program::fail(plan::check c, std::int64_t position, const sheaf_tensor* tensors,
                            const element_reader& read) const {
  for (int i = 0; i < program.g.inputs.size(); ++i)
    if (c.demand < 0 && slot_text(program.g, i) == c.tensor) c.dimension = form.named_dimension(i, c.dimension);
  const graph named = form.named(program.g);
  fail_check(named, form.written(named), c, position, tensors, read);
}

void arranged_program::fail(std::int64_t ordinal, std::int64_t position, const sheaf_tensor* tensors,
                            const element_reader& read) const {
  for (const plan::check& c : program.checks)
    if (!c.uniform && c.ordinal == ordinal) fail(c, position, tensors, read);
  runtime::fail(code::broken_invariant, "index check", "one of the program's checks", std::to_string(ordinal));
}

call_layout::call_layout(std::shared_ptr<const arranged_program> of, std::size_t alignment)
    : of_(std::move(of)), alignment_(alignment), formulas_(of_->program.g, of_->form.places()) {
  const planned& p = of_->program;
  for (std::size_t k = 0; k < p.checks.size(); ++k)
    if (const int at = p.checks[k].uniform ? formulas_.add(p.checks[k].outside) : -1; at >= 0)
      checks_.push_back({at, k});
  for (const workspace& w : p.workspaces) {
    array& a = arrays_.emplace_back(array{w.type, w.promised, {}, w.folded_storage});
    for (const node_id e : w.extents) {
      a.extents.push_back(formulas_.add(e));
      if (a.extents.back() < 0)
        runtime::fail(code::broken_invariant, "workspace of a call", "extents that do not depend on data",
                      "one that does");
    }
    numbers_ += 2 * a.extents.size();
  }
  for (const plan::check& c : p.checks)
    if (!c.uniform) arrays_.emplace_back();
  formulas_.close();
}

void call_layout::fail(const plan::check& c, std::span<const std::int64_t> extents) const {
  std::vector<sheaf_tensor> shapes;
  for (const std::vector<int>& order : of_->form.orders()) {
    shapes.push_back({nullptr, extents.data(), extents.data()});
    extents = extents.subspan(order.size());
  }
  std::vector<std::int64_t> numbers(of_->form.numbers());
  of_->form.named_views(shapes.data(), numbers.data());
  of_->fail(c, 0, shapes.data(), read_host);
}

void call_layout::lay_out(std::span<const std::int64_t> extents, call_memory& made) const {
  const std::span<const std::int64_t> values = formulas_.values(extents);
  for (const uniform_check& c : checks_)
    if (values[static_cast<std::size_t>(c.outside)] != 0) fail(of_->program.checks[c.place], extents);
  made.bytes = made.promised_bytes = 0;
  made.arrays.clear();
  made.numbers.resize(numbers_);
  std::int64_t* numbers = made.numbers.data();
  for (const array& a : arrays_) {
    place(a, values, made, numbers);
    numbers += 2 * a.extents.size();
  }
}

void call_layout::place(const array& a, std::span<const std::int64_t> values, call_memory& made,
                        std::int64_t* extents) const {
  const std::size_t rank = a.extents.size();
  std::int64_t* const strides = extents + rank;
  std::size_t& total = a.promised ? made.promised_bytes : made.bytes;
  made.arrays.push_back({total, a.promised, {extents, rank}, {strides, rank}});
  // A product that wrapped around would make a workspace that kernels write beyond.
  runtime::checked_product count;
  for (std::size_t d = rank; d-- > 0;) {
    extents[d] = std::max<std::int64_t>(values[static_cast<std::size_t>(a.extents[d])], 0);
    const bool one = d < a.folded_storage.size() && a.folded_storage[d] && extents[d] > 0;
    strides[d] = one ? 0 : count.value();
    if (!one) count.times(extents[d]);
  }
  count.times(row(a.type).bytes);
  const std::int64_t size = count.value();
  if (!count.fits() || size > most_bytes - static_cast<std::int64_t>(total))
    runtime::fail(code::out_of_memory, "workspace of a call", "fewer than 2^62 bytes", "more");
  total += (static_cast<std::size_t>(size) + alignment_ - 1) / alignment_ * alignment_;
}

arranged_call::arranged_call(std::shared_ptr<const arranged_program> of, const call_class& arguments,
                             std::size_t alignment)
    : of_(std::move(of)), form(of_->form), program(of_->program) {
  call_layout(of_, alignment).lay_out(all_extents(arguments), *this);
}

std::string arranged_call::text() const {
  std::string text = program.text + "workspace: " + std::to_string(bytes) + " bytes";
  if (promised_bytes > 0) text += ", and " + std::to_string(promised_bytes) + " promised from call to call";
  return text + "\n";
}

std::vector<std::vector<std::int64_t>> arranged_call::slot_extents(const call_class& a) const {
  std::vector<std::vector<std::int64_t>> extents;
  const plan::call_facts arranged = form.facts(a, amounts_of(a));
  for (const plan::tensor_facts& t : arranged.inputs) extents.push_back(plan::numbers(t.extents));
  extents.insert(extents.end(), a.output_extents.begin(), a.output_extents.end());
  for (const own_array& own : arrays) extents.emplace_back(own.extents.begin(), own.extents.end());
  return extents;
}

}  // namespace sheaf::inline v0_1::jit
