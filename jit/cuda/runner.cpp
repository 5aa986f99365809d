// Runs programs on a GPU: plans for a class of arguments, emits, finds code, and queues its kernels on the caller's
// stream. A call fills the one parameter that all kernels share, launches them and returns; nothing waits. Shown by
// tests/gpu.
#include <algorithm>
#include <map>
#include <numeric>

#include <sheaf/jit/cuda/code.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/cuda/inspector_results.hpp>
#include <sheaf/jit/cuda/lane.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

namespace device = runtime::cuda;
using device::device_context;
using device::driver;

constexpr std::size_t device_alignment = 256;

// The words of a parameter that are not its slots'.
enum : std::size_t { scratch_word, record_word, ticket_word, arrivals_word };

struct ready_kernel {
  device::function code;
  unsigned blocks, threads, shared;
  const cuda::launch* how;
};

class gpu_runner final : public runner, public device::failure_source {
 public:
  gpu_runner(const graph& g, const call_class& arguments, const options& overrides, int ordinal)
      : context_(device_context::of(ordinal)),
        arguments_(arguments),
        call_(std::make_shared<const arranged_program>(
                  g, arguments, plan::call_facts{.inputs = {}, .unit_outputs = {}, .gpu = true, .overrides = overrides},
                  amounts_of(arguments)),
              arguments, device_alignment),
        text_(ir::print(call_.program.code)) {
    const planned& p = call_.program;
    if (runtime::current_settings().verify) ir::verify(p.code);
    runtime::debug_line(3, "plan\n" + call_.text());
    runtime::debug_line(3, "kernel IR\n" + text_);
    const auto& about = context_.about();
    extents_ = call_.slot_extents(arguments_);
    std::vector<const std::int64_t*> extents;
    for (const auto& e : extents_) extents.push_back(e.data());
    source_ = cuda::emit(p.code,
                         {.compute = 10 * about.major + about.minor,
                          .shared_bytes = about.shared_per_block,
                          .texts = runtime::current_settings().threads,
                          .cpu_order = overrides.determinism == determinism::strict},
                         extents);
    for (const std::string& text : source_.texts) runtime::debug_line(4, "CUDA C++\n" + text);
    find_code();
    make_template();
    make_kernels();
    checks_ = std::any_of(p.checks.begin(), p.checks.end(), [](const plan::check& c) { return !c.uniform; });
    if (checks_) context_.add(this);
  }
  ~gpu_runner() override {
    if (checks_) context_.remove(this);
    for (const auto& l : lanes_) {
      if (l->record.words != nullptr) context_.give_back(l->record);
      if (l->pinned != nullptr) driver().host_release.raw(l->pinned);
    }
  }

  void run(const sheaf_tensor*) const override {
    runtime::fail(code::broken_invariant, "call of a program for a GPU", "a stream", "none");
  }

  void run_on(const sheaf_tensor* tensors, const device_place& where, inspected* promised) const override {
    const device_context::current here(context_);
    const auto stream = static_cast<device::stream>(where.stream);
    const auto state = context_.state_of(stream);
    const std::lock_guard launching(state->launching);
    const std::lock_guard guard(lock_);
    lane& l = lane_of(state);
    words& w = l.parameter;
    for (std::size_t s = 0; s < tensor_words_.size(); ++s) {
      const tensor_place& t = tensor_words_[s];
      const std::size_t rank = t.order.size();
      w[t.first] = reinterpret_cast<std::int64_t>(tensors[s].data);
      for (std::size_t d = 0; d < rank; ++d) w[t.first + 1 + rank + d] = tensors[s].strides[t.order[d]];
      if (is_joined(s)) w[t.first + 2 * rank] = 1;
    }
    place_workspace(l, where);
    if (source_.arrivals > 0) w[arrivals_word] = static_cast<std::int64_t>(state->zeros(source_.arrivals));
    inspected_on_device::part* const lists =
        promised == nullptr ? nullptr : &place_promised(l, static_cast<inspected_on_device&>(*promised));
    const bool again = lists != nullptr && lists->is_known();
    if (lists != nullptr && l.stream->capture != 0) {
      l.promised.push_back(lists->memory);
      if (!again) lists->give_away();  // the graph lists by itself
    }
    if (checks_) {
      w[ticket_word] = ++l.ticket;
      l.remember();
    }
    launch(l, stream, again);
    if (lists != nullptr && !again && l.stream->capture == 0) lists->ask();
  }

  void reserve_on(const device_place& where, inspected* promised) const override {
    const device_context::current here(context_);
    const auto state = context_.state_of(static_cast<device::stream>(where.stream));
    const std::lock_guard launching(state->launching);
    const std::lock_guard guard(lock_);
    lane_of(state);
    if (bytes_ > 0) state->workspace(bytes_);
    if (source_.arrivals > 0) state->zeros(source_.arrivals);
    if (promised != nullptr) static_cast<inspected_on_device&>(*promised).on(state);
  }
  std::unique_ptr<inspected> make_inspector_result() const override {
    return call_.promised_bytes > 0 ? std::make_unique<inspected_on_device>(context_, call_.promised_bytes) : nullptr;
  }
  std::size_t workspace_bytes() const override { return bytes_; }
  std::string plan(const call_class&) const override { return plan_; }
  std::string ir(const call_class&) const override { return text_; }

