// Names as template arguments, and the sentences that compile-time errors are made of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1 {

template <std::size_t N>
struct fixed_string {
  char text[N] = {};
  constexpr fixed_string() = default;
  constexpr fixed_string(const char (&s)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
  // The view of a static_assert message (C++26; an extension of clang 17 and later).
  constexpr std::size_t size() const { return N - 1; }
  constexpr const char* data() const { return text; }
  constexpr int length() const { return static_cast<int>(N) - 1; }
};

namespace detail {

// A sentence under construction: words, names and numbers, of at most 400 characters.
struct sentence {
  char text[401] = {};
  int size = 0;
  constexpr sentence& operator<<(const char* s) {
    for (; *s != 0 && size < 400; ++s) text[size++] = *s;
    return *this;
  }
  constexpr sentence& operator<<(std::int64_t v) {
    if (v < 0) *this << "-";
    std::uint64_t rest = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
    char digits[21] = {};
    int n = 20;
    do {
      digits[--n] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    return *this << digits + n;
  }
  constexpr sentence& operator<<(int v) { return *this << static_cast<std::int64_t>(v); }
  constexpr sentence& operator<<(const sentence& s) { return *this << s.text; }
};

// What a sentence adds to a name that the program's author did not give.
inline constexpr const char* automatic_name_words = " (an automatic name)";

// The sentence of a program with a mistake that has been said.
inline constexpr const char* said_already = " ";

template <auto Make>
constexpr auto fixed() {
  constexpr sentence s = Make();
  fixed_string<static_cast<std::size_t>(s.size) + 1> out;
  for (int i = 0; i < s.size; ++i) out.text[i] = s.text[i];
  return out;
}

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
template <fixed_string Sentence>
inline constexpr bool nothing_wrong = false;
#elif defined(__clang__)
// clang 19 shortens strings in template arguments after 32 characters, and prints those with room at the end as
// numbers: a sentence is shown in pieces of their exact size. A static_assert prints the arguments of what it asks
// where that has a qualified name, here `detail::`.
template <fixed_string Sentence>
constexpr int piece_end(int first) {
  if (first + 30 >= Sentence.length()) return Sentence.length();
  int last = first + 30;
  while (last > first + 1 && Sentence.text[last - 1] != ' ') --last;
  return last;
}
template <fixed_string Sentence, int First, int Last>
constexpr auto piece() {
  fixed_string<static_cast<std::size_t>(Last - First) + 1> out;
  for (int i = First; i < Last; ++i) out.text[i - First] = Sentence.text[i];
  out.text[Last - First] = 0;  // clang prints what ends with a zero that was written
  return out;
}
template <fixed_string... Pieces>
struct pieces;
template <fixed_string Sentence, int First, fixed_string... Before>
struct cut : cut<Sentence, piece_end<Sentence>(First), Before...,
                 piece<Sentence, First, piece_end<Sentence>(First)>()> {};
template <fixed_string Sentence, int First, fixed_string... Before>
  requires(First == Sentence.length())
struct cut<Sentence, First, Before...> {
  using type = pieces<Before...>;
};
template <class Pieces>
inline constexpr bool nothing_wrong = false;
#else
// g++ 12 prints the sentence on the line of the error as the argument of a type that has no definition. The type of a
// function is asked for and no value, so that constant expressions around it stay what they are.
template <fixed_string Sentence>
struct wrong;
template <fixed_string Sentence>
auto say() {
  wrong<Sentence> program;
}
#endif

}  // namespace detail

// Says what is wrong where a program is not Ok, and whether it is. Make is captureless and returns a detail::sentence.
// All is said from here, since each function in between costs three lines of the compiler's; at once, since a result to
// be deduced is not put off.
template <bool Ok, auto Make>
SHEAF_INLINE constexpr auto expect() {
  if constexpr (!Ok) {
    constexpr auto words = detail::fixed<Make>();
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
    static_assert(detail::nothing_wrong<words>, words);
#elif defined(__clang__)
    static_assert(detail::nothing_wrong<typename detail::cut<words, 0>::type>);
#else
    using said [[maybe_unused]] = decltype(detail::say<words>());
#endif
  }
  return Ok;
}

}  // namespace sheaf::inline v0_1
