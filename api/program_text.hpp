// program<"...">: a program written as text, read by the C++ compiler. Tensors that the text does not declare take
// their element types and ranks from the arguments of each call; mistakes are compile-time sentences with their line
// and column.
//
//   constexpr auto pooled = program<"pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))">;
//   auto step = compile(pooled);
//   array<float, 2> y = step(arg<"x"> = rows, arg<"cut"> = bounds);
//
// docs/language.md has the grammar. Shown by tests/text/program.cpp, tests/reject/text_*.cpp.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include <sheaf/api/compile.hpp>
#include <sheaf/dsl/text/parse.hpp>

namespace sheaf::inline v0_1 {

// The argument of a call that a text calls so: an input, or an output that goes into a view of the caller's.
template <fixed_string Name>
struct argument_ {
  static constexpr auto label = Name;
  template <class V>
  SHEAF_INLINE constexpr auto operator=(V&& value) const {
    return binding<argument_, V>{static_cast<V&&>(value)};
  }
  // The output is added to what the value holds.
  template <class V>
  SHEAF_INLINE constexpr auto operator+=(V&& value) const {
    return addition<argument_, V>{{static_cast<V&&>(value)}};
  }
};
template <fixed_string Name>
SHEAF_HIDDEN inline constexpr auto arg = argument_<Name>{};

template <fixed_string Text>
struct program_text_ {
  static constexpr auto text = Text;
};
template <fixed_string Text>
SHEAF_HIDDEN inline constexpr auto program = program_text_<Text>{};

namespace detail {

// What a call says of an argument.
template <fixed_string Name, element Type, int Rank>
struct given_ {
  static constexpr text_argument row{Name.text, Name.length(), Type, Rank};
};

template <class V>
constexpr int rank_of_argument() {
  using value = std::remove_reference_t<V>;
  if constexpr (std::is_array_v<value>)
    return static_cast<int>(std::rank_v<value>);
  else if constexpr (runtime::kind_of_source<value> != runtime::source_kind::none)
    return runtime::static_rank<value>();
  else
    return 0;
}
template <class V>
constexpr element element_of_argument() {
  using value = std::remove_reference_t<V>;
  if constexpr (std::is_array_v<value>)
    return element_of<std::remove_cv_t<std::remove_all_extents_t<value>>>;
  else if constexpr (runtime::kind_of_source<value> != runtime::source_kind::none)
    return element_of<std::remove_cv_t<runtime::element_of_source<value>>>;
  else
    return element_of<std::remove_cv_t<value>>;
}
// Can a program without declarations take its type and rank from this argument?
template <class V>
SHEAF_INLINE constexpr bool expect_known_type() {
  using value = std::remove_reference_t<V>;
  constexpr bool source = runtime::kind_of_source<value> != runtime::source_kind::none;
  constexpr bool known =
      std::is_array_v<value> || is_element<std::remove_cv_t<value>> || (source && rank_of_argument<V>() >= 0);
  expect<known, [] {
    return sentence{} << "call: expected an argument whose element type and rank the compiler knows, got "
                      << description<V>().text;
  }>();
  return known;
}

template <class B>
using given_by = given_<B::symbol::label, element_of_argument<decltype(std::declval<B>().value)>(),
                        rank_of_argument<decltype(std::declval<B>().value)>()>;

template <fixed_string Text, class... Given>
struct wide_text {
  static constexpr text_argument arguments[sizeof...(Given) + 1] = {Given::row...};
  static constexpr auto wide =
      pack<word_capacity>(parse(Text.text, Text.length(), arguments, static_cast<int>(sizeof...(Given))));
};
template <fixed_string Text, class... Given>
struct packed_text : program_words<wide_text<Text, Given...>> {
  // Text has names only.
  template <class Symbol>
  static constexpr int slot_of() {
    int slot = 0;
    for (const signature_row& r : program_words<wide_text<Text, Given...>>::rows.rows) {
      if (r.called(Symbol::label.text, Symbol::label.length())) return slot;
      ++slot;
    }
    return -1;
  }
};
template <fixed_string Text, class... B>
struct text_signature : program_signature<packed_text<Text, given_by<B>...>> {};

// The programs of one text by the types of their arguments.
class text_programs {
 public:
  SHEAF_HIDDEN text_programs() = default;
  text_programs(const text_programs&) = delete;
  SHEAF_HIDDEN ~text_programs() {
    for (const entry& e : all_) jit::free_program(e.program);
  }
  SHEAF_HIDDEN jit::program* find(std::uint64_t key, const std::int32_t* words, jit::backend runs_on,
                                  const options& wanted) {
    const std::lock_guard guard(lock_);
    for (const entry& e : all_)
      if (e.key == key) return e.program;
    all_.push_back({key, jit::make_program(words, runs_on, wanted)});
    return all_.back().program;
  }

