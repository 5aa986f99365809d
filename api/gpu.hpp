// compile(outputs..., on(gpu)): the program of compile(outputs...), on a GPU. Its arguments are device views and
// arrays; a call queues it on a stream and returns.
//
//   auto step = compile(loss, grad(loss, x), on(gpu));            // device 0; on(gpu, 1) is the next
//   auto [l, dx] = step(x = rows, cut = bounds, on(s));           // arrays on the device, in the order of stream s
//   step(x = rows, cut = bounds, loss = l, grad(loss, x) = dx, on(s));  // into the caller's; can be captured
//   s.synchronise();                                              // throws what was wrong with the data
#pragma once
#include <sheaf/api/frame.hpp>
#include <sheaf/runtime/device.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <class... Outputs>
struct device_signature : call_signature<Outputs...> {
  using base = call_signature<Outputs...>;
  template <int Slot>
  using view_type =
      device_view<std::conditional_t<(Slot < base::inputs), const typename base::template value_type<Slot>,
                                     typename base::template value_type<Slot>>,
                  base::template rank<Slot>>;
  template <int Slot>
  using array_type = device_array<typename base::template value_type<Slot>, base::template rank<Slot>>;
  static constexpr bool on_device = true;
};

template <int Slots, class... Views, int... Slot>
SHEAF_HIDDEN void expect_devices(jit::program* p, const call_frame<Slots, Views...>& call,
                                 std::integer_sequence<int, Slot...>) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (jit::expect_device(p, Slot, boost::hana::at_c<K>(call.views).device), ...);
  }(std::index_sequence_for<Views...>{});
}

// The place of a call on a stream.
struct SHEAF_HIDDEN queued {
  const on_stream& place;
  jit::promise* indices = nullptr;
  template <int Inputs, class Frame, class Slots, class List>
  SHEAF_INLINE auto run(jit::program* p, Frame& call, Slots slots, List list) const {
    jit::expect_device(p, -1, place.where->device());
    expect_devices(p, call, slots);
    return finish<Inputs>(p, call.tensors, *this, list);
  }
  template <class Array>
  Array make(const std::int64_t* extents) const {
    return Array(uninitialized, *place.where, extents);
  }
  template <class Array>
  void* first(Array& a) const {
    return a.pointer();
  }
  void start(const jit::kernel* k, const sheaf_tensor* tensors) const {
    jit::run_on(k, tensors, {place.where->handle(), place.memory, place.bytes}, indices);
  }
};

// Only what such a call needs is made ready.
struct SHEAF_HIDDEN reserved {
  const on_stream& place;
  jit::promise* indices = nullptr;
  template <int Inputs, class Frame, class Slots, class List>
  SHEAF_INLINE void run(jit::program* p, Frame& call, Slots slots, List) const {
    jit::expect_device(p, -1, place.where->device());
    expect_devices(p, call, slots);
    const jit::calling here(p);
    jit::reserve_on(jit::prepare(p, call.tensors, indices), {place.where->handle(), nullptr, 0}, indices);
  }
};

template <class... B>
inline constexpr bool names_stream = false;
template <class First, class... Rest>
inline constexpr bool names_stream<First, Rest...> =
    sizeof...(Rest) == 0 ? std::same_as<std::remove_cvref_t<First>, on_stream> : names_stream<Rest...>;

}  // namespace detail

// A program on a GPU. Calls from several threads at a time are safe; those on one stream run one after the other. It
// can be moved, not copied, and lives until what it queued is done, and as long as graphs that were captured of it.
template <class... Outputs>
class compiled_on_gpu : public detail::program_frame<detail::device_signature<Outputs...>> {
  using signature = detail::device_signature<Outputs...>;

