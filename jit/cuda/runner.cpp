// Runs programs on a GPU: a call of a class of arguments. It fills the one parameter that all kernels share, launches
// them on the caller's stream with as many blocks as its extents are worth, and returns; nothing waits. Shown by
// tests/gpu.
#include <algorithm>

#include <sheaf/jit/cuda/gpu_class.hpp>
#include <sheaf/jit/cuda/inspector_results.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

namespace device = runtime::cuda;
using device::device_context;
using device::driver;

class gpu_runner final : public runner {
 public:
  void serve(std::shared_ptr<const gpu_class> of, std::span<const std::int64_t> extents) {
    of->layout().lay_out(extents, call_);
    of->numbers().evaluate(extents, values_);
    blocks_.clear();
    numbers_.assign(values_.begin(), values_.end());
    std::size_t scratch = 0;
    for (const gpu_class::ready_kernel& k : of->kernels()) {
      const std::int64_t blocks = k.blocks(values_[blocks_.size()]);
      scratch = std::max(scratch, static_cast<std::size_t>(blocks * k.how->scratch_bytes));
      blocks_.push_back(static_cast<unsigned>(blocks));
    }
    bytes_ = call_.bytes + scratch;
    of_ = std::move(of);
  }
  bool release() override {
    of_ = nullptr;
    return true;
  }

  void run(const sheaf_tensor*) const override {
    runtime::fail(code::broken_invariant, "call of a program for a GPU", "a stream", "none");
  }

  void run_on(const sheaf_tensor* tensors, const device_place& where, inspected* promised) const override {
    const device_context::current here(of_->context());
    const auto stream = static_cast<device::stream>(where.stream);
    const auto state = of_->context().state_of(stream);
    const std::lock_guard launching(state->launching);
    const std::lock_guard guard(of_->lock());
    lane& l = of_->lane_of(state);
    const bool resized = write_arguments(l.parameter, tensors);
    place_workspace(l, where);
    const int arrivals = of_->source().arrivals;
    if (arrivals > 0) l.parameter[arrivals_word] = static_cast<std::int64_t>(state->zeros(arrivals));
    inspected_on_device::part* const lists =
        promised == nullptr ? nullptr : &place_promised(l, static_cast<inspected_on_device&>(*promised));
    const bool again = lists != nullptr && lists->is_known();
    if (lists != nullptr && l.stream->capture != 0) {
      l.promised.push_back(lists->memory);
      if (!again) lists->give_away();  // the graph lists by itself
    }
    if (of_->has_checks()) {
      l.parameter[ticket_word] = ++l.ticket;
      l.remember(resized);
    }
    launch(l, stream, again);
    if (lists != nullptr && !again && l.stream->capture == 0) lists->ask();
  }

  void reserve_on(const device_place& where, inspected* promised) const override {
    const device_context::current here(of_->context());
    const auto state = of_->context().state_of(static_cast<device::stream>(where.stream));
    const std::lock_guard launching(state->launching);
    const std::lock_guard guard(of_->lock());
    of_->lane_of(state);
    if (bytes_ > 0) state->workspace(bytes_);
    if (of_->source().arrivals > 0) state->zeros(of_->source().arrivals);
    if (promised != nullptr) static_cast<inspected_on_device&>(*promised).on(state);
  }
  std::unique_ptr<inspected> make_inspector_result() const override {
    if (call_.promised_bytes == 0) return nullptr;
    return std::make_unique<inspected_on_device>(of_->context(), call_.promised_bytes);
  }
  std::size_t workspace_bytes() const override { return bytes_; }
  std::string plan(const call_class& arguments) const override { return of_->plan(arguments, blocks_); }
  std::string ir(const call_class& arguments) const override { return of_->ir(arguments); }

 private:
  // Are any extents others than in the parameter before?
  bool write_arguments(words& w, const sheaf_tensor* tensors) const {
    bool resized = false;
    for (const gpu_class::argument_place& a : of_->arguments()) {
      const sheaf_tensor& t = *tensors++;
      const std::size_t rank = a.order.size();
      w[a.first] = reinterpret_cast<std::int64_t>(t.data);
      for (std::size_t d = 0; d < rank; ++d) {
        const bool joined = a.columns > 0 && d + 1 == rank;
        const std::int64_t extent = t.extents[a.order[d]] * (joined ? a.columns : 1);
        resized = resized || w[a.first + 1 + d] != extent;
        w[a.first + 1 + d] = extent;
        w[a.first + 1 + rank + d] = joined ? 1 : t.strides[a.order[d]];
      }
    }
    for (std::size_t k = 0; k < call_.arrays.size(); ++k) {
      const own_array& own = call_.arrays[k];
      std::int64_t* const at = w.data() + of_->own_word(k) + 1;
      std::copy(own.strides.begin(), own.strides.end(), std::copy(own.extents.begin(), own.extents.end(), at));
    }
    return resized;
  }

  void place_arrays(lane& l, device::address base, bool promised) const {
    for (std::size_t k = 0; k < call_.arrays.size(); ++k)
      if (call_.arrays[k].promised == promised)
        l.parameter[of_->own_word(k)] = static_cast<std::int64_t>(base + call_.arrays[k].offset);
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
    place_arrays(l, base, false);
    l.parameter[scratch_word] = static_cast<std::int64_t>(base + call_.bytes);
  }

  // Where a graph has lists that are to be made anew, they are made elsewhere.
  inspected_on_device::part& place_promised(lane& l, inspected_on_device& promised) const {
    inspected_on_device::part& p = promised.on(l.stream);
    p.look(of_->failures(), l.record.words);
    if (!p.is_known() && p.memory.use_count() > 1) {
      p.give_away();
      promised.on(l.stream);
    }
    place_arrays(l, p.memory->at, true);
    return p;
  }

  void launch(lane& l, device::stream stream, bool again) const {
    void* parameter = l.parameter.data();
    device::address on_device = 0;
    const cuda::source& source = of_->source();
    if (source.by_pointer) {
      on_device = l.parameter_on_device->at;
      driver().copy_in(on_device, l.parameter_source(), l.parameter.size() * 8, stream);
      parameter = &on_device;
    }
    std::size_t n = 0;
    for (const gpu_class::ready_kernel& k : of_->kernels()) {
      const unsigned blocks = blocks_[n++];
      if (again && k.how->promised) continue;
      // By value: the driver copies it.
      const std::span numbers(numbers_.data() + k.numbers, k.how->formulas.size());
      const std::int64_t* own =
          cuda::parameter_of(source, *k.how, l.parameter.data(), numbers, of_->shared_parameter());
      void* parameters[] = {k.how->of == nullptr ? parameter : const_cast<std::int64_t*>(own)};
      driver().launch(k.code, blocks, 1, 1, static_cast<unsigned>(k.how->threads), 1, 1,
                      static_cast<unsigned>(k.how->shared_bytes), stream, parameters, nullptr);
    }
  }

  std::shared_ptr<const gpu_class> of_;
  call_memory call_;
  std::vector<double> values_;
  std::vector<unsigned> blocks_;       // by kernel
  std::vector<std::int64_t> numbers_;  // as gpu_class::numbers()
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<runner> gpu_class::runner_for(std::span<const std::int64_t> extents,
                                              std::unique_ptr<runner> old) const {
  if (old == nullptr) old = std::make_unique<gpu_runner>();
  static_cast<gpu_runner&>(*old).serve(shared_from_this(), extents);
  return old;
}

}  // namespace sheaf::inline v0_1::jit
