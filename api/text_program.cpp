// Pass `read_text`: text and the types of a call's arguments to a packed program, kept for the next call of these
// types.
#include <sheaf/api/text_program.hpp>

#include <map>
#include <mutex>
#include <stdexcept>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1 {

namespace {

constexpr std::size_t may_be_deep = 1000;  // characters
constexpr int levels = 10000;

using arguments_list = std::vector<named_argument>;

std::string text_of(const flat<char>& text) { return {text.data(), static_cast<std::size_t>(text.size())}; }

// One program of the text, for arguments of some types.
class typed_program {
 public:
  typed_program(const graph& g, const options& wanted, jit::backend runs_on) : inputs_(g.inputs.size()) {
    for (const input_row& i : g.inputs) slots_.push_back({name_of(g, i.name), i.type, i.rank});
    for (const node_id o : g.outputs)
      slots_.push_back({name_of(g, static_cast<name_id>(g[o].attribute)), g.type(o), tensor_rank(g, o)});
    program_ = jit::make_program(pack(g).words.data(), runs_on, wanted);
  }
  typed_program(const typed_program&) = delete;
  ~typed_program() { jit::free_program(program_); }

  struct slot {
    std::string name;
    element type;
    int rank;
  };
  // Those that are added to what is there are inputs too, the last ones.
  struct bound_call {
    jit::program* program;
    std::vector<sheaf_tensor> tensors;
    std::size_t inputs;
  };
  // The slots of the arguments; throws where one is missing, given twice, or of another type.
  bound_call bind(const arguments_list& arguments) const {
    std::vector<sheaf_tensor> tensors(slots_.size());
    std::vector<bool> given(slots_.size());
    std::vector<int> added;
    for (const named_argument& a : arguments) {
      const std::size_t s = slot_of(a);
      if (given[s]) runtime::fail(code::bad_argument, "call", "argument " + slots_[s].name + " once", "it twice");
      given[s] = true;
      tensors[s] = a.tensor();
      if (a.is_added()) added.push_back(added_output(s));
    }
    for (std::size_t s = 0; s < inputs_; ++s)
      if (!given[s]) runtime::fail(code::bad_argument, "call", "argument " + spelled(slots_[s]), "none");
    if (added.empty()) return {program_, tensors, inputs_};
    std::vector<sheaf_tensor> there;
    for (const int o : added) there.push_back(tensors[inputs_ + static_cast<std::size_t>(o)]);
    tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(inputs_), there.begin(), there.end());
    return {jit::adding(program_, added.data(), static_cast<int>(added.size())), tensors, inputs_ + added.size()};
  }
  const std::vector<slot>& slots() const { return slots_; }
  std::size_t inputs() const { return inputs_; }
  jit::program* program() const { return program_; }

 private:
  int added_output(std::size_t s) const {
    if (s < inputs_ || slots_[s].type == element::boolean)
      runtime::fail(code::bad_argument, "call", "an output of numbers, as those that are added to what is there are",
                    slots_[s].name + (s < inputs_ ? ", an input" : ", of booleans"));
    return static_cast<int>(s - inputs_);
  }
  static std::string name_of(const graph& g, name_id name) {
    return {g.text.data() + g.names[name].first, static_cast<std::size_t>(g.names[name].size)};
  }
  static std::string spelled(const slot& s) {
    return s.name + " (" + row(s.type).name + ", rank " + std::to_string(s.rank) + ")";
  }
  std::size_t slot_of(const named_argument& a) const {
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s].name != a.name()) continue;
      const slot found{slots_[s].name, a.type(), a.rank()};
      if (a.type() != slots_[s].type || a.rank() != slots_[s].rank)
        runtime::fail(code::rank_mismatch, "call", "argument " + spelled(slots_[s]), spelled(found));
      if (s >= inputs_ && !a.writable())
        runtime::fail(code::bad_argument, "call", "a mutable view for output " + slots_[s].name,
                      "one of constant elements");
      return s;
    }
    runtime::fail(code::bad_argument, "call", "the name of an input or an output", std::string(a.name()));
  }

  std::size_t inputs_;
  std::vector<slot> slots_;
  jit::program* program_ = nullptr;
};

}  // namespace

class text_program::implementation {
 public:
  implementation(std::string_view text, const options& wanted, jit::backend runs_on)
      : text_(text), options_(wanted), runs_on_(runs_on) {}

