#include <sheaf/jit/cuda/gpu_class.hpp>

#include <algorithm>
#include <numeric>

#include <sheaf/jit/engine/program.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/tuning/tuning.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

namespace device = runtime::cuda;
using device::device_context;
using device::driver;

plan::call_facts a_gpu(const device_context& where, const options& overrides, bool explains) {
  return {.inputs = {},
          .unit_outputs = {},
          .dense_outputs = {},
          .gpu = true,
          .overrides = overrides,
          .explains = explains,
          .warpgroups = where.about().has_warpgroups()};
}

}  // namespace

gpu_class::gpu_class(const graph& g, const call_class& arguments, const options& overrides, int ordinal)
    : decided_class(overrides.shapes, arguments),
      context_(device_context::of(ordinal)),
      g_(g),
      overrides_(overrides),
      own_(std::make_shared<arranged_program>(g, arguments, a_gpu(context_, overrides, false),
                                              amounts_of(g, arguments, decided_, true))),
      made_(own_) {
  emit(arguments, amounts_of(g, arguments, decided_, true));
  find_code(own_->program.code.name);
  own_->forget_plan();
  layout_.emplace(made_, device_alignment);
  find_kernels();
  place_arguments();
  decided_.close();
  numbers_.close(decided_);
  note_bytes();
  checks_ = std::ranges::any_of(made_->program.checks, [](const plan::check& c) { return !c.uniform; });
  if (checks_) context_.add(this);
}

gpu_class::~gpu_class() {
  if (checks_) context_.remove(this);
  for (const auto& l : lanes_) {
    if (l->record.words != nullptr) context_.give_back(l->record);
    if (l->pinned != nullptr) driver().host_release.raw(l->pinned);
  }
}

// How threads are laid out is decided by extents as well.
void gpu_class::emit(const call_class& arguments, const extent_amounts& extents) {
  const planned& p = own_->program;
  if (runtime::current_settings().verify) ir::verify(p.code);
  runtime::debug_line(3, "plan\n" + p.text);
  runtime::debug_line(3, "kernel IR\n" + ir::print(p.code));
  const auto& about = context_.about();
  source_ = cuda::emit(p.code,
                       {.compute = 10 * about.major + about.minor,
                        .shared_bytes = about.shared_per_block,
                        .texts = runtime::current_settings().threads,
                        .cpu_order = overrides_.determinism == determinism::strict},
                       own_->slot_amounts(arguments, extents));
  for (const std::string& text : source_.texts) runtime::debug_line(4, "CUDA C++\n" + text);
}

// Of the program's own texts, and of those that programs share.
void gpu_class::find_code(const std::string& name) {
  std::vector<std::string> texts = source_.texts;
  for (const cuda::launch& l : source_.launches) {
    if (l.of == nullptr || first_code_.contains(l.of.get())) continue;
    first_code_[l.of.get()] = texts.size();
    texts.insert(texts.end(), l.of->texts.begin(), l.of->texts.end());
  }
  code_ = code_on(context_, texts, name);
}
const device::loaded_module& gpu_class::code_of(const cuda::launch& l) const {
  const std::size_t first = l.of == nullptr ? 0 : first_code_.at(l.of.get());
  return *code_[first + static_cast<std::size_t>(l.text)];
}

void gpu_class::find_kernels() {
  const device_context::current here(context_);
  for (const cuda::launch& l : source_.launches) {
    ready_kernel k{.how = &l, .code = code_of(l).find(l.name)};
    if (l.shared_bytes > context_.about().shared_per_block)
      driver().function_set(k.code, device::function_attribute::dynamic_shared, static_cast<int>(l.shared_bytes));
    int resident = 0;
    driver().occupancy(&resident, k.code, l.threads, static_cast<std::size_t>(l.shared_bytes));
    k.full = std::max<std::int64_t>(std::int64_t{resident} * context_.about().multiprocessors, 1);
    driver().function_get(&k.registers, device::function_attribute::registers, k.code);
    driver().function_get(&k.spilled, device::function_attribute::local_bytes, k.code);
    kernels_.push_back(k);
    numbers_.list.push_back(l.count.value_or(-1));
  }
  for (ready_kernel& k : kernels_) {
    k.numbers = numbers_.list.size();
    numbers_.list.insert(numbers_.list.end(), k.how->formulas.begin(), k.how->formulas.end());
  }
}

// What fills the device, or fewer where there is less to do. Those that ask for no memory of their own are many times
// as many: as soon as one ends another begins, where blocks that stay would leave the last tiles to some of them.
std::int64_t gpu_class::ready_kernel::blocks(double tiles) const {
  if (how->single) return 1;
  const auto all = static_cast<std::int64_t>(tiles);
  const std::int64_t most = how->scratch_bytes > 0 ? full : full * tuning::grid::most_waves;
  return all < 0 ? full : std::clamp<std::int64_t>((all + how->tiles - 1) / how->tiles, 1, most);
}

void gpu_class::place_arguments() {
  const graph& g = made_->program.g;
  for (int slot = 0; slot < g.inputs.size() + g.outputs.size(); ++slot) {
    argument_place& a = arguments_.emplace_back();
    a.first = static_cast<std::size_t>(source_.first_word[static_cast<std::size_t>(slot)]);
    const bool input = slot < g.inputs.size();
    if (input) a.columns = made_->form.columns(slot);
    if (input && a.columns == 0) {
      a.order = made_->form.order(slot);
    } else {
      a.order.resize(static_cast<std::size_t>(input ? g.inputs[slot].rank
                                                    : tensor_rank(g, g.outputs[slot - g.inputs.size()])));
      std::iota(a.order.begin(), a.order.end(), 0);
    }
  }
}

