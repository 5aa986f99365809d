// Names as template arguments, and the sentences that compile-time errors are made of.
#pragma once
#include <cstddef>
#include <cstdint>

// What takes expressions is inlined even in debug builds: its symbol would spell out their types, thousands of characters
// each, and all it does happens at compile time. Shown by tests/symbols.
#define SHEAF_INLINE [[gnu::always_inline]] inline

namespace sheaf {

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
// clang 19 shortens strings in template arguments after 32 characters, so a sentence is shown in pieces.
template <fixed_string Sentence, int Piece>
constexpr auto piece() {
  int first = 0, last = 0;
  for (int k = 0; k <= Piece; ++k) {
    first = last;
    last = first + 30 < Sentence.length() ? first + 30 : Sentence.length();
    while (last < Sentence.length() && last > first + 1 && Sentence.text[last - 1] != ' ') --last;
  }
  fixed_string<31> out;
  for (int i = first; i < last; ++i) out.text[i - first] = Sentence.text[i];
  return out;
}
template <fixed_string Sentence, int... Pieces>
SHEAF_INLINE constexpr void show() {
  if constexpr (piece<Sentence, static_cast<int>(sizeof...(Pieces))>().text[0] != 0)
    show<Sentence, Pieces..., static_cast<int>(sizeof...(Pieces))>();
  else
    static_assert(no_mistake<piece<Sentence, Pieces>()...>);
}
template <fixed_string Sentence>
SHEAF_INLINE constexpr void mistake() {
  show<Sentence>();
}
#elif defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
template <fixed_string Sentence>
SHEAF_INLINE constexpr void mistake() {
  static_assert(no_mistake<Sentence>, Sentence);
}
#else
// g++ 12 prints the sentence as the template argument of this function.
template <fixed_string Sentence>
SHEAF_INLINE constexpr void mistake() {
  static_assert(no_mistake<Sentence>, "sheaf: see the sentence in the template argument above");
}
#endif

}  // namespace detail

// Make is a captureless lambda that returns a detail::sentence.
template <bool Ok, auto Make>
SHEAF_INLINE constexpr void expect() {
  if constexpr (!Ok) detail::mistake<detail::fixed<Make>()>();
}

}  // namespace sheaf