  const typed_program& of(const arguments_list& arguments) {
    std::string key;
    for (const named_argument& a : arguments)
      key.append(a.name()).append(":").append(row(a.type()).name).append(std::to_string(a.rank())).append(" ");
    const std::lock_guard guard(lock_);
    std::unique_ptr<typed_program>& found = all_[key];
    const auto make = [&] { found = std::make_unique<typed_program>(read(arguments), options_, runs_on_); };
    if (!found && text_.size() < may_be_deep) make();
    if (!found) runtime::on_deep_stack(make);
    return *found;
  }
  graph read(const arguments_list& arguments) const {
    std::vector<text_argument> rows;
    for (const named_argument& a : arguments)
      rows.push_back({a.name().data(), static_cast<int>(a.name().size()), a.type(), a.rank()});
    try {
      graph g = parse(text_.data(), static_cast<int>(text_.size()), rows.data(), static_cast<int>(rows.size()), levels);
      if (g.failed()) throw error(code::bad_argument, ("text: " + text_of(g.error)).c_str());
      return g;
    } catch (const std::length_error& many) {
      runtime::fail(code::unsupported, "text", "a smaller program", many.what());
    }
  }

 private:
  const std::string text_;
  const options options_;
  const jit::backend runs_on_;
  std::mutex lock_;
  std::map<std::string, std::unique_ptr<typed_program>> all_;
};

text_program::text_program(std::string_view text, const options& wanted, jit::backend runs_on)
    : implementation_(std::make_unique<implementation>(text, wanted, runs_on)) {}
text_program::text_program(text_program&&) noexcept = default;
text_program& text_program::operator=(text_program&&) noexcept = default;
text_program::~text_program() = default;

std::vector<any_array> text_program::operator()(std::initializer_list<named_argument> arguments) const {
  return (*this)(arguments_list(arguments));
}

std::vector<any_array> text_program::operator()(const arguments_list& arguments) const {
  const typed_program& p = implementation_->of(arguments);
  auto [program, tensors, inputs] = p.bind(arguments);
  const jit::calling here(program);
  const jit::kernel* kernel = jit::prepare(program, tensors.data());
  std::vector<any_array> results;
  const std::size_t outputs = p.slots().size() - p.inputs();
  std::vector<std::vector<std::int64_t>> strides(outputs);
  results.reserve(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    sheaf_tensor& to = tensors[inputs + o];
    if (to.extents != nullptr) continue;
    const typed_program::slot& slot = p.slots()[p.inputs() + o];
    const std::int64_t* extents = jit::output_extents(kernel, static_cast<int>(o));
    results.emplace_back(slot.name, slot.type, std::vector<std::int64_t>(extents, extents + slot.rank));
    strides[o].resize(static_cast<std::size_t>(slot.rank) + 1);
    runtime::row_major(extents, strides[o].data(), slot.rank);
    to = {results.back().data(), results.back().extents(), strides[o].data()};
  }
  jit::run(kernel, tensors.data());
  return results;
}

std::string text_program::text(const arguments_list& arguments) const {
  return jit::expression_text(implementation_->of(arguments).program());
}
std::string text_program::explain(const arguments_list& arguments) const {
  const typed_program& p = implementation_->of(arguments);
  const auto [program, tensors, inputs] = p.bind(arguments);
  const jit::calling here(program);
  return jit::plan_text(jit::prepare(program, tensors.data(), nullptr, false));
}

any_array::any_array(std::string name, element type, std::vector<std::int64_t> extents)
    : name_(std::move(name)), type_(type), extents_(std::move(extents)) {
  const auto width = static_cast<std::size_t>(row(type).bytes);
  const int rank = static_cast<int>(extents_.size());
  extents_.push_back(0);
  bytes_ = static_cast<std::size_t>(runtime::count_elements(extents_.data(), rank, width)) * width;
  data_ = runtime::allocate(bytes_, false);
}
any_array::any_array(any_array&& other) noexcept
    : name_(std::move(other.name_)),
      type_(other.type_),
      extents_(std::move(other.extents_)),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}
any_array& any_array::operator=(any_array&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(type_, other.type_);
  std::swap(extents_, other.extents_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}
any_array::~any_array() { runtime::deallocate(data_, bytes_); }

void any_array::expect(element type, int wanted) const {
  if (type == type_ && wanted == rank()) return;
  const auto spelled = [](element e, int r) { return std::string(row(e).name) + " of rank " + std::to_string(r); };
  runtime::fail(code::rank_mismatch, "result " + name_, spelled(type_, rank()), spelled(type, wanted));
}

}  // namespace sheaf::inline v0_1
