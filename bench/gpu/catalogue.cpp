// Rows of the catalogue, each beside the copy of what it reads and writes: the programs whose machine code
// docs/gpu-static.md counts.
#include "catalogue_jobs.hpp"

#include <deque>

#include "session.hpp"

namespace sheaf::bench {

namespace {

constexpr std::int64_t period = std::int64_t{1} << 22;  // elements, after which noise begins anew

template <class T, class Value>
void fill(std::byte* to, std::int64_t count, Value value) {
  T* const typed = reinterpret_cast<T*>(to);
  in_parts(count, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) typed[k] = value(k);
  });
}
template <class T>
void fill_by_noise(std::byte* to, std::int64_t count) {
  std::vector<T> drawn(static_cast<std::size_t>(std::min(count, period)));
  for (std::size_t k = 0; k < drawn.size(); ++k) drawn[k] = T(static_cast<float>(uniform_at(k)));
  fill<T>(to, count, [&drawn](std::int64_t k) { return drawn[static_cast<std::size_t>(k % period)]; });
}
void fill_places(std::byte* to, std::int64_t count, std::int64_t below) {
  fill<std::int64_t>(to, count, [=](std::int64_t k) {
    const double share = uniform_at(static_cast<std::uint64_t>(k));
    return std::min(below - 1, static_cast<std::int64_t>(static_cast<double>(below) * share));
  });
}
// From 0 to `last`.
void fill_offsets(std::byte* to, std::int64_t count, std::int64_t last) {
  fill<std::int64_t>(to, count, [=](std::int64_t k) {
    const double drawn = k == 0 || k == count - 1 ? 0 : uniform_at(static_cast<std::uint64_t>(k));
    return static_cast<std::int64_t>(static_cast<double>(last) * (static_cast<double>(k) + drawn) /
                                     static_cast<double>(count - 1));
  });
}

// Arguments on the device, from a job's shapes; what their index data names is where the job says.
class job_arguments {
 public:
  job_arguments(gpu_session& s, const job& one) : s_(s) {
    const graph g = unpack(one.words.data());
    extents_ = arguments_of(one, g);
    for (int k = 0; k < g.inputs.size(); ++k) {
      const text_range name = g.names[g.inputs[k].name];
      const std::string called(g.text.data() + name.first, static_cast<std::size_t>(name.size));
      add(g.inputs[k].type, extents_.input_extents[static_cast<std::size_t>(k)]);
      fill_input(g.inputs[k].type, called, one);
    }
    for (int k = 0; k < g.outputs.size(); ++k)
      add(g.type(g.outputs[k]), extents_.output_extents[static_cast<std::size_t>(k)]);
    s.s.synchronise();
  }
  const sheaf_tensor* tensors() const { return tensors_.data(); }
  double bytes() const {
    double all = 0;
    for (const auto& a : memory_) all += bytes_of(a);
    return all;
  }

 private:
  void add(element type, const std::vector<std::int64_t>& extents) {
    std::int64_t size = row(type).bytes;
    for (const std::int64_t e : extents) size *= e;
    memory_.emplace_back(uninitialized, s_.s, size);
    auto& steps = strides_.emplace_back(extents.size() + 1);
    runtime::row_major(extents.data(), steps.data(), static_cast<int>(extents.size()));
    tensors_.push_back({memory_.back().pointer(), extents.data(), steps.data()});
  }
  void fill_input(element type, const std::string& name, const job& one) {
    device_array<std::uint8_t, 1>& to = memory_.back();
    array<std::uint8_t, 1> host(uninitialized, to.size());
    std::byte* const at = reinterpret_cast<std::byte*>(host.data());
    const std::int64_t count = to.size() / row(type).bytes;
    const auto below = one.below.find(name);
    if (below != one.below.end()) (name == "off" ? fill_offsets : fill_places)(at, count, below->second);
    else if (type == element::f32) fill_by_noise<float>(at, count);
    else if (type == element::f16) fill_by_noise<float16>(at, count);
    else if (type == element::bf16) fill_by_noise<bfloat16>(at, count);
    else fill<std::uint8_t>(at, to.size(), [](std::int64_t k) { return bits_at(static_cast<std::uint64_t>(k)) & 1; });
    copy(to.view(), view<const std::uint8_t, 1>(host), s_.s);
    s_.s.synchronise();
  }

  gpu_session& s_;
  jit::call_class extents_;
  std::deque<device_array<std::uint8_t, 1>> memory_;
  std::deque<std::vector<std::int64_t>> strides_;
  std::vector<sheaf_tensor> tensors_;
};

void measure(gpu_session& s, const job& one) {
  const job_arguments arguments(s, one);
  jit::program* const program = jit::make_program(one.words.data(), jit::backend::gpu);
  const bool is_product = one.id.starts_with("matmul");  // bound by what it computes
  s.row("catalogue", one.id, is_product ? 0 : arguments.bytes(), [&] {
    const jit::calling here(program);
    jit::run_on(jit::prepare(program, arguments.tensors()), arguments.tensors(), {s.s.handle(), nullptr, 0});
  });
  s.s.synchronise();
  jit::free_program(program);
}

}  // namespace

void catalogue(gpu_session& s) {
  if (!s.wants("catalogue")) return;
  for (const job& one : catalogue_jobs()) try {
      measure(s, one);
    } catch (const error& e) {
      std::printf("note catalogue %s failed: %s\n", one.id.c_str(), e.what());
      s.failed = true;
    }
}

}  // namespace sheaf::bench
