// What a call knows of its program, and the sentences for one that does not fit: named arguments, views of them, and
// the arrays that it returns. Shown by tests/reject/argument_*.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include <boost/hana/at.hpp>
#include <boost/hana/basic_tuple.hpp>
#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/error.hpp>
#include <sheaf/runtime/place.hpp>
#include <sheaf/runtime/view.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <element E>
struct type_of_element;
#define SHEAF_TYPE(name, Type)            \
  template <>                             \
  struct type_of_element<element::name> { \
    using type = Type;                    \
  };
SHEAF_TYPE(boolean, bool)
SHEAF_TYPE(i8, std::int8_t)
SHEAF_TYPE(u8, std::uint8_t)
SHEAF_TYPE(i16, std::int16_t)
SHEAF_TYPE(u16, std::uint16_t)
SHEAF_TYPE(i32, std::int32_t)
SHEAF_TYPE(u32, std::uint32_t)
SHEAF_TYPE(i64, std::int64_t)
SHEAF_TYPE(u64, std::uint64_t)
SHEAF_TYPE(f16, float16)
SHEAF_TYPE(bf16, bfloat16)
SHEAF_TYPE(f32, float)
SHEAF_TYPE(f64, double)
#undef SHEAF_TYPE

template <class B>
concept Binding = requires { typename std::remove_cvref_t<B>::symbol; };

// Is it an output that is added to what is there, `y += view`?
template <class B>
inline constexpr bool adds = false;
template <class Symbol, class Value>
inline constexpr bool adds<addition<Symbol, Value>> = true;

// What a call knows of its program at compile time.
template <class Program>
struct program_signature {
  using program = Program;
  static constexpr int inputs = program::words.words[1];
  static constexpr int outputs = program::words.words[3];
  static constexpr const auto& rows = program::rows;

  template <class Symbol>
  static constexpr int slot = program::template slot_of<Symbol>();
  // Is there another input or output of a symbol's name?
  template <class Symbol>
  static constexpr bool names_another = [] {
    bool any = false;
    for (const signature_row& r : rows.rows) any = any || r.called(Symbol::label.text, Symbol::label.length());
    return any;
  }();

  template <int Slot>
  using value_type = typename type_of_element<rows.rows[Slot].type>::type;
  template <int Slot>
  static constexpr int rank = rows.rows[Slot].rank;
  template <int Slot>
  using view_type = view<std::conditional_t<(Slot < inputs), const value_type<Slot>, value_type<Slot>>, rank<Slot>>;
  template <int Slot>
  using array_type = array<value_type<Slot>, rank<Slot>>;
  static constexpr bool on_device = false;
};
template <class... Outputs>
struct call_signature : program_signature<packed<Outputs...>> {};

// What an argument is, for the sentence that refuses it.
template <class V>
constexpr const char* name_of_element() {
  if constexpr (is_element<std::remove_cv_t<V>>)
    return row(element_of<std::remove_cv_t<V>>).name;
  else
    return "something that is no element";
}
template <class V>
constexpr sentence description() {
  using value = std::remove_reference_t<V>;
  using plain = std::remove_cv_t<value>;
  const auto of = [](const char* name, int rank) {
    sentence s;
    s << name << " of rank ";
    return rank < 0 ? s << "known at run time" : s << rank;
  };
  if constexpr (is_element<plain>) {
    return of(name_of_element<plain>(), 0);
  } else if constexpr (std::is_array_v<plain>) {
    return of(name_of_element<std::remove_all_extents_t<plain>>(), std::rank_v<plain>);
  } else if constexpr (runtime::kind_of_source<value> != runtime::source_kind::none) {
    sentence s = of(name_of_element<runtime::element_of_source<value>>(), runtime::static_rank<value>());
    return runtime::reads_memory<value> ? s : s << ", whose accessor computes what it reads";
  } else if constexpr (runtime::device_memory<plain>) {
    return of(name_of_element<typename plain::value_type>(), plain::rank());
  } else if constexpr (requires(value& v) { v.data(); }) {
    return sentence{} << "something with data() whose strides are not known; view_of(pointer, {extents...}, "
                         "{strides...}) says them";
  } else if constexpr (requires(value& v) { v.rows(), v.cols(); } || requires(value& v) { v.shape(); }) {
    return sentence{} << "an expression that has no memory with strides; evaluate it first";
  } else {
    return sentence{} << "something that is no view of one";
  }
}