 private:
  struct entry {
    std::uint64_t key;
    jit::program* program;
  };
  std::mutex lock_;
  std::vector<entry> all_;
};

template <class Words>
constexpr std::uint64_t key_of(const Words& w) {
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (int i = 0; i < w.size; ++i) h = (h ^ static_cast<std::uint32_t>(w.words[i])) * 0x100000001b3u;
  return h;
}

// The frame of a call on a program that others own.
template <class Signature>
class borrowed_frame : public program_frame<Signature> {
 public:
  SHEAF_INLINE explicit borrowed_frame(jit::program* p) : program_frame<Signature>(p) {}
  SHEAF_INLINE ~borrowed_frame() { this->program_ = nullptr; }
  using program_frame<Signature>::call;
};

}  // namespace detail

// A text that can be called. Calls from several threads at a time are safe; it can be moved, not copied.
template <fixed_string Text>
class compiled_text {
 public:
  SHEAF_INLINE explicit compiled_text(jit::backend runs_on, const options& wanted = {})
      : programs_(std::make_unique<detail::text_programs>()), runs_on_(runs_on), options_(wanted) {}

  // As of compile(...): every input, and any output that goes into a view; the other outputs are returned.
  template <class... B>
  SHEAF_INLINE auto operator()(B&&... arguments) const {
    return with(detail::here{}, arguments...);
  }
  // What would run for these arguments and why.
  template <class... B>
  SHEAF_INLINE auto explain(B&&... arguments) const {
    return with(detail::asking<const char*>{jit::plan_text}, arguments...);
  }

 private:
  template <class... B>
  SHEAF_INLINE static constexpr bool known_types() {
    if constexpr ((detail::Binding<B> && ... && true))
      return (detail::expect_known_type<decltype(std::declval<B>().value)>() && ... && true);
    else
      return false;
  }
  template <class Place, class... B>
  SHEAF_INLINE auto with(const Place& place, B&... arguments) const {
    static_assert((detail::Binding<B> && ... && true), "call: arguments are named, as in step(arg<\"x\"> = rows)");
    if constexpr (known_types<B...>()) {
      using wide = detail::wide_text<Text, detail::given_by<std::remove_cvref_t<B>>...>;
      expect<detail::is_fine<wide>, detail::mistake_of<wide>{}>();
      using signature = detail::text_signature<Text, std::remove_cvref_t<B>...>;
      if constexpr (signature::program::whole) {
        constexpr auto words = signature::program::words;
        constexpr std::uint64_t key = detail::key_of(words);
        const detail::borrowed_frame<signature> frame(programs_->find(key, words.words, runs_on_, options_));
        return frame.call(place, arguments...);
      }
    }
  }

  std::unique_ptr<detail::text_programs> programs_;
  jit::backend runs_on_;
  options options_;
};

template <fixed_string Text>
SHEAF_INLINE auto compile(program_text_<Text>) {
  return compiled_text<Text>(jit::backend::chosen);
}
template <fixed_string Text>
SHEAF_INLINE auto compile(const options& wanted, program_text_<Text>) {
  return compiled_text<Text>(jit::backend::chosen, wanted);
}
// Run by the slow evaluator that defines what is correct.
template <fixed_string Text>
SHEAF_INLINE auto reference(program_text_<Text>) {
  return compiled_text<Text>(jit::backend::reference);
}

}  // namespace sheaf::inline v0_1
