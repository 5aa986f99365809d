#include <sheaf/aot/classes.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>

#include <sheaf/aot/slots.hpp>
#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/words.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/error.hpp>

namespace sheaf::inline v0_1::aot {

std::optional<jit::call_class> call_of(const program& p, const extent_list& extents, layout as) {
  const graph& g = p.g;
  std::vector<sheaf_tensor> tensors;
  std::vector<extent_list> strides(static_cast<std::size_t>(g.inputs.size()));
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    const std::int64_t* of = extents.data() + first_place(g, i);
    extent_list& s = strides[static_cast<std::size_t>(i)];
    s.assign(static_cast<std::size_t>(rank) + 1, 1);
    for (int d = rank - 2; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      s[at] = s[at + 1] * std::max<std::int64_t>(of[d + 1], 1);
    }
    tensors.push_back({nullptr, of, s.data()});
  }
  tensors.resize(tensors.size() + static_cast<std::size_t>(g.outputs.size()));
  try {
    std::int64_t key[jit::key_capacity];
    const auto size = static_cast<std::size_t>(jit::write_key(g, tensors.data(), key));
    jit::call_class a = jit::key_reader(g).arguments({key, size});
    for (std::size_t i = 0; i < a.closest.size(); ++i) {
      a.closest[i] = g.inputs[static_cast<int>(i)].rank - 1;
      a.dense_inputs[i] = as == layout::dense && g.inputs[static_cast<int>(i)].rank >= 2;
      a.unit_inputs[i] = as != layout::any || g.inputs[static_cast<int>(i)].rank == 0;
    }
    for (std::size_t o = 0; o < a.unit_outputs.size(); ++o)
      a.unit_outputs[o] = as != layout::any || tensor_rank(g, g.outputs[static_cast<int>(o)]) == 0;
    a.updates = p.updates;  // right for outputs that lie elsewhere, too
    return a;
  } catch (const error&) {
    return std::nullopt;
  }
}

namespace {

// Two calls of kernels that programs share differ in what these are told of the extents: formulas of their classes.
ir::module without_numbers(ir::module code) {
  for (ir::kernel& k : code.kernels) {
    if (k.call == nullptr) continue;
    ir::shared_call call = *k.call;
    call.numbers.assign(call.numbers.size(), 0);
    k.call = std::make_shared<const ir::shared_call>(std::move(call));
  }
  return code;
}

class planner {
  using covering = shapes::usual_extents::covering;

 public:
  planner(const program& p, const planned_for& device, held plans, int most)
      : p_(p),
        device_(device),
        plans_(plans),
        most_(most),
        of_class_(p.g, covering::usual),
        general_(p.g, covering::one),
        search_(p) {
    made.of = &p;
    made.gpu = device.gpu;
  }

  void plan_examples(layout as) {
    first_ = made.classes.size();
    usual_ = &of_class_;
    for (const extent_list& example : p_.examples)
      for (const std::int64_t n : {100, 1, 1000000}) serve(as, search_.completed(example, n));
  }
  // What serves every call of a layout.
  void plan_all(layout as) {
    first_ = made.classes.size();
    usual_ = plans_ == held::every_class ? &of_class_ : &general_;
    for (const std::int64_t n : {100, 1, 0, 1000000})
      if (made.classes.size() == first_) serve(as, search_.completed({}, n));
    for (const extent_list& example : p_.examples)
      if (made.classes.size() == first_) serve(as, search_.completed(example, 100));
    paths_.clear();
    open_.clear();
    for (std::size_t k = first_; k < made.classes.size(); ++k) open(k);
    while (!open_.empty()) {
      const branch b = open_.back();
      open_.pop_back();
      if (!paths_.insert(path(*made.classes[b.of].decided, b.place, true)).second) continue;
      const extent_search::answer found = search_.first_other(*made.classes[b.of].decided, b.place);
      if (!found.proven)
        throw std::runtime_error("kernel " + p_.name + ": whether extents exist where not " +
                                 words(*made.classes[b.of].decided, b.place) + " is open; narrow their ranges");
      if (!found.extents || !serve(as, *found.extents)) continue;
      open(made.classes.size() - 1);
    }
  }
  // Classes of calls that reduce nothing are left to those of any strides, which hold all calls.
  void leave_empty_calls(layout as) {
    std::erase_if(made.classes, [&](const planned_class& c) { return c.layout == as && c.reduces_nothing; });
  }
  bool has_joined_inputs() const {
    return std::ranges::any_of(made.classes, [&](const planned_class& c) {
      for (int i = 0; i < p_.g.inputs.size(); ++i)
        if (c.made->form.is_joined(i)) return true;
      return false;
    });
  }

  planned_program made;

 private:
  // Decisions of a class before `place`, and the other outcome of that.
  struct branch {
    std::size_t of, place;
  };

