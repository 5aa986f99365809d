// What all programs have: a handle that moves, texts, the frame of a call, and index data that is kept from call to
// call. compile.hpp and gpu.hpp add how one is called.
#pragma once
#include <sheaf/api/call.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// An argument that outlives a call: what binding is without the reference.
template <class Symbol, class View>
struct kept_argument {
  using symbol = Symbol;
  View value;
};

template <class Signature>
class program_frame;

}  // namespace detail

// Arguments of a program that the caller promises not to change, and the inspector results of calls: sorted orders,
// lists of slices, inverse indices. See program_frame::keep. It can be moved, not copied; it outlives neither its
// program nor the arrays that it was made with. Calls from several threads may share it.
template <class... Arguments>
class kept_indices {
 public:
  SHEAF_INLINE kept_indices(kept_indices&& other) noexcept
      : arguments_(other.arguments_), handle_(std::exchange(other.handle_, nullptr)) {}
  SHEAF_INLINE kept_indices& operator=(kept_indices&& other) noexcept {
    std::swap(arguments_, other.arguments_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  SHEAF_INLINE ~kept_indices() { jit::free_promised(handle_); }

  // The data did change, or other inputs have other extents from now on: the next call inspects them
  // anew. Not while one runs.
  SHEAF_INLINE void changed() { jit::forget(handle_); }
  // Of memory that is held for later calls.
  SHEAF_INLINE std::size_t bytes() const { return jit::promised_bytes(handle_); }

 private:
  template <class Signature>
  friend class detail::program_frame;
  SHEAF_INLINE kept_indices(jit::promise* handle, const Arguments&... given) : arguments_(given...), handle_(handle) {}

  std::tuple<Arguments...> arguments_;
  jit::promise* handle_;
};

namespace detail {

template <class T>
inline constexpr bool is_kept = false;
template <class... Arguments>
inline constexpr bool is_kept<kept_indices<Arguments...>> = true;

// Where among arguments such a thing stands; how many there are.
template <class... B>
SHEAF_HIDDEN inline constexpr int kept_among = (static_cast<int>(is_kept<std::remove_cvref_t<B>>) + ... + 0);
template <class... B>
constexpr std::size_t place_of_kept() {
  std::size_t at = 0;
  bool found = false;
  ((found = found || is_kept<std::remove_cvref_t<B>>, at += !found), ...);
  return at;
}

// Whether arguments can be kept; where not, a sentence says why.
template <class Signature, class B>
SHEAF_INLINE constexpr bool may_keep() {
  using symbol = typename B::symbol;
  constexpr int slot = Signature::template slot<symbol>;
  expect<(slot >= 0 && slot < Signature::inputs),
         [] { return sentence{} << "keep: " << called<symbol>() << " is not an input of this program"; }>();
  if constexpr (slot >= 0 && slot < Signature::inputs) {
    constexpr bool indices = !is_floating(Signature::rows.rows[slot].type);
    expect<indices, [] {
      return sentence{} << "keep: " << called<symbol>() << " is of " << row(Signature::rows.rows[slot].type).name
                        << "; only indices and masks can be kept";
    }>();
    constexpr bool there = is_on_device<B> == Signature::on_device;
    if constexpr (indices && expect<there, elsewhere<Signature, B>{}>())
      return expect<converts<Signature, B>, unfit<Signature, B>{}>();
  }
  return false;
}

// The place of a call that only asks its kernel something.
template <class Answer>
struct SHEAF_HIDDEN asking {
  Answer (*question)(const jit::kernel*);
  jit::promise* indices = nullptr;
  bool runs = false;  // then arguments need memory
  template <int Inputs, class Frame, class Slots, class List>
  SHEAF_INLINE Answer run(jit::program* p, const Frame& call, Slots, List) const {
    const jit::calling here(p);
    return question(jit::prepare(p, call.tensors, indices, runs));
  }
};

struct SHEAF_HIDDEN asking_ready {
  jit::promise* indices = nullptr;
  template <int Inputs, class Frame, class Slots, class List>
  SHEAF_INLINE bool run(jit::program* p, const Frame& call, Slots, List) const {
    const jit::calling here(p);
    return jit::ready(p, call.tensors, indices);
  }
};

template <class Signature>
class program_frame {
 public:
  SHEAF_INLINE explicit program_frame(jit::program* program) : program_(program) {}
  SHEAF_INLINE program_frame(program_frame&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  SHEAF_INLINE program_frame& operator=(program_frame&& other) noexcept {
    std::swap(program_, other.program_);
    return *this;
  }
  SHEAF_INLINE ~program_frame() { jit::free_program(program_); }

  // The definitions and gradients as text.
  SHEAF_INLINE const char* text() const { return jit::expression_text(program_); }
  // What would run for these arguments and why; the arguments are those of a call.
  template <class... B>
  SHEAF_INLINE auto explain(B&&... arguments) const {
    return call(asking<const char*>{jit::plan_text}, arguments...);
  }
  template <class... B>
  SHEAF_INLINE auto ir(B&&... arguments) const {
    return call(asking<const char*>{jit::ir_text}, arguments...);
  }

  // Compiles the kernel for a call of these arguments, or of their like, and does not run it; from any thread.
  //
  //   step.prepare(x = like(100000, 128), cut = like(256, 2));
  template <class... B>
  SHEAF_INLINE void prepare(B&&... arguments) const {
    call(asking<void>{[](const jit::kernel*) {}}, arguments...);
  }

  // Whether a call of these arguments, or of their like, would find its kernel; where not, a thread in the background
  // compiles it. Throws what that threw. With options{.wait = false} calls throw code::not_ready until then.
  template <class... B>
  SHEAF_INLINE auto ready(B&&... arguments) const {
    return call(asking_ready{}, arguments...);
  }

  // Kernels made, where their code came from, and whether the cache on disk is used; it costs a look at that folder.
  SHEAF_INLINE auto statistics() const { return jit::statistics_of(program_); }

  // Index data that stays as it is from call to call: the first call sorts and inverts it, later ones don't.
  //
  //   auto fixed = step.keep(ids = bags);
  //   auto [l, dx] = step(x = rows, fixed);   // instead of ids = bags
  //
  // Inputs of integers and booleans. Results have the bits that a call without has. If the data changed all the same,
  // results are wrong, but nothing outside the arrays is touched. Calls with other extents than the first are an error,
  // code::extent_mismatch, until changed() is called.
  template <class... B>
  SHEAF_INLINE auto keep(B&&... arguments) const {
    static_assert(sizeof...(B) > 0 && (Binding<B> && ... && true),
                  "keep: arguments are named, as in step.keep(ids = bags)");
    if constexpr ((Binding<B> && ... && true)) {
      if constexpr ((may_keep<Signature, std::remove_cvref_t<B>>() && ... && true)) {
        const int slots[] = {slot_of<B>...};
        return kept_indices<kept_argument<typename std::remove_cvref_t<B>::symbol, view_for<B>>...>(
            jit::keep(program_, slots, sizeof...(B)),
            kept_argument<typename std::remove_cvref_t<B>::symbol, view_for<B>>{
                view_as<view_for<B>>(static_cast<decltype(arguments.value)>(arguments.value))}...);
      }
    }
  }

 protected:
  template <class B>
  static constexpr int slot_of = Signature::template slot<typename std::remove_cvref_t<B>::symbol>;
  template <class B>
  using view_for = typename Signature::template view_type<slot_of<B>>;

  // place.run(...) with the arguments by name, those that are kept among them; nothing where a sentence says what is
  // wrong.
  template <class Place, class... B>
  SHEAF_INLINE auto call(const Place& place, B&... arguments) const {
    static_assert(kept_among<B...> < 2, "call: arguments that are kept come from one keep(...)");
    if constexpr (kept_among<B...> == 1) {
      constexpr std::size_t at = place_of_kept<B...>();
      const auto all = std::tie(arguments...);
      auto& kept = std::get<at>(all);
      Place keeping = place;
      keeping.indices = kept.handle_;
      constexpr std::size_t count = std::tuple_size_v<std::remove_cvref_t<decltype(kept.arguments_)>>;
      return spread<at + 1>(keeping, all, kept.arguments_, std::make_index_sequence<at>{},
                            std::make_index_sequence<count>{}, std::make_index_sequence<sizeof...(B) - at - 1>{});
    } else if constexpr ((is_unneeded<Signature, std::remove_cvref_t<B>>() || ... || false)) {
      return std::apply([&](auto&... needed) { return call(place, needed...); },
                        std::tuple_cat(if_needed(arguments)...));
    } else if constexpr (call_fits<Signature, std::remove_cvref_t<B>...>() &&
                         (adds<std::remove_cvref_t<B>> || ... || false)) {
      return std::apply([&](auto&... to) { return call_adding(place, std::tie(to...), arguments...); },
                        std::tuple_cat(if_adding(arguments)...));
    } else if constexpr (call_fits<Signature, std::remove_cvref_t<B>...>()) {
      constexpr int slots = Signature::inputs + Signature::outputs;
      constexpr std::integer_sequence<int, slot_of<B>...> named;
      call_frame<slots, view_for<B>...> made(named,
                                             view_as<view_for<B>>(
                                                 static_cast<decltype(arguments.value)>(arguments.value))...);
      return place.template run<Signature::inputs>(program_, made, named,
                                                   returned_slots_t<Signature, std::remove_cvref_t<B>...>{});
    }
  }

  jit::program* program_;

 private:
  template <class B>
  SHEAF_INLINE static auto if_needed(B& argument) {
    if constexpr (is_unneeded<Signature, std::remove_cvref_t<B>>())
      return std::tuple<>{};
    else
      return std::tie(argument);
  }

  template <class B>
  SHEAF_INLINE static auto if_adding(B& argument) {
    if constexpr (adds<std::remove_cvref_t<B>>)
      return std::tie(argument);
    else
      return std::tuple<>{};
  }
  // to: those of the arguments that are outputs which are added to what is there, which this names as inputs too.
  template <class Place, class... To, class... B>
  SHEAF_INLINE auto call_adding(const Place& place, const std::tuple<To&...>& to, B&... arguments) const {
    using added = added_slots<Signature, std::remove_cvref_t<B>...>;
    constexpr int inputs = Signature::inputs + added::count;
    constexpr std::integer_sequence<int, added::template moved<std::remove_cvref_t<B>>...,
                                    added::template before<std::remove_cvref_t<To>>...>
        named;
    return std::apply(
        [&](To&... there) {
          call_frame<inputs + Signature::outputs, view_for<B>..., view_for<To>...> made(
              named, view_as<view_for<B>>(static_cast<decltype(arguments.value)>(arguments.value))...,
              view_as<view_for<To>>(static_cast<decltype(there.value)>(there.value))...);
          using list = decltype(added::list(returned_slots_t<Signature, std::remove_cvref_t<B>...>{}));
          jit::program* const adding = jit::adding(program_, added::outputs.data(), added::count);
          return place.template run<inputs>(adding, made, named, list{});
        },
        to);
  }

  template <std::size_t After, class Place, class All, class Kept, std::size_t... Before, std::size_t... Own,
            std::size_t... Rest>
  SHEAF_INLINE auto spread(const Place& place, const All& all, Kept& kept, std::index_sequence<Before...>,
                           std::index_sequence<Own...>, std::index_sequence<Rest...>) const {
    return call(place, std::get<Before>(all)..., std::get<Own>(kept)..., std::get<After + Rest>(all)...);
  }
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
