// compile(outputs..., on(gpu)): the program of compile(outputs...), on a GPU. Its arguments are device views and arrays; a call
// queues it on a stream and returns.
//
//   auto step = compile(loss, grad(loss, x), on(gpu));            // device 0; on(gpu, 1) is the next
//   auto [l, dx] = step(x = rows, cut = bounds, on(s));           // arrays on the device, in the order of stream s
//   step(x = rows, cut = bounds, loss = l, grad(loss, x) = dx, on(s));  // into the caller's; can be captured
//   s.synchronise();                                              // throws what was wrong with the data
#pragma once
#include <sheaf/api/compile.hpp>

namespace sheaf {

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

template <class T, int Rank>
void put(sheaf_tensor* tensors, int slot, device_array<T, Rank>& a, const std::int64_t* extents,
         std::int64_t* strides) {
  runtime::row_major(extents, strides, Rank);
  tensors[slot] = {a.pointer(), extents, strides};
}

template <int Slots, class... Views, int... Slot>
void expect_devices(jit::program* p, const call_frame<Slots, Views...>& call, std::integer_sequence<int, Slot...>) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (jit::expect_device(p, Slot, boost::hana::at_c<K>(call.views).device), ...);
  }(std::index_sequence_for<Views...>{});
}

// Queues a program whose named arguments stand in `tensors`; returns the other outputs.
template <int Inputs, class... Returned, std::size_t... K>
auto finish_on(jit::program* p, sheaf_tensor* tensors, const on_stream& place, returned_list<Returned...>,
               std::index_sequence<K...>) {
  const jit::kernel* k = jit::prepare(p, tensors);
  std::tuple<typename Returned::array...> results{
      typename Returned::array(uninitialized, *place.where, jit::output_extents(k, Returned::slot - Inputs))...};
  constexpr int ranks[] = {1, Returned::array::rank()...};
  [[maybe_unused]] std::int64_t strides[sizeof...(K) + 1][*std::max_element(std::begin(ranks), std::end(ranks))];
  (put(tensors, Returned::slot, std::get<K>(results), jit::output_extents(k, Returned::slot - Inputs), strides[K]),
   ...);
  jit::run_on(k, tensors, {place.where->handle(), place.memory, place.bytes});
  if constexpr (sizeof...(K) == 1)
    return std::get<0>(std::move(results));
  else if constexpr (sizeof...(K) > 1)
    return results;
}

template <class... B>
inline constexpr bool names_stream = false;
template <class First, class... Rest>
inline constexpr bool names_stream<First, Rest...> =
    sizeof...(Rest) == 0 ? std::same_as<std::remove_cvref_t<First>, on_stream> : names_stream<Rest...>;

}  // namespace detail

// A program on a GPU. Calls from several threads at a time are safe; those on one stream run one after the other. It can be moved,
// not copied, and lives until what it queued is done, and as long as graphs that were captured of it.
template <class... Outputs>
class compiled_on_gpu {
  using signature = detail::device_signature<Outputs...>;
  static constexpr int slots = signature::inputs + signature::outputs;