  // Decisions up to `place`, as recorded; other: that one is not.
  static std::vector<int> path(const shapes::decisions& of, std::size_t place, bool other) {
    std::vector<int> all;
    for (std::size_t k = 0; k <= place; ++k) {
      const shapes::decision& d = of.list()[k];
      all.insert(all.end(), {d.asked.less, d.asked.a, d.asked.b, d.answer != (other && k == place)});
    }
    return all;
  }
  void open(std::size_t at) {
    const shapes::decisions& of = *made.classes[at].decided;
    for (std::size_t k = 0; k < of.size(); ++k)
      if (paths_.insert(path(of, k, false)).second) open_.push_back({at, k});
  }
  std::string words(const shapes::decisions& of, std::size_t place) const {
    std::vector<std::string> names;
    for (int i = 0; i < p_.g.inputs.size(); ++i)
      for (int d = 0; d < p_.g.inputs[i].rank; ++d)
        names.push_back("extent(" + jit::slot_text(p_.g, i) + ", " + std::to_string(d) + ")");
    return of.words(place, names);
  }

  // Plans a class for it unless there is one.
  bool serve(layout as, const extent_list& extents) {
    for (std::size_t k = first_; k < made.classes.size(); ++k)
      if (made.classes[k].decided->hold(extents)) return false;
    const std::optional<jit::call_class> call = call_of(p_, extents, as);
    if (!call) return false;
    if (made.classes.size() - first_ >= static_cast<std::size_t>(most_))
      throw std::runtime_error("kernel " + p_.name + ": more than " + std::to_string(most_) +
                               " classes of extents; give ranges for some");
    add(*call, as, extents);
    return true;
  }
  void add(const jit::call_class& call, layout as, const extent_list& extents) {
    planned_class c;
    c.layout = as;
    c.served = extents;
    c.decided = std::make_unique<shapes::decisions>(p_.options.shapes == shape_policy::exact);
    c.decided->serve_all();
    plan(c, call, p_.options);
    // Calls that reduce nothing, because some extent is 0, take little time: no algorithm gains them anything. What
    // the plan decided stays recorded, so that the class holds no other calls.
    c.reduces_nothing = plans_ == held::general && search_.reduces_nothing(*c.decided);
    if (c.reduces_nothing) {
      options plain = p_.options;
      plain.algorithm = algorithm::direct;
      plan(c, call, plain);
    }
    ir::module& code = c.made->program.code;
    ir::verify(code);
    c.costs = ir::costs_of(code);
    for (const ir::kernel& k : code.kernels)
      if (k.call != nullptr) c.calls.push_back(k.call);
    const bool is_left = c.reduces_nothing && as == layout::unit;
    if (!is_left && !is_always_refused(c)) c.code = number_of(code);
    made.classes.push_back(std::move(c));
  }
  void plan(planned_class& c, const jit::call_class& call, const options& wanted) const {
    plan::call_facts facts;
    facts.overrides = wanted;
    facts.on = device_.on;
    facts.gpu = device_.gpu;
    c.made = jit::planned_or_error([&] {
      return std::make_unique<jit::arranged_program>(p_.g, call, facts, jit::amounts_of(call, *c.decided, *usual_));
    });
  }
  bool is_always_refused(const planned_class& c) const {
    const planned& plan = c.made->program;
    std::vector<node_id> outside;
    for (const plan::check& k : plan.checks)
      if (k.uniform) outside.push_back(k.outside);
    for (int i = 0; i < p_.g.inputs.size(); ++i)
      if (c.made->form.is_joined(i)) return false;
    return search_.is_always_refused(*c.decided, plan.g, outside);
  }
  // Its place among the codes.
  int number_of(ir::module& code) {
    const std::string text = ir::print(without_numbers(code));
    const auto found = std::ranges::find(made.texts, text);
    const auto place = static_cast<int>(found - made.texts.begin());
    if (found == made.texts.end()) {
      made.texts.push_back(text);
      made.codes.push_back(std::move(code));
    }
    return place;
  }

  const program& p_;
  const planned_for device_;
  const held plans_;
  const int most_;
  const shapes::usual_extents of_class_, general_;
  const shapes::usual_extents* usual_ = nullptr;
  const extent_search search_;
  std::size_t first_ = 0;  // class of the layout
  std::set<std::vector<int>> paths_;  // that classes take, or that were looked at
  std::vector<branch> open_;
};

}  // namespace

planned_program plan_classes(const program& p, const planned_for& device, held plans, int most) {
  planner all(p, device, plans, most);
  // Rows without gaps matter where the last two dimensions are one only; of a few columns each is a class, so that
  // those are made that examples name.
  all.plan_examples(layout::dense);
  if (!all.has_joined_inputs())
    all.made = {.of = &p, .gpu = device.gpu, .classes = {}, .codes = {}, .texts = {}, .slots = {}};
  if (plans == held::general) all.plan_examples(layout::unit);
  all.plan_all(layout::unit);
  all.plan_all(layout::any);
  if (plans == held::general) all.leave_empty_calls(layout::unit);
  if (!device.gpu) all.made.slots = share_slots(all.made.codes, p.g.inputs.size() + p.g.outputs.size());
  return std::move(all.made);
}

}  // namespace sheaf::inline v0_1::aot