void gpu_class::note_bytes() {
  bytes_ = sizeof *this + decided_.bytes() + made_->bytes() + layout_->bytes();
  for (const device_code& c : code_) bytes_ += c->bytes();
}

lane& gpu_class::lane_of(const std::shared_ptr<device::stream_state>& state) const {
  for (const auto& l : lanes_)
    if (l->stream == state) return *l;
  if (state->capture != 0) {
    // What the stream's last call used is the graph's from now on.
    for (const auto& l : lanes_)
      if (l->stream->number == state->number && l->stream->capture == 0) {
        l->stream = state;
        return *l;
      }
    if (checks_ || source_.by_pointer)
      runtime::fail(code::unsupported, "a captured call", "a call or reserve() on this stream before the capture",
                    "none");
  }
  auto made = std::make_unique<lane>();
  made->stream = state;
  made->parameter.assign(static_cast<std::size_t>(source_.words), 0);
  if (checks_) {
    made->record = context_.take_record();
    made->parameter[record_word] = static_cast<std::int64_t>(made->record.on_device);
  }
  if (source_.by_pointer) {
    made->parameter_on_device = std::make_unique<device::device_block>(context_, made->parameter.size() * 8,
                                                                       state->handle, state->gone);
    driver().host_allocate(&made->pinned, made->parameter.size() * 8, 0);
  }
  lanes_.push_back(std::move(made));
  return *lanes_.back();
}

void gpu_class::check(const device::stream_state* on) {
  const std::lock_guard guard(lock_);
  for (const auto& l : lanes_) {
    if (on != nullptr && l->stream.get() != on && l->stream->capture == 0) continue;
    volatile std::int64_t* const record = l->record.words;
    if (record == nullptr || record[0] == 0) continue;
    const std::int64_t ticket = record[0], ordinal = record[1], position = record[2];
    record[0] = 0;
    ++failures_;
    fail_from(*l, ticket, ordinal, position);
  }
}

void gpu_class::fail_from(const lane& l, std::int64_t ticket, std::int64_t ordinal, std::int64_t position) const {
  const words* const sizes = l.sizes_of(ticket);
  const words* const call = l.call_of(ticket);
  if (sizes == nullptr)
    runtime::fail(code::index_out_of_range, "a call on a stream", "subscripts inside of their tensors",
                  "one outside, too many calls ago to say which");
  const auto inputs = static_cast<std::size_t>(made_->program.g.inputs.size());
  std::vector<sheaf_tensor> tensors(inputs);
  std::vector<std::vector<std::int64_t>> extents(inputs), strides(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const argument_place& a = arguments_[i];
    const std::size_t rank = a.order.size();
    extents[i].resize(rank), strides[i].resize(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const auto to = static_cast<std::size_t>(a.order[d]);
      extents[i][to] = (*sizes)[a.first + 1 + d];
      strides[i][to] = (*sizes)[a.first + 1 + rank + d];
      if (call != nullptr) strides[i][to] = (*call)[a.first + 1 + rank + d];
    }
    void* const data = call == nullptr ? nullptr : reinterpret_cast<void*>((*call)[a.first]);
    tensors[i] = {data, extents[i].data(), strides[i].data()};
  }
  const device_context::current here(context_);
  const device::stream stream = l.stream->capture == 0 ? l.stream->handle : nullptr;
  const auto read = [&](void* to, const void* from, std::size_t bytes) {
    return driver().copy_out.raw(to, reinterpret_cast<device::address>(from), bytes, stream) == 0 &&
           driver().stream_synchronise.raw(stream) == 0;
  };
  made_->fail(ordinal, position, tensors.data(), read);
}

arranged_program gpu_class::planned_anew(const call_class& arguments) const {
  shapes::decisions anew(decided_.exact());
  return arranged_program(g_, arguments, a_gpu(context_, overrides_, true), amounts_of(g_, arguments, anew, true));
}

std::string gpu_class::plan(const call_class& arguments, std::span<const unsigned> blocks) const {
  const auto& about = context_.about();
  std::string text = arranged_call(std::make_shared<const arranged_program>(planned_anew(arguments)), arguments,
                                   device_alignment)
                         .text() +
                     "on " + about.name + ", " + about.architecture() + "\n";
  for (std::size_t n = 0; n < kernels_.size(); ++n) {
    const ready_kernel& k = kernels_[n];
    text += "  " + k.how->name + ": " + std::to_string(blocks[n]) + " blocks of " + std::to_string(k.how->threads) +
            " threads, " + std::to_string(k.registers) + " registers, " + std::to_string(k.spilled) +
            " bytes of local memory a thread\n";
  }
  return text;
}
std::string gpu_class::ir(const call_class& arguments) const { return ir::print(planned_anew(arguments).program.code); }

void expect_gpu(int device) {
  device_context::of(device);
  device::compiler_identity(driver().version);
}

std::shared_ptr<const shape_class> make_gpu_class(const graph& g, const call_class& arguments,
                                                  const options& overrides, int device) {
  return planned_or_error([&] { return std::make_shared<const gpu_class>(g, arguments, overrides, device); });
}

}  // namespace sheaf::inline v0_1::jit