 public:
  SHEAF_INLINE explicit compiled_on_gpu(jit::program* program) : detail::program_frame<signature>(program) {}
  // Written out, for what the compiler declares by itself is a function of the object file, named after the expression.
  SHEAF_INLINE compiled_on_gpu(compiled_on_gpu&&) noexcept = default;
  SHEAF_INLINE compiled_on_gpu& operator=(compiled_on_gpu&&) noexcept = default;
  SHEAF_INLINE ~compiled_on_gpu() = default;

  // Arguments are `symbol = value` in device memory: every input, and any output that goes into memory of the
  // caller's; what keep(...) made stands for the arguments that it holds; last, if not the default stream is meant,
  // on(stream). Returns the other outputs: nothing, one device_array, or a tuple of them. Throws sheaf::error for what
  // can be seen without the data; outputs are then untouched. Where the data fails a check, outputs are not written
  // either, and the stream's synchronise() throws.
  template <class... B>
  SHEAF_INLINE auto operator()(B&&... arguments) const {
    return placed<detail::queued>(arguments...);
  }

  // Compiles for these arguments and takes the memory that a call on this stream will need: then a capture may follow.
  template <class... B>
  SHEAF_INLINE void reserve(B&&... arguments) const {
    placed<detail::reserved>(arguments...);
  }
  // Of what on(stream).workspace(...) must bring for these arguments.
  template <class... B>
  SHEAF_INLINE auto workspace_bytes(B&&... arguments) const {
    return this->call(detail::asking<std::size_t>{jit::workspace_bytes}, arguments...);
  }

  SHEAF_INLINE int device() const { return jit::device_of(this->program_); }

 private:
  template <class Place, class... B>
  SHEAF_INLINE auto placed(B&... arguments) const {
    if constexpr (detail::names_stream<B...>) {
      const auto all = std::tie(arguments...);
      return before<Place>(all, std::make_index_sequence<sizeof...(B) - 1>{});
    } else {
      const stream main = stream::main(on(gpu, device()));
      const on_stream place = on(main);
      return this->call(Place{place}, arguments...);
    }
  }
  template <class Place, class All, std::size_t... K>
  SHEAF_INLINE auto before(const All& all, std::index_sequence<K...>) const {
    return this->call(Place{std::get<sizeof...(K)>(all)}, std::get<K>(all)...);
  }
};

namespace detail {

template <class... Outputs>
SHEAF_INLINE auto make_on_gpu(on_gpu where, const options& wanted) {
  constexpr auto words = call_signature<Outputs...>::program::words;
  return compiled_on_gpu<Outputs...>(jit::make_program(words.words, jit::backend::gpu, wanted, where.ordinal));
}

}  // namespace detail

// compile(outputs..., on(gpu)). Throws code::device_failed where there is no such GPU, no driver or no NVRTC, saying
// which. Before the outputs may stand options or a determinism, as without a GPU; options.target has no meaning here.
template <class... All>
  requires(std::same_as<All, on_gpu> || ...)
SHEAF_INLINE auto compile(const options& wanted, All... all) {
  static_assert(sizeof...(All) > 1, "compile: expected at least one output");
  constexpr bool last = std::is_same_v<std::remove_cvref_t<decltype((all, ...))>, on_gpu>;
  constexpr bool once = (static_cast<int>(std::is_same_v<All, on_gpu>) + ...) == 1;
  static_assert(last && once, "compile: on(gpu) comes last, once, after the outputs");
  if constexpr (last && once) {
    const auto list = std::tie(all...);
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return detail::make_on_gpu<std::tuple_element_t<K, std::tuple<All...>>...>(std::get<sizeof...(K)>(list), wanted);
    }(std::make_index_sequence<sizeof...(All) - 1>{});
  }
}
template <class First, class... All>
  requires(!std::same_as<First, options> && !std::same_as<First, determinism> &&
           (std::same_as<First, on_gpu> || ... || std::same_as<All, on_gpu>))
SHEAF_INLINE auto compile(First first, All... all) {
  return compile(options{}, first, all...);
}

}  // namespace sheaf::inline v0_1