  // Throws what the device noted of calls on a stream, once.
  void check(const device::stream_state* on) override {
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

 private:
  // Everything of the parameter that is the same in all calls.
  void make_template() {
    template_.assign(static_cast<std::size_t>(source_.words), 0);
    const std::size_t inputs = arguments_.input_extents.size(), given = inputs + arguments_.output_extents.size();
    for (std::size_t slot = 0; slot < extents_.size(); ++slot) {
      const std::vector<std::int64_t>& extents = extents_[slot];
      const auto first = static_cast<std::size_t>(source_.first_word[slot]);
      const auto at = template_.begin() + static_cast<std::ptrdiff_t>(first) + 1;
      std::copy(extents.begin(), extents.end(), at);
      const int rank = static_cast<int>(extents.size());
      if (slot < given) {
        tensor_words_.push_back({first, order_of(slot, inputs)});
        continue;
      }
      const own_array& own = call_.arrays[slot - given];
      std::copy(own.strides.begin(), own.strides.end(), at + rank);
      own_words_.push_back(first);
    }
  }

  // Which dimension of the caller's an extent or stride in the parameter is of. A joined input's last stride is 1.
  std::vector<int> order_of(std::size_t slot, std::size_t inputs) const {
    if (slot < inputs && !call_.form.is_joined(static_cast<int>(slot))) return call_.form.order(static_cast<int>(slot));
    std::vector<int> order(extents_[slot].size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  bool is_joined(std::size_t slot) const {
    return slot < arguments_.input_extents.size() && call_.form.is_joined(static_cast<int>(slot));
  }

  void make_kernels() {
    const device_context::current here(context_);
    plan_ = call_.text() + "on " + context_.about().name + ", " + context_.about().architecture() + "\n";
    std::size_t scratch = 0;
    for (const cuda::launch& l : source_.launches) {
      const device::function f = code_of(l).find(l.name);
      if (l.shared_bytes > context_.about().shared_per_block)
        driver().function_set(f, device::function_attribute::dynamic_shared, static_cast<int>(l.shared_bytes));
      const std::int64_t blocks = l.single ? 1 : blocks_of(f, l);
      kernels_.push_back({f, static_cast<unsigned>(blocks), static_cast<unsigned>(l.threads),
                          static_cast<unsigned>(l.shared_bytes), &l});
      scratch = std::max(scratch, static_cast<std::size_t>(blocks * l.scratch_bytes));
      int registers = 0, spilled = 0;
      driver().function_get(&registers, device::function_attribute::registers, f);
      driver().function_get(&spilled, device::function_attribute::local_bytes, f);
      plan_ += "  " + l.name + ": " + std::to_string(blocks) + " blocks of " + std::to_string(l.threads) +
               " threads, " + std::to_string(registers) + " registers, " + std::to_string(spilled) +
               " bytes of local memory a thread\n";
    }
    scratch_at_ = call_.bytes;
    bytes_ = call_.bytes + scratch;
  }

  // Of the program's own texts, and of those that programs share.
  void find_code() {
    std::vector<std::string> texts = source_.texts;
    for (const cuda::launch& l : source_.launches) {
      if (l.of == nullptr || first_code_.contains(l.of.get())) continue;
      first_code_[l.of.get()] = texts.size();
      texts.insert(texts.end(), l.of->texts.begin(), l.of->texts.end());
    }
    code_ = code_on(context_, texts, call_.program.code.name);
  }
  const device::loaded_module& code_of(const cuda::launch& l) const {
    const std::size_t first = l.of == nullptr ? 0 : first_code_.at(l.of.get());
    return *code_[first + static_cast<std::size_t>(l.text)];
  }

  // What fills the device, or fewer where there is less to do.
  std::int64_t blocks_of(device::function f, const cuda::launch& l) const {
    int resident = 0;
    driver().occupancy(&resident, f, l.threads, static_cast<std::size_t>(l.shared_bytes));
    const std::int64_t full = std::max<std::int64_t>(std::int64_t{resident} * context_.about().multiprocessors, 1);
    return l.count < 0 ? full : std::clamp<std::int64_t>((l.count + l.tiles - 1) / l.tiles, 1, full);
  }

  lane& lane_of(const std::shared_ptr<device::stream_state>& state) const {
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
    made->parameter = template_;
    if (checks_) {
      made->record = context_.take_record();
      made->parameter[record_word] = static_cast<std::int64_t>(made->record.on_device);
    }
    if (source_.by_pointer) {
      made->parameter_on_device =
          std::make_unique<device::device_block>(context_, template_.size() * 8, state->handle, state->gone);
      driver().host_allocate(&made->pinned, template_.size() * 8, 0);
    }
    lanes_.push_back(std::move(made));
    return *lanes_.back();
  }

  void place_workspace(lane& l, const device_place& where) const {
    if (bytes_ == 0) return;
    device::address base = reinterpret_cast<device::address>(where.memory);
    if (where.memory == nullptr) {
      const auto& block = l.stream->workspace(bytes_);
      if (l.stream->capture != 0) l.workspace = block;
      base = block->at;
    } else if (where.bytes < bytes_ || base % device_alignment != 0) {
      runtime::fail(code::bad_argument, "workspace of a call", std::to_string(bytes_) + " bytes, 256-aligned",
                    std::to_string(where.bytes) + (base % device_alignment != 0 ? ", not aligned" : ""));
    }
    for (std::size_t k = 0; k < own_words_.size(); ++k)
      if (!call_.arrays[k].promised)
        l.parameter[own_words_[k]] = static_cast<std::int64_t>(base + call_.arrays[k].offset);
    l.parameter[scratch_word] = static_cast<std::int64_t>(base + scratch_at_);
  }

  // Where a graph has lists that are to be made anew, they are made elsewhere.
  inspected_on_device::part& place_promised(lane& l, inspected_on_device& promised) const {
    inspected_on_device::part& p = promised.on(l.stream);
    p.look(failures_, l.record.words);
    if (!p.is_known() && p.memory.use_count() > 1) {
      p.give_away();
      promised.on(l.stream);
    }
    for (std::size_t k = 0; k < own_words_.size(); ++k)
      if (call_.arrays[k].promised)
        l.parameter[own_words_[k]] = static_cast<std::int64_t>(p.memory->at + call_.arrays[k].offset);
    return p;
  }

  void launch(lane& l, device::stream stream, bool again) const {
    void* parameter = l.parameter.data();
    device::address on_device = 0;
    if (source_.by_pointer) {
      on_device = l.parameter_on_device->at;
      driver().copy_in(on_device, l.parameter_source(), l.parameter.size() * 8, stream);
      parameter = &on_device;
    }
    for (const ready_kernel& k : kernels_) {
      if (again && k.how->promised) continue;
      // By value: the driver copies it.
      const std::int64_t* own = cuda::parameter_of(source_, *k.how, l.parameter.data(), shared_parameter_);
      void* parameters[] = {k.how->of == nullptr ? parameter : const_cast<std::int64_t*>(own)};
      driver().launch(k.code, k.blocks, 1, 1, k.threads, 1, 1, k.shared, stream, parameters, nullptr);
    }
  }

  [[noreturn]] void fail_from(const lane& l, std::int64_t ticket, std::int64_t ordinal, std::int64_t position) const {
    std::vector<sheaf_tensor> tensors;
    for (std::size_t i = 0; i < arguments_.input_extents.size(); ++i)
      tensors.push_back({nullptr, (is_joined(i) ? extents_ : arguments_.input_extents)[i].data(), nullptr});
    std::vector<std::vector<std::int64_t>> strides(tensors.size());
    for (const words& w : l.calls) {
      if (w[ticket_word] != ticket) continue;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const tensor_place& t = tensor_words_[i];
        strides[i].resize(t.order.size());
        for (std::size_t d = 0; d < t.order.size(); ++d)
          strides[i][static_cast<std::size_t>(t.order[d])] = w[t.first + 1 + t.order.size() + d];
        tensors[i].data = reinterpret_cast<void*>(w[t.first]);
        tensors[i].strides = strides[i].data();
      }
    }
    const device_context::current here(context_);
    const device::stream stream = l.stream->capture == 0 ? l.stream->handle : nullptr;
    const auto read = [&](void* to, const void* from, std::size_t bytes) {
      return driver().copy_out.raw(to, reinterpret_cast<device::address>(from), bytes, stream) == 0 &&
             driver().stream_synchronise.raw(stream) == 0;
    };
    call_.fail(ordinal, position, tensors.data(), read);
  }

  struct tensor_place {
    std::size_t first;       // word
    std::vector<int> order;  // of its extents and strides there
  };

  device_context& context_;
  const call_class arguments_;
  arranged_call call_;
  std::string text_, plan_;
  cuda::source source_;
  std::vector<device_code> code_;
  std::map<const cuda::source*, std::size_t> first_code_;  // of those that programs share
  std::vector<ready_kernel> kernels_;
  words template_;
  std::vector<tensor_place> tensor_words_;  // by slot of the arguments
  std::vector<std::size_t> own_words_;
  std::vector<std::vector<std::int64_t>> extents_;  // by slot
  std::size_t scratch_at_ = 0, bytes_ = 0;
  bool checks_ = false;
  std::int64_t failures_ = 0;  // that were found so far
  mutable std::mutex lock_;
  mutable words shared_parameter_;  // of the launch being made
  mutable std::vector<std::unique_ptr<lane>> lanes_;
};

}  // namespace

void expect_gpu(int device) {
  device_context::of(device);
  device::compiler_identity(driver().version);
}

std::unique_ptr<runner> make_gpu_runner(const graph& g, const call_class& arguments, const options& overrides,
                                        int device) {
  return planned_or_error([&] { return std::make_unique<gpu_runner>(g, arguments, overrides, device); });
}

}  // namespace sheaf::inline v0_1::jit