SHEAF_INLINE constexpr sentence argument(const signature_row& r) {
  sentence s;
  s << "call: argument ";
  for (int i = 0; i < r.name_size && s.size < 400; ++i) s.text[s.size++] = static_cast<char>(r.name[i]);
  return s;
}
SHEAF_INLINE constexpr sentence spelled(const signature_row& r) {
  return argument(r) << " (" << row(r.type).name << ", rank " << r.rank << ")";
}

template <class Signature, class B>
constexpr sentence argument_of() {
  sentence s = argument(Signature::rows.rows[Signature::template slot<typename B::symbol>]);
  return has_automatic_name<typename B::symbol> ? s << automatic_name_words : s;
}

template <class Signature, class B>
SHEAF_INLINE constexpr void expect_known() {
  using symbol = typename B::symbol;
  expect<(Signature::template slot<symbol> >= 0), [] {
    return sentence{} << "call: " << called<symbol>() << " is neither an input nor an output of this program"
                      << (Signature::template names_another<symbol> ? ", whose tensor of this name is another" : "");
  }>();
}
// The same view of `long` and `long long` where their elements are the same: only kernels read what it views.
template <class View>
struct other_view {
  using type = View;
};
template <template <class, int> class View, class T, int Rank>
  requires(sizeof(T) == 8 && std::is_integral_v<T>)
struct other_view<View<T, Rank>> {
  using other = std::conditional_t<std::is_signed_v<T>, other_int64, other_uint64>;
  using type = View<std::conditional_t<std::is_const_v<T>, const other, other>, Rank>;
};
template <class View, class Value>
SHEAF_INLINE View view_as(Value&& value) {
  if constexpr (std::is_constructible_v<View, Value>) {
    return View(static_cast<Value&&>(value));
  } else {
    const typename other_view<View>::type v(static_cast<Value&&>(value));
    View result;
    result.data = reinterpret_cast<decltype(result.data)>(v.data);
    for (int d = 0; d < View::rank(); ++d) result.extents[d] = v.extents[d], result.strides[d] = v.strides[d];
    return result;
  }
}
template <class View, class Value>
inline constexpr bool views = std::is_constructible_v<View, Value> ||
                              std::is_constructible_v<typename other_view<View>::type, Value>;

// Is it an input that no output of this program needs? A training step names all of its inputs, whatever it returns.
template <class Signature, class B>
constexpr bool is_unneeded() {
  if constexpr (!Binding<B>)
    return false;
  else if constexpr (has_value_type<typename B::symbol> && !has_symbol<typename B::symbol>)
    return Signature::program::whole && Signature::template slot<typename B::symbol> < 0 &&
           !Signature::template names_another<typename B::symbol>;
  else
    return false;
}

template <class Signature, class B>
inline constexpr bool converts =
    views<typename Signature::template view_type<Signature::template slot<typename B::symbol>>,
          decltype(std::declval<B>().value)>;
template <class B>
inline constexpr bool is_on_device = runtime::device_memory<std::remove_cvref_t<decltype(std::declval<B>().value)>>;
// What is wrong with an argument. Called where the mistake is found: each function in between is in the message.
template <class Signature, class B>
struct elsewhere {
  constexpr sentence operator()() const {
    return argument_of<Signature, B>() << ": expected memory of "
                      << (is_on_device<B> ? "the host, got memory of a GPU; to_host(...) copies it"
                                          : "a GPU, got memory of the host; to_device(...) copies it");
  }
};
template <class Signature, class B>
struct unfit {
  constexpr sentence operator()() const {
    constexpr int slot = Signature::template slot<typename B::symbol>;
    return argument_of<Signature, B>() << ": expected "
                      << row(Signature::rows.rows[slot].type).name << " of rank "
                      << Signature::template rank<slot> << ", got "
                      << description<decltype(std::declval<B>().value)>().text
                      << (slot >= Signature::inputs ? " (an output needs a mutable view)" : "");
  }
};