 public:
  SHEAF_INLINE explicit compiled_on_gpu(jit::program* program) : program_(program) {}
  SHEAF_INLINE compiled_on_gpu(compiled_on_gpu&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  SHEAF_INLINE compiled_on_gpu& operator=(compiled_on_gpu&& other) noexcept {
    std::swap(program_, other.program_);
    return *this;
  }
  SHEAF_INLINE ~compiled_on_gpu() { jit::free_program(program_); }

  // Arguments are `symbol = value` in device memory: every input, and any output that goes into memory of the caller's; last, if
  // not the default stream is meant, on(stream). Returns the other outputs: nothing, one device_array, or a tuple of them.
  // Throws sheaf::error for what can be seen without the data; outputs are then untouched. Where the data fails a check,
  // outputs are not written either, and the stream's synchronise() throws.
  template <class... B>
  SHEAF_INLINE auto operator()(B&&... arguments) const {
    return placed(
        [this]<class... N>(const on_stream& place, N&... named) {
          if constexpr (detail::call_fits<signature, N...>()) {
            auto call = frame(named...);
            expect_here<N...>(call, place);
            using list = detail::returned_slots_t<signature, N...>;
            return queued(call.tensors, place, list{});
          }
        },
        arguments...);
  }

  // Compiles for these arguments and takes the memory that a call on this stream will need: then a capture may follow.
  template <class... B>
  SHEAF_INLINE void reserve(B&&... arguments) const {
    placed(
        [this]<class... N>(const on_stream& place, N&... named) {
          if constexpr (detail::call_fits<signature, N...>()) {
            auto call = frame(named...);
            expect_here<N...>(call, place);
            jit::reserve_on(jit::prepare(program_, call.tensors), {place.where->handle(), nullptr, 0});
          }
        },
        arguments...);
  }
  // Of what on(stream).workspace(...) must bring for these arguments.
  template <class... B>
  SHEAF_INLINE std::size_t workspace_bytes(B&&... arguments) const {
    if constexpr (detail::call_fits<signature, std::remove_cvref_t<B>...>())
      return jit::workspace_bytes(jit::prepare(program_, frame(arguments...).tensors));
    else
      return 0;
  }

  SHEAF_INLINE int device() const { return jit::device_of(program_); }
  // The definitions and gradients as text; what would run for these arguments and why.
  SHEAF_INLINE const char* text() const { return jit::expression_text(program_); }
  template <class... B>
  SHEAF_INLINE const char* explain(B&&... arguments) const {
    if constexpr (detail::call_fits<signature, std::remove_cvref_t<B>...>())
      return jit::plan_text(jit::prepare(program_, frame(arguments...).tensors));
    else
      return nullptr;
  }

 private:
  template <class B>
  static constexpr int slot_of = signature::template slot<typename B::symbol>;
  template <class B>
  using view_for = typename signature::template view_type<slot_of<B>>;

  // body(stream, named arguments...).
  template <class Body, class... B>
  SHEAF_INLINE auto placed(Body body, B&... arguments) const {
    const auto all = std::tie(arguments...);
    if constexpr (detail::names_stream<B...>) {
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return body(std::get<sizeof...(K)>(all), std::get<K>(all)...);
      }(std::make_index_sequence<sizeof...(B) - 1>{});
    } else {
      const stream main = stream::main(on(gpu, device()));
      return body(on(main), arguments...);
    }
  }

  template <class... B>
  SHEAF_INLINE static auto frame(B&... arguments) {
    return detail::call_frame<slots, view_for<B>...>(
        std::integer_sequence<int, slot_of<B>...>{},
        view_for<B>(static_cast<decltype(arguments.value)>(arguments.value))...);
  }
  template <class... B, class Frame>
  SHEAF_INLINE void expect_here(const Frame& call, const on_stream& place) const {
    jit::expect_device(program_, -1, place.where->device());
    detail::expect_devices(program_, call, std::integer_sequence<int, slot_of<B>...>{});
  }
  template <class... Returned>
  SHEAF_INLINE auto queued(sheaf_tensor* tensors, const on_stream& place,
                           detail::returned_list<Returned...> list) const {
    return detail::finish_on<signature::inputs>(program_, tensors, place, list, std::index_sequence_for<Returned...>{});
  }

  jit::program* program_;
};

namespace detail {

template <class... Outputs>
SHEAF_INLINE auto make_on_gpu(on_gpu where, const options& wanted) {
  constexpr auto words = call_signature<Outputs...>::program::words;
  return compiled_on_gpu<Outputs...>(jit::make_program(words.words, jit::backend::gpu, wanted, where.ordinal));
}

}  // namespace detail

// compile(outputs..., on(gpu)). Throws code::device_failed where there is no such GPU, no driver or no NVRTC, saying which.
// Before the outputs may stand options or a determinism, as without a GPU; options.target has no meaning here.
template <class... All>
  requires(std::same_as<All, on_gpu> || ...)
SHEAF_INLINE auto compile(const options& wanted, All... all) {
  static_assert(sizeof...(All) > 1, "compile: expected at least one output");
  constexpr int last = sizeof...(All) - 1;
  const auto list = std::tie(all...);
  static_assert(std::same_as<std::tuple_element_t<last, std::tuple<All...>>, on_gpu>,
                "compile: on(gpu) comes last, once, after the outputs");
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return detail::make_on_gpu<std::tuple_element_t<K, std::tuple<All...>>...>(std::get<last>(list), wanted);
  }(std::make_index_sequence<sizeof...(All) - 1>{});
}
template <class First, class... All>
  requires(!std::same_as<First, options> && !std::same_as<First, determinism> &&
           (std::same_as<First, on_gpu> || ... || std::same_as<All, on_gpu>))
SHEAF_INLINE auto compile(First first, All... all) {
  return compile(options{}, first, all...);
}

}  // namespace sheaf
