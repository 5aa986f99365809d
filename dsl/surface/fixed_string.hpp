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
};

template <auto Make>
constexpr auto fixed() {
  constexpr sentence s = Make();
  fixed_string<static_cast<std::size_t>(s.size) + 1> out;
  for (int i = 0; i < s.size; ++i) out.text[i] = s.text[i];
  return out;
}

template <fixed_string... Words>
inline constexpr bool no_mistake = sizeof...(Words) == 0;

#if defined(__clang__) && !(defined(__cpp_static_assert) && __cpp_static_assert >= 202306L)
// clang 19 shortens strings in template arguments after 32 characters, and prints those with room at the end as
// numbers: a sentence is shown in pieces of their exact size.
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
// Arguments of a template, which clang prints as values: what a static_assert asks is printed as it is written.
template <fixed_string... Pieces>
constexpr void say() {
  static_assert(no_mistake<Pieces...>);
}
template <fixed_string Sentence>
struct cuts {
  int count = 0;
  int at[64] = {};
  constexpr cuts() {
    for (int first = 0; first < Sentence.length(); at[++count] = first) first = piece_end<Sentence>(first);
  }
};
template <fixed_string Sentence, std::size_t... K>
constexpr void show(std::index_sequence<K...>) {
  constexpr cuts<Sentence> c;
  say<piece<Sentence, c.at[K], c.at[K + 1]>()...>();
}
template <fixed_string Sentence>
constexpr void mistake() {
  show<Sentence>(std::make_index_sequence<static_cast<std::size_t>(cuts<Sentence>().count)>{});
}
#elif defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
template <fixed_string Sentence>
SHEAF_INLINE constexpr void mistake() {
  static_assert(no_mistake<Sentence>, Sentence);
}
#else
// g++ 12 prints the sentence on the line of the error as the argument of a type that has no definition.
template <fixed_string Sentence>
struct wrong;
// Its type is asked for and no value, so that constant expressions around it stay what they are.
template <fixed_string Sentence>
auto say() {
  wrong<Sentence> program;
}
template <fixed_string Sentence>
SHEAF_INLINE constexpr void mistake() {
  using said [[maybe_unused]] = decltype(say<Sentence>());
}
#endif

}  // namespace detail

// Make is a captureless lambda that returns a detail::sentence.
template <bool Ok, auto Make>
SHEAF_INLINE constexpr void expect() {
  if constexpr (!Ok) detail::mistake<detail::fixed<Make>()>();
}

}  // namespace sheaf::inline v0_1