template <class Signature, class B>
inline constexpr bool may_add =
    !adds<B> || (Signature::template slot<typename B::symbol> >= Signature::inputs &&
                 Signature::rows.rows[Signature::template slot<typename B::symbol>].type != element::boolean);
template <class Signature, class B>
SHEAF_INLINE constexpr void expect_added() {
  expect<may_add<Signature, B>, [] {
    return argument_of<Signature, B>() << ": only outputs of numbers are added to what is there, got "
           << (Signature::template slot<typename B::symbol> < Signature::inputs ? "an input" : "one of booleans");
  }>();
}

template <class Signature, int Slot, class... B>
SHEAF_HIDDEN inline constexpr int times_given = ((Signature::template slot<typename B::symbol> == Slot ? 1 : 0) + ... +
                                                 0);
// The first slot that is given twice, or is an input and not given; -1: none.
template <class Signature, class... B, int... Slots>
constexpr int misgiven_slot(std::integer_sequence<int, Slots...>) {
  int first = -1;
  ((first < 0 && (times_given<Signature, Slots, B...> > 1 ||
                  (Slots < Signature::inputs && times_given<Signature, Slots, B...> == 0))
        ? void(first = Slots)
        : void()),
   ...);
  return first;
}
template <class Signature, int Slot, class... B>
struct misgiven {
  constexpr sentence operator()() const {
    constexpr bool missing = times_given<Signature, Slot, B...> == 0;
    return spelled(Signature::rows.rows[Slot]) << (missing ? " is missing" : " is given twice");
  }
};

// Whether a call can be made; where not, a sentence says why, and nothing else of the call is compiled.
template <class Signature, class... B>
SHEAF_INLINE constexpr bool call_fits() {
  if constexpr (!Signature::program::whole) {
    return false;
  } else if constexpr (!(Binding<B> && ... && true)) {
    static_assert((Binding<B> && ... && true), "call: arguments are named, as in step(x = rows)");
    return false;
  } else if constexpr (!((Signature::template slot<typename B::symbol> >= 0) && ... && true)) {
    (expect_known<Signature, B>(), ...);
    return false;
  } else if constexpr (!(may_add<Signature, B> && ... && true)) {
    (expect_added<Signature, B>(), ...);
    return false;
  } else {
    if constexpr (!((is_on_device<B> == Signature::on_device) && ... && true)) {
      (expect<(is_on_device<B> == Signature::on_device), elsewhere<Signature, B>{}>(), ...);
      return false;
    } else if constexpr (!(converts<Signature, B> && ... && true)) {
      (expect<converts<Signature, B>, unfit<Signature, B>{}>(), ...);
      return false;
    } else {
      constexpr std::make_integer_sequence<int, Signature::inputs + Signature::outputs> slots;
      constexpr int slot = misgiven_slot<Signature, B...>(slots);
      return expect<(slot < 0), misgiven<Signature, slot, B...>{}>();
    }
  }
}

// A slot and the array that a call returns for it.
template <int Slot, class Array>
struct returned {
  static constexpr int slot = Slot;
  using array = Array;
};
template <class... Returned>
struct returned_list {};

// The slots of outputs that no argument names, in order.
template <class Signature, class... B>
constexpr auto returned_slots() {
  constexpr auto free = [](int s) { return ((Signature::template slot<typename B::symbol> != s) && ... && true); };
  constexpr int count = [=] {
    int n = 0;
    for (int s = Signature::inputs; s < Signature::inputs + Signature::outputs; ++s) n += free(s);
    return n;
  }();
  constexpr auto slots = [=] {
    std::array<int, count> out = {};
    for (int s = Signature::inputs, n = 0; s < Signature::inputs + Signature::outputs; ++s)
      if (free(s)) out[static_cast<std::size_t>(n++)] = s;
    return out;
  }();
  return [=]<std::size_t... K>(std::index_sequence<K...>) {
    return returned_list<returned<slots[K], typename Signature::template array_type<slots[K]>>...>{};
  }(std::make_index_sequence<count>{});
}

template <class Signature, class... B>
using returned_slots_t = decltype(returned_slots<Signature, B...>());

// A call that adds to outputs has an input more for each of these, after its own: what is there.
template <class Signature, class... B>
struct added_slots {
  static constexpr int count = (static_cast<int>(adds<B>) + ... + 0);
  template <class A>
  static constexpr int slot = Signature::template slot<typename A::symbol>;
  template <class A>
  static constexpr int moved = slot<A> < Signature::inputs ? slot<A> : slot<A> + count;
  template <class A>
  static constexpr int before = Signature::inputs + ((adds<B> && slot<B> < slot<A> ? 1 : 0) + ... + 0);
  // The outputs, in order.
  static constexpr auto outputs = [] {
    std::array<int, sizeof...(B) + 1> list = {};
    ((adds<B> ? void(list[static_cast<std::size_t>(before<B> - Signature::inputs)] = slot<B> - Signature::inputs)
              : void()),
     ...);
    return list;
  }();
  template <class... Returned>
  static auto list(returned_list<Returned...>)
      -> returned_list<returned<Returned::slot + count, typename Returned::array>...>;
};

template <class View>
SHEAF_HIDDEN void put(sheaf_tensor* tensors, int slot, const View& a) {
  tensors[slot] = {const_cast<void*>(static_cast<const void*>(a.data)), a.extents, a.strides};
}

// Views of the arguments and the table of slots that points into them. Its type and all that follows name slots and
// views, no expressions.
template <int Slots, class... Views>
struct SHEAF_HIDDEN call_frame {
  boost::hana::basic_tuple<Views...> views;
  sheaf_tensor tensors[Slots] = {};

  template <int... Slot>
  explicit call_frame(std::integer_sequence<int, Slot...>, const Views&... given) : views{given...} {
    fill(std::index_sequence_for<Views...>{}, {Slot..., 0});
  }
  call_frame(const call_frame&) = delete;

 private:
  template <std::size_t... K>
  void fill(std::index_sequence<K...>, const int (&slots)[sizeof...(K) + 1]) {
    (put(tensors, slots[K], boost::hana::at_c<K>(views)), ...);
  }
};

// Runs a program whose named arguments stand in `tensors`; returns the other outputs. `place` makes their arrays and
// runs.
template <int Inputs, class Place, class... Returned, std::size_t... K>
SHEAF_HIDDEN auto finish(jit::program* p, sheaf_tensor* tensors, const Place& place, returned_list<Returned...>,
            std::index_sequence<K...>) {
  const jit::calling here(p);
  const jit::kernel* k = jit::prepare(p, tensors, place.indices);
  std::tuple<typename Returned::array...> results{
      place.template make<typename Returned::array>(jit::output_extents(k, Returned::slot - Inputs))...};
  constexpr int ranks[] = {1, Returned::array::rank()...};
  [[maybe_unused]] std::int64_t strides[sizeof...(K) + 1][*std::max_element(std::begin(ranks), std::end(ranks))];
  ((tensors[Returned::slot] = {place.first(std::get<K>(results)), jit::output_extents(k, Returned::slot - Inputs),
                               strides[K]},
    runtime::row_major(tensors[Returned::slot].extents, strides[K], Returned::array::rank())),
   ...);
  place.start(k, tensors);
  if constexpr (sizeof...(K) == 1)
    return std::get<0>(std::move(results));
  else if constexpr (sizeof...(K) > 1)
    return results;
}
template <int Inputs, class Place, class... Returned>
SHEAF_HIDDEN auto finish(jit::program* p, sheaf_tensor* tensors, const Place& place, returned_list<Returned...> list) {
  return finish<Inputs>(p, tensors, place, list, std::index_sequence_for<Returned...>{});
}

// The place of a call on the processor.
struct SHEAF_HIDDEN here {
  jit::promise* indices = nullptr;
  template <int Inputs, class Frame, class Slots, class List>
  SHEAF_INLINE auto run(jit::program* p, Frame& call, Slots, List list) const {
    return finish<Inputs>(p, call.tensors, *this, list);
  }
  template <class Array>
  Array make(const std::int64_t* extents) const {
    return Array(uninitialized, extents);
  }
  template <class Array>
  void* first(Array& a) const {
    return a.data();
  }
  void start(const jit::kernel* k, const sheaf_tensor* tensors) const { jit::run(k, tensors, indices); }
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
